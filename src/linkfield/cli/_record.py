"""run.json: what was done, with what, and what came out."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from ._estimators import as_json
from ._folder import PROGRAM
from ._progress import Teller
from ._writing import Result

__all__ = ["file_facts", "write_record"]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "highspy", "skops")


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
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def write_record(
    result: Result, tell: Teller, *, started: str, facts: dict[str, Any]
) -> dict[str, Any]:
    """Write run.json and return what it holds.

    Parameters
    ----------
    result : Result
    tell : Teller
        Who kept times and warnings.
    started : str
        When the run began.
    facts : dict
        Those of the data file.
    """
    ask, model, prepared = result.request, result.model, result.prepared
    run = {
        "program": PROGRAM,
        "versions": versions(),
        "command": ["linkfield", *sys.argv[1:]],
        "started": started,
        "input": {**facts, **_inputs(result)},
        "preparation": {
            "scale": prepared.scale,
            "asked": ask.scale,
            "steps": [type(step).__name__ for _, step in prepared.steps],
            "dtype": ask.dtype,
        },
        "parameters": {"estimator": type(model).__name__, **model.get_params(deep=False)},
        "seeds": _seeds(result),
        "result": _outcome(result),
        "seconds": {name: round(value, 3) for name, value in tell.seconds.items()},
        "warnings": tell.notes,
        "files": [*result.files, "run.json"],
    }
    run = dict(as_json(run))
    text = json.dumps(run, indent=1, ensure_ascii=False, allow_nan=False)
    (result.folder / "run.json").write_text(text + "\n", encoding="utf-8")
    return run


def _seeds(result: Result) -> dict[str, Any]:
    """Return the seeds: --set random_state goes before --seed, but not for the preparation."""
    seeds = {"random_state": result.model.get_params(deep=False)["random_state"]}
    if result.request.svd is not None:
        seeds["svd"] = result.request.seed
    return seeds


def _inputs(result: Result) -> dict[str, Any]:
    """Return what was read."""
    ask, known, pairs = result.request, result.known, result.pairs
    return {
        "rows": len(result.labels),
        "columns": result.prepared.X.shape[1],
        "column_names": None if ask.directional else result.data.feature_names,
        "id_column": ask.id_column,
        "label_column": ask.label_column,
        "labelled_rows": 0 if known.labelled is None else len(known.labelled[0]),
        "constraints": [file_facts(file) for file in ask.constraints],
        "must_links": 0 if pairs is None else pairs.n_must_link,
        "cannot_links": 0 if pairs is None else pairs.n_cannot_link,
        "groups": None if ask.groups is None else file_facts(ask.groups),
    }


def _outcome(result: Result) -> dict[str, Any]:
    """Return what came out of the fit."""
    model, names = result.model, result.names
    K = int(getattr(model, "n_clusters", getattr(model, "n_components", 1)))
    sizes = np.bincount(result.labels, minlength=K)
    facts: dict[str, Any] = {
        "clusters": [
            {"cluster": k, "rows": int(n)} | ({"label": names[k]} if names else {})
            for k, n in enumerate(sizes)
        ],
        "objective": model.objective_,
        "iterations": model.n_iter_,
        "converged": bool(model.converged_),
        "violations": result.n_violations,
    }
    if hasattr(model, "strength_"):
        return facts | {"strength": model.strength_, "suspects": len(model.suspects())}
    facts["metric"] = model.metric_kind_
    choice: Any = getattr(model, "metric_choice_", ())
    if len(choice):
        facts["metric_choice"] = [
            dict(zip(choice.dtype.names, line.tolist(), strict=True)) for line in choice
        ]
    if model.certify and np.isfinite(model.lower_bound_):
        facts["lower_bound"] = model.lower_bound_
    return facts
