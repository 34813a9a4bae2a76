"""Initial centres: neighbourhoods, weighted farthest-first, k-means++."""

from .neighbourhoods import Neighbourhoods, SeedingData, weighted_farthest_first
from .order import canonical_keys
from .plus_plus import add_centres, most_offered

__all__ = [
    "Neighbourhoods",
    "SeedingData",
    "add_centres",
    "canonical_keys",
    "most_offered",
    "weighted_farthest_first",
]
