"""Errors and warnings that linkfield raises on purpose."""

from __future__ import annotations

__all__ = ["ConstraintWarning", "ContradictionError", "InfeasibleConstraintsError"]


class ConstraintWarning(UserWarning):
    """Some constraints contradict each other or cannot all be kept."""


class ContradictionError(ValueError):
    """A cannot-link joins two rows that must-links tie together."""


class InfeasibleConstraintsError(ValueError):
    """No assignment to the given number of clusters keeps every hard constraint."""
