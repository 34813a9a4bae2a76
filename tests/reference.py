"""Definitions written out naively, row by row and pair by pair, to compare the library with."""

import numpy as np

from linkfield import Constraints, HMRFKMeans


def single_run(n_clusters, **params):
    """An HMRFKMeans that chooses nothing: one start, and weights of features unless told."""
    return HMRFKMeans(n_clusters, **{"metric": "diagonal", "n_init": 1, **params})


def xlogx_over(x, m):
    """Return x ln(x/m), 0 where x is 0."""
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0) / m), 0.0)


def cosine(x, y, a):
    nx, ny = np.sqrt(a @ x**2), np.sqrt(a @ y**2)
    return 0.0 if nx == 0 or ny == 0 else float((a * x) @ y / (nx * ny))


def divergence(name, x, m, a):
    """D_a(x, m) of maths.md 2.1, term by term; ``a`` is a vector or, for euclidean, a matrix."""
    if name == "euclidean":
        A = np.diag(a) if a.ndim == 1 else a
        return float((x - m) @ A @ (x - m))
    if name == "cosine":
        return 1.0 - cosine(x, m, a)
    if name == "correlation":
        return 1.0 - cosine(x - x.mean(), m - m.mean(), a)
    if name in ("i-divergence", "kl"):
        return float(a @ (xlogx_over(x, m) - (x - m)))
    if name == "itakura-saito":
        return float(a @ (x / m - np.log(x / m) - 1.0))
    if name == "logistic":
        return float(a @ (xlogx_over(x, m) + xlogx_over(1.0 - x, 1.0 - m)))
    raise AssertionError(name)


def pair_penalty(name, x, y, a):
    """φ_a(x, y) of maths.md 2.2."""
    if name in ("euclidean", "cosine", "correlation"):
        return divergence(name, x, y, a)
    m = (x + y) / 2.0
    return divergence(name, x, m, a) + divergence(name, y, m, a)


def prepared(name, X):
    """Rows as the measure sees them."""
    return X / X.sum(axis=1, keepdims=True) if name == "kl" else X


def largest_penalty(name, X, a):
    """The default φmax(θ) of maths.md 2.2."""
    low, high = X.min(axis=0), X.max(axis=0)
    if name == "euclidean" and a.ndim == 1:
        return float(a @ (high - low) ** 2)
    if name == "euclidean":
        centred = X - X.mean(axis=0)
        cov = centred.T @ centred / len(X)
        cov += 1e-9 * np.trace(cov) / len(cov) * np.eye(len(cov))
        radius = max(float(z @ np.linalg.solve(cov, z)) for z in centred)
        return float(np.sum(a * 4.0 * radius * (1.0 + 1e-6) * cov))
    if name == "cosine":
        return 1.0 if X.min() >= 0 else 2.0
    if name == "correlation":
        return 2.0
    if name in ("i-divergence", "kl"):
        return float(np.log(2.0) * np.sort(X @ a)[-2:].sum())
    return pair_penalty(name, low, high, a)


def violation_cost(shape, kind, phi, top):
    """f^M or f^C of maths.md B3."""
    if shape == "potts":
        return 1.0
    if shape == "hmrf":
        return phi if kind == "must" else top - phi
    return max(0.0, top - phi) if kind == "must" else min(phi, top)


def augmented(constraints: Constraints):
    """Every given and entailed pair: (a, b, kind, weight)."""
    return [tuple(line) for line in constraints.closure().pairs().pairs().tolist()]


def pair_energy(name, shape, X, labels, pairs, theta, start_theta):
    """Σ w f over violated pairs; ``theta`` is one metric, or a list with one a cluster."""
    shared = not isinstance(theta, list)

    def phi(i, j, t):
        return pair_penalty(name, X[i], X[j], t)

    top = None
    if shape == "mpc2003":
        must = [phi(i, j, start_theta) for i, j, kind, _ in pairs if kind == "must"]
        every = [phi(i, j, start_theta) for i, j, _, _ in pairs]
        top = max(must or every or [0.0])
    total = 0.0
    for i, j, kind, w in pairs:
        left, right = labels[i], labels[j]
        if (left == right) == (kind == "must"):
            continue
        if shared:
            limit = largest_penalty(name, X, theta) if shape == "hmrf" else top
            total += w * violation_cost(shape, kind, phi(i, j, theta), limit)
        else:
            for h in (left, right):
                limit = largest_penalty(name, X, theta[h]) if shape == "hmrf" else top
                total += 0.5 * w * violation_cost(shape, kind, phi(i, j, theta[h]), limit)
    return total


def directional_gradient(distortion, rows, weight, labels, M, metric):
    """Return ∂/∂a Σ v D of a directional measure, put together from its two parts."""
    from linkfield.estimation import summarize

    sums = summarize(distortion, rows, weight, labels, metric, len(M)).sums
    slopes = distortion.slopes(rows, weight, labels, M, metric)
    return distortion.gradient(sums, *slopes, M, metric)
