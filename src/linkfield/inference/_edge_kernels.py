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
    "GAIN",
    "PlainField",
    "Work",
    "begin",
    "energy",
    "insert",
    "missing",
    "slots",
    "sweep",
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
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
