"""Labels from shares: the roundings of maths.md 4.4, each component keeping its best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from .icm import ICM

__all__ = [
    "best_rounding",
    "better_of",
    "component_energies",
    "fractional",
    "independent_energy",
    "kleinberg_tardos",
    "one_by_one",
    "subfield",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: A share this near to 0 or 1 counts as 0 or 1.
WHOLE = 1e-6


def kleinberg_tardos(shares: FloatArray, rng: np.random.Generator) -> IntArray:
    """Round all nodes together, so that nodes with like shares get like labels.

    Again and again draw a label h and a threshold t in [0, 1]: whoever has no label yet and
    y_ih > t gets h. Then P(l_i = h) = y_ih and P(l_i ≠ l_j) ≤ Σ_h |y_ih − y_jh| (Kleinberg &
    Tardos 2002).
    """
    n, K = shares.shape
    labels, waiting = np.empty(n, dtype=np.int64), np.arange(n)
    while len(waiting):
        h, t = int(rng.integers(K)), rng.random()
        chosen = shares[waiting, h] > t
        labels[waiting[chosen]] = h
        waiting = waiting[~chosen]
    return labels


def one_by_one(field: PottsField, shares: FloatArray) -> IntArray:
    """Set node after node to its best label, given the shares of those to come.

    The mean energy of independent draws, Ē(y), is linear in the shares of each node, so it never
    rises: En(L) ≤ Ē(y) (maths.md 4.4, D4). Nodes that are nearly decided come first.
    """
    from ._rounding_kernels import settle

    order = np.argsort(-shares.max(axis=1, initial=0.0), kind="stable")
    agree, differ = (
        np.ascontiguousarray(c[:, None] if c.ndim == 1 else c)
        for c in (field.agree_cost, field.differ_cost)
    )
    whole = np.require(shares.copy(), requirements=["C", "W"])
    unary = np.require(field.unary, requirements=["C", "W"])
    settle(whole, order, unary, *field.structure.adjacency, agree, differ)
    return whole.argmax(axis=1)


def independent_energy(field: PottsField, shares: FloatArray) -> float:
    """Return Ē(y), the mean energy where every node draws its label from its shares alone."""
    left, right = (shares[end] for end in field.edges.T)
    same = left * right
    agree, differ = (
        c[:, None] if c.ndim == 1 else c for c in (field.agree_cost, field.differ_cost)
    )
    apart = 0.5 * differ * (left + right) - differ * same
    return float((field.unary * shares).sum() + (agree * same + apart).sum())


def component_energies(
    field: PottsField, labels: IntArray, component: IntArray, count: int
) -> FloatArray:
    """Return the energy of every component; for fields of edges only."""
    own = field.unary[np.arange(len(labels)), labels]
    ends = component[field.edges[:, 0]]
    links = np.bincount(ends, field.edge_costs(labels), minlength=count)
    return np.asarray(np.bincount(component, own, minlength=count) + links, dtype=np.float64)


def better_of(field: PottsField, component: IntArray, one: IntArray, other: IntArray) -> IntArray:
    """Return for every component the labelling that costs less; the first if none does."""
    count = int(component.max(initial=-1)) + 1
    first, second = (component_energies(field, labels, component, count) for labels in (one, other))
    return np.where((second < first)[component], other, one)


def fractional(shares: FloatArray) -> BoolArray:
    """Return which nodes have shares other than 0 and 1."""
    return np.asarray(shares.max(axis=1, initial=0.0) < 1.0 - WHOLE)


def subfield(field: PottsField, nodes: IntArray) -> PottsField:
    """Return the field of some nodes and the edges between them; for fields of edges only."""
    place = np.full(field.n_nodes, -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    edges = place[field.edges]
    keep = (edges >= 0).all(axis=1)
    costs = field.agree_cost[keep], field.differ_cost[keep]
    return PottsField(field.unary[nodes], edges[keep], *costs)


def best_rounding(
    field: PottsField, shares: FloatArray, trials: int, polish: bool, rng: np.random.Generator
) -> IntArray:
    """Return the best labels that ``trials`` random roundings and one without chance give.

    Every component keeps its own best, since energies add up. ``polish`` lets ICM improve each.
    """
    labels = shares.argmax(axis=1).astype(np.int64)
    component = field.connected
    count = int(component.max(initial=-1)) + 1
    loose = np.zeros(count, dtype=bool)
    loose[component[fractional(shares)]] = True
    nodes = np.flatnonzero(loose[component])
    if not len(nodes):
        return labels
    part, y = subfield(field, nodes), shares[nodes]
    best = None
    for trial in range(trials + 1):
        new = one_by_one(part, y) if trial == 0 else kleinberg_tardos(y, rng)
        if polish:
            new = ICM().solve(part, new, rng).labels
        best = new if best is None else better_of(part, part.connected, best, new)
    labels[nodes] = best
    return labels
