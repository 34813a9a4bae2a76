"""Ways to map over blocks of rows and add."""

from .array import ArrayEngine
from .assignment import Assignment
from .gaussian import Expectation, GaussianEngine
from .moments import Moments

__all__ = ["ArrayEngine", "Assignment", "Expectation", "GaussianEngine", "Moments"]
