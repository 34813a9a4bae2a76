"""Estimators: the rooms wired together, in scikit-learn's manner."""

from .classical import ConstrainedKMeans, COPKMeans, SeededKMeans
from .hmrf import HMRFKMeans
from .named import KMeansI, KMeansIC, KMeansICD, MKMeans, MPCKMeans, PCKMeans

__all__ = [
    "COPKMeans",
    "ConstrainedKMeans",
    "HMRFKMeans",
    "KMeansI",
    "KMeansIC",
    "KMeansICD",
    "MKMeans",
    "MPCKMeans",
    "PCKMeans",
    "SeededKMeans",
]
