"""Every mistake a user may make gets its own clear answer."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import linkfield as lf
from linkfield import ConstrainedKMeans, Constraints, COPKMeans, HMRFKMeans, PCKMeans, SeededKMeans
from linkfield.distortions import Bregman, HMRFPenalty, IDivergence, MPC2003Penalty
from linkfield.estimation import Rayleigh, Wishart
from linkfield.estimators._inputs import _check_finite
from linkfield.exceptions import (
    ConstraintWarning,
    ContradictionError,
    InfeasibleConstraintsError,
)
from linkfield.initialize import Neighbourhoods

X = np.random.default_rng(0).random((12, 3))


def refuses(match, model, data=X, error=ValueError, **params):
    with pytest.raises(error, match=match):
        model.fit(data, **params)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_not_finite(value):
    bad = X.copy()
    bad[3, 1] = value
    refuses("NaN|infinity", HMRFKMeans(2), bad)
    refuses("NaN|infinity", HMRFKMeans(2), sparse.csr_array(bad))


def test_shapes_and_types_of_the_data():
    refuses("0 sample", HMRFKMeans(1), np.empty((0, 3)))
    refuses("0 feature", HMRFKMeans(1), np.empty((3, 0)))
    refuses("2D", HMRFKMeans(1), np.arange(5.0))
    refuses("dim", HMRFKMeans(1), np.zeros((2, 2, 2)))
    refuses("could not convert", HMRFKMeans(1), np.array([["a", "b"], ["c", "d"]]))
    refuses("Complex", HMRFKMeans(1), X.astype(complex))


def test_non_numeric_column_of_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.1, 0.2, 0.3], "name": ["a", "b", "c"]})
    refuses("could not convert", HMRFKMeans(2), frame)


@pytest.mark.parametrize(
    ("K", "error", "match"),
    [(0, ValueError, "at least 1"), (-2, ValueError, "at least 1"),
     (13, ValueError, ">= n_clusters"), (2.5, TypeError, "whole number"),
     ("3", TypeError, "whole number"), (True, TypeError, "whole")],
)  # fmt: skip
def test_number_of_clusters(K, error, match):
    refuses(match, HMRFKMeans(K), error=error)


def test_one_row_and_one_cluster():
    model = HMRFKMeans(1, random_state=0).fit(X[:1])
    assert model.labels_.tolist() == [0]
    assert np.isfinite(model.objective_)
    assert HMRFKMeans(1, random_state=0).fit(X).labels_.tolist() == [0] * 12


@pytest.mark.parametrize("metric", ["diagonal", "full", "diagonal-per-cluster", "full-per-cluster"])
def test_constant_columns_and_duplicate_rows(metric):
    data = np.repeat(np.column_stack([X, np.full(12, 7.0)]), 3, axis=0)
    known = Constraints.from_labels(np.arange(36) % 2, n_pairs=20, random_state=0)
    model = HMRFKMeans(2, metric=metric, random_state=0).fit(data, constraints=known)
    assert np.isfinite(model.metric_).all() and np.isfinite(model.objective_)


@pytest.mark.parametrize("distortion", ["euclidean", "cosine", "i-divergence"])
def test_all_rows_equal(distortion):
    same = np.ones((10, 2))
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = HMRFKMeans(3, distortion=distortion, random_state=0).fit(same)
    assert np.isfinite(model.objective_)


def test_zero_rows_for_cosine_are_announced():
    data = X.copy()
    data[4] = 0.0
    with pytest.warns(UserWarning, match="1 all-zero row"):
        model = HMRFKMeans(2, distortion="cosine", random_state=0).fit(data)
    with pytest.warns(UserWarning, match="all-zero"):
        np.testing.assert_allclose(model.transform(data)[4], 1.0)


@pytest.mark.parametrize(
    ("distortion", "data", "match"),
    [("i-divergence", X - 0.5, "Negative values"), ("kl", X - 0.5, "Negative values"),
     ("itakura-saito", np.where(X < 0.3, 0.0, X), "above 0"),
     ("logistic", X * 3, "between 0 and 1"),
     ("kl", np.where(np.arange(12)[:, None] == 2, 0.0, X), "row 2 is all zero")],
)  # fmt: skip
def test_outside_the_domain(distortion, data, match):
    model = HMRFKMeans(2, distortion=distortion, metric="identity")
    refuses(match, model, data)
    refuses(match, model, sparse.csr_array(data))
    fitted = HMRFKMeans(2, distortion=distortion, metric="identity", random_state=0).fit(X)
    with pytest.raises(ValueError, match=match):
        fitted.predict(data)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [({"distortion": "manhattan"}, "distortion must be one of"),
     ({"metric": "banana"}, "metric must be one of"),
     ({"penalty": "soft"}, "penalty must be one of"),
     ({"inference": "magic"}, "inference must be one of"),
     ({"init": "best"}, "init must be one of"),
     ({"init": np.zeros((3, 3))}, "n_clusters, n_features"),
     ({"init": np.full((2, 3), np.nan)}, "NaN"),
     ({"init": Neighbourhoods(select="x")}, "select must be"),
     ({"init": Neighbourhoods(filler="x")}, "filler must be"),
     ({"closure": "yes"}, "closure must be"),
     ({"metric_prior": "gamma"}, "metric_prior must be"),
     ({"metric_prior": Wishart(strength=-1.0)}, "0 or more"),
     ({"metric_prior": Rayleigh(scale=0.0)}, "positive"),
     ({"metric_prior": "rayleigh", "metric": "full"}, "Rayleigh"),
     ({"metric_prior": None, "logdet_weight": 0.0}, "best metric is zero"),
     ({"logdet_weight": -1.0}, "logdet_weight"),
     ({"constraint_weight": 0.0}, "constraint_weight"),
     ({"constraint_weight": -1.0}, "constraint_weight"),
     ({"constraint_weight": np.nan}, "constraint_weight"),
     ({"n_init": 0}, "n_init"), ({"max_iter": 0}, "max_iter"), ({"tol": -1.0}, "tol"),
     ({"engine": "gpu"}, "engine"), ({"label_reading": "both"}, "label_reading"),
     ({"distortion": "cosine", "metric": "full"}, "only feature weights"),
     ({"distortion": "i-divergence", "metric": "full"}, "feature by feature"),
     ({"distortion": "i-divergence", "metric": "diagonal-per-cluster"}, "squared Euclidean"),
     ({"distortion": Bregman(lambda x: x.sum(1), np.ones_like), "metric": "diagonal"},
      "no parameters to learn"),
     ({"penalty": "mpc2003", "metric": "full-per-cluster"}, "one shared metric"),
     ({"penalty": MPC2003Penalty(alpha="x")}, "alpha must be"),
     ({"penalty": HMRFPenalty(bound="x")}, "bound"),
     ({"distortion": IDivergence(smoothing_floor=0.0)}, "needs smoothing"),
     ({"distortion": IDivergence(smoothing_decay=2.0)}, "decay")],
)  # fmt: skip
def test_parameters(parameters, match):
    known = Constraints(must_link=[(0, 1)], cannot_link=[(1, 2)])
    labels = np.r_[0, 1, np.full(10, -1)] if "label_reading" in parameters else None
    refuses(match, HMRFKMeans(2, **parameters), constraints=known, partial_labels=labels)


def test_user_divergence_that_leaves_its_domain():
    own = Bregman(lambda x: np.log(x - 0.9).sum(axis=1), lambda x: 1.0 / (x - 0.9))
    with np.errstate(invalid="ignore"):
        refuses("finite values", HMRFKMeans(2, distortion=own, metric="identity"))


# -------------------------------------------------------------- constraints


def test_constraints_of_the_wrong_kind():
    refuses("linkfield.Constraints", HMRFKMeans(2), error=TypeError, constraints=[(0, 1)])


def test_pairs_that_do_not_fit_the_rows():
    refuses("12 rows", HMRFKMeans(2), constraints=Constraints(must_link=[(0, 12)]))
    by_name = Constraints(must_link=[("a", "b")])
    refuses("sample_id", HMRFKMeans(2), constraints=by_name)
    refuses("does not have", HMRFKMeans(2), constraints=by_name, sample_id=list("acdefghijklm"))
    refuses("12 rows", HMRFKMeans(2), constraints=by_name, sample_id=["a", "b"])


@pytest.mark.parametrize("weight", [-1.0, 0.0, np.nan])
def test_bad_pair_weights(weight):
    with pytest.raises(ValueError, match="must_link_weight"):
        Constraints(must_link=[(0, 1)], must_link_weight=weight)


def test_huge_weights():
    known = Constraints([(0, 1)], [(1, 2)], must_link_weight=1e300, cannot_link_weight=1e300)
    for metric in ("identity", "diagonal", "full"):
        model = HMRFKMeans(3, metric=metric, random_state=0).fit(X, constraints=known)
        assert len(model.violations_) == 0
        assert np.isfinite(model.objective_)


def test_contradictions():
    known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    with pytest.warns(ConstraintWarning, match="0-1-2 must, 0-2 cannot"):
        HMRFKMeans(2, random_state=0).fit(X, constraints=known)
    refuses("0-1-2 must", HMRFKMeans(2, closure=True), error=ContradictionError, constraints=known)
    model = HMRFKMeans(2, closure=False, random_state=0).fit(X, constraints=known)
    assert len(model.violations_) >= 1
    refuses("0-1-2 must", COPKMeans(2), error=ContradictionError, constraints=known)


def test_too_few_clusters_for_the_cannot_links():
    known = Constraints(cannot_link=[(0, 1), (1, 2), (0, 2)])
    with pytest.warns(ConstraintWarning, match="3 sets of rows mutually apart"):
        model = PCKMeans(2, random_state=0).fit(X, constraints=known)
    assert len(model.violations_) >= 1
    with pytest.warns(ConstraintWarning, match="mutually apart"):
        refuses("0, 1, 2", COPKMeans(2), error=InfeasibleConstraintsError, constraints=known)


def test_labels_of_the_wrong_length_or_number():
    refuses("3 entries", HMRFKMeans(2), partial_labels=[0, 1, -1])
    labels = np.arange(12) % 4
    with pytest.warns(ConstraintWarning, match="4 classes"):
        HMRFKMeans(3, random_state=0).fit(X, partial_labels=labels)
    for cls in (SeededKMeans, ConstrainedKMeans):
        refuses("4 classes, more than n_clusters=3", cls(3), partial_labels=labels)
    few = np.r_[0, 1, np.full(10, -1)]
    assert (
        len(np.unique(ConstrainedKMeans(4, random_state=0).fit(X, partial_labels=few).labels_)) == 4
    )
    assert HMRFKMeans(4, random_state=0).fit(X, partial_labels=few).n_clusters == 4


def test_sample_weights():
    refuses("Negative values|negative", HMRFKMeans(2), sample_weight=-np.ones(12))
    refuses("non-zero", HMRFKMeans(2), sample_weight=np.zeros(12))
    refuses("NaN", HMRFKMeans(2), sample_weight=np.full(12, np.nan))
    refuses("shape|inconsistent", HMRFKMeans(2), sample_weight=np.ones(5))


def test_constant_rows_for_correlation():
    data = X.copy()
    data[5] = 3.0
    for rows in (data, sparse.csr_array(data)):
        model = HMRFKMeans(2, distortion="correlation", random_state=0).fit(rows)
        np.testing.assert_allclose(model.transform(rows)[5], 1.0)


@pytest.mark.parametrize("name", ["PCKMeans", "MKMeans", "MPCKMeans", "KMeansI", "COPKMeans"])
def test_special_cases_check_their_input_too(name):
    model = getattr(lf, name)
    refuses("12 rows", model(2), constraints=Constraints(must_link=[(0, 99)]))
    refuses("n_clusters", model(50))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 7, 9_999])
def test_not_a_number_anywhere(bad, place, monkeypatch):
    """Rows are looked through in pieces, and told about as scikit-learn does."""
    monkeypatch.setattr("linkfield.estimators._inputs.SUMMED", 100)
    many = np.random.default_rng(0).normal(size=(10_000, 2)).astype(np.float32)
    many[place, 1] = bad
    message = "HMRFKMeans does not accept missing|Input X contains infinity"
    for data in (many, sparse.csr_array(many)):
        with pytest.raises(ValueError, match=message):
            HMRFKMeans(2).fit(data)


def test_finite_numbers_whose_sum_is_not():
    large = np.full((40, 2), 3e38, dtype=np.float32)
    _check_finite(HMRFKMeans(2), large)  # no error
    _check_finite(HMRFKMeans(2), np.vstack([large, -large]))
    with pytest.raises(ValueError, match="infinity"):
        _check_finite(HMRFKMeans(2), np.vstack([large, [[np.inf, 0]]]))
