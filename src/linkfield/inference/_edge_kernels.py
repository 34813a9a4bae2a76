"""Compiled sweeps of ICM over fields of plain edges: no tables, one cost an edge.

A link adds ``gap`` = agree − differ to the cost of the label that its other end has, and nothing
else that depends on the label. So there are nodes whose costs need not be known: one that can have
its cheapest label with each of its links in the cheaper of its two states has nothing better, and
goes there unasked. All who can go at once, and then those whom that sets free; in whatever order
they are met, they end with the same labels. The others are contested. Their costs are asked for,
all at once, and they are decided on, those first that gain most; whom that concerns is looked at
anew. Who can go is no matter of what is known, so the labels that are found do not depend on that
either.

What links cost changes from time to time, by factors that are bounded. A node whose links were
asked for long ago may be known to stay where it is by these bounds; only if not, its links are
asked for again.
"""

from __future__ import annotations

import numpy as np

from .._kernels.compiling import ZERO, exact, inlined_exact
from ._asking import ask_ahead
from ._frame_kernels import is_broken
from ._plain_field import GAIN, WIDER, PlainField, Work

# PlainField and Work stood here: numba's caches of that time look for them under these names.
__all__ = [
    "PlainField",
    "Work",
    "decide",
    "energy",
    "go",
    "look",
    "margins",
    "resist",
    "slots",
]

#: What a look finds: a node that is opposed, one that can go, one that can unless a rival does,
#: and one that is opposed and certainly stays.
OPPOSED, FREE, RIVALLED, HELD = 0, 1, 2, 3


@exact
def slots(pointer, nodes):  # type: ignore[no-untyped-def]
    """Return where the links of some nodes (or the nodes of some components) stand."""
    count = 0
    for i in nodes:
        count += pointer[i + 1] - pointer[i]
    out = np.empty(count, np.uint32)
    count = 0
    for i in nodes:
        for at in range(pointer[i], pointer[i + 1]):
            out[count] = at
            count += 1
    return out


@exact
def margins(table, noise):  # type: ignore[no-untyped-def]
    """Return by how much the cheapest label of every node certainly is that; 0 where it may not."""
    out = np.zeros(table.shape[0])
    for i in range(table.shape[0]):
        best = second = np.inf
        for h in range(table.shape[1]):
            value = table[i, h]
            second = min(second, max(best, value))
            best = min(best, value)
        gap = second - best - noise[i]  # not a number where both are infinite
        if table.shape[1] > 1 and gap > 0:
            out[i] = gap
    return out


@inlined_exact
def _unopposed(pointer, neighbour, sign, labels, i, label):  # type: ignore[no-untyped-def]
    """Say whether every link of a node is as it should be if the node has some label."""
    opposed = False
    for at in range(pointer[i], pointer[i + 1]):  # to the end: nobody could foretell an earlier one
        opposed |= is_broken(sign[at], labels[neighbour[at]], label)
    return not opposed


@inlined_exact
def _seen(cheapest, margin, pointer, neighbour, sign, labels, waiting, i):  # type: ignore[no-untyped-def]
    """Say whether a node can go.

    One can whose cheapest label is certainly that and would leave all its links in order. Its
    rivals are neighbours who want to go where one of the two links would be broken.
    """
    wish, rivalled = cheapest[i], False
    if (labels[i] != wish and not margin[i] > 0.0) or not _unopposed(
        pointer, neighbour, sign, labels, i, wish
    ):
        return OPPOSED
    for at in range(pointer[i], pointer[i + 1]):
        j = neighbour[at]
        rivalled |= is_broken(sign[at], cheapest[j], wish) & waiting[j]
    return RIVALLED if rivalled else FREE


@exact
def look(field, work, nodes, first, last, found):  # type: ignore[no-untyped-def]
    """Find out of some nodes, those from ``first`` to ``last``, whether they can go.

    Of those who cannot, whether they are held: it costs least while they are at hand.
    """
    table, place, cheapest, margin, _, pointer, neighbour, sign, gap, since, least, most = field
    labels, extra = work.labels, np.zeros(table.shape[1])
    for k in range(first, last):
        i = nodes[k]
        ask_ahead(field, labels, nodes, k, last)
        found[k] = _seen(cheapest, margin, pointer, neighbour, sign, labels, work.waiting, i)
        if found[k] == OPPOSED and place[i] >= 0 and _held(
            table, place[i], margin[i], pointer, neighbour, gap, since, least, most, labels, i,
            extra,
        ):  # fmt: skip
            found[k] = HELD


@exact
def go(field, work, rank, nodes, found):  # type: ignore[no-untyped-def]
    """Let waiting nodes go who can, as :func:`look` has found, then whom that sets free.

    Rivals go by their ``rank``. Returns how many moved, and who of all that were looked at waits
    still, those left out that are held and saw no neighbour move.
    """
    _, _, cheapest, margin, _, pointer, neighbour, sign, _, _, _, _ = field
    labels, waiting, queued, listed = work.labels, work.waiting, work.queued, work.listed
    some, count, moves, held = work.list, nodes.shape[0], 0, work.held
    now, then, found_then = nodes, work.queue, np.empty(0, np.int8)
    for k in range(count):
        some[k], listed[nodes[k]], held[nodes[k]] = nodes[k], True, found[k] == HELD
    while now.shape[0] > 0:
        woken = ZERO
        for k in range(now.shape[0]):
            if found[k] == FREE:
                moved, woken = _go(field, work, now[k], then, woken)
                moves += moved
        rivals = now[found == RIVALLED]
        for i in rivals[np.argsort(rank[rivals])]:
            if _unopposed(pointer, neighbour, sign, labels, i, cheapest[i]):
                moved, woken = _go(field, work, i, then, woken)
                moves += moved
        now = then[:woken].copy()
        if found_then.shape[0] < woken:
            found_then = np.empty(woken, np.int8)
        found = found_then[:woken]
        for k in range(woken):
            i = now[k]
            queued[i] = False
            if not listed[i]:
                some[count], listed[i] = i, True
                count += 1
            found[k] = _seen(cheapest, margin, pointer, neighbour, sign, labels, waiting, i)
    left = 0
    for i in some[:count]:
        listed[i], some[left] = False, i
        if held[i]:
            held[i], waiting[i], work.needed[i] = False, False, True
        left += waiting[i]
    return moves, some[:left].copy()


@inlined_exact
def _go(field, work, i, queue, woken):  # type: ignore[no-untyped-def]
    """Let a node go where it wants; return whether it moved, and how many are listed by that."""
    _, _, cheapest, _, _, pointer, neighbour, sign, _, _, _, _ = field
    work.waiting[i] = False
    if work.labels[i] == cheapest[i]:
        return 0, woken
    work.labels[i], work.moved[i] = cheapest[i], True
    return 1, _wake(pointer, neighbour, sign, cheapest, work.labels, work.waiting, work.queued,
                    work.held, work.doubtful, work.stale, work.group, queue, woken, i)  # fmt: skip


@exact
def resist(field, work, nodes, contested, count):  # type: ignore[no-untyped-def]
    """Add to the ``count`` contested nodes those of some waiting ones that do not certainly stay.

    Returns how many are contested now, and the nodes whose costs would have to be known.
    """
    missing, n_missing = np.empty(nodes.shape[0], np.uint32), 0
    extra = np.zeros(field.table.shape[1])
    for k in range(nodes.shape[0]):
        i = nodes[k]
        ask_ahead(field, work.labels, nodes, k, nodes.shape[0])
        work.needed[i], contested[count], missing[n_missing] = True, i, i
        unknown = field.place[i] < 0
        work.waiting[i] = unknown or not _held(
            field.table, field.place[i], field.margin[i], field.pointer, field.neighbour,
            field.gap, field.since, field.least, field.most, work.labels, i, extra,
        )  # fmt: skip
        n_missing += unknown
        count += work.waiting[i] and not unknown
    return count, missing[:n_missing]


@exact
def decide(field, work, rank, contested):  # type: ignore[no-untyped-def]
    """Decide on contested nodes of known costs, those first that gain most.

    One whose links are not of the present is known to stay; one that sees a neighbour move is
    looked at anew. Returns how many moved, and who has to be looked at.
    """
    table, place, cheapest, _, noise, pointer, neighbour, sign, gap, since, _, most = field
    labels, waiting, queued, queue = work.labels, work.waiting, work.queued, work.queue
    extra, present, moves, woken = np.zeros(table.shape[1]), most.shape[0] - 1, 0, ZERO
    nodes = contested[np.argsort(rank[contested])]
    wish, gain = np.empty(nodes.shape[0], np.int32), np.zeros(nodes.shape[0])
    for k in range(nodes.shape[0]):
        i = nodes[k]
        ask_ahead(field, labels, nodes, k, nodes.shape[0])
        waiting[i], wish[k] = False, labels[i]
        if since[i] == present:
            row = place[i]
            wish[k], gain[k] = _best(table, row, cheapest[i], noise[row], pointer, neighbour, gap,
                                     labels, i, extra)  # fmt: skip
    for k in np.argsort(-gain, kind="mergesort"):
        i = nodes[k]
        if wish[k] != labels[i] and not queued[i]:
            labels[i], work.moved[i] = wish[k], True
            moves += 1
            woken = _wake(pointer, neighbour, sign, cheapest, labels, waiting, queued, work.held,
                          work.doubtful, work.stale, work.group, queue, woken, i)  # fmt: skip
    for i in queue[:woken]:
        queued[i] = False
    return moves, queue[:woken].copy()


@inlined_exact
def _held(  # type: ignore[no-untyped-def]
    table, row, margin, pointer, neighbour, gap, since, least, most, labels, i, extra
):  # fmt: skip
    """Say whether a node certainly keeps its label, whatever its links cost by now.

    One whose cheapest label is perhaps not that (margin 0) has to look closely every time.
    ``extra`` is zero, and left so.
    """
    if since[i] < 0 or not margin > 0.0:
        return False
    low, high = least[since[i]] * (1.0 - WIDER), most[since[i]] * (1.0 + WIDER)
    first, last, mine, own = pointer[i], pointer[i + 1], labels[i], table[row, labels[i]]
    for at in range(first, last):  # without branches: nobody could foretell them
        label, a, b = labels[neighbour[at]], gap[at] * low, gap[at] * high
        own += max(a, b) if label == mine else 0.0
        extra[label] += min(a, b)
    own += WIDER * abs(own)
    extra[mine], less = np.inf, 0
    for h in range(extra.shape[0]):
        less += table[row, h] + extra[h] < own
    extra[mine] = 0.0
    for at in range(first, last):
        extra[labels[neighbour[at]]] = 0.0
    return less == 0


@inlined_exact
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
    return (best, old - low) if low < old - gain else (mine, 0.0)


@inlined_exact
def _wake(  # type: ignore[no-untyped-def]
    pointer, neighbour, sign, cheapest, labels, waiting, queued, held, doubtful, stale, group,
    queue, woken, i,
):  # fmt: skip
    """List those whom the move of a node concerns; return how many are listed.

    A neighbour that was content is so still if their link is as it should be.
    """
    mine = labels[i]
    if group[i] >= 0:
        stale[group[i]] = True
    for at in range(pointer[i], pointer[i + 1]):
        j = neighbour[at]
        if group[j] >= 0:
            stale[group[j]] = True
        if is_broken(sign[at], labels[j], mine):
            doubtful[i] = doubtful[j] = True
        elif labels[j] == cheapest[j] and not doubtful[j]:
            continue
        if not queued[j]:
            waiting[j], queued[j], held[j] = True, True, False
            queue[woken] = j
            woken += 1
    return woken


@exact
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
