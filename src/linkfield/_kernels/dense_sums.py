"""Compiled sums over dense rows: by cluster, by feature, and distances to candidates."""

from __future__ import annotations

import numpy as np

from .asking import STEPS, ask_for
from .compiling import compiled, inner, inner_exact
from .draws import remainder
from .layout import NARROWER
from .tiles import TILE, products, room_for

__all__ = [
    "CHUNK",
    "fetch",
    "gradient",
    "keys",
    "lengths",
    "moments",
    "seed",
    "transfer",
]

#: Rows of a chunk, whole tiles; a chunk and the centres fit into the cache together.
CHUNK = 16 * TILE


@inner
def _length(x, theta):  # type: ignore[no-untyped-def]
    """Return Σ a x²; 0 where there are no weights."""
    total = x.dtype.type(0.0)
    for m in range(theta.shape[0]):
        total += theta[m] * x[m] * x[m]
    return total


@inner_exact
def fetch(X, offset, i, out):  # type: ignore[no-untyped-def]
    """Copy row i, centred."""
    if offset.shape[0] == 0:
        for m in range(X.shape[1]):
            out[m] = X[i, m]
    else:
        for m in range(X.shape[1]):
            out[m] = X[i, m] - offset[m]


@compiled
def transfer(X, offset, theta, weight, rows, old, new, first, last, sums):  # type: ignore[no-untyped-def]
    """Move rows between the sums: out of ``old`` (-1 or empty: none), into ``new`` (-1: none).

    ``rows`` are positions, or empty where rows, ``old`` and ``new`` stand for all. Weights
    ``theta`` scale every row to length 1.
    """
    d = X.shape[1]
    x = np.empty(d, X.dtype)
    count, total, table = sums.count, sums.weight, sums.sums
    for at in range(first, last):
        i = at
        if rows.shape[0] > 0:
            i = rows[at]
            ask_for(X, rows[min(at + STEPS, last - 1)])
        before = old[at] if old.shape[0] > 0 else -1
        after = new[at]
        if before == after:
            continue
        fetch(X, offset, i, x)
        v = weight[i]
        factor, one = v, 1.0 if v > 0 else 0.0
        if theta.shape[0] > 0:
            length = _length(x, theta)
            factor = v / np.sqrt(np.float64(length)) if length > 0 else 0.0
        if after >= 0:
            count[after] += one
            total[after] += v
            for m in range(d):
                table[after, m] += factor * x[m]
        if before >= 0:
            count[before] -= one
            total[before] -= v
            for m in range(d):
                table[before, m] -= factor * x[m]


@compiled
def moments(X, offset, theta, weight, first, last, one, two, low, high):  # type: ignore[no-untyped-def]
    """Add Σ v s x and Σ v s² x² and note the range, s = 1/‖x‖ where there are weights."""
    x = np.empty(X.shape[1], X.dtype)
    for i in range(first, last):
        fetch(X, offset, i, x)
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


@inner
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


@compiled
def lengths(X, offset, theta, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x² of every row."""
    x = np.empty(X.shape[1], X.dtype)
    for i in range(first, last):
        fetch(X, offset, i, x)
        out[i] = _length(x, theta)


@inner
def keys(X, offset, direction, first, last, out):  # type: ignore[no-untyped-def]
    """Project every row; equal rows get equal numbers wherever they stand."""
    for i in range(first, last):
        total = 0.0
        for m in range(X.shape[1]):
            x = X[i, m] - offset[m] if offset.shape[0] > 0 else X[i, m]
            total += np.float64(x) * direction[m]
        out[i] = total


@compiled
def seed(X, offset, offered, f, scale, weight, nearest, first, last, found, left):  # type: ignore[no-untyped-def]
    """Write D of rows to some candidates, and add Σ v min(nearest, D) of each to ``left``.

    D that is no less than the nearest may be less precise: nobody asks what it is.
    """
    (L, d), g = offered.psi.shape, offered.g
    buffer = np.empty((CHUNK if offset.shape[0] > 0 else 1, d), X.dtype)
    P, room = np.empty((L, CHUNK), offered.psi.dtype), np.empty(room_for(L), offered.psi.dtype)
    doubts = np.empty(CHUNK, np.int32)
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        chunk = X[at : at + m]
        if offset.shape[0] > 0:
            for c in range(m):
                fetch(X, offset, at + c, buffer[c])
            chunk = buffer[:m]
        products(chunk, m - 1, offered.psi, room, P)
        for h in range(L):
            D = found[h, at : at + m]
            _distances(P[h], g[h], f[at : at + m], scale[at : at + m], D)
            if offered.exact.shape[0] > 0:
                _mend(chunk, offered.exact[h], g[h], offered.off, f[at : at + m],
                      scale[at : at + m], nearest[at : at + m], D, doubts)  # fmt: skip
            left[h] += remainder(weight[at : at + m], nearest[at : at + m], D)


@inner
def _distances(P, g, f, scale, found):  # type: ignore[no-untyped-def]
    """Write D of some rows to one candidate."""
    zero = f.dtype.type(0.0)
    if scale.shape[0] > 0:
        for c in range(found.shape[0]):
            found[c] = max(f[c] + (g - scale[c] * P[c]), zero)
    else:
        for c in range(found.shape[0]):
            found[c] = max(f[c] + (g - P[c]), zero)


@inner
def _mend(chunk, psi, g, off, f, scale, nearest, found, doubts):  # type: ignore[no-untyped-def]
    """Work D out once more for rows whose D may be less than the nearest."""
    zero, one, count = f.dtype.type(0.0), f.dtype.type(1.0), 0
    for c in range(found.shape[0]):  # without a branch: nobody could foretell it
        s = scale[c] if scale.shape[0] > 0 else one
        doubts[count] = c
        # Distances are kept in single precision, too.
        count += found[c] * NARROWER < nearest[c] + s * off
    for k in range(count):
        c = doubts[k]
        product = zero
        for m in range(psi.shape[0]):
            product += chunk[c, m] * psi[m]
        s = scale[c] if scale.shape[0] > 0 else one
        found[c] = max(f[c] + (g - s * product), zero)
