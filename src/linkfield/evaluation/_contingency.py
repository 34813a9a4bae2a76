"""The contingency table of classes and clusters: which rows count, and how labels are read.

The module is not called after its function, which the package offers under the same name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

__all__ = ["Contingency", "contingency"]

IntArray: TypeAlias = NDArray[np.int64]

# A table with more cells than this (8 MiB of counts) is kept sparse.
_DENSE_CELLS = 1 << 20
_LARGEST = np.iinfo(np.int64).max


class HasTiedRows(Protocol):
    """Constraints that know which rows they mention."""

    def tied_rows(self) -> NDArray[np.integer[Any]]:
        """Positions of all rows that occur in a constraint."""


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


def contingency(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> Contingency:
    """Count the rows of each class in each cluster.

    Of class u, n_uv rows are in cluster v. The scores write a_u = Σ_v n_uv and b_v = Σ_u n_uv for
    the sizes of classes and clusters, N for the number of all rows that count, and
    C2(x) = x(x-1)/2 for the number of pairs among x rows.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (N,)
        Class and cluster of every row: integers, strings, or other hashable names, in any order;
        the two sides need not share them. A label such as -1 is a name like any other.
    rows : array-like of int or bool, optional
        Positions of the rows to count, or a mask of length N. A position given twice counts once.
    exclude : Constraints, optional
        Rows that occur in these constraints are left out, so that a score is not flattered by
        what the clustering was told.

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
    true = as_vector(labels_true, "labels_true")
    pred = as_vector(labels_pred, "labels_pred")
    if true.size != pred.size:
        raise ValueError(
            f"labels_true has {true.size} labels and labels_pred has {pred.size}; "
            "both must describe the same rows"
        )
    keep = _kept_rows(true.size, rows, exclude)
    if keep is not None:
        true, pred = true[keep], pred[keep]
    classes, u = encode(true, "labels_true")
    clusters, v = encode(pred, "labels_pred")
    C, K = classes.size, clusters.size
    if C * K <= _DENSE_CELLS:
        cells = np.bincount(u * K + v, minlength=C * K)
        return Contingency(cells.astype(np.int64, copy=False).reshape(C, K), classes, clusters)
    ones = np.ones(u.size, dtype=np.int64)
    return Contingency(coo_array((ones, (u, v)), shape=(C, K)).tocsr(), classes, clusters)


def pair_counts(table: Contingency) -> tuple[int, int, int, int]:
    """Pairs that share class and cluster, class, cluster; and all pairs. As unbounded integers."""
    a, b = table.class_sizes, table.cluster_sizes
    n = int(a.sum())
    return pairs_within(table.counts), pairs_within(a), pairs_within(b), n * (n - 1) // 2


def pairs_within(sizes: IntArray) -> int:
    """Σ C2(n). In int64 this is exact for up to 3e9 rows."""
    return int((sizes * (sizes - 1) // 2).sum())


def as_vector(labels: ArrayLike, name: str) -> NDArray[Any]:
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


def encode(labels: NDArray[Any], name: str) -> tuple[NDArray[Any], IntArray]:
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
        if not getattr(exclude, "knows_positions", True):
            raise ValueError(
                "exclude names rows by ids whose positions it does not know; pass "
                "exclude=constraints.align(sample_id)"
            )
        tied_rows: Callable[[], ArrayLike] | None = getattr(exclude, "tied_rows", None)
        if tied_rows is None:
            raise TypeError(f"exclude must be Constraints; got {type(exclude).__name__}")
        tied = np.asarray(tied_rows(), dtype=np.int64)
        check_range(tied, n, "exclude mentions")
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
        check_range(given, n, "rows mentions")
        keep[given] = True
    return keep


def check_range(positions: NDArray[Any], n: int, who: str) -> None:
    """Raise for the first position that is no row."""
    outside = (positions < 0) | (positions >= n)
    if outside.any():
        raise ValueError(
            f"{who} row {positions[outside][0]}, but the labels have rows 0 to {n - 1}"
        )
