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
]
