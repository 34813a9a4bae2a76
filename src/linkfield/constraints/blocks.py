"""Blocks: sets of rows that belong together, and which of them are apart.

A block is a must-link component where that is trusted, and a class of the given labels elsewhere.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..exceptions import ConstraintWarning, ContradictionError
from ._normal import IntArray, distinct, stable_order, unique_rows, with_smaller_first
from .closure import Closure

__all__ = ["Blocks"]


@dataclass(frozen=True)
class Blocks:
    """A partition of the tied rows into blocks, and the pairs of blocks that are apart."""

    block: IntArray
    apart: IntArray

    @classmethod
    def none(cls, closed: Closure) -> Blocks:
        """Return single rows, nothing apart."""
        return cls(np.arange(len(closed.rows)), np.empty((0, 2), dtype=np.int64))

    @classmethod
    def of(cls, closed: Closure, closure: bool | str) -> Blocks:
        """Return components where they are trusted, and classes of labels elsewhere.

        A class is what the labels say by themselves; it holds without closure and inside a
        component that contradicts itself. A row with two different labels counts as unlabelled.
        """
        if closure is not False and closed.contradictory.any():
            _report(closed, closure)
        trusted = (
            ~closed.contradictory if closure is not False else np.zeros_like(closed.contradictory)
        )
        labels = closed.constraints.labels.single()
        n, n_components = len(closed.rows), closed.n_components
        n_classes = len(labels.classes)
        key = n_components + n_classes + np.arange(n)
        key[np.searchsorted(closed.rows, labels.rows)] = n_components + labels.codes
        key = np.where(trusted[closed.component], closed.component, key)
        class_key = np.where(
            trusted[closed.class_component],
            closed.class_component,
            n_components + np.arange(n_classes),
        )
        numbers = distinct(key)
        number = np.full(n_components + n_classes + n, -1)
        number[numbers] = np.arange(len(numbers))
        edges = closed.apart[trusted[closed.apart[:, 0]] & trusted[closed.apart[:, 1]]]
        if n_classes > 1:
            a, b = np.triu_indices(n_classes, k=1)
            edges = np.concatenate([edges, np.column_stack([class_key[a], class_key[b]])])
        ends = with_smaller_first(number[edges])
        edges, _ = unique_rows(ends[ends[:, 0] >= 0])
        return cls(number[key], edges)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows in each block."""
        return np.bincount(self.block).astype(np.int64)

    @property
    def n_entailed(self) -> int:
        """Number of pairs that the blocks entail."""
        size = self.sizes
        inside = size * (size - 1) // 2
        return int(inside.sum() + (size[self.apart[:, 0]] * size[self.apart[:, 1]]).sum())

    def layout(self) -> tuple[IntArray, IntArray]:
        """Return the rows sorted by block and where each block begins."""
        return stable_order(self.block), np.r_[0, np.cumsum(self.sizes)]

    def tabled(self, table: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return each row's table, pairs of tables apart, and (row, table) apart."""
        if len(table) == 0:
            none = np.empty((0, 2), dtype=np.int64)
            return np.full(len(self.block), -1), none, none
        number = np.full(len(self.sizes), -1, dtype=np.int64)
        number[table] = np.arange(len(table))
        ends = number[self.apart]
        left, right = (ends >= 0).T
        both, one = left & right, left ^ right
        order, starts = self.layout()
        swap = ends[one][:, 0] >= 0
        edges = np.where(swap[:, None], self.apart[one][:, ::-1], self.apart[one])
        count = self.sizes[edges[:, 0]]
        # Every row of the small block, with the table that its block is apart from.
        offset = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
        rows = order[np.repeat(starts[edges[:, 0]], count) + offset]
        row_blocks = np.column_stack([rows, np.repeat(number[edges[:, 1]], count)])
        return number[self.block], ends[both], row_blocks


def _report(closed: Closure, closure: bool | str) -> None:
    """Raise or warn about contradictions, naming the shortest chain of each component."""
    n_contradictory = int(closed.contradictory.sum())
    conflicts = closed.constraints.conflicts(limit=min(3, n_contradictory))  # one of each
    shown = "; ".join(str(c) for c in conflicts)
    more = n_contradictory - len(conflicts)
    if more:
        shown += f"; and {more} more"
    if closure is True:
        raise ContradictionError(
            f"the constraints contradict each other: {shown}. Drop the cheapest with "
            "Constraints.repair(), or fit with closure='auto' or closure=False"
        )
    warnings.warn(
        f"the constraints contradict each other: {shown}. The components concerned entail "
        "nothing; their pairs count as given. Constraints.repair() drops the cheapest",
        ConstraintWarning,
        stacklevel=2,
    )
