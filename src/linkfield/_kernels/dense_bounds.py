"""Bounds on the distances of dense rows: who is certain of the nearest centre, window by window."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .asking import STEPS, ask_for
from .compiling import exact, inner, inner_exact
from .dense_sums import CHUNK, fetch
from .layout import WIDER, loosened, new_bounds, sure_margin

__all__ = ["note_bounds", "unsure_rows", "window"]

#: Rows whose bounds are looked at together.
WINDOW = 128


class Window(NamedTuple):
    """Of some rows: whose centre is their own, which tied row they are, and the unsure ones.

    ``known`` says whether they have a label, ``sure`` whether bounds settle it.
    """

    name: Any
    tie: Any
    few: Any
    known: Any
    sure: Any


@inner_exact
def _owners(labels, at, n, tied_rows, cheapest, t, name, known, rank):  # type: ignore[no-untyped-def]
    """Write down whose centre is a row's own; return the first tied row behind the window.

    That of a tied row is the centre of its cheapest label, and ``rank`` says which tied row it is,
    -1 for none.
    """
    for c in range(n):
        label = labels[at + c]
        known[c], name[c], rank[c] = label >= 0, max(label, 0), -1
    while t < tied_rows.shape[0] and tied_rows[t] < at + n:
        c, label = tied_rows[t] - at, cheapest[t]
        known[c], name[c], rank[c] = label >= 0, max(label, 0), t
        t += 1
    return t


@inner
def _loosen(name, known, upper, lower, grow, shrink, shift, largest, second, far, sure):  # type: ignore[no-untyped-def]
    """Let the bounds of some rows follow the centres; say who is certain by them."""
    for c in range(upper.shape[0]):
        others = second if name[c] == far else largest
        up, low = loosened(upper[c], lower[c], grow, shrink, shift[name[c]], others)
        upper[c], lower[c], sure[c] = up, low, known[c] & (up < low)


@inner
def _own_centre(row, centre, theta, error, ceiling):  # type: ignore[no-untyped-def]
    """Return a bound on the distance of a row to one centre."""
    true = row.dtype.type(0.0)
    for k in range(row.shape[0]):
        gap = row[k] - centre[k]
        true += theta[k] * gap * gap
    return np.sqrt(np.float32(true + error * (true + ceiling))) * WIDER


@exact
def window():  # type: ignore[no-untyped-def]
    """Return the arrays that :func:`unsure_rows` writes to."""
    return Window(
        np.empty(WINDOW, np.uint32), np.empty(WINDOW, np.int64), np.empty(WINDOW, np.int64),
        np.empty(WINDOW, np.bool_), np.empty(WINDOW, np.bool_),
    )  # fmt: skip


@inner
def unsure_rows(  # type: ignore[no-untyped-def]
    X, offset, terms, labels, weight, at, last, tied, bounds, window, buffer, index, which, rank
):  # fmt: skip
    """Copy the next rows whose nearest centre is not certain.

    The bounds of a tied row are those of its cheapest label; it is read if its costs are wanted.
    Returns where it ended, how many rows there are, and how many of them are tied: ``which`` they
    are, and as which of the tied rows.
    """
    name, tie, few, known, sure = window
    m, n_tied, t, slots = 0, 0, np.searchsorted(tied.rows, at), tied.slot.shape[0] > 0
    own_first = bounds.own_first and not terms.directional
    while at < last and m + WINDOW <= CHUNK:
        n, first = min(WINDOW, last - at), t
        upper, lower = bounds.upper[at : at + n], bounds.lower[at : at + n]
        t = _owners(labels, at, n, tied.rows, tied.cheapest, t, name, known, tie)
        _loosen(
            name, known, upper, lower, bounds.grow, bounds.shrink, bounds.shift, bounds.largest,
            bounds.second, bounds.at, sure,
        )  # fmt: skip
        for k in range(first, t):  # margins of unsure rows are written once more
            c = tied.rows[k] - at
            tied.margin[k] = sure_margin(terms.directional, weight[at + c], upper[c], lower[c])
        if slots:
            for k in range(first, t):
                sure[tied.rows[k] - at] &= tied.slot[k] < 0
        count = 0
        for c in range(n):  # without a branch: nobody could foretell it
            few[count] = c
            count += not sure[c]
        for k in range(count):
            c = few[k]
            ask_for(X, at + few[min(k + STEPS, count - 1)])
            fetch(X, offset, at + c, buffer[m])
            wanted = slots and tie[c] >= 0 and tied.slot[tie[c]] >= 0
            if own_first and known[c] and lower[c] > 0 and not wanted:
                # That alone often settles it.
                upper[c] = _own_centre(
                    buffer[m], terms.centres[name[c]], terms.theta, terms.error, terms.ceiling
                )
                if upper[c] < lower[c]:
                    if tie[c] >= 0:
                        tied.margin[tie[c]] = sure_margin(False, weight[at + c], upper[c], lower[c])
                    continue
            index[m], which[n_tied], rank[n_tied] = at + c, m, tie[c]
            m += 1
            n_tied += tie[c] >= 0
        at += n
    return at, m, n_tied


@inner
def note_bounds(  # type: ignore[no-untyped-def]
    theta, directional, error, off, ceiling, m, index, chunk, best, second, own, upper, lower
):  # fmt: skip
    """Write the bounds of a chunk's rows, under the labels that they take."""
    zero = chunk.dtype.type(0.0)
    for c in range(m):
        other = second[c] if own[c] == best[c] else best[c]
        length = zero
        for k in range(chunk.shape[1]):
            length += theta[k] * chunk[c, k] * chunk[c, k]
        i = index[c]
        upper[i], lower[i] = new_bounds(directional, error, off, ceiling, length, own[c], other)
