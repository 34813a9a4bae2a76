"""A field as the methods that pass messages or write programs need it: finite, edge by edge.

ICM walks the tables of entailed links; every other method needs each link as an edge (maths.md
1.5). Here entailed links are written out, hard costs and forbidden labels become large numbers,
and edges between the same two nodes become one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._structure import by_group
from ..constraints.pairs import PAIR_BUDGET
from ..field import PottsField

__all__ = ["explicit", "parts"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def explicit(field: PottsField, budget: int = PAIR_BUDGET, above: float = 0.0) -> PottsField:
    """Return a field of finite costs and single edges with the same best labellings.

    Its energy is at most that of ``field`` for every labelling, and equal where no hard
    constraint is broken, so a lower bound of one is a lower bound of the other. Refused where
    entailed links would make more than ``budget`` edges. Hard costs are made larger by ``above``
    than the best labelling needs: for probabilities, in which every labelling has a share.
    """
    plain = _merged(_written(field, budget))
    forbidden = np.isinf(plain.unary)
    hard = np.isinf(plain.agree_cost).any() or np.isinf(plain.differ_cost).any()
    if not forbidden.any() and not hard:
        return plain
    large = _large(plain) + above
    agree, differ = plain.agree_cost, plain.differ_cost
    return plain.with_costs(
        np.where(forbidden, large, plain.unary),
        np.where(np.isinf(agree), large, agree),
        np.where(np.isinf(differ), large * differ.ndim, differ),
    )


def _written(field: PottsField, budget: int) -> PottsField:
    try:
        return field.written_out(budget)
    except ValueError as error:
        raise ValueError(
            f"{error}; this inference method needs every link as an edge: use inference='icm' or "
            "'auto', which work with the tables, closure=False, or must-links of infinite weight, "
            "which make one node of all rows that they join"
        ) from None


def _merged(field: PottsField) -> PottsField:
    """Return the field with the costs of edges between the same two nodes added up."""
    n, m = field.n_nodes, len(field.edges)
    low, high = field.edges.min(axis=1, initial=n), field.edges.max(axis=1, initial=-1)
    key, edge = np.unique(low * n + high, return_inverse=True)
    if len(key) == m:
        return field
    agree, differ = (_added_up(c, edge, len(key)) for c in (field.agree_cost, field.differ_cost))
    return PottsField(field.unary, np.column_stack(np.divmod(key, n)), agree, differ)


def _added_up(cost: FloatArray, edge: IntArray, count: int) -> FloatArray:
    total = np.zeros((count, *cost.shape[1:]))
    np.add.at(total, edge, cost)
    return total


def _large(field: PottsField) -> float:
    """Return a cost that makes one broken hard constraint dearer than all else (maths.md 1.1)."""
    finite = np.where(np.isfinite(field.unary), field.unary, field.unary.min(axis=1)[:, None])
    total = 1.0 + float(np.ptp(finite, axis=1).sum()) + float(np.abs(finite).max(initial=0.0))
    for cost in (field.agree_cost, field.differ_cost):
        total += float(np.abs(cost[np.isfinite(cost)]).sum())
    return total


def parts(field: PottsField) -> Iterator[tuple[IntArray, PottsField]]:
    """Yield the nodes and the field of every connected component; for fields of edges only."""
    component = field.connected
    count = int(component.max(initial=-1)) + 1
    node_at, nodes = by_group(component, count)
    edge_at, edges = by_group(component[field.edges[:, 0]], count)
    place = np.empty(field.n_nodes, dtype=np.int64)
    place[nodes] = np.arange(field.n_nodes) - node_at[component[nodes]]
    for c in range(count):
        mine, inner = nodes[node_at[c] : node_at[c + 1]], edges[edge_at[c] : edge_at[c + 1]]
        costs = field.agree_cost[inner], field.differ_cost[inner]
        yield mine, PottsField(field.unary[mine], place[field.edges[inner]], *costs)
