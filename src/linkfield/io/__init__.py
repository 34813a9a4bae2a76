"""Tables, arrays, texts and single cells in; labels, constraints and models out."""

from .constraint_reader import read_constraints
from .constraint_writer import write_constraints
from .data import Data, read_data
from .group_reader import read_groups
from .group_writer import write_groups
from .models import load, read_about, save

__all__ = [
    "Data",
    "load",
    "read_about",
    "read_constraints",
    "read_data",
    "read_groups",
    "save",
    "write_constraints",
    "write_groups",
]
