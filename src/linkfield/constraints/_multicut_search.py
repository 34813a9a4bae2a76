"""Minimum multicut as an implicit hitting set: cutting planes, integer program, rounding."""

from __future__ import annotations

import collections
import itertools
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse
from scipy.sparse import csgraph

from ._graphs import BoolArray, components, grouped, orient, sums, symmetric, walk
from ._normal import FloatArray, IntArray

__all__ = ["Cut", "solve_all"]

_BATCH = 256  # pairs; smaller components share one integer program
_LP_ROUNDS = 40  # rounds of cutting planes before integrality is demanded
_PASSES = 3  # edge-disjoint chains looked for per conflict and round
_ROWS = 2_000  # chains after which a pass stops, for the program to say which others matter
_SWEEPS = 20  # visits of a node, on average, by the local search
_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A multicut problem on nodes 0..n_nodes-1.

    ``ends`` (low end first, rows sorted and distinct) have ``weight``; ``pairs`` are to be
    separated or given up for ``price``, where their ``limit`` is 1 and not 0.
    """

    n_nodes: int
    ends: IntArray
    weight: FloatArray
    pairs: IntArray
    price: FloatArray
    limit: FloatArray

    def restrict(self, edges: IntArray, pairs: IntArray) -> Cut:
        """Return the problem of some pairs, with its nodes renumbered in the same order."""
        both = np.concatenate((self.ends[edges], self.pairs[pairs]))
        nodes, flat = np.unique(both, return_inverse=True)
        local = flat.reshape(-1, 2).astype(np.int64)
        return Cut(
            len(nodes),
            local[: len(edges)],
            self.weight[edges],
            local[len(edges) :],
            self.price[pairs],
            self.limit[pairs],
        )

    def split(self, x: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Read a 0/1 solution."""
        return x[: len(self.ends)] > 0.5, x[len(self.ends) :] > 0.5


def solve_all(problem: Cut, deadline: float) -> tuple[BoolArray, BoolArray, bool]:
    """Solve the reduced components, small ones together, large ones last."""
    label = components(problem.n_nodes, problem.ends)
    of_edge, of_pair = label[problem.ends[:, 0]], label[problem.pairs[:, 0]]
    edges = np.bincount(of_edge, minlength=problem.n_nodes)
    # A single pair between two terminals, the usual end of a reduction, needs no program.
    prices = sums(of_pair, problem.price, problem.n_nodes)
    prices[of_pair[problem.limit == 0]] = np.inf
    weights = sums(of_edge, problem.weight, problem.n_nodes)
    cut, drop = (weights < prices)[of_edge], (weights >= prices)[of_pair]
    sizes = np.where(edges == 1, 0, edges + np.bincount(of_pair, minlength=problem.n_nodes))
    order = np.argsort(sizes, kind="stable")
    batch = np.empty(problem.n_nodes, dtype=np.int64)
    batch[order] = 1 + np.cumsum(sizes[order]) // _BATCH
    batch[sizes == 0] = 0
    edge_order, edge_starts = grouped(batch[of_edge], int(batch.max(initial=0)) + 1)
    pair_order, pair_starts = grouped(batch[of_pair], len(edge_starts) - 1)
    proven = True
    for b in np.unique(batch[batch > 0]).tolist():
        some = edge_order[edge_starts[b] : edge_starts[b + 1]]
        pair = pair_order[pair_starts[b] : pair_starts[b + 1]]
        cut[some], drop[pair], exact = _hitting_set(problem.restrict(some, pair), deadline)
        proven &= exact
    return cut, drop, proven


def _hitting_set(problem: Cut, deadline: float) -> tuple[BoolArray, BoolArray, bool]:
    """Generate violated chains until the cheapest set that hits them all hits every chain.

    The cost of that set is a lower bound at every step, so a heuristic repair that attains it
    ends the search early.
    """
    cost = np.concatenate((problem.weight, problem.price))
    x = np.zeros(len(cost))
    keep_must = np.where(np.arange(len(cost)) < len(problem.ends), 0.0, 1.0)
    best = _better(problem, keep_must, _improved(problem, _rounded(problem, x)))
    rows: list[IntArray] = []
    integral, bound = False, 0.0
    for count in itertools.count():
        if bound >= cost @ best * (1.0 - 1e-9):
            return *problem.split(best), True
        nearest = np.round(x)
        fractional = bool(np.abs(x - nearest).max() > _TOLERANCE)
        fresh = _violated(problem, x if fractional else nearest, deadline)
        if fresh is None:
            break
        if not fresh and not fractional:
            return *problem.split(nearest), True
        rows.extend(fresh)
        integral = integral or not fresh or count >= _LP_ROUNDS
        solution, bound = _cover(problem, rows, integral, deadline)
        if solution is not None:
            x = solution
            best = _better(problem, x, best)
        if bound < 0:
            break
    return *problem.split(best), False


def _cover(
    problem: Cut, rows: list[IntArray], integral: bool, deadline: float
) -> tuple[FloatArray | None, float]:
    """Return the cheapest (fractional) set that hits every row and its cost, -1 if not proven."""
    cost = np.concatenate((problem.weight, problem.price))
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    flat = np.concatenate(rows)
    table = sparse.csr_array((np.ones(len(flat)), flat, starts), shape=(len(rows), len(cost)))
    # Absolute tolerances of the solver should be small against the smallest weight.
    unit = float(max(cost.min(), 1e-8 * cost.max()))
    result: Any = optimize.milp(
        cost / unit,
        integrality=np.full(len(cost), int(integral)),
        bounds=optimize.Bounds(0.0, np.concatenate((np.ones(len(problem.ends)), problem.limit))),
        constraints=optimize.LinearConstraint(table, 1.0, np.inf),
        options={"time_limit": max(deadline - time.monotonic(), 0.0), "mip_rel_gap": 0.0},
    )
    if result.status != 0:
        return result.x, -1.0
    bound = float(result.fun)
    if (cost % unit == 0).all():  # then so is the cost of every repair
        bound = math.ceil(bound - 1e-6 * max(1.0, bound))
    return result.x, bound * unit


def _violated(problem: Cut, x: FloatArray, deadline: float) -> list[IntArray] | None:
    """Return chains that ``x`` hits by less than one, as variable numbers; None when out of time.

    A chain is shortest in the lengths x, and of those it has few links. Later passes avoid the
    pairs of earlier chains, which gives several disjoint chains in one round.
    """
    n_edges = len(problem.ends)
    graph = symmetric(problem.n_nodes, problem.ends, np.arange(1.0, n_edges + 1))
    position = graph.data.astype(np.int64) - 1
    lengths = np.maximum(x[:n_edges], 0.0) + 1e-7
    found: list[IntArray] = []
    for _ in range(_PASSES):
        graph.data = lengths[position]
        # Most pairs are settled by connectivity alone, without a search.
        label = components(problem.n_nodes, problem.ends[lengths < 1.0 - _TOLERANCE])
        apart = label[problem.pairs[:, 0]] != label[problem.pairs[:, 1]]
        open_pairs = np.flatnonzero(~apart & (x[n_edges:] < 1.0 - _TOLERANCE))
        fresh = _violated_once(problem, graph, x[n_edges:], open_pairs, deadline)
        if not fresh:
            return None if fresh is None else found
        found.extend(fresh)
        used = np.concatenate(fresh)
        lengths[used[used < n_edges]] = 1.0
    return found


def _violated_once(
    problem: Cut,
    graph: sparse.csr_array,
    dropped: FloatArray,
    open_pairs: IntArray,
    deadline: float,
) -> list[IntArray] | None:
    """One pass of :func:`_violated`: at most one chain for each pair, enough for one round."""
    key = problem.ends[:, 0] * problem.n_nodes + problem.ends[:, 1]
    source, target, _ = orient(problem.pairs[open_pairs], problem.n_nodes)
    sources, where = np.unique(source, return_inverse=True)
    members, starts = grouped(where)
    step = max(1, min(64, 2_000_000 // problem.n_nodes))  # bounds the table of distances
    found: list[IntArray] = []
    for first in range(0, len(sources), step):
        if time.monotonic() > deadline:
            return None
        if len(found) >= _ROWS:
            break
        chunk = sources[first : first + step]
        distance, before = csgraph.dijkstra(
            graph, indices=chunk, limit=1.0, return_predecessors=True
        )
        for i in members[starts[first] : starts[first + len(chunk)]].tolist():
            row, pair = where[i] - first, open_pairs[i]
            if distance[row, target[i]] + dropped[pair] < 1.0 - _TOLERANCE:
                path = np.array(walk(before[row], int(source[i]), int(target[i])))
                low, high = np.minimum(path[:-1], path[1:]), np.maximum(path[:-1], path[1:])
                edges = np.searchsorted(key, low * problem.n_nodes + high)
                found.append(np.append(edges, len(key) + pair))
    return found


def _better(problem: Cut, x: FloatArray, best: FloatArray) -> FloatArray:
    """Return the cheaper of ``best`` and a consistent repair near the possibly fractional x."""
    cost = np.concatenate((problem.weight, problem.price))
    other = _improved(problem, _rounded(problem, x))
    return other if cost @ other < cost @ best else best


def _rounded(problem: Cut, x: FloatArray) -> IntArray:
    """Return clusters near ``x`` (mutex watershed; Wolf et al. 2018).

    Pairs are accepted one at a time, those that must stay first, then by how far x keeps them,
    heavy ones first: a must-link merges two clusters that nothing holds apart, a cannot-link
    holds two clusters apart that are not merged.
    """
    n_edges = len(problem.ends)
    ends = np.concatenate((problem.ends, problem.pairs)).tolist()
    weight = np.concatenate((problem.weight, problem.price))
    free = np.concatenate((np.ones(n_edges), problem.limit))
    parent = list(range(problem.n_nodes))
    apart: list[set[int]] = [set() for _ in parent]
    for i in np.lexsort((-weight, np.round(x, 3), free)).tolist():
        a, b = _root(parent, ends[i][0]), _root(parent, ends[i][1])
        if a == b or b in apart[a]:
            continue
        if i >= n_edges:
            apart[a].add(b)
            apart[b].add(a)
            continue
        if len(apart[a]) < len(apart[b]):
            a, b = b, a
        parent[b] = a
        for c in apart[b]:
            apart[c].discard(b)
            apart[c].add(a)
        apart[a] |= apart[b]
        apart[b] = set()
    return np.array([_root(parent, v) for v in range(len(parent))], dtype=np.int64)


def _root(parent: list[int], node: int) -> int:
    """Find the cluster of a node, halving the path on the way."""
    while parent[node] != node:
        parent[node] = node = parent[parent[node]]
    return node


def _improved(problem: Cut, cluster: IntArray) -> FloatArray:
    """Move single nodes while that lowers the cost; return the repair of the final clusters.

    A partition costs the must-links between its clusters and the cannot-links inside.
    """
    value = np.concatenate((problem.weight, np.where(problem.limit, -problem.price, -np.inf)))
    ends = np.concatenate((problem.ends, problem.pairs))
    # A must-link and a cannot-link between the same nodes are summed.
    graph = symmetric(problem.n_nodes, ends, value)
    start, other, weight = graph.indptr.tolist(), graph.indices.tolist(), graph.data.tolist()
    label = cluster.tolist()
    queue = collections.deque(range(problem.n_nodes))
    waiting = [True] * problem.n_nodes
    for _ in range(_SWEEPS * problem.n_nodes):
        if not queue:
            break
        v = queue.popleft()
        waiting[v] = False
        gain: dict[int, float] = {label[v]: 0.0, problem.n_nodes + v: 0.0}  # or a cluster alone
        for i in range(start[v], start[v + 1]):
            gain[label[other[i]]] = gain.get(label[other[i]], 0.0) + weight[i]
        choice = max(gain, key=gain.__getitem__)
        if gain[choice] > gain[label[v]] + 1e-9 * abs(gain[choice]):
            label[v] = choice
            for u in other[start[v] : start[v + 1]]:
                if not waiting[u]:
                    waiting[u] = True
                    queue.append(u)
    final = np.array(label, dtype=np.int64)
    together = final[ends[:, 0]] == final[ends[:, 1]]
    cut = ~together[: len(problem.ends)]
    # A cluster may have fallen into parts that no must-link joins; cannot-links between them stay.
    final = components(problem.n_nodes, problem.ends[~cut])
    drop = final[problem.pairs[:, 0]] == final[problem.pairs[:, 1]]
    return np.concatenate((cut, drop)).astype(np.float64)
