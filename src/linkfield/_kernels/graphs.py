"""Compiled loops over the links of a graph."""

from __future__ import annotations

import numpy as np

from .compiling import exact, inner_exact

__all__ = ["components", "grouped"]


@exact
def components(n, links):  # type: ignore[no-untyped-def]
    """Return the component number of every node, numbered by their first node.

    The larger of two leads that a link joins follows the smaller; paths to them are halved on the
    way, so that a chain is no harder than any other graph.
    """
    lead, out, count = np.arange(n), np.empty(n, np.int64), 0
    for e in range(links.shape[0]):
        a, b = _lead(lead, links[e, 0]), _lead(lead, links[e, 1])
        lead[max(a, b)] = min(a, b)
    for i in range(n):
        if lead[i] == i:
            out[i] = count
            count += 1
        else:  # whom it follows is smaller, and has its number
            out[i] = out[lead[i]]
    return out


@inner_exact
def _lead(lead, i):  # type: ignore[no-untyped-def]
    """Return the lead of a node."""
    while lead[i] != i:
        lead[i] = lead[lead[i]]
        i = lead[i]
    return i


@exact
def grouped(group, n_groups):  # type: ignore[no-untyped-def]
    """Return where each group's entries start, and the entries by group, in order."""
    pointer, order = np.zeros(n_groups + 1, np.int64), np.empty(group.shape[0], np.int64)
    for g in group:
        pointer[g + 1] += 1
    for g in range(n_groups):
        pointer[g + 1] += pointer[g]
    place = pointer[:n_groups].copy()
    for k in range(group.shape[0]):
        order[place[group[k]]] = k
        place[group[k]] += 1
    return pointer, order
