"""Rows of double precision, compared with centres in single precision where that is certain.

Single precision is twice as fast. How far its costs may be off is known, so a row whose two least
costs lie further apart has found its nearest centre; only the others, few of them, are multiplied
again in double precision. What comes out is the same to the bit.
"""

from __future__ import annotations

import numpy as np

from .compiling import exact, inner_exact
from .tiles import TILE, nearest, room_for

__all__ = ["DOUBTS", "nearest_centres"]

#: Rough costs are given up in a block where more than this share of its rows stay in doubt.
DOUBTS = 0.25


@inner_exact
def _doubtful(m, rough_best, rough_second, gap, best, second, doubts):  # type: ignore[no-untyped-def]
    """Copy the rough costs of a chunk; list the rows that they do not settle; return how many."""
    count = 0
    for c in range(m):
        best[c], second[c] = rough_best[c], rough_second[c]
        doubts[count] = c
        count += not (second[c] - best[c] > gap)
    return count


@exact
def _once_more(chunk, psi, g, room, doubts, count, best, second, label):  # type: ignore[no-untyped-def]
    """Find the nearest centres of some rows of a chunk in the precision of the data."""
    rows = np.empty((TILE, chunk.shape[1]), chunk.dtype)
    low, other = np.empty(TILE, chunk.dtype), np.empty(TILE, chunk.dtype)
    name = np.empty(TILE, np.int32)
    for at in range(0, count, TILE):
        m = min(TILE, count - at)
        for k in range(m):
            for j in range(rows.shape[1]):
                rows[k, j] = chunk[doubts[at + k], j]
        nearest(rows, m - 1, psi, g, room, low, other, name)
        for k in range(m):
            c = doubts[at + k]
            best[c], second[c], label[c] = low[k], other[k], name[k]


@exact
def nearest_centres(terms, rough, use, chunk, m, room, best, second, label, doubts):  # type: ignore[no-untyped-def]
    """Find the nearest centres of a chunk's rows; return how many stayed in doubt at first.

    ``rough`` is ψ in single precision, None for data that have no more and empty where it is of
    no use; ``use`` says whether to use it. Rough costs are off by ``terms.off`` at most.
    """
    if rough is None:
        nearest(chunk, m - 1, terms.psi, terms.g, room, best, second, label)
        return 0
    if rough.shape[0] == 0 or not use:
        nearest(chunk, m - 1, terms.psi, terms.g, room, best, second, label)
        return 0
    few = np.empty(room_for(rough.shape[0]), rough.dtype)
    low, other = np.empty(best.shape[0], rough.dtype), np.empty(best.shape[0], rough.dtype)
    nearest(chunk, m - 1, rough, terms.rough_g, few, low, other, label)
    # Both costs may be off, and the difference must exceed what double precision rounds away.
    count = _doubtful(m, low, other, 3.0 * terms.off, best, second, doubts)
    _once_more(chunk, terms.psi, terms.g, room, doubts, count, best, second, label)
    return count
