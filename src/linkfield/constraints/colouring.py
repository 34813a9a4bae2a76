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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._exact_colouring import Budget, Problem, Status, Verdict, solve_exactly
from ._normal import IntArray

__all__ = ["Colouring", "colour", "dsatur", "greedy_clique"]

_MAX_FILTERED = 200  # vertices; a larger core is returned as it is


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
    verdict = _decide(problem, Budget(node_limit, time_limit))
    if verdict.colours is not None:
        return Colouring("feasible", colours=np.array(verdict.colours, dtype=np.int64))
    if verdict.witness is None:
        return Colouring("unknown")
    core = _minimal(problem, verdict.witness, Budget(4 * node_limit, time_limit))
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
) -> Problem:
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
    return Problem(adjacency, masks, shape[1], allowed is not None, prices)


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


def _dsatur(problem: Problem) -> list[int] | None:
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


def _peel(problem: Problem) -> tuple[list[int], list[int]]:
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


def _pieces(problem: Problem, vertices: list[int]) -> list[list[int]]:
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


def _decide(problem: Problem, budget: Budget) -> Verdict:
    """Peel, solve the components of what remains, colour the peeled vertices last."""
    peeled, core = _peel(problem)
    colours = [-1] * len(problem.masks)
    unknown = False
    # Small components first: a cheap proof of impossibility makes the large ones irrelevant.
    for piece in sorted(_pieces(problem, core), key=len):
        part = _solve(problem.restrict(piece), budget)
        if part.witness is not None:
            return Verdict("infeasible", witness=[piece[i] for i in part.witness])
        unknown |= part.colours is None
        for v, chosen in zip(piece, part.colours or (), strict=False):
            colours[v] = chosen
    if unknown:
        return Verdict("unknown")
    for v in reversed(peeled):
        mask = problem.masks[v]
        for u in problem.adjacency[v]:
            if colours[u] >= 0:
                mask &= ~(1 << colours[u])
        colours[v] = problem.best(v, mask)
    return Verdict("feasible", colours)


def _solve(problem: Problem, budget: Budget) -> Verdict:
    """Solve one component: greedily if that suffices, exactly if not."""
    colours = _dsatur(problem)
    if colours is not None:
        return Verdict("feasible", colours)
    return solve_exactly(problem, _grow_clique(problem.adjacency, problem.n_colours + 1), budget)


def _minimal(problem: Problem, core: list[int], budget: Budget) -> list[int]:
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
