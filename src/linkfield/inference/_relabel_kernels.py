"""Compiled renaming of the labels of connected components: one small assignment problem each."""

from __future__ import annotations

import numpy as np
from numba import njit

from .._kernels.compiling import ZERO, inner_exact

__all__ = ["cheapest_assignment", "rename", "restive"]

#: Above this stands a label that is forbidden: the assignment needs finite numbers.
FORBIDDEN = 1e150


@njit(cache=True)
def cheapest_assignment(cost, r, column_of):  # type: ignore[no-untyped-def]
    """Give each of the first r rows a column of its own at the least total cost.

    Shortest augmenting paths with potentials (Jonker & Volgenant 1987), r not above the number
    of columns.
    """
    K = cost.shape[1]
    row_price, column_price = np.zeros(r), np.zeros(K)
    owner = np.full(K, -1)
    distance, previous, done = np.empty(K), np.empty(K, np.int64), np.empty(K, np.bool_)
    for start in range(r):
        distance[:] = np.inf
        previous[:] = -1
        done[:] = False
        row, column, last = start, -1, 0.0
        while row >= 0:
            nearest = -1
            for h in range(K):
                if done[h]:
                    continue
                reach = last + cost[row, h] - row_price[row] - column_price[h]
                if reach < distance[h]:
                    distance[h] = reach
                    previous[h] = column
                if nearest < 0 or distance[h] < distance[nearest]:
                    nearest = h
            column, last = nearest, distance[nearest]
            done[column] = True
            row = owner[column]
        for h in range(K):
            if done[h]:
                if owner[h] >= 0:
                    row_price[owner[h]] += last - distance[h]
                column_price[h] -= last - distance[h]
        row_price[start] += last
        while column >= 0:  # hand the columns on along the path
            before = previous[column]
            owner[column] = owner[before] if before >= 0 else start
            column = before
    for h in range(K):
        if owner[h] >= 0:
            column_of[owner[h]] = h


@njit(cache=True)
def _two_names(cost, name):  # type: ignore[no-untyped-def]
    """Give two rows different columns at the least total cost."""
    first, second = np.array([0, 0]), np.array([-1, -1])
    for k in range(2):
        for h in range(1, cost.shape[1]):
            if cost[k, h] < cost[k, first[k]]:
                second[k], first[k] = first[k], h
            elif second[k] < 0 or cost[k, h] < cost[k, second[k]]:
                second[k] = h
    name[0], name[1] = first[0], first[1]
    if first[0] == first[1]:
        if cost[0, second[0]] + cost[1, first[1]] < cost[0, first[0]] + cost[1, second[1]]:
            name[0] = second[0]
        else:
            name[1] = second[1]


@inner_exact
def _paid_for(table, place, cheapest, margin, labels, node, first, last, at, chain, excess):  # type: ignore[no-untyped-def]
    """Say whether every label of a component would lose by another name, whatever name it is.

    The nodes that have it as their cheapest lose their margins, the others gain no more than what
    it costs them above their cheapest: those are node ``at`` and whom ``chain`` names after it.
    Most components are settled by their first few nodes. ``excess`` is zero, and left so.
    """
    owing = 0
    while at >= 0:
        label, best, row = labels[at], cheapest[at], place[at]
        if table[row, label] > table[row, best]:
            owing += excess[label] == 0.0
            excess[label] += table[row, label] - table[row, best]
        at = chain[at]
    for at in range(first, last):
        if owing == 0:
            break
        i = node[at]
        label = labels[i]
        if label == cheapest[i] and excess[label] > 0.0:
            excess[label] -= margin[i]
            owing -= excess[label] <= 0.0
    if last - first < excess.shape[0]:
        for at in range(first, last):
            excess[labels[node[at]]] = 0.0
    else:
        excess[:] = 0.0
    return owing == 0


@inner_exact
def _chained(unhappy, number, first, chain):  # type: ignore[no-untyped-def]
    """Chain the unhappy nodes of every component.

    ``first`` becomes the first of each component, or -1, and ``chain`` whoever comes next.
    """
    first[:] = -1
    for k in range(unhappy.shape[0]):
        i = unhappy[unhappy.shape[0] - 1 - k]
        if number[i] >= 0:
            chain[i] = first[number[i]]
            first[number[i]] = i


@njit(cache=True)
def restive(  # type: ignore[no-untyped-def]
    table, place, cheapest, margin, labels, since, pointer, node, number, unhappy
):  # fmt: skip
    """Say of every connected component whether another naming of its labels could gain.

    Node i has the costs ``table[place[i]]``, which must be known of the ``unhappy`` ones, those
    that have another label than their cheapest; any other costs the rest ``margin`` more. A
    component whose labels are those of ``since`` (empty: no such labels) has its best names
    already.
    """
    K, n = table.shape[1], pointer.shape[0] - 1
    starts, chain = np.empty(n, np.int32), np.empty(labels.shape[0], np.int32)
    _chained(unhappy, number, starts, chain)
    out = starts >= 0
    excess, loss, kept, change = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros((K, K))
    used, names = np.zeros(K, np.bool_), np.empty(K, np.int64)
    for c in range(n):
        if not out[c]:
            continue
        first, last = pointer[c], pointer[c + 1]
        out[c] = not _paid_for(table, place, cheapest, margin, labels, node, first, last,
                               starts[c], chain, excess)  # fmt: skip
        if not out[c]:
            continue
        out[c] = since.shape[0] == 0 or _differ(labels, since, node, first, last)
        if not out[c]:
            continue
        count = 0
        for at in range(first, last):
            i = node[at]
            label, row = labels[i], place[i]
            if not used[label]:
                used[label], names[count] = True, label
                count += 1
            if label == cheapest[i]:
                loss[label] += margin[i]
                kept[label] += margin[i]
            else:
                loss[label] -= table[row, label] - table[row, cheapest[i]]
                for h in range(K):
                    change[label, h] += table[row, h] - table[row, label]
        out[c] = _may_gain(loss, kept, change, used, names[:count])
        for label in names[:count]:
            used[label], loss[label], kept[label] = False, 0.0, 0.0
            for h in range(K):
                change[label, h] = 0.0
    return out


@inner_exact
def _differ(labels, since, node, first, last):  # type: ignore[no-untyped-def]
    """Say whether some nodes have other labels than before."""
    at = first
    while at < last and labels[node[at]] == since[node[at]]:
        at += 1
    return at < last


@inner_exact
def _may_gain(loss, kept, change, used, names):  # type: ignore[no-untyped-def]
    """Say whether some renaming could gain, by bounds.

    ``loss`` is what the nodes of a label lose by any other name at least; ``kept`` is the part of
    nodes that have their cheapest label, ``change`` what the others lose by which name. A name
    that another label has can be taken only if that one takes another in turn: its loss must be
    less than all that the others can gain.
    """
    gains = 0.0
    for h in names:
        gains += min(loss[h], 0.0)
    if not gains < 0:
        return False
    for h in names:
        if not loss[h] < 0:
            continue
        for b in range(loss.shape[0]):
            if b != h and kept[h] + change[h, b] < 0 and (not used[b] or loss[b] + gains < 0):
                return True
    return False


@njit(cache=True)
def rename(table, place, noise, labels, pointer, node, wanted):  # type: ignore[no-untyped-def]
    """Rename the labels of the wanted components at their best, in place; return which gained.

    Node i has the costs ``table[place[i]]``, which may be off by ``noise[place[i]]``.
    """
    K = table.shape[1]
    cost, used = np.empty((K, K)), np.empty(K, np.int64)
    number, name = np.full(K, -1), np.empty(K, np.int64)
    gained, renamed = np.empty(wanted.sum(), np.int64), 0
    for c in range(pointer.shape[0] - 1):
        if not wanted[c]:
            continue
        r, slack, now, floor = ZERO, 0.0, 0.0, 0.0
        for at in range(pointer[c], pointer[c + 1]):
            i = node[at]
            label, row = labels[i], place[i]
            if number[label] < 0:
                number[label], used[r] = r, label
                for h in range(K):
                    cost[r, h] = 0.0
                r += 1
            k = number[label]
            slack += noise[row]
            for h in range(K):
                cost[k, h] += table[row, h]
        for k in range(r):
            for h in range(K):
                cost[k, h] = min(cost[k, h], FORBIDDEN)
            now += cost[k, used[k]]
            floor += cost[k].min()
        tolerance = max(slack, 1e-12 * max(abs(now), 1e-300))
        # At best each label takes the name that is cheapest for it.
        if floor < now - tolerance:
            if r == 1:
                name[0] = cost[0].argmin()
            elif r == 2:
                _two_names(cost, name)
            else:
                cheapest_assignment(cost, r, name)
            best = 0.0
            for k in range(r):
                best += cost[k, name[k]]
            if best < now - tolerance:
                gained[renamed] = c
                renamed += 1
                for at in range(pointer[c], pointer[c + 1]):
                    labels[node[at]] = name[number[labels[node[at]]]]
        for k in range(r):
            number[used[k]] = -1
    return gained[:renamed]
