"""Compiled moves of whole must-link components over fields of plain edges.

A component moves where that gains; most cannot, which bounds tell without the costs of its nodes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ._edge_kernels import GAIN

__all__ = ["missing_members", "sweep_components"]


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
