"""Compiled moves of whole must-link components over fields of plain edges.

A component moves where that gains; most cannot, which bounds tell without the costs of its nodes.
"""

from __future__ import annotations

import numpy as np

from .._kernels.asking import STEPS, ask_for
from .._kernels.compiling import exact, inlined_exact, inner_exact
from ._asking import ask_for_links, ask_for_neighbours, ask_for_node
from ._plain_field import GAIN, WIDER

__all__ = ["hopeful", "loose", "move", "wishes"]


@inlined_exact
def _hopeless(  # type: ignore[no-untyped-def]
    table, place, cheapest, margin, noise, pointer, neighbour, gap, since, most, labels, doubtful,
    component, members, first, last,
):  # fmt: skip
    """Say whether a component costs so little more than its least that no move can pay.

    What it can gain is its excess: over the cheapest label of every node, and over the cheaper
    state of every link. Where all its nodes share a label, those that have their cheapest one
    lose their margins.
    """
    excess, unsure, margins = 0.0, 0.0, 0.0
    one, alike = labels[members[first]], True
    for k in range(first, last):
        i = members[k]
        mine, row = labels[i], place[i]
        alike = alike and mine == one
        unsure += noise[row] if row >= 0 else 0.0
        if mine == cheapest[i]:
            margins += margin[i]
        else:
            excess += table[row, mine] - table[row, cheapest[i]]
        if not doubtful[i] or since[i] < 0:  # links that nobody had to know are in order
            continue
        high = most[since[i]] * (1.0 + WIDER)
        for at in range(pointer[i], pointer[i + 1]):
            j, g = neighbour[at], gap[at]
            share = 0.5 if component[j] == component[i] else 1.0  # inner edges are met twice
            excess += high * share * (max(g, 0.0) if mine == labels[j] else max(-g, 0.0))
    return excess <= unsure + (margins if alike else 0.0)


@inlined_exact
def _held(  # type: ignore[no-untyped-def]
    table, place, pointer, neighbour, gap, since, least, most, labels, component, members, first,
    last, sums,
):  # fmt: skip
    """Say whether a component of one label certainly keeps it, whatever its links cost by now.

    The costs of its nodes are known; its inner links stay as they are. ``sums`` becomes what each
    other label costs it at least.
    """
    own, mine = 0.0, labels[members[first]]
    sums[:] = 0.0
    for k in range(first, last):
        i = members[k]
        row, time = place[i], since[i]
        if time < 0 or labels[i] != mine:
            return False
        low, high = least[time] * (1.0 - WIDER), most[time] * (1.0 + WIDER)
        own += table[row, mine]
        for h in range(sums.shape[0]):
            sums[h] += table[row, h]
        for at in range(pointer[i], pointer[i + 1]):
            j, a, b = neighbour[at], gap[at] * low, gap[at] * high
            outer = 0.0 if component[j] == component[i] else 1.0
            own += outer * max(a, b) if labels[j] == mine else 0.0
            sums[labels[j]] += outer * min(a, b)
    own += WIDER * abs(own)
    sums[mine], less = np.inf, 0
    for h in range(sums.shape[0]):
        less += sums[h] < own
    return less == 0


@inner_exact
def hopeful(field, work, some, first, last, found):  # type: ignore[no-untyped-def]
    """Find out of some components, those from ``first`` to ``last``, whether they may gain."""
    table, place, cheapest, margin, noise, pointer, neighbour, _, gap, since, _, most = field
    for k in range(first, last):
        c = some[k]
        found[k] = not _hopeless(
            table, place, cheapest, margin, noise, pointer, neighbour, gap, since, most,
            work.labels, work.doubtful, work.component, work.members, work.starts[c],
            work.starts[c + 1],
        )  # fmt: skip


@inner_exact
def _ask_ahead(field, work, some, k, last):  # type: ignore[no-untyped-def]
    """Ask for what the first two nodes of the components behind the k-th of a list will need."""
    labels, members, starts = work.labels, work.members, work.starts
    ask_for(members, starts[some[min(k + 4 * STEPS, last - 1)]])
    later = starts[some[min(k + 3 * STEPS, last - 1)]]
    ask_for_node(field, labels, members[later])
    ask_for_node(field, labels, members[later + 1])
    later = starts[some[min(k + 2 * STEPS, last - 1)]]
    ask_for_links(field, members[later])
    ask_for_links(field, members[later + 1])
    later = starts[some[min(k + STEPS, last - 1)]]
    ask_for_neighbours(field, labels, members[later])
    ask_for_neighbours(field, labels, members[later + 1])


@exact
def loose(field, work, some, first, last, found):  # type: ignore[no-untyped-def]
    """Find out of components of known costs whether what their links cost at present matters."""
    table, place, _, _, _, pointer, neighbour, _, gap, since, least, most = field
    sums = np.empty(table.shape[1])
    for k in range(first, last):
        _ask_ahead(field, work, some, k, last)
        c = some[k]
        found[k] = not _held(
            table, place, pointer, neighbour, gap, since, least, most, work.labels,
            work.component, work.members, work.starts[c], work.starts[c + 1], sums,
        )  # fmt: skip


@exact
def wishes(field, work, some, first, last, wish, gain):  # type: ignore[no-untyped-def]
    """Find the labels that components should have, and what they gain by that, 0 if nothing."""
    table, place, _, _, noise, pointer, neighbour, _, gap, _, _, _ = field
    sums = np.empty(table.shape[1])
    for k in range(first, last):
        c = some[k]
        wish[k], gain[k] = _best(
            table, place, noise, pointer, neighbour, gap, work.labels, work.component,
            work.members, work.starts[c], work.starts[c + 1], sums,
        )  # fmt: skip


@exact
def move(field, work, some, wish, gain):  # type: ignore[no-untyped-def]
    """Move components that gain by it, those first that gain most; return how many moved.

    None of them is stale. One whose neighbour moves becomes so, and stays, for the next time.
    """
    moves = 0
    for k in np.argsort(-gain, kind="mergesort"):
        c = some[k]
        if gain[k] > 0 and not work.stale[c]:
            moves += 1
            _move(field.pointer, field.neighbour, field.sign, field.cheapest, work.labels,
                  work.moved, work.waiting, work.doubtful, work.stale, work.group, work.members,
                  work.starts[c], work.starts[c + 1], c, wish[k])  # fmt: skip
    return moves


@inlined_exact
def _best(  # type: ignore[no-untyped-def]
    table, place, noise, pointer, neighbour, gap, labels, component, members, first, last, sums
):  # fmt: skip
    """Return the label that a component should have, and what it gains by that, 0 if nothing."""
    now, inside, unsure = 0.0, 0.0, 0.0
    sums[:] = 0.0
    for k in range(first, last):
        i = members[k]
        row, mine = place[i], labels[i]
        now += table[row, mine]
        unsure += noise[row]
        for h in range(sums.shape[0]):
            sums[h] += table[row, h]
        for at in range(pointer[i], pointer[i + 1]):
            j, g = neighbour[at], gap[at]
            agrees = mine == labels[j]
            if component[j] == component[i]:
                inside += 0.5 * g
                now += 0.5 * g if agrees else 0.0
            else:
                sums[labels[j]] += g
                now += g if agrees else 0.0
    best = np.int32(0)
    for h in range(1, sums.shape[0]):
        if sums[h] < sums[best]:
            best = np.int32(h)
    low = sums[best] + inside
    gains = low < now - max(unsure, GAIN * max(abs(low), min(abs(now), 1e300)))
    return best, now - low if gains else 0.0


@inlined_exact
def _move(  # type: ignore[no-untyped-def]
    pointer, neighbour, sign, cheapest, labels, moved, waiting, doubtful, stale, group, members,
    first, last, c, label,
):  # fmt: skip
    """Give a component a label; everyone linked to it whom that concerns waits for a look.

    A neighbour that was content is so still if their link is as it should be.
    """
    for k in range(first, last):
        i = members[k]
        if labels[i] != label:
            labels[i] = label
            moved[i] = waiting[i] = doubtful[i] = True
    for k in range(first, last):
        i = members[k]
        if not waiting[i]:
            continue
        for at in range(pointer[i], pointer[i + 1]):
            j = neighbour[at]
            if sign[at] == (1 if labels[j] == label else -1):  # the link is broken
                waiting[j] = doubtful[j] = True
            elif labels[j] != cheapest[j] or doubtful[j]:
                waiting[j] = True
            if group[j] >= 0 and group[j] != c:
                stale[group[j]] = True
