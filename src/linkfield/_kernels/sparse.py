"""Compiled passes over the rows of a CSR matrix; weights and centres stand feature by label."""

from __future__ import annotations

import numpy as np

from .compiling import compiled, inner
from .gathered import row_products
from .layout import Sums, enter, label_of, loosened, new_bounds, slack, sure_margin

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


@inner
def _length(X, i, theta):  # type: ignore[no-untyped-def]
    total = X.value.dtype.type(0.0)
    for at in range(X.pointer[i], X.pointer[i + 1]):
        total += theta[X.column[at]] * X.value[at] * X.value[at]
    return total


@inner
def _products(X, i, weights, out):  # type: ignore[no-untyped-def]
    """Set ⟨x_i, ψ_h⟩ for every h; ``weights`` is (d, K), K filled up to whole registers."""
    row_products(
        X.value, X.column, np.int64(X.pointer[i]), np.int64(X.pointer[i + 1]), weights, out
    )


@inner
def _add(X, i, total, factor):  # type: ignore[no-untyped-def]
    for at in range(X.pointer[i], X.pointer[i + 1]):
        total[X.column[at]] += factor * X.value[at]


@inner
def _write_costs(terms, P, best, length, scale, v, table, noise, at):  # type: ignore[no-untyped-def]
    """Write what every label costs a row, and how far that may be off."""
    for h in range(terms.g.shape[0]):
        cost = np.float64(length) + (np.float64(terms.g[h]) - P[h])
        table[at, h] = v * (1.0 - scale * P[h] if terms.directional else cost)
    size = P.dtype.type(1.0) if terms.directional else length
    noise[at] = v * 2.0 * slack(terms, size, best)


@compiled
def _assign_block(X, terms, weight, labels, first, last, tied, fused, sums, bounds, keep, test):  # type: ignore[no-untyped-def]
    """Make the pass over one block; return how many rows changed and how many were sure."""
    K, P = terms.g.shape[0], np.empty(terms.psi.shape[1], X.value.dtype)
    one, zero = X.value.dtype.type(1.0), X.value.dtype.type(0.0)
    changed, sure = 0, 0
    t = np.searchsorted(tied.rows, first)
    for i in range(first, last):
        is_tied = t < tied.rows.shape[0] and tied.rows[t] == i
        slot = t
        wanted = is_tied and tied.slot.shape[0] > 0 and tied.slot[slot] >= 0
        t += is_tied
        old = tied.cheapest[slot] if is_tied else labels[i]
        if test and old >= 0:
            others = bounds.second if old == bounds.at else bounds.largest
            up, low = loosened(bounds.upper[i], bounds.lower[i], bounds.grow, bounds.shrink,
                               bounds.shift[old], others)  # fmt: skip
            bounds.upper[i], bounds.lower[i] = up, low
            if up < low and not wanted:
                sure += 1
                if is_tied:
                    tied.margin[slot] = sure_margin(terms.directional, weight[i], up, low)
                continue
        _products(X, i, terms.psi, P)
        new, best, second = 0, terms.g[0] - P[0], np.inf
        for h in range(1, K):
            value = terms.g[h] - P[h]
            if value < best:
                new, best, second = h, value, best
            elif value < second:
                second = value
        length, scale = zero, one
        if terms.theta.shape[0] > 0 and (is_tied or keep):
            length = _length(X, i, terms.theta)
            if terms.directional:
                scale = one / np.sqrt(length) if length > 0 else zero
        if wanted:
            _write_costs(terms, P, best, length, scale, weight[i], tied.table, tied.noise,
                         tied.slot[slot])  # fmt: skip
        if is_tied:
            noise = 2.0 * slack(terms, one if terms.directional else length, best)
            tied.cheapest[slot], tied.margin[slot] = new, 0.0
            if second < np.inf:  # more than one label
                sure_by = scale * (np.float64(second) - best) - noise
                tied.margin[slot] = max(weight[i] * sure_by, 0.0)
            if keep:
                bounds.upper[i], bounds.lower[i] = new_bounds(
                    terms.directional, terms.error, 0.0, terms.ceiling, length, best, second
                )
            continue
        own = best
        if old >= 0 and new != old:
            own = terms.g[old] - P[old]
            new = label_of(terms.size, terms.epsilon, old, new, own, best)
            if new != old:
                own = best
        if keep:
            other = second if own == best else best
            bounds.upper[i], bounds.lower[i] = new_bounds(
                terms.directional, terms.error, 0.0, terms.ceiling, length, own, other
            )
        if new == old:
            continue
        labels[i] = new
        changed += 1
        if fused:
            factor = weight[i]
            if terms.directional:
                length = _length(X, i, terms.theta)
                factor = factor / np.sqrt(np.float64(length)) if length > 0 else 0.0
            enter(sums, weight[i], new, 1.0)
            _add(X, i, sums.sums[new], factor)
            if old >= 0:
                enter(sums, weight[i], old, -1.0)
                _add(X, i, sums.sums[old], -factor)
    return changed, sure


@compiled
def assign(  # type: ignore[no-untyped-def]
    X, offset, terms, weight, labels, edges, first, last, tied, fused, sums, probe, bounds, found
):  # fmt: skip
    """Do what the pass over dense rows does; ``terms.psi`` is (d, K)."""
    for b in range(first, last):
        part = Sums(sums.count[b], sums.weight[b], sums.sums[b])
        keep, test = (probe.keep, probe.test) if b == 0 else (bounds.keep, bounds.test)
        found[b] = _assign_block(
            X, terms, weight, labels, edges[b], edges[b + 1], tied, fused, part, bounds, keep, test
        )


@compiled
def costs(X, offset, terms, weight, rows, first, last, table, noise):  # type: ignore[no-untyped-def]
    """Write what every label costs some rows, as with dense rows."""
    P = np.empty(terms.psi.shape[1], X.value.dtype)
    one, zero = X.value.dtype.type(1.0), X.value.dtype.type(0.0)
    for at in range(first, last):
        i = rows[at]
        _products(X, i, terms.psi, P)
        length, scale, v = zero, one, weight[i]
        if terms.theta.shape[0] > 0:
            length = _length(X, i, terms.theta)
            if terms.directional:
                scale = one / np.sqrt(length) if length > 0 else zero
        best = terms.g[0] - P[0]
        for h in range(terms.g.shape[0]):
            best = min(best, terms.g[h] - P[h])
        _write_costs(terms, P, best, length, scale, v, table, noise, at)


@inner
def transfer(X, offset, theta, weight, rows, old, new, first, last, sums):  # type: ignore[no-untyped-def]
    """Move rows between the sums, as with dense rows."""
    for at in range(first, last):
        i = rows[at] if rows.shape[0] > 0 else at
        before = old[at] if old.shape[0] > 0 else -1
        after = new[at]
        if before == after:
            continue
        factor = weight[i]
        if theta.shape[0] > 0:
            length = _length(X, i, theta)
            factor = factor / np.sqrt(np.float64(length)) if length > 0 else 0.0
        if after >= 0:
            enter(sums, weight[i], after, 1.0)
            _add(X, i, sums.sums[after], factor)
        if before >= 0:
            enter(sums, weight[i], before, -1.0)
            _add(X, i, sums.sums[before], -factor)


@inner
def moments(X, offset, theta, weight, first, last, one, two, low, high):  # type: ignore[no-untyped-def]
    """Add Σ v s x and Σ v s² x² and note the range of the stored values."""
    for i in range(first, last):
        v, s = weight[i], 1.0
        if theta.shape[0] > 0:
            length = _length(X, i, theta)
            s = 1.0 / np.sqrt(length) if length > 0 else 0.0
        for at in range(X.pointer[i], X.pointer[i + 1]):
            m, value = X.column[at], np.float64(X.value[at])
            one[m] += v * s * value
            two[m] += v * s * s * value * value
            low[m] = min(low[m], value)
            high[m] = max(high[m], value)


@inner
def gradient(X, theta, weight, labels, unit, first, last, by_cluster, squares):  # type: ignore[no-untyped-def]
    """Add Σ v cos by cluster and Σ v cos x̂², as with dense rows."""
    for i in range(first, last):
        length = _length(X, i, theta)
        if length <= 0:
            continue
        h = labels[i]
        product = X.value.dtype.type(0.0)
        for at in range(X.pointer[i], X.pointer[i + 1]):
            product += X.value[at] * unit[h, X.column[at]]
        cosine = product / np.sqrt(np.float64(length))
        by_cluster[h] += weight[i] * cosine
        factor = weight[i] * cosine / length
        for at in range(X.pointer[i], X.pointer[i + 1]):
            squares[X.column[at]] += factor * X.value[at] * X.value[at]


@inner
def lengths(X, offset, theta, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ a x² of every row."""
    for i in range(first, last):
        out[i] = _length(X, i, theta)


@inner
def keys(X, offset, direction, first, last, out):  # type: ignore[no-untyped-def]
    """Project every row."""
    for i in range(first, last):
        total = 0.0
        for at in range(X.pointer[i], X.pointer[i + 1]):
            total += np.float64(X.value[at]) * direction[X.column[at]]
        out[i] = total


@compiled
def seed(X, offset, offered, f, scale, weight, nearest, first, last, found, left):  # type: ignore[no-untyped-def]
    """Write D of rows to some candidates, as with dense rows; their ψ is (d, L)."""
    psi, g = offered.psi, offered.g
    L, P = g.shape[0], np.empty(psi.shape[1], X.value.dtype)
    zero = X.value.dtype.type(0.0)
    for i in range(first, last):
        _products(X, i, psi, P)
        for h in range(L):
            s = scale[i] if scale.shape[0] > 0 else X.value.dtype.type(1.0)
            found[h, i] = max(f[i] + (g[h] - s * P[h]), zero)
            left[h] += weight[i] * min(nearest[i], np.float64(found[h, i]))
