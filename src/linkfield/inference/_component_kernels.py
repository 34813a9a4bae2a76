"""Compiled moves of whole must-link components over fields of plain edges.

A component moves where that gains; most cannot, which bounds tell without the costs of its nodes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._plain_field import GAIN, WIDER

__all__ = ["missing_members", "sweep_components"]


@njit(cache=True)
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
        unsure += noise[i]
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


@njit(cache=True)
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
            j, g = neighbour[at], gap[at]
            if component[j] == component[i]:
                continue
            if labels[j] == mine:
                own += g * (high if g > 0 else low)
            else:
                sums[labels[j]] += g * (low if g > 0 else high)
    sums[mine] = np.inf
    return sums.min() >= own + WIDER * abs(own)


@njit(cache=True)
def missing_members(field, work, first, last):  # type: ignore[no-untyped-def]
    """Return the nodes of whom some components have to know more: their costs, or their links'.

    Components that cannot gain wait no longer.
    """
    table, place, cheapest, margin, noise, pointer, neighbour, _, gap, since, least, most = field
    labels, needed, stale, component = work.labels, work.needed, work.stale, work.component
    starts, members, present = work.starts, work.members, most.shape[0] - 1
    out = np.empty(starts[last] - starts[first], np.int32)
    sums, count = np.empty(table.shape[1]), 0
    for c in range(first, last):
        if not stale[c]:
            continue
        if _hopeless(
            table, place, cheapest, margin, noise, pointer, neighbour, gap, since, most, labels,
            work.doubtful, component, members, starts[c], starts[c + 1],
        ):  # fmt: skip
            stale[c] = False
            continue
        listed = count
        for k in range(starts[c], starts[c + 1]):
            i = members[k]
            needed[i] = True
            if place[i] < 0:
                out[count] = i
                count += 1
        if count > listed:
            continue
        if _held(table, place, pointer, neighbour, gap, since, least, most, labels, component,
                 members, starts[c], starts[c + 1], sums):  # fmt: skip
            stale[c] = False
            continue
        for k in range(starts[c], starts[c + 1]):
            if since[members[k]] != present:
                out[count] = members[k]
                count += 1
    return out[:count]


@njit(cache=True)
def sweep_components(field, work, first):  # type: ignore[no-untyped-def]
    """Move whole must-link components where that gains, from ``first`` on.

    Returns how many moved, and the component whose costs are missing, or their number.
    """
    table, place, cheapest, margin, noise, pointer, neighbour, _, gap, since, least, most = field
    labels, stale, component = work.labels, work.stale, work.component
    starts, members, present = work.starts, work.members, most.shape[0] - 1
    out, moves = np.empty(table.shape[1]), 0
    for c in range(first, starts.shape[0] - 1):
        if not stale[c]:
            continue
        costs, links = True, True
        for k in range(starts[c], starts[c + 1]):
            costs &= place[members[k]] >= 0
            links &= since[members[k]] == present
        if not (costs and links):
            if not (
                _hopeless(table, place, cheapest, margin, noise, pointer, neighbour, gap, since,
                          most, labels, work.doubtful, component, members, starts[c],
                          starts[c + 1])
                or (costs and _held(table, place, pointer, neighbour, gap, since, least, most,
                                    labels, component, members, starts[c], starts[c + 1], out))
            ):  # fmt: skip
                return moves, c
            stale[c] = False
            continue
        stale[c] = False
        out[:] = 0.0
        now, inner, unsure = 0.0, 0.0, 0.0
        for k in range(starts[c], starts[c + 1]):
            i = members[k]
            row, mine = place[i], labels[i]
            now += table[row, mine]
            unsure += noise[i]
            for h in range(out.shape[0]):
                out[h] += table[row, h]
            for at in range(pointer[i], pointer[i + 1]):
                j, g = neighbour[at], gap[at]
                agrees = mine == labels[j]
                if component[j] == component[i]:
                    inner += 0.5 * g
                    now += 0.5 * g if agrees else 0.0
                else:
                    out[labels[j]] += g
                    now += g if agrees else 0.0
        best = out.argmin()
        low = out[best] + inner
        if low < now - max(unsure, GAIN * max(abs(low), min(abs(now), 1e300))):
            moves += 1
            _move(pointer, neighbour, labels, work.waiting, work.doubtful, stale, work.group,
                  members, starts[c], starts[c + 1], c, best)  # fmt: skip
    return moves, starts.shape[0] - 1


@njit(cache=True)
def _move(  # type: ignore[no-untyped-def]
    pointer, neighbour, labels, waiting, doubtful, stale, group, members, first, last, c, label
):  # fmt: skip
    """Give a component a label; everything linked to it waits for a look."""
    for k in range(first, last):
        i = members[k]
        if labels[i] == label:
            continue
        labels[i] = label
        waiting[i] = doubtful[i] = True
        for at in range(pointer[i], pointer[i + 1]):
            j = neighbour[at]
            waiting[j] = doubtful[j] = True
            if group[j] >= 0 and group[j] != c:
                stale[group[j]] = True
