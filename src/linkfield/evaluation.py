"""Scores of a partition: against known classes, and against constraints.

Every score against classes is read off the contingency table n_uv, the number of rows of class u
in cluster v, with class sizes a_u = Σ_v n_uv and cluster sizes b_v = Σ_u n_uv. The table is counted
once, in time and memory O(N + C·K) for C classes and K clusters; no score ever looks at pairs of
rows.

Labels are names: numbers or strings, in any order, and the two sides need not share them. A label
such as -1 is a cluster like any other. To leave rows out, pass ``rows`` (score only these) or
``exclude`` (constraints whose rows are left out, so that a score is not flattered by what the
clustering was told).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

__all__ = [
    "ConstraintSatisfaction",
    "Contingency",
    "adjusted_rand",
    "clustering_accuracy",
    "constraint_satisfaction",
    "contingency",
    "normalized_mutual_info",
    "pairwise_f_score",
    "pairwise_precision_recall",
]

IntArray: TypeAlias = NDArray[np.int64]

# A table with more cells than this (8 MiB of counts) is kept sparse.
_DENSE_CELLS = 1 << 20
_LARGEST = np.iinfo(np.int64).max


class HasTiedRows(Protocol):
    """Constraints that know which rows they mention."""

    def tied_rows(self) -> NDArray[np.integer[Any]]:
        """Positions of all rows that occur in a constraint."""


class HasPairs(Protocol):
    """Constraints that list their pairs."""

    def pairs(self) -> NDArray[np.void]:
        """A structured array with the fields ``a``, ``b``, ``kind`` and ``weight``."""


@dataclass(frozen=True, eq=False)
class Contingency:
    """Classes against clusters, as counts of rows.

    Attributes
    ----------
    table : ndarray or csr_array of shape (C, K), int64
        n_uv, the number of rows of class u in cluster v. Sparse when C·K exceeds about a million.
    classes, clusters : ndarray of shape (C,) and (K,)
        The label of each row and of each column of the table, sorted where labels can be sorted.
    """

    table: IntArray | csr_array
    classes: NDArray[Any]
    clusters: NDArray[Any]

    @property
    def class_sizes(self) -> IntArray:
        """a_u, the number of rows of each class."""
        return np.asarray(self.table.sum(axis=1), dtype=np.int64).ravel()

    @property
    def cluster_sizes(self) -> IntArray:
        """b_v, the number of rows of each cluster."""
        return np.asarray(self.table.sum(axis=0), dtype=np.int64).ravel()

    @property
    def counts(self) -> IntArray:
        """The cells n_uv that are not zero, in no particular order."""
        if isinstance(self.table, np.ndarray):
            return self.table[self.table > 0]
        return np.asarray(self.table.data, dtype=np.int64)


@dataclass(frozen=True)
class ConstraintSatisfaction:
    """How much of what was demanded a labelling keeps.

    Attributes
    ----------
    must_link, cannot_link : float
        Share of the pairs of this kind that are kept; nan if there are none.
    overall : float
        Weighted share of all pairs that is kept; nan if there are none.
    n_must_link, n_cannot_link : int
        Number of pairs of each kind.
    """

    must_link: float
    cannot_link: float
    overall: float
    n_must_link: int
    n_cannot_link: int


def contingency(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> Contingency:
    """Count the rows of each class in each cluster.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (N,)
        Class and cluster of every row: integers, strings, or other hashable names.
    rows : array-like of int or bool, optional
        Positions of the rows to count, or a mask of length N. A position given twice counts once.
    exclude : Constraints, optional
        Rows that occur in these constraints are left out.

    Returns
    -------
    Contingency
        The table and the labels of its rows and columns.

    Examples
    --------
    >>> result = contingency(["a", "a", "b", "b"], [0, 1, 1, 1])
    >>> result.table
    array([[1, 1],
           [0, 2]])
    >>> contingency(["a", "a", "b", "b"], [0, 1, 1, 1], rows=[0, 2, 3]).table
    array([[1, 0],
           [0, 2]])
    """
    true = _vector(labels_true, "labels_true")
    pred = _vector(labels_pred, "labels_pred")
    if true.size != pred.size:
        raise ValueError(
            f"labels_true has {true.size} labels and labels_pred has {pred.size}; "
            "both must describe the same rows"
        )
    keep = _kept_rows(true.size, rows, exclude)
    if keep is not None:
        true, pred = true[keep], pred[keep]
    classes, u = _encode(true, "labels_true")
    clusters, v = _encode(pred, "labels_pred")
    C, K = classes.size, clusters.size
    if C * K <= _DENSE_CELLS:
        cells = np.bincount(u * K + v, minlength=C * K)
        return Contingency(cells.astype(np.int64, copy=False).reshape(C, K), classes, clusters)
    ones = np.ones(u.size, dtype=np.int64)
    return Contingency(coo_array((ones, (u, v)), shape=(C, K)).tocsr(), classes, clusters)


def pairwise_precision_recall(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> tuple[float, float]:
    """Precision and recall of the pairs that share a cluster (Basu et al. 2003, section 4.1).

    With C2(x) = x(x-1)/2 and TP = Σ_uv C2(n_uv) the pairs that share class and cluster::

        precision = TP / Σ_v C2(b_v)        recall = TP / Σ_u C2(a_u)

    Both are 0 if TP is 0.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        As for `contingency`.

    Returns
    -------
    precision, recall : float
        Both in [0, 1].

    Examples
    --------
    >>> pairwise_precision_recall([0, 0, 1, 1], [0, 0, 0, 0])
    (0.3333333333333333, 1.0)
    """
    both, true, pred, _ = _pair_counts(labels_true, labels_pred, rows, exclude)
    return (both / pred, both / true) if both else (0.0, 0.0)


def pairwise_f_score(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Harmonic mean of pairwise precision and recall (Basu et al. 2003, section 4.1).

    ::

        F = 2 Σ_uv C2(n_uv) / (Σ_u C2(a_u) + Σ_v C2(b_v)),      C2(x) = x(x-1)/2

    and 0 if no pair shares both class and cluster. It follows that F is 0, not 1, where every row
    is alone on both sides: there is no pair to be right about.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        As for `contingency`.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    both, true, pred, _ = _pair_counts(labels_true, labels_pred, rows, exclude)
    return 2 * both / (true + pred) if both else 0.0


def adjusted_rand(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Rand index, corrected for chance (Hubert & Arabie 1985, eq. 5).

    With TP = Σ_uv C2(n_uv), P = Σ_v C2(b_v), T = Σ_u C2(a_u), C2(x) = x(x-1)/2, and the number of
    agreements e = P·T / C2(N) that chance gives::

        ARI = (TP - e) / ((P + T)/2 - e)

    and 1 if the denominator is 0, which happens only if both partitions are the same.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        As for `contingency`.

    Returns
    -------
    float
        In [-1/2, 1]; about 0 for a random partition.

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    >>> adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    both, true, pred, every = _pair_counts(labels_true, labels_pred, rows, exclude)
    # Both sides times 2 C2(N): whole numbers, so nothing cancels and nothing overflows.
    numerator = 2 * (both * every - true * pred)
    denominator = (true + pred) * every - 2 * true * pred
    return numerator / denominator if denominator else 1.0


def normalized_mutual_info(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Mutual information over the mean entropy (Basu et al. 2004, eq. 21).

    With p_uv = n_uv/N and entropies H in natural logarithms::

        NMI = I / ((H_class + H_cluster)/2),      I = H_class + H_cluster - H_joint

    and 1 if both entropies are 0, that is, one class and one cluster.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        As for `contingency`.

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> normalized_mutual_info([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    h_class = _entropy(table.class_sizes)
    h_cluster = _entropy(table.cluster_sizes)
    if h_class == 0.0 and h_cluster == 0.0:
        return 1.0
    shared = h_class + h_cluster - _entropy(table.counts)
    return min(1.0, max(0.0, shared / (0.5 * (h_class + h_cluster))))


def clustering_accuracy(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Share of rows in the right cluster, under the best naming of clusters.

    The maximum over one-to-one maps σ from classes to clusters, found as an assignment problem::

        accuracy = max_σ Σ_u n_{u,σ(u)} / N

    A class or a cluster without a partner contributes nothing.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        As for `contingency`.

    Returns
    -------
    float
        In (0, 1].

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude).table
    if isinstance(table, np.ndarray):
        u, v = linear_sum_assignment(table, maximize=True)
        return int(table[u, v].sum()) / int(table.sum())
    return _best_matching(table) / int(table.sum())


def constraint_satisfaction(constraints: HasPairs, labels: ArrayLike) -> ConstraintSatisfaction:
    """Share of the constraints that a labelling keeps.

    A must-link is kept if its two rows share a label, a cannot-link if they do not. The shares by
    kind count pairs; the overall share weighs them::

        overall = Σ_{pairs kept} w / Σ_{pairs} w

    A hard pair (w = inf) enters the overall share with the largest finite weight, or with 1 if all
    pairs are hard. So the overall share is 1 only if every pair is kept, and 0 only if none is.

    Parameters
    ----------
    constraints : Constraints
        Pairs as given; entailed ones are not added.
    labels : array-like of shape (N,)
        Cluster of every row.

    Returns
    -------
    ConstraintSatisfaction
        The three shares and the number of pairs of each kind.

    Examples
    --------
    >>> from linkfield import Constraints
    >>> told = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3)])
    >>> kept = constraint_satisfaction(told, [0, 0, 1, 1])
    >>> kept.must_link, kept.cannot_link, round(kept.overall, 3)
    (0.5, 1.0, 0.667)
    """
    _, codes = _encode(_vector(labels, "labels"), "labels")
    pairs = constraints.pairs()
    _check_range(np.concatenate([pairs["a"], pairs["b"]]), codes.size, "the constraints mention")
    must, cannot = pairs["kind"] == "must", pairs["kind"] == "cannot"
    if not np.all(must | cannot):
        raise ValueError('the kind of a pair must be "must" or "cannot"')
    kept = (codes[pairs["a"]] == codes[pairs["b"]]) == must
    return ConstraintSatisfaction(
        must_link=_share(kept[must]),
        cannot_link=_share(kept[cannot]),
        overall=_share(kept, pairs["weight"]),
        n_must_link=int(must.sum()),
        n_cannot_link=int(cannot.sum()),
    )


# -- counting ------------------------------------------------------------------------------------


def _pair_counts(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    rows: ArrayLike | None,
    exclude: HasTiedRows | None,
) -> tuple[int, int, int, int]:
    """Pairs that share class and cluster, class, cluster; and all pairs. As unbounded integers."""
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    a, b = table.class_sizes, table.cluster_sizes
    n = int(a.sum())
    return _pairs_within(table.counts), _pairs_within(a), _pairs_within(b), n * (n - 1) // 2


def _pairs_within(sizes: IntArray) -> int:
    """Σ C2(n). In int64 this is exact for up to 3e9 rows."""
    return int((sizes * (sizes - 1) // 2).sum())


def _entropy(sizes: IntArray) -> float:
    """-Σ p ln p for p = n/N; summed exactly, so that the order of the sizes does not matter."""
    p = sizes[sizes > 0] / sizes.sum()
    return -math.fsum(p * np.log(p)) + 0.0


def _best_matching(table: csr_array) -> int:
    """Weight of the best one-to-one map on a sparse table.

    Each class gets a partner of its own that counts nothing, so that a full matching exists; and
    every weight is raised by 1, since the solver takes 0 for a missing edge.
    """
    n_classes = int(table.shape[0])
    raised = table.astype(np.float64)
    raised.data += 1.0
    everyone = np.arange(n_classes)
    alone = coo_array((np.ones(n_classes), (everyone, everyone)))
    graph = hstack([raised, alone], format="csr")
    u, v = min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[u, v].sum()) - n_classes


def _share(kept: NDArray[np.bool_], weight: NDArray[np.float64] | None = None) -> float:
    """Share of pairs kept, or of their weight; nan if there are no pairs."""
    if kept.size == 0:
        return math.nan
    if weight is None:
        return float(kept.mean())
    finite = np.isfinite(weight)
    top = weight[finite].max() if finite.any() else 1.0
    relative = np.where(finite, weight / top, 1.0)
    # Exact sums: all kept gives exactly 1 however the weights are ordered.
    return math.fsum(relative[kept]) / math.fsum(relative)


# -- reading labels and rows ---------------------------------------------------------------------


def _vector(labels: ArrayLike, name: str) -> NDArray[Any]:
    """The labels as a 1-D array whose elements are still what the caller gave."""
    if np.ma.is_masked(labels):
        raise ValueError(f"{name} has masked entries; pass rows= to leave rows out")
    try:
        array = np.asarray(labels)
    except ValueError as error:
        raise ValueError(f"{name} must be a flat sequence of labels: {error}") from error
    if array.ndim != 1:
        raise ValueError(f"{name} must be 1-D, one label a row; got shape {array.shape}")
    if array.size == 0:
        raise ValueError(f"{name} is empty; there is nothing to score")
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        # numpy turns ["a", nan] and ["1", 1] into strings; look at the labels themselves.
        array = np.asarray(labels, dtype=object)
    if array.dtype.kind == "T":
        array = array.astype(object)
    if array.dtype.kind not in "biufUSO":
        raise TypeError(f"{name} must be integers or strings; got dtype {array.dtype}")
    return array


def _encode(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
    """The distinct labels, and for every row the position of its label among them."""
    kind = labels.dtype.kind
    if kind == "O":
        return _encode_objects(labels, name)
    if kind == "f" and np.isnan(labels).any():
        raise ValueError(_missing(name))
    if kind in "iu":
        low, high = int(labels.min()), int(labels.max())
        if high - low < 4 * labels.size and high <= _LARGEST:  # no need to sort
            shifted = labels.astype(np.int64) - low
            present = np.bincount(shifted) > 0
            place = np.cumsum(present, dtype=np.int64) - 1
            return np.flatnonzero(present) + low, place[shifted]
    names, codes = np.unique(labels, return_inverse=True)
    return names, codes.astype(np.int64, copy=False)


def _encode_objects(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
    """Encode by hashing, which also takes labels of several types."""
    try:
        distinct = list(dict.fromkeys(labels.tolist()))
    except TypeError as error:
        raise TypeError(f"{name} has a label that cannot be hashed: {error}") from error
    if any(_is_missing(label) for label in distinct):
        raise ValueError(_missing(name))
    with suppress(TypeError):  # labels of several types keep the order in which they came
        distinct.sort()
    place = {label: code for code, label in enumerate(distinct)}
    codes = np.fromiter((place[label] for label in labels.tolist()), np.int64, labels.size)
    names = np.empty(len(distinct), dtype=object)
    names[:] = distinct
    return names, codes


def _is_missing(label: object) -> bool:
    """None, nan, NaT or pandas.NA (whose comparison with itself has no truth value)."""
    if label is None:
        return True
    try:
        return bool(label != label)
    except (TypeError, ValueError):
        return True


def _missing(name: str) -> str:
    return f"{name} has missing labels (nan or None); pass rows= to score only labelled rows"


def _kept_rows(
    n: int, rows: ArrayLike | None, exclude: HasTiedRows | None
) -> NDArray[np.bool_] | None:
    """Mask of the rows to score, or None for all."""
    if rows is None and exclude is None:
        return None
    keep = np.ones(n, dtype=np.bool_) if rows is None else _row_mask(rows, n)
    if exclude is not None:
        tied_rows: Callable[[], ArrayLike] | None = getattr(exclude, "tied_rows", None)
        if tied_rows is None:
            raise TypeError(f"exclude must be Constraints; got {type(exclude).__name__}")
        tied = np.asarray(tied_rows(), dtype=np.int64)
        _check_range(tied, n, "exclude mentions")
        keep[tied] = False
    if not keep.any():
        raise ValueError("no rows are left to score; widen rows= or drop exclude=")
    return keep


def _row_mask(rows: ArrayLike, n: int) -> NDArray[np.bool_]:
    """Positions or mask, as a mask."""
    given = np.asarray(rows)
    if given.ndim != 1:
        raise ValueError(f"rows must be 1-D; got shape {given.shape}")
    if given.dtype.kind == "b":
        if given.size != n:
            raise ValueError(f"the mask rows has length {given.size}, but there are {n} labels")
        return given.copy()
    keep = np.zeros(n, dtype=np.bool_)
    if given.size:
        if given.dtype.kind not in "iu":
            raise TypeError(f"rows must be positions or a boolean mask; got dtype {given.dtype}")
        _check_range(given, n, "rows mentions")
        keep[given] = True
    return keep


def _check_range(positions: NDArray[Any], n: int, who: str) -> None:
    """Raise for the first position that is no row."""
    outside = (positions < 0) | (positions >= n)
    if outside.any():
        raise ValueError(
            f"{who} row {positions[outside][0]}, but the labels have rows 0 to {n - 1}"
        )
