"""Pair penalties, their bounds, shapes and derivatives, against definitions and differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import directional_gradient
from scipy import sparse

from linkfield.distortions import (
    METRICS,
    Bregman,
    Correlation,
    Cosine,
    Distortion,
    HMRFPenalty,
    IDivergence,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Metric,
    MPC2003Penalty,
    Penalty,
    PottsPenalty,
    SquaredEuclidean,
    as_penalty,
    start_metric,
)
from linkfield.distortions.bounds import Constant, Diameter
from linkfield.estimation import Model, Objective, Regulariser, summarize

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
STORAGES = [pytest.param(np.asarray, id="dense"), pytest.param(sparse.csr_array, id="csr")]
every_storage = pytest.mark.parametrize("storage", STORAGES)


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


def single(metric: Metric) -> list[Array]:
    """Return every A of a metric as a matrix."""
    thetas = metric.theta if metric.per_cluster else metric.theta[None]
    return [theta if metric.full else np.diag(theta) for theta in thetas]


def direction(metric: Metric, rng: np.random.Generator) -> Array:
    """Return a random change of θ that keeps matrices symmetric."""
    E = rng.normal(size=metric.theta.shape)
    return (E + np.swapaxes(E, -1, -2)) / 2 if metric.full else E


def slope(function: Callable[[Metric], Any], metric: Metric, E: Array, step: float = 1e-5) -> Any:
    """Return the central difference of a function of the metric along E."""
    ends = [function(type(metric)(metric.theta + s * E)) for s in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


def xlogx(x: Array) -> Array:
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)


def jensen(F: Callable[[Array], Array]) -> Callable[[Array, Array, Array], float]:
    def phi(x: Array, y: Array, A: Array) -> float:
        return float(np.diag(A) @ (F(x) + F(y) - 2 * F((x + y) / 2)))

    return phi


def squared(x: Array, y: Array, A: Array) -> float:
    return float((x - y) @ A @ (x - y))


def cosine(x: Array, y: Array, A: Array) -> float:
    length = np.sqrt((x @ A @ x) * (y @ A @ y))
    return 1.0 if length == 0 else float(1 - x @ A @ y / length)


def i_divergence_to_the_mean(x: Array, y: Array, A: Array) -> float:
    m, total = (x + y) / 2, 0.0
    for a, p, q, r in zip(np.diag(A), x, y, m, strict=True):
        for value in (p, q):
            total += a * ((value * np.log(value / r) if value > 0 else 0.0) - value + r)
    return total


def signed(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)


def counts(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.poisson(1.2, size=(n, d)) * rng.uniform(0.5, 2.0, size=(n, d))
    X[:, 0] += 0.5
    return X


def positive(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(0.2, 4.0, size=(n, d))


def rates(rng: np.random.Generator, n: int, d: int) -> Array:
    X = rng.random((n, d))
    return np.where(rng.random((n, d)) < 0.4, np.round(X), X)


@dataclass(frozen=True)
class Measure:
    """A measure, its pair penalty by definition, data in its domain, its bounds."""

    name: str
    distortion: Distortion
    phi: Callable[[Array, Array, Array], float]
    data: Callable[[np.random.Generator, int, int], Array]
    bounds: tuple[str, ...]
    prepare: Callable[[Array], Array] = lambda X: X


def shares(X: Array) -> Array:
    return X / X.sum(axis=1, keepdims=True)


def centred(X: Array) -> Array:
    return X - X.mean(axis=1, keepdims=True)


COSH = Bregman(F=lambda X: np.cosh(X).sum(axis=1), grad=np.sinh)
MEASURES = [
    Measure("euclidean", SquaredEuclidean(), squared, signed,
            ("auto", "box", "lowner", "radius", "diameter")),
    Measure("cosine", Cosine(), cosine, signed, ("auto", "diameter")),
    Measure("correlation", Correlation(), cosine, signed, ("auto", "diameter"), centred),
    Measure("i-divergence", IDivergence(), i_divergence_to_the_mean, counts,
            ("auto", "mass", "box", "diameter")),
    Measure("kl", KullbackLeibler(), i_divergence_to_the_mean, counts,
            ("auto", "mass", "box", "diameter"), shares),
    Measure("itakura-saito", ItakuraSaito(), jensen(lambda x: -np.log(x)), positive,
            ("auto", "box", "diameter")),
    Measure("logistic", Logistic(), jensen(lambda x: xlogx(x) + xlogx(1 - x)), rates,
            ("auto", "box", "diameter")),
    Measure("bregman", COSH, jensen(np.cosh), signed, ("auto", "diameter")),
]  # fmt: skip
BY_NAME = {m.name: m for m in MEASURES}
CASES = [
    pytest.param(m, kind, id=f"{m.name}-{kind}") for m in MEASURES for kind in m.distortion.metrics
]
LEARNED = [case for case in CASES if case.values[1] != "identity"]
BOUNDS = [
    pytest.param(m, kind, bound, id=f"{m.name}-{kind}-{bound}")
    for m in MEASURES
    for kind in m.distortion.metrics
    for bound in m.bounds
    if not (bound == "box" and kind.startswith("full"))
    and not (bound == "diameter" and kind.endswith("per-cluster"))
]
every_case = pytest.mark.parametrize(("measure", "kind"), CASES)
every_learned = pytest.mark.parametrize(("measure", "kind"), LEARNED)
every_bound = pytest.mark.parametrize(("measure", "kind", "bound"), BOUNDS)


def problem(
    measure: Measure, kind: str, seed: int, n: int = 7
) -> tuple[Array, Metric, np.random.Generator]:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 6))
    return measure.data(rng, n, d), random_metric(kind, d, 3, rng), rng


def all_pairs(n: int) -> tuple[Array, Array]:
    i, j = np.array(list(combinations(range(n), 2))).T
    return i, j


def by_definition(measure: Measure, X: Array, i: Array, j: Array, metric: Metric) -> Array:
    X, matrices = measure.prepare(X), single(metric)
    value = np.array(
        [[measure.phi(X[p], X[q], A) for A in matrices] for p, q in zip(i, j, strict=True)]
    )
    return value if metric.per_cluster else value[:, 0]


# ---------------------------------------------------------------------------
# the pair penalty


@every_case
@every_storage
@given(seed=seeds)
def test_pair_is_its_definition(measure: Measure, kind: str, storage: Any, seed: int) -> None:
    X, metric, _ = problem(measure, kind, seed)
    D = measure.distortion
    rows = D.rows(storage(X))
    i, j = all_pairs(len(X))
    phi = D.pair(rows, i, j, metric)
    wanted = by_definition(measure, X, i, j, metric)
    assert phi.shape == wanted.shape
    np.testing.assert_allclose(phi, wanted, rtol=1e-9, atol=1e-12 * (1 + wanted.max()))
    np.testing.assert_allclose(D.pair(rows, j, i, metric), phi, rtol=1e-12, atol=1e-14)
    assert (phi >= 0).all()
    nothing = np.zeros(0, np.int64)
    assert D.pair(rows, nothing, nothing, metric).shape == (0, *phi.shape[1:])


@every_case
@given(seed=seeds)
def test_a_row_is_no_distance_from_itself(measure: Measure, kind: str, seed: int) -> None:
    X, metric, _ = problem(measure, kind, seed)
    X = X[np.ptp(X, axis=1) > 0.1]
    rows = measure.distortion.rows(X)
    i = np.arange(len(X))
    np.testing.assert_allclose(measure.distortion.pair(rows, i, i, metric), 0.0, atol=1e-12)


@given(seed=seeds)
def test_generic_squared_length_gives_half_the_squared_distance(seed: int) -> None:
    X, metric, _ = problem(BY_NAME["euclidean"], "identity", seed)
    i, j = all_pairs(len(X))
    square = Bregman(F=lambda x: (x * x).sum(axis=1), grad=lambda x: 2 * x)
    half = square.pair(square.rows(X), i, j, metric)
    whole = SquaredEuclidean().pair(SquaredEuclidean().rows(X), i, j, metric)
    np.testing.assert_allclose(half, whole / 2, rtol=1e-9, atol=1e-12)


@every_learned
@every_storage
@given(seed=seeds)
def test_pair_gradient_by_differences(measure: Measure, kind: str, storage: Any, seed: int) -> None:
    X, metric, rng = problem(measure, kind, seed)
    D, E = measure.distortion, direction(metric, rng)
    rows = D.rows(storage(X))
    i, j = rng.integers(0, len(X), size=(2, 9))
    c = rng.normal(size=(9, 3) if metric.per_cluster else 9)
    gradient = D.pair_gradient(rows, i, j, c, metric)
    assert gradient.shape == metric.theta.shape
    wanted = slope(lambda m: (c * D.pair(rows, i, j, m)).sum(), metric, E)
    np.testing.assert_allclose((gradient * E).sum(), wanted, rtol=1e-6, atol=1e-7)
    nothing = np.zeros(0, np.int64)
    empty = D.pair_gradient(rows, nothing, nothing, c[:0], metric)
    np.testing.assert_array_equal(empty, np.zeros_like(metric.theta))


@pytest.mark.parametrize("name", [m.name for m in MEASURES if m.distortion.tables])
@every_storage
@given(seed=seeds)
def test_embedding_reproduces_the_pair_penalty(name: str, storage: Any, seed: int) -> None:
    measure = BY_NAME[name]
    for kind in measure.distortion.metrics:
        X, metric, _ = problem(measure, kind, seed)
        X[2] = 0.0  # no direction: φ = 1 to everything
        D = measure.distortion
        rows = D.rows(storage(X))
        b, z = D.embedding(rows, metric)
        assert len(b) == len(z) == (len(metric.theta) if metric.per_cluster else 1)
        i, j = all_pairs(len(X))
        parts = [part.dense() for part in z]
        phi = np.array([
            bk[i] + bk[j] - np.einsum("ei,ei->e", zk[i], zk[j])
            for bk, zk in zip(b, parts, strict=True)
        ]).T  # fmt: skip
        wanted = D.pair(rows, i, j, metric)
        wanted = wanted if metric.per_cluster else wanted[:, None]
        np.testing.assert_allclose(phi, wanted, rtol=1e-9, atol=1e-11 * (1 + wanted.max()))


def test_measures_without_tables_or_weights_say_so() -> None:
    metric = start_metric("identity", 2, 1)
    for measure in MEASURES:
        D = measure.distortion
        if not D.tables:
            with pytest.raises(NotImplementedError, match=f"{D.name} has no tables"):
                D.embedding(D.rows(np.full((2, 2), 0.5)), metric)
    with pytest.raises(NotImplementedError, match="no metric to learn"):
        COSH.pair_gradient(COSH.rows(np.ones((2, 2))), [0], [1], np.ones(1), metric)


# ---------------------------------------------------------------------------
# bounds


@every_bound
@every_storage
@settings(max_examples=15)
@given(seed=seeds)
def test_bounds_dominate_all_pairs(
    measure: Measure, kind: str, bound: str, storage: Any, seed: int
) -> None:
    X, metric, rng = problem(measure, kind, seed, n=9)
    D = measure.distortion
    rows = D.rows(storage(X))
    top = D.bound(bound, rows, metric)
    i, j = all_pairs(len(X))
    for other in (metric, random_metric(kind, X.shape[1], 3, rng)):
        # A bound is a function of θ: it holds for metrics that it has not seen.
        value, phi = top.value(other), D.pair(rows, i, j, other)
        assert np.shape(value) == ((3,) if metric.per_cluster else ())
        assert (phi <= np.asarray(value) * (1 + 1e-9) + 1e-12).all()


@every_bound
@given(seed=seeds)
def test_linear_bounds_are_homogeneous(measure: Measure, kind: str, bound: str, seed: int) -> None:
    X, metric, rng = problem(measure, kind, seed)
    if not measure.distortion.bregman or not metric.learned:
        return
    top = measure.distortion.bound(bound, measure.distortion.rows(X), metric)
    factor = float(rng.uniform(0.1, 10.0))
    scaled = type(metric)(factor * metric.theta)
    np.testing.assert_allclose(top.value(scaled), factor * np.asarray(top.value(metric)))


@every_bound
@given(seed=seeds)
def test_gradients_of_bounds_by_differences(
    measure: Measure, kind: str, bound: str, seed: int
) -> None:
    X, metric, rng = problem(measure, kind, seed)
    if not metric.learned or (bound == "radius" and metric.per_cluster):
        return
    D = measure.distortion
    top = D.bound(bound, D.rows(X), metric)
    G = top.gradient(metric)
    assert G.shape == metric.theta.shape[int(metric.per_cluster) :]
    E = direction(metric, rng)
    wanted = slope(top.value, metric, E, 1e-6)
    each = (G * E).sum(axis=tuple(range(int(metric.per_cluster), E.ndim)))
    np.testing.assert_allclose(each, wanted, rtol=1e-5, atol=1e-6)


@every_storage
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e5])
@pytest.mark.parametrize("seed", range(5))
def test_lowner_bound_holds_far_from_zero(seed: int, offset: float, storage: Any) -> None:
    """Columns with an offset, a constant one and a repeated one: sparse rows are not centred."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) + offset
    X = np.column_stack([X, np.full(30, offset), X[:, 0]])
    D, metric = SquaredEuclidean(), random_metric("full", 6, 1, rng)
    rows = D.rows(storage(X))
    top = D.bound("lowner", rows, metric)
    i, j = all_pairs(len(X))
    assert (D.pair(rows, i, j, metric) <= top.value(metric)).all()
    G = top.gradient(metric)
    for z in X[i] - X[j]:  # zzᵀ ≼ G
        assert np.linalg.eigvalsh(G - np.outer(z, z)).min() >= -1e-9 * np.trace(G)


@every_storage
def test_bounds_of_rows_that_are_all_the_same(storage: Any) -> None:
    for measure in MEASURES:
        X = np.full((4, 3), 0.5)
        D = measure.distortion
        metric = start_metric("identity", 3, 2)
        for bound in measure.bounds:
            top = D.bound(bound, D.rows(storage(X)), metric)
            assert np.isfinite(top.value(metric)) and top.value(metric) >= -1e-12


def test_bounds_of_directions() -> None:
    metric = start_metric("identity", 2, 1)
    for X, wanted in (([[1.0, 0.0], [0.0, 2.0]], 1.0), ([[1.0, 0.0], [-1.0, 2.0]], 2.0)):
        for storage in (np.asarray, sparse.csr_array):
            rows = Cosine().rows(storage(np.array(X)))
            assert Cosine().bound("auto", rows, metric).value(metric) == wanted
    rows = Correlation().rows(np.array([[1.0, 0.0], [0.0, 2.0]]))
    assert Correlation().bound("auto", rows, metric).value(metric) == 2.0


def test_box_and_mass_by_hand() -> None:
    X = np.array([[0.0, 1.0], [2.0, 4.0], [1.0, -1.0]])
    metric = METRICS["diagonal"](np.array([3.0, 0.5]))
    box = SquaredEuclidean().bound("box", SquaredEuclidean().rows(X), metric)
    assert box.value(metric) == 3.0 * 4.0 + 0.5 * 25.0
    counts = np.array([[0.0, 1.0], [2.0, 4.0], [1.0, 3.0]])
    mass = IDivergence().bound("auto", IDivergence().rows(counts), metric)
    np.testing.assert_allclose(mass.value(metric), np.log(2) * (8.0 + 4.5))
    apart = np.array([[2.0, 0.0], [0.0, 3.0]])  # disjoint supports attain it
    rows = IDivergence().rows(apart)
    phi = IDivergence().pair(rows, np.array([0]), np.array([1]), metric)
    top = IDivergence().bound("mass", rows, metric).value(metric)
    np.testing.assert_allclose(phi, top)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_a_number_is_a_bound(measure: Measure) -> None:
    X = measure.data(np.random.default_rng(0), 4, 2)
    for kind in measure.distortion.metrics:
        metric = start_metric(kind, 2, 3)
        top = measure.distortion.bound(7.5, measure.distortion.rows(X), metric)
        np.testing.assert_array_equal(top.value(metric), 7.5)
        np.testing.assert_array_equal(top.gradient(metric), np.zeros(metric.theta.shape[-1:]
                                      if not metric.full else metric.theta.shape[-2:]))  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_unknown_bounds_are_refused(measure: Measure) -> None:
    X = measure.data(np.random.default_rng(0), 4, 2)
    with pytest.raises(ValueError, match="bound='biggest' does not fit"):
        measure.distortion.bound(
            "biggest", measure.distortion.rows(X), start_metric("identity", 2, 1)
        )


def test_bounds_that_do_not_fit_the_metric_are_refused() -> None:
    D = SquaredEuclidean()
    rows = D.rows(np.random.default_rng(0).normal(size=(5, 2)))
    with pytest.raises(ValueError, match="bound='box' does not fit the full metric"):
        D.bound("box", rows, start_metric("full", 2, 1))
    each = start_metric("full-per-cluster", 2, 2)
    with pytest.raises(ValueError, match="bound='diameter' is for one shared metric"):
        D.bound("diameter", rows, each).value(each)
    with pytest.raises(ValueError, match="bound='radius' is for one shared metric"):
        D.bound("radius", rows, each).gradient(each)


def test_diameter_is_refused_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Diameter, "max_rows", 4)
    D, metric = SquaredEuclidean(), start_metric("diagonal", 1, 1)
    rows = D.rows(np.arange(5.0)[:, None])
    with pytest.raises(ValueError, match=r"all pairs of 5 rows; above 4 rows"):
        D.bound("diameter", rows, metric).value(metric)
    assert D.bound("diameter", rows.take(slice(0, 4)), metric).value(metric) == 9.0


def test_constant_bound_of_a_user_divergence_is_exact() -> None:
    rng = np.random.default_rng(3)
    X, metric = signed(rng, 8, 2), start_metric("identity", 2, 1)
    top = COSH.bound("auto", COSH.rows(X), metric)
    i, j = all_pairs(8)
    assert isinstance(top, Constant)
    np.testing.assert_allclose(top.value(metric), COSH.pair(COSH.rows(X), i, j, metric).max())


# ---------------------------------------------------------------------------
# the data part and its derivative


@every_case
@every_storage
@given(seed=seeds)
def test_data_energy_is_the_sum_of_distances(
    measure: Measure, kind: str, storage: Any, seed: int
) -> None:
    """Σ v D from statistics alone; where D is linear in θ it is ⟨θ, S⟩, so S is its gradient."""
    X, metric, rng = problem(measure, kind, seed)
    D, K = measure.distortion, 3
    rows = D.rows(storage(X))
    weight, labels = rng.uniform(0.0, 2.0, len(X)), rng.integers(0, K, size=len(X))
    M = D.prepared_centres(
        rng.uniform(0.1, 0.9, size=(K, X.shape[1]))
        + (rng.normal(size=(K, X.shape[1])) if measure.data is signed else 0.0)
    )
    stats = summarize(D, rows, weight, labels, metric, K)
    if metric.per_cluster:
        moment = np.zeros(1)
    else:
        moment = D.second_moment(rows, weight, metric) if D.bregman else np.array([weight.sum()])
    objective = Objective(D, moment, None, None, Regulariser())
    value = objective.data(stats, Model(M, metric))
    each = D.table(rows, M, metric)[np.arange(len(X)), labels]
    np.testing.assert_allclose(value, weight @ each, rtol=1e-8, atol=1e-10)
    if D.bregman and measure.name != "bregman":
        moment = moment if stats.moment is None else stats.moment
        S = D.dispersion(moment, stats.sums, stats.weight, M, metric)
        assert S.shape == metric.theta.shape
        if metric.full:
            np.testing.assert_allclose(S, np.swapaxes(S, -1, -2), rtol=1e-9, atol=1e-11)
        E = direction(metric, rng)

        def total(trial: Metric) -> float:
            each = D.table(rows, M, trial)[np.arange(len(X)), labels]
            return float(weight @ each)

        np.testing.assert_allclose((S * E).sum(), slope(total, metric, E), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["cosine", "correlation"])
@every_storage
@given(seed=seeds)
def test_gradient_of_directional_data_by_differences(name: str, storage: Any, seed: int) -> None:
    X, metric, rng = problem(BY_NAME[name], "diagonal", seed)
    X[1] = 0.0
    D = BY_NAME[name].distortion
    rows = D.rows(storage(X))
    K, n = 3, len(X)
    M = D.prepared_centres(rng.normal(size=(K, X.shape[1])))
    weight, labels = rng.uniform(0.0, 2.0, n), rng.integers(0, K, size=n)
    gradient = directional_gradient(D, rows, weight, labels, M, metric)
    assert gradient.shape == metric.theta.shape

    def total(trial: Metric) -> float:
        return float(weight @ D.table(rows, M, trial)[np.arange(n), labels])

    for m in range(X.shape[1]):
        E = np.eye(X.shape[1])[m]
        np.testing.assert_allclose(gradient[m], slope(total, metric, E), rtol=1e-5, atol=1e-7)
    # Scaling the weights changes nothing, so the gradient is orthogonal to them.
    np.testing.assert_allclose(gradient @ metric.theta, 0.0, atol=1e-10)


@pytest.mark.parametrize("name", ["cosine", "correlation"])
@given(seed=seeds)
def test_centres_may_stay_fixed_in_the_directional_gradient(name: str, seed: int) -> None:
    """Envelope theorem: at the best centres the partial derivative is the total one."""
    X, metric, rng = problem(BY_NAME[name], "diagonal", seed)
    D = BY_NAME[name].distortion
    rows, n = D.rows(X), len(X)
    labels = np.r_[0, 1, rng.integers(0, 2, size=n - 2)]
    weight = rng.uniform(0.1, 2.0, n)

    def best(trial: Metric) -> Array:
        stats = summarize(D, rows, weight, labels, trial, 2)
        return D.centres(stats.sums, stats.weight, np.ones((2, X.shape[1])), trial)

    def total(trial: Metric) -> float:
        return float(weight @ D.table(rows, best(trial), trial)[np.arange(n), labels])

    E = rng.normal(size=X.shape[1])
    gradient = directional_gradient(D, rows, weight, labels, best(metric), metric)
    np.testing.assert_allclose(gradient @ E, slope(total, metric, E), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [k for k in METRICS if k != "identity"])
@pytest.mark.parametrize("rayleigh", [None, 0.7])
@given(seed=seeds)
def test_regulariser_by_its_formula_and_by_differences(
    kind: str, rayleigh: float | None, seed: int
) -> None:
    if rayleigh is not None and kind != "diagonal":
        return
    rng = np.random.default_rng(seed)
    d, K = 3, 2
    metric = random_metric(kind, d, K, rng)
    scale = random_metric("full", d, 1, rng).theta if metric.full else rng.uniform(0.1, 2.0, d)
    kappa, nu = rng.uniform(0.0, 2.0, 2)
    weight = rng.uniform(0.0, 9.0, K)
    R = Regulariser(kappa, nu, scale, rayleigh)
    wanted = 0.0
    for h, A in enumerate(single(metric)):
        mass = weight[h] if metric.per_cluster else weight.sum()
        logdet = np.log(np.linalg.det(A))
        inner = np.sum(A * scale) if metric.full else np.diag(A) @ scale
        wanted += -kappa * mass * logdet + nu * (inner - logdet)
    if rayleigh is not None:
        density = metric.theta / rayleigh**2 * np.exp(-(metric.theta**2) / (2 * rayleigh**2))
        wanted -= np.log(density).sum()
    np.testing.assert_allclose(R.value(metric, weight), wanted, rtol=1e-9, atol=1e-10)
    E = direction(metric, rng)
    found = (R.gradient(metric, weight) * E).sum()
    np.testing.assert_allclose(
        found, slope(lambda m: R.value(m, weight), metric, E), rtol=1e-5, atol=1e-6
    )


def test_the_plain_measure_has_no_regulariser() -> None:
    metric = start_metric("identity", 3, 2)
    assert Regulariser(1.0, 1.0, np.ones(3)).value(metric, np.ones(2)) == 0.0


# ---------------------------------------------------------------------------
# penalty shapes


@given(seed=seeds)
def test_penalty_shapes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    phi = rng.uniform(0.0, 5.0, 8)
    top = phi.max() + rng.uniform(0.0, 1.0)
    np.testing.assert_array_equal(PottsPenalty().must(phi, top), 1.0)
    np.testing.assert_array_equal(PottsPenalty().cannot(phi, top), 1.0)
    np.testing.assert_array_equal(HMRFPenalty().must(phi, top), phi)
    np.testing.assert_allclose(HMRFPenalty().cannot(phi, top), top - phi)
    low, alpha = float(rng.uniform(0, 2)), float(rng.uniform(0, 5))
    mpc = MPC2003Penalty(alpha_min=low)
    np.testing.assert_allclose(mpc.must(phi, alpha), [max(low, alpha - p) for p in phi])
    if alpha >= low:
        np.testing.assert_allclose(mpc.cannot(phi, alpha), [min(low + p, alpha) for p in phi])
    for penalty in (PottsPenalty(), HMRFPenalty(), mpc):
        assert (penalty.must(phi, top) >= 0).all() and (penalty.cannot(phi, top) >= 0).all()


@pytest.mark.parametrize(
    "penalty",
    [PottsPenalty(), HMRFPenalty(), MPC2003Penalty(), MPC2003Penalty(alpha_min=0.8)],
    ids=["potts", "hmrf", "mpc", "mpc-min"],
)
@given(seed=seeds)
def test_slopes_by_differences(penalty: Penalty, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape: tuple[int, ...] = (9, 3) if penalty.per_cluster and rng.random() < 0.5 else (9,)
    phi = rng.uniform(0.0, 4.0, shape)
    must = rng.random(9) < 0.5
    # φmax bounds φ; α_max of 2003 need not.
    top = float(rng.uniform(0.5, 5.0)) if penalty.name == "mpc2003" else 4.5
    kind = must if phi.ndim == 1 else must[:, None]
    low = getattr(penalty, "alpha_min", 0.0)
    clear = (np.abs(top - phi - low) > 1e-3) & (abs(top - low) > 1e-3)

    def cost(phi: Array, top: float) -> Array:
        return np.where(kind, penalty.must(phi, top), penalty.cannot(phi, top))

    by_phi, by_top = penalty.slopes(phi, top, must)
    assert by_phi.shape == by_top.shape == phi.shape
    step = 1e-6
    np.testing.assert_allclose(
        by_phi[clear], ((cost(phi + step, top) - cost(phi - step, top)) / (2 * step))[clear],
        atol=1e-6,
    )  # fmt: skip
    np.testing.assert_allclose(
        by_top[clear], ((cost(phi, top + step) - cost(phi, top - step)) / (2 * step))[clear],
        atol=1e-6,
    )  # fmt: skip


def test_slopes_of_a_bound_that_is_none() -> None:
    """A number that the user gives need not bound φ: beyond it f^C is 0 and so are its slopes."""
    phi, must = np.array([1.0, 3.0]), np.array([False, False])
    penalty = HMRFPenalty(bound=2.0)
    np.testing.assert_array_equal(penalty.cannot(phi, 2.0), [1.0, 0.0])
    by_phi, by_top = penalty.slopes(phi, 2.0, must)
    np.testing.assert_array_equal(by_phi, [-1.0, 0.0])
    np.testing.assert_array_equal(by_top, [1.0, 0.0])


def test_names_give_the_penalty() -> None:
    for penalty in (PottsPenalty, HMRFPenalty, MPC2003Penalty):
        assert type(as_penalty(penalty.name)) is penalty
    mine = HMRFPenalty(bound=3.0)
    assert as_penalty(mine) is mine
    with pytest.raises(ValueError, match=r"penalty must be one of .*'hmrf'.*got 'pott'"):
        as_penalty("pott")


def test_parameters_are_found_by_name() -> None:
    penalty = MPC2003Penalty()
    assert penalty.get_params() == {"alpha": "fixed", "alpha_min": 0.0}
    assert penalty.set_params(alpha="adaptive").alpha == "adaptive"
    with pytest.raises(ValueError, match="MPC2003Penalty has no parameter 'beta'"):
        penalty.set_params(beta=1)
