"""What the user knows about the rows."""

from ._group_graph import Connected
from ._normal import readable
from .closure import Closure
from .conflicts import Conflict, Repaired
from .groups import Groups
from .labels import PartialLabels
from .pairs import PAIR_BUDGET, Constraints
from .sampling import sample_pairs
from .ties import Ties, tie
from .violations import violated_pairs

__all__ = [
    "PAIR_BUDGET",
    "Closure",
    "Conflict",
    "Connected",
    "Constraints",
    "Groups",
    "PartialLabels",
    "Repaired",
    "Ties",
    "readable",
    "sample_pairs",
    "tie",
    "violated_pairs",
]
