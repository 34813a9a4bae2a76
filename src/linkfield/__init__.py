"""linkfield: clustering with what the user knows."""

from typing import TYPE_CHECKING, Any

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
from .io import load, read_constraints, read_groups, save, write_constraints, write_groups

if TYPE_CHECKING:
    from .experiments import constraints_help

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
    "constraints_help",
    "load",
    "read_constraints",
    "read_groups",
    "save",
    "select_n_components",
    "write_constraints",
    "write_groups",
]


def __getattr__(name: str) -> Any:
    """Import the experiments only when somebody asks for them."""
    if name == "constraints_help":
        from .experiments import constraints_help

        return constraints_help
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
