"""Bounds only ever save work: labels, sums and objectives are the same with and without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import linkfield.engine.pruning
from linkfield import Constraints, HMRFKMeans, MKMeans
from linkfield._rows import pieces
from linkfield.distortions import METRICS, Cosine, SquaredEuclidean, start_metric
from linkfield.engine import ArrayEngine, Assignment
from linkfield.estimation import Model

Array = np.ndarray
pytestmark = pytest.mark.usefixtures("long_passes")
seeds = st.integers(0, 2**32 - 1)
K, N, D = 5, 400, 4
STORAGES = {"dense": np.asarray, "csr": sparse.csr_array}
CASES = [
    pytest.param(D, kind, id=f"{D.name}-{kind}")
    for D in (SquaredEuclidean(), Cosine())
    for kind in ("identity", "diagonal")
]
every_case = pytest.mark.parametrize(("distortion", "kind"), CASES)
every_storage = pytest.mark.parametrize("storage", STORAGES)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


class Blocks(ArrayEngine):
    """The same engine with small blocks."""

    def blocks(self, result: int = 0) -> list[slice]:
        return list(pieces(len(self.rows), 90))


def blobs(rng: np.random.Generator, n: int = N, spread: float = 2.0) -> Array:
    places = spread * rng.normal(size=(K, D))
    return places[rng.integers(0, K, n)] + rng.normal(size=(n, D))


def metric_of(kind: str, theta: Array) -> Any:
    return start_metric(kind, D, K) if kind == "identity" else METRICS[kind](theta)


def moved(standing: Assignment, model: Model, rng: np.random.Generator, kind: str) -> Model:
    """Move the centres as Lloyd would or by a small random step, and sometimes the metric."""
    M, metric = model.centres, model.metric
    if rng.random() < 0.5:
        stats = standing.stats
        M = standing.engine.distortion.centres(stats.sums, stats.weight, M, metric)
    else:
        M = M + 10.0 ** rng.uniform(-5, -1) * rng.normal(size=M.shape)
    if rng.random() < (0.3 if standing.engine.distortion.name == "cosine" else 0.7):
        metric = metric_of(kind, metric.theta * np.exp(rng.normal(scale=0.02, size=D)))
    return model.with_(centres=M, metric=metric)


def assert_statistics(standing: Assignment, metric: Any) -> None:
    fresh = standing.engine.statistics(standing.labels, metric)
    np.testing.assert_array_equal(standing.stats.count, fresh.count)
    for name in ("weight", "sums"):
        a, b = getattr(standing.stats, name), getattr(fresh, name)
        # The length of a sparse row is a number of the data's dtype.
        tolerance = 1e-9 if standing.engine.rows.dtype == np.float64 else 1e-6
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=10 * tolerance)


@pytest.fixture(params=[0, 10**9], ids=["own centre first", "all centres"])
def own_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows in doubt be compared with their own centre first, or not."""
    monkeypatch.setattr(linkfield.engine.pruning, "PRODUCTS", request.param)


@pytest.mark.usefixtures("own_first")
@every_case
@every_storage
@every_dtype
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=seeds)
def test_passes_with_and_without_bounds_agree_in_every_bit(
    distortion: Any, kind: str, storage: str, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    kind_of_engine = Blocks if rng.random() < 0.5 else ArrayEngine
    n = N if kind_of_engine is Blocks else 4 * N  # more rows than are looked at together
    X = blobs(rng, n).astype(dtype)
    if storage == "csr":
        X[rng.random(X.shape) < 0.2] = 0.0
    rows = distortion.rows(STORAGES[storage](X))
    weight, free = rng.uniform(0.1, 2.0, n), rng.random(n) < rng.choice([0.1, 0.85])
    engine = kind_of_engine(rows, weight, free, distortion, K)
    start = np.where(free, -1, rng.integers(0, K, n))
    pruned, plain = (Assignment(engine, start.copy(), pruning=p) for p in (True, False))
    tied = rows.take(engine.tied).float64()
    model = Model(blobs(rng, K), metric_of(kind, rng.uniform(0.3, 3.0, D)))
    for _ in range(15):
        pruned.bounds.on = True
        for standing in (pruned, plain):
            standing.assign(model, np.zeros(K))
        np.testing.assert_array_equal(pruned.labels, plain.labels)
        table = weight[engine.tied, None] * distortion.table(tied, model.centres, model.metric)
        tolerance = 1e-10 if dtype == np.float64 else 3e-5 * max(1.0, np.abs(table).max())
        costs = [standing.costs()[0] for standing in (pruned, plain)]
        np.testing.assert_allclose(costs[0], table, atol=tolerance)
        np.testing.assert_array_equal(costs[0], costs[1])
        np.testing.assert_array_equal(pruned.cheapest, plain.cheapest)
        least, second = np.sort(table, axis=1)[:, :2].T
        for standing in (pruned, plain):
            assert (standing.margin <= second - least + tolerance).all()
        placed = np.where(
            rng.random(len(tied)) < 0.3, rng.integers(0, K, len(tied)), pruned.labels[engine.tied]
        )
        for standing in (pruned, plain):
            standing.place(placed, model.metric)
        # Rows of length 1 change with the metric; the loop of a fit sums them afresh then.
        before, model = model.metric, moved(plain, model, rng, kind)
        for standing in (pruned, plain):
            assert_statistics(standing, before)
            if not distortion.bregman and model.metric is not before:
                standing.refresh(model.metric)


@every_case
@every_storage
@every_dtype
def test_certain_rows_really_are_passed_by(
    distortion: Any, kind: str, storage: str, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    X = blobs(rng, spread=8.0).astype(dtype)
    rows = distortion.rows(STORAGES[storage](X))
    engine = Blocks(rows, np.ones(N), np.ones(N, bool), distortion, K)
    standing = Assignment(engine, np.full(N, -1))
    model = Model(X[rng.choice(N, K, replace=False)].astype(float), start_metric(kind, D, K))
    certain: list[int] = []
    learn = standing.bounds.learn
    standing.bounds.learn = lambda sure, size: (certain.append(sum(sure)), learn(sure, size))
    for _ in range(8):
        standing.bounds.on = True
        standing.assign(model, np.zeros(K))
        stats = standing.stats
        M = distortion.centres(stats.sums, stats.weight, model.centres, model.metric)
        model = model.with_(centres=M)
    assert certain[0] == 0  # nothing is known before the first pass
    assert certain[-1] > 0.7 * N
    exact = distortion.table(rows.float64(), model.centres, model.metric)
    standing.assign(model, np.zeros(K))
    chosen = exact[np.arange(N), standing.labels]
    assert (chosen <= exact.min(axis=1) + 1e-4).all()


@given(seed=seeds)
def test_bounds_of_a_changed_labelling_are_forgotten(seed: int) -> None:
    rng = np.random.default_rng(seed)
    engine = Blocks(SquaredEuclidean().rows(blobs(rng)), np.ones(N), np.ones(N, bool),
                    SquaredEuclidean(), K)  # fmt: skip
    standing = Assignment(engine, np.full(N, -1))
    model = Model(blobs(rng, K), start_metric("identity", D, K))
    for _ in range(2):
        standing.bounds.on = True
        standing.assign(model, np.zeros(K))
    nearest = standing.labels.copy()
    standing.labels[:] = rng.integers(0, K, N)
    standing.replaced(engine.statistics(standing.labels, model.metric))
    standing.assign(model, np.zeros(K))
    np.testing.assert_array_equal(standing.labels, nearest)


# ---------------------------------------------------------------------------
# whole fits


def fitted(monkeypatch: Any, mode: str, **case: Any) -> HMRFKMeans:
    """Fit with bounds for all rows at once ("always"), never, or as the library decides."""
    limits = {"always": (-1.0, -1.0), "never": (2.0, 2.0), "library": (0.5, 0.3)}
    with monkeypatch.context() as patch:
        for name, value in zip(("ON", "OFF"), limits[mode], strict=True):
            patch.setattr(linkfield.engine.pruning, name, value)
        if mode == "never":
            patch.setattr(Assignment, "__init__", _without_bounds(Assignment.__init__))
        X, known = case.pop("X"), case.pop("known")
        model = case.pop("estimator", HMRFKMeans)(K, **{"random_state": 0, "n_init": 1, **case})
        return model.fit(X, constraints=known)


def _without_bounds(init: Any) -> Any:
    def made(self: Assignment, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        self.pruning = False

    return made


@every_case
@every_storage
@every_dtype
@pytest.mark.parametrize("n_pairs", [0, 150])
def test_whole_fits_are_the_same_with_and_without_bounds(
    monkeypatch: Any, distortion: Any, kind: str, storage: str, dtype: Any, n_pairs: int
) -> None:
    rng = np.random.default_rng(n_pairs)
    n = 20_000
    X, y = blobs(rng, n, 1.0).astype(dtype), rng.integers(0, K, n)
    known = Constraints.from_labels(y, n_pairs=n_pairs, random_state=0) if n_pairs else None
    case = {"X": STORAGES[storage](X), "known": known, "distortion": distortion, "metric": kind,
            "max_iter": 25, "tol": 0.0}  # fmt: skip
    fits = [fitted(monkeypatch, mode, **case) for mode in ("never", "always", "library")]
    for other in fits[1:]:
        np.testing.assert_array_equal(fits[0].labels_, other.labels_)
        assert fits[0].n_iter_ == other.n_iter_
        np.testing.assert_allclose(fits[0].objective_, other.objective_, rtol=1e-12)


def test_m_kmeans_is_the_same_with_and_without_bounds(monkeypatch: Any) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = blobs(rng, 300, 1.0), rng.integers(0, K, 300)
        known = Constraints.from_labels(y, n_pairs=150, random_state=seed)
        case = {"X": X, "known": known, "estimator": MKMeans, "constraint_weight": 3.0}
        plain, pruned = (fitted(monkeypatch, mode, **case) for mode in ("never", "always"))
        np.testing.assert_array_equal(plain.labels_, pruned.labels_)
        np.testing.assert_allclose(plain.objective_, pruned.objective_, rtol=1e-12)


# ---------------------------------------------------------------------------
# how far distances can move


@every_case
@given(seed=seeds)
def test_drift_bounds_the_change_of_distances(distortion: Any, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, M = rng.normal(size=(60, D)), rng.normal(size=(K, D))
    size = 10.0 ** rng.uniform(-4, 1)
    moved_to = M + size * rng.normal(size=M.shape) * (rng.random((K, 1)) < 0.7)
    theta = rng.uniform(0.1, 5.0, D)
    same = not distortion.bregman or rng.random() < 0.3
    other = theta if same else theta * np.exp(size * rng.normal(size=D))
    before, after = metric_of(kind, theta), metric_of(kind, other)
    drift = distortion.drift((M, before), (moved_to, after))
    factor = 1.0 if distortion.bregman else 2.0
    rows = distortion.rows(X)
    old = np.sqrt(factor * distortion.table(rows, M, before))
    new = np.sqrt(factor * distortion.table(rows, moved_to, after))
    assert (new <= drift.grow * old + drift.shift + 1e-7).all()
    assert (new >= drift.shrink * old - drift.shift - 1e-7).all()
    # A row that lies on the way of a centre shows that the bound is no larger than it must be.
    if same:
        here = np.sqrt(factor * np.diag(distortion.table(distortion.rows(M), moved_to, after)))
        np.testing.assert_allclose(drift.shift, here, atol=1e-6)


def test_nothing_is_known_of_cosines_under_other_weights() -> None:
    M, one, two = np.eye(3), np.ones(3), np.array([1.0, 2.0, 1.0])
    metrics = [METRICS["diagonal"](theta) for theta in (one, two)]
    assert Cosine().drift((M, metrics[0]), (M, metrics[1])) is None
    assert Cosine().drift((M, metrics[0]), (M, metrics[0])) is not None


# ---------------------------------------------------------------------------
# single precision


@pytest.mark.parametrize("kind", ["identity", "diagonal"])
@pytest.mark.parametrize("pairs", [0, 100])
def test_single_precision_far_from_zero(monkeypatch: Any, kind: str, pairs: int) -> None:
    rng = np.random.default_rng(1)
    n = 3_000
    y = rng.integers(0, K, n)
    X = 8.0 * rng.normal(size=(K, D))[y] + rng.normal(size=(n, D))
    X = (X + 1000.0 * X.std(axis=0)).astype(np.float32)
    known = Constraints.from_labels(y, n_pairs=pairs, random_state=0) if pairs else None
    for mode in ("always", "never"):
        case = {"known": known, "metric": kind, "max_iter": 20, "tol": 0.0}
        single = fitted(monkeypatch, mode, X=X, **case)
        double = fitted(monkeypatch, mode, X=X.astype(np.float64), **case)
        np.testing.assert_array_equal(single.labels_, double.labels_)
        values = single.history_["objective"]
        assert np.diff(values).max(initial=0.0) <= 1e-9 * (n + abs(values[-1]))
