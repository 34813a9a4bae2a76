"""The E-step: interchangeable ways to label a Potts field."""

from __future__ import annotations

from ..field import PottsField
from .base import Inference, InferenceResult
from .icm import ICM
from .mean_field import MeanField

__all__ = ["ICM", "Inference", "InferenceResult", "MeanField", "PottsField", "as_inference"]

METHODS: dict[str, type[Inference]] = {"icm": ICM}


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
