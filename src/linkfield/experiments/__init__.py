"""The papers' experiments: their data, protocols, runs, reports; a test of your own constraints.

:func:`names` lists them, :func:`get` returns one, :func:`run` runs it. An experiment of your own
is an :class:`Experiment`; the protocols of the papers (``basu2003.py`` and so on) are templates.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .synthetic import four_gaussians

if TYPE_CHECKING:
    from ._files import MissingDataError
    from .draws import Known
    from .helpful import ConstraintsHelp, constraints_help
    from .protocol import Experiment, Fit, Method, Source, Task, fitted, stored
    from .runner import run

__all__ = [
    "ConstraintsHelp",
    "Experiment",
    "Fit",
    "Known",
    "Method",
    "MissingDataError",
    "Source",
    "Task",
    "constraints_help",
    "fitted",
    "four_gaussians",
    "get",
    "names",
    "run",
    "stored",
]

#: Where names that are not of the protocol live.
_HOMES = {
    "ConstraintsHelp": "helpful",
    "MissingDataError": "_files",
    "constraints_help": "helpful",
    "run": "runner",
}

#: The module of every experiment; it is imported when the experiment is asked for.
_MODULES = {
    "basu2003": "basu2003",
    "basu2004": "basu2004",
    "bilenko2004": "bilenko2004",
    "defaults": "defaults",
    "law2005-synthetic": "law2005",
    "law2005-teachers": "law2005",
    "modern": "modern",
    "peers": "peers",
    "pritsos": "pritsos",
    "weights": "weights",
}


def names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return tuple(_MODULES)


def get(name: str) -> Experiment:
    """Return an experiment by its name."""
    if name not in _MODULES:
        raise ValueError(f"there is no experiment {name!r}; there are {', '.join(_MODULES)}")
    module = import_module(f".{_MODULES[name]}", __name__)
    found: dict[str, Experiment] = {e.name: e for e in module.EXPERIMENTS}
    return found[name]


def __getattr__(name: str) -> Any:
    # The framework brings scikit-learn and all estimators with it; four_gaussians does not.
    if name in __all__:
        return getattr(import_module(f".{_HOMES.get(name, 'protocol')}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
