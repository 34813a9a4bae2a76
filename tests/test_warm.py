"""Refits from a fit: what is new is honoured, what is old is used only where it still holds."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_digits
from test_laws import naive_objective, problem

from linkfield import Constraints, HMRFKMeans
from linkfield.engine import ArrayEngine
from linkfield.estimation import PairTerms
from linkfield.exceptions import InfeasibleConstraintsError

Array = np.ndarray
pytestmark = pytest.mark.usefixtures("long_passes")
seeds = st.integers(0, 2**32 - 1)
K, N, D = 4, 400, 3
CASES = [("euclidean", "identity"), ("euclidean", "diagonal"), ("euclidean", "full"),
         ("cosine", "identity"), ("cosine", "diagonal")]  # fmt: skip
every_case = pytest.mark.parametrize(("distortion", "metric"), CASES)
every_storage = pytest.mark.parametrize(
    "storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"]
)


def blobs(seed: int, n: int = N) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return rng.normal(size=(n, D)) + (3.0 * rng.normal(size=(K, D)))[y] + 4.0, y


def warm(**params: Any) -> HMRFKMeans:
    return HMRFKMeans(K, warm_start=True, random_state=0, **params)


def loaded(model: HMRFKMeans) -> HMRFKMeans:
    """Return the model without what it remembers of its data."""
    return pickle.loads(pickle.dumps(model))


def assert_same(one: HMRFKMeans, other: HMRFKMeans) -> None:
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=1e-9)
    np.testing.assert_allclose(one.metric_, other.metric_, rtol=1e-6)
    np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------------------
# what is new


@every_case
@every_storage
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_new_pair_of_great_weight_is_honoured(
    distortion: str, metric: str, storage: Any, n_jobs: int, dtype: Any
) -> None:
    X, _ = blobs(0)
    X = storage(X.astype(dtype))
    model = warm(distortion=distortion, metric=metric, n_jobs=n_jobs, constraint_weight=1e5)
    labels = model.fit(X).labels_.copy()
    i, j = np.flatnonzero(labels == 0)[0], np.flatnonzero(labels == 1)[0]
    a, b = np.flatnonzero(labels == 2)[:2]
    known = Constraints(must_link=[(i, j)])
    assert model.converged_
    model.fit(X, constraints=known)
    assert model.labels_[i] == model.labels_[j]
    known = known | Constraints(cannot_link=[(a, b)])
    model.fit(X, constraints=known)
    assert model.labels_[i] == model.labels_[j]
    assert model.labels_[a] != model.labels_[b]
    assert len(model.violations_) == 0
    # Taken back, the rows go where they belong.
    model.fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@every_case
@every_storage
def test_nothing_new_changes_nothing(distortion: str, metric: str, storage: Any) -> None:
    X, y = blobs(1)
    X = storage(X)
    known = Constraints.from_labels(y, n_pairs=40, random_state=0)
    model = warm(distortion=distortion, metric=metric).fit(X, constraints=known)
    assert model.converged_
    before = loaded(model)
    for _ in range(2):
        model.fit(X, constraints=known)
        assert model.n_iter_ == 0 and model.converged_
        assert_same(before, model)


@pytest.mark.parametrize(("distortion", "metric"), [*CASES, ("euclidean", "full-per-cluster")])
@pytest.mark.parametrize("penalty", ["hmrf", "potts"])
@settings(max_examples=5)
@given(seed=seeds)
def test_the_objective_of_a_refit_is_what_it_says_and_no_worse(
    distortion: str, metric: str, penalty: str, seed: int
) -> None:
    X, y, first, rng = problem(seed, noise=0.0)
    model = HMRFKMeans(
        3, distortion=distortion, metric=metric, penalty=penalty, constraint_weight=0.3,
        random_state=0, warm_start=True,
    ).fit(X, constraints=first)  # fmt: skip
    known = first
    for _ in range(3):
        known = known | Constraints.from_labels(y, n_pairs=10, random_state=rng)
        kept = naive_objective(model, X, known)  # the old labels, centres and metric
        model.fit(X, constraints=known)
        np.testing.assert_allclose(
            model.objective_, naive_objective(model, X, known), rtol=1e-7, atol=1e-7
        )
        assert model.objective_ <= kept + 1e-7 * (1.0 + abs(kept))
        assert np.diff(model.history_["objective"]).max(initial=0.0) <= 1e-8 * (1.0 + abs(kept))


@every_case
@every_storage
def test_rows_that_were_tied_and_are_free_again(distortion: str, metric: str, storage: Any) -> None:
    X, y = blobs(2)
    data, rng = storage(X), np.random.default_rng(0)
    model = warm(distortion=distortion, metric=metric, constraint_weight=50.0).fit(data)
    for _ in range(4):
        # Pairs that the data does not bear out, so that tied rows stand in wrong clusters.
        some = Constraints.from_labels(rng.permutation(y), n_pairs=25, random_state=rng)
        model.fit(data, constraints=some)
        free = np.setdiff1d(np.arange(N), some.tied_rows())
        np.testing.assert_array_equal(model.labels_[free], model.predict(data)[free])
        assert (model.labels_ != model.predict(data)).any()
        fresh = model._standing.engine.statistics(
            model._standing.labels, model._model.metric
        )  # after rows went in and out
        np.testing.assert_array_equal(model._standing.stats.count, fresh.count)
        np.testing.assert_allclose(model._standing.stats.sums, fresh.sums, rtol=1e-9, atol=1e-9)
    model.fit(data)
    np.testing.assert_array_equal(model.labels_, model.predict(data))


# ---------------------------------------------------------------------------
# what is old


@every_case
@every_storage
def test_data_changed_in_place_is_noticed(distortion: str, metric: str, storage: Any) -> None:
    X, y = blobs(3)
    known = Constraints.from_labels(y, n_pairs=30, random_state=0)
    data = storage(X)
    model = warm(distortion=distortion, metric=metric)
    model.fit(data, constraints=known).fit(data, constraints=known)
    assert model.converged_
    copy = loaded(model)
    values = data.data if sparse.issparse(data) else data
    values *= np.random.default_rng(0).uniform(0.3, 2.0, values.shape)
    model.fit(data, constraints=known)
    copy.fit(data, constraints=known)
    assert_same(model, copy)
    assert model.n_iter_ == copy.n_iter_ > 0


@pytest.mark.parametrize("change", ["negated", "shuffled"])
def test_data_changed_in_place_is_noticed_where_the_start_was_given(change: str) -> None:
    X = np.round(blobs(4)[0])
    X -= np.round(X.mean(axis=0))
    model = warm(init=X[:K].copy(), metric="identity").fit(X)
    assert model.converged_
    copy = loaded(model)
    X[:] = -X if change == "negated" else np.random.default_rng(0).permutation(X)
    assert_same(model.fit(X), copy.fit(X))
    assert model.n_iter_ == copy.n_iter_


@every_storage
def test_the_same_rows_are_summed_up_once(monkeypatch: pytest.MonkeyPatch, storage: Any) -> None:
    X, y = blobs(7)
    data, passes, moments = storage(X), [], ArrayEngine.moments
    monkeypatch.setattr(ArrayEngine, "moments", lambda *args: (passes.append(1), moments(*args))[1])
    known = [Constraints.from_labels(y, n_pairs=m, random_state=0) for m in (20, 25)]
    model = warm(metric="diagonal").fit(data, constraints=known[0])
    first = len(passes)
    model.fit(data, constraints=known[1])
    assert len(passes) == first > 0
    values = data.data if sparse.issparse(data) else data
    values[:5] *= 1.5
    model.fit(data, constraints=known[1])
    assert len(passes) > first


def test_other_weights_and_other_rows_are_noticed() -> None:
    X, _ = blobs(5)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, N)
    model = warm().fit(X)
    copy = loaded(model)
    assert_same(model.fit(X, sample_weight=weight), copy.fit(X, sample_weight=weight))
    assert_same(model.fit(X[:300]), copy.fit(X[:300]))
    assert model.n_iter_ == copy.n_iter_ > 0


METRICS = ("identity", "diagonal", "full", "diagonal-per-cluster", "full-per-cluster")


@pytest.mark.parametrize("old", METRICS)
def test_another_kind_of_metric_is_noticed(old: str) -> None:
    X, _ = blobs(6)
    X[:, 1] *= 3.0
    for new in METRICS:
        model = warm(metric=old).fit(X)
        copy = loaded(model)
        assert_same(model.set_params(metric=new).fit(X), copy.set_params(metric=new).fit(X))
        assert new == old or model.n_iter_ == copy.n_iter_


def test_a_refit_that_failed_leaves_the_model_as_it_was() -> None:
    X, _ = blobs(7)
    model = warm(metric="identity", constraint_weight=1e3).fit(X)
    apart = [np.flatnonzero(model.labels_ == h)[0] for h in (0, 1)]
    model.fit(X, constraints=Constraints(must_link=[apart]))
    copy = loaded(model)
    rows = range(K + 1)
    pairs = [(i, j) for i in rows for j in rows if i < j]
    hard = Constraints(cannot_link=pairs, cannot_link_weight=np.inf)
    with (
        pytest.warns(UserWarning, match="some must be violated"),
        pytest.raises(InfeasibleConstraintsError),
    ):
        model.fit(X, constraints=hard)
    np.testing.assert_array_equal(model.labels_, copy.labels_)
    assert_same(model.fit(X), copy.fit(X))


# ---------------------------------------------------------------------------
# cold and warm


@every_case
@every_storage
@settings(max_examples=5)
@given(seed=seeds)
def test_cold_and_warm_fits_have_one_objective(
    distortion: str, metric: str, storage: Any, seed: int
) -> None:
    X, _, known, _ = problem(seed, n=60, noise=0.0)
    data = storage(X)
    model = HMRFKMeans(
        3, distortion=distortion, metric=metric, random_state=0, warm_start=True
    ).fit(data)  # fmt: skip
    cold_setup = model._setup
    model.fit(data, constraints=known)
    theta, weight = model._model.metric, np.ones(3)
    values = [
        setup.problem.objective.regulariser.value(theta, weight)
        for setup in (cold_setup, model._setup)
    ]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-12)
    np.testing.assert_allclose(
        model.objective_, naive_objective(model, X, known), rtol=1e-7, atol=1e-7
    )


def test_refits_go_on_after_a_fit_that_was_cut_short():
    """The last labels are not those of the last centres, so that they stay says nothing."""
    X = load_digits().data
    params = {"metric": "identity", "metric_prior": None, "n_init": 1, "random_state": 0}
    whole = HMRFKMeans(10, **params).fit(X)
    model = HMRFKMeans(10, max_iter=1, warm_start=True, **params)
    for _ in range(whole.n_iter_ + 1):
        model.fit(X)
    assert model.converged_
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"metric": "diagonal", "n_init": 2},
        {"metric": "full", "n_init": 1},
        {"distortion": "cosine", "metric": "diagonal", "n_init": 1},
        {"metric": "diagonal", "n_init": 1, "warm_start": True},
    ],
    ids=str,
)
def test_a_model_that_is_gone_leaves_nothing_behind(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Circles of references would keep hundreds of bytes a row until Python looks for them."""
    made: list[Any] = []
    plain = PairTerms.__init__

    def noted(self: PairTerms, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        made.append(weakref.ref(self))

    monkeypatch.setattr(PairTerms, "__init__", noted)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    known = Constraints.from_labels(y, n_pairs=100, random_state=0)
    gc.collect()
    gc.disable()
    try:
        model = HMRFKMeans(3, random_state=0, **options).fit(X, constraints=known)
        model.fit(X, constraints=known | Constraints(must_link=[(0, 1)]))
        assert len(made) >= 2
        del model
        assert [one() for one in made] == [None] * len(made)
    finally:
        gc.enable()
