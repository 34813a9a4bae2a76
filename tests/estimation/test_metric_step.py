"""Metric steps reach the minimum where there is a formula, and never raise the objective."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import directional_gradient
from scipy import sparse

from linkfield.constraints import Ties
from linkfield.distortions import (
    METRICS,
    Correlation,
    Cosine,
    HMRFPenalty,
    IDivergence,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Metric,
    MPC2003Penalty,
    PottsPenalty,
    SquaredEuclidean,
    start_metric,
)
from linkfield.estimation import (
    Model,
    NoPrior,
    Objective,
    PairTerms,
    Rayleigh,
    Regulariser,
    Statistics,
    Wishart,
    as_prior,
    summarize,
    update_directional,
    update_linear,
)
from linkfield.estimation.metric_step import closed_form, multiplicative_step, safe_step

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
LEARNED = [kind for kind in METRICS if kind != "identity"]
every_kind = pytest.mark.parametrize("kind", LEARNED)


def random_metric(kind: str, d: int, K: int, rng: np.random.Generator) -> Metric:
    if kind == "identity":
        return start_metric(kind, d, K)
    if kind == "diagonal":
        return METRICS[kind](rng.uniform(0.2, 3.0, d))
    if kind == "diagonal-per-cluster":
        return METRICS[kind](rng.uniform(0.2, 3.0, (K, d)))
    factors = rng.normal(size=(K, d, d))
    matrices = factors @ np.swapaxes(factors, 1, 2) + 0.3 * np.eye(d)
    return METRICS[kind](matrices if kind == "full-per-cluster" else matrices[0])


def symmetric(E: Array, metric: Metric) -> Array:
    return (E + np.swapaxes(E, -1, -2)) / 2 if metric.full else E


def is_positive(metric: Metric) -> bool:
    if not metric.full:
        return bool((metric.theta > 0).all())
    return bool((np.linalg.eigvalsh(metric.theta) > 0).all())


def scale_of(metric: Metric, rng: np.random.Generator) -> Array:
    d = metric.theta.shape[-1]
    return random_metric("full" if metric.full else "diagonal", d, 1, rng).theta


# ---------------------------------------------------------------------------
# closed forms


@every_kind
@given(seed=seeds)
def test_closed_forms_are_the_minimum(kind: str, seed: int) -> None:
    """(B9) and (B10): stationary, positive, and not improved by any perturbation."""
    rng = np.random.default_rng(seed)
    d, K = int(rng.integers(1, 5)), 3
    now, S = random_metric(kind, d, K, rng), random_metric(kind, d, K, rng).theta
    weight = rng.uniform(0.5, 20.0, K)
    kappa, nu = float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.0, 2.0))
    R = Regulariser(kappa, nu, scale_of(now, rng))
    best = closed_form(now, S, weight, R)
    assert type(best) is type(now) and is_positive(best)

    def value(metric: Metric) -> float:
        return metric.inner(S) + R.value(metric, weight)

    slope = S + R.gradient(best, weight)
    np.testing.assert_allclose(slope, 0.0, atol=1e-7 * (1 + np.abs(S).max()))
    for size in (1e-3, 1e-1):
        for _ in range(5):
            other = type(now)(best.theta + size * symmetric(rng.normal(size=S.shape), now))
            if is_positive(other):
                assert value(other) >= value(best) - 1e-9 * (1 + abs(value(best)))
    # By the formula, one metric after the other.
    singles = zip(best.theta, S, strict=True) if now.per_cluster else [(best.theta, S)]
    for h, (theta, part) in enumerate(singles):
        mass = kappa * (weight[h] if now.per_cluster else weight.sum()) + nu
        total = part + nu * R.scale
        wanted = mass * np.linalg.inv(total) if now.full else mass / total
        np.testing.assert_allclose(theta, wanted, rtol=1e-6, atol=1e-9)


@given(seed=seeds)
def test_rayleigh_closed_form(seed: int) -> None:
    """(B11): positive and stationary for every sign of the slope."""
    rng = np.random.default_rng(seed)
    d = 4
    metric = random_metric("diagonal", d, 1, rng)
    g = rng.normal(scale=10.0 ** rng.integers(-3, 6), size=d)
    weight, s = rng.uniform(0.0, 50.0, 2), float(rng.uniform(0.1, 5.0))
    R = Regulariser(float(rng.uniform(0.0, 2.0)), 0.0, None, s)
    best = closed_form(metric, g, weight, R)
    assert is_positive(best)
    factor = R.logdet_weight * weight.sum() + 1.0
    slope = g + best.theta / s**2 - factor / best.theta
    size = np.abs(g) + best.theta / s**2 + factor / best.theta
    np.testing.assert_allclose(slope / size, 0.0, atol=1e-10)

    def value(a: Array) -> float:
        return float(g @ a) + R.value(type(metric)(a), weight)

    for _ in range(10):
        other = best.theta * np.exp(0.1 * rng.normal(size=d))
        assert value(other) >= value(best.theta) - 1e-9 * (1 + abs(value(best.theta)))


@every_kind
@given(seed=seeds)
def test_candidates_are_positive_for_any_slope(kind: str, seed: int) -> None:
    """Where S is not positive the candidate is only a direction, but inside the cone."""
    rng = np.random.default_rng(seed)
    now = random_metric(kind, 3, 2, rng)
    S = symmetric(rng.normal(size=now.theta.shape), now)
    candidate = closed_form(now, S, rng.uniform(1.0, 9.0, 2), Regulariser(1.0))
    assert np.isfinite(candidate.theta).all() and is_positive(candidate)
    if not now.full:
        doubled = S <= 0
        np.testing.assert_allclose(candidate.theta[doubled], 2 * now.theta[doubled])


@pytest.mark.parametrize("kind", ["diagonal-per-cluster", "full-per-cluster"])
def test_an_empty_cluster_does_not_stop_the_others(kind: str) -> None:
    """Without a prior nothing is known of an empty cluster's metric: S = 0 and no weight."""
    rng = np.random.default_rng(0)
    now, S = random_metric(kind, 2, 3, rng), random_metric(kind, 2, 3, rng).theta
    S[1] = 0.0
    weight = np.array([4.0, 0.0, 7.0])
    R = Regulariser(1.0)
    candidate = closed_form(now, S, weight, R)
    assert np.isfinite(candidate.theta).all() and is_positive(candidate)
    new = safe_step(now, candidate, lambda m: m.inner(S) + R.value(m, weight))
    for h in (0, 2):
        wanted = weight[h] * (np.linalg.inv(S[h]) if now.full else 1 / S[h])
        np.testing.assert_allclose(new.theta[h], wanted, rtol=1e-6)


# ---------------------------------------------------------------------------
# safe step


@every_kind
@given(seed=seeds)
def test_safe_step_never_raises_and_stays_positive(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    now = random_metric(kind, 3, 2, rng)
    S = symmetric(rng.normal(scale=3.0, size=now.theta.shape), now)
    weight, R = rng.uniform(1.0, 9.0, 2), Regulariser(1.0)
    wave = symmetric(rng.normal(size=now.theta.shape), now)

    def value(metric: Metric) -> float:
        # Not convex, and not what the candidate was made for.
        bend = 5.0 * np.cos((wave * metric.theta).sum())
        return metric.inner(S) + R.value(metric, weight) + float(bend)

    candidate = closed_form(now, S, weight, R)
    new = safe_step(now, candidate, value)
    assert is_positive(new)
    assert value(new) <= value(now)
    slope = float(rng.normal())
    careful = safe_step(now, candidate, value, slope=slope)
    assert value(careful) <= value(now) and is_positive(careful)


def test_safe_step_takes_the_whole_step_where_it_helps() -> None:
    now, best = (METRICS["diagonal"](np.array([a])) for a in (1.0, 3.0))
    new = safe_step(now, best, lambda m: float((m.theta[0] - 3.0) ** 2), slope=-8.0)
    np.testing.assert_array_equal(new.theta, [3.0])


@pytest.mark.parametrize(
    "value",
    [
        lambda m: float(m.theta.sum()),  # the candidate is worse
        lambda m: np.nan if m.theta[0] > 1 else 0.0,
        lambda m: -np.inf if m.theta[0] > 1 else 0.0,
        lambda m: 0.0,
    ],
    ids=["worse", "nan", "unbounded", "flat"],
)
def test_safe_step_stays_where_nothing_helps(value: Any) -> None:
    now, other = (METRICS["diagonal"](np.array([a])) for a in (1.0, 3.0))
    assert safe_step(now, other, value) is now


# ---------------------------------------------------------------------------
# multiplicative step


@pytest.mark.parametrize("distortion", [Cosine(), Correlation()], ids=lambda d: d.name)
@pytest.mark.parametrize("rescale", [False, True])
@given(seed=seeds)
def test_multiplicative_step_lowers_the_objective(
    distortion: Any, rescale: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, d, K = 12, 4, 2
    rows = distortion.rows(rng.normal(size=(n, d)))
    M = distortion.prepared_centres(rng.normal(size=(K, d)))
    weight, labels = rng.uniform(0.1, 2.0, n), rng.integers(0, K, size=n)
    metric = random_metric("diagonal", d, K, rng)

    def value(trial: Metric) -> float:
        return float(weight @ distortion.table(rows, M, trial)[np.arange(n), labels])

    gradient = directional_gradient(distortion, rows, weight, labels, M, metric)
    new, step = multiplicative_step(metric, gradient, value, 0.5, rescale=rescale)
    assert value(new) < value(metric)
    assert is_positive(new)
    assert 0 < step <= 1.0
    if rescale:
        np.testing.assert_allclose(new.theta.sum(), d)
    change = np.abs(np.log(new.theta / metric.theta))
    if not rescale:
        assert change.max() <= 0.5 + 1e-12  # the first try changes no log weight by more


def test_multiplicative_step_at_a_stationary_point() -> None:
    metric = start_metric("diagonal", 3, 1)
    for gradient in (np.zeros(3), np.full(3, np.nan)):
        new, step = multiplicative_step(metric, gradient, lambda m: 0.0, 0.25, rescale=True)
        assert new is metric and step == 0.25
    # A gradient that is wrong: no step helps, and the next try is small but not nothing.
    new, step = multiplicative_step(
        metric, np.ones(3), lambda m: -float(np.log(m.theta).sum()), 0.25, rescale=False
    )
    assert new is metric and 0 < step < 0.25


# ---------------------------------------------------------------------------
# the whole metric step inside J


def positive_data(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(0.05, 0.95, size=(n, d)) * rng.uniform(0.2, 1.0, d)


def signed_data(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) * rng.uniform(0.3, 3.0, d)


def random_ties(n: int, rng: np.random.Generator, heavy: float = 2.0) -> Ties:
    pairs = np.array([p for p in combinations(range(n), 2) if rng.random() < 0.15])
    pairs = pairs.reshape(-1, 2)
    none = np.empty((0, 2), np.int64)
    return Ties(
        np.arange(n), np.arange(n), pairs, rng.random(len(pairs)) < 0.5,
        rng.uniform(0.1, heavy, len(pairs)), np.full(n, -1), none, none, 1.0,
    )  # fmt: skip


def objective_of(
    distortion: Any, penalty: Any, metric: Metric, rng: np.random.Generator, **options: Any
) -> tuple[Objective, Statistics, Model, Array, Any, Array]:
    """Return an objective with statistics, centres and labels, wired as the estimators do."""
    n, d, K = 20, metric.theta.shape[-1], 3
    signed = distortion.name in ("euclidean", "cosine", "correlation")
    X = (signed_data if signed else positive_data)(rng, n, d)
    rows = distortion.rows(X)
    weight, labels = rng.uniform(0.2, 2.0, n), np.r_[0, 1, 2, rng.integers(0, K, size=n - 3)]
    ties = random_ties(n, rng, options.get("heavy", 2.0))
    bound = distortion.bound(penalty.bound, rows, metric) if penalty.bounded else None
    pairs = PairTerms(ties, rows, distortion, penalty, bound)
    if penalty.name == "mpc2003" and penalty.alpha == "fixed":
        pairs.alpha = pairs.largest(metric)[0]
    smoothing = distortion.smoothing(rows, weight)
    moment = np.zeros(1)
    if not metric.per_cluster:
        bregman = distortion.bregman
        moment = (
            distortion.second_moment(rows, weight, metric) if bregman else np.array([weight.sum()])
        )
    regulariser = options.get("regulariser", Regulariser(1.0))
    objective = Objective(distortion, moment, smoothing, pairs, regulariser)
    stats = summarize(distortion, rows, weight, labels, metric, K)
    strength = 0.0 if smoothing is None else smoothing.strength
    model = Model(np.full((K, d), 0.5), metric, strength)
    model = model.with_(centres=objective.centres(stats, model))
    return objective, stats, model, labels, rows, weight


BREGMAN = [SquaredEuclidean(), IDivergence(), KullbackLeibler(), ItakuraSaito(), Logistic()]
STEPS = [
    pytest.param(D, penalty, kind, id=f"{D.name}-{label}-{kind}")
    for D in BREGMAN
    for label, penalty in {
        "potts": PottsPenalty(),
        "hmrf": HMRFPenalty(),
        "diameter": HMRFPenalty(bound="diameter"),
        "radius": HMRFPenalty(bound="radius"),
        "mpc": MPC2003Penalty(),
        "adaptive": MPC2003Penalty(alpha="adaptive"),
    }.items()
    for kind in D.metrics
    if kind != "identity"
    and (label in ("potts", "hmrf") or not kind.endswith("per-cluster"))
    and (label != "radius" or D.name == "euclidean")
]


@pytest.mark.parametrize(("distortion", "penalty", "kind"), STEPS)
@pytest.mark.parametrize("heavy", [2.0, 60.0], ids=["light", "heavy"])
@settings(max_examples=6)
@given(seed=seeds)
def test_metric_step_never_raises_the_objective(
    distortion: Any, penalty: Any, kind: str, heavy: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    metric = random_metric(kind, 3, 3, rng)
    R = Regulariser(1.0, 0.5, scale_of(metric, rng))
    objective, stats, model, labels, rows, weight = objective_of(
        distortion, penalty, metric, rng, regulariser=R, heavy=heavy
    )
    before = objective.fixed_labels(stats, model, labels)
    naive = float(weight @ distortion.table(rows, model.centres, metric)[np.arange(20), labels])
    assert objective.pairs is not None
    naive += objective.pairs.energy(labels, metric) + R.value(metric, stats.weight)
    if objective.smoothing is not None:
        prior = distortion.rows(objective.smoothing.prior[None, :])
        naive += model.smoothing * stats.weight @ distortion.table(prior, model.centres, metric)[0]
    np.testing.assert_allclose(before, naive, rtol=1e-9)
    new = update_linear(objective, stats, model, labels)
    after = objective.fixed_labels(stats, model.with_(metric=new), labels)
    assert after <= before + 1e-10 * (1 + abs(before))
    assert is_positive(new)
    if objective.pairs.linear:  # then it is the minimum, so another step changes nothing
        again = update_linear(objective, stats, model.with_(metric=new), labels)
        final = objective.fixed_labels(stats, model.with_(metric=again), labels)
        np.testing.assert_allclose(final, after, rtol=1e-7)
        S = objective.linear_gradient(stats, model.with_(metric=new), labels)
        slope = S + R.gradient(new, stats.weight)
        np.testing.assert_allclose(slope, 0.0, atol=1e-5 * (1 + np.abs(S).max()))


@pytest.mark.parametrize("factor", [1.1, 3.0])
@settings(max_examples=20)
@given(seed=seeds)
def test_metric_step_with_a_number_as_bound(factor: float, seed: int) -> None:
    """A number bounds φ under the starting metric only; J must not rise all the same."""
    metric = start_metric("diagonal", 3, 3)
    *_, rows, _ = objective_of(
        SquaredEuclidean(), PottsPenalty(), metric, np.random.default_rng(seed)
    )
    widest = SquaredEuclidean().bound("diameter", rows, metric).value(metric)
    objective, stats, model, labels, same, _ = objective_of(
        SquaredEuclidean(), HMRFPenalty(bound=factor * widest), metric,
        np.random.default_rng(seed), heavy=30.0,
    )  # fmt: skip
    np.testing.assert_array_equal(same.dense(), rows.dense())
    for _ in range(8):
        before = objective.fixed_labels(stats, model, labels)
        model = model.with_(metric=update_linear(objective, stats, model, labels))
        after = objective.fixed_labels(stats, model, labels)
        assert after <= before + 1e-10 * (1 + abs(before))


@pytest.mark.parametrize("distortion", [SquaredEuclidean(), IDivergence()], ids=lambda d: d.name)
@settings(max_examples=20)
@given(seed=seeds)
def test_metric_step_with_rayleigh(distortion: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = random_metric("diagonal", 3, 3, rng)
    objective, stats, model, labels, _, _ = objective_of(
        distortion, HMRFPenalty(), metric, rng, regulariser=Regulariser(0.0, 0.0, None, 1.3)
    )
    before = objective.fixed_labels(stats, model, labels)
    new = update_linear(objective, stats, model, labels)
    assert is_positive(new)
    assert objective.fixed_labels(stats, model.with_(metric=new), labels) <= before + 1e-9


@pytest.mark.parametrize("distortion", [Cosine(), Correlation()], ids=lambda d: d.name)
@pytest.mark.parametrize(
    "penalty",
    [PottsPenalty(), HMRFPenalty(), HMRFPenalty(bound="diameter"), MPC2003Penalty(),
     MPC2003Penalty(alpha="adaptive")],
    ids=["potts", "hmrf", "diameter", "mpc", "adaptive"],
)  # fmt: skip
@pytest.mark.parametrize("rayleigh", [None, 0.8])
@settings(max_examples=8)
@given(seed=seeds)
def test_directional_metric_step_never_raises_the_objective(
    distortion: Any, penalty: Any, rayleigh: float | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    metric = random_metric("diagonal", 3, 3, rng)
    objective, stats, model, labels, rows, weight = objective_of(
        distortion, penalty, metric, rng, regulariser=Regulariser(rayleigh=rayleigh)
    )
    before = objective.fixed_labels(stats, model, labels)
    new, new_stats, step = update_directional(
        objective,
        model,
        stats,
        labels,
        lambda m: directional_gradient(distortion, rows, weight, labels, model.centres, m),
        lambda m: summarize(distortion, rows, weight, labels, m, 3),
        0.5,
    )
    moved = model.with_(metric=new)
    assert objective.fixed_labels(new_stats, moved, labels) <= before + 1e-10
    assert is_positive(new) and step > 0
    wanted = summarize(distortion, rows, weight, labels, new, 3)
    np.testing.assert_allclose(new_stats.sums, wanted.sums)
    renewed = moved.with_(centres=objective.centres(new_stats, moved))
    after = objective.fixed_labels(new_stats, renewed, labels)
    assert after <= objective.fixed_labels(new_stats, moved, labels) + 1e-10


def test_logdet_weight_only_rescales_a_linear_objective() -> None:
    """maths.md 2.4: with every penalty linear in A, κ ↦ cκ gives A ↦ cA."""
    for kind in LEARNED:
        rng = np.random.default_rng(1)
        metric = random_metric(kind, 3, 3, rng)
        parts = [
            objective_of(
                SquaredEuclidean(), HMRFPenalty(), metric, np.random.default_rng(2),
                regulariser=Regulariser(kappa),
            )
            for kappa in (1.0, 4.0)
        ]  # fmt: skip
        one, four = (update_linear(o, s, m, labels) for o, s, m, labels, *_ in parts)
        np.testing.assert_allclose(four.theta, 4.0 * one.theta, rtol=1e-6)


# ---------------------------------------------------------------------------
# statistics


@pytest.mark.parametrize(
    ("distortion", "kind"),
    [(SquaredEuclidean(), k) for k in METRICS]
    + [(Cosine(), "diagonal"), (Correlation(), "diagonal"), (IDivergence(), "diagonal")],
    ids=lambda p: p if isinstance(p, str) else p.name,
)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@given(seed=seeds)
def test_statistics_are_sums_and_add_up(
    distortion: Any, kind: str, storage: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, d, K = 11, 3, 4
    X = positive_data(rng, n, d) if distortion.name == "i-divergence" else signed_data(rng, n, d)
    rows, metric = distortion.rows(storage(X)), random_metric(kind, d, K, rng)
    weight, labels = rng.uniform(0.0, 2.0, n), rng.integers(0, K, size=n)
    chosen = rng.random(n) < 0.7
    for mask in (None, chosen):
        whole = summarize(distortion, rows, weight, labels, metric, K, mask)
        used = np.ones(n, bool) if mask is None else mask
        dense = rows.dense()
        scale = np.ones(n)
        if not distortion.bregman:
            norms = np.sqrt((dense * metric.theta * dense).sum(axis=1))
            scale = np.where(norms > 1e-9, 1 / np.where(norms > 1e-9, norms, 1), 0.0)
        for h in range(K):
            mine = np.flatnonzero((labels == h) & used)
            assert whole.count[h] == len(mine)
            np.testing.assert_allclose(whole.weight[h], weight[mine].sum())
            wanted = sum((weight[i] * scale[i] * dense[i] for i in mine), np.zeros(d))
            np.testing.assert_allclose(whole.sums[h], wanted, atol=1e-12)
            if metric.per_cluster:
                outer = sum((weight[i] * np.outer(dense[i], dense[i]) for i in mine),
                            np.zeros((d, d)))  # fmt: skip
                wanted = outer if metric.full else np.diag(outer)
                np.testing.assert_allclose(whole.moment[h], wanted, atol=1e-12)
        assert (whole.moment is None) == (not metric.per_cluster)
        for size in (1, 4, 11):
            parts = [slice(s, s + size) for s in range(0, n, size)]
            each = [
                summarize(distortion, rows.take(p), weight[p], labels[p], metric, K,
                          None if mask is None else mask[p])
                for p in parts
            ]  # fmt: skip
            total = each[0]
            for part in each[1:]:
                total = total + part
            for name in ("count", "weight", "sums", "moment"):
                a, b = getattr(total, name), getattr(whole, name)
                assert (a is None) == (b is None)
                if a is not None:
                    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------------------
# priors


def test_names_give_the_prior() -> None:
    assert isinstance(as_prior("wishart"), Wishart)
    assert isinstance(as_prior("rayleigh"), Rayleigh)
    assert isinstance(as_prior(None), NoPrior)
    mine = Wishart(strength=2.0)
    assert as_prior(mine) is mine
    with pytest.raises(ValueError, match=r"metric_prior must be 'wishart'.*got 'gamma'"):
        as_prior("gamma")


def test_default_strengths() -> None:
    shared, each = start_metric("full", 4, 2), start_metric("full-per-cluster", 4, 2)
    assert Wishart().strength_for(shared, 500.0) == 0.5
    assert Wishart().strength_for(each, 500.0) == 5.0
    assert Wishart(strength=3.0).strength_for(each, 500.0) == 3.0
    assert NoPrior().strength_for(shared, 500.0) == 0.0


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_impossible_priors_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="Wishart strength must be 0 or more"):
        Wishart(strength=bad).strength_for(start_metric("full", 2, 1), 1.0)
    with pytest.raises(ValueError, match="Rayleigh scale must be positive"):
        Rayleigh(scale=bad).rayleigh_scale()


@given(seed=seeds)
def test_wishart_scale_is_regular(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4)
    S = Wishart().scale(np.outer(x, x), start_metric("full", 4, 1), 1001.0)
    assert np.linalg.eigvalsh(S).min() > 0
    np.testing.assert_allclose(S, np.outer(x, x) + 1e-6 * (x @ x) / 4 * np.eye(4))
    a = Wishart().scale(np.array([0.0, 2.0]), start_metric("diagonal", 2, 1), 1001.0)
    np.testing.assert_allclose(a, [1001.0, 2.0 + 1e-6])  # a constant feature: weight 1/mean
    zero = Wishart().scale(np.zeros((2, 2)), start_metric("full", 2, 1), 1001.0)
    np.testing.assert_array_equal(zero, np.eye(2))
