"""Constraints as the E-step meets them: explicit pairs, and entailed links by block.

A block is a set of rows that belong together; a pair of blocks may be apart. What blocks entail is
kept as tables (maths.md 1.4) where the penalty allows it and where writing the pairs down would
cost more than a few times the number of rows; everything else is an explicit pair. Rows that hard
must-links join are one node of the field (maths.md 1.6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ContradictionError
from ._normal import FloatArray, IntArray, places, unique_rows, with_smaller_first
from .blocks import Blocks
from .closure import Closure, between, must_components, within
from .labels import PartialLabels
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
        The field's node of each, numbered by their first rows; rows joined by hard must-links
        share one.
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
    visit : int array (n_nodes,) or None
        The order in which to look at the nodes, None for their own.
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
    visit: IntArray | None = None

    @classmethod
    def none(cls, entailed_weight: float) -> Ties:
        """Return the ties of a data set that nothing is known of."""
        rows, pairs = np.empty(0, dtype=np.int64), np.empty((0, 2), dtype=np.int64)
        must, weight = np.empty(0, dtype=bool), np.empty(0)
        return cls(rows, rows, pairs, must, weight, rows, pairs, pairs, entailed_weight)

    @property
    def n_rows(self) -> int:
        """Number of tied rows."""
        return len(self.rows)

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes of the field."""
        return int(self.node.max(initial=-1)) + 1

    @cached_property
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
        first = np.full(int(node.max(initial=-1)) + 1, len(every))
        np.minimum.at(first, node, np.arange(len(every)))
        rank = np.empty(len(first), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        node = rank[node]
        block = np.full(len(every), -1, dtype=np.int64)
        block[new] = self.block
        row_blocks = np.column_stack([new[self.row_blocks[:, 0]], self.row_blocks[:, 1]])
        return replace(
            self, rows=every, node=node, pairs=new[self.pairs], block=block, row_blocks=row_blocks
        )

    def ordered(self, keys: FloatArray) -> Ties:
        """Return the same ties with the nodes to be looked at in the order of their rows' keys.

        Keys that depend on the rows' values alone make everything that visits nodes in this
        order independent of where the rows stand.
        """
        least = np.full(self.n_nodes, np.inf)
        np.minimum.at(least, self.node, keys)
        visit = np.argsort(least)
        if (least[visit[1:]] == least[visit[:-1]]).any():  # those stay as they stand
            visit = np.argsort(least, kind="stable")
        return replace(self, visit=visit)


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
    hard = np.isinf(constraint_weight)
    if len(constraints._pairs) == 0 and len(constraints.labels.rows) == 0:
        return Ties.none(1.0 if hard else constraint_weight)
    closed = constraints.closure()
    scaled = constraints.scaled(constraint_weight)
    ends = places(closed.rows, scaled._pairs)
    must, weight = scaled._must, scaled._weight.copy()
    node = _hard_nodes(scaled, closed, ends[must & np.isinf(weight)])
    _check_hard(scaled, closed, node, ends[~must & np.isinf(weight)])
    # Hard pairs need no closure: contraction and hard cannot-links say all that it would add.
    blocks = Blocks.none(closed) if hard else Blocks.of(closed, closure)
    times, plus = WRITE_OUT
    all_out = blocks.n_entailed <= times * len(closed.rows) + plus
    table = _table_blocks(blocks, n_clusters) if tables and not all_out else np.zeros(0, np.int64)
    if len(table):
        table = table[~np.isin(table, _crossed(blocks, node))]
    explicit = _written_out(blocks, table, budget)
    said = scaled.labels.weight if len(scaled.labels.rows) else constraint_weight
    w_e = said if np.isfinite(said) else 1.0 if hard else constraint_weight
    pairs, must, weight = _merged((ends, must, weight), explicit, blocks, table, w_e)
    hard_apart = _hard_label_pairs(scaled, closed)
    pairs = np.concatenate([pairs, hard_apart])
    must = np.concatenate([must, np.zeros(len(hard_apart), bool)])
    weight = np.concatenate([weight, np.full(len(hard_apart), np.inf)])
    block, block_pairs, row_blocks = blocks.tabled(table)
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
        conflicts = _only_hard(scaled).conflicts(limit=1)
        raise ContradictionError(
            f"hard constraints contradict each other: {conflicts[0]}; give one of them a finite "
            "weight, or drop the cheapest with Constraints.repair()"
        )


def _only_hard(scaled: Constraints) -> Constraints:
    """Return the hard pairs and labels, for a message about what cannot be weighed up."""
    keep = np.isinf(scaled._weight)
    labels = scaled.labels if np.isinf(scaled.labels.weight) else PartialLabels.empty()
    return scaled._with(
        pairs=scaled._pairs[keep],
        must=scaled._must[keep],
        weight=scaled._weight[keep],
        source=scaled._source[keep],
        labels=labels,
    )


def _crossed(blocks: Blocks, node: IntArray) -> IntArray:
    """Return the blocks that a node joins with others, and all that are apart from those.

    A node lies in one table or in none, and is apart from a table as a whole or not at all.
    """
    n = len(blocks.sizes)
    pairs, _ = unique_rows(np.column_stack([node, blocks.block]))
    several = np.bincount(pairs[:, 0])[pairs[:, 0]] > 1
    crossed = np.zeros(n, dtype=bool)
    crossed[pairs[several, 1]] = True
    touched = crossed[blocks.apart[:, 0]] | crossed[blocks.apart[:, 1]]
    return np.union1d(np.flatnonzero(crossed), blocks.apart[touched])


def _table_blocks(blocks: Blocks, n_clusters: int) -> IntArray:
    """Choose the blocks that are large enough for a table of K rows to be cheaper than pairs."""
    return np.flatnonzero(blocks.sizes > max(8, n_clusters // 4))


def _written_out(
    blocks: Blocks, table: IntArray, budget: int
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Write out the entailed pairs that no table holds."""
    size = blocks.sizes
    small = np.ones(len(size), dtype=bool)
    small[table] = False
    inside = np.flatnonzero(small & (size > 1))
    edges = blocks.apart[small[blocks.apart[:, 0]] & small[blocks.apart[:, 1]]]
    n_pairs = (size[inside] * (size[inside] - 1) // 2).sum()
    n_pairs += (size[edges[:, 0]] * size[edges[:, 1]]).sum()
    check_budget(int(n_pairs), "the constraints entail", budget)
    order, starts = blocks.layout()
    must, cannot = within(order, starts, inside), between(order, starts, edges)
    return np.concatenate([must, cannot]), np.repeat([True, False], [len(must), len(cannot)])


def _merged(
    given: tuple[IntArray, NDArray[np.bool_], FloatArray],
    explicit: tuple[IntArray, NDArray[np.bool_]],
    blocks: Blocks,
    table: IntArray,
    entailed_weight: float,
) -> tuple[IntArray, NDArray[np.bool_], FloatArray]:
    """Add entailed pairs to the given ones; a given pair keeps its own weight."""
    ends, must, weight = given
    if len(table):
        covered = _in_tables(ends, must, blocks, table)
        weight = weight - np.where(covered, entailed_weight, 0.0)
    pairs = with_smaller_first(np.concatenate([ends, explicit[0]]))
    kind = np.concatenate([must, explicit[1]])
    weights = np.concatenate([weight, np.full(len(explicit[0]), entailed_weight)])
    _, first = unique_rows(np.column_stack([pairs, kind]))
    first = first[weights[first] != 0.0]
    return pairs[first], kind[first], weights[first]


def _in_tables(
    ends: IntArray, must: NDArray[np.bool_], blocks: Blocks, table: IntArray
) -> NDArray[np.bool_]:
    """Say which given pairs a table holds as well."""
    n = len(blocks.sizes)
    tabled = np.zeros(n, dtype=bool)
    tabled[table] = True
    a, b = np.sort(blocks.block[ends], axis=1).T
    inside = must & (a == b) & tabled[a]
    apart = np.isin(a * n + b, blocks.apart[:, 0] * n + blocks.apart[:, 1])
    return inside | (~must & apart & (tabled[a] | tabled[b]))
