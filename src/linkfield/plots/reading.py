"""What displays and reports read out of a fitted model; none of it needs matplotlib."""

from ._costs import distances_to, link_costs, own_distances
from ._fitted import Fitted, feature_names_of, last_step, read_fitted
from ._links import Links, links_of
from ._moments import cluster_means, column_moments
from .feature_weights import feature_weights
from .silhouette import Silhouettes, silhouettes_of

__all__ = [
    "Fitted",
    "Links",
    "Silhouettes",
    "cluster_means",
    "column_moments",
    "distances_to",
    "feature_names_of",
    "feature_weights",
    "last_step",
    "link_costs",
    "links_of",
    "own_distances",
    "read_fitted",
    "silhouettes_of",
]
