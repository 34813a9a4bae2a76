"""Errors and warnings that linkfield raises on purpose."""

from __future__ import annotations

__all__ = [
    "ConstraintWarning",
    "ContradictionError",
    "InfeasibleConstraintsError",
    "ModelFileError",
]


class ConstraintWarning(UserWarning):
    """Some constraints contradict each other or cannot all be kept."""


class ContradictionError(ValueError):
    """A cannot-link joins two rows that must-links tie together."""


class InfeasibleConstraintsError(ValueError):
    """No assignment to the given number of clusters keeps every hard constraint."""


class ModelFileError(ValueError):
    """A model cannot be saved, or a file is not a model that can be loaded."""
