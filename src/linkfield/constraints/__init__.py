"""What the user knows about the rows."""

from ._group_graph import Connected
from ._normal import readable
from .checking import Check, Clusters, check_constraints, clusters_needed
from .closure import Closure
from .conflicts import Conflict, Link, Repaired
from .groups import Groups
from .labels import PartialLabels
from .pairs import PAIR_BUDGET, Constraints
from .sampling import sample_pairs
from .ties import Ties, tie
from .violations import violated_pairs

__all__ = [
    "PAIR_BUDGET",
    "Check",
    "Closure",
    "Clusters",
    "Conflict",
    "Connected",
    "Constraints",
    "Groups",
    "Link",
    "PartialLabels",
    "Repaired",
    "Ties",
    "check_constraints",
    "clusters_needed",
    "readable",
    "sample_pairs",
    "tie",
    "violated_pairs",
]
