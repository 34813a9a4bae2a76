"""ConstrainedGaussianMixture as users and scikit-learn's tools meet it, and their mistakes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from mixtures import (
    blobs,
    components,
    covariance_list,
    fitted,
    groups_of,
    mixture,
    teachers,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkfield import ConstrainedGaussianMixture, Constraints
from linkfield.estimation import CovariancePrior
from linkfield.estimation.gaussians import GAUSSIANS
from linkfield.exceptions import ContradictionError, InfeasibleConstraintsError

KINDS = list(GAUSSIANS)
ENFORCEMENTS = ["none", "soft", "hard", "posterior"]


@parametrize_with_checks(
    [
        ConstrainedGaussianMixture(),
        ConstrainedGaussianMixture(2, covariance_type="diag", init_params="random"),
        ConstrainedGaussianMixture(2, covariance_type="tied", init_params="k-means++"),
        ConstrainedGaussianMixture(3, covariance_type="spherical", covariance_prior=None),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_check_estimator(estimator, check):
    check(estimator)


def test_samples_come_from_the_mixture():
    X, _, _ = blobs(4)
    for kind in KINDS:
        model = fitted(mixture(3, covariance_type=kind), X)
        drawn, labels = model.sample(5000)
        assert drawn.shape == (5000, 2)
        assert_allclose(np.bincount(labels, minlength=3) / 5000, model.weights_, atol=0.03)
        assert abs(model.score(drawn) - model.score(X)) < 0.3
        assert_array_equal(model.sample(5)[0], model.sample(5)[0])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_n_init_keeps_the_best():
    X, _, _ = blobs(5, K=5)
    many = fitted(mixture(5, n_init=8, init_params="random"), X)
    single = [
        fitted(mixture(5, init_params="random", random_state=s), X).objective_ for s in range(8)
    ]
    assert many.objective_ >= np.median(single)


def test_warm_start_goes_on():
    X, y, rng = blobs(6)
    arrays = teachers(y, rng)
    strong = mixture(3, warm_start=True, max_iter=2, tol=0.0)
    first = fitted(strong, X, groups=arrays).objective_
    assert fitted(strong, X, groups=arrays).objective_trace_[0] >= first
    weak = {"enforcement": "soft", "init_params": "random", "tol": 0.0}  # takes no damped steps
    model = mixture(3, warm_start=True, max_iter=2, **weak)
    fitted(fitted(model, X, groups=arrays), X, groups=arrays)
    whole = fitted(mixture(3, max_iter=4, **weak), X, groups=arrays)
    assert_allclose(model.means_, whole.means_, rtol=1e-9)
    assert fitted(model, X + 3.0, groups=arrays).n_iter_ == 2
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_components=2).fit(X)


def test_given_parameters_start_it():
    X, _, _ = blobs(7)
    model = fitted(mixture(3, means_init=X[:3], max_iter=1, tol=1e9), X)
    assert model.converged_
    for bad, match in (
        ({"weights_init": [0.5, 0.6, 0.7]}, "weights_init"),
        ({"weights_init": [0.5, 0.5]}, "weights_init"),
        ({"means_init": X[:2]}, "means_init"),
        ({"means_init": X[:3] * np.nan}, "means_init"),
        ({"precisions_init": np.eye(2)}, "precisions_init"),
    ):
        with pytest.raises(ValueError, match=match):
            mixture(3, **bad).fit(X)


def test_pickle_clone_frame_and_y():
    X, y, rng = blobs(8)
    arrays = teachers(y, rng)
    model = fitted(mixture(3), X, groups=arrays)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert_array_equal(again.suspects(), model.suspects())
    assert clone(model).get_params() == model.get_params()
    frame = pd.DataFrame(X, columns=["a", "b"])
    named = fitted(mixture(3), frame, groups=arrays)
    assert list(named.feature_names_in_) == ["a", "b"]
    assert_array_equal(named.means_, model.means_)
    assert_array_equal(fitted(mixture(3), X, y=y, groups=arrays).means_, model.means_)
    assert_array_equal(mixture(3).fit_predict(X, groups=arrays), model.labels_)


def test_covariance_prior_object_is_searchable():
    X, _, _ = blobs(9)
    model = mixture(2, covariance_prior=CovariancePrior(strength=5.0, scale=[1.0, 2.0]))
    model.set_params(covariance_prior__strength=50.0)
    strong = fitted(model, X)
    weak = fitted(mixture(2, covariance_prior=None), X)
    assert strong.covariances_[:, 0, 0].sum() < weak.covariances_[:, 0, 0].sum()
    assert (np.diff(strong.objective_trace_) >= 0).all()


def test_stopping_early_is_announced():
    X, _, _ = blobs(10)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        model = mixture(3, max_iter=1, tol=0.0).fit(X)
    assert not model.converged_ and model.n_iter_ == 1


def test_not_fitted():
    for method in ("predict", "predict_proba", "score_samples", "score", "bic"):
        with pytest.raises(NotFittedError):
            getattr(ConstrainedGaussianMixture(), method)(np.zeros((3, 2)))
    for method in ("sample", "suspects", "aic"):
        with pytest.raises(NotFittedError):
            getattr(ConstrainedGaussianMixture(), method)()


def test_iris_with_a_few_labels():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    partial = np.where(rng.random(150) < 0.15, y, -1)
    model = fitted(mixture(3, strength=0.5, n_init=4), X, partial_labels=partial)
    assert adjusted_rand_score(model.predict(X), y) > 0.85


# ------------------------------------------------------------------ bad input

DATA = np.random.default_rng(0).random((12, 2))
PAIR = [(0, 0, 0.5), (0, 1, 0.5)]


@pytest.mark.parametrize(
    ("arrays", "match"),
    [(groups_of([(0, 0, 1.5), (0, 1, 0.5)]), r"confidence must lie in \[0, 1\], found 1.5"),
     (groups_of([(0, 0, -0.1), (0, 1, 0.5)]), "confidence must lie"),
     (groups_of([(0, 0, np.nan), (0, 1, 0.5)]), "confidence must lie"),
     (groups_of([(0, 0, 0.6), (1, 0, 0.6)]), "row 0 in its groups add up to 1.2"),
     (groups_of([(0, 0, 0.5), (0, 12, 0.5)]), "row 12, but the data has 12 rows"),
     (groups_of([(0, 0, 0.5), (0, -1, 0.5)]), "row -1"),
     (groups_of([(0, 0, 0.2), (0, 0, 0.2)]), "same group twice"),
     (groups_of(PAIR, strength=[-1.0, 1.0]), "strength must be finite"),
     (groups_of(PAIR, strength=[np.inf, 1.0]), "strength must be finite"),
     (groups_of(PAIR, [(0, 0)], [0.5]), "apart from itself"),
     (groups_of(PAIR, [(0, 1)], [0.5], n_groups=2)._replace(apart_certainty=np.array([2.0])),
      "apart_certainty must lie"),
     (groups_of(PAIR)._replace(n_groups=0), "numbered 0 to")],
)  # fmt: skip
def test_bad_groups(arrays, match):
    with pytest.raises(ValueError, match=match):
        mixture(2).fit(DATA, groups=arrays)


def test_things_that_are_no_groups():
    with pytest.raises(TypeError, match=r"Groups\.from_teachers"):
        mixture(2).fit(DATA, groups=[[0, 1], [2, 3]])
    with pytest.raises(TypeError, match="Constraints"):
        mixture(2).fit(DATA, constraints=[(0, 1)])
    with pytest.raises(ValueError, match="partial_labels has 3 entries"):
        mixture(2).fit(DATA, partial_labels=[0, 1, -1])
    with pytest.raises(ValueError, match="sample_id has 3 entries"):
        mixture(2).fit(DATA, sample_id=[0, 1, 2])


@pytest.mark.parametrize(
    ("params", "error", "match"),
    [({"n_components": 0}, ValueError, "n_components"),
     ({"n_components": 2.5}, TypeError, "whole number"),
     ({"n_components": True}, TypeError, "whole number"),
     ({"n_components": 13}, ValueError, "n_samples >= n_components"),
     ({"enforcement": "maybe"}, ValueError, "enforcement must be one of"),
     ({"strength": -1.0}, ValueError, "strength must be"),
     ({"strength": "strong"}, ValueError, "strength must be"),
     ({"strength": np.nan}, ValueError, "strength must be"),
     ({"mixing": "some"}, ValueError, "mixing must be one of"),
     ({"covariance_type": "round"}, ValueError, "covariance_type must be one of"),
     ({"init_params": "best"}, ValueError, "init_params must be one of"),
     ({"reg_covar": -1e-3}, ValueError, "reg_covar"),
     ({"tol": -1.0}, ValueError, "tol"),
     ({"max_iter": 0}, ValueError, "max_iter"),
     ({"n_init": 0}, ValueError, "n_init"),
     ({"covariance_prior": "wishart"}, ValueError, "covariance_prior"),
     ({"covariance_prior": -1.0}, ValueError, "covariance_prior")],
)  # fmt: skip
def test_bad_parameters(params, error, match):
    with pytest.raises(error, match=match):
        mixture(**{"n_components": 2} | params).fit(DATA)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    bad = DATA.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        mixture(2).fit(bad)


@pytest.mark.parametrize("kind", KINDS)
def test_covariances_that_collapse(kind):
    """A component on equal rows: the floor or the prior keeps it, without both it is an error."""
    X = np.r_[np.zeros((6, 2)), DATA + 3.0]
    model = fitted(mixture(2, covariance_type=kind), X)
    assert np.isfinite(model.objective_)
    floor = fitted(mixture(2, covariance_type=kind, covariance_prior=None), X)
    for C in covariance_list(components(floor)):
        assert np.linalg.eigvalsh(C)[0] >= 1e-6 * (1 - 1e-6)
    assert (np.diff(floor.objective_trace_) >= 0).all()
    if kind != "tied":
        with pytest.raises(ValueError, match="reg_covar"):
            fitted(mixture(2, covariance_type=kind, covariance_prior=None, reg_covar=0.0), X)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_duplicate_rows_and_one_row(kind):
    X = np.repeat(np.column_stack([DATA, np.full(12, 7.0)]), 3, axis=0)
    model = fitted(mixture(3, covariance_type=kind), X)
    assert np.isfinite(model.objective_) and np.isfinite(model.score_samples(X)).all()
    same = fitted(mixture(2, covariance_type=kind), np.ones((10, 2)))
    assert np.isfinite(same.objective_)
    one = fitted(mixture(1, covariance_type=kind), DATA[:1])
    assert one.labels_.tolist() == [0]


def test_groups_that_contradict_each_other():
    """Two teachers, one says together, one says apart: evidence, unless all is certain."""
    together = [(0, 0, 0.5), (0, 1, 0.5), (1, 0, 0.4), (2, 1, 0.4), (1, 2, 0.5), (2, 3, 0.5)]
    arrays = groups_of(together, [(1, 2)], [1.0])
    for enforcement in ("soft", "posterior"):
        model = fitted(mixture(2, enforcement=enforcement), DATA, groups=arrays)
        assert np.isfinite(model.enforcement_posterior_).all()
    with pytest.raises(ContradictionError, match="enforcement='posterior'"):
        mixture(2, enforcement="hard").fit(DATA, groups=arrays)


def test_more_groups_apart_than_components():
    arrays = groups_of([(g, g, 1.0) for g in range(3)], [(0, 1), (1, 2), (0, 2)], np.ones(3))
    with pytest.raises(InfeasibleConstraintsError, match="n_components"):
        mixture(2).fit(DATA, groups=arrays)
    assert np.isfinite(fitted(mixture(3), DATA, groups=arrays).objective_)


def test_empty_groups_are_inert():
    a = fitted(mixture(2), DATA, groups=groups_of(PAIR, n_groups=3))
    b = fitted(mixture(2), DATA, groups=groups_of(PAIR))
    assert_array_equal(a.means_, b.means_)
    assert_allclose(a.group_posterior_[2], a.weights_)
    none = groups_of([], n_groups=0)
    assert fitted(mixture(2), DATA, groups=none).enforcement_posterior_.shape == (0,)


def test_labels_and_links_of_the_same_rows_go_together():
    """A row that has a label and a must-link follows one group, that of its class."""
    X, y = load_iris(return_X_y=True)
    known = np.full(150, -1)
    known[::8] = y[::8]
    pairs = Constraints.from_labels(y, n_pairs=30, random_state=0)
    ids = [f"flower-{i}" for i in range(150)]
    named = Constraints.from_labels(y, n_pairs=30, random_state=0, sample_id=ids)
    both = ConstrainedGaussianMixture(3, random_state=0)
    both.fit(X, constraints=pairs, partial_labels=known)
    joined = ConstrainedGaussianMixture(3, random_state=0)
    joined.fit(X, constraints=pairs | Constraints.from_labels(known))
    by_id = ConstrainedGaussianMixture(3, random_state=0)
    by_id.fit(X, constraints=named, partial_labels=known, sample_id=ids)
    for other in (joined, by_id):
        assert_array_equal(both.means_, other.means_)
