"""Exact list colouring of one connected graph: branch and bound, then an integer program.

The problem as the solvers see it, and what the easy methods of :mod:`.colouring` leave over.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, sparse
from scipy.sparse import csgraph

__all__ = ["Budget", "Problem", "Status", "Verdict", "solve_exactly"]

Status = Literal["feasible", "infeasible", "unknown"]

_MAX_PROGRAM = 300_000  # entries; HiGHS overruns its time limit by far on larger programs
_WORK_PER_NODE = 32  # neighbours updated for the price of one search node


@dataclass(slots=True, eq=False)
class Problem:
    """Graph as neighbour lists; the list of colours of a vertex as the bits of an integer."""

    adjacency: list[list[int]]
    masks: list[int]
    n_colours: int
    listed: bool  # False: every mask is full, so colours are interchangeable
    cost: npt.NDArray[np.float64] | None

    def restrict(self, vertices: Sequence[int]) -> Problem:
        """Return the problem induced by ``vertices``, renumbered in that order."""
        new = {v: i for i, v in enumerate(vertices)}
        return Problem(
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
class Budget:
    """What one call may still spend, over all its components."""

    nodes: float
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What is known about one problem: a colouring, or vertices that have none."""

    status: Status
    colours: list[int] | None = None
    witness: list[int] | None = None  # infeasible vertices


def solve_exactly(problem: Problem, clique: list[int], budget: Budget) -> Verdict:
    """Solve one component of which a clique is known: clique, search, program, cheapest first.

    Takes the problem over: without lists, its masks are changed.
    """
    if _overfull(problem, clique):
        return Verdict("infeasible", witness=clique[: problem.n_colours + 1])
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
        return Verdict("feasible", _rename(verdict.colours, problem.cost))
    return verdict


def _overfull(problem: Problem, clique: list[int]) -> bool:
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


def _search(problem: Problem, named: int, budget: Budget) -> Verdict:
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
            return Verdict("feasible", colours)
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
                return Verdict("unknown")
            colours[vertex] = chosen = untried.pop()
            used = max(used, chosen + 1)
            if _forward(adjacency[vertex], 1 << chosen, avail, colours, changed):
                for u in changed:
                    heapq.heappush(heap, (avail[u].bit_count(), rank[u], u))
                break
        else:
            return Verdict("infeasible", witness=list(range(len(avail))))


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


def _program(problem: Problem, budget: Budget) -> Verdict:
    """Solve the assignment program x_vc in {0, 1} with one row per clique and colour."""
    edges = sum(len(row) for row in problem.adjacency) // 2
    if budget.seconds <= 0 or edges > _MAX_PROGRAM:
        return Verdict("unknown")
    cover = _clique_cover(problem.adjacency)
    if sum(len(clique) for clique in cover) * problem.n_colours > _MAX_PROGRAM:
        return Verdict("unknown")
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
        return Verdict("infeasible", witness=list(range(len(options))))
    if result.x is None:
        return Verdict("unknown")
    colours = [-1] * len(options)
    for (v, c), value in zip(name, result.x, strict=True):
        if value > 0.5:
            colours[v] = c
    return Verdict("feasible", colours)


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
