"""Tables, arrays, texts and single cells in; labels, constraints and models out."""

from .constraint_reader import read_constraints
from .constraint_writer import write_constraints
from .data import Data, read_data
from .group_reader import read_groups
from .group_writer import write_groups
from .models import load, read_about, save
from .single_cells import from_anndata, to_anndata

__all__ = [
    "Data",
    "from_anndata",
    "load",
    "read_about",
    "read_constraints",
    "read_data",
    "read_groups",
    "save",
    "to_anndata",
    "write_constraints",
    "write_groups",
]
