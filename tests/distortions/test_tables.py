"""Distances of rows to centres are what their definitions say, for any storage and dtype."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linkfield.distortions import (
    METRICS,
    Bregman,
    Correlation,
    Cosine,
    Distortion,
    IDivergence,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Metric,
    Smoothing,
    SquaredEuclidean,
    as_distortion,
    start_metric,
)
from linkfield.estimation import Model, Objective, Regulariser, summarize

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)


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


def matrix(metric: Metric, h: int) -> Array:
    """Return A_h as a matrix."""
    theta = metric.theta[h] if metric.per_cluster else metric.theta
    return theta if metric.full else np.diag(theta)


def xlogy(x: float, y: float) -> float:
    return 0.0 if x == 0.0 else x * np.log(y)


def euclidean(x: Array, mu: Array, A: Array) -> float:
    return float((x - mu) @ A @ (x - mu))


def cosine(x: Array, mu: Array, A: Array) -> float:
    length = np.sqrt((x @ A @ x) * (mu @ A @ mu))
    return 1.0 if length == 0.0 else float(1.0 - x @ A @ mu / length)


def pearson(x: Array, mu: Array, A: Array) -> float:
    if np.ptp(x) == 0.0 or np.ptp(mu) == 0.0:
        return 1.0
    return cosine(x - x.mean(), mu - mu.mean(), A)


def i_divergence(x: Array, mu: Array, A: Array) -> float:
    each = [xlogy(p, p / q) - p + q for p, q in zip(x, mu, strict=True)]
    return float(np.diag(A) @ each)


def itakura_saito(x: Array, mu: Array, A: Array) -> float:
    return float(np.diag(A) @ [p / q - np.log(p / q) - 1 for p, q in zip(x, mu, strict=True)])


def logistic(x: Array, mu: Array, A: Array) -> float:
    each = [xlogy(p, p / q) + xlogy(1 - p, (1 - p) / (1 - q)) for p, q in zip(x, mu, strict=True)]
    return float(np.diag(A) @ each)


def cosh_divergence(x: Array, mu: Array, A: Array) -> float:
    return float(np.cosh(x).sum() - np.cosh(mu).sum() - (x - mu) @ np.sinh(mu))


def signed(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)


def counts(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.poisson(1.2, size=(n, d)) * rng.uniform(0.5, 2.0, size=(n, d))
    X[:, 0] += 0.5  # no row is all zero
    return X


def positive(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(0.2, 4.0, size=(n, d))


def rates(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.random((n, d))
    return np.where(rng.random((n, d)) < 0.4, np.round(X), X)


@dataclass(frozen=True)
class Measure:
    """A measure, what it is by definition, and data and centres in its domain."""

    name: str
    distortion: Distortion
    definition: Callable[[Array, Array, Array], float]
    data: Callable[[np.random.Generator, int, int], Array]
    centres: Callable[[np.random.Generator, int, int], Array]
    prepare: Callable[[Array], Array] = lambda X: X


def inner_rates(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(0.05, 0.95, size=(n, d))


def shares(X: Array) -> Array:
    return X / X.sum(axis=1, keepdims=True)


COSH = Bregman(F=lambda X: np.cosh(X).sum(axis=1), grad=np.sinh)
MEASURES = [
    Measure("euclidean", SquaredEuclidean(), euclidean, signed, signed),
    Measure("cosine", Cosine(), cosine, signed, signed),
    Measure("correlation", Correlation(), pearson, signed, signed),
    Measure("i-divergence", IDivergence(), i_divergence, counts, positive),
    Measure("kl", KullbackLeibler(), i_divergence, counts, positive, shares),
    Measure("itakura-saito", ItakuraSaito(), itakura_saito, positive, positive),
    Measure("logistic", Logistic(), logistic, rates, inner_rates),
    Measure("bregman", COSH, cosh_divergence, signed, signed),
]
CASES = [
    pytest.param(m, kind, id=f"{m.name}-{kind}") for m in MEASURES for kind in m.distortion.metrics
]
every_case = pytest.mark.parametrize(("measure", "kind"), CASES)
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
SPARSE = [m for m in MEASURES if m.name not in ("itakura-saito",)]


def problem(
    measure: Measure, kind: str, seed: int
) -> tuple[Array, Array, Metric, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(1, 9)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
    X, M = measure.data(rng, n, d), measure.centres(rng, K, d)
    return X, measure.distortion.prepared_centres(M), random_metric(kind, d, K, rng), rng


def by_definition(measure: Measure, X: Array, M: Array, metric: Metric) -> Array:
    X = measure.prepare(X)
    return np.array(
        [[measure.definition(x, mu, matrix(metric, h)) for h, mu in enumerate(M)] for x in X]
    )


def table(distortion: Distortion, X: Any, M: Array, metric: Metric) -> Array:
    return distortion.table(distortion.rows(X), M, metric)


# ---------------------------------------------------------------------------
# the definition


@every_case
@given(seed=seeds)
def test_table_is_the_definition(measure: Measure, kind: str, seed: int) -> None:
    X, M, metric, _ = problem(measure, kind, seed)
    wanted = by_definition(measure, X, M, metric)
    dense = table(measure.distortion, X, M, metric)
    np.testing.assert_allclose(dense, wanted, rtol=1e-10, atol=1e-12 * (1 + wanted.max()))
    csr = table(measure.distortion, sparse.csr_array(X), M, metric)
    np.testing.assert_allclose(csr, dense, rtol=1e-10, atol=1e-12 * (1 + wanted.max()))
    assert (dense >= 0).all() and (csr >= 0).all()


@every_case
@given(seed=seeds)
def test_float32_stays_float32_and_is_near(measure: Measure, kind: str, seed: int) -> None:
    X, M, metric, _ = problem(measure, kind, seed)
    X = X.astype(np.float32)
    wanted = by_definition(measure, X.astype(np.float64), M, metric)
    for data in (X, sparse.csr_array(X)):
        value = table(measure.distortion, data, M, metric)
        # The user's own functions see float64; everything else keeps the data's dtype.
        assert value.dtype == (np.float64 if measure.name == "bregman" else np.float32)
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4 * (1 + wanted.max()))


@every_case
@given(seed=seeds)
def test_table_is_offset_plus_products(measure: Measure, kind: str, seed: int) -> None:
    X, M, metric, _ = problem(measure, kind, seed)
    D, rows = measure.distortion, measure.distortion.rows(X)
    f = D.row_offset(rows, metric)
    assert f.shape == ((len(X), len(M)) if metric.per_cluster else (len(X),))
    whole = D.products(rows, M, metric) + (f if f.ndim == 2 else f[:, None])
    wanted = by_definition(measure, X, M, metric)
    np.testing.assert_allclose(whole, wanted, rtol=1e-10, atol=1e-12 * (1 + wanted.max()))


@every_case
@given(seed=seeds)
def test_a_centre_is_no_distance_from_itself(measure: Measure, kind: str, seed: int) -> None:
    _, M, metric, _ = problem(measure, kind, seed)
    if measure.name in ("cosine", "correlation"):
        M = M[np.ptp(M, axis=1) > 1e-3] if M.shape[1] > 1 else M[:0]
    if len(M) == 0 or metric.per_cluster:
        return
    own = np.diag(table(measure.distortion, M, M, metric))
    np.testing.assert_allclose(own, 0.0, atol=1e-11 * (1 + np.abs(M).max() ** 2) * 10)


# ---------------------------------------------------------------------------
# invariances


@every_case
@given(seed=seeds)
def test_order_of_features_and_rows_does_not_matter(measure: Measure, kind: str, seed: int) -> None:
    X, M, metric, rng = problem(measure, kind, seed)
    features, points = rng.permutation(X.shape[1]), rng.permutation(len(X))
    theta = metric.theta[..., features]
    if metric.full:
        theta = theta[..., features, :]
    value = table(measure.distortion, X, M, metric)
    moved = table(measure.distortion, X[points][:, features], M[:, features], type(metric)(theta))
    np.testing.assert_allclose(moved, value[points], rtol=1e-9, atol=1e-11 * (1 + value.max()))


@pytest.mark.parametrize("kind", SquaredEuclidean.metrics)
@given(seed=seeds)
def test_squared_distances_do_not_see_translations(kind: str, seed: int) -> None:
    X, M, metric, rng = problem(MEASURES[0], kind, seed)
    shift = rng.normal(scale=3.0, size=X.shape[1])
    value = table(SquaredEuclidean(), X, M, metric)
    moved = table(SquaredEuclidean(), X + shift, M + shift, metric)
    np.testing.assert_allclose(moved, value, rtol=1e-8, atol=1e-10 * (1 + value.max()))


@pytest.mark.parametrize("measure", [MEASURES[1], MEASURES[2]], ids=lambda m: m.name)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@given(seed=seeds)
def test_directions_do_not_see_scales(measure: Measure, storage: Any, seed: int) -> None:
    X, M, metric, rng = problem(measure, "diagonal", seed)
    value = table(measure.distortion, storage(X), M, metric)
    rows, columns = rng.uniform(0.01, 100, (len(X), 1)), rng.uniform(0.01, 100, (len(M), 1))
    scaled = type(metric)(metric.theta * rng.uniform(0.01, 100))
    moved = table(measure.distortion, storage(X * rows), M * columns, scaled)
    np.testing.assert_allclose(moved, value, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@given(seed=seeds)
def test_correlation_is_the_cosine_of_centred_rows(storage: Any, seed: int) -> None:
    X, M, metric, rng = problem(MEASURES[2], "diagonal", seed)
    keep = np.ptp(X, axis=1) > 0
    X = X[keep] + rng.normal(size=(int(keep.sum()), 1))
    centred = X - X.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(
        table(Correlation(), storage(X), M, metric), table(Cosine(), centred, M, metric), atol=1e-9
    )


@given(seed=seeds)
def test_user_divergences_meet_the_built_in_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, M = positive(rng, 5, 3), positive(rng, 2, 3)
    metric = start_metric("identity", 3, 2)
    square = Bregman(F=lambda x: (x * x).sum(axis=1), grad=lambda x: 2 * x)
    entropy = Bregman(F=lambda x: (x * np.log(x) - x).sum(axis=1), grad=np.log)
    burg = Bregman(F=lambda x: -np.log(x).sum(axis=1), grad=lambda x: -1 / x)
    for mine, theirs in (
        (square, SquaredEuclidean()),
        (entropy, IDivergence()),
        (burg, ItakuraSaito()),
    ):
        np.testing.assert_allclose(
            table(mine, X, M, metric), table(theirs, X, M, metric), rtol=1e-9, atol=1e-12
        )


# ---------------------------------------------------------------------------
# rows without a direction


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", ["identity", "diagonal"])
def test_zero_rows_have_cosine_distance_one(kind: str, storage: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3)).astype(dtype)
    X[[1, 3]] = 0.0
    metric = random_metric(kind, 3, 2, rng)
    D, M = Cosine(), np.vstack([rng.normal(size=(2, 3)), np.zeros(3)])
    value = table(D, storage(X), M, metric)
    np.testing.assert_array_equal(value[[1, 3]], 1.0)
    np.testing.assert_array_equal(value[:, 2], 1.0)  # neither has a centre of length 0
    rows = D.rows(storage(X))
    np.testing.assert_array_equal(
        D.pair(rows, np.array([0, 1, 1]), np.array([1, 2, 3]), metric), 1.0
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", ["identity", "diagonal"])
@pytest.mark.parametrize("constant", [0.0, 1.0, 0.1, -1 / 3, 1e6 / 3])
def test_constant_rows_have_correlation_distance_one(
    constant: float, kind: str, storage: Any, dtype: Any
) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4, 7)).astype(dtype)
    X[[1, 3]] = constant
    metric = random_metric(kind, 7, 2, rng)
    D = Correlation()
    M = D.prepared_centres(rng.normal(size=(2, 7)))
    tolerance = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(table(D, storage(X), M, metric)[[1, 3]], 1.0, atol=tolerance)
    rows = D.rows(storage(X))
    value = D.pair(rows, np.array([0, 1, 1]), np.array([1, 2, 3]), metric)
    np.testing.assert_allclose(value, 1.0, atol=tolerance)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_nearly_constant_rows_keep_their_direction(storage: Any) -> None:
    # Deviations of 1e-4 of the level are data in float64, not rounding.
    rng = np.random.default_rng(2)
    deviations = rng.normal(size=(5, 6))
    X = 1.0 + 1e-4 * deviations
    M = Correlation().prepared_centres(rng.normal(size=(2, 6)))
    metric = start_metric("identity", 6, 2)
    np.testing.assert_allclose(
        table(Correlation(), storage(X), M, metric),
        table(Correlation(), deviations, M, metric),
        atol=1e-6,
    )


# ---------------------------------------------------------------------------
# centres


def cluster_cost(
    measure: Measure, X: Array, weight: Array, labels: Array, M: Array, metric: Metric
) -> Array:
    """Return Σ v D of every cluster, by the definition."""
    D = by_definition(measure, X, M, metric)
    each = weight * D[np.arange(len(X)), labels]
    return np.bincount(labels, weights=each, minlength=len(M))


def perturbed(measure: Measure, M: Array, rng: np.random.Generator, size: float) -> Array:
    """Return centres nearby that lie in the domain."""
    moved = M + size * rng.normal(size=M.shape)
    if measure.data in (counts, positive):
        moved = np.maximum(moved, 0.05 * M)
    if measure.data is rates:
        moved = np.clip(moved, 0.05 * M, 1 - 0.05 * (1 - M))
    return measure.distortion.prepared_centres(moved)


@every_case
@given(seed=seeds)
def test_centres_are_minimisers(measure: Measure, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, K = 12, int(rng.integers(2, 5)), 3
    X = measure.data(rng, n, d)
    if measure.data in (counts, rates):  # a centre must lie inside the domain: no column is 0 or 1
        X = np.clip(X, 0.02, 0.98 if measure.data is rates else None)
    weight = rng.uniform(0.0, 2.0, n)
    labels = np.r_[0, 1, rng.integers(0, 2, size=n - 2)]  # cluster 2 stays empty
    metric = random_metric(kind, d, K, rng)
    D = measure.distortion
    stats = summarize(D, D.rows(X), weight, labels, metric, K)
    old = D.prepared_centres(measure.centres(rng, K, d))
    M = D.centres(stats.sums, stats.weight, old, metric)
    np.testing.assert_array_equal(M[2], old[2])
    best = cluster_cost(measure, X, weight, labels, M, metric)
    for size in (1e-4, 1e-2, 0.3):
        for _ in range(5):
            other = perturbed(measure, M, rng, size)
            cost = cluster_cost(measure, X, weight, labels, other, metric)
            assert (cost >= best - 1e-9 * (1 + np.abs(best))).all()


@pytest.mark.parametrize(
    "measure",
    [m for m in MEASURES if hasattr(m.distortion, "smoothing_strength")],
    ids=lambda m: m.name,
)
@pytest.mark.parametrize("kind", ["identity", "diagonal"])
@given(seed=seeds)
def test_smoothed_centres_minimise_the_augmented_sum(
    measure: Measure, kind: str, seed: int
) -> None:
    """(E2): μ_h is the argmin of Σ v D(x, μ) + ζ n_h D(u₀, μ), which J contains."""
    rng = np.random.default_rng(seed)
    n, d, K = 10, int(rng.integers(2, 5)), 2
    X, weight = measure.data(rng, n, d), rng.uniform(0.1, 2.0, n)
    labels = np.r_[0, 1, rng.integers(0, 2, size=n - 2)]
    metric = random_metric(kind, d, K, rng)
    zeta = float(rng.uniform(0.05, 3.0))
    D = type(measure.distortion)(smoothing_strength=zeta, smoothing_floor=0.01)
    rows = D.rows(X)
    smoothing = D.smoothing(rows, weight)
    assert smoothing is not None and smoothing.strength == zeta
    u = smoothing.prior
    if measure.name == "logistic":
        np.testing.assert_allclose(u, 0.5)
    else:
        mass = measure.prepare(X).sum(axis=1)
        np.testing.assert_allclose(u, weight @ mass / weight.sum() / d)
    objective = Objective(D, D.second_moment(rows, weight, metric), smoothing, None, Regulariser())
    stats = summarize(D, rows, weight, labels, metric, K)
    model = Model(measure.centres(rng, K, d), metric, zeta)
    M = objective.centres(stats, model)
    mean = np.array([np.average(measure.prepare(X)[labels == h], axis=0,
                                weights=weight[labels == h]) for h in range(K)])  # fmt: skip
    np.testing.assert_allclose(M, (mean + zeta * u) / (1 + zeta))

    def augmented(M: Array) -> Array:
        prior = np.array([measure.definition(u, mu, matrix(metric, 0)) for mu in M])
        return cluster_cost(measure, X, weight, labels, M, metric) + zeta * stats.weight * prior

    best = augmented(M)
    for size in (1e-4, 1e-2, 0.2):
        for _ in range(5):
            other = perturbed(measure, M, rng, size)
            assert (augmented(other) >= best - 1e-9 * (1 + np.abs(best))).all()
    total = objective.fixed_labels(stats, model.with_(centres=M), labels)
    np.testing.assert_allclose(total, best.sum(), rtol=1e-9)
    offsets = objective.label_offsets(model.with_(centres=M))
    prior = [zeta * measure.definition(u, mu, matrix(metric, 0)) for mu in M]
    np.testing.assert_allclose(offsets, prior, rtol=1e-8, atol=1e-12)


@given(seed=seeds)
def test_smoothing_only_weakens(seed: int) -> None:
    rng = np.random.default_rng(seed)
    smoothing = Smoothing(1.0, float(rng.uniform(0, 1)), 1e-3, np.ones(2))
    strength = 1.0
    for _ in range(30):
        weaker = smoothing.annealed(strength)
        assert 1e-3 <= weaker <= max(strength, 1e-3)
        strength = weaker


def test_centres_without_direction_keep_the_old_one() -> None:
    metric = start_metric("identity", 2, 2)
    old = np.array([[0.6, 0.8], [1.0, 0.0]])
    M = Cosine().centres(np.array([[0.0, 0.0], [0.0, 3.0]]), np.ones(2), old, metric)
    np.testing.assert_array_equal(M, [[0.6, 0.8], [0.0, 1.0]])


def test_cosine_centre_is_not_the_sum_of_raw_rows() -> None:
    """The sum of raw rows (Basu et al. 2004, eq. 17) is worse where lengths differ."""
    X = np.array([[100.0, 0.0], [0.0, 1.0]])
    metric = start_metric("identity", 2, 1)
    stats = summarize(Cosine(), Cosine().rows(X), np.ones(2), np.zeros(2, int), metric, 1)
    M = Cosine().centres(stats.sums, stats.weight, np.ones((1, 2)), metric)
    np.testing.assert_allclose(M, np.full((1, 2), np.sqrt(0.5)))
    raw = X.sum(axis=0, keepdims=True)
    assert table(Cosine(), X, M, metric).sum() < table(Cosine(), X, raw, metric).sum()


# ---------------------------------------------------------------------------
# names and domains


@every_measure
def test_names_give_the_measure(measure: Measure) -> None:
    if measure.name == "bregman":
        assert as_distortion(COSH) is COSH
    else:
        assert type(as_distortion(measure.name)) is type(measure.distortion)
    assert measure.distortion.name == measure.name


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"distortion must be one of .*'cosine'.*got 'cosin'"):
        as_distortion("cosin")
    with pytest.raises(ValueError, match=r"metric must be one of .*got 'diag'"):
        start_metric("diag", 2, 2)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(
    ("distortion", "bad", "message"),
    [
        (IDivergence(), [[1.0, -2.0]], "Negative values in data passed to i-divergence.* -2"),
        (KullbackLeibler(), [[1.0, -2.0]], "Negative values in data passed to kl"),
        (KullbackLeibler(), [[1.0, 2.0], [0.0, 0.0]], "row 1 is all zero"),
        (ItakuraSaito(), [[1.0, 0.0]], "above 0; the smallest is 0"),
        (Logistic(), [[0.5, 1.5]], "between 0 and 1; found .* to 1.5"),
        (Logistic(), [[-0.5, 0.5]], "between 0 and 1; found -0.5"),
    ],
)
def test_data_outside_the_domain_is_refused(
    distortion: Distortion, bad: list[list[float]], message: str, storage: Any
) -> None:
    with pytest.raises(ValueError, match=message):
        distortion.check(storage(np.array(bad)))


@every_measure
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_data_inside_the_domain_passes(measure: Measure, storage: Any) -> None:
    measure.distortion.check(storage(measure.data(np.random.default_rng(0), 6, 3)))


@pytest.mark.parametrize("distortion", [IDivergence, KullbackLeibler, Logistic])
def test_smoothing_is_mandatory_where_centres_may_be_zero(distortion: Any) -> None:
    rows = distortion().rows(np.full((3, 2), 0.5))
    for bad in ({"smoothing_strength": 0.0}, {"smoothing_floor": 0.0}):
        with pytest.raises(ValueError, match="needs smoothing_strength > 0 and smoothing_floor"):
            distortion(**bad).smoothing(rows, np.ones(3))


@pytest.mark.parametrize(
    "bad",
    [{"smoothing_strength": -1.0}, {"smoothing_decay": 1.5}, {"smoothing_decay": -0.1}],
)
def test_impossible_smoothing_is_refused(bad: dict[str, float]) -> None:
    D = ItakuraSaito(**bad)
    with pytest.raises(ValueError, match="smoothing needs strength >= 0"):
        D.smoothing(D.rows(np.ones((2, 2))), np.ones(2))


def test_user_functions_of_the_wrong_shape_are_refused() -> None:
    metric = start_metric("identity", 2, 1)
    X, M = np.ones((3, 2)), np.ones((1, 2))
    flat = Bregman(F=lambda x: x * x, grad=lambda x: 2 * x)
    with pytest.raises(ValueError, match=r"F must return finite values of shape \(3,\)"):
        table(flat, X, M, metric)
    slope = Bregman(F=lambda x: (x * x).sum(axis=1), grad=lambda x: 2 * x.sum(axis=1))
    with pytest.raises(ValueError, match=r"grad must return finite values of shape \(1, 2\)"):
        table(slope, X, M, metric)
    nan = Bregman(F=lambda x: np.full(len(x), np.nan), grad=lambda x: x)
    with pytest.raises(ValueError, match="domain"):
        table(nan, X, M, metric)
