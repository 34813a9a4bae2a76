"""What a look at each node and its links settles, before any search (maths.md 4.3, 4.6).

Label h of node i can be left out where its cheapest label b is better whatever the others do:
U_ih − U_ib ≥ Σ w over the links through which h could gain (dead-end elimination, Desmet et al.
1992). Moving a fraction y_ih to b changes the cost of a link by no more than that fraction of w,
so neither the optimum nor the value of the linear program changes. A node with one label left is
settled; its links become costs of the labels of its neighbours, which may settle them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..field import PottsField

__all__ = ["Reduced", "narrowed", "reduced"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: A label is left out only where it loses by more than rounding.
MARGIN = 1e-9

#: Chains of nodes that settle each other are followed this far.
ROUNDS = 50


@dataclass(frozen=True)
class Reduced:
    """The open part of a field.

    Attributes
    ----------
    field : PottsField
        The open nodes; links to settled ones are in their unary costs.
    nodes : int array
        Their numbers in the field that was reduced.
    allowed : bool array (open nodes, K)
        Labels that may still be best.
    labels : int array (n,)
        The label of every settled node, -1 for open ones.
    constant : float array (n,)
        What each settled node costs; a link between two of them counts at its first end.
    """

    field: PottsField
    nodes: IntArray
    allowed: BoolArray
    labels: IntArray
    constant: FloatArray


def narrowed(field: PottsField) -> PottsField:
    """Return the field with one cost an edge where those of all labels are the same."""
    agree, differ = field.agree_cost, field.differ_cost
    if agree.ndim == 1 or any((cost != cost[:, :1]).any() for cost in (agree, differ)):
        return field
    return field.with_costs(field.unary, agree[:, 0].copy(), differ[:, 0].copy())


def reduced(field: PottsField) -> Reduced:
    """Settle what can be settled in a field of finite costs and single edges."""
    n, K = field.unary.shape
    unary, allowed = field.unary.copy(), np.ones((n, K), dtype=bool)
    labels = np.full(n, -1, dtype=np.int64)
    links = _links(field)
    for _ in range(ROUNDS):
        open_ = labels < 0
        best = np.where(allowed, unary, np.inf).argmin(axis=1)
        loss = unary - unary[np.arange(n), best][:, None]
        dropped = allowed & (loss >= _gain(links, allowed & open_[:, None], best) * (1 + MARGIN))
        dropped[np.arange(n), best] = False
        if not dropped[open_].any() and not (open_ & (allowed.sum(axis=1) == 1)).any():
            break
        allowed &= ~dropped
        fresh = open_ & (allowed.sum(axis=1) == 1)
        labels[fresh] = best[fresh]
        _fold(field, unary, labels, fresh)
    return _open_part(field, unary, allowed, labels)


def _links(field: PottsField) -> list[sparse.csr_array]:
    """Return the weights of must-links, of cannot-links and of links of any other kind."""
    n, (i, j) = field.n_nodes, field.edges.T
    agree, differ = field.agree_cost, field.differ_cost
    if agree.ndim == 1:
        none = np.zeros(len(agree))
        weights = [np.maximum(differ - agree, 0.0), np.maximum(agree - differ, 0.0), none]
    else:
        both = np.concatenate([agree, differ], axis=1)
        none = np.zeros(len(both))
        weights = [none, none, np.ptp(both, axis=1) if len(both) else none]
    ends = np.r_[i, j], np.r_[j, i]
    return [sparse.csr_array((np.tile(w, 2), ends), shape=(n, n)) for w in weights]


def _gain(links: list[sparse.csr_array], allowed: BoolArray, best: IntArray) -> FloatArray:
    """Return the most that links can repay each node for having a label other than its best.

    A must-link repays label h if the other end can have it, a cannot-link if the other end can
    have the best label.
    """
    must, cannot, other = links
    possible = allowed.astype(np.float64)
    spoiled = (cannot @ possible)[np.arange(len(best)), best]
    any_way = other @ possible.any(axis=1).astype(np.float64)
    return must @ possible + (spoiled + any_way)[:, None]


def _fold(field: PottsField, unary: FloatArray, labels: IntArray, fresh: BoolArray) -> None:
    """Add what links to freshly settled nodes cost to the labels of their open neighbours."""
    for settled, free in (field.edges.T, field.edges.T[::-1]):
        e = np.flatnonzero(fresh[settled] & (labels[free] < 0))
        np.add.at(unary, free[e], _row_costs(field, e, labels[settled[e]]))


def _row_costs(field: PottsField, edges: IntArray, label: IntArray) -> FloatArray:
    """Return what edges cost for every label of one end, given the label of the other."""
    agree, differ = field.agree_cost[edges], field.differ_cost[edges]
    at = np.arange(len(edges))
    if agree.ndim == 1:
        costs = np.repeat(differ[:, None], field.n_labels, axis=1)
        costs[at, label] = agree
    else:
        costs = 0.5 * (differ + differ[at, label][:, None])
        costs[at, label] = agree[at, label]
    return costs


def _open_part(
    field: PottsField, unary: FloatArray, allowed: BoolArray, labels: IntArray
) -> Reduced:
    i, j = field.edges.T
    settled = labels >= 0
    constant = np.where(settled, field.unary[np.arange(len(labels)), labels], 0.0)
    within = settled[i] & settled[j]
    np.add.at(constant, i[within], field.edge_costs(labels)[within])
    nodes = np.flatnonzero(~settled)
    place = np.full(field.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    keep = ~settled[i] & ~settled[j]
    costs = field.agree_cost[keep], field.differ_cost[keep]
    part = PottsField(unary[nodes], place[field.edges[keep]], *costs)
    return Reduced(part, nodes, allowed[nodes], labels, constant)
