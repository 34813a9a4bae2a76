"""Compiled sweeps of ICM over fields of plain edges: no tables, one cost an edge.

A link adds ``gap`` = agree − differ to the cost of the label that its other end has, and nothing
else that depends on the label. A node that has its cheapest label, with each of its links in the
cheaper of its two states, has nothing to gain, so its costs need not be known. Where a sweep comes
to a node whose costs are missing it stops, and goes on from there once they are given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = [
    "PlainField",
    "Work",
    "begin",
    "energy",
    "insert",
    "missing",
    "missing_in_chains",
    "missing_members",
    "slots",
    "swap",
    "sweep",
    "sweep_components",
]

#: As in _icm_kernels: a move must gain this share of the costs it compares.
GAIN = 1e-12

#: Where a sweep stands: head and length of the queue, steps, visits and moves so far.
HEAD, LENGTH, STEP, VISITS, MOVES = range(5)


class PlainField(NamedTuple):
    """Costs and edges by node.

    Node i has the costs ``table[place[i]]``, or place -1 while they are not known; every label
    other than ``cheapest`` costs it at least ``margin`` more. ``sign`` and ``gap`` stand beside
    the neighbour that they belong to; the gaps of a node are known with its costs.
    """

    table: Any
    place: Any
    cheapest: Any
    margin: Any
    noise: Any
    pointer: Any
    neighbour: Any
    sign: Any
    gap: Any


class Work(NamedTuple):
    """Labels, and what waits for a look: nodes, and components that may move as a whole.

    Component c has the nodes members[starts[c] : starts[c + 1]]; ``group`` is the component of
    every node, -1 for none, ``component`` its must-link component whether movable or not.
    """

    labels: Any
    visit: Any
    waiting: Any
    stale: Any
    starts: Any
    members: Any
    group: Any
    component: Any
    queue: Any


@njit(cache=True)
def slots(pointer, nodes):  # type: ignore[no-untyped-def]
    """Return where the links of some nodes (or the nodes of some components) stand."""
    count = 0
    for i in nodes:
        count += pointer[i + 1] - pointer[i]
    out = np.empty(count, np.int64)
    count = 0
    for i in nodes:
        for at in range(pointer[i], pointer[i + 1]):
            out[count] = at
            count += 1
    return out


@njit(cache=True)
def insert(field, labels, order):  # type: ignore[no-untyped-def]
    """Label the nodes one after the other; those without a label do not count."""
    pointer, neighbour, gap = field.pointer, field.neighbour, field.gap
    extra = np.zeros(field.table.shape[1])
    for i in order:
        unary = field.table[field.place[i]]
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] += gap[at]
        best, low = 0, unary[0] + extra[0]
        for h in range(1, extra.shape[0]):
            value = unary[h] + extra[h]
            if value < low:
                best, low = h, value
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] = 0.0
        labels[i] = best


@njit(cache=True)
def _content(field, labels, i):  # type: ignore[no-untyped-def]
    """Say whether a node has its cheapest label and no link that would rather be otherwise."""
    mine = labels[i]
    if mine != field.cheapest[i]:
        return False
    for at in range(field.pointer[i], field.pointer[i + 1]):
        if field.sign[at] == (1 if labels[field.neighbour[at]] == mine else -1):
            return False
    return True


@njit(cache=True)
def begin(field, work, left, right, sign):  # type: ignore[no-untyped-def]
    """Let wait who could gain by a move at all; the edges are given one by one, with their sign.

    Nor has a component of nodes that are content anything to gain.
    """
    labels, waiting, group = work.labels, work.waiting, work.group
    for i in range(labels.shape[0]):
        waiting[i] = labels[i] != field.cheapest[i]
    for e in range(left.shape[0]):
        i, j = left[e], right[e]
        if sign[e] == (1 if labels[i] == labels[j] else -1):
            waiting[i] = True
            waiting[j] = True
    for i in range(labels.shape[0]):
        if waiting[i] and group[i] >= 0:
            work.stale[group[i]] = True


@njit(cache=True)
def missing(field, work):  # type: ignore[no-untyped-def]
    """Return the waiting nodes whose costs have to be known."""
    out, count = np.empty(work.labels.shape[0], np.int64), 0
    for i in range(work.labels.shape[0]):
        if work.waiting[i] and field.place[i] < 0 and not _content(field, work.labels, i):
            out[count] = i
            count += 1
    return out[:count]


@njit(cache=True)
def sweep(field, work, start, limit, state):  # type: ignore[no-untyped-def]
    """Look at every waiting node, in the order of visits from ``start`` on, then at whom they wake.

    Those are taken first come, first served, for ``limit`` more visits at most. Returns whether
    the sweep is over; if not, costs are missing, and ``state`` says where to go on.
    """
    pointer, neighbour, gap = field.pointer, field.neighbour, field.gap
    labels, waiting, stale, group = work.labels, work.waiting, work.stale, work.group
    n, K = labels.shape[0], field.table.shape[1]
    extra, queue = np.zeros(K), work.queue
    while state[STEP] < n or (state[LENGTH] > 0 and state[VISITS] < limit):
        first_round = state[STEP] < n
        if first_round:
            at = start + state[STEP]
            i = work.visit[at if at < n else at - n]
        else:
            i = queue[state[HEAD]]
        looks = waiting[i] and not _content(field, labels, i)
        if looks and field.place[i] < 0:
            return False
        if first_round:
            state[STEP] += 1
        else:
            state[HEAD] = state[HEAD] + 1 if state[HEAD] + 1 < n else 0
            state[LENGTH] -= 1
            state[VISITS] += 1
        waiting[i] = False
        if not looks:
            continue
        unary = field.table[field.place[i]]
        first, last, mine, best = pointer[i], pointer[i + 1], labels[i], field.cheapest[i]
        for at in range(first, last):
            extra[labels[neighbour[at]]] += gap[at]
        low = unary[best] + extra[best]
        if extra[best] > 0:  # its neighbours spoil the cheapest label: look at all
            for h in range(K):
                value = unary[h] + extra[h]
                if value < low:
                    low, best = value, h
        else:
            for at in range(first, last):
                h = labels[neighbour[at]]
                value = unary[h] + extra[h]
                if value < low:
                    low, best = value, h
        old = unary[mine] + extra[mine]
        for at in range(first, last):
            extra[labels[neighbour[at]]] = 0.0
        gain = max(field.noise[i], GAIN * max(abs(low), min(abs(old), 1e300)))
        if best != mine and low < old - gain:
            labels[i] = best
            state[MOVES] += 1
            if group[i] >= 0:
                stale[group[i]] = True
            for at in range(first, last):
                j = neighbour[at]
                if not waiting[j]:
                    waiting[j] = True
                    if state[LENGTH] < n:
                        tail = state[HEAD] + state[LENGTH]
                        queue[tail if tail < n else tail - n] = j
                        state[LENGTH] += 1
                if group[j] >= 0:
                    stale[group[j]] = True
    return True


@njit(cache=True)
def _hopeless(field, work, c):  # type: ignore[no-untyped-def]
    """Say whether a component costs so little more than its least that no move can pay.

    What it can gain is its excess: over the cheapest label of every node, and over the cheaper
    state of every link. Where all its nodes share a label, those that have their cheapest one
    lose their margins.
    """
    labels, component = work.labels, work.component
    excess, noise, margins = 0.0, 0.0, 0.0
    one = labels[work.members[work.starts[c]]]
    alike = True
    for k in range(work.starts[c], work.starts[c + 1]):
        i = work.members[k]
        alike = alike and labels[i] == one
        noise += field.noise[i]
        if labels[i] == field.cheapest[i]:
            margins += field.margin[i]
        else:
            unary = field.table[field.place[i]]
            excess += unary[labels[i]] - unary[field.cheapest[i]]
        for at in range(field.pointer[i], field.pointer[i + 1]):
            j, g = field.neighbour[at], field.gap[at]
            share = 0.5 if component[j] == component[i] else 1.0  # inner edges are met twice
            excess += share * (max(g, 0.0) if labels[i] == labels[j] else max(-g, 0.0))
    return excess <= noise + (margins if alike else 0.0)


@njit(cache=True)
def _complete(field, work, c):  # type: ignore[no-untyped-def]
    """Say whether the costs of all nodes of a component are known."""
    known = True
    for k in range(work.starts[c], work.starts[c + 1]):
        known = known and field.place[work.members[k]] >= 0
    return known


@njit(cache=True)
def missing_members(field, work, first):  # type: ignore[no-untyped-def]
    """Return the nodes whose costs the components from ``first`` on have to know.

    Components that cannot gain wait no longer.
    """
    out, count = np.empty(work.members.shape[0], np.int64), 0
    for c in range(first, work.starts.shape[0] - 1):
        if not work.stale[c]:
            continue
        if _hopeless(field, work, c):
            work.stale[c] = False
            continue
        for k in range(work.starts[c], work.starts[c + 1]):
            if field.place[work.members[k]] < 0:
                out[count] = work.members[k]
                count += 1
    return out[:count]


@njit(cache=True)
def sweep_components(field, work, first):  # type: ignore[no-untyped-def]
    """Move whole must-link components where that gains, from ``first`` on.

    Returns how many moved, and the component whose costs are missing, or their number.
    """
    labels, component = work.labels, work.component
    out, moves = np.empty(field.table.shape[1]), 0
    for c in range(first, work.starts.shape[0] - 1):
        if not work.stale[c]:
            continue
        if not _complete(field, work, c):
            return moves, c
        work.stale[c] = False
        out[:] = 0.0
        now, inner, noise = 0.0, 0.0, 0.0
        for k in range(work.starts[c], work.starts[c + 1]):
            i = work.members[k]
            unary = field.table[field.place[i]]
            now += unary[labels[i]]
            noise += field.noise[i]
            for h in range(out.shape[0]):
                out[h] += unary[h]
            for at in range(field.pointer[i], field.pointer[i + 1]):
                j, g = field.neighbour[at], field.gap[at]
                agrees = labels[i] == labels[j]
                if component[j] == component[i]:
                    inner += 0.5 * g
                    now += 0.5 * g if agrees else 0.0
                else:
                    out[labels[j]] += g
                    now += g if agrees else 0.0
        best = out.argmin()
        low = out[best] + inner
        if low < now - max(noise, GAIN * max(abs(low), min(abs(now), 1e300))):
            moves += 1
            _move(field, work, c, best)
    return moves, work.starts.shape[0] - 1


@njit(cache=True)
def _move(field, work, c, label):  # type: ignore[no-untyped-def]
    """Give a component a label; everything linked to it waits for a look."""
    for k in range(work.starts[c], work.starts[c + 1]):
        i = work.members[k]
        if work.labels[i] == label:
            continue
        work.labels[i] = label
        work.waiting[i] = True
        for at in range(field.pointer[i], field.pointer[i + 1]):
            j = field.neighbour[at]
            work.waiting[j] = True
            if work.group[j] >= 0 and work.group[j] != c:
                work.stale[work.group[j]] = True


@njit(cache=True)
def _chain(field, work, i, b, chain, mark):  # type: ignore[no-untyped-def]
    """Collect the nodes that swapping the labels a and b of node i and b would reach.

    They are joined to i by links between nodes of these two labels. Returns their number, how
    many of them have no known costs, a bound on what the swap adds to the energy, and its noise.
    """
    labels, pointer, neighbour = work.labels, field.pointer, field.neighbour
    a, n = labels[i], labels.shape[0]
    mark[n] += 1  # the stamp of this chain
    chain[0], mark[i] = i, mark[n]
    count, at, missing, change, noise = 1, 0, 0, 0.0, 0.0
    while at < count:
        j = chain[at]
        at += 1
        other = b if labels[j] == a else a
        if field.place[j] < 0:  # content: any other label costs its margin more
            missing += 1
            change += field.margin[j]
        else:
            unary = field.table[field.place[j]]
            if unary[other] != unary[labels[j]]:
                change += unary[other] - unary[labels[j]]
            noise += max(field.noise[j], GAIN * min(abs(unary[labels[j]]), 1e300))
        for k in range(pointer[j], pointer[j + 1]):
            m = neighbour[k]
            if mark[m] != mark[n] and (labels[m] == a or labels[m] == b):
                mark[m] = mark[n]
                chain[count] = m
                count += 1
    return count, missing, change, noise


@njit(cache=True)
def missing_in_chains(field, work, chain, mark):  # type: ignore[no-untyped-def]
    """Return the nodes whose costs have to be known to swap labels along chains."""
    n = work.labels.shape[0]
    out, count, wanted = np.empty(n, np.int64), 0, np.zeros(n, np.bool_)
    for i in range(n):
        if work.labels[i] == field.cheapest[i]:
            continue
        unary = field.table[field.place[i]]
        for b in range(unary.shape[0]):
            if not unary[b] < unary[work.labels[i]]:
                continue
            reach, missing, change, noise = _chain(field, work, i, b, chain, mark)
            if missing == 0 or change >= -noise:
                continue
            for k in range(reach):
                j = chain[k]
                if field.place[j] < 0 and not wanted[j]:
                    wanted[j] = True
                    out[count] = j
                    count += 1
    return out[:count]


@njit(cache=True)
def swap(field, work, first, chain, mark, seen):  # type: ignore[no-untyped-def]
    """Swap two labels along chains of linked nodes where that gains, from step ``first`` on.

    All links of a chain are between its own nodes or to nodes of other labels, so none changes
    its state. Returns how many chains were swapped, the step at which costs are missing (or the
    number of nodes), and the size of the chain that they are missing of. ``seen`` has a bit for
    every label below 64 that a node has been offered in vain.
    """
    labels, moves = work.labels, 0
    for step in range(first, labels.shape[0]):
        i = work.visit[step]
        if labels[i] == field.cheapest[i]:
            continue
        unary = field.table[field.place[i]]
        for b in range(unary.shape[0]):
            a = labels[i]
            if not unary[b] < unary[a] or (b < 64 and seen[i] >> b & 1):
                continue
            count, missing, change, noise = _chain(field, work, i, b, chain, mark)
            gains = change < -noise
            if gains and missing > 0:
                return moves, step, count
            for k in range(count):
                j = chain[k]
                other = b if labels[j] == a else a
                if gains:
                    labels[j] = other
                elif other < 64:
                    seen[j] |= 1 << other
            if gains:
                moves += 1
                seen[:] = 0
                for k in range(count):
                    _wake(field, work, chain[k])
    return moves, labels.shape[0], 0


@njit(cache=True)
def _wake(field, work, i):  # type: ignore[no-untyped-def]
    """Let a node that has moved, and everything linked to it, wait for a look."""
    work.waiting[i] = True
    if work.group[i] >= 0:
        work.stale[work.group[i]] = True
    for at in range(field.pointer[i], field.pointer[i + 1]):
        j = field.neighbour[at]
        work.waiting[j] = True
        if work.group[j] >= 0:
            work.stale[work.group[j]] = True


@njit(cache=True)
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
