"""Compiled loops over lists of rows: one loop instead of a step of numpy for every array."""

from __future__ import annotations

import numpy as np

from .compiling import exact, inner_exact

__all__ = ["relabelled", "renumber"]


@inner_exact
def renumber(place, old, new):  # type: ignore[no-untyped-def]
    """Let the place of every ``old`` row be -1, and that of every ``new`` one its number there."""
    for i in old:
        place[i] = -1
    for k in range(new.shape[0]):
        place[new[k]] = k


@exact
def relabelled(tied, before, after, moved, labels):  # type: ignore[no-untyped-def]
    """Give some of the tied rows their new labels; return these rows, old and new labels."""
    rows, old, new = np.empty((3, moved.shape[0]), np.int64)
    for k in range(moved.shape[0]):
        t = moved[k]
        rows[k], old[k], new[k] = tied[t], before[t], after[t]
        labels[rows[k]] = new[k]
    return rows, old, new
