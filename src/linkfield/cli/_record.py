"""run.json: what was done, with what, and what came out."""

from __future__ import annotations

import hashlib
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ._estimators import as_json
from ._folder import PROGRAM

__all__ = ["file_facts", "record", "result_facts"]

PACKAGES = ("linkfield", "numpy", "scipy", "scikit-learn", "numba", "highspy", "skops")


def file_facts(path: Path) -> dict[str, Any]:
    """Return path, size and SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as raw:
        while part := raw.read(1 << 20):
            digest.update(part)
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest.hexdigest()}


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a fit depends on."""
    from .. import __version__

    found = {"python": platform.python_version(), "linkfield": __version__}
    for name in PACKAGES[1:]:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def result_facts(model: Any, n_violations: int, sizes: Any, names: Any) -> dict[str, Any]:
    """Return what came out of a fit."""
    facts: dict[str, Any] = {
        "clusters": [
            {"cluster": k, "rows": int(n)} | ({"label": names[k]} if names else {})
            for k, n in enumerate(sizes)
        ],
        "objective": model.objective_,
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "violations": n_violations,
    }
    if hasattr(model, "metric_kind_"):
        facts["metric"] = model.metric_kind_
    choice = getattr(model, "metric_choice_", None)
    if choice is not None and len(choice):
        facts["metric_choice"] = [
            dict(zip(choice.dtype.names, line.tolist(), strict=True)) for line in choice
        ]
    if np.isfinite(bound := float(getattr(model, "lower_bound_", np.nan))) and hasattr(
        model, "metric_kind_"
    ):
        facts["lower_bound"] = bound
    if hasattr(model, "strength_"):
        facts["strength"] = model.strength_
        facts["suspects"] = len(model.suspects())
    return facts


def record(
    model: Any,
    *,
    inputs: dict[str, Any],
    preparation: dict[str, Any],
    result: dict[str, Any],
    seed: int,
    started: str,
    seconds: dict[str, float],
    warnings: list[str],
    files: list[str],
) -> dict[str, Any]:
    """Return the content of run.json."""
    parameters = {"estimator": type(model).__name__, **model.get_params(deep=False)}
    run = {
        "program": PROGRAM,
        "versions": versions(),
        "command": ["linkfield", *sys.argv[1:]],
        "started": started,
        "input": inputs,
        "preparation": preparation,
        "parameters": parameters,
        "seeds": {"random_state": seed},
        "result": result,
        "seconds": {name: round(value, 3) for name, value in seconds.items()},
        "warnings": warnings,
        "files": files,
    }
    return dict(as_json(run))
