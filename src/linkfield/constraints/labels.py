"""Partial labels, read relationally: rows of one class together, classes apart (math.md 1.1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._normal import FloatArray, IntArray, is_missing

__all__ = ["PartialLabels", "labelled_rows"]


def labelled_rows(partial_labels: Any) -> tuple[IntArray, IntArray, tuple[Any, ...]]:
    """Return the labelled rows, their class codes and the classes in sorted order.

    ``-1``, ``None``, NaN and a data frame's missing value mean "unknown".
    """
    if hasattr(partial_labels, "to_list"):
        values = partial_labels.to_list()
    else:
        array = np.asarray(partial_labels)
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


def sorted_classes(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the distinct values in a stable order, also when they are of mixed types."""
    distinct = list(dict.fromkeys(values))
    try:
        return tuple(sorted(distinct))
    except TypeError:
        return tuple(sorted(distinct, key=lambda v: (type(v).__name__, str(v))))


@dataclass(frozen=True)
class PartialLabels:
    """Labels of some rows: entry k says that ``rows[k]`` is of class ``classes[codes[k]]``.

    Every two rows of one class are a must-link and every two rows of different classes a
    cannot-link, all of the same ``weight``; none of these pairs is ever stored.
    """

    rows: IntArray
    codes: IntArray
    classes: tuple[Any, ...]
    weight: float = 1.0

    @classmethod
    def empty(cls) -> PartialLabels:
        """Return labels of no row."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, ())

    @property
    def n_must_link(self) -> int:
        """Number of pairs of rows of one class."""
        size = self.class_sizes()
        return int((size * (size - 1) // 2).sum())

    @property
    def n_cannot_link(self) -> int:
        """Number of pairs of rows of different classes."""
        n = len(self.rows)
        return n * (n - 1) // 2 - self.n_must_link

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
        rows, inverse, times = np.unique(self.rows, return_inverse=True, return_counts=True)
        del rows
        keep = times[inverse] == 1
        return PartialLabels(self.rows[keep], self.codes[keep], self.classes, self.weight)

    def pairs(self) -> tuple[IntArray, NDArray[np.bool_], FloatArray]:
        """Write every entailed pair out: (m, 2) rows, which are must-links, weights."""
        a, b = np.triu_indices(len(self.rows), k=1)
        ends = np.column_stack([self.rows[a], self.rows[b]])
        keep = ends[:, 0] != ends[:, 1]
        must = (self.codes[a] == self.codes[b])[keep]
        return ends[keep], must, np.full(int(keep.sum()), self.weight)
