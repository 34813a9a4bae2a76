"""Tables in, tables out."""

from .constraint_reader import read_constraints
from .constraint_writer import write_constraints
from .group_reader import read_groups
from .group_writer import write_groups

__all__ = ["read_constraints", "read_groups", "write_constraints", "write_groups"]
