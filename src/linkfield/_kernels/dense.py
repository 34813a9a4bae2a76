"""Compiled passes over dense rows.

A pass takes the rows from ``first`` to ``last`` in chunks; the nearest centres of a chunk's rows
are found tile by tile (see :mod:`linkfield._kernels.tiles`). Nothing of size n x K is stored. What
needs no centres, or only candidates for some, is in :mod:`linkfield._kernels.dense_sums`.
"""

from __future__ import annotations

import numpy as np

from .asking import STEPS, ask_for
from .compiling import ZERO, exact, inner, inner_exact
from .dense_bounds import note_bounds, unsure_rows, window
from .dense_sums import CHUNK, fetch, gradient, keys, lengths, moments, seed, transfer
from .layout import certain_margin, label_of
from .rough import DOUBTS, nearest_centres
from .tiles import TILE, product, products, room_for

__all__ = [
    "assign",
    "costs",
    "gradient",
    "keys",
    "lengths",
    "moments",
    "seed",
    "transfer",
]


@inner_exact
def _next_rows(X, offset, at, last, buffer, index):  # type: ignore[no-untyped-def]
    """Copy the next rows, centred; return where it ended and how many there are."""
    m = min(CHUNK, last - at)
    for c in range(m):
        index[c] = at + c
        for k in range(X.shape[1]):
            buffer[c, k] = X[at + c, k] - offset[k]
    return at + m, m


@inner_exact
def _settle(terms, chunk, m, index, best, second, label, own, bound, labels, moved):  # type: ignore[no-untyped-def]
    """Find the free rows of a chunk whose label changes; return how many.

    ``own`` becomes the cost of the label that every row takes.
    """
    g, psi, size, epsilon = terms.g, terms.psi, terms.size, terms.epsilon
    ceiling, count, n_moved = terms.ceiling, 0, 0
    for c in range(m):  # without a branch: nobody could foretell it
        own[c], moved[count] = best[c], c
        count += (label[c] != labels[index[c]]) & (not bound[c])
    for k in range(count):
        c = moved[k]
        old, new = labels[index[c]], label[c]
        # The old label costs no less than the second best; most often that settles it.
        rounding = abs(best[c]) + abs(second[c]) + 2.0 * ceiling
        if old >= 0 and not second[c] > best[c] + 4.0 * epsilon * rounding:
            cost = g[old] - product(chunk, c, psi, old)
            if label_of(size, epsilon, old, new, cost, best[c]) == old:
                label[c], own[c] = old, cost
                continue
        moved[n_moved] = c
        n_moved += 1
    return n_moved


@inner_exact
def _tied_in(rows, t, first, m, which, rank):  # type: ignore[no-untyped-def]
    """Write down which of m rows from ``first`` on are tied, and as which of the tied rows.

    The tied rows are those from the t-th on. Returns how many.
    """
    count = np.searchsorted(rows[t : t + m], first + m)
    for k in range(count):
        which[k], rank[k] = rows[t + k] - first, t + k
    return count


@inner
def _note_tied(  # type: ignore[no-untyped-def]
    theta, directional, ceiling, longest, epsilon, off, count, which, rank, index, chunk, best,
    second, label, weight, cheapest, margin,
):  # fmt: skip
    """Note the cheapest label of a chunk's tied rows, and by how much it is that for certain."""
    lengths, zero = directional or longest < 0, chunk.dtype.type(0.0)
    for k in range(count):
        c, t = which[k], rank[k]
        length, factor = np.float64(longest), weight[index[c]]
        if lengths:
            total = zero
            for m in range(theta.shape[0]):
                total += theta[m] * chunk[c, m] * chunk[c, m]
            length = np.float64(total)
        if directional:
            factor = factor / np.sqrt(length) if length > 0 else 0.0
        noise = 8.0 * epsilon * (length + ceiling) + 2.0 * off
        cheapest[t] = label[c]
        margin[t] = certain_margin(best[c], second[c], factor, epsilon, noise)


@inner
def _note_many_tied(  # type: ignore[no-untyped-def]
    ceiling, longest, epsilon, off, m, first, t, best, second, label, weight, free, bound, names,
    room, cheapest, margin,
):  # fmt: skip
    """Do the same for m rows from ``first`` on, many of them tied, none longer than ``longest``.

    The first tied one of them is the t-th of all. Marks in ``bound`` which are tied, and returns
    how many. Margins of all rows, several at a time, come sooner than those of the tied ones, one
    by one; these then close up.
    """
    noise, v, alone = 8.0 * epsilon * (longest + ceiling) + 2.0 * off, weight[first:], free[first:]
    for c in range(m):
        room[c] = certain_margin(best[c], second[c], v[c], epsilon, noise)
    for c in range(m):
        bound[c] = not alone[c]
    count = np.uint64(0)  # has no sign: nobody asks whether it counts from the end
    for c in range(m):  # without a branch: nobody could foretell it
        names[count], room[count] = label[c], room[c]
        count += np.uint64(bound[c])
    best_names, best_room = cheapest[t:], margin[t:]
    for k in range(count):
        best_names[k] = names[k]
    for k in range(count):
        best_room[k] = room[k]
    return np.int64(count)


@inner_exact
def _keep(chunk, c, row, slot, at, wanted, into, kept):  # type: ignore[no-untyped-def]
    """List a row that has to write down all its costs, and where; copy it while it is at hand."""
    wanted[at], into[at] = row, slot
    for m in range(chunk.shape[1]):
        kept[at, m] = chunk[c, m]


@inner_exact
def _want(tied, w, last, first, chunk, wanted, into, kept, n_wanted):  # type: ignore[no-untyped-def]
    """List the wanted ones of the tied rows of a chunk, the last-th of which is beyond it.

    The w-th is the first that is wanted, and ``first`` the row that the chunk begins with. Returns
    which one is the next, and how many are listed.
    """
    while w < tied.wanted.shape[0] and tied.wanted[w] < last:
        row = tied.rows[tied.wanted[w]]
        _keep(chunk, row - first, row, w, n_wanted, wanted, into, kept)
        w, n_wanted = w + 1, n_wanted + 1
    return w, n_wanted


@inner_exact
def _want_some(tied, count, which, rank, index, chunk, wanted, into, kept, n_wanted):  # type: ignore[no-untyped-def]
    """Do the same for tied rows that do not follow each other."""
    for k in range(count):
        if tied.slot[rank[k]] >= 0:
            c = which[k]
            _keep(chunk, c, index[c], tied.slot[rank[k]], n_wanted, wanted, into, kept)
            n_wanted += 1
    return n_wanted


@inner
def _write_costs(  # type: ignore[no-untyped-def]
    g, theta, directional, ceiling, epsilon, P, m, index, into, chunk, weight, table, noise, shift,
    factor, best,
):  # fmt: skip
    """Write what every label costs some rows, and how far that may be off."""
    best[:] = np.inf
    for h in range(P.shape[0]):  # label by label: the products are laid out that way
        for c in range(m):
            best[c] = min(best[c], g[h] - P[h, c])
    for c in range(m):
        length = P.dtype.type(0.0)
        for k in range(theta.shape[0]):
            length += theta[k] * chunk[c, k] * chunk[c, k]
        v = weight[index[c]]
        factor[c], shift[c] = v, v * length
        if directional:
            factor[c] = v / np.sqrt(np.float64(length)) if length > 0 else 0.0
            shift[c], length = v, P.dtype.type(1.0)
        noise[into[c]] = v * 8.0 * epsilon * (abs(best[c]) + length + ceiling)
    for c in range(m):  # row by row: so is the table
        row = into[c]
        for h in range(P.shape[0]):
            table[row, h] = shift[c] + factor[c] * (np.float64(g[h]) - P[h, c])


@exact
def _costs_of(terms, weight, m, index, into, chunk, table, noise):  # type: ignore[no-untyped-def]
    """Write what every label costs the first m rows of a chunk."""
    P = np.empty((terms.psi.shape[0], (m + TILE - 1) // TILE * TILE), chunk.dtype)
    products(chunk, m - 1, terms.psi, np.empty(room_for(P.shape[0]), chunk.dtype), P)
    _write_costs(
        terms.g, terms.theta, terms.directional, terms.ceiling, terms.epsilon, P, m, index, into,
        chunk, weight, table, noise, np.empty(m), np.empty(m), np.empty(m, chunk.dtype),
    )  # fmt: skip


@exact
def costs(X, offset, terms, weight, rows, first, last, table, noise):  # type: ignore[no-untyped-def]
    """Write what every label costs some rows, up to f(x) where the terms do not hold it."""
    buffer = np.empty((CHUNK, X.shape[1]), X.dtype)
    for at in range(first, last, CHUNK):
        stop = min(at + CHUNK, last)
        for c in range(stop - at):
            ask_for(X, rows[min(at + c + STEPS, last - 1)])
            fetch(X, offset, rows[at + c], buffer[c])
        into = np.arange(at, stop)
        _costs_of(terms, weight, stop - at, rows[at:stop], into, buffer, table, noise)


@inner
def _enter_moved(  # type: ignore[no-untyped-def]
    theta, directional, n_moved, moved, index, chunk, label, labels, weight, count, total, sums
):  # fmt: skip
    """Take changed rows from one cluster's sums to another's."""
    d = chunk.shape[1]
    for k in range(n_moved):
        c = moved[k]
        i, new = index[c], label[c]
        old, v = labels[i], weight[i]
        factor = v
        if directional:
            length = chunk.dtype.type(0.0)
            for m in range(d):
                length += theta[m] * chunk[c, m] * chunk[c, m]
            factor = v / np.sqrt(np.float64(length)) if length > 0 else 0.0
        one = 1.0 if v > 0 else 0.0
        count[new] += one
        total[new] += v
        for m in range(d):
            sums[new, m] += factor * chunk[c, m]
        if old >= 0:
            count[old] -= one
            total[old] -= v
            for m in range(d):
                sums[old, m] -= factor * chunk[c, m]


@exact
def assign(  # type: ignore[no-untyped-def]
    X, offset, terms, weight, labels, edges, first, last, tied, fused, sums, probe, bounds, found
):  # fmt: skip
    """Give the free rows of some blocks their nearest centre.

    Block b has the rows from edges[b] on. ``found`` becomes, for every block, how many rows changed
    and how many were sure; ``fused`` enters changed rows into the sums of their block. Tied rows
    keep their labels; their cheapest one and its margin are noted. ``probe`` are the bounds of
    block 0.
    """
    d = X.shape[1]
    gather = offset.shape[0] > 0 or probe.test or bounds.test
    buffer = np.empty((CHUNK if gather else 1, d), X.dtype)
    index, moved = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    which, rank = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    room, own = np.empty(room_for(terms.psi.shape[0]), X.dtype), np.empty(CHUNK, X.dtype)
    best, second = np.empty(CHUNK, X.dtype), np.empty(CHUNK, X.dtype)
    label, bound = np.empty(CHUNK, np.int32), np.zeros(CHUNK, np.bool_)
    margins, names, some = np.empty(CHUNK), np.empty(CHUNK, np.int32), window()
    # Rows whose costs are wanted wait here until a chunk of them might be full.
    wanted, into, n_wanted = np.empty(2 * CHUNK, np.int64), np.empty(2 * CHUNK, np.int64), ZERO
    kept = np.empty((2 * CHUNK if tied.slot.shape[0] > 0 else 0, d), X.dtype)
    for b in range(first, last):
        at, end, changed, seen, doubts = edges[b], edges[b + 1], 0, 0, 0
        keep, test = (probe.keep, probe.test) if b == 0 else (bounds.keep, bounds.test)
        t = np.searchsorted(tied.rows, at)
        w = np.searchsorted(tied.wanted, t)
        many = 4 * (np.searchsorted(tied.rows, end) - t) >= end - at
        many &= not (test or terms.directional or terms.longest < 0)
        while at < end:
            if test:
                at, m, n_tied = unsure_rows(
                    X, offset, terms, labels, weight, at, end, tied, bounds, some, buffer, index,
                    which, rank,
                )  # fmt: skip
                if m == 0:
                    break
                chunk = buffer[:m]
            elif offset.shape[0] > 0:
                at, m = _next_rows(X, offset, at, end, buffer, index)
                chunk = buffer[:m]
            else:
                m = min(CHUNK, end - at)
                for c in range(m):
                    index[c] = at + c
                chunk = X[at : at + m]
                at += m
            doubts += nearest_centres(terms, terms.rough, doubts <= DOUBTS * seen, chunk, m, room,
                                      best, second, label, moved)  # fmt: skip
            seen += m
            if many:
                n_tied = _note_many_tied(
                    terms.ceiling, terms.longest, terms.epsilon, terms.off, m, index[0], t, best,
                    second, label, weight, tied.free, bound, names, margins, tied.cheapest,
                    tied.margin,
                )  # fmt: skip
            else:
                if not test:
                    n_tied = _tied_in(tied.rows, t, index[0], m, which, rank)
                bound[:m] = False
                for k in range(n_tied):
                    bound[which[k]] = True
                _note_tied(
                    terms.theta, terms.directional, terms.ceiling, terms.longest, terms.epsilon,
                    terms.off, n_tied, which, rank, index, chunk, best, second, label, weight,
                    tied.cheapest, tied.margin,
                )  # fmt: skip
            if not test:
                t += n_tied
                w, n_wanted = _want(tied, w, t, index[0], chunk, wanted, into, kept, n_wanted)
            elif tied.slot.shape[0] > 0:
                n_wanted = _want_some(tied, n_tied, which, rank, index, chunk, wanted, into, kept,
                                      n_wanted)  # fmt: skip
            n_moved = _settle(
                terms, chunk, m, index, best, second, label, own, bound, labels, moved
            )  # fmt: skip
            if keep:
                note_bounds(
                    terms.theta, terms.directional, terms.error, terms.off, terms.ceiling, m,
                    index, chunk, best, second, own, bounds.upper, bounds.lower,
                )  # fmt: skip
            if fused:
                _enter_moved(
                    terms.theta, terms.directional, n_moved, moved, index, chunk, label, labels,
                    weight, sums.count[b], sums.weight[b], sums.sums[b],
                )  # fmt: skip
            for k in range(n_moved):
                labels[index[moved[k]]] = label[moved[k]]
            changed += n_moved
            if n_wanted > CHUNK:
                _costs_of(terms, weight, n_wanted, wanted, into, kept, tied.table, tied.noise)
                n_wanted = ZERO
        found[b, 0], found[b, 1] = changed, end - edges[b] - seen
    if n_wanted > 0:
        _costs_of(terms, weight, n_wanted, wanted, into, kept, tied.table, tied.noise)
