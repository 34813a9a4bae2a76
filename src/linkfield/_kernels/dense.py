"""Compiled passes over dense rows.

A pass takes the rows from ``first`` to ``last`` in chunks. The products of a chunk with all centres
are one call of BLAS, laid out so that rows are contiguous (K x chunk): the search for the nearest
centre then runs over several rows at once. Nothing of size n x K is stored.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .layout import enter, label_of, loosened, remember, slack

__all__ = ["assign", "gradient", "keys", "lengths", "moments", "seed", "transfer"]

#: Rows of a chunk: the chunk, its products and the centres fit into the cache together.
CHUNK = 512

_compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "reassoc"})
_exact = njit(nogil=True, cache=True, error_model="numpy")


@_compiled
def _length(x, theta):  # type: ignore[no-untyped-def]
    """Return Σ a x²; 0 where there are no weights."""
    total = x.dtype.type(0.0)
    for m in range(theta.shape[0]):
        total += theta[m] * x[m] * x[m]
    return total


@_compiled
def _own_distance(x, centre, theta):  # type: ignore[no-untyped-def]
    total = x.dtype.type(0.0)
    for m in range(theta.shape[0]):
        gap = x[m] - centre[m]
        total += theta[m] * gap * gap
    return total


@_exact
def _fetch(X, offset, i, out):  # type: ignore[no-untyped-def]
    """Copy row i, centred."""
    if offset.shape[0] == 0:
        for m in range(X.shape[1]):
            out[m] = X[i, m]
    else:
        for m in range(X.shape[1]):
            out[m] = X[i, m] - offset[m]


@_exact
def _collect(X, offset, terms, labels, at, last, tied_rows, bounds, buffer, index):  # type: ignore[no-untyped-def]
    """Gather the next rows whose nearest centre is not certain; return where it ended, how many."""
    m = 0
    t = np.searchsorted(tied_rows, at)
    while at < last and m < CHUNK:
        is_tied = t < tied_rows.shape[0] and tied_rows[t] == at
        if is_tied:
            t += 1
        h = labels[at]
        sure = False
        if bounds.test and not is_tied and h >= 0:
            sure = loosened(bounds, at, h)
        if not sure:
            _fetch(X, offset, at, buffer[m])
            if bounds.test and not is_tied and h >= 0 and not terms.directional:
                # Its own centre first: that alone often settles it.
                true = _own_distance(buffer[m], terms.centres[h], terms.theta)
                true += terms.error * (true + terms.ceiling)
                bounds.upper[at] = np.sqrt(true) * np.float32(1.000001)
                sure = bounds.upper[at] < bounds.lower[at]
        if not sure:
            index[m] = at
            m += 1
        at += 1
    return at, m


@_exact
def _cheapest(terms, P, m, best, second, label, two):  # type: ignore[no-untyped-def]
    """Set the least cost of every row and its label; the second least too where ``two``."""
    for c in range(m):
        best[c] = terms.g[0] - P[0, c]
        label[c] = 0
    if two:
        for c in range(m):
            second[c] = np.inf
        for h in range(1, P.shape[0]):
            g = terms.g[h]
            for c in range(m):
                value = g - P[h, c]
                low = best[c]
                nearer = value < low
                second[c] = low if nearer else min(second[c], value)
                best[c] = value if nearer else low
                label[c] = h if nearer else label[c]
    else:
        for h in range(1, P.shape[0]):
            g = terms.g[h]
            for c in range(m):
                value = g - P[h, c]
                low = best[c]
                nearer = value < low
                best[c] = value if nearer else low
                label[c] = h if nearer else label[c]


@_exact
def _write_table(terms, P, c, length, scale, v, t, tied, best, label):  # type: ignore[no-untyped-def]
    """Write the costs of a tied row, under every label."""
    slot = tied.slot[t]
    tied.cheapest[slot] = label
    for h in range(P.shape[0]):
        if terms.directional:
            cost = 1.0 - scale * P[h, c]
        else:
            cost = np.float64(length) + (np.float64(terms.g[h]) - P[h, c])
        tied.table[slot, h] = v * cost
    tied.noise[slot] = v * 2.0 * slack(terms, length if not terms.directional else 1.0, best)


@_compiled
def assign(X, offset, terms, weight, labels, first, last, tied, fused, sums, bounds):  # type: ignore[no-untyped-def]
    """Give the free rows their nearest centre; return how many changed and how many were sure.

    Costs of tied rows go into their table. ``fused`` enters changed rows into the sums.
    """
    K, d = terms.psi.shape
    gather = offset.shape[0] > 0 or bounds.test
    buffer = np.empty((CHUNK if gather else 1, d), X.dtype)
    index = np.empty(CHUNK, np.int64)
    P = np.empty((K, CHUNK), X.dtype)
    best, second = np.empty(CHUNK, X.dtype), np.empty(CHUNK, X.dtype)
    label = np.empty(CHUNK, np.int32)
    changed, seen, at = 0, 0, first
    while at < last:
        if gather:
            at, m = _collect(X, offset, terms, labels, at, last, tied.rows, bounds, buffer, index)
            if m == 0:
                break
            chunk = buffer[:m]
        else:
            m = min(CHUNK, last - at)
            for c in range(m):
                index[c] = at + c
            chunk = X[at : at + m]
            at += m
        seen += m
        if m < CHUNK:
            P = np.empty((K, m), X.dtype)
        np.dot(terms.psi, chunk.T, P)
        _cheapest(terms, P, m, best, second, label, bounds.keep)
        t = np.searchsorted(tied.rows, index[0])
        for c in range(m):
            i = index[c]
            is_tied = t < tied.rows.shape[0] and tied.rows[t] == i
            length, scale = X.dtype.type(0.0), X.dtype.type(1.0)
            if terms.theta.shape[0] > 0 and (is_tied or bounds.keep):
                length = _length(chunk[c], terms.theta)
                if terms.directional:
                    scale = 1.0 / np.sqrt(length) if length > 0 else length
            if is_tied:
                _write_table(terms, P, c, length, scale, weight[i], t, tied, best[c], label[c])
                t += 1
                continue
            old, new = labels[i], np.int64(label[c])
            own = best[c]
            if old >= 0 and new != old:
                own = terms.g[old] - P[old, c]
                new = label_of(terms, old, new, own, best[c])
                if new != old:
                    own = best[c]
            if bounds.keep:
                other = second[c] if own == best[c] else best[c]
                remember(bounds, terms, i, length, scale, own, other)
            if new == old:
                continue
            labels[i] = new
            changed += 1
            if fused:
                if terms.directional:
                    length = _length(chunk[c], terms.theta)
                    scale = 1.0 / np.sqrt(length) if length > 0 else length
                enter(sums, weight[i], new, 1.0)
                _add(sums.sums[new], chunk[c], weight[i] * scale)
                if old >= 0:
                    enter(sums, weight[i], old, -1.0)
                    _add(sums.sums[old], chunk[c], -weight[i] * scale)
    return changed, last - first - seen


@_exact
def _add(total, x, factor):  # type: ignore[no-untyped-def]
    for m in range(x.shape[0]):
        total[m] += factor * x[m]


@_compiled
def transfer(X, offset, theta, weight, rows, old, new, first, last, sums):  # type: ignore[no-untyped-def]
    """Move rows between the sums: out of ``old`` (-1 or empty: none), into ``new`` (-1: none).

    ``rows`` are positions, or empty where rows, ``old`` and ``new`` stand for all. Weights
    ``theta`` scale every row to length 1.
    """
    x = np.empty(X.shape[1], X.dtype)
    for at in range(first, last):
        i = rows[at] if rows.shape[0] > 0 else at
        before = old[at] if old.shape[0] > 0 else -1
        after = new[at]
        if before == after:
            continue
        _fetch(X, offset, i, x)
        factor = weight[i]
        if theta.shape[0] > 0:
            length = _length(x, theta)
            factor = factor / np.sqrt(length) if length > 0 else 0.0
        if after >= 0:
            enter(sums, weight[i], after, 1.0)
            _add(sums.sums[after], x, factor)
        if before >= 0:
            enter(sums, weight[i], before, -1.0)
            _add(sums.sums[before], x, -factor)


@_compiled
def moments(X, offset, theta, weight, first, last, one, two, low, high):  # type: ignore[no-untyped-def]
    """Add Σ v s x and Σ v s² x² and note the range, s = 1/‖x‖ where there are weights."""
    x = np.empty(X.shape[1], X.dtype)
    for i in range(first, last):
        _fetch(X, offset, i, x)
        v, s = weight[i], 1.0
        if theta.shape[0] > 0:
            length = _length(x, theta)
            s = 1.0 / np.sqrt(length) if length > 0 else 0.0
        for m in range(x.shape[0]):
            value = np.float64(x[m])
            one[m] += v * s * value
            two[m] += v * s * s * value * value
            low[m] = min(low[m], value)
            high[m] = max(high[m], value)


@_compiled
def gradient(X, theta, weight, labels, unit, first, last, by_cluster, squares):  # type: ignore[no-untyped-def]
    """Add Σ v cos by cluster and Σ v cos x̂² (maths.md 2.5); ``unit`` is a∘μ̂ of every cluster."""
    d = X.shape[1]
    for i in range(first, last):
        x = X[i]
        length = _length(x, theta)
        if length <= 0:
            continue
        h = labels[i]
        product = x.dtype.type(0.0)
        for m in range(d):
            product += x[m] * unit[h, m]
        cosine = product / np.sqrt(np.float64(length))
        by_cluster[h] += weight[i] * cosine
        factor = weight[i] * cosine / length
        for m in range(d):
            squares[m] += factor * x[m] * x[m]


@_compiled
def lengths(X, offset, theta, rows, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x² of rows (positions, or empty for all)."""
    x = np.empty(X.shape[1], X.dtype)
    for at in range(first, last):
        _fetch(X, offset, rows[at] if rows.shape[0] > 0 else at, x)
        out[at] = _length(x, theta)


@_compiled
def keys(X, offset, direction, first, last, out):  # type: ignore[no-untyped-def]
    """Project every row; equal rows get equal numbers wherever they stand."""
    for i in range(first, last):
        total = 0.0
        for m in range(X.shape[1]):
            x = X[i, m] - offset[m] if offset.shape[0] > 0 else X[i, m]
            total += np.float64(x) * direction[m]
        out[i] = total


@_compiled
def seed(X, offset, psi, g, f, scale, weight, nearest, first, last, found, left):  # type: ignore[no-untyped-def]
    """Write D of rows to some candidates, and add Σ v min(nearest, D) of each to ``left``."""
    L, d = psi.shape
    buffer = np.empty((CHUNK if offset.shape[0] > 0 else 1, d), X.dtype)
    P = np.empty((L, CHUNK), X.dtype)
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        chunk = X[at : at + m]
        if offset.shape[0] > 0:
            for c in range(m):
                _fetch(X, offset, at + c, buffer[c])
            chunk = buffer[:m]
        if m < CHUNK:
            P = np.empty((L, m), X.dtype)
        np.dot(psi, chunk.T, P)
        for h in range(L):
            total = 0.0
            for c in range(m):
                s = scale[at + c] if scale.shape[0] > 0 else X.dtype.type(1.0)
                D = max(f[at + c] + (g[h] - s * P[h, c]), X.dtype.type(0.0))
                found[h, at + c] = D
                total += weight[at + c] * min(nearest[at + c], np.float64(found[h, at + c]))
            left[h] += total
