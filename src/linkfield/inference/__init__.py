"""The E-step: interchangeable ways to label a Potts field."""

from __future__ import annotations

from ..field import PottsField
from .auto import Auto
from .base import Inference, InferenceResult
from .belief_propagation import BeliefPropagation
from .bound import LowerBound, certified, lower_bound
from .exact import Exact
from .icm import ICM
from .linear_program import LinearProgram
from .mean_field import MeanField

__all__ = [
    "ICM",
    "Auto",
    "BeliefPropagation",
    "Exact",
    "Inference",
    "InferenceResult",
    "LinearProgram",
    "LowerBound",
    "MeanField",
    "PottsField",
    "as_inference",
    "certified",
    "lower_bound",
]

METHODS: dict[str, type[Inference]] = {
    "icm": ICM,
    "auto": Auto,
    "bp": BeliefPropagation,
    "exact": Exact,
    "lp": LinearProgram,
    "mean-field": MeanField,
}


def as_inference(inference: str | Inference) -> Inference:
    """Return the method of a name, or the object itself."""
    if isinstance(inference, Inference):
        return inference
    if inference not in METHODS:
        raise ValueError(
            f"inference must be one of {sorted(METHODS)} or an object from linkfield.inference; "
            f"got {inference!r}"
        )
    return METHODS[inference]()
