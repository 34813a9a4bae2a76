"""The mixture with groups written out: every label, switch and group label, one by one."""

import itertools
import warnings

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from linkfield import ConstrainedGaussianMixture
from linkfield.estimation.gaussians import GAUSSIANS
from linkfield.estimation.group_structure import GroupArrays


def groups_of(memberships, apart=(), certainty=(), n_groups=None, strength=None):
    """Make flat arrays of (group, row, confidence) triples."""
    group = np.array([m[0] for m in memberships], dtype=np.int64)
    row = np.array([m[1] for m in memberships], dtype=np.int64)
    gamma = np.array([m[2] for m in memberships], dtype=float)
    tau = np.ones(len(group)) if strength is None else np.asarray(strength, float)
    apart = np.array(apart, dtype=np.int64).reshape(-1, 2)
    n = int(group.max(initial=-1)) + 1 if n_groups is None else n_groups
    return GroupArrays(group, row, gamma, tau, apart, np.asarray(certainty, float), n)


def covariance_list(gaussians):
    """The covariance matrix of every component."""
    C, (K, d) = gaussians.covariances, gaussians.means.shape
    return {
        "full": lambda: list(C),
        "tied": lambda: [C] * K,
        "diag": lambda: [np.diag(c) for c in C],
        "spherical": lambda: [c * np.eye(d) for c in C],
    }[gaussians.kind]()


def densities(gaussians, X):
    """q_j(x), by scipy."""
    return np.column_stack(
        [
            multivariate_normal(m, C).pdf(X).reshape(len(X))
            for m, C in zip(gaussians.means, covariance_list(gaussians), strict=True)
        ]
    )


def worlds(weights, q, arrays):
    """Yield (probabilities of all labels z, v, g) for everything that can be.

    v_i is the membership that row i follows, -1 for none; ``labels_of`` says which z is which.
    """
    n, K = q.shape
    z = labels_of(n, K)
    options = [
        [-1, *np.flatnonzero((arrays.row == i) & (arrays.confidence > 0)).tolist()]
        for i in range(n)
    ]
    alone = 1.0 - np.bincount(arrays.row, arrays.confidence, n)
    for g in itertools.product(range(K), repeat=arrays.n_groups):
        base = np.prod([weights[j] for j in g])
        for (a, b), chi in zip(arrays.apart, arrays.apart_certainty, strict=True):
            base *= 1.0 - chi * (g[a] == g[b])
        for v in itertools.product(*options):
            switch, p = base, np.ones(len(z))
            for i, e in enumerate(v):
                switch *= alone[i] if e < 0 else arrays.confidence[e]
                label = weights if e < 0 else np.arange(K) == g[arrays.group[e]]
                p = p * (q[i] * label)[z[:, i]]
            if switch > 0:
                yield switch * p, v, g


def labels_of(n, K):
    """All labellings of n rows, one a line."""
    return np.array(list(itertools.product(range(K), repeat=n)))


def enumerated(weights, q, arrays, beta=None):
    """Everything that a GroupModel gives, from all worlds."""
    n, K = q.shape
    m = len(arrays.group)
    beta = np.zeros(m) if beta is None else beta
    one_hot = (labels_of(n, K)[:, :, None] == np.arange(K)).astype(float)
    total = 0.0
    # Under no condition (entry 0) and given that membership e is right (entry 1 + e).
    mass, label = np.zeros(1 + m), np.zeros((1 + m, n, K))
    group, drawn = np.zeros((1 + m, arrays.n_groups, K)), np.zeros((1 + m, K))
    for p, v, g in worlds(weights, q, arrays):
        chance, labels = p.sum(), np.einsum("z,znk->nk", p, one_hot)
        groups = chance * (np.array(g)[:, None] == np.arange(K))
        draws = labels[np.array(v) < 0].sum(axis=0) + groups.sum(axis=0)
        total += chance
        for c in [0, *(1 + e for e in v if e >= 0)]:
            mass[c] += chance
            label[c] += labels
            group[c] += groups
            drawn[c] += draws
    share = np.append(1.0 - beta.sum(), beta)
    used = share != 0
    scale = np.where(used, share / np.where(mass > 0, mass, 1.0), 0.0)
    with np.errstate(divide="ignore"):
        log_member = np.log(mass[1:] / total)
    return {
        "log_likelihood": np.log(total),
        "log_member": log_member,
        "enforcement": float(beta[beta > 0] @ log_member[beta > 0]),
        "group": group[0] / total,
        "responsibilities": np.einsum("c,cnk->nk", scale, label),
        "draws": scale @ drawn,
        "plain": label[0] / total,
    }


def mixture(*args, **params):
    """A mixture that does not mind stopping early."""
    return ConstrainedGaussianMixture(*args, **{"random_state": 0, "max_iter": 50} | params)


def fitted(model, X, **told):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, **told)


def blobs(seed=0, n=120, d=2, K=3, spread=4.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(K, d))[y], y, rng


def teachers(y, rng, n_rows=40, n_groups=8, confidence=0.5):
    """Groups of rows of one class, each with a wrong row."""
    rows = rng.permutation(len(y))
    triples, used = [], set()
    for g in range(n_groups):
        mine = [i for i in rows.tolist() if y[i] == g % (y.max() + 1) and i not in used]
        mine = mine[: n_rows // n_groups]
        used |= set(mine)
        triples += [(g, i, confidence) for i in mine]
    return groups_of(triples)


def components(model):
    return GAUSSIANS[model.covariance_type](model.weights_, model.means_, model.covariances_)
