"""How far a row is from a centre, and how far two rows are from each other."""

from __future__ import annotations

from .base import Distortion, Smoothing
from .bregman import Bregman, IDivergence, ItakuraSaito, KullbackLeibler, Logistic
from .cosine import Correlation, Cosine
from .euclidean import SquaredEuclidean
from .metrics import METRICS, Metric, start_metric
from .penalties import HMRFPenalty, MPC2003Penalty, Penalty, PottsPenalty, as_penalty

__all__ = [
    "DISTORTIONS",
    "METRICS",
    "Bregman",
    "Correlation",
    "Cosine",
    "Distortion",
    "HMRFPenalty",
    "IDivergence",
    "ItakuraSaito",
    "KullbackLeibler",
    "Logistic",
    "MPC2003Penalty",
    "Metric",
    "Penalty",
    "PottsPenalty",
    "Smoothing",
    "SquaredEuclidean",
    "as_distortion",
    "as_penalty",
    "start_metric",
]

DISTORTIONS: dict[str, type[Distortion]] = {
    d.name: d
    for d in (
        SquaredEuclidean,
        Cosine,
        Correlation,
        IDivergence,
        KullbackLeibler,
        ItakuraSaito,
        Logistic,
    )
}


def as_distortion(distortion: str | Distortion) -> Distortion:
    """Return the distortion of a name, or the object itself."""
    if isinstance(distortion, Distortion):
        return distortion
    if distortion not in DISTORTIONS:
        raise ValueError(
            f"distortion must be one of {sorted(DISTORTIONS)} or an object from "
            f"linkfield.distortions; got {distortion!r}"
        )
    return DISTORTIONS[distortion]()
