"""Ways to map over blocks of rows and add."""

from .array import ArrayEngine
from .assignment import Assignment
from .moments import Moments

__all__ = ["ArrayEngine", "Assignment", "Moments"]
