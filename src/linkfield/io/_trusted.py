"""The types that a model file may hold, by name.

Beside these skops trusts scikit-learn's own estimators, numpy's and scipy's arrays and Python's
plain values. A name stands for one class in the module that defines it: a prefix such as
"linkfield." would also let in whatever those modules import.
"""

from __future__ import annotations

__all__ = ["ESTIMATORS", "TRUSTED"]

_ROOMS = {
    "distortions.bregman": (
        "Bregman",
        "IDivergence",
        "ItakuraSaito",
        "KullbackLeibler",
        "Logistic",
    ),
    "distortions.cosine": ("Correlation", "Cosine"),
    "distortions.euclidean": ("SquaredEuclidean",),
    "distortions.metrics": (
        "Diagonal",
        "DiagonalPerCluster",
        "Full",
        "FullPerCluster",
        "Identity",
    ),
    "distortions.penalties": ("HMRFPenalty", "MPC2003Penalty", "PottsPenalty"),
    "estimation.component_sums": ("CovariancePrior",),
    "estimation.gaussians": (
        "DiagonalGaussians",
        "FullGaussians",
        "SphericalGaussians",
        "TiedGaussians",
    ),
    "estimation.objective": ("Model",),
    "estimation.priors": ("NoPrior", "Rayleigh", "Wishart"),
    "estimators._mixture_units": ("Units",),
    "inference.auto": ("Auto",),
    "inference.belief_propagation": ("BeliefPropagation",),
    "inference.exact": ("Exact",),
    "inference.icm": ("ICM",),
    "inference.linear_program": ("LinearProgram",),
    "inference.mean_field": ("MeanField",),
    "initialize.neighbourhoods": ("Neighbourhoods",),
}
_ESTIMATORS = {
    "estimators.classical": ("COPKMeans", "ConstrainedKMeans", "SeededKMeans"),
    "estimators.hmrf": ("HMRFKMeans",),
    "estimators.mixture": ("ConstrainedGaussianMixture",),
    "estimators.named": ("KMeansI", "KMeansIC", "KMeansICD", "MKMeans", "MPCKMeans", "PCKMeans"),
}


def _named(rooms: dict[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(f"linkfield.{room}.{name}" for room, names in rooms.items() for name in names)


#: The estimators of linkfield.
ESTIMATORS = _named(_ESTIMATORS)
#: Every class of linkfield that a fitted estimator may consist of.
TRUSTED = ESTIMATORS | _named(_ROOMS)
