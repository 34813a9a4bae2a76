"""Estimators: the rooms wired together, in scikit-learn's manner."""

from .classical import ConstrainedKMeans, COPKMeans, SeededKMeans
from .hmrf import HMRFKMeans
from .mixture import ConstrainedGaussianMixture
from .mixture_selection import ComponentSelection, select_n_components
from .named import KMeansI, KMeansIC, KMeansICD, MKMeans, MPCKMeans, PCKMeans

__all__ = [
    "COPKMeans",
    "ComponentSelection",
    "ConstrainedGaussianMixture",
    "ConstrainedKMeans",
    "HMRFKMeans",
    "KMeansI",
    "KMeansIC",
    "KMeansICD",
    "MKMeans",
    "MPCKMeans",
    "PCKMeans",
    "SeededKMeans",
    "select_n_components",
]
