"""linkfield: clustering with what the user knows."""

from ._version import __version__
from .constraints import Constraints, Groups
from .estimators import (
    ConstrainedGaussianMixture,
    ConstrainedKMeans,
    COPKMeans,
    HMRFKMeans,
    KMeansI,
    KMeansIC,
    KMeansICD,
    MKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
    select_n_components,
)
from .io import read_constraints, read_groups, write_constraints, write_groups

__all__ = [
    "COPKMeans",
    "ConstrainedGaussianMixture",
    "ConstrainedKMeans",
    "Constraints",
    "Groups",
    "HMRFKMeans",
    "KMeansI",
    "KMeansIC",
    "KMeansICD",
    "MKMeans",
    "MPCKMeans",
    "PCKMeans",
    "SeededKMeans",
    "__version__",
    "read_constraints",
    "read_groups",
    "select_n_components",
    "write_constraints",
    "write_groups",
]
