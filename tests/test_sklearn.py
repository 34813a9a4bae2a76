"""Estimators as scikit-learn's tools meet them."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import linkfield as lf
from linkfield import Constraints, HMRFKMeans, PCKMeans
from linkfield.distortions import IDivergence, SquaredEuclidean
from linkfield.inference import ICM

NAMES = ["HMRFKMeans", "PCKMeans", "MKMeans", "MPCKMeans", "KMeansI", "KMeansIC", "KMeansICD",
         "SeededKMeans", "ConstrainedKMeans", "COPKMeans"]  # fmt: skip
EVERY = [getattr(lf, name) for name in NAMES]

# The sparse checks want as many columns of predict_proba as their data has classes, 4; a clusterer
# has n_clusters.
CHECKED = [cls(n_clusters=4) for cls in EVERY] + [
    HMRFKMeans(4, distortion="cosine"),
    HMRFKMeans(4, metric="diagonal-per-cluster", penalty="potts"),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:.*all-zero row.*:UserWarning")
def test_check_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X, y, Constraints.from_labels(y, n_pairs=60, random_state=0)


@pytest.mark.parametrize("cls", EVERY)
def test_clone_keeps_parameters(cls):
    model = cls(n_clusters=5, random_state=3, tol=1e-3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.n_clusters == 5 and copy.tol == 1e-3


def test_parameters_of_objects_are_reachable(iris):
    X, _, known = iris
    model = HMRFKMeans(3, distortion=IDivergence(), inference=ICM(), random_state=0)
    model.set_params(distortion__smoothing_floor=0.5, inference__max_sweeps=7)
    assert model.distortion.smoothing_floor == 0.5
    assert clone(model).inference.max_sweeps == 7
    assert clone(model).fit(X, constraints=known)._model.smoothing == 0.5
    with pytest.raises(ValueError, match="has no parameter 'speed'"):
        ICM().set_params(speed=3)


def test_pipeline_passes_constraints_on(iris):
    X, _, known = iris
    with sklearn.config_context(enable_metadata_routing=True):
        model = HMRFKMeans(3, random_state=0).set_fit_request(constraints=True)
        pipe = make_pipeline(StandardScaler(), model)
        labels = pipe.fit(X, constraints=known)[-1].labels_
    alone = HMRFKMeans(3, random_state=0).fit(StandardScaler().fit_transform(X), constraints=known)
    assert_array_equal(labels, alone.labels_)


def test_pipeline_passes_constraints_on_by_name(iris):
    X, _, known = iris
    pipe = make_pipeline(StandardScaler(), PCKMeans(3, random_state=0))
    pipe.fit(X, pckmeans__constraints=known)
    assert len(pipe[-1].labels_) == len(X)


def test_grid_search_routes_constraints_by_id_and_never_leaks_y(iris):
    X, y, _ = iris
    ids = np.array([f"row-{i}" for i in range(len(X))])
    known = Constraints.from_labels(y, n_pairs=60, random_state=0, sample_id=ids)
    seen = []

    class Watched(HMRFKMeans):
        def _store(self, X, setup, outcome):
            seen.append(setup.constraints)
            super()._store(X, setup, outcome)

    with sklearn.config_context(enable_metadata_routing=True):
        model = Watched(3, metric="diagonal", random_state=0)
        model.set_fit_request(constraints=True, sample_id=True)
        search = GridSearchCV(
            model, {"constraint_weight": [0.1, 1.0]}, cv=3, refit=True,
            scoring=lambda m, X, y: adjusted_rand_score(y, m.predict(X)),
        )  # fmt: skip
        search.fit(X, y, constraints=known, sample_id=ids)
    assert search.best_score_ > 0.5
    assert len(seen) == 7
    for part in seen[:6]:  # a fold knows the pairs of its own rows, by id
        names = {frozenset((part.sample_id[a], part.sample_id[b])) for a, b, *_ in part.pairs()}
        whole = {frozenset((ids[a], ids[b])) for a, b, *_ in known.pairs()}
        assert names < whole
        assert len(names) > 0
        assert len(part.labels.rows) == 0


@pytest.mark.parametrize("cls", EVERY)
def test_y_is_ignored_unless_asked_for(cls, iris):
    X, y, _ = iris
    plain = cls(3, random_state=0).fit(X)
    with_y = cls(3, random_state=0).fit(X, y)
    assert_array_equal(plain.labels_, with_y.labels_)
    assert_array_equal(plain.cluster_centers_, with_y.cluster_centers_)


def test_labels_from_y(iris):
    X, y, _ = iris
    partial = np.where(np.arange(len(y)) % 4 == 0, y, -1)
    asked = HMRFKMeans(3, labels_from_y=True, random_state=0).fit(X, partial)
    told = HMRFKMeans(3, random_state=0).fit(X, partial_labels=partial)
    assert_array_equal(asked.labels_, told.labels_)
    with pytest.raises(ValueError, match="labels_from_y"):
        HMRFKMeans(3, labels_from_y=True).fit(X, partial, partial_labels=partial)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_give_feature_names(make, iris):
    X, _, known = iris
    names = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
    frame = make({n: X[:, k] for k, n in enumerate(names)})
    model = HMRFKMeans(3, random_state=0).fit(frame, constraints=known)
    assert list(model.feature_names_in_) == names
    assert_array_equal(
        model.labels_, HMRFKMeans(3, random_state=0).fit(X, constraints=known).labels_
    )
    wrong = make({n: X[:, k] for k, n in enumerate(reversed(names))})
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wrong)


@pytest.mark.parametrize(("output", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_set_output(output, kind, iris):
    X, _, known = iris
    model = HMRFKMeans(3, random_state=0).set_output(transform=output).fit(X, constraints=known)
    table = model.transform(X)
    assert isinstance(table, kind)
    assert list(table.columns) == [f"hmrfkmeans{h}" for h in range(3)]


def test_pickle_predicts_the_same_and_leaves_the_data_behind(iris):
    X, _, known = iris
    model = HMRFKMeans(3, random_state=0).fit(X, constraints=known)
    stored = pickle.dumps(model)
    again = pickle.loads(stored)
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.violations_, model.violations_)
    assert len(stored) < X.nbytes * 3
    with pytest.raises(ValueError, match=r"explain\(i, X\)"):
        again.explain(0)
    assert_allclose(again.explain(0, X).distance, model.explain(0).distance)


def test_of_starts_that_end_alike_the_first_is_kept(iris):
    """Rounding, which differs from machine to machine, does not say how clusters are numbered."""
    X, _, known = iris
    for dtype in (np.float32, np.float64):
        first, best = (
            HMRFKMeans(3, n_init=n, random_state=0).fit(X.astype(dtype), constraints=known)
            for n in (1, 5)
        )
        assert first.objective_ == pytest.approx(best.objective_, rel=1e-10)  # the first is best
        assert_array_equal(first.labels_, best.labels_)


def test_float32_stays_float32(iris):
    X, _, known = iris
    model = HMRFKMeans(3, random_state=0).fit(X.astype(np.float32), constraints=known)
    assert model.cluster_centers_.dtype == np.float32
    assert model.transform(X.astype(np.float32)).dtype == np.float32
    full = HMRFKMeans(3, random_state=0).fit(X, constraints=known)
    assert (model.labels_ == full.labels_).mean() > 0.97
    assert np.diff(model.objective_trace_).max(initial=0.0) <= 1e-6 * abs(model.objective_)


def test_far_from_the_origin_in_float32():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.normal(size=(300, 4)) + 8.0 * y[:, None]
    near = HMRFKMeans(3, random_state=0).fit(X)
    far = HMRFKMeans(3, random_state=0).fit((X + 1000.0).astype(np.float32))
    assert adjusted_rand_score(near.labels_, far.labels_) == 1.0
    assert adjusted_rand_score(far.predict((X + 1000.0).astype(np.float32)), y) == 1.0


def test_predict_transform_score_and_proba_agree(iris):
    X, _, _ = iris
    for distortion in (SquaredEuclidean(), "cosine", "kl"):
        model = HMRFKMeans(3, distortion=distortion, random_state=0, tol=0.0).fit(X)
        D = model.transform(X)
        assert D.shape == (150, 3) and (D >= 0).all()
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert_array_equal(proba.argmax(axis=1), model.predict(X))
        assert_array_equal(model.predict(X), model.labels_)
        assert_allclose(model.score(X), -D.min(axis=1).sum())
        weight = np.arange(150.0)
        assert_allclose(model.score(X, sample_weight=weight), -(weight @ D.min(axis=1)))


def test_predict_proba_is_calibrated_for_the_model_itself():
    """Data of the model: equal Gaussians. Where it says 80%, it should be right 80% of the time."""
    rng = np.random.default_rng(0)
    n, centres = 40_000, np.array([[0.0, 0, 0, 0], [40.0, 0, 0, 0]])
    y = rng.integers(0, 2, n)
    X = 10.0 * rng.normal(size=(n, 4)) + centres[y]
    for metric in ("identity", "diagonal"):
        proba = HMRFKMeans(2, init=centres, metric=metric).fit(X).predict_proba(X)[:, 1]
        for low, high in ((0.05, 0.2), (0.2, 0.35), (0.35, 0.5), (0.65, 0.8), (0.8, 0.95)):
            among = (proba > low) & (proba < high)
            assert abs(y[among].mean() - proba[among].mean()) < 0.05, (metric, low)


def test_explain_adds_up(iris):
    X, _, known = iris
    model = HMRFKMeans(3, random_state=0).fit(X, constraints=known)
    for i in known.tied_rows()[:10]:
        why = model.explain(int(i))
        parts = why.distance + sum(values for _, values in why.constraints)
        assert_allclose(why.total, parts)
        assert why.label == model.labels_[i] == why.total.argmin()
        assert f"row {i}" in str(why)
    free = np.setdiff1d(np.arange(150), known.tied_rows())[0]
    assert model.explain(int(free)).constraints == []
    with pytest.raises(ValueError, match="row position"):
        model.explain(150)


@pytest.mark.parametrize("distortion", ["euclidean", "cosine", "i-divergence"])
def test_warm_start_continues(iris, distortion):
    X, _, known = iris
    model = HMRFKMeans(3, distortion=distortion, random_state=0, warm_start=True)
    before = model.fit(X, constraints=known).objective_
    model.fit(X, constraints=known)
    assert model.n_iter_ <= 2
    assert model.objective_ <= before + 1e-9 * abs(before)
    more = known | Constraints(must_link=[(0, 1)])
    assert model.fit(X, constraints=more).n_iter_ <= 3


def test_n_init_keeps_the_best(iris):
    X, _, _ = iris
    args = {"init": "random", "metric": "identity"}
    many = HMRFKMeans(6, n_init=8, random_state=0, **args).fit(X).objective_
    single = [HMRFKMeans(6, random_state=s, **args).fit(X).objective_ for s in range(8)]
    assert many <= np.median(single)


def test_not_fitted(iris):
    X, _, _ = iris
    for method in ("predict", "transform", "predict_proba", "score"):
        with pytest.raises(NotFittedError):
            getattr(HMRFKMeans(3), method)(X)
    with pytest.raises(NotFittedError):
        HMRFKMeans(3).explain(0)


def test_verbose_prints_the_objective(iris, capsys):
    X, _, known = iris
    HMRFKMeans(3, verbose=1, random_state=0).fit(X, constraints=known)
    assert "iteration 1: objective" in capsys.readouterr().out


def test_import_changes_no_global_state():
    code = (
        "import sys, warnings, threading, os, numpy as np\n"
        "import scipy, sklearn.base, sklearn.cluster\n"
        "def state():\n"
        "    return (np.geterr(), list(warnings.filters), threading.active_count(),\n"
        "            dict(os.environ), np.random.get_state()[1].tolist())\n"
        "before = state()\n"
        "import linkfield\n"
        "assert state() == before\n"
        "assert 'numba' not in sys.modules and 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
