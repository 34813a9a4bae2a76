"""Compiled search for cycles and cliques of links that a fractional solution violates too little.

Cuts come out as lists of edges one behind the other: those of cut c are
edges[start[c] : start[c + 1]]. Where they outgrow the room given, or the search takes too many
steps, the rest is left for later.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import inner_exact

__all__ = ["cliques", "odd_cycles", "one_cannot_cycles"]

#: By how much a solution must fall short of a cut for it to be worth adding.
SHORT = 1e-4

#: Steps after which a search ends (some tenths of a second).
STEPS = 50_000_000


@inner_exact
def _reach(pointer, neighbour, length, source, limit, work):  # type: ignore[no-untyped-def]
    """Find shortest ways from ``source`` to all that are nearer than ``limit``.

    First come, first served, again whenever a way got shorter: lengths are mostly zero, so that
    happens rarely. Returns how many states were reached and how many arcs were looked at; ``work``
    holds distances, the arc each was reached by, where that came from, the states reached, a queue
    and who is in it.
    """
    distance, arc, before, reached, queue, queued = work
    size = queue.shape[0]
    distance[source], arc[source], before[source] = 0.0, -1, -1
    reached[0], count = source, 1
    queue[0], head, waiting = source, 0, 1
    queued[source] = True
    steps = 0
    while waiting > 0:
        u = queue[head]
        head = head + 1 if head + 1 < size else 0
        waiting -= 1
        queued[u] = False
        steps += pointer[u + 1] - pointer[u]
        for at in range(pointer[u], pointer[u + 1]):
            w, far = neighbour[at], distance[u] + length[at]
            if far < limit and far < distance[w] - 1e-12:
                if distance[w] == np.inf:
                    reached[count] = w
                    count += 1
                distance[w], arc[w], before[w] = far, at, u
                if not queued[w]:
                    queued[w] = True
                    queue[(head + waiting) % size] = w
                    waiting += 1
    return count, steps


@njit(cache=True)
def _workspace(n):  # type: ignore[no-untyped-def]
    index = np.empty((4, n), np.int64)
    return np.full(n, np.inf), index[0], index[1], index[2], index[3], np.zeros(n, np.bool_)


@njit(cache=True)
def one_cannot_cycles(pointer, neighbour, edge, length, cannot, room):  # type: ignore[no-untyped-def]
    """Close every cannot-link by the shortest way along must-links, if both together stay below 1.

    ``cannot`` = (edges, one end, other end, violation), ordered by the one end.
    """
    links, left, right, violation = cannot
    work = _workspace(pointer.shape[0] - 1)
    distance, arc, before, reached = work[0], work[1], work[2], work[3]
    found, start = np.empty(room, np.int64), np.zeros(links.shape[0] + 1, np.int64)
    cuts, k, effort = 0, 0, 0
    while k < links.shape[0] and effort < STEPS:
        source, last, least = left[k], k, violation[k]
        while last < links.shape[0] and left[last] == source:
            least = min(least, violation[last])
            last += 1
        count, steps = _reach(pointer, neighbour, length, source, 1.0 - SHORT - least, work)
        effort += steps
        for f in range(k, last):
            w, end = right[f], start[cuts]
            if distance[w] + violation[f] >= 1.0 - SHORT:
                continue
            while w >= 0 and end < room:
                found[end] = edge[arc[w]] if arc[w] >= 0 else links[f]
                end += 1
                w = before[w]
            if w >= 0:
                return found[: start[cuts]], start[: cuts + 1]
            cuts += 1
            start[cuts] = end
        for r in range(count):
            distance[reached[r]] = np.inf
        k = last
    return found[: start[cuts]], start[: cuts + 1]


@njit(cache=True)
def odd_cycles(pointer, neighbour, edge, length, room):  # type: ignore[no-untyped-def]
    """Find cycles with an odd number of cannot-links whose violations stay below 1.

    State 2i + p is node i reached over an even (p = 0) or odd number of cannot-links; a way from 2i
    to 2i + 1 passes an odd cycle. Nodes of a cycle that was found are not set out from again.
    """
    n = (pointer.shape[0] - 1) // 2
    work = _workspace(2 * n)
    distance, arc, before, reached = work[0], work[1], work[2], work[3]
    found, start = np.empty(room, np.int64), np.zeros(n + 1, np.int64)
    done, place, walk = np.zeros(n, np.bool_), np.full(n, -1), np.empty(2 * n, np.int64)
    cuts, effort = 0, 0
    for source in range(n):
        if done[source] or effort > STEPS:
            continue
        count, looked = _reach(pointer, neighbour, length, 2 * source, 1.0 - SHORT, work)
        effort += looked
        state = 2 * source + 1
        if distance[state] < np.inf:
            # Walk back; the first node met twice closes a cycle that meets no other twice.
            steps, first = 0, 0
            while place[state // 2] < 0:
                place[state // 2], walk[steps] = steps, state
                steps += 1
                state = before[state]
            first = place[state // 2]
            end = start[cuts]
            if end + steps - first > room:
                break
            for s in range(first, steps):
                found[end] = edge[arc[walk[s]]]
                end += 1
                done[walk[s] // 2] = True
            cuts += 1
            start[cuts] = end
            for s in range(steps):
                place[walk[s] // 2] = -1
        for r in range(count):
            distance[reached[r]] = np.inf
    return found[: start[cuts]], start[: cuts + 1]


@inner_exact
def _fewest(q, K):  # type: ignore[no-untyped-def]
    """Return how many pairs of q points share one of K labels at least."""
    t = q // K
    return K * (t * (t - 1)) // 2 + (q - t * K) * t


@njit(cache=True)
def cliques(pointer, neighbour, edge, violation, allowed, room):  # type: ignore[no-untyped-def]
    """Grow a clique of cannot-links from each of them by the cheapest common neighbour.

    Kept is what falls short most of the pairs that must share one of the labels their points may
    have. Links inside a clique that was found are not set out from again.
    """
    n, K = allowed.shape
    count, weight = np.zeros(n, np.int64), np.zeros(n)
    member = np.empty(n, np.int64)
    found, start = np.empty(room, np.int64), np.zeros(violation.shape[0] + 1, np.int64)
    least, done = np.empty(violation.shape[0]), np.zeros(violation.shape[0], np.bool_)
    union = np.zeros(K, np.bool_)
    cuts, effort = 0, 0
    for i in range(n):
        for seed in range(pointer[i], pointer[i + 1]):
            if neighbour[seed] < i or done[edge[seed]] or effort > STEPS:
                continue
            size, labels, inside = 0, 0, 0.0
            best_short, best_size, best_least = SHORT, 0, 0.0
            union[:] = False
            new = i
            while new >= 0:
                effort += pointer[new + 1] - pointer[new] + pointer[i + 1] - pointer[i]
                inside += weight[new]
                member[size] = new
                size += 1
                for h in range(K):
                    if allowed[new, h] and not union[h]:
                        union[h] = True
                        labels += 1
                for at in range(pointer[new], pointer[new + 1]):
                    count[neighbour[at]] += 1
                    weight[neighbour[at]] += violation[edge[at]]
                needed = _fewest(size, labels)
                if needed - inside > best_short:
                    best_short, best_size, best_least = needed - inside, size, needed
                new = neighbour[seed] if size == 1 else -1
                if size > 1:
                    for at in range(pointer[i], pointer[i + 1]):
                        x = neighbour[at]
                        if count[x] == size and (new < 0 or weight[x] < weight[new]):
                            new = x
            for k in range(size):
                for at in range(pointer[member[k]], pointer[member[k] + 1]):
                    count[neighbour[at]] = 0
                    weight[neighbour[at]] = 0.0
            if best_size == 0:
                continue
            end = start[cuts]
            if end + best_size * (best_size - 1) // 2 > room:
                return found[: start[cuts]], start[: cuts + 1], least[:cuts]
            for k in range(best_size):
                count[member[k]] = 1
            for k in range(best_size):
                for at in range(pointer[member[k]], pointer[member[k] + 1]):
                    if neighbour[at] > member[k] and count[neighbour[at]] == 1:
                        found[end] = edge[at]
                        done[edge[at]] = True
                        end += 1
            for k in range(best_size):
                count[member[k]] = 0
            least[cuts] = best_least
            cuts += 1
            start[cuts] = end
    return found[: start[cuts]], start[: cuts + 1], least[:cuts]
