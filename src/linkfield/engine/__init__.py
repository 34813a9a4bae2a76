"""Ways to map over blocks of rows and add."""

from .array import ArrayEngine

__all__ = ["ArrayEngine"]
