"""Tables in, tables out."""

from .constraint_reader import read_constraints
from .constraint_writer import write_constraints

__all__ = ["read_constraints", "write_constraints"]
