"""Compiled loops over pairs of rows. An offset common to all rows cancels in differences only."""

from __future__ import annotations

import numpy as np

from .asking import STEPS, ask_for
from .compiling import compiled, exact, inner, inner_exact

__all__ = [
    "broken",
    "dense_cosines",
    "dense_gaps",
    "dense_product_sums",
    "dense_products",
    "dense_square_sums",
    "dense_squares",
    "sparse_product_sums",
    "sparse_products",
    "sparse_square_sums",
    "sparse_squares",
    "weighted_rows",
]


@inner
def _ask_ahead(X, i, j, e, last):  # type: ignore[no-untyped-def]
    """Ask for the two rows of a pair that comes later."""
    ahead = min(e + STEPS, last - 1)
    ask_for(X, i[ahead])
    ask_for(X, j[ahead])


@inner
def _square(X, i, j, a):  # type: ignore[no-untyped-def]
    x, y, total = X[i], X[j], 0.0
    for m in range(a.shape[0]):
        gap = np.float64(x[m]) - np.float64(y[m])
        total += a[m] * gap * gap
    return total


@inner
def dense_squares(X, i, j, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a (x_i − x_j)² of every pair."""
    for e in range(first, last):
        _ask_ahead(X, i, j, e, last)
        out[e] = _square(X, i[e], j[e], a)


@inner
def dense_cosines(X, i, j, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x_i x_j / √(Σ a x_i² Σ a x_j²) of every pair, 0 where a row has no length."""
    for e in range(first, last):
        _ask_ahead(X, i, j, e, last)
        x, y, xy, xx, yy = X[i[e]], X[j[e]], 0.0, 0.0, 0.0
        for m in range(a.shape[0]):
            u, v = np.float64(x[m]), np.float64(y[m])
            xy += a[m] * u * v
            xx += a[m] * u * u
            yy += a[m] * v * v
        out[e] = xy / (np.sqrt(xx) * np.sqrt(yy)) if xx > 0.0 and yy > 0.0 else 0.0


@inner
def dense_gaps(X, i, j, must, weight, pairs, a, top, first, last, out):  # type: ignore[no-untyped-def]
    """Set what some pairs cost where their ends agree, less what they cost otherwise.

    With φ = Σ a (x_i − x_j)² that is −w φ of a must-link, w (top − φ) of a cannot-link.
    """
    for k in range(first, last):
        far, near = pairs[min(k + 2 * STEPS, last - 1)], pairs[min(k + STEPS, last - 1)]
        ask_for(i, far)
        ask_for(j, far)
        ask_for(must, far)
        ask_for(weight, far)
        ask_for(X, i[near])
        ask_for(X, j[near])
        e = pairs[k]
        phi = _square(X, i[e], j[e], a)
        out[k] = -weight[e] * phi if must[e] else weight[e] * max(top - phi, 0.0)


@inner
def weighted_rows(rows, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x of every row."""
    for e in range(first, last):
        total = 0.0
        for m in range(a.shape[0]):
            total += a[m] * rows[e, m]
        out[e] = total


@inner
def dense_products(X, i, j, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x_i x_j of every pair."""
    for e in range(first, last):
        _ask_ahead(X, i, j, e, last)
        x, y, total = X[i[e]], X[j[e]], 0.0
        for m in range(a.shape[0]):
            total += a[m] * np.float64(x[m]) * np.float64(y[m])
        out[e] = total


@inner
def dense_square_sums(X, i, j, c, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ c (x_i − x_j)² by feature to ``out``."""
    for e in range(first, last):
        _ask_ahead(X, i, j, e, last)
        x, y = X[i[e]], X[j[e]]
        for m in range(out.shape[0]):
            gap = np.float64(x[m]) - np.float64(y[m])
            out[m] += c[e] * gap * gap


@inner
def dense_product_sums(X, i, j, c, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ c x_i∘x_j by feature to ``out``."""
    for e in range(first, last):
        _ask_ahead(X, i, j, e, last)
        x, y = X[i[e]], X[j[e]]
        for m in range(out.shape[0]):
            out[m] += c[e] * np.float64(x[m]) * np.float64(y[m])


@compiled
def broken(left, right, must, labels):  # type: ignore[no-untyped-def]
    """Return the pairs whose ends differ though they must agree, or agree though they must not."""
    out, count = np.empty(left.shape[0], np.int64), 0
    for e in range(left.shape[0]):
        out[count] = e
        count += (labels[left[e]] != labels[right[e]]) == must[e]
    return out[:count].copy()


@inner
def _merged(X, i, j, at, bt):  # type: ignore[no-untyped-def]
    """Return the next column of two rows, the values of both there, and where to go on."""
    end_a, end_b = X.pointer[i + 1], X.pointer[j + 1]
    if bt >= end_b or (at < end_a and X.column[at] < X.column[bt]):
        return X.column[at], np.float64(X.value[at]), 0.0, at + 1, bt
    if at >= end_a or X.column[bt] < X.column[at]:
        return X.column[bt], 0.0, np.float64(X.value[bt]), at, bt + 1
    return X.column[at], np.float64(X.value[at]), np.float64(X.value[bt]), at + 1, bt + 1


@inner_exact
def _spread_out(X, old, new, dense):  # type: ignore[no-untyped-def]
    """Write a row where another one stood (-1: none); everything else is zero."""
    if old >= 0:
        for at in range(X.pointer[old], X.pointer[old + 1]):
            dense[X.column[at]] = 0.0
    for at in range(X.pointer[new], X.pointer[new + 1]):
        dense[X.column[at]] = X.value[at]


@exact
def sparse_squares(X, i, j, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a (x_i − x_j)² of every pair; quickest if pairs of one first row stand together.

    Over the columns of j it is Σ a (x_i − x_j)², over those of i alone Σ a x_i², which is that
    over all columns of i less that over the columns of j. Added up in the same order, the two are
    equal to the bit where i has no columns of its own.
    """
    x, now = np.zeros(a.shape[0]), -1
    for e in range(first, last):
        if i[e] != now:
            _spread_out(X, now, i[e], x)
            now = i[e]
        gap, own, shared = 0.0, 0.0, 0.0
        for at in range(X.pointer[now], X.pointer[now + 1]):
            value = np.float64(X.value[at])
            own += a[X.column[at]] * value * value
        for at in range(X.pointer[j[e]], X.pointer[j[e] + 1]):
            m = X.column[at]
            difference = np.float64(X.value[at]) - x[m]
            gap += a[m] * difference * difference
            shared += a[m] * x[m] * x[m]
        out[e] = gap + max(own - shared, 0.0)


@exact
def sparse_products(X, i, j, a, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x_i x_j of every pair; quickest if pairs of one first row stand together."""
    x, now = np.zeros(a.shape[0]), -1
    for e in range(first, last):
        if i[e] != now:
            _spread_out(X, now, i[e], x)
            now = i[e]
        total = 0.0
        for at in range(X.pointer[j[e]], X.pointer[j[e] + 1]):
            total += a[X.column[at]] * x[X.column[at]] * np.float64(X.value[at])
        out[e] = total


@inner
def sparse_square_sums(X, i, j, c, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ c (x_i − x_j)² by feature to ``out``."""
    for e in range(first, last):
        at, bt = X.pointer[i[e]], X.pointer[j[e]]
        while at < X.pointer[i[e] + 1] or bt < X.pointer[j[e] + 1]:
            m, x, y, at, bt = _merged(X, i[e], j[e], at, bt)
            out[m] += c[e] * (x - y) * (x - y)


@inner
def sparse_product_sums(X, i, j, c, first, last, out):  # type: ignore[no-untyped-def]
    """Add Σ c x_i∘x_j by feature to ``out``."""
    for e in range(first, last):
        at, bt = X.pointer[i[e]], X.pointer[j[e]]
        while at < X.pointer[i[e] + 1] and bt < X.pointer[j[e] + 1]:
            m, x, y, at, bt = _merged(X, i[e], j[e], at, bt)
            out[m] += c[e] * x * y
