"""Compiled sweeps of ICM over fields of plain edges: no tables, one cost an edge.

Nodes are numbered in the order in which they are visited. A link adds ``gap`` = agree − differ to
the cost of the label that its other end has, and nothing else that depends on the label. So there
are nodes whose costs need not be known. One that has its cheapest label, with each of its links in
the cheaper of its two states, is content. One that could have that, its margin being certain,
moves there unasked. Where a sweep comes to any other node whose costs are missing it stops, and
goes on from there once they are given.
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
    other than ``cheapest`` certainly costs it at least ``margin`` more. ``sign`` and ``gap`` stand
    beside the neighbour that they belong to; the gaps of a node are known with its costs.
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
    ``needed`` are the nodes whose costs a look had to know, ``notable`` those whom a neighbour's
    move may concern though their link stays as it should be: they can move with others, or their
    costs are known.
    """

    labels: Any
    waiting: Any
    needed: Any
    notable: Any
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
    out = np.empty(count, np.int32)
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
def _unopposed(pointer, neighbour, sign, labels, i, label):  # type: ignore[no-untyped-def]
    """Say whether every link of a node is as it should be if the node has some label."""
    for at in range(pointer[i], pointer[i + 1]):
        if sign[at] == (1 if labels[neighbour[at]] == label else -1):
            return False
    return True


@njit(cache=True)
def begin(field, work, left, right, sign):  # type: ignore[no-untyped-def]
    """Let wait who is not content, with their components; the edges are given one by one."""
    labels, waiting, stale, starts = work.labels, work.waiting, work.stale, work.starts
    members, cheapest = work.members, field.cheapest
    broken, count = np.empty(left.shape[0], np.int32), 0
    for e in range(left.shape[0]):  # without a branch: nobody could foretell it
        broken[count] = e
        count += sign[e] == (1 if labels[left[e]] == labels[right[e]] else -1)
    for i in range(labels.shape[0]):
        waiting[i] = labels[i] != cheapest[i]
    for k in range(count):
        waiting[left[broken[k]]] = True
        waiting[right[broken[k]]] = True
    for c in range(stale.shape[0]):
        stale[c] = False
        for k in range(starts[c], starts[c + 1]):
            stale[c] |= waiting[members[k]]


@njit(cache=True)
def missing(field, work):  # type: ignore[no-untyped-def]
    """Return the waiting nodes whose costs a look may have to know.

    Their neighbours may have moved to their cheapest labels by then.
    """
    # Taking an array out of a tuple has its price, so long loops get the arrays themselves.
    pointer, neighbour, sign, place = field.pointer, field.neighbour, field.sign, field.place
    cheapest, margin, labels, waiting = field.cheapest, field.margin, work.labels, work.waiting
    out, count = np.empty(labels.shape[0], np.int32), 0
    for i in range(labels.shape[0]):
        if not waiting[i] or place[i] >= 0:
            continue
        best = cheapest[i]
        asks = margin[i] == 0.0 and labels[i] != best
        for at in range(pointer[i], pointer[i + 1]):
            j = neighbour[at]
            if sign[at] > 0:
                asks |= labels[j] == best or cheapest[j] == best
            else:
                asks |= sign[at] < 0 and (labels[j] != best or cheapest[j] != best)
        out[count] = i
        count += asks
    return out[:count]


@njit(cache=True)
def sweep(field, work, start, limit, state):  # type: ignore[no-untyped-def]
    """Look at every waiting node, from ``start`` on, then at whom they wake.

    Those are taken first come, first served, for ``limit`` more visits at most. Returns whether
    the sweep is over; if not, costs are missing, and ``state`` says where to go on.
    """
    table, place, cheapest, margin, noise, pointer, neighbour, sign, gap = field
    labels, waiting, needed, queue = work.labels, work.waiting, work.needed, work.queue
    group, stale = work.group, work.stale
    n, extra = labels.shape[0], np.zeros(table.shape[1])
    step, head, length, visits = state[STEP], state[HEAD], state[LENGTH], state[VISITS]
    moves, over = state[MOVES], True
    while over and (step < n or (length > 0 and visits < limit)):
        first_round = step < n
        i = start + step if first_round else np.int64(queue[head])
        i = i if i < n else i - n
        new = labels[i]
        if waiting[i]:
            free = _unopposed(pointer, neighbour, sign, labels, i, cheapest[i])
            if free and (margin[i] > 0.0 or new == cheapest[i]):
                new = cheapest[i]
            elif place[i] >= 0:
                needed[i] = True
                new = _best(table, place[i], cheapest[i], noise[i], pointer, neighbour, gap, labels,
                            i, extra)  # fmt: skip
            else:
                over = False
                continue
        if first_round:
            step += 1
        else:
            head = head + 1 if head + 1 < n else 0
            length -= 1
            visits += 1
        if not waiting[i]:
            continue
        waiting[i] = False
        if new != labels[i]:
            labels[i] = new
            moves += 1
            length = _wake(pointer, neighbour, sign, place, labels, waiting, work.notable, stale,
                           group, queue, head, length, i)  # fmt: skip
    state[STEP], state[HEAD], state[LENGTH], state[VISITS] = step, head, length, visits
    state[MOVES] = moves
    return over


@njit(cache=True)
def _best(table, row, cheapest, noise, pointer, neighbour, gap, labels, i, extra):  # type: ignore[no-untyped-def]
    """Return the label that a node of known costs should have; ``extra`` is zero, and left so."""
    first, last, mine, best = pointer[i], pointer[i + 1], labels[i], cheapest
    for at in range(first, last):
        extra[labels[neighbour[at]]] += gap[at]
    low = table[row, best] + extra[best]
    if extra[best] > 0:  # its neighbours spoil the cheapest label: look at all
        for h in range(extra.shape[0]):
            value = table[row, h] + extra[h]
            if value < low:
                low, best = value, np.int32(h)
    else:
        for at in range(first, last):
            h = labels[neighbour[at]]
            value = table[row, h] + extra[h]
            if value < low:
                low, best = value, h
    old = table[row, mine] + extra[mine]
    for at in range(first, last):
        extra[labels[neighbour[at]]] = 0.0
    gain = max(noise, GAIN * max(abs(low), min(abs(old), 1e300)))
    return best if low < old - gain else mine


@njit(cache=True)
def _wake(  # type: ignore[no-untyped-def]
    pointer, neighbour, sign, place, labels, waiting, notable, stale, group, queue, head, length, i
):  # fmt: skip
    """Let those wait whom the move of a node concerns; return the length of the queue.

    A neighbour that was content, its costs unknown, is so still if their link is as it should be.
    """
    n, mine = labels.shape[0], labels[i]
    if group[i] >= 0:
        stale[group[i]] = True
    for at in range(pointer[i], pointer[i + 1]):
        j = neighbour[at]
        broken = sign[at] == (1 if labels[j] == mine else -1)
        if not (broken or notable[j]):  # most of them, found out at the price of two looks
            continue
        if group[j] >= 0:
            stale[group[j]] = True
        if not waiting[j] and (broken or place[j] >= 0):
            waiting[j] = True
            if length < n:
                tail = head + length
                queue[tail if tail < n else tail - n] = j
                length += 1
    return length


@njit(cache=True)
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
