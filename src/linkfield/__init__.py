"""linkfield: clustering with what the user knows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
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
    from .experiments import constraints_help
    from .io import load, read_constraints, read_groups, save, write_constraints, write_groups

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


#: Where the public names live; rooms and names are imported when somebody asks for them, so that
#: the command line answers at once.
_ROOMS = {
    "constraints": ("Constraints", "Groups"),
    "experiments": ("constraints_help",),
    "io": (
        "load",
        "read_constraints",
        "read_groups",
        "save",
        "write_constraints",
        "write_groups",
    ),
    "distortions": (),
    "estimators": (),
    "evaluation": (),
    "exceptions": (),
    "inference": (),
    "plots": (),
    "reports": (),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a room, or what it holds."""
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f".{_HOME.get(name, 'estimators')}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
