"""Parameters, versions and what else a reader should know of a fit."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from .._version import __version__
from ._words import one_line
from .document import Block, Table

__all__ = ["about_blocks", "parameter_blocks", "version_text"]


def parameter_blocks(model: Any) -> list[Block]:
    """List the parameters; those that differ from the defaults are set off."""
    signature = inspect.signature(type(model))
    rows, changed = [], set()
    for i, (name, value) in enumerate(sorted(model.get_params(deep=False).items())):
        rows.append([name, _value(value)])
        usual = signature.parameters[name].default if name in signature.parameters else value
        if isinstance(value, np.ndarray) or repr(value) != repr(usual):
            changed |= {(i, 0), (i, 1)}
    footer = "Parameters that are not the default are set off."
    return [
        Table(["parameter", "value"], rows, footer, strong=frozenset(changed),
              words=frozenset({1}), folded=f"Parameters of {type(model).__name__}")
    ]  # fmt: skip


def _value(value: Any) -> str:
    shape = getattr(value, "shape", None)
    if shape:
        return f"an array of shape {shape}"
    return one_line(repr(value))


def about_blocks(about: Mapping[str, Any]) -> list[Block]:
    """List what the caller had to say."""
    if not about:
        return []
    rows = [[one_line(key, 60), one_line(_told(value), 600)] for key, value in about.items()]
    return [Table(["about this fit", ""], rows, "", words=frozenset({1}))]


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_told(part)}" for key, part in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_told, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def version_text() -> str:
    """Say which versions made the report."""
    parts = [f"linkfield {__version__}", f"Python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn"):
        try:
            parts.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"Made with {', '.join(parts)}."
