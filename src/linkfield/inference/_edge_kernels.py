"""Compiled sweeps of ICM over fields of plain edges: no tables, one cost an edge.

Nodes are numbered in the order in which they are visited. A link adds ``gap`` = agree − differ to
the cost of the label that its other end has, and nothing else that depends on the label. So there
are nodes whose costs need not be known. One that has its cheapest label, with each of its links in
the cheaper of its two states, is content. One that could have that, its margin being certain,
moves there unasked. Where a sweep comes to any other node whose costs are missing it stops, and
goes on from there once they are given.

What links cost changes from time to time, by factors that are bounded. A node whose links were
asked for long ago may be known to stay where it is by these bounds; only if not, its links are
asked for again.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._plain_field import GAIN, WIDER, PlainField, Work

# PlainField and Work stood here: numba's caches of that time look for them under these names.
__all__ = [
    "PlainField",
    "Work",
    "begin",
    "broken",
    "broken_among",
    "energy",
    "insert",
    "missing",
    "renew",
    "slots",
    "sweep",
]

#: Where a sweep stands: head and length of the queue, steps, visits and moves so far, and how many
#: nodes are listed whose neighbours have moved.
HEAD, LENGTH, STEP, VISITS, MOVES, LISTED = range(6)


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
        if _broken(sign[at], labels[neighbour[at]], label):
            return False
    return True


@njit(cache=True)
def _broken(sign, a, b):  # type: ignore[no-untyped-def]
    """Say whether an edge between two labels is in the dearer of its two states."""
    return sign == (1 if a == b else -1)


@njit(cache=True)
def renew(field, work, visit, cheapest, margin):  # type: ignore[no-untyped-def]
    """Take over the cheapest labels of all nodes and forget what else they cost."""
    mine, mine_by, place = field.cheapest, field.margin, field.place
    group, notable = work.group, work.notable
    for k in range(visit.shape[0]):
        mine[k], mine_by[k] = cheapest[visit[k]], margin[visit[k]]
        place[k], notable[k] = -1, group[k] >= 0


@njit(cache=True)
def begin(field, work, broken, left, right):  # type: ignore[no-untyped-def]
    """Let wait who is not content, the ends of broken edges among them, with their components.

    Returns the nodes that wait.
    """
    labels, waiting, stale, group = work.labels, work.waiting, work.stale, work.group
    cheapest, doubtful = field.cheapest, work.doubtful
    doubtful[:] = False
    for i in range(labels.shape[0]):
        waiting[i] = labels[i] != cheapest[i]
    for e in broken:
        waiting[left[e]] = doubtful[left[e]] = True
        waiting[right[e]] = doubtful[right[e]] = True
    stale[:] = False
    listed, count = work.list, 0
    for i in range(labels.shape[0]):  # without a branch: nobody could foretell it
        listed[count] = i
        count += waiting[i]
    for i in listed[:count]:
        if group[i] >= 0:
            stale[group[i]] = True
    return listed[:count].copy()


@njit(cache=True)
def missing(field, work, nodes):  # type: ignore[no-untyped-def]
    """Return which of some nodes wait for a look that may have to know more of their costs.

    Their neighbours may have moved to their cheapest labels by then.
    """
    # Taking an array out of a tuple has its price, so long loops get the arrays themselves.
    table, place, cheapest, margin, _, pointer, neighbour, sign, gap, since, least, most = field
    labels, extra, present = work.labels, np.zeros(table.shape[1]), most.shape[0] - 1
    out, count = np.empty(nodes.shape[0], np.int32), 0
    waiting, sure, needed = work.waiting, work.sure, work.needed
    for i in nodes:
        if not waiting[i]:
            continue
        best = cheapest[i]
        asks = margin[i] == 0.0 and labels[i] != best
        if place[i] >= 0:
            asks |= not _unopposed(pointer, neighbour, sign, labels, i, best)
            asks = asks and since[i] != present and not sure[i]
            if asks:
                sure[i] = needed[i] = _held(table, place[i], pointer, neighbour, gap, since, least,
                                            most, labels, i, extra)  # fmt: skip
                asks = not sure[i]
        else:
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
    the sweep is over; if not, costs are missing, and ``state`` says where to go on. Those for whom
    more may be missing since the last time are listed.
    """
    table, place, cheapest, margin, noise, pointer, neighbour, sign, gap, since, least, most = field
    labels, waiting, needed, queue = work.labels, work.waiting, work.needed, work.queue
    sure, touched = work.sure, work.touched
    group, stale, present = work.group, work.stale, most.shape[0] - 1
    n, extra = labels.shape[0], np.zeros(table.shape[1])
    step, head, length, visits = state[STEP], state[HEAD], state[LENGTH], state[VISITS]
    moves, listed, over = state[MOVES], state[LISTED], True
    while over and (step < n or (length > 0 and visits < limit)):
        first_round = step < n
        i = start + step if first_round else np.int64(queue[head])
        i = i if i < n else i - n
        if first_round and not waiting[i]:
            step += 1
            continue
        new = labels[i]
        if waiting[i] and not sure[i]:
            free = _unopposed(pointer, neighbour, sign, labels, i, cheapest[i])
            if free and (margin[i] > 0.0 or new == cheapest[i]):
                new = cheapest[i]
            elif place[i] < 0:
                over = False
            elif since[i] == present:
                needed[i] = True
                new = _best(table, place[i], cheapest[i], noise[i], pointer, neighbour, gap, labels,
                            i, extra)  # fmt: skip
            else:
                needed[i] = True
                over = _held(table, place[i], pointer, neighbour, gap, since, least, most, labels,
                             i, extra)  # fmt: skip
            if not over:
                if not touched[i]:
                    touched[i], work.list[listed] = True, i
                    listed += 1
                continue
        if first_round:
            step += 1
        else:
            head = head + 1 if head + 1 < n else 0
            length -= 1
            visits += 1
        if not waiting[i]:
            continue
        waiting[i] = sure[i] = False
        if new != labels[i]:
            labels[i] = new
            moves += 1
            length, listed = _wake(pointer, neighbour, sign, place, labels, waiting, sure,
                                   work.doubtful, work.notable, stale, group, queue, head, length,
                                   touched, work.list, listed, i)  # fmt: skip
    state[STEP], state[HEAD], state[LENGTH], state[VISITS] = step, head, length, visits
    state[MOVES], state[LISTED] = moves, listed
    return over


@njit(cache=True)
def _held(table, row, pointer, neighbour, gap, since, least, most, labels, i, extra):  # type: ignore[no-untyped-def]
    """Say whether a node certainly keeps its label, whatever its links cost by now.

    ``extra`` is zero, and left so.
    """
    if since[i] < 0:
        return False
    low, high = least[since[i]] * (1.0 - WIDER), most[since[i]] * (1.0 + WIDER)
    first, last, mine, own = pointer[i], pointer[i + 1], labels[i], 0.0
    for at in range(first, last):
        label, g = labels[neighbour[at]], gap[at]
        if label == mine:
            own += g * (high if g > 0 else low)
        else:
            extra[label] += g * (low if g > 0 else high)
    own += table[row, mine]
    own += WIDER * abs(own)
    extra[mine], less = np.inf, 0
    for h in range(extra.shape[0]):
        less += table[row, h] + extra[h] < own
    extra[mine] = 0.0
    for at in range(first, last):
        extra[labels[neighbour[at]]] = 0.0
    return less == 0


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
    pointer, neighbour, sign, place, labels, waiting, sure, doubtful, notable, stale, group, queue,
    head, length, touched, list_, listed, i,
):  # fmt: skip
    """Let those wait whom the move of a node concerns.

    A neighbour that was content, its costs unknown, is so still if their link is as it should be.
    Returns the length of the queue, and how many nodes are listed as touched.
    """
    n, mine = labels.shape[0], labels[i]
    if group[i] >= 0:
        stale[group[i]] = True
    for at in range(pointer[i], pointer[i + 1]):
        j = neighbour[at]
        broken = _broken(sign[at], labels[j], mine)
        if not (broken or notable[j]):  # most of them, found out at the price of two looks
            continue
        sure[j] = False
        if broken:
            doubtful[i] = doubtful[j] = True
        if not touched[j]:
            touched[j], list_[listed] = True, j
            listed += 1
        if group[j] >= 0:
            stale[group[j]] = True
        if not waiting[j] and (broken or place[j] >= 0):
            waiting[j] = True
            if length < n:
                tail = head + length
                queue[tail if tail < n else tail - n] = j
                length += 1
    return length, listed


@njit(cache=True)
def broken(left, right, sign, labels):  # type: ignore[no-untyped-def]
    """Return the edges that are in the dearer of their two states, in order."""
    out, count = np.empty(left.shape[0], np.int32), 0
    for e in range(left.shape[0]):
        out[count] = e
        count += _broken(sign[e], labels[left[e]], labels[right[e]])
    return out[:count].copy()


@njit(cache=True)
def broken_among(doubtful, pointer, neighbour, edge, sign, labels):  # type: ignore[no-untyped-def]
    """Return the same, where only links between doubtful nodes can be so."""
    out, count = np.empty(edge.shape[0] // 2, np.int32), 0
    for i in range(labels.shape[0]):
        if not doubtful[i]:
            continue
        for at in range(pointer[i], pointer[i + 1]):
            j = neighbour[at]
            if i < j and _broken(sign[at], labels[i], labels[j]):
                out[count] = edge[at]
                count += 1
    return np.sort(out[:count])


@njit(cache=True)
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
