"""Can K clusters satisfy every cannot-link? Colouring of the component graph.

Vertices are must-link components, edges are cannot-links between them, colours are clusters.
A labelling that violates nothing exists iff the graph has a proper colouring with K colours,
each vertex taking a colour of its own list when some clusters are forbidden to it.

Methods: peeling of low-degree vertices (the k-core; exact also with lists), DSATUR (Brélaz 1979),
cliques and Hall's theorem for cheap proofs of impossibility, DSATUR branch and bound with
forward checking, and an integer program as the last resort.
"""

from __future__ import annotations

import heapq
import operator
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse
from scipy.sparse import csgraph

__all__ = ["Colouring", "colour", "dsatur", "greedy_clique"]

IntArray = npt.NDArray[np.int64]
Status = Literal["feasible", "infeasible", "unknown"]

_MAX_FILTERED = 200  # vertices; a larger core is returned as it is
_MAX_PROGRAM = 300_000  # entries; HiGHS overruns its time limit by far on larger programs
_WORK_PER_NODE = 32  # neighbours updated for the price of one search node


@dataclass(frozen=True, slots=True, eq=False)
class Colouring:
    """Answer of :func:`colour`.

    Attributes
    ----------
    status : {"feasible", "infeasible", "unknown"}
        "unknown" means that the limits ended the search before a proof either way.
    colours : ndarray of int64, shape (T,), or None
        A proper colouring when feasible.
    core : ndarray of int64, or None
        When infeasible: sorted vertices that are impossible to colour on their own.
    """

    status: Status
    colours: IntArray | None = None
    core: IntArray | None = None


@dataclass(slots=True, eq=False)
class _Problem:
    """Graph as neighbour lists; the list of colours of a vertex as the bits of an integer."""

    adjacency: list[list[int]]
    masks: list[int]
    n_colours: int
    listed: bool  # False: every mask is full, so colours are interchangeable
    cost: npt.NDArray[np.float64] | None

    def restrict(self, vertices: Sequence[int]) -> _Problem:
        """Return the problem induced by ``vertices``, renumbered in that order."""
        new = {v: i for i, v in enumerate(vertices)}
        return _Problem(
            [[new[u] for u in self.adjacency[v] if u in new] for v in vertices],
            [self.masks[v] for v in vertices],
            self.n_colours,
            self.listed,
            None if self.cost is None else self.cost[vertices],
        )

    def options(self, vertex: int, mask: int) -> list[int]:
        """Return the colours in ``mask``, the preferred one first."""
        if self.cost is not None:
            ranked: list[int] = np.argsort(self.cost[vertex], kind="stable").tolist()
            return [c for c in ranked if mask >> c & 1]
        colours = []
        while mask:
            low = mask & -mask
            colours.append(low.bit_length() - 1)
            mask ^= low
        return colours

    def best(self, vertex: int, mask: int) -> int:
        """Return the preferred colour of a non-empty ``mask``."""
        if self.cost is None or mask & (mask - 1) == 0:
            return (mask & -mask).bit_length() - 1
        return self.options(vertex, mask)[0]


@dataclass(slots=True, eq=False)
class _Budget:
    """What one call may still spend, over all its components."""

    nodes: float
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class _Verdict:
    status: Status
    colours: list[int] | None = None
    witness: list[int] | None = None  # infeasible vertices


def greedy_clique(graph: sparse.csr_array) -> IntArray:
    """Return the sorted vertices of a large (not always largest) clique.

    Every vertex, densest part of the graph first, is a start; its clique grows among the
    neighbours that come before it in degeneracy order, highest degree first. Work is capped at
    a multiple of the number of edges, so large sparse graphs take near-linear time.

    Parameters
    ----------
    graph : csr_array, shape (T, T)
        Symmetric, zero diagonal; every non-zero entry is an edge.
    """
    return np.array(sorted(_grow_clique(_adjacency(graph), None)), dtype=np.int64)


def dsatur(
    graph: sparse.csr_array,
    n_colours: int,
    *,
    allowed: npt.ArrayLike | None = None,
    cost: npt.ArrayLike | None = None,
) -> IntArray | None:
    """Colour greedily, the most saturated vertex first (Brélaz 1979).

    Saturation is counted as the number of colours still open to a vertex (fewest first, then
    highest degree), which is Brélaz's rule when there are no lists. Time O((T + E) log E).

    Parameters
    ----------
    graph : csr_array, shape (T, T)
        Symmetric, zero diagonal; every non-zero entry is an edge.
    n_colours : int
        K, the number of colours.
    allowed : array of bool, shape (T, K), optional
        Permitted colours of each vertex; all by default.
    cost : array of float, shape (T, K), optional
        Preference: the cheapest open colour is taken, ties to the smallest colour.

    Returns
    -------
    ndarray of int64, shape (T,), or None
        A proper colouring, or None if some vertex was left without a colour (which does not
        prove that there is no colouring).
    """
    colours = _dsatur(_problem(graph, n_colours, allowed, cost))
    return None if colours is None else np.array(colours, dtype=np.int64)


def colour(
    graph: sparse.csr_array,
    n_colours: int,
    *,
    allowed: npt.ArrayLike | None = None,
    cost: npt.ArrayLike | None = None,
    node_limit: int = 200_000,
    time_limit: float = 10.0,
) -> Colouring:
    """Decide whether the graph has a proper colouring, and give one or a reason why not.

    Parameters
    ----------
    graph, n_colours, allowed, cost
        As in :func:`dsatur`. ``cost`` is a preference, it is not minimised.
    node_limit : int
        Nodes of the branch and bound, over all connected components. A node that updates many
        neighbours counts as several, so that the limit also bounds the time on dense graphs.
    time_limit : float
        Seconds for the integer programs that follow when the nodes are spent.

    Returns
    -------
    Colouring
        Exact unless the status is "unknown". The core is vertex-minimal (without any one of its
        vertices it can be coloured), unless it is a k-core of more than 200 vertices, which is
        returned whole, or the limits, granted anew for the minimisation, did not suffice.
    """
    if node_limit < 0 or not time_limit >= 0:
        raise ValueError("node_limit and time_limit must not be negative")
    problem = _problem(graph, n_colours, allowed, cost)
    verdict = _decide(problem, _Budget(node_limit, time_limit))
    if verdict.colours is not None:
        return Colouring("feasible", colours=np.array(verdict.colours, dtype=np.int64))
    if verdict.witness is None:
        return Colouring("unknown")
    core = _minimal(problem, verdict.witness, _Budget(4 * node_limit, time_limit))
    return Colouring("infeasible", core=np.array(sorted(core), dtype=np.int64))


def _adjacency(graph: sparse.csr_array) -> list[list[int]]:
    """Validate the graph and return its neighbour lists."""
    matrix = sparse.csr_array(graph, copy=True)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"graph must be square, got shape {matrix.shape}")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.data = np.ones(matrix.nnz, dtype=np.int8)
    if matrix.diagonal().any():
        raise ValueError("graph has a vertex joined to itself; remove its diagonal first")
    if (matrix != matrix.T).nnz:
        raise ValueError("graph must be symmetric; pass graph + graph.T")
    indices, starts = matrix.indices.tolist(), matrix.indptr.tolist()
    return [indices[a:b] for a, b in pairwise(starts)]


def _problem(
    graph: sparse.csr_array,
    n_colours: int,
    allowed: npt.ArrayLike | None,
    cost: npt.ArrayLike | None,
) -> _Problem:
    """Validate the arguments that the public functions share."""
    if operator.index(n_colours) < 1:
        raise ValueError(f"n_colours must be at least 1, got {n_colours}")
    adjacency = _adjacency(graph)
    shape = (len(adjacency), operator.index(n_colours))
    masks = [(1 << shape[1]) - 1] * shape[0]
    if allowed is not None:
        table = np.asarray(allowed)
        if table.shape != shape or table.dtype != np.bool_:
            raise ValueError(f"allowed must be boolean of shape {shape}")
        packed = np.packbits(table, axis=1, bitorder="little")
        masks = [int.from_bytes(row.tobytes(), "little") for row in packed]
    prices = None if cost is None else np.asarray(cost, dtype=np.float64)
    if prices is not None and (prices.shape != shape or not np.isfinite(prices).all()):
        raise ValueError(f"cost must be finite, of shape {shape}; forbid colours with allowed")
    return _Problem(adjacency, masks, shape[1], allowed is not None, prices)


def _grow_clique(adjacency: list[list[int]], enough: int | None) -> list[int]:
    """Return a large clique; stop as soon as it has ``enough`` vertices."""
    degree = [len(row) for row in adjacency]
    left = degree.copy()
    heap = [(d, v) for v, d in enumerate(degree)]
    heapq.heapify(heap)
    order: list[tuple[int, int]] = []  # (remaining degree, vertex), lowest degree removed first
    removed = [False] * len(degree)
    while heap:
        d, v = heapq.heappop(heap)
        if removed[v] or d != left[v]:
            continue
        removed[v] = True
        order.append((d, v))
        for u in adjacency[v]:
            if not removed[u]:
                left[u] -= 1
                heapq.heappush(heap, (left[u], u))
    best: list[int] = []
    before: set[int] = set()  # vertices removed later than the start: a clique has one first vertex
    work = 20 * (len(degree) + sum(degree))
    for d, v in reversed(order):
        if d >= len(best) and work > 0:
            clique, pool = [v], {u for u in adjacency[v] if u in before}
            work -= degree[v]
            while pool and len(clique) + len(pool) > len(best):
                u = max(pool, key=lambda w: (degree[w], -w))
                clique.append(u)
                work -= len(pool) + degree[u]
                pool.intersection_update(adjacency[u])
            best = max(best, clique, key=len)
            if enough is not None and len(best) >= enough:
                break
        before.add(v)
    return best


def _dsatur(problem: _Problem) -> list[int] | None:
    """Greedy colouring; stale heap entries are skipped instead of updated."""
    avail = problem.masks.copy()
    colours = [-1] * len(avail)
    rank = [-len(row) for row in problem.adjacency]
    heap = [(mask.bit_count(), rank[v], v) for v, mask in enumerate(avail)]
    heapq.heapify(heap)
    while heap:
        count, _, v = heapq.heappop(heap)
        if colours[v] >= 0 or count != avail[v].bit_count():
            continue
        if count == 0:
            return None
        colours[v] = chosen = problem.best(v, avail[v])
        bit = 1 << chosen
        for u in problem.adjacency[v]:
            if colours[u] < 0 and avail[u] & bit:
                avail[u] ^= bit
                heapq.heappush(heap, (avail[u].bit_count(), rank[u], u))
    return colours


def _peel(problem: _Problem) -> tuple[list[int], list[int]]:
    """Split the vertices into (peeled, in order; remaining core).

    A vertex with fewer neighbours than colours can always be coloured after them; taking it
    away may make others such vertices.
    """
    slack = [
        len(row) - mask.bit_count()
        for row, mask in zip(problem.adjacency, problem.masks, strict=True)
    ]
    peeled = [v for v, s in enumerate(slack) if s < 0]
    for v in peeled:  # grows while it is read
        for u in problem.adjacency[v]:
            slack[u] -= 1
            if slack[u] == -1:
                peeled.append(u)
    gone = set(peeled)
    return peeled, [v for v in range(len(slack)) if v not in gone]


def _pieces(problem: _Problem, vertices: list[int]) -> list[list[int]]:
    """Return the connected components of the graph induced by ``vertices``, sorted lists."""
    waiting, pieces = set(vertices), []
    for start in vertices:
        if start in waiting:
            waiting.remove(start)
            piece = [start]
            for v in piece:  # grows while it is read
                fresh = waiting.intersection(problem.adjacency[v])
                waiting -= fresh
                piece.extend(fresh)
            pieces.append(sorted(piece))
    return pieces


def _decide(problem: _Problem, budget: _Budget) -> _Verdict:
    """Peel, solve the components of what remains, colour the peeled vertices last."""
    peeled, core = _peel(problem)
    colours = [-1] * len(problem.masks)
    unknown = False
    # Small components first: a cheap proof of impossibility makes the large ones irrelevant.
    for piece in sorted(_pieces(problem, core), key=len):
        part = _solve(problem.restrict(piece), budget)
        if part.witness is not None:
            return _Verdict("infeasible", witness=[piece[i] for i in part.witness])
        unknown |= part.colours is None
        for v, chosen in zip(piece, part.colours or (), strict=False):
            colours[v] = chosen
    if unknown:
        return _Verdict("unknown")
    for v in reversed(peeled):
        mask = problem.masks[v]
        for u in problem.adjacency[v]:
            if colours[u] >= 0:
                mask &= ~(1 << colours[u])
        colours[v] = problem.best(v, mask)
    return _Verdict("feasible", colours)


def _solve(problem: _Problem, budget: _Budget) -> _Verdict:
    """Solve one component: greedy, clique, search, program, the cheapest first."""
    colours = _dsatur(problem)
    if colours is not None:
        return _Verdict("feasible", colours)
    clique = _grow_clique(problem.adjacency, problem.n_colours + 1)
    if _overfull(problem, clique):
        return _Verdict("infeasible", witness=clique[: problem.n_colours + 1])
    if not problem.listed:  # colours are interchangeable, so the clique's may be named at once
        problem.masks = problem.masks.copy()
        for i, v in enumerate(clique):
            problem.masks[v] = 1 << i
    verdict = _search(problem, len(clique), budget)
    if verdict.status == "unknown":
        started = time.monotonic()
        verdict = _program(problem, budget)
        budget.seconds -= time.monotonic() - started
    if verdict.colours is not None and not problem.listed and problem.cost is not None:
        return _Verdict("feasible", _rename(verdict.colours, problem.cost))
    return verdict


def _overfull(problem: _Problem, clique: list[int]) -> bool:
    """Tell whether the clique has no system of distinct colours (Hall 1935)."""
    if not problem.listed or len(clique) > problem.n_colours:
        return len(clique) > problem.n_colours
    choices = [problem.options(v, problem.masks[v]) for v in clique]
    rows = np.repeat(np.arange(len(clique)), [len(c) for c in choices])
    columns = np.array([c for row in choices for c in row], dtype=np.int64)
    table = sparse.csr_array(
        (np.ones(len(rows)), (rows, columns)), shape=(len(clique), problem.n_colours)
    )
    return bool((csgraph.maximum_bipartite_matching(table, perm_type="column") < 0).any())


def _rename(colours: list[int], cost: npt.NDArray[np.float64]) -> list[int]:
    """Permute interchangeable colours so that the total cost is least."""
    total = np.zeros((cost.shape[1], cost.shape[1]))
    np.add.at(total, colours, cost)
    _, name = optimize.linear_sum_assignment(total)
    return [int(name[c]) for c in colours]


def _search(problem: _Problem, named: int, budget: _Budget) -> _Verdict:
    """DSATUR branch and bound (Brélaz 1979) with forward checking, on an explicit stack.

    Without lists the colours from ``named`` on are alike until they are used, so of the unused
    ones only the first is tried.
    """
    adjacency, avail = problem.adjacency, problem.masks.copy()
    colours = [-1] * len(avail)
    rank = [-len(row) for row in adjacency]
    heap: list[tuple[int, int, int]] = []
    # Frame: vertex, colours to try (best last), neighbours changed by the current one, colours used
    stack: list[tuple[int, list[int], list[int], int]] = []
    used = problem.n_colours if problem.listed else named
    while True:
        vertex = _most_saturated(heap, avail, colours, rank)
        if vertex < 0:
            return _Verdict("feasible", colours)
        mask = avail[vertex] & ((2 << used) - 1)
        stack.append((vertex, problem.options(vertex, mask)[::-1], [], used))
        while stack:
            vertex, untried, changed, used = stack[-1]
            bit = 1 << colours[vertex] if colours[vertex] >= 0 else 0
            for u in changed:
                avail[u] |= bit
                heapq.heappush(heap, (avail[u].bit_count(), rank[u], u))
            changed.clear()
            if not untried:
                colours[vertex] = -1
                heapq.heappush(heap, (avail[vertex].bit_count(), rank[vertex], vertex))
                stack.pop()
                continue
            budget.nodes -= 1 + len(adjacency[vertex]) // _WORK_PER_NODE
            if budget.nodes < 0:
                return _Verdict("unknown")
            colours[vertex] = chosen = untried.pop()
            used = max(used, chosen + 1)
            if _forward(adjacency[vertex], 1 << chosen, avail, colours, changed):
                for u in changed:
                    heapq.heappush(heap, (avail[u].bit_count(), rank[u], u))
                break
        else:
            return _Verdict("infeasible", witness=list(range(len(avail))))


def _forward(
    neighbours: list[int], bit: int, avail: list[int], colours: list[int], changed: list[int]
) -> bool:
    """Take a colour from the open neighbours; False as soon as one of them has none left."""
    for u in neighbours:
        if colours[u] < 0 and avail[u] & bit:
            avail[u] ^= bit
            changed.append(u)
            if not avail[u]:
                return False
    return True


def _most_saturated(
    heap: list[tuple[int, int, int]], avail: list[int], colours: list[int], rank: list[int]
) -> int:
    """Pop the open vertex with the fewest colours, -1 if none; rebuild the heap when it is stale.

    Every change of an open vertex is pushed, so its current entry is always in the heap.
    """
    if not heap or len(heap) > 8 * len(avail) + 64:
        heap[:] = [(mask.bit_count(), rank[v], v) for v, mask in enumerate(avail) if colours[v] < 0]
        heapq.heapify(heap)
    while heap:
        count, _, v = heapq.heappop(heap)
        if colours[v] < 0 and count == avail[v].bit_count():
            return v
    return -1


def _program(problem: _Problem, budget: _Budget) -> _Verdict:
    """Solve the assignment program x_vc in {0, 1} with one row per clique and colour."""
    edges = sum(len(row) for row in problem.adjacency) // 2
    if budget.seconds <= 0 or edges > _MAX_PROGRAM:
        return _Verdict("unknown")
    cover = _clique_cover(problem.adjacency)
    if sum(len(clique) for clique in cover) * problem.n_colours > _MAX_PROGRAM:
        return _Verdict("unknown")
    options = [problem.options(v, mask) for v, mask in enumerate(problem.masks)]
    name = {pair: i for i, pair in enumerate((v, c) for v, row in enumerate(options) for c in row)}
    rows = [[name[v, c] for c in row] for v, row in enumerate(options)]
    lower = [1.0] * len(rows)
    for clique in cover:
        for c in range(problem.n_colours):
            members = [name[v, c] for v in clique if (v, c) in name]
            if len(members) > 1:
                rows.append(members)
                lower.append(0.0)
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows])))
    flat = np.array([i for row in rows for i in row], dtype=np.int64)
    table = sparse.csr_array((np.ones(len(flat)), flat, starts), shape=(len(rows), len(name)))
    result: Any = optimize.milp(
        np.zeros(len(name)),
        integrality=np.ones(len(name)),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(table, lower, 1.0),
        options={"time_limit": budget.seconds},
    )
    if result.status == 2:
        return _Verdict("infeasible", witness=list(range(len(options))))
    if result.x is None:
        return _Verdict("unknown")
    colours = [-1] * len(options)
    for (v, c), value in zip(name, result.x, strict=True):
        if value > 0.5:
            colours[v] = c
    return _Verdict("feasible", colours)


def _clique_cover(adjacency: list[list[int]]) -> list[list[int]]:
    """Cover every edge by greedily grown cliques, which make tighter rows than single edges."""
    sets = [set(row) for row in adjacency]
    covered: set[tuple[int, int]] = set()
    cover = []
    for v, row in enumerate(adjacency):
        for u in row:
            if u < v or (v, u) in covered:
                continue
            clique, pool = [v, u], sets[v] & sets[u]
            while pool:
                w = max(pool, key=lambda x: (len(sets[x]), -x))
                clique.append(w)
                pool &= sets[w]
            covered.update(combinations(sorted(clique), 2))
            cover.append(clique)
    return cover


def _minimal(problem: _Problem, core: list[int], budget: _Budget) -> list[int]:
    """Drop vertices while the others stay impossible to colour (deletion filter)."""
    if len(core) > _MAX_FILTERED or (not problem.listed and len(core) == problem.n_colours + 1):
        return core  # too large; or a clique of K + 1 vertices, minimal already
    pending = core.copy()
    while pending:
        v = pending.pop()
        rest = [u for u in core if u != v]
        witness = _decide(problem.restrict(rest), budget).witness
        if witness is not None:
            core = [rest[i] for i in witness]
            kept = set(core)
            pending = [u for u in pending if u in kept]
    return core
