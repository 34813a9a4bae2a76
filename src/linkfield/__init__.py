"""linkfield: clustering with what the user knows."""

from ._version import __version__
from .constraints import Constraints
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
from .io import read_constraints, write_constraints

__all__ = [
    "COPKMeans",
    "ConstrainedGaussianMixture",
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
    "select_n_components",
    "write_constraints",
]
