"""The M-step: additive statistics, centres, metrics and their priors."""

from .component_sums import CovariancePrior
from .metric_update import update_directional, update_linear
from .objective import Model, Objective
from .pair_terms import PairTerms
from .priors import MetricPrior, NoPrior, Rayleigh, Regulariser, Wishart, as_prior
from .settled_blocks import SettledBlocks
from .soft import entropies, soft_slopes, soft_statistics, softmax
from .statistics import Statistics, summarize

__all__ = [
    "CovariancePrior",
    "MetricPrior",
    "Model",
    "NoPrior",
    "Objective",
    "PairTerms",
    "Rayleigh",
    "Regulariser",
    "SettledBlocks",
    "Statistics",
    "Wishart",
    "as_prior",
    "entropies",
    "soft_slopes",
    "soft_statistics",
    "softmax",
    "summarize",
    "update_directional",
    "update_linear",
]
