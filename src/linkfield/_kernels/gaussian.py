"""Compiled passes over dense rows for mixtures of Gaussians.

A Gaussian is an exponential family: log π_j q_j(x) = constant_j + ⟨parameters_j, features of x⟩,
where every feature is a product of two coordinates of (x, 1). Rows are taken in chunks, rows
contiguous: the log densities of a chunk are one product of BLAS (K x features times features x
chunk), what all components make of a row is worked out for several rows at once, and the sums of
the M-step are one product of the same features with the responsibilities. Nothing of size n x K
is stored. Products have the precision of the parameters, sums over chunks are float64.

Features come in panels that fit into the cache. Where there is more than one, they are made
twice: for the densities from the first panel to the last, for the sums from the last to the first.
"""

from __future__ import annotations

import numpy as np

from .compiling import exact, inner, inner_exact
from .exponential import exp_negative

__all__ = ["CHUNK", "collect", "expectation", "judge", "log_joint", "most_likely", "soften"]

#: Rows of a chunk.
CHUNK = 256

#: Responsibilities below these count as nothing: products with them would lose their digits, and
#: numbers with few digits slow the processor down by an order of magnitude.
TINY_32, TINY_64 = np.float32(1e-30), 1e-290

#: The logarithm of a product of sums is taken before the product could overflow.
LARGE = 1e280


# ---------------------------------------------------------------------------
# rows, features, products


@inner_exact
def _fetch(X, offset, scale, rows, at, m, x):  # type: ignore[no-untyped-def]
    """Set x to the next m rows, centred and scaled, feature by row; 1 in the last place.

    ``rows`` are positions, or empty where all rows are taken in their order.
    """
    d = X.shape[1]
    for c in range(m):
        i = rows[at + c] if rows.shape[0] > 0 else at + c
        for a in range(d):
            x[a, c] = (X[i, a] - offset[a]) * scale[a]
        x[d, c] = 1.0


@inner_exact
def _features(x, left, right, first, m, out):  # type: ignore[no-untyped-def]
    """Set a panel of features: products of the coordinates ``left`` and ``right``."""
    for f in range(out.shape[0]):
        one, other, product = x[left[first + f]], x[right[first + f]], out[f]
        for c in range(m):
            product[c] = one[c] * other[c]


@exact
def _room(K, width, m, dtype):  # type: ignore[no-untyped-def]
    """Return arrays for a panel of features and twice for the densities of m rows."""
    return np.empty((width, m), dtype), np.empty((K, m), dtype), np.empty((K, m), dtype)


@exact
def _densities(x, parameters, left, right, m, features, more, P):  # type: ignore[no-untyped-def]
    """Set P to ⟨parameters, features⟩; the features of the last panel are left behind."""
    width = parameters.shape[2]
    for p in range(parameters.shape[0]):
        _features(x, left, right, p * width, m, features)
        if p == 0:
            np.dot(parameters[p], features, P)
        else:
            np.dot(parameters[p], features, more)
            P += more


@exact
def _sums(x, left, right, m, features, R, part, sums):  # type: ignore[no-untyped-def]
    """Add Σ features·r to the sums, the last panel first: its features are there already.

    Features times responsibilities: BLAS takes half the time of the product the other way round.
    """
    last, width = sums.shape[0] - 1, sums.shape[1]
    for p in range(last, -1, -1):
        if p < last:
            _features(x, left, right, p * width, m, features)
        np.dot(features, R.T, part)
        sums[p] += part


# ---------------------------------------------------------------------------
# what all components make of a row


@inner_exact
def _greatest(constant, P, m, best):  # type: ignore[no-untyped-def]
    """Add the constants to P and set the greatest of every row."""
    for c in range(m):
        best[c] = -np.inf
    for j in range(P.shape[0]):
        top, row = constant[j], P[j]
        for c in range(m):
            value = row[c] + top
            row[c] = value
            best[c] = value if value > best[c] else best[c]


@inner_exact
def _exponentials(P, m, best, total):  # type: ignore[no-untyped-def]
    """Set P to e^(P − best) and the sum of every row, which is at least 1."""
    for c in range(m):
        total[c] = 0.0
    for j in range(P.shape[0]):
        row = P[j]
        for c in range(m):
            value = exp_negative(row[c] - best[c])
            row[c] = value
            total[c] += value


@inner
def _responsibilities(P, m, factor, tiny, mass):  # type: ignore[no-untyped-def]
    """Set P to the responsibilities and add their sums."""
    zero = P.dtype.type(0.0)
    for j in range(P.shape[0]):
        row, own = P[j], zero
        for c in range(m):
            value = row[c] * factor[c]
            value = value if value >= tiny else zero
            row[c] = value
            own += value
        mass[j] += own


@inner_exact
def _log_likelihood(best, total, weight, at, m):  # type: ignore[no-untyped-def]
    """Return Σ v (best + log total); one logarithm does for many rows where all weigh the same."""
    likelihood = 0.0
    if weight.shape[0] > 0:
        for c in range(m):
            likelihood += weight[at + c] * (best[c] + np.log(np.float64(total[c])))
        return likelihood
    product = 1.0
    for c in range(m):
        likelihood += best[c]
        product *= total[c]
        if product > LARGE:
            likelihood += np.log(product)
            product = 1.0
    return likelihood + np.log(product)


@inner_exact
def soften(constant, P, at, m, weight, grouped, tiny, best, total, table, mass):  # type: ignore[no-untyped-def]
    """Turn the log densities of the rows from ``at`` into responsibilities; return Σ log p(x).

    Grouped rows get none and do not count; their log densities are written into the table.
    """
    _greatest(constant, P, m, best)
    low, high = np.searchsorted(grouped, at), np.searchsorted(grouped, at + m)
    for t in range(low, high):
        for j in range(P.shape[0]):
            table[t, j] = P[j, grouped[t] - at]
    _exponentials(P, m, best, total)
    for t in range(low, high):
        c = grouped[t] - at
        best[c], total[c] = 0.0, 1.0
        for j in range(P.shape[0]):
            P[j, c] = 0.0
    likelihood = _log_likelihood(best, total, weight, at, m)
    for c in range(m):
        total[c] = (weight[at + c] if weight.shape[0] > 0 else 1.0) / total[c]
    _responsibilities(P, m, total, tiny, mass)
    return likelihood


@inner_exact
def judge(constant, P, at, m, best, total, label, density):  # type: ignore[no-untyped-def]
    """Write the likeliest component (of equals the first) and log p(x) of the rows from ``at``."""
    _greatest(constant, P, m, best)
    label[at : at + m] = 0
    for j in range(P.shape[0] - 1, -1, -1):
        for c in range(m):
            label[at + c] = j if P[j, c] == best[c] else label[at + c]
    _exponentials(P, m, best, total)
    for c in range(m):
        density[at + c] = best[c] + np.log(np.float64(total[c]))


# ---------------------------------------------------------------------------
# passes


@exact
def expectation(  # type: ignore[no-untyped-def]
    X, offset, scale, weight, grouped, constant, parameters, left, right, tiny, first, last, table,
    mass, sums,
):  # fmt: skip
    """Add Σ r and Σ r·features of the rows that are not grouped; return their log-likelihood."""
    (_, K, width), dtype, every = parameters.shape, parameters.dtype, np.empty(0, np.int64)
    x = np.empty((X.shape[1] + 1, CHUNK), dtype)
    best, total = np.empty(CHUNK, dtype), np.empty(CHUNK, dtype)
    features, P, more = _room(K, width, CHUNK, dtype)
    part = np.empty((width, K), dtype)
    likelihood = 0.0
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        if m < CHUNK:
            features, P, more = _room(K, width, m, dtype)
        _fetch(X, offset, scale, every, at, m, x)
        _densities(x, parameters, left, right, m, features, more, P)
        likelihood += soften(constant, P, at, m, weight, grouped, tiny, best, total, table, mass)
        _sums(x, left, right, m, features, P, part, sums)
    return likelihood


@exact
def collect(X, offset, scale, rows, R, left, right, first, last, mass, sums):  # type: ignore[no-untyped-def]
    """Add Σ r and Σ r·features of some rows with responsibilities R (any sign), in float64."""
    (n_panels, width, K), dtype = sums.shape, sums.dtype
    x, part = np.empty((X.shape[1] + 1, CHUNK)), np.empty((width, K))
    features, P, _ = _room(K, width, CHUNK, dtype)
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        if m < CHUNK:
            features, P, _ = _room(K, width, m, dtype)
        _fetch(X, offset, scale, rows, at, m, x)
        for c in range(m):
            for j in range(K):
                r = R[at + c, j]
                r = r if abs(r) >= TINY_64 else 0.0
                P[j, c] = r
                mass[j] += r
        _features(x, left, right, (n_panels - 1) * width, m, features)
        _sums(x, left, right, m, features, P, part, sums)


@exact
def log_joint(X, offset, scale, constant, parameters, left, right, first, last, table):  # type: ignore[no-untyped-def]
    """Write log π_j q_j(x) of all rows and components."""
    (_, K, width), dtype, every = parameters.shape, parameters.dtype, np.empty(0, np.int64)
    x = np.empty((X.shape[1] + 1, CHUNK), dtype)
    features, P, more = _room(K, width, CHUNK, dtype)
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        if m < CHUNK:
            features, P, more = _room(K, width, m, dtype)
        _fetch(X, offset, scale, every, at, m, x)
        _densities(x, parameters, left, right, m, features, more, P)
        for c in range(m):
            for j in range(P.shape[0]):
                table[at + c, j] = P[j, c] + constant[j]


@exact
def most_likely(  # type: ignore[no-untyped-def]
    X, offset, scale, constant, parameters, left, right, first, last, label, density
):  # fmt: skip
    """Write the likeliest component of every row, and log p(x)."""
    (_, K, width), dtype, every = parameters.shape, parameters.dtype, np.empty(0, np.int64)
    x = np.empty((X.shape[1] + 1, CHUNK), dtype)
    best, total = np.empty(CHUNK, dtype), np.empty(CHUNK, dtype)
    features, P, more = _room(K, width, CHUNK, dtype)
    for at in range(first, last, CHUNK):
        m = min(CHUNK, last - at)
        if m < CHUNK:
            features, P, more = _room(K, width, m, dtype)
        _fetch(X, offset, scale, every, at, m, x)
        _densities(x, parameters, left, right, m, features, more, P)
        judge(constant, P, at, m, best, total, label, density)
