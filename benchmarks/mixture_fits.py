"""The mixtures that are timed: plain EM on linkfield's engine beside scikit-learn, set up alike.

Both set out from the same weights, means and precisions and make exactly ``max_iter`` iterations.
The M-step here is the textbook's, on the engine's sums: the pass over rows is what is measured.
To time the estimator instead, let ``linkfield_mixture`` fit it and keep the signature.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.mixture import GaussianMixture

from .data import start_centres

#: Added to the variances, as scikit-learn does.
FLOOR = 1e-6

#: Rows that are looked at in one piece for means and variances.
PIECE = 1 << 14


@dataclass
class Fitted:
    """What a fit leaves behind."""

    n_iter_: int
    means_: np.ndarray


def moments(X):
    """Return mean and standard deviation of every feature, without a copy of all rows."""
    total = np.zeros((2, X.shape[1]))
    shift = X[0].astype(np.float64)
    for at in range(0, len(X), PIECE):
        part = X[at : at + PIECE] - shift
        total += part.sum(axis=0), (part**2).sum(axis=0)
    mean = total[0] / len(X)
    return mean + shift, np.sqrt(total[1] / len(X) - mean**2)


def scikit_mixture(X, K, told=None, *, kind, max_iter, random_state=0, n_jobs=None):
    """Fit scikit-learn's mixture; its threads are set by the environment alone."""
    variance = moments(X)[1] ** 2
    precision = (1.0 / variance).astype(X.dtype)
    precisions = np.tile(precision, (K, 1))
    if kind == "full":
        precisions = np.tile(np.diag(precision), (K, 1, 1))
    return GaussianMixture(
        K, covariance_type=kind, tol=0, reg_covar=FLOOR, max_iter=max_iter,
        init_params="random_from_data", weights_init=np.full(K, 1 / K, X.dtype),
        means_init=start_centres(X, K), precisions_init=precisions, random_state=random_state,
    ).fit(X)  # fmt: skip


def linkfield_mixture(X, K, told=None, *, kind, max_iter, grouped=0, random_state=0, n_jobs=-1):
    """Make EM iterations on the engine; grouped rows stand alone, so they change nothing."""
    from linkfield._rows import DenseRows
    from linkfield.engine import GaussianEngine

    mean, spread = moments(X)
    some = np.random.default_rng(random_state).choice(len(X), min(grouped, len(X) // 2), False)
    engine = GaussianEngine(
        DenseRows(X, mean.astype(X.dtype)), None, np.sort(some), kind, K, 1 / spread, n_jobs
    )
    offset = mean.astype(X.dtype).astype(np.float64)
    means, d = (start_centres(X, K) - offset) / spread, X.shape[1]
    weights, covariances = np.full(K, 1 / K), np.ones((K, d))
    if kind == "full":
        covariances = np.tile(np.eye(d), (K, 1, 1))
    for _ in range(max_iter):
        found = engine.expectation(*natural(weights, means, covariances))
        sums = found.weight, found.first, found.second
        if len(some):
            r = np.exp(found.log_joint - found.log_joint.max(axis=1, keepdims=True))
            r /= r.sum(axis=1, keepdims=True)
            sums = [one + other for one, other in zip(sums, engine.add_grouped(r), strict=True)]
        weights, means, covariances = maximised(*sums, FLOOR / spread**2)
    return Fitted(max_iter, means * spread + offset)


def natural(weights, means, covariances):
    """Return constant, linear and quadratic parameters."""
    d = means.shape[1]
    constant = np.log(weights) - 0.5 * d * np.log(2 * np.pi)
    if covariances.ndim == 2:
        linear, quadratic = means / covariances, -0.5 / covariances
        constant -= 0.5 * np.log(covariances).sum(axis=1)
    else:
        precision = np.linalg.inv(covariances)
        linear = np.einsum("jab,jb->ja", precision, means)
        a, b = np.triu_indices(d)
        quadratic = -precision[:, a, b] * np.where(a == b, 0.5, 1.0)
        constant -= 0.5 * np.linalg.slogdet(covariances)[1]
    return constant - 0.5 * np.sum(linear * means, axis=1), linear, quadratic


def maximised(weight, first, second, floor):
    """Return weights, means and covariances from the sums."""
    weight = weight + 10 * np.finfo(float).eps
    means, d = first / weight[:, None], first.shape[1]
    second = second / weight[:, None]
    if second.shape == means.shape:
        return weight / weight.sum(), means, second - means**2 + floor
    covariances = np.empty((len(means), d, d))
    a, b = np.triu_indices(d)
    covariances[:, a, b] = covariances[:, b, a] = second - means[:, a] * means[:, b]
    covariances[:, np.arange(d), np.arange(d)] += floor
    return weight / weight.sum(), means, covariances
