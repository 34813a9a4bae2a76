"""The estimators by short names, and their parameters as options."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ._mistakes import Mistake

__all__ = ["ESTIMATORS", "as_json", "make_estimator"]

#: Short name: class, and what the help says of it.
ESTIMATORS = {
    "hmrf": ("HMRFKMeans", "pairs count in the assignment and shape the metric"),
    "pck": ("PCKMeans", "a fixed metric, every violated pair costs its weight"),
    "mpck": ("MPCKMeans", "weights of features, learned together with the clusters"),
    "m": ("MKMeans", "pairs shape the metric only"),
    "cop": ("COPKMeans", "every constraint must hold"),
    "seeded": ("SeededKMeans", "labels give the first centres"),
    "constrained": ("ConstrainedKMeans", "labelled rows keep their labels"),
    "mixture": ("ConstrainedGaussianMixture", "Gaussians; groups by teachers who may be wrong"),
    "icd": ("KMeansICD", "seeds, pairs and distance learning of Basu et al. 2004"),
    "ic": ("KMeansIC", "the same without distance learning"),
    "i": ("KMeansI", "the same with the seeds alone"),
}

#: Options that are parameters by another name.
OPTIONS = {
    "distortion": "distortion",
    "metric": "metric",
    "inference": "inference",
    "penalty": "penalty",
    "weight": "constraint_weight",
    "closure": "closure",
    "starts": "n_init",
    "max_iter": "max_iter",
    "jobs": "n_jobs",
    "certify": "certify",
}

_SPELT = {"inf": float("inf"), "none": None, "true": True, "false": False}


def make_estimator(
    name: str, n_clusters: int, seed: int, options: Mapping[str, Any], extra: Iterable[str]
) -> Any:
    """Return an estimator that is not fitted yet.

    Parameters
    ----------
    name : str
        One of ``ESTIMATORS``.
    n_clusters, seed : int
    options : mapping
        Options of the command by their names in ``OPTIONS``; None was not given.
    extra : iterable of str
        Further parameters, as ``name=value``.
    """
    import linkfield

    kind = getattr(linkfield, ESTIMATORS[name][0])
    model = kind(n_clusters, random_state=seed)
    for option, parameter in OPTIONS.items():
        value = options.get(option)
        if value is None or (option == "certify" and value is False):
            continue
        if parameter not in model.get_params(deep=False):
            raise Mistake(
                f"--{option.replace('_', '-')}: the estimator '{name}' has no such parameter; "
                "leave it out, or take --estimator hmrf"
            )
        model.set_params(**{parameter: value})
    for pair in extra:
        _set(model, name, pair)
    _check_whole(model)
    return model


def _check_whole(model: Any) -> None:
    """Refuse seeds and numbers of threads that numpy and joblib would stumble over."""
    for parameter, value in model.get_params().items():
        last = parameter.rpartition("__")[2]
        whole = isinstance(value, int) and not isinstance(value, bool)
        if last == "random_state" and not (value is None or (whole and 0 <= value < 2**32)):
            raise Mistake(
                f"--set {parameter}={value}: a seed is a whole number from 0 to {2**32 - 1}, or "
                "none"
            )
        if last == "n_jobs" and not (value is None or (whole and value != 0)):
            option = "--jobs " if parameter == "n_jobs" else f"--set {parameter}="
            raise Mistake(
                f"{option}{value}: the number of threads is 1 or more, -1 for all cores; leave it "
                "out to have all"
            )


def _set(model: Any, name: str, pair: str) -> None:
    """Set one parameter from ``name=value``; ``inference__damping`` is one of its inference."""
    parameter, equals, text = pair.partition("=")
    parameter = parameter.strip()
    if not equals or not parameter:
        raise Mistake(f"--set {pair}: write --set NAME=VALUE, for instance --set tol=1e-6")
    outer, inner, _ = parameter.partition("__")
    if inner and outer == "inference" and "inference" in model.get_params(deep=False):
        from ..inference import as_inference

        model.set_params(inference=as_inference(model.inference))
    known = sorted(model.get_params())
    if parameter not in known:
        raise Mistake(
            f"--set {pair}: '{name}' has no parameter {parameter!r}; it has {', '.join(known)}"
        )
    model.set_params(**{parameter: parsed(text)})


def parsed(text: str) -> Any:
    """Return what a value is: a number, true, false, none, inf, a JSON list; otherwise text."""
    text = text.strip()
    if text.lower() in _SPELT:
        return _SPELT[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: no infinity, no objects."""
    import numpy as np

    if isinstance(value, Mapping):
        return {str(key): as_json(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [as_json(entry) for entry in list(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return str(value)
