"""The mixtures that are timed: linkfield's beside scikit-learn's, set up alike.

Both set out from the same weights, means and precisions and make ``max_iter`` iterations.
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.mixture import GaussianMixture

from linkfield import ConstrainedGaussianMixture, Groups
from linkfield.bench.data import start_centres

#: Rows that are looked at in one piece for means and variances.
PIECE = 1 << 14


def start(X, K, kind):
    """Return the first parameters: rows as means, the variances of all rows for everyone."""
    total = np.zeros((2, X.shape[1]))
    shift = X[0].astype(np.float64)
    for at in range(0, len(X), PIECE):
        part = X[at : at + PIECE] - shift
        total += part.sum(axis=0), (part**2).sum(axis=0)
    variance = total[1] / len(X) - (total[0] / len(X)) ** 2
    precision = (1.0 / variance).astype(X.dtype)
    precisions = np.tile(precision, (K, 1))
    return {
        "weights_init": np.full(K, 1 / K, X.dtype),
        "means_init": start_centres(X, K),
        "precisions_init": np.tile(np.diag(precision), (K, 1, 1)) if kind == "full" else precisions,
    }


def scikit_mixture(X, K, told=None, *, kind, max_iter, floor=0.0, random_state=0, n_jobs=None):
    """Fit scikit-learn's mixture; its threads are set by the environment alone."""
    return GaussianMixture(
        K, covariance_type=kind, tol=0, reg_covar=floor, max_iter=max_iter,
        init_params="random_from_data", random_state=random_state, **start(X, K, kind),
    ).fit(X)  # fmt: skip


def linkfield_mixture(
    X, K, told=None, *, kind, max_iter, floor=0.0, grouped=0, enforcement="soft", random_state=0,
    n_jobs=-1,
):  # fmt: skip
    """Fit ConstrainedGaussianMixture, with some rows in groups of five."""
    params = start(X, K, kind)
    groups = near_groups(X, params["means_init"], grouped) if grouped else None
    return ConstrainedGaussianMixture(
        K, covariance_type=kind, tol=0, reg_covar=floor, max_iter=max_iter, covariance_prior=None,
        enforcement=enforcement, random_state=random_state, n_jobs=n_jobs, **params,
    ).fit(X, groups=groups)  # fmt: skip


def near_groups(X, centres, n_rows, size=5):
    """Return groups of random rows that have the same nearest centre."""
    rows = np.random.default_rng(0).choice(len(X), min(n_rows, len(X) // 2), replace=False)
    home = cdist(X[rows], centres).argmin(axis=1)
    rows, home = rows[np.argsort(home, kind="stable")], np.sort(home)
    place = np.arange(len(rows)) - np.searchsorted(home, home)
    new = np.r_[True, (home[1:] != home[:-1]) | (place[1:] % size == 0)]
    return Groups(np.split(rows, np.flatnonzero(new)[1:]))
