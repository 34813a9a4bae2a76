"""Constraints as the E-step meets them: explicit pairs, and entailed links by block.

A block is a set of rows that belong together; a pair of blocks may be apart. What blocks entail is
kept as tables (math.md 1.4) where the penalty allows it and where writing the pairs down would
cost more than a few times the number of rows; everything else is an explicit pair. Rows that hard
must-links join are one node of the field (math.md 1.6).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ConstraintWarning, ContradictionError
from ._normal import FloatArray, IntArray
from .closure import Closure, between, must_components, within
from .pairs import PAIR_BUDGET, Constraints, check_budget

__all__ = ["Ties", "tie"]

#: Entailed pairs are all written out while there are at most this many times the tied rows, plus
#: this many; only above that do tables pay.
WRITE_OUT = (8, 10_000)


@dataclass(frozen=True)
class Ties:
    """The tied rows of a data set and everything that ties them.

    Attributes
    ----------
    rows : int array (n,)
        The tied rows' positions in the data; all other numbers below count tied rows.
    node : int array (n,)
        The field's node of each; rows joined by hard must-links share one.
    pairs, must, weight : arrays (m, 2), (m,), (m,)
        Explicit pairs. A pair that a table covers too carries the difference to the entailed
        weight, which may be negative.
    block : int array (n,)
        The table block of each tied row, -1 for none.
    block_pairs : int array (e, 2)
        Pairs of table blocks that are apart.
    row_blocks : int array (r, 2)
        A row outside all tables and a table block that it is apart from.
    entailed_weight : float
    """

    rows: IntArray
    node: IntArray
    pairs: IntArray
    must: NDArray[np.bool_]
    weight: FloatArray
    block: IntArray
    block_pairs: IntArray
    row_blocks: IntArray
    entailed_weight: float

    @property
    def n_rows(self) -> int:
        """Number of tied rows."""
        return len(self.rows)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the field."""
        return int(self.node.max(initial=-1)) + 1

    @property
    def n_blocks(self) -> int:
        """Number of table blocks."""
        return int(self.block.max(initial=-1)) + 1

    def including(self, rows: IntArray) -> Ties:
        """Return the same ties with more rows among the tied ones."""
        every = np.union1d(self.rows, rows)
        new = np.searchsorted(every, self.rows)
        node = np.full(len(every), -1, dtype=np.int64)
        node[new] = self.node
        added = node < 0
        node[added] = self.n_nodes + np.arange(int(added.sum()))
        block = np.full(len(every), -1, dtype=np.int64)
        block[new] = self.block
        row_blocks = np.column_stack([new[self.row_blocks[:, 0]], self.row_blocks[:, 1]])
        return replace(
            self, rows=every, node=node, pairs=new[self.pairs], block=block, row_blocks=row_blocks
        )

    def ordered(self, keys: FloatArray) -> Ties:
        """Return the same ties with the nodes numbered by the keys of their rows.

        Keys that depend on the rows' values alone make everything that visits nodes in their
        order independent of where the rows stand.
        """
        least = np.full(self.n_nodes, np.inf)
        np.minimum.at(least, self.node, keys)
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[np.argsort(least, kind="stable")] = np.arange(self.n_nodes)
        return replace(self, node=rank[self.node])


def tie(
    constraints: Constraints,
    *,
    closure: bool | str = "auto",
    tables: bool = True,
    n_clusters: int = 8,
    constraint_weight: float = 1.0,
    budget: int = PAIR_BUDGET,
) -> Ties:
    """Bring constraints into the form that the field needs.

    Parameters
    ----------
    constraints : Constraints
        Aligned to the data's rows.
    closure : {"auto", True, False}
        See :class:`linkfield.HMRFKMeans`.
    tables : bool
        Whether the penalty has tables; otherwise all entailed pairs are written out, and refused
        above ``budget``.
    n_clusters : int
        Decides from which size on a table is cheaper than the pairs.
    constraint_weight : float
        Factor on all weights; entailed pairs have exactly this weight.
    budget : int
    """
    _check_closure(closure)
    closed = constraints.closure()
    scaled = constraints.scaled(constraint_weight)
    given = scaled.pairs(labels=False)
    ends = np.searchsorted(closed.rows, np.column_stack([given["a"], given["b"]]))
    must, weight = given["kind"] == "must", given["weight"].copy()
    node = _hard_nodes(scaled, closed, ends[must & np.isinf(weight)])
    _check_hard(scaled, closed, node, ends[~must & np.isinf(weight)])
    # Hard pairs need no closure: contraction and hard cannot-links say all that it would add.
    hard = np.isinf(constraint_weight)
    blocks = _Blocks.none(closed) if hard else _Blocks.of(closed, closure)
    times, plus = WRITE_OUT
    all_out = blocks.n_entailed <= times * len(closed.rows) + plus
    table = _table_blocks(blocks, n_clusters) if tables and not all_out else np.zeros(0, np.int64)
    table = table[~np.isin(table, _crossed(blocks, node))]
    explicit = _written_out(blocks, table, budget)
    pairs, must, weight = _merged((ends, must, weight), explicit, blocks, table, constraint_weight)
    hard_apart = _hard_label_pairs(scaled, closed)
    pairs = np.concatenate([pairs, hard_apart])
    must = np.r_[must, np.zeros(len(hard_apart), bool)]
    weight = np.r_[weight, np.full(len(hard_apart), np.inf)]
    block, block_pairs, row_blocks = blocks.tabled(table)
    w_e = 1.0 if hard else constraint_weight
    return Ties(closed.rows, node, pairs, must, weight, block, block_pairs, row_blocks, w_e)


def _check_closure(closure: bool | str) -> None:
    if not (isinstance(closure, bool) or closure == "auto"):
        raise ValueError(f"closure must be 'auto', True or False; got {closure!r}")


def _hard_nodes(scaled: Constraints, closed: Closure, hard: IntArray) -> IntArray:
    """Number the nodes: rows joined by hard must-links (or hard labels) are one."""
    labels, n = scaled.labels, len(closed.rows)
    edges = [hard]
    if np.isinf(labels.weight):
        at = np.searchsorted(closed.rows, labels.rows)
        edges.append(np.column_stack([at, n + labels.codes]))
    return must_components(n + len(labels.classes), np.concatenate(edges))[:n]


def _hard_label_pairs(scaled: Constraints, closed: Closure) -> IntArray:
    """Return one pair of rows for every two hard classes: their nodes must differ."""
    labels = scaled.labels
    if not np.isinf(labels.weight) or len(labels.rows) == 0:
        return np.empty((0, 2), dtype=np.int64)
    _, first = np.unique(labels.codes, return_index=True)
    at = np.searchsorted(closed.rows, labels.rows[first])
    a, b = np.triu_indices(len(at), k=1)
    return np.column_stack([at[a], at[b]])


def _check_hard(scaled: Constraints, closed: Closure, node: IntArray, hard: IntArray) -> None:
    """Hard constraints that contradict each other cannot be weighed up: refuse them."""
    hard = np.concatenate([hard, _hard_label_pairs(scaled, closed)])
    if (node[hard[:, 0]] == node[hard[:, 1]]).any():
        conflicts = [c for c in scaled.conflicts() if np.isinf(c.weight)]
        raise ContradictionError(
            f"hard constraints contradict each other: {conflicts[0]}; give one of them a finite "
            "weight, or drop the cheapest with Constraints.repair()"
        )


@dataclass(frozen=True)
class _Blocks:
    """A partition of the tied rows into blocks, and the pairs of blocks that are apart."""

    block: IntArray
    apart: IntArray

    @classmethod
    def none(cls, closed: Closure) -> _Blocks:
        """Return single rows, nothing apart."""
        return cls(np.arange(len(closed.rows)), np.empty((0, 2), dtype=np.int64))

    @classmethod
    def of(cls, closed: Closure, closure: bool | str) -> _Blocks:
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
        numbers, block = np.unique(key, return_inverse=True)
        a, b = np.triu_indices(n_classes, k=1)
        edges = np.concatenate(
            [
                closed.apart[trusted[closed.apart].all(axis=1)],
                np.column_stack([class_key[a], class_key[b]]),
            ]
        )
        edges = edges[np.isin(edges, numbers).all(axis=1)]
        edges = np.unique(np.sort(np.searchsorted(numbers, edges), axis=1), axis=0)
        return cls(block.astype(np.int64), edges)

    @property
    def sizes(self) -> IntArray:
        return np.bincount(self.block).astype(np.int64)

    @property
    def n_entailed(self) -> int:
        size = self.sizes
        inside = size * (size - 1) // 2
        return int(inside.sum() + (size[self.apart[:, 0]] * size[self.apart[:, 1]]).sum())

    def layout(self) -> tuple[IntArray, IntArray]:
        """Return the rows sorted by block and where each block begins."""
        return np.argsort(self.block, kind="stable"), np.r_[0, np.cumsum(self.sizes)]

    def tabled(self, table: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return each row's table, pairs of tables apart, and (row, table) apart."""
        number = np.full(len(self.sizes), -1, dtype=np.int64)
        number[table] = np.arange(len(table))
        ends = number[self.apart]
        both = (ends >= 0).all(axis=1)
        one = (ends >= 0).any(axis=1) & ~both
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
    conflicts = closed.constraints.conflicts()
    shown = "; ".join(str(c) for c in conflicts[:3])
    if len(conflicts) > 3:
        shown += f"; and {len(conflicts) - 3} more"
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


def _crossed(blocks: _Blocks, node: IntArray) -> IntArray:
    """Return the blocks that a node joins with others, and all that are apart from those.

    A node lies in one table or in none, and is apart from a table as a whole or not at all.
    """
    n = len(blocks.sizes)
    pairs = np.unique(np.column_stack([node, blocks.block]), axis=0)
    several = np.bincount(pairs[:, 0])[pairs[:, 0]] > 1
    crossed = np.zeros(n, dtype=bool)
    crossed[pairs[several, 1]] = True
    touched = crossed[blocks.apart].any(axis=1)
    return np.union1d(np.flatnonzero(crossed), blocks.apart[touched])


def _table_blocks(blocks: _Blocks, n_clusters: int) -> IntArray:
    """Choose the blocks that are large enough for a table of K rows to be cheaper than pairs."""
    return np.flatnonzero(blocks.sizes > max(8, n_clusters // 4))


def _written_out(
    blocks: _Blocks, table: IntArray, budget: int
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Write out the entailed pairs that no table holds."""
    size = blocks.sizes
    small = np.ones(len(size), dtype=bool)
    small[table] = False
    inside = np.flatnonzero(small & (size > 1))
    edges = blocks.apart[small[blocks.apart].all(axis=1)]
    n_pairs = (size[inside] * (size[inside] - 1) // 2).sum()
    n_pairs += (size[edges[:, 0]] * size[edges[:, 1]]).sum()
    check_budget(int(n_pairs), "the constraints entail", budget)
    order, starts = blocks.layout()
    must, cannot = within(order, starts, inside), between(order, starts, edges)
    return np.concatenate([must, cannot]), np.repeat([True, False], [len(must), len(cannot)])


def _merged(
    given: tuple[IntArray, NDArray[np.bool_], FloatArray],
    explicit: tuple[IntArray, NDArray[np.bool_]],
    blocks: _Blocks,
    table: IntArray,
    entailed_weight: float,
) -> tuple[IntArray, NDArray[np.bool_], FloatArray]:
    """Add entailed pairs to the given ones; a given pair keeps its own weight."""
    ends, must, weight = given
    if len(table):
        covered = _in_tables(ends, must, blocks, table)
        weight = weight - np.where(covered, entailed_weight, 0.0)
    pairs = np.sort(np.concatenate([ends, explicit[0]]), axis=1)
    kind = np.r_[must, explicit[1]]
    weights = np.r_[weight, np.full(len(explicit[0]), entailed_weight)]
    _, first = np.unique(np.column_stack([pairs, kind]), axis=0, return_index=True)
    first = first[weights[first] != 0.0]
    return pairs[first], kind[first], weights[first]


def _in_tables(
    ends: IntArray, must: NDArray[np.bool_], blocks: _Blocks, table: IntArray
) -> NDArray[np.bool_]:
    """Say which given pairs a table holds as well."""
    n = len(blocks.sizes)
    tabled = np.zeros(n, dtype=bool)
    tabled[table] = True
    a, b = np.sort(blocks.block[ends], axis=1).T
    inside = must & (a == b) & tabled[a]
    apart = np.isin(a * n + b, blocks.apart[:, 0] * n + blocks.apart[:, 1])
    return inside | (~must & apart & (tabled[a] | tabled[b]))
