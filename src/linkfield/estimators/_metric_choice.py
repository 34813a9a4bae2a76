"""Which metric to learn: the one that keeps constraints which a fit has not seen.

A full matrix can follow clusters of any direction, but needs many rows; weights of features suit
features in different units; a fixed metric is safest where there are few rows for many features.
Held-out constraints tell them apart. The rule was found on the data sets of the papers and on
modern ones (maths.md 2.7).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ..constraints import Constraints
from ..constraints.held_out import Question, Split, asked, draw_splits
from ..distortions import Distortion
from ..exceptions import ContradictionError, InfeasibleConstraintsError
from .progress import small_fits

__all__ = ["CHOICE_DTYPE", "MetricChoice", "chosen_metric", "usual_metric"]

IntArray = NDArray[np.int64]

#: A full matrix is the first choice where there are so many rows a feature.
ROWS_A_FEATURE = 15

#: Folds of the constraints, starts of every fit; rows that these fits see at most, and labelled
#: ones among them where there are more: 400 labels entail 80,000 pairs.
FOLDS, STARTS, MOST_ROWS, MOST_LABELLED = 3, 2, 4_000, 400

#: Fewer pairs than this choose nothing.
LEAST_PAIRS = 10

CHOICE_DTYPE = np.dtype(
    [("metric", "U16"), ("kept", np.float64), ("error", np.float64), ("n_pairs", np.int64)]
)


class MetricChoice(NamedTuple):
    """The kind that was chosen, and the share of held-out pairs that every candidate kept."""

    metric: str
    table: NDArray[Any]


def candidates(X: Any) -> list[str]:
    """Return the kinds to compare, the first choice first."""
    n, d = X.shape
    enough = n >= ROWS_A_FEATURE * d and not sparse.issparse(X)
    return ["full", "diagonal", "identity"] if enough else ["identity", "diagonal"]


def usual_metric(distortion: Distortion) -> str:
    """Return the kind where no constraints can choose: weights of features, if there can be any."""
    return "diagonal" if "diagonal" in distortion.metrics else "identity"


def chosen_metric(
    estimator: Any,
    X: Any,
    constraints: Constraints,
    weight: Any,
    rng: np.random.Generator,
) -> MetricChoice:
    """Return the first choice, or what keeps more held-out pairs by over a standard error.

    Fewer constraints than can be held out choose nothing.

    Parameters
    ----------
    estimator : HMRFKMeans
        Copies of it are fitted with every candidate.
    X : array or sparse matrix
        Rows to be compared by squared distances.
    constraints : Constraints
    weight : float array (n,)
        Weights of the rows.
    rng : Generator
    """
    rows = sampled(constraints, X.shape[0], rng)
    if len(rows) < X.shape[0]:
        X, weight, constraints = X[rows], weight[rows], constraints.restrict(rows)
    question = asked(constraints, FOLDS, rng)
    unasked = MetricChoice("diagonal", np.empty(0, CHOICE_DTYPE))
    if question.n_units < 2 * FOLDS or len(question.ends) < LEAST_PAIRS:
        return unasked
    if X.shape[0] < estimator.n_clusters:  # the sample is too small to hold all clusters
        return unasked
    try:
        table = _compared(estimator, X, weight, draw_splits(constraints, question, FOLDS, 1, rng),
                          question)  # fmt: skip
    except (ContradictionError, InfeasibleConstraintsError):
        # The fit itself will say so, of all constraints and by the rows that the user knows.
        return unasked
    first = table[0]
    best = table[int(np.argmax(table["kept"]))]
    better = best["kept"] > first["kept"] + first["error"]
    return MetricChoice(str(best["metric"] if better else first["metric"]), table)


def _compared(
    estimator: Any, X: Any, weight: Any, splits: list[Split], question: Question
) -> NDArray[Any]:
    """Return what every candidate keeps of the held-out pairs."""
    kinds = candidates(X)
    table = np.empty(len(kinds), CHOICE_DTYPE)
    with small_fits(estimator, "choosing the metric", len(kinds) * len(splits)) as one_more:
        for line, kind in zip(table, kinds, strict=True):
            model = _copy(estimator, kind)
            kept, must = _held_out(model, X, weight, splits, question, one_more)
            line["metric"], line["n_pairs"] = kind, len(kept)
            line["kept"], line["error"] = _balanced(kept, must)
    return table


def sampled(constraints: Constraints, n_rows: int, rng: np.random.Generator) -> IntArray:
    """Return all rows, or so many as are enough: up to half of them tied, pair by pair."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    tied = all_tied = constraints.tied_rows()
    if len(tied) > MOST_ROWS // 2:
        table = constraints.pairs(labels=False)
        ends = np.column_stack([table["a"], table["b"]])
        some = ends[rng.permutation(len(ends))[: MOST_ROWS // 4]].ravel()
        labelled = constraints.labels.rows
        size = min(MOST_LABELLED, len(labelled))
        tied = np.r_[some, rng.choice(labelled, size, replace=False)]
    free = np.setdiff1d(np.arange(n_rows), all_tied, assume_unique=True)
    others = rng.choice(free, min(MOST_ROWS - len(tied), len(free)), replace=False)
    return np.unique(np.r_[tied, others])


def _copy(estimator: Any, kind: str) -> Any:
    """Return an estimator that is quick to fit, with this metric."""
    quick = {"metric": kind, "n_init": STARTS, "warm_start": False, "certify": False, "verbose": 0}
    return clone(estimator).set_params(**quick, inference="icm", assignment="hard")


def _held_out(
    model: Any,
    X: Any,
    weight: Any,
    splits: list[Split],
    question: Question,
    one_more: Callable[[], None],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which held-out pairs are kept, and which of them are must-links."""
    kept, must = [], []
    for split in splits:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.set_params(random_state=split.seed)
            labels = model.fit(X, constraints=split.training, sample_weight=weight).labels_
        a, b = question.ends[split.held_out].T
        together = question.must[split.held_out]
        kept.append((labels[a] == labels[b]) == together)
        must.append(together)
        one_more()
    return np.concatenate(kept), np.concatenate(must)


def _balanced(kept: NDArray[np.bool_], must: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the mean of the shares of must-links and cannot-links kept, and its error."""
    parts = [kept[must], kept[~must]]
    shares = [(float(part.mean()), len(part)) for part in parts if len(part)]
    variance = sum(p * (1.0 - p) / n for p, n in shares) / len(shares) ** 2
    return sum(p for p, _ in shares) / len(shares), float(np.sqrt(variance))
