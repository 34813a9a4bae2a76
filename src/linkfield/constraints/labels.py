"""Partial labels, read relationally: rows of one class together, classes apart (maths.md 1.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ._normal import FloatArray, IntArray, is_missing

__all__ = ["PartialLabels", "labelled_rows"]


def labelled_rows(partial_labels: Any) -> tuple[IntArray, IntArray, tuple[Any, ...]]:
    """Return the labelled rows, their class codes and the classes in sorted order.

    ``-1``, ``None``, NaN and a data frame's missing value mean "unknown".
    """
    if hasattr(partial_labels, "to_list"):
        values = partial_labels.to_list()
    else:
        array = _as_array(partial_labels)
        if array.ndim != 1:
            raise ValueError(
                f"partial_labels must be one-dimensional, one entry a row; got shape {array.shape}"
            )
        if array.dtype.kind in "iu":
            rows = np.flatnonzero(array != -1)
            classes, codes = np.unique(array[rows], return_inverse=True)
            return rows, codes.astype(np.int64), tuple(classes.tolist())
        values = array.tolist()
    known = [(i, v) for i, v in enumerate(values) if not is_missing(v)]
    names = sorted_classes(v for _, v in known)
    code_of = {name: k for k, name in enumerate(names)}
    rows = np.array([i for i, _ in known], dtype=np.int64)
    codes = np.array([code_of[v] for _, v in known], dtype=np.int64)
    return rows, codes, names


def _as_array(values: Any) -> NDArray[Any]:
    """Return labels as an array; numpy would turn -1 and NaN in a list of text into text."""
    if isinstance(values, list | tuple) and any(isinstance(v, str | tuple) for v in values):
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    return np.asarray(values)


def sorted_classes(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct values in a stable order, also when they are of mixed types."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda v: (type(v).__name__, str(v))))


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """Labels of some rows: entry k says that ``rows[k]`` is of class ``classes[codes[k]]``.

    Every two rows of one class are a must-link and every two rows of different classes a
    cannot-link, all of the same ``weight``; none of these pairs is ever stored.
    """

    rows: IntArray
    codes: IntArray
    classes: tuple[Any, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        for array in (self.rows, self.codes):
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a copy is as immutable as the original

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartialLabels):
            return NotImplemented
        same = np.array_equal(self.rows, other.rows) and np.array_equal(self.codes, other.codes)
        return same and (self.classes, self.weight) == (other.classes, other.weight)

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def empty(cls) -> PartialLabels:
        """Return labels of no row."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, ())

    @property
    def n_must_link(self) -> int:
        """Number of pairs of rows of one class."""
        single = self.single()
        size = single.class_sizes()
        n = int((size * (size - 1) // 2).sum())
        if len(single.rows) == len(self.rows):
            return n
        _, called = self._called()
        several = np.flatnonzero(called.sum(axis=1) > 1)
        shared = called[several] @ called.T
        both = (shared[:, several].nnz - len(several)) // 2  # each such pair is seen from both ends
        return n + shared.nnz - len(several) - both

    @property
    def n_cannot_link(self) -> int:
        """Number of pairs of rows of different classes."""
        size = self.single().class_sizes()
        n, alike = len(np.unique(self.rows)), int((size * (size - 1) // 2).sum())
        return n * (n - 1) // 2 - alike  # a row with two names differs from every other one

    def _called(self) -> tuple[IntArray, csr_array]:
        """Return the labelled rows and which classes each is said to be of."""
        rows, at = np.unique(self.rows, return_inverse=True)
        ones = np.ones(len(at), dtype=np.int64)
        return rows, csr_array((ones, (at, self.codes)), shape=(len(rows), len(self.classes)))

    def entails(self, pairs: IntArray, must: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say which of some pairs, each of a kind, the labels entail as well."""
        known: NDArray[np.bool_] = np.isin(pairs, self.rows).all(axis=1).reshape(-1)
        if not known.any():
            return known
        rows, called = self._called()
        a, b = np.searchsorted(rows, pairs[known]).T
        times = np.asarray(called.sum(axis=1)).ravel()
        shared = np.asarray(called[a].multiply(called[b]).sum(axis=1)).ravel()
        known[known] = np.where(must[known], shared > 0, times[a] * times[b] > shared)
        return known

    def class_sizes(self) -> IntArray:
        """Return how many rows each class has."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    def renumbered(self, rows: IntArray) -> PartialLabels:
        """Return the labels with row r called ``rows[r]``; entries that become -1 are dropped."""
        new = rows[self.rows]
        keep = new >= 0
        return PartialLabels(new[keep], self.codes[keep], self.classes, self.weight).tidied()

    def tidied(self) -> PartialLabels:
        """Return the same labels sorted by row, each said once, without classes of no row."""
        entries = np.unique(np.column_stack([self.rows, self.codes]), axis=0)
        used, codes = np.unique(entries[:, 1], return_inverse=True)
        classes = tuple(self.classes[c] for c in used)
        return PartialLabels(entries[:, 0], codes.astype(np.int64), classes, self.weight)

    def joined(self, other: PartialLabels) -> PartialLabels:
        """Return both sets of labels; equal names are the same class."""
        if not len(self.rows) or not len(other.rows):
            return self if len(self.rows) else other
        classes = sorted_classes((*self.classes, *other.classes))
        code_of = {name: k for k, name in enumerate(classes)}
        mine = np.array([code_of[c] for c in self.classes], dtype=np.int64)[self.codes]
        theirs = np.array([code_of[c] for c in other.classes], dtype=np.int64)[other.codes]
        return PartialLabels(
            np.r_[self.rows, other.rows],
            np.r_[mine, theirs],
            classes,
            max(self.weight, other.weight),
        ).tidied()

    def single(self) -> PartialLabels:
        """Return the labels without the rows that carry more than one class."""
        if len(self.rows) == 0:
            return self
        rows, inverse, times = np.unique(self.rows, return_inverse=True, return_counts=True)
        del rows
        keep = times[inverse] == 1
        return PartialLabels(self.rows[keep], self.codes[keep], self.classes, self.weight)

    def pairs(self) -> tuple[IntArray, NDArray[np.bool_], FloatArray]:
        """Write every entailed pair out: (m, 2) rows, which are must-links, weights."""
        a, b = np.triu_indices(len(self.rows), k=1)
        ends = np.column_stack([self.rows[a], self.rows[b]])
        must = self.codes[a] == self.codes[b]
        if len(self.single().rows) < len(self.rows):
            keep = ends[:, 0] != ends[:, 1]
            said = np.unique(np.column_stack([ends, must])[keep], axis=0)
            ends, must = said[:, :2], said[:, 2].astype(bool)
        return ends, must, np.full(len(ends), self.weight)
