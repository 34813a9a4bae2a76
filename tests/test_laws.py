"""The laws of the model: J never rises, J is what it says, and nothing irrelevant matters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from reference import augmented, divergence, pair_energy, prepared, single_run
from scipy import sparse
from sklearn.cluster import KMeans

from linkfield import Constraints, KMeansI, MKMeans
from linkfield.distortions import Bregman, IDivergence
from linkfield.estimation import Rayleigh, Wishart

ALL_METRICS = ("identity", "diagonal", "full", "diagonal-per-cluster", "full-per-cluster")
PENALTIES = ("potts", "hmrf", "mpc2003")
WEIGHTED = ("cosine", "correlation", "i-divergence", "kl", "itakura-saito", "logistic")

COMBINATIONS = [
    ("euclidean", metric, penalty)
    for metric in ALL_METRICS
    for penalty in PENALTIES
    if not (penalty == "mpc2003" and metric.endswith("per-cluster"))
] + [(d, m, p) for d in WEIGHTED for m in ("identity", "diagonal") for p in PENALTIES]


def problem(seed, n=36, d=3, n_classes=3, n_pairs=30, noise=0.2):
    """Rows in the domain of every measure, with overlapping classes and some wrong pairs."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = np.clip(0.25 + 0.2 * y[:, None] * rng.random(d) + 0.12 * rng.random((n, d)), 0.05, 0.95)
    known = Constraints.from_labels(y, n_pairs=n_pairs, noise=noise, random_state=rng)
    return X, y, known, rng


def quiet_fit(model, X, **params):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **params)


def naive_objective(model, X, known, weight=None):
    """Recompute J of a fitted model from maths.md 0.1, by loops."""
    name, shape = model.distortion, model.penalty
    v = np.ones(len(X)) if weight is None else weight
    rows = prepared(name, X)
    M, theta, K, labels = model.cluster_centers_, model.metric_, model.n_clusters, model.labels_
    per_cluster = model.metric.endswith("per-cluster")
    each = [theta[h] if per_cluster else theta for h in range(K)]
    total = sum(
        v[i] * divergence(name, rows[i], M[h], each[h]) for i, h in enumerate(labels.tolist())
    )
    zeta = model._model.smoothing
    if zeta:
        mass = (v @ rows).sum() / v.sum() / X.shape[1]
        u0 = np.full(X.shape[1], 0.5 if name == "logistic" else mass)
        total += zeta * sum(
            v[i] * divergence(name, u0, M[h], each[h]) for i, h in enumerate(labels.tolist())
        )
    start = np.ones(X.shape[1])
    pairs = augmented(known)
    metric = each if per_cluster else theta
    total += model.constraint_weight * pair_energy(name, shape, rows, labels, pairs, metric, start)
    return total + naive_regulariser(model, rows, v, each)


def naive_regulariser(model, rows, v, each):
    if model.metric == "identity":
        return 0.0
    name, prior, N, d = model.distortion, model.metric_prior, v.sum(), rows.shape[1]
    directional = name in ("cosine", "correlation")
    per_cluster, full = model.metric.endswith("per-cluster"), model.metric.startswith("full")

    def logdet(t):
        return np.linalg.slogdet(t)[1] if t.ndim == 2 else np.log(t).sum()

    total = 0.0
    if not directional:
        total -= sum(v[i] * logdet(each[h]) for i, h in enumerate(model.labels_.tolist()))
    if isinstance(prior, Rayleigh):
        a, s2 = each[0], prior.scale**2
        return total + np.sum(a**2 / (2 * s2) - np.log(a) + np.log(s2))
    if directional:
        unit = rows - rows.mean(axis=1, keepdims=True) if name == "correlation" else rows
        share = v @ (unit / np.linalg.norm(unit, axis=1, keepdims=True)) ** 2
        nu = np.maximum(share.mean(), 0.4 * share)
        return float(np.sum(nu * (each[0] - np.log(each[0]))))
    nu = d + 1 if per_cluster else 1e-3 * N
    centre = v @ rows / N
    if name in ("i-divergence", "kl", "logistic"):
        u0 = np.full(d, 0.5 if name == "logistic" else centre.sum() / d)
        centre = (centre + u0) / 2.0  # the smoothing's starting strength is 1
    if full:
        S = sum(v[i] * np.outer(x - centre, x - centre) for i, x in enumerate(rows)) / N
        S += 1e-6 * np.trace(S) / d * np.eye(d)
    else:
        unit = np.eye(d)
        S = np.array(
            [sum(v[i] * divergence(name, x, centre, unit[m]) for i, x in enumerate(rows)) / N
             for m in range(d)]
        )  # fmt: skip
        S += 1e-6 * S.mean()
    metrics = each if per_cluster else each[:1]
    return total + nu * sum(np.sum(t * S) - logdet(t) for t in metrics)


def assert_falls(model, scale):
    rise = np.diff(model.history_["objective"]).max(initial=0.0)
    assert rise <= 1e-10 * (scale + abs(model.objective_)), model.history_
    assert np.diff(model.objective_trace_).max(initial=0.0) <= 1e-10 * (
        scale + abs(model.objective_)
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("distortion", "metric", "penalty"), COMBINATIONS)
def test_objective_falls_in_every_step_and_is_what_it_says(distortion, metric, penalty, seed):
    X, _, known, _ = problem(seed)
    model = single_run(
        3, distortion=distortion, metric=metric, penalty=penalty, constraint_weight=0.3,
        max_iter=12, tol=0.0, random_state=seed,
    )  # fmt: skip
    quiet_fit(model, X, constraints=known)
    assert_falls(model, len(X))
    assert_allclose(model.objective_, naive_objective(model, X, known), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("distortion", ["euclidean", *WEIGHTED])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_same_with_a_rayleigh_prior(distortion, penalty):
    X, _, known, _ = problem(5)
    model = single_run(
        3, distortion=distortion, penalty=penalty, metric_prior=Rayleigh(scale=0.7), max_iter=12,
        tol=0.0, random_state=0,
    )  # fmt: skip
    quiet_fit(model, X, constraints=known)
    assert_falls(model, len(X))
    assert_allclose(model.objective_, naive_objective(model, X, known), rtol=1e-7, atol=1e-7)


@given(st.integers(0, 10_000))
def test_weighted_rows_enter_the_objective_by_their_weight(seed):
    X, _, known, rng = problem(seed)
    weight = rng.integers(0, 4, len(X)).astype(float)
    weight[0] = 1.0
    model = single_run(3, max_iter=8, tol=0.0, random_state=seed)
    model.penalty = "potts"
    quiet_fit(model, X, constraints=known, sample_weight=weight)
    assert_falls(model, len(X))
    assert_allclose(
        model.objective_, naive_objective(model, X, known, weight), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("bound", ["lowner", "radius", "diameter", 5.0])
def test_other_bounds_keep_the_objective_falling(bound):
    from linkfield.distortions import HMRFPenalty

    X, _, known, _ = problem(3)
    for metric in ("diagonal", "full"):
        model = single_run(3, metric=metric, penalty=HMRFPenalty(bound=bound), random_state=0)
        assert_falls(quiet_fit(model, X, constraints=known), len(X))


def test_adaptive_alpha_keeps_the_objective_falling():
    from linkfield.distortions import MPC2003Penalty

    X, _, known, _ = problem(4)
    model = single_run(3, penalty=MPC2003Penalty(alpha="adaptive"), random_state=0)
    assert_falls(quiet_fit(model, X, constraints=known), len(X))


def test_cosine_weights_degenerate_without_a_prior():
    """The directional measures look free of degeneracy, being blind to scale; they are not.

    Weight on one feature that all rows share makes every cosine 1 and J = 0, whatever the
    clusters. With the prior the weights stay within reason.
    """
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(60), rng.random((60, 4))])
    bare = single_run(2, distortion="cosine", metric_prior=None, max_iter=500, random_state=0)
    bare.fit(X)
    assert bare.metric_[0] > 0.99 * bare.metric_.sum()
    assert (
        bare.objective_
        < 0.01
        * single_run(2, distortion="cosine", metric="identity", random_state=0).fit(X).objective_
    )
    held = single_run(2, distortion="cosine", max_iter=500, random_state=0).fit(X)
    assert held.metric_.max() < 5.0


# ------------------------------------------------------------- plain k-means


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 5]))
def test_without_constraints_it_is_scikit_learns_kmeans(seed, K):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)) + 3.0 * rng.integers(0, K, 80)[:, None]
    start = X[rng.choice(80, K, replace=False)]
    theirs = KMeans(K, init=start, n_init=1, tol=0.0, algorithm="lloyd", max_iter=300).fit(X)
    ours = single_run(K, init=start, metric="identity", tol=0.0, max_iter=300).fit(X)
    if len(np.unique(theirs.labels_)) == K:
        assert_array_equal(theirs.labels_, ours.labels_)
        assert_allclose(theirs.inertia_, ours.objective_, rtol=1e-10)
        assert_allclose(theirs.cluster_centers_, ours.cluster_centers_, rtol=1e-8, atol=1e-8)


def test_same_stopping_rule_as_scikit_learn():
    X = np.random.default_rng(0).normal(size=(500, 4))
    for tol in (1e-2, 1e-4):
        theirs = KMeans(6, init=X[:6], n_init=1, tol=tol).fit(X)
        ours = single_run(6, init=X[:6], metric="identity", tol=tol).fit(X)
        assert ours.n_iter_ == theirs.n_iter_
        assert_array_equal(ours.labels_, theirs.labels_)


# -------------------------------------------------------------- invariances

DIRECTIONAL = ("cosine", "correlation")

SMALL = [("euclidean", "diagonal"), ("euclidean", "full"), ("cosine", "diagonal"),
         ("correlation", "diagonal"), ("i-divergence", "diagonal"), ("kl", "identity"),
         ("logistic", "diagonal"), ("itakura-saito", "identity")]  # fmt: skip


@pytest.mark.parametrize(("distortion", "metric"), SMALL)
@given(seed=st.integers(0, 10_000))
def test_dense_equals_sparse(distortion, metric, seed):
    X, _, known, rng = problem(seed)
    if distortion != "itakura-saito":
        X = np.where(rng.random(X.shape) < 0.2, 0.0, X)
        X[:, 0] += 0.1
    start = X[rng.choice(len(X), 3, replace=False)] + 0.01
    args = {"distortion": distortion, "metric": metric, "init": start, "random_state": 0}
    dense = quiet_fit(single_run(3, **args), X, constraints=known)
    csr = quiet_fit(single_run(3, **args), sparse.csr_array(X), constraints=known)
    assert_array_equal(dense.labels_, csr.labels_)
    # Rounding may let one of them stop an iteration earlier, which moves J by less than tol/100,
    # and halve a step along the gradient once more, which directional measures take.
    same = dense.n_iter_ == csr.n_iter_ and distortion not in DIRECTIONAL
    assert_allclose(dense.objective_, csr.objective_, rtol=1e-8 if same else 1e-6, atol=1e-8)
    assert_allclose(dense.metric_, csr.metric_, rtol=1e-5 if same else 1e-3)
    assert_array_equal(dense.predict(X), csr.predict(sparse.csr_array(X)))


@pytest.mark.parametrize(("distortion", "metric"), SMALL)
@given(seed=st.integers(0, 10_000))
def test_any_row_order_gives_the_same_clustering(distortion, metric, seed):
    X, _, known, rng = problem(seed)
    order = rng.permutation(len(X))
    args = {"distortion": distortion, "metric": metric, "random_state": 7}
    first = quiet_fit(single_run(3, **args), X, constraints=known)
    second = quiet_fit(single_run(3, **args), X[order], constraints=known.restrict(order))
    assert_array_equal(first.labels_[order], second.labels_)
    assert_allclose(first.objective_, second.objective_, rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 10_000))
def test_initial_centres_in_another_order_only_rename_the_clusters(seed):
    X, _, known, rng = problem(seed)
    start, order = X[rng.choice(len(X), 3, replace=False)], rng.permutation(3)
    first = quiet_fit(single_run(3, init=start, random_state=0), X, constraints=known)
    second = quiet_fit(single_run(3, init=start[order], random_state=0), X, constraints=known)
    assert_array_equal(first.labels_, order[second.labels_])
    assert_allclose(first.cluster_centers_[order], second.cluster_centers_, rtol=1e-9)


@given(seed=st.integers(0, 10_000), scale=st.sampled_from([1e-3, 7.0, 1e4]))
def test_scale_and_place_of_the_data_do_not_matter_to_hmrf(seed, scale):
    """J of a learned metric with the hmrf penalty depends on X through A only."""
    X, _, known, _ = problem(seed)
    args = {"metric": "diagonal", "random_state": 0, "metric_prior": "wishart"}
    first = quiet_fit(single_run(3, **args), X, constraints=known)
    second = quiet_fit(single_run(3, **args), scale * X + 3.0 * scale, constraints=known)
    assert_array_equal(first.labels_, second.labels_)
    assert_allclose(first.metric_, second.metric_ * scale**2, rtol=1e-5)


@given(seed=st.integers(0, 10_000))
def test_logdet_weight_only_rescales_the_metric_under_hmrf(seed):
    X, _, known, rng = problem(seed)
    start = X[rng.choice(len(X), 3, replace=False)]
    args = {"metric_prior": None, "init": start, "random_state": 0, "tol": 0.0}
    first = quiet_fit(single_run(3, **args), X, constraints=known)
    second = quiet_fit(single_run(3, logdet_weight=0.25, **args), X, constraints=known)
    assert_array_equal(first.labels_, second.labels_)
    assert_allclose(first.metric_, 4.0 * second.metric_, rtol=1e-6)


@given(seed=st.integers(0, 10_000))
def test_weights_equal_repetition(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    times = rng.integers(0, 4, len(X))
    times[:3] = 1  # the constrained rows stand once, so that the pairs mean the same
    known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    copies = np.repeat(np.arange(len(X)), times)
    args = {"random_state": 3, "tol": 0.0}
    weighted = quiet_fit(
        single_run(3, **args), X, constraints=known, sample_weight=times.astype(float)
    )
    repeated = quiet_fit(single_run(3, **args), X[copies], constraints=known)
    assert_array_equal(weighted.labels_[copies], repeated.labels_)
    assert_allclose(weighted.objective_, repeated.objective_, rtol=1e-9, atol=1e-9)
    assert_allclose(weighted.metric_, repeated.metric_, rtol=1e-8)


@given(seed=st.integers(0, 10_000))
def test_saying_a_constraint_twice_changes_nothing(seed):
    X, _, known, _ = problem(seed)
    table = known.pairs()
    must = table[table["kind"] == "must"]
    ends = np.column_stack([must["b"], must["a"]])
    first = quiet_fit(single_run(3, random_state=0), X, constraints=known)
    twice = known | Constraints(must_link=ends)
    second = quiet_fit(single_run(3, random_state=0), X, constraints=twice)
    assert_array_equal(first.labels_, second.labels_)


@pytest.mark.parametrize("distortion", ["euclidean", "cosine", "i-divergence"])
def test_number_of_threads_changes_no_bit(distortion):
    rng = np.random.default_rng(0)
    X = rng.random((30_000, 200))
    known = Constraints.from_labels(rng.integers(0, 3, len(X)), n_pairs=50, random_state=0)
    fits = [
        quiet_fit(
            single_run(3, distortion=distortion, n_jobs=jobs, max_iter=3, random_state=0),
            X, constraints=known,
        )
        for jobs in (1, 2, 3)
    ]  # fmt: skip
    for other in fits[1:]:
        assert_array_equal(fits[0].labels_, other.labels_)
        assert fits[0].objective_ == other.objective_
        assert_array_equal(fits[0].cluster_centers_, other.cluster_centers_)


def test_same_seed_same_bits():
    X, _, known, _ = problem(0)
    fits = [quiet_fit(single_run(3, random_state=11), X, constraints=known) for _ in range(2)]
    assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert_array_equal(fits[0].history_, fits[1].history_)
    assert_array_equal(fits[0].metric_, fits[1].metric_)


# -------------------------------------------------------------- constraints


@given(seed=st.integers(0, 10_000))
def test_heavy_clean_constraints_are_all_kept(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 30)
    y[:3] = [0, 1, 2]
    X = rng.normal(size=(30, 2)) + y[:, None]
    known = Constraints.from_labels(y, n_pairs=40, random_state=rng)
    model = quiet_fit(
        single_run(3, penalty="potts", constraint_weight=1e6, random_state=0), X, constraints=known
    )
    must = known.pairs()[known.pairs()["kind"] == "must"]
    assert_array_equal(model.labels_[must["a"]], model.labels_[must["b"]])
    hard = quiet_fit(single_run(3, constraint_weight=np.inf, random_state=0), X, constraints=known)
    assert len(hard.violations_) == 0


@given(seed=st.integers(0, 10_000))
def test_tables_say_what_written_out_pairs_say(seed):
    """Entailed links by block (maths.md 1.4) cost what the pairs cost that they stand for."""
    from unittest import mock

    from linkfield.constraints import ties

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 3)) + 0.7 * y[:, None]
    X -= X.min(axis=0) - 0.1
    partial = np.where(rng.random(40) < 0.6, y, -1)
    extra = Constraints.from_labels(y, n_pairs=15, random_state=rng)
    told = {"constraints": extra, "partial_labels": partial}
    known = Constraints.from_labels(partial) | extra
    metrics = ("diagonal", "full", "diagonal-per-cluster", "full-per-cluster")
    for distortion, metric in [*(("euclidean", m) for m in metrics), ("cosine", "diagonal")]:
        args = {"distortion": distortion, "metric": metric, "constraint_weight": 0.01}
        with mock.patch.object(ties, "WRITE_OUT", (0, 0)):
            model = quiet_fit(single_run(3, random_state=0, **args), X, **told)
        assert model._setup.problem.objective.pairs.ties.n_blocks > 0
        assert_allclose(model.objective_, naive_objective(model, X, known), rtol=1e-7)
        assert_falls(model, len(X))


def test_violations_list_what_the_labels_break_and_its_cost():
    X, _, known, _ = problem(8, noise=0.4)
    model = quiet_fit(
        single_run(3, penalty="potts", constraint_weight=0.02, closure=False, random_state=0),
        X, constraints=known,
    )  # fmt: skip
    table = known.pairs()
    same = model.labels_[table["a"]] == model.labels_[table["b"]]
    broken = table[same != (table["kind"] == "must")]
    assert len(broken) > 0
    assert_array_equal(model.violations_["a"], broken["a"])
    assert_array_equal(model.violations_["b"], broken["b"])
    assert_allclose(model.violations_["cost"], 0.02 * broken["weight"])


def test_violation_costs_add_up_to_the_pair_part_of_the_objective():
    X, _, known, _ = problem(9, noise=0.4)
    for metric in ("diagonal", "full-per-cluster"):
        model = single_run(3, metric=metric, closure=False, constraint_weight=0.05, random_state=0)
        quiet_fit(model, X, constraints=known)
        terms = model._setup.problem.objective.pairs
        tied = model.labels_[terms.ties.rows].astype(np.int64)
        assert_allclose(model.violations_["cost"].sum(), terms.energy(tied, model._model.metric))


# ------------------------------------------------------------ special cases


def test_generic_bregman_is_the_measure_it_generates():
    X, _, known, _ = problem(2)
    own = Bregman(lambda x: (x**2).sum(axis=1), lambda x: 2 * x)
    args = {"metric": "identity", "penalty": "potts", "random_state": 0}
    ours = quiet_fit(single_run(3, distortion=own, **args), X, constraints=known)
    plain = quiet_fit(single_run(3, **args), X, constraints=known)
    assert_array_equal(ours.labels_, plain.labels_)
    assert_allclose(ours.objective_, plain.objective_, rtol=1e-10)


def test_smoothing_is_annealed_to_its_floor():
    X, _, known, _ = problem(2)
    model = single_run(3, distortion=IDivergence(smoothing_floor=0.125), random_state=0)
    quiet_fit(model, X, constraints=known)
    assert model._model.smoothing == 0.125
    assert_falls(model, len(X))


def test_m_kmeans_never_ends_above_where_it_was():
    for seed in range(10):
        X, _, known, _ = problem(seed, noise=0.0)
        model = quiet_fit(MKMeans(3, random_state=seed), X, constraints=known)
        assert np.diff(model.objective_trace_).max(initial=0.0) <= 1e-9
        assert_allclose(model.objective_, naive_objective(model, X, known), rtol=1e-7, atol=1e-7)
        steps = model.history_
        after = np.flatnonzero(steps["step"] == "metric")
        assert len(after)
        # With labels as they are, centres and metric lower J; only the assignment is blind.
        assert (steps["objective"][after] <= steps["objective"][after - 1] + 1e-9).all()


def test_kmeans_i_uses_constraints_for_the_start_only():
    X, _, known, _ = problem(1, noise=0.0)
    model = quiet_fit(KMeansI(3, distortion="euclidean", random_state=0), X, constraints=known)
    assert_array_equal(model.labels_, model.predict(X))


def test_empty_clusters_are_refilled_and_the_objective_falls():
    X = np.r_[np.zeros((20, 2)), np.ones((20, 2)), [[5.0, 5.0]]]
    X += 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    far = np.array([[0.0, 0.0], [1.0, 1.0], [100.0, 100.0]])
    model = single_run(3, init=far, metric="identity", random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert "refill" in model.history_["step"]
    assert_falls(model, 1.0)


def test_wishart_strength_draws_the_metric_to_the_inverse_variance():
    X, _, _, _ = problem(0)
    strong = single_run(3, metric_prior=Wishart(strength=1e9), random_state=0).fit(X)
    assert_allclose(strong.metric_, 1.0 / X.var(axis=0), rtol=1e-4)
