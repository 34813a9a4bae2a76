"""Penalty shapes: what it costs to violate a pair, as a function of φ (maths.md B3)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._params import Parameters

__all__ = ["HMRFPenalty", "MPC2003Penalty", "Penalty", "PottsPenalty", "as_penalty"]

FloatArray = NDArray[np.float64]


@dataclass
class Penalty(Parameters, ABC):
    """f^M for a violated must-link and f^C for a violated cannot-link."""

    name: ClassVar[str]
    #: Whether the cost depends on the metric at all.
    metric_dependent: ClassVar[bool] = True
    #: Whether entailed links can be kept in tables (where the distortion has them).
    tables: ClassVar[bool] = True
    #: Whether it is defined for one metric a cluster.
    per_cluster: ClassVar[bool] = True
    #: Whether f^C uses φmax.
    bounded: ClassVar[bool] = False

    @abstractmethod
    def must(self, phi: FloatArray, top: Any) -> FloatArray:
        """Return f^M; ``top`` is φmax, or α_max."""

    @abstractmethod
    def cannot(self, phi: FloatArray, top: Any) -> FloatArray:
        """Return f^C."""

    @abstractmethod
    def slopes(
        self, phi: FloatArray, top: Any, must: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Return ∂f/∂φ and ∂f/∂top of every pair."""


@dataclass
class PottsPenalty(Penalty):
    """f = 1: every violation costs its weight (Basu et al. 2003, eq. 1; PC-KMeans)."""

    name = "potts"
    metric_dependent = False

    def must(self, phi: FloatArray, top: Any) -> FloatArray:
        return np.ones_like(phi)

    def cannot(self, phi: FloatArray, top: Any) -> FloatArray:
        return np.ones_like(phi)

    def slopes(
        self, phi: FloatArray, top: Any, must: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        return np.zeros_like(phi), np.zeros_like(phi)


@dataclass
class HMRFPenalty(Penalty):
    """f^M = φ, f^C = φmax − φ: far must-links and near cannot-links cost more.

    Basu et al. 2004, eqs. 7 and 8; Bilenko & Basu 2004, eqs. 3 and 4.

    Parameters
    ----------
    bound : {"auto", "box", "lowner", "mass", "radius", "diameter"} or float, default="auto"
        What φmax is (maths.md 2.2). "auto" is the measure's own: box (weights a feature), Löwner
        (matrices), mass (I-divergence), 1 or 2 (cosine).
    """

    bound: str | float = "auto"

    name = "hmrf"
    bounded = True

    def must(self, phi: FloatArray, top: Any) -> FloatArray:
        return phi

    def cannot(self, phi: FloatArray, top: Any) -> FloatArray:
        return np.maximum(top - phi, 0.0)  # a true bound is clipped by rounding only

    def slopes(
        self, phi: FloatArray, top: Any, must: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        kind = must if phi.ndim == 1 else must[:, None]
        live = (top > phi).astype(np.float64)
        return np.where(kind, 1.0, -live), np.where(kind, 0.0, live)


@dataclass
class MPC2003Penalty(Penalty):
    """f^M = max(α_min, α_max − φ), f^C = min(α_min + φ, α_max) (Basu et al. 2003, eq. 4).

    Parameters
    ----------
    alpha : {"fixed", "adaptive"}, default="fixed"
        α_max is the largest φ among the must-links: "fixed" under the starting metric, "adaptive"
        under the current one (it is then part of the objective).
    alpha_min : float, default=0.0
    """

    alpha: str = "fixed"
    alpha_min: float = 0.0

    name = "mpc2003"
    tables = False
    per_cluster = False

    def must(self, phi: FloatArray, top: Any) -> FloatArray:
        return np.maximum(self.alpha_min, top - phi)

    def cannot(self, phi: FloatArray, top: Any) -> FloatArray:
        return np.minimum(self.alpha_min + phi, max(float(top), self.alpha_min))

    def slopes(
        self, phi: FloatArray, top: Any, must: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        live = np.where(must, top - phi > self.alpha_min, self.alpha_min + phi < top)
        by_phi = np.where(live, np.where(must, -1.0, 1.0), 0.0)
        by_top = np.where(must, live, ~live & (top > self.alpha_min)).astype(np.float64)
        return by_phi, by_top


PENALTIES: dict[str, type[Penalty]] = {
    p.name: p for p in (PottsPenalty, HMRFPenalty, MPC2003Penalty)
}


def as_penalty(penalty: str | Penalty) -> Penalty:
    """Return the penalty of a name, or the object itself."""
    if isinstance(penalty, Penalty):
        return penalty
    if penalty not in PENALTIES:
        raise ValueError(
            f"penalty must be one of {sorted(PENALTIES)} or an object from "
            f"linkfield.distortions; got {penalty!r}"
        )
    return PENALTIES[penalty]()
