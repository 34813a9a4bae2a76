"""Compiled sweeps of ICM over fields of plain edges: no tables, one cost an edge.

A link adds ``gap`` = agree − differ to the cost of the label that its other end has, and nothing
else that depends on the label. Each node knows its cheapest label from the start, so most visits
look only at that label and at those of its neighbours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

__all__ = ["PlainField", "Work", "begin", "energy", "insert", "sweep", "sweep_components"]

#: As in _icm_kernels: a move must gain this share of the costs it compares.
GAIN = 1e-12


class PlainField(NamedTuple):
    """Costs and edges by node; gap stands beside the neighbour it belongs to."""

    unary: Any
    cheapest: Any
    noise: Any
    pointer: Any
    neighbour: Any
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


@njit(cache=True)
def insert(field, labels, order):  # type: ignore[no-untyped-def]
    """Label the nodes one after the other; those without a label do not count."""
    unary, _, _, pointer, neighbour, gap = field
    extra = np.zeros(unary.shape[1])
    for i in order:
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] += gap[at]
        best, low = 0, unary[i, 0] + extra[0]
        for h in range(1, extra.shape[0]):
            value = unary[i, h] + extra[h]
            if value < low:
                best, low = h, value
        for at in range(pointer[i], pointer[i + 1]):
            other = labels[neighbour[at]]
            if other >= 0:
                extra[other] = 0.0
        labels[i] = best


@njit(cache=True)
def begin(field, work):  # type: ignore[no-untyped-def]
    """Let wait who could gain by a move at all.

    A node that has its cheapest label, with each of its links in the cheaper of its two states,
    has nothing to gain; nor has a component of such nodes.
    """
    labels, waiting, group = work.labels, work.waiting, work.group
    for i in range(labels.shape[0]):
        restless = labels[i] != field.cheapest[i]
        for at in range(field.pointer[i], field.pointer[i + 1]):
            if restless:
                break
            agrees = labels[i] == labels[field.neighbour[at]]
            restless = field.gap[at] > 0 if agrees else field.gap[at] < 0
        waiting[i] = restless
        if restless and group[i] >= 0:
            work.stale[group[i]] = True


@njit(cache=True)
def sweep(field, work, start, limit):  # type: ignore[no-untyped-def]
    """Look at every waiting node, in the order of visits from ``start`` on, then at whom they wake.

    Those are taken first come, first served, for ``limit`` more visits at most. Returns the moves
    and whether nobody is left waiting.
    """
    unary, cheapest, noise, pointer, neighbour, gap = field
    labels, waiting, stale, group = work.labels, work.waiting, work.stale, work.group
    n, K = unary.shape
    extra, queue = np.zeros(K), np.empty(n, np.int64)
    head, length, moves, step, visits = 0, 0, 0, 0, 0
    while step < n or (length > 0 and visits < limit):
        if step < n:
            i = work.visit[start + step if start + step < n else start + step - n]
            step += 1
            if not waiting[i]:
                continue
        else:
            i = queue[head]
            head = head + 1 if head + 1 < n else 0
            length -= 1
            visits += 1
            if not waiting[i]:
                continue
        waiting[i] = False
        first, last, mine, best = pointer[i], pointer[i + 1], labels[i], cheapest[i]
        for at in range(first, last):
            extra[labels[neighbour[at]]] += gap[at]
        low = unary[i, best] + extra[best]
        if extra[best] > 0:  # its neighbours spoil the cheapest label: look at all
            for h in range(K):
                value = unary[i, h] + extra[h]
                if value < low:
                    low, best = value, h
        else:
            for at in range(first, last):
                h = labels[neighbour[at]]
                value = unary[i, h] + extra[h]
                if value < low:
                    low, best = value, h
        old = unary[i, mine] + extra[mine]
        for at in range(first, last):
            extra[labels[neighbour[at]]] = 0.0
        if best != mine and low < old - max(noise[i], GAIN * max(abs(low), min(abs(old), 1e300))):
            labels[i] = best
            moves += 1
            if group[i] >= 0:
                stale[group[i]] = True
            for at in range(first, last):
                j = neighbour[at]
                if not waiting[j]:
                    waiting[j] = True
                    if length < n:
                        queue[head + length if head + length < n else head + length - n] = j
                        length += 1
                if group[j] >= 0:
                    stale[group[j]] = True
    # Whoever found no place in the queue still waits, for the next sweep.
    return moves, not waiting.any()


@njit(cache=True)
def _excess(field, work, c):  # type: ignore[no-untyped-def]
    """Return how much more than its least a component costs, up to constants, and its noise."""
    labels, component = work.labels, work.component
    excess, noise = 0.0, 0.0
    for k in range(work.starts[c], work.starts[c + 1]):
        i = work.members[k]
        noise += field.noise[i]
        excess += field.unary[i, labels[i]] - field.unary[i, field.cheapest[i]]
        for at in range(field.pointer[i], field.pointer[i + 1]):
            j, g = field.neighbour[at], field.gap[at]
            share = 0.5 if component[j] == component[i] else 1.0  # inner edges are met twice
            # Beside the cheaper of agreeing and differing.
            excess += share * (max(g, 0.0) if labels[i] == labels[j] else max(-g, 0.0))
    return excess, noise


@njit(cache=True)
def sweep_components(field, work):  # type: ignore[no-untyped-def]
    """Move whole must-link components where that gains; return how many moved."""
    labels, component = work.labels, work.component
    out, moves = np.empty(field.unary.shape[1]), 0
    for c in range(work.starts.shape[0] - 1):
        if not work.stale[c]:
            continue
        work.stale[c] = False
        excess, noise = _excess(field, work, c)
        if excess <= noise:
            continue
        out[:] = 0.0
        now, inner = 0.0, 0.0
        for k in range(work.starts[c], work.starts[c + 1]):
            i = work.members[k]
            now += field.unary[i, labels[i]]
            for h in range(out.shape[0]):
                out[h] += field.unary[i, h]
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
    return moves


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
def energy(unary, left, right, agree, differ, labels):  # type: ignore[no-untyped-def]
    """Return the energy of a labelling."""
    total = 0.0
    for i in range(labels.shape[0]):
        total += unary[i, labels[i]]
    for e in range(left.shape[0]):
        total += agree[e] if labels[left[e]] == labels[right[e]] else differ[e]
    return total
