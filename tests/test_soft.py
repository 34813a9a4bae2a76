"""Soft assignment: the free energy falls, is what it says, and has the limits that it should."""

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import (
    augmented,
    divergence,
    largest_penalty,
    pair_penalty,
    prepared,
    single_run,
    violation_cost,
)
from scipy import sparse
from scipy.special import logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_laws import COMBINATIONS, assert_falls, naive_regulariser, problem, quiet_fit

from linkfield import (
    ConstrainedKMeans,
    Constraints,
    COPKMeans,
    KMeansI,
    MKMeans,
    PCKMeans,
    SeededKMeans,
)
from linkfield._rows import as_rows
from linkfield.constraints import tie
from linkfield.distortions import METRICS, Cosine, SquaredEuclidean, as_penalty
from linkfield.estimation import PairTerms, soft_slopes, soft_statistics, summarize
from linkfield.inference import ICM, MeanField

seeds = st.integers(0, 10_000)


def soft(K, T, **params):
    return single_run(K, assignment="soft", inference=MeanField(temperature=T), **params)


def weighted(must, cannot):
    """Constraints of (a, b, weight)."""
    parts = {"must_link": [m[:2] for m in must], "cannot_link": [c[:2] for c in cannot]}
    return Constraints(
        **parts,
        must_link_weight=[m[2] for m in must] or 1.0,
        cannot_link_weight=[c[2] for c in cannot] or 1.0,
    )


# ------------------------------------------------- F from its definition, by loops


def pair_table(name, shape, x, y, kind, each, X, start):
    """What a pair costs under all pairs of labels."""
    K = len(each)

    def cost(theta):
        phi = pair_penalty(name, x, y, theta)
        limit = largest_penalty(name, X, theta) if shape == "hmrf" else start
        return violation_cost(shape, kind, phi, limit)

    one = [cost(theta) for theta in each]
    broken = [[(h == g) == (kind == "cannot") for g in range(K)] for h in range(K)]
    return np.array([[0.5 * (one[h] + one[g]) for g in range(K)] for h in range(K)]) * broken


def alpha(name, X, pairs):
    """α_max of the 2003 penalty, under the starting metric."""
    plain = np.ones(X.shape[1])
    must = [pair_penalty(name, X[i], X[j], plain) for i, j, kind, _ in pairs if kind == "must"]
    every = [pair_penalty(name, X[i], X[j], plain) for i, j, _, _ in pairs]
    return max(must or every or [0.0])


def naive_free_energy(model, X, known, T, weight=None, M=None, theta=None):
    """F(q, M, θ) of maths.md 4.5 by loops; M and θ those of the model unless others are given."""
    name, shape, q, K = model.distortion, model.penalty, model.marginals_, model.n_clusters
    v = np.ones(len(X)) if weight is None else weight
    rows = prepared(name, X)
    M = model.cluster_centers_ if M is None else M
    theta = model.metric_ if theta is None else theta
    per_cluster = model.metric.endswith("per-cluster")
    each = [theta[h] if per_cluster else theta for h in range(K)]
    zeta = model._model.smoothing
    u0 = np.full(X.shape[1], 0.5 if name == "logistic" else (v @ rows).sum() / v.sum() / X.shape[1])
    total = 0.0
    for i, x in enumerate(rows):
        for h in range(K):
            cost = divergence(name, x, M[h], each[h])
            cost += zeta * divergence(name, u0, M[h], each[h]) if zeta else 0.0
            log = np.log(q[i, h]) if q[i, h] > 0 else 0.0
            total += v[i] * q[i, h] * (cost + T * log)
    pairs = augmented(known)
    start = alpha(name, rows, pairs) if shape == "mpc2003" else None
    for i, j, kind, w in pairs:
        table = pair_table(name, shape, rows[i], rows[j], kind, each, rows, start)
        total += model.constraint_weight * w * float(q[i] @ table @ q[j])
    return total + naive_soft_regulariser(model, rows, v, each)


def naive_soft_regulariser(model, rows, v, each):
    """R(θ), whose log determinants are expected ones."""
    total = naive_regulariser(model, rows, v, each)
    if not model.metric.endswith("per-cluster"):
        return total
    logdet = [np.linalg.slogdet(t)[1] if t.ndim == 2 else np.log(t).sum() for t in each]
    total += sum(v[i] * logdet[h] for i, h in enumerate(model.labels_.tolist()))
    return total - sum(v[i] * float(q @ logdet) for i, q in enumerate(model.marginals_))


@pytest.mark.parametrize(("distortion", "metric", "penalty"), COMBINATIONS)
def test_free_energy_falls_in_every_step_and_is_what_it_says(distortion, metric, penalty):
    T = 0.02 if metric == "identity" else 0.8
    for seed in (0, 1):
        X, _, known, rng = problem(seed, n=24, n_pairs=16)
        model = soft(
            3, T, distortion=distortion, metric=metric, penalty=penalty, constraint_weight=0.3,
            max_iter=8, tol=0.0, random_state=seed,
        )  # fmt: skip
        weight = rng.uniform(0.2, 2.0, len(X)) if seed and penalty == "potts" else None
        quiet_fit(model, X, constraints=known, sample_weight=weight)
        assert_falls(model, len(X))
        F = naive_free_energy(model, X, known, T, weight)
        assert_allclose(model.objective_, F, rtol=1e-7, atol=1e-7)
        assert model.objective_ == model.history_["objective"][-1]
        assert_allclose(model.marginals_.sum(axis=1), 1.0)
        assert_array_equal(model.labels_, model.marginals_.argmax(axis=1))
        assert model.lower_bound_ == -np.inf


DESCENT = [("euclidean", "diagonal", "hmrf"), ("euclidean", "full", "hmrf"),
           ("euclidean", "diagonal-per-cluster", "hmrf"), ("euclidean", "full-per-cluster", "hmrf"),
           ("euclidean", "full", "potts"), ("itakura-saito", "diagonal", "hmrf"),
           ("i-divergence", "diagonal", "hmrf"), ("cosine", "diagonal", "hmrf")]  # fmt: skip


@pytest.mark.parametrize(("distortion", "metric", "penalty"), DESCENT)
def test_no_small_change_of_centres_or_metric_lowers_the_free_energy(distortion, metric, penalty):
    """Central differences of F, by loops, at the end of a fit: all 0."""
    rng = np.random.default_rng(2)
    X = rng.uniform(0.2, 0.9, (24, 3)) + 0.1 * (np.arange(24)[:, None] % 2)
    known = Constraints(must_link=[(0, 2), (1, 3), (4, 7)], cannot_link=[(0, 1), (5, 8), (6, 7)])
    T = 0.02 if distortion == "cosine" else 2.0
    model = soft(
        2, T, distortion=distortion, metric=metric, penalty=penalty, constraint_weight=0.3,
        max_iter=3000, tol=1e-12, random_state=0,
    )  # fmt: skip
    quiet_fit(model, X, constraints=known)
    M, theta = model.cluster_centers_, model.metric_
    assert model.marginals_.min(axis=1).max() > 0.02  # someone is in doubt
    step = 1e-4
    for _ in range(6):
        along = rng.normal(size=M.shape) * X.std()
        ends = [naive_free_energy(model, X, known, T, M=M + s * along) for s in (-step, step)]
        bend = abs(sum(ends) - 2 * model.objective_) / step**2
        assert abs(ends[1] - ends[0]) / (2 * step) <= 2e-4 * (1.0 + bend)
        along = rng.normal(size=theta.shape)
        along = along + np.swapaxes(along, -1, -2) if metric.startswith("full") else along
        along = along * np.abs(theta).max() * 0.1 if metric.startswith("full") else along * theta
        ends = [naive_free_energy(model, X, known, T, theta=theta + s * along)
                for s in (-step, step)]  # fmt: skip
        bend = abs(sum(ends) - 2 * model.objective_) / step**2
        assert bend > 1e-3  # F does depend on it
        assert abs(ends[1] - ends[0]) / (2 * step) <= 2e-4 * (1.0 + bend)


# ----------------------------------------------------- sums and pairs under q


def every_labelling(n, K):
    return np.array(list(product(range(K), repeat=n)))


@pytest.mark.parametrize(
    ("metric", "penalty"), [(m, p) for name, m, p in COMBINATIONS if name == "euclidean"]
)
def test_pair_terms_of_probabilities_are_expectations(metric, penalty):
    """Energy and derivative under q: the mean over all labellings, each by its probability."""
    rng = np.random.default_rng(3)
    K, X, measure = 3, rng.normal(size=(5, 2)), SquaredEuclidean()
    known = weighted([(0, 1, 0.5), (2, 3, 1.0)], [(0, 2, 2.0), (1, 4, 1.0), (3, 4, 1.0)])
    start = METRICS[metric].start(2, K)
    theta = rng.uniform(0.5, 2.0, start.theta.shape)
    theta = theta @ np.swapaxes(theta, -1, -2) if start.full else theta
    theta = type(start)(theta)
    shape = as_penalty(penalty)
    ties = tie(known, closure=False)
    bound = measure.bound("auto", as_rows(X), theta) if shape.bounded else None
    terms = PairTerms(ties, as_rows(X), measure, shape, bound)
    q = rng.dirichlet(np.ones(K), 5)
    energy, slope = 0.0, np.zeros_like(theta.theta)
    for labels in every_labelling(5, K):
        p = q[np.arange(5), labels].prod()
        energy += p * terms.energy(labels, theta)
        slope += p * terms.gradient(labels, theta)
    assert_allclose(terms.energy(q, theta), energy, rtol=1e-12)
    assert_allclose(terms.gradient(q, theta), slope, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("metric", ["diagonal", "diagonal-per-cluster"])
def test_pairs_inside_a_node_always_agree(metric):
    """Rows 0, 1 and 2 share a label; a cannot-link between two of them is broken for certain."""
    rng = np.random.default_rng(5)
    K, X, measure = 3, rng.normal(size=(5, 2)), SquaredEuclidean()
    known = weighted([(0, 1, np.inf), (1, 2, np.inf), (0, 2, 0.3), (3, 4, 1.0)],
                     [(0, 2, 2.0), (1, 4, 1.0)])  # fmt: skip
    ties = tie(known, closure=False)
    assert ties.n_nodes == 3
    theta = METRICS[metric].start(2, K)
    theta = type(theta)(rng.uniform(0.5, 2.0, theta.theta.shape))
    bound = measure.bound("auto", as_rows(X), theta)
    terms = PairTerms(ties, as_rows(X), measure, as_penalty("hmrf"), bound)
    q = rng.dirichlet(np.ones(K), 3)
    energy, slope = 0.0, np.zeros_like(theta.theta)
    for nodes in every_labelling(3, K):
        p = q[np.arange(3), nodes].prod()
        energy += p * terms.energy(nodes[ties.node], theta)
        slope += p * terms.gradient(nodes[ties.node], theta)
    rows = q[ties.node]
    assert_allclose(terms.energy(rows, theta), energy, rtol=1e-12)
    assert_allclose(terms.gradient(rows, theta), slope, rtol=1e-11)


@pytest.mark.parametrize("measure", [SquaredEuclidean(), Cosine()])
def test_statistics_under_probabilities_are_expectations(measure):
    rng = np.random.default_rng(4)
    n, K = 4, 3
    rows, q = as_rows(rng.random((n, 2))), rng.dirichlet(np.ones(K), n)
    weight, M = np.array([1.0, 2.0, 0.0, 0.5]), rng.random((K, 2))
    kinds = ["diagonal", "diagonal-per-cluster"] if measure.bregman else ["diagonal"]
    for kind in kinds:
        metric = METRICS[kind].start(2, K)
        found = soft_statistics(measure, rows, weight, q, metric)
        parts = ("count", "weight", "sums", "moment") if metric.per_cluster else ("weight", "sums")
        expected = dict.fromkeys(parts, 0.0)
        slopes = [0.0, 0.0]
        for labels in every_labelling(n, K):
            p = q[np.arange(n), labels].prod()
            one = summarize(measure, rows, weight, labels, metric, K)
            expected = {k: expected[k] + p * getattr(one, k) for k in parts}
            if not measure.bregman:
                part = measure.slopes(rows, weight, labels, M, metric)
                slopes = [a + p * b for a, b in zip(slopes, part, strict=True)]
        for k in parts:
            assert_allclose(getattr(found, k), expected[k], rtol=1e-12)
        if not measure.bregman:
            mine = soft_slopes(measure, rows, weight, q, M, metric)
            for a, b in zip(mine, slopes, strict=True):
                assert_allclose(a, b, rtol=1e-12)


# --------------------------------------------------------------------- limits


def naive_mixture(X, M, n_iter, variance=None):
    """EM of Gaussians of equal weight: fixed variance σ²I, or one covariance that is learned.

    Where it is learned, the first memberships are those of the nearest centre.
    """
    n, d = X.shape
    C = np.eye(d) if variance is None else variance * np.eye(d)
    for k in range(n_iter):
        D = np.array([[(x - m) @ np.linalg.solve(C, x - m) for m in M] for x in X])
        r = softmax(-0.5 * D, axis=1)
        r = np.eye(len(M))[D.argmin(axis=1)] if k == 0 and variance is None else r
        M = np.array([r[:, h] @ X / r[:, h].sum() for h in range(len(M))])
        if variance is None:
            C = sum(r[i, h] * np.outer(X[i] - M[h], X[i] - M[h])
                    for i in range(n) for h in range(len(M))) / n  # fmt: skip
    D = np.array([[(x - m) @ np.linalg.solve(C, x - m) for m in M] for x in X])
    log_density = logsumexp(-0.5 * D, axis=1) - 0.5 * np.linalg.slogdet(C)[1]
    return M, C, softmax(-0.5 * D, axis=1), log_density.sum()


@given(seeds)
def test_it_is_em_of_a_spherical_gaussian_mixture(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 2.0 * rng.integers(0, 3, 40)[:, None]
    variance, start = float(rng.uniform(0.3, 2.0)), X[:3]
    args = {"metric": "identity", "init": start, "max_iter": 7, "tol": 0.0}
    model = quiet_fit(soft(3, 2.0 * variance, **args), X)
    M, _, r, likelihood = naive_mixture(X, start, 7, variance)
    assert_allclose(model.cluster_centers_, M, rtol=1e-8, atol=1e-8)
    assert_allclose(model.marginals_, r, atol=1e-8)
    assert_allclose(model.predict_proba(X), r, atol=1e-8)
    T = 2.0 * variance
    at_end = T * (likelihood + 0.5 * len(X) * 2 * np.log(variance))
    assert_allclose(model.objective_, -at_end, rtol=1e-9)


@given(seeds)
def test_with_a_learned_matrix_it_is_em_with_one_covariance(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) * [1.0, 3.0] + 2.0 * rng.integers(0, 2, 40)[:, None]
    start = X[:2]
    args = {"metric": "full", "metric_prior": None, "init": start, "max_iter": 6, "tol": 0.0}
    model = quiet_fit(soft(2, 2.0, **args), X)
    M, C, r, likelihood = naive_mixture(X, start, 6)
    assert_allclose(model.cluster_centers_, M, rtol=1e-7, atol=1e-7)
    assert_allclose(np.linalg.inv(model.metric_), C, rtol=1e-6, atol=1e-7)
    assert_allclose(model.marginals_, r, atol=1e-6)
    assert_allclose(model.objective_, -2.0 * likelihood, rtol=1e-8)


COLD = [("euclidean", "diagonal"), ("euclidean", "full"), ("euclidean", "full-per-cluster"),
        ("cosine", "diagonal"), ("correlation", "diagonal"), ("i-divergence", "diagonal"),
        ("kl", "identity"), ("logistic", "diagonal"), ("itakura-saito", "diagonal")]  # fmt: skip


@pytest.mark.parametrize(("distortion", "metric"), COLD)
@pytest.mark.parametrize("tied", [False, True])
def test_without_heat_it_is_the_hard_fit(distortion, metric, tied):
    same = 0
    for seed in range(5):
        X, y, _, rng = problem(seed, n=60)
        known = Constraints.from_labels(y, n_pairs=20, random_state=rng) if tied else None
        start = np.array([X[y == c].mean(axis=0) for c in range(3)])
        args = {"distortion": distortion, "metric": metric, "init": start, "random_state": 0}
        args |= {"max_iter": 30, "tol": 0.0}
        hard = quiet_fit(single_run(3, **args), X, constraints=known)
        cold = quiet_fit(soft(3, 1e-12, **args), X, constraints=known)
        if "refill" in hard.history_["step"] or not np.array_equal(hard.labels_, cold.labels_):
            assert tied  # several starts of the mean field may find something else
            continue
        same += 1
        assert_allclose(cold.objective_, hard.objective_, rtol=1e-6)
        assert_allclose(cold.cluster_centers_, hard.cluster_centers_, rtol=1e-5, atol=1e-7)
        assert set(np.unique(cold.marginals_.round(9))) <= {0.0, 1.0}
    assert same >= (4 if tied else 5)


def test_much_heat_makes_all_clusters_one():
    X, _, known, _ = problem(0)
    with pytest.warns(ConvergenceWarning, match="too high a temperature"):
        model = soft(3, 1e4, metric="identity", random_state=0).fit(X, constraints=known)
    assert_allclose(model.marginals_, 1 / 3, atol=1e-3)
    assert_allclose(model.cluster_centers_, np.tile(X.mean(axis=0), (3, 1)), atol=1e-3)


def test_a_cluster_of_almost_no_weight_keeps_its_centre():
    """Memberships of one unit in the last place: their sums are nothing, 0 in the worst case."""
    X, start = np.full((6, 1), 0.3), np.array([[0.3], [3.0]])
    T = divergence("itakura-saito", X[0], start[1], np.ones(1)) / 744.3
    model = soft(2, T, distortion="itakura-saito", metric="identity", init=start)
    quiet_fit(model, X)
    assert 0.0 < model.marginals_[0, 1] < 1e-320
    assert_allclose(model.cluster_centers_, start)
    assert np.isfinite(model.history_["objective"]).all()


@pytest.mark.parametrize("metric", ["identity", "diagonal"])
def test_the_first_assignment_under_a_metric_to_be_learned_is_cold(metric):
    """T is no measure of distances under the starting metric; here it would drown the start."""
    calls = []

    class Watched(MeanField):
        def relax(self, field, **params):
            calls.append((params["weight"].max() == 0.0, params["before"] is None, params["fresh"]))
            return super().relax(field, **params)

    X, _, known, _ = problem(1)
    model = single_run(3, metric=metric, assignment="soft", max_iter=3, tol=0.0, random_state=0)
    model.inference = Watched(temperature=2.0)
    quiet_fit(model, X, constraints=known)
    learned = metric != "identity"
    assert calls[0] == (learned, True, True)
    assert calls[1] == (False, False, learned)  # now the starts at T
    assert calls[2:] == [(False, False, False)] * 2
    alike = np.ptp(model.marginals_, axis=1).max() < 0.5
    assert alike != learned


# ------------------------------------------------------------- what ties do


def test_links_pull_and_push_memberships():
    X = np.array([[0.0], [0.1], [1.0], [1.1], [0.5], [0.52]])
    T = 0.2
    start = [[0.0], [1.0]]
    args = {"metric": "identity", "penalty": "potts", "init": start, "max_iter": 1}
    free = quiet_fit(soft(2, T, **args), X).marginals_
    must = Constraints(must_link=[(0, 4)])
    cannot = Constraints(cannot_link=[(4, 5)])
    pulled = quiet_fit(soft(2, T, **args), X, constraints=must).marginals_
    pushed = quiet_fit(soft(2, T, **args), X, constraints=cannot).marginals_
    assert pulled[4, 0] > free[4, 0] + 0.2
    assert pushed[4] @ pushed[5] < free[4] @ free[5] - 0.3


@given(seeds)
def test_hard_must_links_give_one_membership(seed):
    """A node's F: expected costs of its rows, its entropy once, with the mean weight."""
    X, y, _, rng = problem(seed, n=30)
    groups = [np.flatnonzero(y == 0)[:3], np.flatnonzero(y == 1)[:2]]
    links = [(int(g[0]), int(j), np.inf) for g in groups for j in g[1:]]
    apart = [(int(groups[0][0]), int(groups[1][0]), 0.05), (int(groups[0][0]), 29, 0.1)]
    known = weighted(links, apart)
    weight = rng.uniform(0.5, 2.0, 30)
    T = 0.05
    model = soft(3, T, metric="identity", penalty="potts", closure=False, random_state=0)
    quiet_fit(model, X, constraints=known, sample_weight=weight)
    assert_falls(model, len(X))
    q = model.marginals_
    entropy = -(q * np.log(np.maximum(q, 1e-300))).sum(axis=1)
    counts = weight.copy()
    for g in groups:
        assert_array_equal(q[g], np.tile(q[g[0]], (len(g), 1)))
        counts[g] = weight[g].mean() / len(g)
    D = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    F = (weight[:, None] * q * D).sum() - T * counts @ entropy
    for i, j, w in apart:
        inside = any(i in g and j in g for g in groups)
        F += w * (1.0 if inside else q[i] @ q[j])
    assert_allclose(model.objective_, F, rtol=1e-9)


def test_labels_read_absolutely():
    X, y, _, _ = problem(1)
    partial = np.where(np.arange(len(y)) % 3 == 0, y, -1)
    some = partial >= 0
    args = {"label_reading": "absolute", "random_state": 0, "metric": "identity"}
    held = soft(3, 0.05, constraint_weight=np.inf, **args)
    quiet_fit(held, X, partial_labels=partial)
    assert_array_equal(held.marginals_[some], np.eye(3)[partial[some]])
    assert_falls(held, len(X))
    told = quiet_fit(soft(3, 0.05, constraint_weight=0.02, **args), X, partial_labels=partial)
    D = ((X[:, None] - told.cluster_centers_) ** 2).sum(axis=2)
    D[some] += 0.02 * (1.0 - np.eye(3)[partial[some]])
    assert_allclose(told.marginals_, softmax(-D / 0.05, axis=1), atol=1e-9)
    assert_allclose(told.objective_, -0.05 * logsumexp(-D / 0.05, axis=1).sum(), rtol=1e-9)


# ---------------------------------------------------------------- invariances

SMALL = [("euclidean", "diagonal"), ("euclidean", "full"), ("cosine", "diagonal"),
         ("correlation", "diagonal"), ("i-divergence", "diagonal"), ("kl", "identity")]  # fmt: skip


@pytest.mark.parametrize(("distortion", "metric"), SMALL)
def test_dense_equals_sparse_in_any_order_of_rows(distortion, metric):
    T = 0.005 if distortion in ("cosine", "correlation", "kl") else 1.0
    for seed in range(3):
        X, _, known, rng = problem(seed)
        X = np.where(rng.random(X.shape) < 0.2, 0.0, X)
        X[:, 0] += 0.1
        start = X[rng.choice(len(X), 3, replace=False)] + 0.01
        args = {"distortion": distortion, "metric": metric, "init": start, "random_state": 0}
        args |= {"max_iter": 10, "tol": 0.0}
        dense = quiet_fit(soft(3, T, **args), X, constraints=known)
        csr = quiet_fit(soft(3, T, **args), sparse.csr_array(X), constraints=known)
        assert_allclose(dense.marginals_, csr.marginals_, atol=1e-6)
        assert_allclose(dense.objective_, csr.objective_, rtol=1e-8, atol=1e-8)
        order = rng.permutation(len(X))
        other = quiet_fit(soft(3, T, **args), X[order], constraints=known.restrict(order))
        assert_allclose(dense.marginals_[order], other.marginals_, atol=1e-6)
        assert_allclose(dense.objective_, other.objective_, rtol=1e-9, atol=1e-9)


@given(seeds)
def test_weights_equal_repetition_of_free_rows(seed):
    X, _, known, rng = problem(seed)
    tied = np.unique(known.closure().rows)
    times = rng.integers(0, 4, len(X))
    times[tied] = 1
    order = np.r_[tied, np.repeat(np.setdiff1d(np.arange(len(X)), tied),
                                  times[np.setdiff1d(np.arange(len(X)), tied)])]  # fmt: skip
    place = np.full(len(X), -1)
    place[tied] = np.arange(len(tied))
    pairs = known.pairs()
    moved = {
        kind: [(place[a], place[b], w) for a, b, k, w in pairs.tolist() if k == kind]
        for kind in ("must", "cannot")
    }
    again = weighted(moved["must"], moved["cannot"])
    args = {"init": X[:3], "penalty": "potts", "max_iter": 10, "tol": 0.0, "random_state": 0}
    heavy = quiet_fit(soft(3, 0.8, **args), X, constraints=known, sample_weight=times)
    twice = quiet_fit(soft(3, 0.8, **args), X[order], constraints=again)
    assert_allclose(heavy.marginals_[order], twice.marginals_, atol=1e-6)
    assert_allclose(heavy.objective_, twice.objective_, rtol=1e-8, atol=1e-8)


def test_a_tied_row_with_a_link_that_costs_nothing_is_free():
    """The entropy of a tied row counts by its weight, too: nothing jumps when a link weakens."""
    X, _, _, rng = problem(3)
    weight = rng.uniform(0.5, 3.0, len(X))
    args = {"metric": "identity", "penalty": "potts", "init": X[:3], "max_iter": 5, "tol": 0.0}
    free = quiet_fit(soft(3, 0.05, **args), X, sample_weight=weight)
    known = weighted([(0, 5, 1e-13), (7, 8, 1e-13)], [(1, 2, 1e-13)])
    tied = quiet_fit(soft(3, 0.05, **args), X, sample_weight=weight, constraints=known)
    assert_allclose(free.marginals_, tied.marginals_, atol=1e-9)
    assert_allclose(free.objective_, tied.objective_, rtol=1e-10)


def test_tied_rows_of_no_weight_and_single_precision():
    X, _, known, rng = problem(4)
    weight = (rng.random(len(X)) < 0.7).astype(float)
    model = soft(3, 0.5, random_state=0)
    quiet_fit(model, X, constraints=known, sample_weight=weight)
    assert_falls(model, len(X))
    assert np.isfinite(model.marginals_).all()
    single = quiet_fit(soft(3, 0.5, random_state=0), X.astype(np.float32), constraints=known)
    assert_falls(single, len(X))
    assert single.marginals_.dtype == np.float64
    double = quiet_fit(soft(3, 0.5, random_state=0), X.astype(np.float32).astype(float),
                       constraints=known)  # fmt: skip
    assert_allclose(single.objective_, double.objective_, rtol=1e-4)


@pytest.mark.parametrize("distortion", ["euclidean", "cosine"])
def test_number_of_threads_changes_no_bit(distortion):
    rng = np.random.default_rng(0)
    X = rng.random((3000, 4))
    known = Constraints(must_link=[(0, 1), (5, 9)], cannot_link=[(1, 5), (2, 3)])
    args = {"distortion": distortion, "max_iter": 4, "random_state": 0}
    one, two = (soft(3, 0.05, n_jobs=n, **args) for n in (1, 2))
    quiet_fit(one, X, constraints=known)
    quiet_fit(two, X, constraints=known)
    assert_array_equal(one.marginals_, two.marginals_)
    assert_array_equal(one.history_, two.history_)


# -------------------------------------------------------------- the estimator


def test_memberships_of_free_rows_are_those_that_predict_proba_gives():
    X, _, known, _ = problem(0)
    for params in ({}, {"distortion": "i-divergence"}, {"metric": "full-per-cluster"}):
        model = quiet_fit(soft(3, 0.8, random_state=0, **params), X, constraints=known)
        free = np.setdiff1d(np.arange(len(X)), known.closure().rows)
        assert len(free) > 3
        likely = model.predict_proba(X)
        assert_allclose(likely[free], model.marginals_[free], atol=1e-8)
        assert_array_equal(likely.argmax(axis=1), model.predict(X))
        assert np.abs(likely - model.marginals_).max() > 1e-3  # tied rows know more


def test_several_starts_keep_the_least_free_energy():
    X, _, known, _ = problem(6, n_classes=5)
    one, ten = (soft(5, 0.1, n_init=n, init="random", random_state=2) for n in (1, 10))
    quiet_fit(one, X, constraints=known)
    quiet_fit(ten, X, constraints=known)
    assert ten.objective_ < one.objective_


def test_warm_start_goes_on_and_one_kind_follows_the_other():
    X, _, known, _ = problem(1)
    model = soft(3, 0.5, warm_start=True, random_state=0, tol=1e-8, max_iter=500)
    quiet_fit(model, X, constraints=known)
    reached = model.objective_
    quiet_fit(model, X, constraints=known)
    assert model.n_iter_ <= 5
    assert model.objective_ <= reached + 1e-9 * abs(reached)
    model.set_params(assignment="hard")
    quiet_fit(model, X, constraints=known)
    assert not hasattr(model, "marginals_")
    assert_falls(model, len(X))
    plain = single_run(3, inference=model.inference, random_state=0, tol=1e-8, max_iter=500)
    quiet_fit(plain, X, constraints=known)
    assert_allclose(model.objective_, plain.objective_, rtol=1e-3)
    assert model.objective_ > reached  # a soft fit gains the entropy
    model.set_params(assignment="soft", inference__temperature=0.25)
    quiet_fit(model, X, constraints=known)
    assert_allclose(model.marginals_.sum(axis=1), 1.0)
    assert model._temperature == 0.25


def test_clone_pickle_and_explain():
    X, _, known, _ = problem(1)
    model = quiet_fit(soft(3, 0.5, random_state=0), X, constraints=known)
    copy = clone(model)
    assert copy.get_params()["inference__temperature"] == 0.5
    assert_array_equal(quiet_fit(copy, X, constraints=known).marginals_, model.marginals_)
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.marginals_, model.marginals_)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert "cluster" in str(model.explain(0))


def test_a_hard_fit_by_mean_field_is_a_hard_fit():
    X, _, known, _ = problem(2)
    model = single_run(3, inference=MeanField(temperature=0.1), random_state=0)
    quiet_fit(model, X, constraints=known)
    assert_falls(model, len(X))
    assert not hasattr(model, "marginals_")
    icm = quiet_fit(single_run(3, random_state=0), X, constraints=known)
    assert model.objective_ <= icm.objective_ + 0.05 * abs(icm.objective_)


def test_what_soft_assignment_cannot_do_is_refused():
    X = np.random.default_rng(0).random((5000, 2))
    few = X[:20]
    with pytest.raises(ValueError, match="assignment must be 'hard' or 'soft', got 'fuzzy'"):
        single_run(2, assignment="fuzzy").fit(few)
    for inference in ("icm", ICM()):
        with pytest.raises(ValueError, match=r"inference=linkfield.inference.MeanField\(temp"):
            single_run(2, assignment="soft", inference=inference).fit(few)
    with pytest.raises(ValueError, match="temperature must be a positive number"):
        soft(2, -1.0).fit(few)
    hard = weighted([], [(0, 1, np.inf)])
    with pytest.raises(ValueError, match=r"hard cannot-links.*finite weights"):
        soft(2, 1.0).fit(few, constraints=hard)
    with pytest.raises(ValueError, match="hard cannot-links"):
        soft(2, 1.0, constraint_weight=np.inf).fit(few, partial_labels=np.arange(20) % 2)
    labels = np.zeros(5000, dtype=int)
    with pytest.raises(ValueError, match="assignment='soft' needs; take closure=False"):
        soft(2, 1.0).fit(X, partial_labels=labels)


@pytest.mark.parametrize("cls", [MKMeans, KMeansI, SeededKMeans, ConstrainedKMeans, COPKMeans])
def test_methods_of_labels_have_no_assignment(cls):
    assert "assignment" not in cls().get_params()
    assert cls().assignment == "hard"


def test_named_methods_can_be_soft():
    X, _, known, _ = problem(2)
    model = PCKMeans(3, assignment="soft", inference=MeanField(0.05), random_state=0)
    quiet_fit(model, X, constraints=known)
    assert_allclose(model.objective_, naive_free_energy(model, X, known, 0.05), rtol=1e-8)


@parametrize_with_checks([soft(4, 0.5), soft(4, 0.05, distortion="cosine", metric="identity")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.*all-zero row.*:UserWarning")
def test_check_estimator(estimator, check):
    check(estimator)
