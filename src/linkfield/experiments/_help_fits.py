"""What fits make of constraints that are held out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..constraints import Constraints
from ..constraints.held_out import Question, Split
from ..evaluation import adjusted_rand

__all__ = ["Answer", "answer"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Answer(NamedTuple):
    """What the fits of a split made of it; entry 0 is the fit without constraints.

    Attributes
    ----------
    kept : bool array (n_fits, n_held_out)
        Which held-out pairs each labelling keeps.
    together : float array (n_fits,)
        Share of all pairs of rows that share a cluster.
    agreement : float
        ARI of the first two labellings on the rows that no constraint names.
    labels : int array (2, n_rows)
        These two labellings.
    one_cluster : bool
        Whether none of the fits found more than one cluster.
    warned : list of str
        What the fits warned of.
    """

    kept: BoolArray
    together: FloatArray
    agreement: float
    labels: NDArray[np.int32]
    one_cluster: bool
    warned: list[str]


def answer(
    estimator: Any,
    X: Any,
    split: Split,
    question: Question,
    settings: Sequence[dict[str, Any]],
    free: IntArray,
) -> Answer:
    """Fit without constraints, then with the training part under every setting.

    All fits of a split have the same seed.
    """
    plans: list[tuple[Constraints, dict[str, Any]]] = [(Constraints(), {})]
    plans += [(split.training, setting) for setting in settings]
    labellings, warned = [], []
    for known, setting in plans:
        labels, messages = _labels(estimator, X, known, split.seed, setting)
        labellings.append(labels)
        warned.extend(messages)
    a, b = question.ends[split.held_out].T
    must = question.must[split.held_out]
    kept = np.array([(labels[a] == labels[b]) == must for labels in labellings])
    together = np.array([_together(labels) for labels in labellings])
    first = np.array(labellings[:2], dtype=np.int32)
    agreement = adjusted_rand(*first, rows=free) if len(free) > 1 else np.nan
    return Answer(kept, together, agreement, first, bool((together == 1).all()), warned)


def _labels(
    estimator: Any, X: Any, known: Constraints, seed: int, setting: dict[str, Any]
) -> tuple[IntArray, list[str]]:
    """Fit a copy of the estimator; return its labels, numbered, and what it warned of."""
    model = clone(estimator).set_params(**setting)
    seeds = [n for n in model.get_params() if n.split("__")[-1] == "random_state"]
    model.set_params(**dict.fromkeys(seeds, seed))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, constraints=known)
        found = model.labels_ if hasattr(model, "labels_") else model.predict(X)
    labels = np.unique(np.asarray(found), return_inverse=True)[1]
    return labels.astype(np.int64), [f"{w.category.__name__}: {w.message}" for w in caught]


def _together(labels: IntArray) -> float:
    size, n = np.bincount(labels), len(labels)
    return float((size * (size - 1)).sum() / (n * (n - 1))) if n > 1 else 1.0
