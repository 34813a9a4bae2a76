"""Chains of must-links that contradict a cannot-link, and the cheapest way to be rid of them.

A cannot-link whose ends lie in one must-link component is a conflict. A repair removes pairs until
no conflict is left; the cheapest one is a minimum multicut whose terminal pairs, the cannot-links,
may themselves be given up at a price.
"""

from __future__ import annotations

import collections
import itertools
import math
import operator
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse
from scipy.sparse import csgraph

__all__ = ["Repair", "cheapest_repair", "shortest_chain", "shortest_chains"]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_BATCH = 256  # pairs; smaller components share one integer program
_LP_ROUNDS = 40  # rounds of cutting planes before integrality is demanded
_PASSES = 3  # edge-disjoint chains looked for per conflict and round
_ROWS = 2_000  # chains after which a pass stops, for the program to say which others matter
_SWEEPS = 20  # visits of a node, on average, by the local search
_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """Answer of :func:`cheapest_repair`.

    Attributes
    ----------
    drop_must : ndarray of bool, shape (m,)
        Must-links to remove.
    drop_cannot : ndarray of bool, shape (c,)
        Cannot-links to remove.
    cost : float
        Total weight of the removed pairs; ``inf`` if one of them has infinite weight.
    proven : bool
        Whether no cheaper repair exists; False only after the time limit.
    """

    drop_must: BoolArray
    drop_cannot: BoolArray
    cost: float
    proven: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Cut:
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

    def restrict(self, edges: IntArray, pairs: IntArray) -> _Cut:
        """Return the problem of some pairs, with its nodes renumbered in the same order."""
        both = np.concatenate((self.ends[edges], self.pairs[pairs]))
        nodes, flat = np.unique(both, return_inverse=True)
        local = flat.reshape(-1, 2).astype(np.int64)
        return _Cut(
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


def shortest_chain(n_nodes: int, must: npt.ArrayLike, a: int, b: int) -> IntArray | None:
    """Return a shortest path of must-links from ``a`` to ``b``.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    must : array of int, shape (m, 2)
        Must-link pairs.
    a, b : int
        Nodes.

    Returns
    -------
    ndarray of int64, or None
        The nodes from ``a`` to ``b``, both included; None if no chain joins them.
    """
    return shortest_chains(n_nodes, must, [[a, b]])[0]


def shortest_chains(
    n_nodes: int, must: npt.ArrayLike, pairs: npt.ArrayLike
) -> list[IntArray | None]:
    """Return :func:`shortest_chain` for every row of ``pairs``.

    One breadth-first search serves all pairs that share an end, and it sees only the connected
    component of that end: O(n_nodes + m) once, then O(component) per distinct end.
    """
    links, wanted = _pairs(must, n_nodes, "must"), _pairs(pairs, n_nodes, "pairs")
    label = _components(n_nodes, links)
    chains: list[IntArray | None] = [None] * len(wanted)
    joined = np.flatnonzero(label[wanted[:, 0]] == label[wanted[:, 1]])
    source, target, flip = _orient(wanted, n_nodes)
    joined = joined[np.lexsort((source[joined], label[source[joined]]))]
    nodes, node_starts = _grouped(label)
    link_order, link_starts = _grouped(label[links[:, 0]], len(node_starts) - 1)
    local = np.empty(n_nodes, dtype=np.int64)
    component, root = -1, -1
    for row in joined.tolist():
        if label[source[row]] != component:
            component, root = int(label[source[row]]), -1
            inside = nodes[node_starts[component] : node_starts[component + 1]]
            local[inside] = np.arange(len(inside))
            chosen = link_order[link_starts[component] : link_starts[component + 1]]
            graph = _symmetric(len(inside), local[links[chosen]])
        if source[row] != root:
            root = int(source[row])
            _, before = csgraph.breadth_first_order(graph, local[root], directed=True)
        chain = inside[_walk(before, int(local[root]), int(local[target[row]]))]
        # The walk runs from the target back to the source.
        chains[row] = chain if flip[row] else chain[::-1].copy()
    return chains


def cheapest_repair(
    n_nodes: int,
    must: npt.ArrayLike,
    must_weight: npt.ArrayLike,
    cannot: npt.ArrayLike,
    cannot_weight: npt.ArrayLike,
    *,
    fixed_cannot: npt.ArrayLike | None = None,
    time_limit: float = 30.0,
) -> Repair:
    """Find the pairs of least total weight whose removal leaves no conflict.

    With x_e = 1 for a removed pair, solve ::

        min sum_e w_e x_e   s.t.   x_ab + sum_{e in P} x_e >= 1

    for every cannot-link ab and every chain P of must-links from a to b (minimum multicut; Garg,
    Vazirani & Yannakakis 1996). The chains are generated as they are violated (implicit hitting
    set), first by the linear relaxation, then by the integer program. Before that, nodes that are
    no end of a conflict are contracted away (rake and compress, Miller & Reif 1985), so that long
    chains and trees cost near-linear time. Connected components are independent problems.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    must, cannot : array of int, shapes (m, 2) and (c, 2)
        Pairs; repeated pairs are separate pairs, each with its weight.
    must_weight, cannot_weight : array of float, shapes (m,) and (c,)
        Positive. ``inf`` counts as more than all finite weights together: such a pair is removed
        only when no finite repair exists, and then as few of them as possible, whatever that
        means for the others. Weights more than eight orders of magnitude below the largest finite
        one of their component may be told apart only to the precision of the solver.
    fixed_cannot : array of bool, shape (c,), optional
        Cannot-links that may never be removed, even if must-links of infinite weight have to go.
    time_limit : float
        Seconds; after them the unfinished components are repaired greedily, from the solution
        of the last program (reading and reducing the pairs is not interrupted).

    Returns
    -------
    Repair
        Always consistent.

    Raises
    ------
    ValueError
        If a fixed cannot-link joins a node with itself: nothing can satisfy it.
    """
    if not time_limit >= 0:
        raise ValueError(f"time_limit must not be negative, got {time_limit}")
    deadline = time.monotonic() + time_limit
    links, links_weight = _weighted(must, must_weight, n_nodes, "must")
    apart, apart_weight = _weighted(cannot, cannot_weight, n_nodes, "cannot")
    fixed = np.zeros(len(apart), dtype=bool) if fixed_cannot is None else np.asarray(fixed_cannot)
    if fixed.shape != (len(apart),) or fixed.dtype != np.bool_:
        raise ValueError(f"fixed_cannot must be boolean of shape ({len(apart)},)")
    if (fixed & (apart[:, 0] == apart[:, 1])).any():
        raise ValueError("a fixed cannot-link joins a node with itself; remove it or unfix it")
    group, weight, price, limit = _tame_infinity(
        n_nodes, links, links_weight, apart, apart_weight, fixed
    )
    ends, pairs = group[links], group[apart]
    drop_must = np.zeros(len(ends), dtype=bool)
    drop_cannot = pairs[:, 0] == pairs[:, 1]
    label = _components(n_nodes, ends)
    conflict = np.flatnonzero((label[pairs[:, 0]] == label[pairs[:, 1]]) & ~drop_cannot)
    touched = np.zeros(n_nodes, dtype=bool)
    touched[label[pairs[conflict, 0]]] = True
    inside = np.flatnonzero(touched[label[ends[:, 0]]])
    terminal = np.zeros(n_nodes, dtype=bool)
    terminal[pairs[conflict]] = True
    short, short_weight, owner = _reduce(ends[inside], weight[inside], terminal)
    aims, aims_price, aim = _merge_parallel(pairs[conflict], price[conflict], terminal)
    aims_limit = np.ones(len(aims))
    aims_limit[aim[limit[conflict] == 0]] = 0.0
    problem = _Cut(n_nodes, short, short_weight, aims, aims_price, aims_limit)
    cut, drop, proven = _solve_all(
        problem.restrict(np.arange(len(short)), np.arange(len(aims))), deadline
    )
    drop_must[inside] = np.append(cut, False)[owner]  # owner -1: never worth removing
    drop_cannot[conflict] = drop[aim]
    removed = np.concatenate((links_weight[drop_must], apart_weight[drop_cannot]))
    return Repair(drop_must, drop_cannot, math.fsum(removed.tolist()), proven)


def _pairs(values: npt.ArrayLike, n_nodes: int, name: str) -> IntArray:
    """Validate an (m, 2) array of node numbers."""
    table = np.asarray(values)
    if table.size == 0:
        table = np.empty((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"{name} must be integers of shape (m, 2), got {table.shape}")
    if len(table) and (table.min() < 0 or table.max() >= operator.index(n_nodes)):
        raise ValueError(f"{name} must name nodes from 0 to {n_nodes - 1}")
    return table.astype(np.int64)


def _weighted(
    values: npt.ArrayLike, weights: npt.ArrayLike, n_nodes: int, name: str
) -> tuple[IntArray, FloatArray]:
    """Validate pairs with their weights."""
    table, weight = _pairs(values, n_nodes, name), np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(table),) or not (weight > 0).all():
        raise ValueError(f"{name}_weight must be positive, one for each of {len(table)} pairs")
    return table, weight


def _symmetric(n_nodes: int, ends: IntArray, data: FloatArray | None = None) -> sparse.csr_array:
    """Return the graph with both directions of every pair."""
    both = np.concatenate((ends, ends[:, ::-1]))
    values = np.ones(len(both)) if data is None else np.concatenate((data, data))
    return sparse.csr_array((values, (both[:, 0], both[:, 1])), shape=(n_nodes, n_nodes))


def _components(n_nodes: int, ends: IntArray) -> IntArray:
    """Return the component number of every node."""
    graph = sparse.csr_array(
        (np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)
    )
    label: IntArray = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return label


def _sums(label: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Return the sum of the values of each label; bincount forgets the type when it is empty."""
    return np.bincount(label, weights=values, minlength=n_groups).astype(np.float64)


def _grouped(label: IntArray, n_groups: int | None = None) -> tuple[IntArray, IntArray]:
    """Return indices sorted by label and where each label starts."""
    counts = np.bincount(label, minlength=n_groups or 0)
    return np.argsort(label, kind="stable"), np.concatenate(([0], np.cumsum(counts)))


def _orient(pairs: IntArray, n_nodes: int) -> tuple[IntArray, IntArray, BoolArray]:
    """Return (source, target, swapped): the source is the end that more pairs share."""
    uses = np.bincount(pairs.ravel(), minlength=n_nodes)
    flip = uses[pairs[:, 0]] < uses[pairs[:, 1]]
    return np.where(flip, pairs[:, 1], pairs[:, 0]), np.where(flip, pairs[:, 0], pairs[:, 1]), flip


def _walk(before: npt.NDArray[np.int32], source: int, target: int) -> list[int]:
    """Follow the predecessors from ``target`` back to ``source``."""
    path = [target]
    while path[-1] != source:
        path.append(int(before[path[-1]]))
    return path


def _tame_infinity(
    n_nodes: int,
    links: IntArray,
    weight: FloatArray,
    apart: IntArray,
    price: FloatArray,
    fixed: BoolArray,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return (group of each node, finite weights, finite prices, upper bounds of cannot-links).

    Infinite pairs need a large number only where they contradict each other. A component of
    infinite must-links without an infinite or fixed cannot-link inside loses none of them in a
    cheapest repair, so it is contracted, and every cannot-link that is not inside a
    contradictory one can be kept for a finite cost.
    """
    rigid = np.isinf(weight)
    stiff = np.isinf(price) | fixed
    label = _components(n_nodes, links[rigid])
    inside = stiff & (label[apart[:, 0]] == label[apart[:, 1]])
    broken = np.zeros(n_nodes, dtype=bool)
    broken[label[apart[inside, 0]]] = True
    group = np.where(broken[label], n_nodes + np.arange(n_nodes), label)
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    limit = np.where(fixed | (stiff & ~inside), 0.0, 1.0)
    whole = _components(n_nodes, links)
    total = _sums(whole[links[~rigid, 0]], weight[~rigid], n_nodes)
    finite = np.isfinite(price)
    for end in (0, 1):  # a cannot-link inside one component is counted twice, which does no harm
        total += _sums(whole[apart[finite, end]], price[finite], n_nodes)
    large = np.where(total > 0, 2 * total, 1.0)
    tame_weight = np.where(rigid, large[whole[links[:, 0]]], weight)
    tame_price = np.where(finite, price, large[whole[apart[:, 0]]])
    return group, tame_weight, tame_price, limit


def _reduce(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Contract what no cheapest cut needs; return ends, weights and the owner of each input pair.

    Parallel pairs have to be removed together (weights add), of the pairs along a chain whose
    inner nodes are no terminals only the cheapest is ever removed, and dead ends separate
    nothing. Removing an owner means removing all input pairs that it owns; -1 is no owner.
    """
    owner = np.arange(len(ends))
    size = -1
    while size != len(ends):
        size = len(ends)
        for step in (_merge_parallel, _rake, _compress):
            ends, weight, moved = step(ends, weight, terminal)
            owner = np.append(moved, -1)[owner]
    return ends, weight, owner


def _merge_parallel(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Merge pairs with the same ends, drop loops; the result is sorted."""
    moved = np.full(len(ends), -1)
    proper = np.flatnonzero(ends[:, 0] != ends[:, 1])
    low, high = ends[proper].min(axis=1), ends[proper].max(axis=1)
    key, inverse = np.unique(low * len(terminal) + high, return_inverse=True)
    moved[proper] = inverse
    merged = _sums(inverse, weight[proper], len(key))
    return np.column_stack(np.divmod(key, max(len(terminal), 1))), merged, moved


def _rake(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Drop pairs that lead to a dead end."""
    degree = np.bincount(ends.ravel(), minlength=len(terminal))
    keep = ~((degree == 1) & ~terminal)[ends].any(axis=1)
    return ends[keep], weight[keep], np.where(keep, np.cumsum(keep) - 1, -1)


def _compress(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Replace each chain through nodes of degree two by its cheapest pair."""
    inner = ((np.bincount(ends.ravel(), minlength=len(terminal)) == 2) & ~terminal)[ends]
    along, plain = np.flatnonzero(inner.any(axis=1)), np.flatnonzero(~inner.any(axis=1))
    label = _components(len(terminal), ends[inner.all(axis=1)])
    chain = label[np.where(inner[along, 0], ends[along, 0], ends[along, 1])]
    order = np.lexsort((weight[along], chain))
    _, first = np.unique(chain[order], return_index=True)
    cheapest = along[order[first]]
    # Exactly two pairs of a chain have an outer end: in a component with two terminals a chain
    # cannot close on itself without one.
    border = ~inner[along].all(axis=1)
    outer = np.where(inner[along, 0], ends[along, 1], ends[along, 0])[border]
    outer = outer[np.argsort(chain[border], kind="stable")].reshape(-1, 2)
    moved = np.full(len(ends), -1)
    moved[plain] = np.arange(len(plain))
    moved[cheapest] = len(plain) + np.arange(len(cheapest))
    kept = np.concatenate((plain, cheapest))
    return np.concatenate((ends[plain], outer)), weight[kept], moved


def _solve_all(problem: _Cut, deadline: float) -> tuple[BoolArray, BoolArray, bool]:
    """Solve the reduced components, small ones together, large ones last."""
    label = _components(problem.n_nodes, problem.ends)
    of_edge, of_pair = label[problem.ends[:, 0]], label[problem.pairs[:, 0]]
    edges = np.bincount(of_edge, minlength=problem.n_nodes)
    # A single pair between two terminals, the usual end of a reduction, needs no program.
    prices = _sums(of_pair, problem.price, problem.n_nodes)
    prices[of_pair[problem.limit == 0]] = np.inf
    weights = _sums(of_edge, problem.weight, problem.n_nodes)
    cut, drop = (weights < prices)[of_edge], (weights >= prices)[of_pair]
    sizes = np.where(edges == 1, 0, edges + np.bincount(of_pair, minlength=problem.n_nodes))
    order = np.argsort(sizes, kind="stable")
    batch = np.empty(problem.n_nodes, dtype=np.int64)
    batch[order] = 1 + np.cumsum(sizes[order]) // _BATCH
    batch[sizes == 0] = 0
    edge_order, edge_starts = _grouped(batch[of_edge], int(batch.max(initial=0)) + 1)
    pair_order, pair_starts = _grouped(batch[of_pair], len(edge_starts) - 1)
    proven = True
    for b in np.unique(batch[batch > 0]).tolist():
        some = edge_order[edge_starts[b] : edge_starts[b + 1]]
        pair = pair_order[pair_starts[b] : pair_starts[b + 1]]
        cut[some], drop[pair], exact = _hitting_set(problem.restrict(some, pair), deadline)
        proven &= exact
    return cut, drop, proven


def _hitting_set(problem: _Cut, deadline: float) -> tuple[BoolArray, BoolArray, bool]:
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
    problem: _Cut, rows: list[IntArray], integral: bool, deadline: float
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


def _violated(problem: _Cut, x: FloatArray, deadline: float) -> list[IntArray] | None:
    """Return chains that ``x`` hits by less than one, as variable numbers; None when out of time.

    A chain is shortest in the lengths x, and of those it has few links. Later passes avoid the
    pairs of earlier chains, which gives several disjoint chains in one round.
    """
    n_edges = len(problem.ends)
    graph = _symmetric(problem.n_nodes, problem.ends, np.arange(1.0, n_edges + 1))
    position = graph.data.astype(np.int64) - 1
    lengths = np.maximum(x[:n_edges], 0.0) + 1e-7
    found: list[IntArray] = []
    for _ in range(_PASSES):
        graph.data = lengths[position]
        # Most pairs are settled by connectivity alone, without a search.
        label = _components(problem.n_nodes, problem.ends[lengths < 1.0 - _TOLERANCE])
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
    problem: _Cut,
    graph: sparse.csr_array,
    dropped: FloatArray,
    open_pairs: IntArray,
    deadline: float,
) -> list[IntArray] | None:
    """One pass of :func:`_violated`: at most one chain for each pair, enough for one round."""
    key = problem.ends[:, 0] * problem.n_nodes + problem.ends[:, 1]
    source, target, _ = _orient(problem.pairs[open_pairs], problem.n_nodes)
    sources, where = np.unique(source, return_inverse=True)
    members, starts = _grouped(where)
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
                path = np.array(_walk(before[row], int(source[i]), int(target[i])))
                low, high = np.minimum(path[:-1], path[1:]), np.maximum(path[:-1], path[1:])
                edges = np.searchsorted(key, low * problem.n_nodes + high)
                found.append(np.append(edges, len(key) + pair))
    return found


def _better(problem: _Cut, x: FloatArray, best: FloatArray) -> FloatArray:
    """Return the cheaper of ``best`` and a consistent repair near the possibly fractional x."""
    cost = np.concatenate((problem.weight, problem.price))
    other = _improved(problem, _rounded(problem, x))
    return other if cost @ other < cost @ best else best


def _rounded(problem: _Cut, x: FloatArray) -> IntArray:
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


def _improved(problem: _Cut, cluster: IntArray) -> FloatArray:
    """Move single nodes while that lowers the cost; return the repair of the final clusters.

    A partition costs the must-links between its clusters and the cannot-links inside.
    """
    value = np.concatenate((problem.weight, np.where(problem.limit, -problem.price, -np.inf)))
    ends = np.concatenate((problem.ends, problem.pairs))
    # A must-link and a cannot-link between the same nodes are summed.
    graph = _symmetric(problem.n_nodes, ends, value)
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
    final = _components(problem.n_nodes, problem.ends[~cut])
    drop = final[problem.pairs[:, 0]] == final[problem.pairs[:, 1]]
    return np.concatenate((cut, drop)).astype(np.float64)
