"""The linear program of a field, and the lower bound that any prices of its rows prove.

minimise Σ U_ih y_ih + Σ_e w_e v_e over shares y_ih ≥ 0 with Σ_h y_ih = 1     (maths.md 4.3)

A link that wants its ends together is violated by v = Σ_h z_h, z_h ≥ y_ih − y_jh: the surpluses of
one side add up to ½Σ_h |y_ih − y_jh|, so one row a label is enough. A link that wants them apart is
violated by one v ≥ y_ih + y_jh − 1 for all h, since at most one h has y_ih + y_jh > 1. Both are the
program of Bilenko & Basu (2004, section 3.2) with fewer rows and columns. Where every label has a
cost of its own, τ_h is the share that both ends have of h:

½Σ_h d_h (y_ih + y_jh) + Σ_h (a_h − d_h) τ_h,  0 ≤ τ_h ≤ y_ih, y_jh,
y_ih + y_jh − 2τ_h + Σ_g τ_g ≤ 1 for each h,

the last because what is not shared can be coupled off the diagonal exactly then. If a_h ≤ d_h for
all h, then τ_h = min(y_ih, y_jh) and ½Σ_h a_h (y_ih + y_jh) + ½Σ_h (d_h − a_h) |y_ih − y_jh| is
the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._structure import by_group
from ..field import PottsField

__all__ = ["CANNOT", "MUST", "Program", "exact_sums", "program_of", "trivial_bounds"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: What an edge asks of its ends; 0 where that depends on the label.
MUST, CANNOT = 1, -1


@dataclass
class Program:
    """min cost·x with rows·x ≥ lower, the first n rows (Σ_h y_ih = 1) with equality; 0 ≤ x ≤ 1.

    Attributes
    ----------
    component : int array (n,)
        The component of every node, numbered by the caller.
    column : int array (n, K)
        The column of y_ih, -1 for labels that are not allowed.
    cost : float array (columns,)
    home : int array (columns,)
        The component of every column.
    rows : sparse array (rows, columns)
    lower : float array (rows,)
    kind : int array (m,)
        MUST, CANNOT or 0.
    violation : sparse array (m, columns)
        How far each edge is violated is violation·x; for edges of kind 0 nothing.
    base : float array (components,)
        What every labelling costs.
    """

    component: IntArray
    column: IntArray
    cost: FloatArray
    home: IntArray
    rows: sparse.csr_array
    lower: FloatArray
    kind: IntArray
    violation: sparse.csr_array
    base: FloatArray

    @property
    def allowed(self) -> BoolArray:
        """Which labels a node may have."""
        return self.column >= 0

    def shares(self, x: FloatArray) -> FloatArray:
        """Return y (n, K) of a solution, cleaned of tolerances."""
        y = np.where(self.allowed, np.clip(x[self.column], 0.0, 1.0), 0.0)
        total = y.sum(axis=1, keepdims=True)
        even = self.allowed / self.allowed.sum(axis=1, keepdims=True)
        return np.where(total > 0.5, y / np.maximum(total, 0.5), even)

    def violations(self, x: FloatArray) -> FloatArray:
        """Return how far a solution violates every edge."""
        return np.clip(self.violation @ x, 0.0, 1.0)

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray) -> None:
        """Add rows·x ≥ lower."""
        self.rows = sparse.vstack([self.rows, rows], format="csr")
        self.lower = np.r_[self.lower, lower]

    def reduced_costs(self, prices: FloatArray) -> FloatArray:
        """Return cost − rowsᵀ·prices, for prices ≥ 0 of the rows after the first n."""
        return self.cost - self.rows[len(self.column) :].T @ prices

    def ruled_out(self, prices: FloatArray, gap: float) -> BoolArray:
        """Return columns that are 0 in every labelling within ``gap`` of the bound of prices ≥ 0.

        A labelling where such a column is 1 costs its reduced cost more than the bound; a share
        takes the place of the cheapest one of its node.
        """
        left = self.reduced_costs(np.maximum(prices, 0.0))
        y = np.where(self.allowed, left[self.column], np.inf)
        left[self.column[self.allowed]] = (y - y.min(axis=1, keepdims=True))[self.allowed]
        return np.asarray(left > gap)

    def bounds(self, prices: FloatArray) -> FloatArray:
        """Return a lower bound for every component that holds whatever the prices are.

        With λ ≥ 0 for rows Ax ≥ b, cost·x ≥ λ·b + (cost − Aᵀλ)·x, and the last term is at least
        Σ_i min_h over the y of a node plus Σ min(0, ·) over the columns in [0, 1] (weak duality).
        So the bound does not lean on the tolerances of the solver. For rounding, ε times the
        number and the size of the terms of each reduced cost is taken off; their sum is exact.
        """
        n, count = len(self.column), len(self.base)
        prices = np.maximum(prices, 0.0)
        matrix = self.rows[n:]
        left = self.reduced_costs(prices)
        y = np.where(self.allowed, left[self.column], np.inf)
        at = self.column[np.arange(n), y.argmin(axis=1)]
        free = np.ones(len(left), dtype=bool)
        free[self.column[self.allowed]] = False
        used = np.r_[at, np.flatnonzero(free & (left < 0))]
        size = np.abs(self.cost) + abs(matrix).T @ prices
        terms = np.bincount(matrix.indices, minlength=len(left)) + 4
        rounding = np.finfo(float).eps * terms * size
        row_home = self.home[matrix.indices[matrix.indptr[:-1]]]
        paid = prices * self.lower[n:]
        paid -= np.finfo(float).eps * np.abs(paid)
        values = np.r_[self.base, left[used] - rounding[used], paid]
        return exact_sums(np.r_[np.arange(count), self.home[used], row_home], values, count)


def exact_sums(group: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the sum of the values of every group, rounded once."""
    start, order = by_group(group, count)
    listed = values[order].tolist()
    return np.array([fsum(listed[a:b]) for a, b in pairwise(start.tolist())])


def trivial_bounds(
    field: PottsField, allowed: BoolArray, component: IntArray, count: int
) -> FloatArray:
    """Return for every component Σ_i min_h U_ih + Σ_e (what the edge costs at least)."""
    agree, differ = field.agree_cost, field.differ_cost
    low = np.minimum(agree, differ)
    low = low if low.ndim == 1 else low.min(axis=1)
    own = np.where(allowed, field.unary, np.inf).min(axis=1)
    group = np.r_[component, component[field.edges[:, 0]]]
    return exact_sums(group, np.r_[own, low], count)


def program_of(
    field: PottsField, allowed: BoolArray, component: IntArray, n_components: int
) -> Program:
    """Write the program of a field of finite costs and single edges."""
    build = _Builder(field, allowed, component, n_components)
    if field.agree_cost.ndim == 1:
        build.plain_edges()
    else:
        build.label_edges()
    return build.program()


class _Builder:
    """Columns and rows as they are written down."""

    def __init__(
        self, field: PottsField, allowed: BoolArray, component: IntArray, n_components: int
    ) -> None:
        n, m = field.n_nodes, len(field.edges)
        self.field, self.component = field, component
        self.column = np.full(allowed.shape, -1, dtype=np.int64)
        self.column[allowed] = np.arange(int(allowed.sum()))
        node, label = np.nonzero(allowed)
        self.costs = [field.unary[node, label]]
        self.homes = [component[node]]
        self.triplets = [(node, self.column[node, label], np.ones(len(node)))]
        self.lowers = [np.ones(n)]
        self.n_columns, self.n_rows = len(node), n
        self.kind = np.zeros(m, dtype=np.int64)
        none = np.empty(0, np.int64)
        self.violation = [(none, none, np.empty(0))]
        self.base = np.zeros(n_components)
        self.left, self.right = (self.column[end] for end in field.edges.T)
        self.edge_home = component[field.edges[:, 0]]

    def new_columns(self, edges: IntArray, costs: FloatArray) -> IntArray:
        """Return fresh columns, one for each of the given edges."""
        self.costs.append(costs)
        self.homes.append(self.edge_home[edges])
        self.n_columns += len(edges)
        return np.arange(self.n_columns - len(edges), self.n_columns)

    def new_rows(self, lower: float, *entries: tuple[IntArray, float]) -> IntArray:
        """Write one row for each column of the first entry: Σ value·x[column] ≥ lower."""
        count = len(entries[0][0])
        row = np.arange(self.n_rows, self.n_rows + count)
        for column, value in entries:
            self.triplets.append((row, column, np.full(count, value)))
        self.lowers.append(np.full(count, lower))
        self.n_rows += count
        return row

    def add_cost(self, column: IntArray, cost: FloatArray) -> None:
        """Add to the cost of y columns."""
        np.add.at(self.costs[0], column, cost)

    def plain_edges(self) -> None:
        """Write the edges of one cost each."""
        agree, differ = self.field.agree_cost, self.field.differ_cost
        np.add.at(self.base, self.edge_home, np.minimum(agree, differ))
        self.kind = np.where(differ > agree, MUST, np.where(agree > differ, CANNOT, 0))
        weight = np.abs(differ - agree)
        both = (self.left >= 0) & (self.right >= 0)
        e, h = np.nonzero(both & (self.kind == MUST)[:, None])
        z = self.new_columns(e, weight[e])
        self.new_rows(0.0, (z, 1.0), (self.left[e, h], -1.0), (self.right[e, h], 1.0))
        self.violation.append((e, z, np.ones(len(e))))
        # Labels that only one end can have: its share of them is violation.
        e, h = np.nonzero((self.left >= 0) & ~both & (self.kind == MUST)[:, None])
        self.add_cost(self.left[e, h], weight[e])
        self.violation.append((e, self.left[e, h], np.ones(len(e))))
        can = np.flatnonzero((self.kind == CANNOT) & both.any(axis=1))
        v = np.full(len(agree), -1, dtype=np.int64)
        v[can] = self.new_columns(can, weight[can])
        self.violation.append((can, v[can], np.ones(len(can))))
        e, h = np.nonzero(both & (v >= 0)[:, None])
        self.new_rows(-1.0, (v[e], 1.0), (self.left[e, h], -1.0), (self.right[e, h], -1.0))

    def label_edges(self) -> None:
        """Write the edges that have a cost for each label."""
        agree, differ = self.field.agree_cost, self.field.differ_cost
        gap = agree - differ
        both = (self.left >= 0) & (self.right >= 0)
        must, cannot = ((~both | (sign * gap <= 0)).all(axis=1) for sign in (1, -1))
        constant = must & cannot  # the labels of the two ends pay apart from each other
        self.kind = np.where(must & ~constant, MUST, np.where(cannot & ~constant, CANNOT, 0))
        together = both & (self.kind == MUST)[:, None]
        for end in (self.left, self.right):
            e, h = np.nonzero(end >= 0)
            self.add_cost(end[e, h], 0.5 * np.where(together, agree, differ)[e, h])
        self._surpluses(together, -gap)
        self._shared(both & ~must[:, None], gap)

    def _surpluses(self, chosen: BoolArray, weight: FloatArray) -> None:
        """Write ½Σ_h weight_h |y_ih − y_jh|, a column for each side and label."""
        e, h = np.nonzero(chosen)
        for one, other in ((self.left, self.right), (self.right, self.left)):
            z = self.new_columns(e, 0.5 * weight[e, h])
            self.new_rows(0.0, (z, 1.0), (one[e, h], -1.0), (other[e, h], 1.0))
            self.violation.append((e, z, np.full(len(e), 0.5)))
        for end in (self.left, self.right):
            e, h = np.nonzero((end >= 0) & ~chosen & (self.kind == MUST)[:, None])
            self.violation.append((e, end[e, h], np.full(len(e), 0.5)))

    def _shared(self, chosen: BoolArray, gap: FloatArray) -> None:
        """Write Σ_h gap_h τ_h, a column for the share that both ends have of a label."""
        e, h = np.nonzero(chosen)
        tau = np.full(gap.shape, -1, dtype=np.int64)
        tau[e, h] = self.new_columns(e, gap[e, h])
        apart, mixed = self.kind[e] == CANNOT, self.kind[e] == 0
        self.violation.append((e[apart], tau[e, h][apart], np.ones(int(apart.sum()))))
        for end in (self.left, self.right):  # where τ would like to be large
            self.new_rows(0.0, (end[e, h][mixed], 1.0), (tau[e, h][mixed], -1.0))
        ends = (self.left[e, h], -1.0), (self.right[e, h], -1.0)
        row = self.new_rows(-1.0, (tau[e, h], 1.0), *ends)
        # If all τ want to be small, at most one is above 0 and the others need no place here.
        others = (tau[e] >= 0) & (np.arange(gap.shape[1]) != h[:, None]) & mixed[:, None]
        at, g = np.nonzero(others)
        self.triplets.append((row[at], tau[e[at], g], np.full(len(at), -1.0)))

    def program(self) -> Program:
        """Return what was written."""
        r, c, value = (np.concatenate(part) for part in zip(*self.triplets, strict=True))
        rows = sparse.csr_array((value, (r, c)), shape=(self.n_rows, self.n_columns))
        e, c, value = (np.concatenate(part) for part in zip(*self.violation, strict=True))
        shape = (len(self.kind), self.n_columns)
        return Program(
            self.component, self.column, np.concatenate(self.costs), np.concatenate(self.homes),
            rows, np.concatenate(self.lowers), self.kind,
            sparse.csr_array((value, (e, c)), shape=shape), self.base,
        )  # fmt: skip
