"""Tables in, tables out."""

from .constraints import read_constraints, write_constraints

__all__ = ["read_constraints", "write_constraints"]
