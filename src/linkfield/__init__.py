"""linkfield: clustering with what the user knows."""

from ._version import __version__
from .constraints import Constraints
from .estimators import (
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
)
from .io import read_constraints, write_constraints

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "Constraints",
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
    "write_constraints",
]
