"""Things that once went wrong, or nearly did: precision, scale, sharing, messages."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from threadpoolctl import threadpool_info

from linkfield import (
    ConstrainedKMeans,
    Constraints,
    HMRFKMeans,
    KMeansI,
    MKMeans,
    PCKMeans,
)
from linkfield.estimation import Wishart
from linkfield.evaluation import normalized_mutual_info
from linkfield.exceptions import InfeasibleConstraintsError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5)) + 2.0 * RNG.integers(0, 3, 120)[:, None] * [1, -1, 0, 1, 0]


@pytest.mark.parametrize("distortion", ["cosine", "correlation"])
@pytest.mark.parametrize("metric", ["identity", "diagonal"])
def test_directions_know_no_scale(distortion, metric):
    args = {"distortion": distortion, "metric": metric, "init": X[:3]}
    small = HMRFKMeans(3, **args).fit(X)
    args["init"] = 1e3 * X[:3]
    large = HMRFKMeans(3, **args).fit(1e3 * X)
    assert large.n_iter_ == small.n_iter_ > 1
    assert_array_equal(large.labels_, small.labels_)
    assert_allclose(large.objective_, small.objective_, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e7, 1e8])
def test_far_from_zero_it_does_not_stop_early(offset):
    blobs = 0.01 * RNG.normal(size=(200, 2)) + RNG.integers(0, 4, 200)[:, None]
    model = HMRFKMeans(4, metric="identity", init=blobs[:4] + offset).fit(blobs + offset)
    free = HMRFKMeans(4, metric="identity", init=blobs[:4]).fit(blobs)
    assert_allclose(model.objective_, free.objective_, rtol=1e-3)


@pytest.mark.parametrize(("dtype", "far"), [(np.float32, 3e3), (float, 1e8)])
def test_a_far_cluster_does_not_freeze_the_others(dtype, far):
    y = np.arange(401) % 2
    data = np.column_stack([y + 0.3 * RNG.normal(size=401), 0.3 * RNG.normal(size=401)])
    data[-1] = far
    start = np.array([[0.4, 0.9], [0.6, -0.9], [far, far]])
    model = HMRFKMeans(3, metric="identity", init=start, tol=0.0).fit(data.astype(dtype))
    assert (model.labels_ != model.predict(data.astype(dtype))).mean() < 0.01
    assert normalized_mutual_info(y[:-1], model.labels_[:-1]) > 0.5


def test_far_from_zero_in_float32_labels_are_those_of_float64():
    y = RNG.integers(0, 3, 300)
    data = RNG.normal(size=(300, 4)) + 3.0 * y[:, None]
    start = data[:3]
    near = HMRFKMeans(3, init=start).fit(data)
    moved = (data + 1e4).astype(np.float32)
    far = HMRFKMeans(3, init=moved[:3].astype(float)).fit(moved)
    assert (near.labels_ == far.labels_).mean() > 0.98
    assert (far.predict(moved) == far.labels_).mean() > 0.99


def test_given_centres_with_zeros_are_smoothed():
    counts = RNG.poisson([[5, 0.0, 1], [0.0, 5, 1]], size=(20, 2, 3)).reshape(-1, 3) + 0.0
    start = np.array([[5.0, 0, 1], [0, 5.0, 1]])
    model = HMRFKMeans(2, distortion="i-divergence", metric="identity", init=start).fit(counts)
    assert np.isfinite(model.history_["objective"]).all()
    assert_array_equal(model.labels_, np.arange(40) % 2)
    for distortion, bad in (("i-divergence", -1.0), ("itakura-saito", 0.0), ("logistic", 2.0)):
        data = np.clip(np.abs(X) / 10, 0.01, 0.99)
        with pytest.raises(ValueError, match="init: "):
            HMRFKMeans(2, distortion=distortion, init=np.full((2, 5), bad)).fit(data)


def test_the_users_sparse_matrix_stays_as_it_is():
    parts = np.array([1.0, 2, 3, 4, 5, 6]), np.array([2, 0, 1, 1, 0, 2]), np.array([0, 2, 5, 6])
    own = sparse.csr_array(tuple(a.copy() for a in parts), shape=(3, 3))
    for array in (own.data, own.indices, own.indptr):
        array.flags.writeable = False
    model = HMRFKMeans(2, metric="identity", random_state=0).fit(own)
    assert_array_equal(own.data, parts[0])
    assert_array_equal(own.indices, parts[1])
    wide = sparse.csr_array(own.toarray())
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    again = HMRFKMeans(2, metric="identity", random_state=0).fit(wide)
    assert_array_equal(again.labels_, model.labels_)


def test_fits_in_threads_leave_blas_alone():
    data = RNG.normal(size=(60_000, 100))
    before = [pool["num_threads"] for pool in threadpool_info()]

    def fit(seed):
        return HMRFKMeans(3, random_state=seed, max_iter=2).fit(data).objective_

    Parallel(4, backend="threading")(delayed(fit)(s) for s in range(6))
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_units_do_not_matter_to_a_full_metric():
    labels = np.arange(120) % 2
    unit = np.array([1.0, 1e-5, 1e4, 1.0, 1.0])
    args = {"metric": "full", "metric_prior": None, "max_iter": 3}
    told = {"partial_labels": labels}
    plain = HMRFKMeans(2, **args).fit(X, **told)
    scaled = HMRFKMeans(2, **args).fit(X * unit, **told)
    assert_allclose(scaled.metric_ * np.outer(unit, unit), plain.metric_, rtol=1e-5, atol=1e-8)


def test_a_metric_a_cluster_needs_a_prior():
    with pytest.raises(ValueError, match="needs a metric_prior"):
        HMRFKMeans(2, metric="diagonal-per-cluster", metric_prior=None).fit(X)


def test_a_constant_feature_weighs_like_an_average_one():
    data = np.column_stack([X, np.full(120, 3.0)])
    model = HMRFKMeans(3, random_state=0).fit(data)
    assert_allclose(model.metric_[-1], 1.0 / data.var(axis=0).mean(), rtol=0.1)
    strong = HMRFKMeans(3, random_state=0, metric_prior=Wishart(strength=50.0)).fit(data)
    assert_allclose(strong.metric_[-1], 1.0 / data.var(axis=0).mean(), rtol=0.1)


def test_labels_against_hard_constraints_are_named():
    labels = np.r_[0, 1, np.full(118, -1)]
    hard = Constraints(must_link=[(0, 1)], must_link_weight=np.inf)
    with pytest.raises(InfeasibleConstraintsError, match=r"labels and hard .* rows 0, 1"):
        ConstrainedKMeans(3).fit(X, constraints=hard, partial_labels=labels)
    apart = Constraints(cannot_link=[(0, 1)], cannot_link_weight=np.inf)
    with pytest.raises(InfeasibleConstraintsError, match=r"labels and hard .* rows 0, 1"):
        ConstrainedKMeans(3).fit(X, constraints=apart, partial_labels=np.r_[0, 0, labels[2:]])


def test_rows_of_weight_zero_do_not_keep_a_cluster():
    data = np.vstack([X, [[1e3] * 5]])
    weight = np.r_[np.ones(120), 0.0]
    start = np.vstack([X[:2], [[1e3] * 5]])
    with_it = HMRFKMeans(3, metric="identity", init=start).fit(data, sample_weight=weight)
    assert len(np.unique(with_it.labels_[:-1])) == 3


def test_explain_takes_what_fit_takes():
    frame = pd.DataFrame(X, columns=list("abcde"))
    known = Constraints(must_link=[(0, 1)])
    model = HMRFKMeans(3, random_state=0).fit(frame, constraints=known)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = model.explain(0)
        loaded = pickle.loads(pickle.dumps(model))
        assert_allclose(loaded.explain(0, frame).distance, first.distance)
    assert_allclose(HMRFKMeans(3, random_state=0).fit(X).explain(0, X.tolist()).total.shape, 3)


def test_m_kmeans_counts_what_it_kept_and_refuses_hard_constraints():
    y = RNG.integers(0, 3, 120)
    for seed in range(8):
        known = Constraints.from_labels(y, n_pairs=60, random_state=seed)
        model = MKMeans(3, random_state=seed).fit(X, constraints=known)
        assert model.n_iter_ == model.history_["iteration"].max()
    with pytest.raises(ValueError, match="take MPCKMeans"):
        MKMeans(3, constraint_weight=np.inf).fit(X, constraints=known)


def test_kmeans_i_ignores_pairs_after_the_start():
    y = RNG.integers(0, 3, 120)  # pairs that the data does not bear out
    known = Constraints.from_labels(y, n_pairs=150, random_state=0)
    model = KMeansI(3, distortion="euclidean", random_state=0).fit(X, constraints=known)
    assert_array_equal(model.labels_, model.predict(X))
    assert len(model.violations_) > 10


def test_warm_start_of_another_shape_is_refused():
    model = HMRFKMeans(3, warm_start=True, random_state=0).fit(X)
    with pytest.raises(ValueError, match="warm_start: the last fit had 3 clusters"):
        model.set_params(n_clusters=4).fit(X)
    with pytest.raises(ValueError, match="warm_start"):
        model.set_params(n_clusters=3, distortion="cosine").fit(X)


def test_classes_do_not_outlive_their_fit():
    model = ConstrainedKMeans(2, random_state=0).fit(X, partial_labels=np.r_[0, 1, [-1] * 118])
    assert model.classes_ == (0, 1)
    assert not hasattr(model.fit(X), "classes_")


def test_constraints_in_the_place_of_y_are_noticed():
    with pytest.raises(TypeError, match="constraints="):
        PCKMeans(3).fit(X, Constraints(must_link=[(0, 1)]))


def test_whole_number_ids_are_ids():
    data = np.array([[0.0], [0.1], [10.0], [10.1]])
    known = Constraints(must_link=[(3, 1)])
    model = HMRFKMeans(2, metric="identity", constraint_weight=np.inf, random_state=0)
    labels = model.fit(data, constraints=known, sample_id=[3, 2, 1, 0]).labels_
    assert labels[0] == labels[2]


def test_scores_refuse_constraints_whose_rows_are_not_known():
    known = Constraints(must_link=[("r9", "r5")])
    with pytest.raises(ValueError, match=r"align\(sample_id\)"):
        normalized_mutual_info([0, 1, 0], [0, 1, 1], exclude=known)


def test_a_wide_full_metric_is_refused_before_it_is_built():
    wide = sparse.random_array((20, 200_000), density=1e-4, rng=0, format="csr")
    with pytest.raises(ValueError, match="only feature weights"):
        HMRFKMeans(2, distortion="cosine", metric="full").fit(wide)
    with pytest.raises(ValueError, match="chosen by distortion="):
        HMRFKMeans(2, metric="cosine").fit(X)


@pytest.mark.parametrize("distortion", ["euclidean", "i-divergence", "itakura-saito", "logistic"])
@pytest.mark.parametrize("d", [1, 2])
def test_a_constant_column_has_no_dispersion_but_rounding(distortion, d):
    """Its weight must not be one over what rounding leaves of a difference of sums."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(0.1, 0.9, (12, d))
        X[:, 0] = rng.uniform(0.1, 0.9)
        known = Constraints.from_labels(rng.integers(0, 2, 12), n_pairs=6, random_state=seed)
        model = HMRFKMeans(2, distortion=distortion, closure=False, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            J = model.fit(X, constraints=known).history_["objective"]
        assert model.metric_[0] < 1e4
        assert (np.diff(J) <= 1e-9 * (1 + np.abs(J[:-1]))).all()
