"""The plane shows the learned distances, every row once, and every constraint as one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkfield import Constraints, HMRFKMeans
from linkfield.distortions import as_distortion, start_metric
from linkfield.plots import PartitionDisplay, before_after, main_plane, matched_labels
from linkfield.plots._coordinates import learned_coordinates, plane_of, sampled_rows
from linkfield.plots._links import LINKS


def points_of(axis):
    """All points that were drawn for rows."""
    drawn = [c for c in axis.collections if isinstance(c, PathCollection) and c.get_zorder() == 3]
    return np.concatenate([np.asarray(c.get_offsets()) for c in drawn])


def lines_of(axis):
    lines = [c for c in axis.collections if isinstance(c, LineCollection)]
    return {c.get_label(): c.get_segments() for c in lines}


def sorted_rows(points):
    return points[np.lexsort(points.T)]


def test_every_row_is_drawn_once_in_its_place(wine):
    display = PartitionDisplay.from_estimator(wine.model, wine.X)
    assert len(display.axes_) == 1 and display.ax_ is display.axes_[0]
    assert display.figure_ is display.ax_.figure
    drawn = sorted_rows(points_of(display.ax_))
    # Independently: singular vectors of the centred, weighted rows.
    Z = (wine.X - wine.X.mean(0)) * np.sqrt(wine.model.metric_)
    _, s, Vt = np.linalg.svd(Z, full_matrices=False)
    mine = Z @ Vt[:2].T
    mine *= np.sign((mine * display.plane).sum(axis=0))  # a direction may point either way
    np.testing.assert_allclose(drawn, sorted_rows(mine), atol=1e-8 * s[0])


def test_constraints_are_lines_between_their_rows(wine):
    display = PartitionDisplay.from_estimator(wine.model, wine.X)
    found = lines_of(display.ax_)
    labels, table = wine.model.labels_, wine.known.pairs()
    for name, must, kept, *_ in LINKS:
        wanted = [
            (display.plane[a], display.plane[b])
            for a, b, kind, _ in table
            if (kind == "must") == must and ((labels[a] == labels[b]) == must) == kept
        ]
        assert len(found.get(name, [])) == len(wanted), name
        if wanted:
            np.testing.assert_allclose(np.array(found[name]), np.array(wanted))
    broken = sum(len(v) for k, v in found.items() if "violated" in k)
    assert broken == len(wine.model.violations_) > 0
    crosses = [c for c in display.ax_.collections if c.get_zorder() == 5]
    assert sum(len(c.get_offsets()) for c in crosses) == broken


def test_before_and_after_have_the_same_rows_and_names_that_agree(wine):
    before = KMeans(3, n_init=1, random_state=0).fit(wine.X)
    display = PartitionDisplay.from_estimator(wine.model, wine.X, before=before, truth=wine.y)
    first, second = display.axes_
    np.testing.assert_allclose(sorted_rows(points_of(first)), sorted_rows(points_of(second)))
    assert not lines_of(first) and lines_of(second)
    agree = (display.before == wine.model.labels_).mean()
    orders = ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    best = max((np.array(o)[before.labels_] == wine.model.labels_).mean() for o in orders)
    assert agree == pytest.approx(best)


def test_the_coordinates_have_the_learned_distances(rng):
    X = np.abs(rng.normal(size=(40, 5))) + 0.1
    labels = np.zeros(40, np.int64)
    A = np.cov(rng.normal(size=(5, 50)))
    a = rng.uniform(0.2, 3, 5)
    for name, kind, theta in (
        ("euclidean", "identity", np.ones(5)),
        ("euclidean", "diagonal", a),
        ("euclidean", "full", A),
        ("cosine", "diagonal", a),
        ("correlation", "diagonal", a),
    ):
        model = HMRFKMeans(2, distortion=name, metric=kind)
        model.metric_, model.metric_kind_ = theta, kind
        for data in (X, sparse.csr_array(X)):
            Z = learned_coordinates(model, data, labels).Z
            Z = Z.toarray() if sparse.issparse(Z) else Z
            measure = as_distortion(name)
            metric = type(start_metric(kind, 5, 2))(theta)
            i, j = np.triu_indices(40, 1)
            wanted = measure.pair(measure.rows(X), i, j, metric)
            factor = 2.0 if name in ("cosine", "correlation") else 1.0
            np.testing.assert_allclose(pdist(Z) ** 2, factor * wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["i-divergence", "kl", "itakura-saito", "logistic"])
def test_other_divergences_are_straightened(rng, name):
    """Near rows have ‖z − z'‖² = D up to the square of their relative distance."""
    x = rng.uniform(0.2, 0.8, 6)
    a = rng.uniform(0.5, 2, 6)
    X = np.array([x, x * (1 + 1e-3 * rng.normal(size=6))])
    if name == "kl":
        X /= X.sum(axis=1, keepdims=True)
    model = HMRFKMeans(2, distortion=name, metric="diagonal")
    model.metric_, model.metric_kind_ = a, "diagonal"
    Z = learned_coordinates(model, X, np.zeros(2, np.int64)).Z
    measure = as_distortion(name)
    metric = type(start_metric("diagonal", 6, 2))(a)
    D = measure.table(measure.rows(X[:1]), X[1:], metric)[0, 0]
    assert float(((Z[0] - Z[1]) ** 2).sum()) == pytest.approx(D, rel=0.02)


def test_clusters_with_own_metrics_and_mixtures_have_a_mean_one(wine, mixture, rng):
    labels = np.repeat([0, 1], [30, 10])
    model = HMRFKMeans(2, metric="diagonal-per-cluster")
    model.metric_ = rng.uniform(0.5, 2, (2, 3))
    model.metric_kind_ = "diagonal-per-cluster"
    X = rng.normal(size=(40, 3))
    Z = learned_coordinates(model, X, labels).Z
    np.testing.assert_allclose(Z, X * np.sqrt(0.75 * model.metric_[0] + 0.25 * model.metric_[1]))
    Z, words = learned_coordinates(mixture, wine.X, mixture.labels_)
    pooled = np.tensordot(mixture.weights_, mixture.covariances_, axes=1)
    wanted = cdist(wine.X, wine.X, "mahalanobis", VI=np.linalg.inv(pooled))
    np.testing.assert_allclose(cdist(Z, Z), wanted, rtol=1e-5, atol=1e-6)
    assert words == "mean covariance"


def test_large_data_is_a_sample_with_all_drawn_constraints(rng):
    X = rng.normal(size=(3000, 2))
    known = Constraints(must_link=[(0, 2999), (5, 7)], cannot_link=[(0, 1500)])
    model = HMRFKMeans(2, metric="identity", n_init=1, random_state=0).fit(X, constraints=known)
    display = PartitionDisplay.from_estimator(model, X, max_rows=100)
    assert len(display.rows) == len(points_of(display.ax_)) == 100
    assert {0, 5, 7, 1500, 2999} <= set(display.rows.tolist())
    assert "100 of 3,000 rows" in display.ax_.get_xlabel()
    assert sum(map(len, lines_of(display.ax_).values())) == 3
    few = PartitionDisplay.from_estimator(model, X, max_rows=100, max_links=1)
    assert "1 of 3 constraints" in few.ax_.get_xlabel()
    other = PartitionDisplay.from_estimator(model, X, max_rows=100, random_state=1)
    assert not np.array_equal(other.rows, display.rows)


def test_samples_keep_every_group(rng):
    groups = np.repeat([0, 1, 2], [9000, 990, 10])
    rows = sampled_rows(10_000, 200, rng, groups=groups)
    share = np.bincount(groups[rows])
    assert share[2] >= 1 and abs(share[0] - 180) <= 1 and abs(share[1] - 19) <= 1
    assert np.array_equal(sampled_rows(5, 10, rng), np.arange(5))


def test_labels_are_drawn_by_representatives(rng):
    X = np.r_[rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + 20]
    y = np.repeat([0, 1], 300)
    model = HMRFKMeans(2, metric="identity", random_state=0, n_init=1).fit(X)
    display = PartitionDisplay.from_estimator(
        model, X, constraints=Constraints.from_labels(y), max_links=1000
    )
    # 598 rows joined to the first of their class, and these two apart; nothing is violated.
    found = {k: len(v) for k, v in lines_of(display.ax_).items()}
    assert found == {"must-link": 598, "cannot-link": 1}


@pytest.mark.parametrize("shape", [(30, 1), (1, 3), (1, 1), (2, 2)])
def test_few_rows_and_few_features(rng, shape):
    X = rng.normal(size=shape)
    model = HMRFKMeans(1, random_state=0).fit(X)
    display = PartitionDisplay.from_estimator(model, X)
    assert np.isfinite(points_of(display.ax_)).all()
    assert len(points_of(display.ax_)) == shape[0]
    if shape == (30, 1):  # distances along the only feature are kept
        x = points_of(display.ax_)[:, 0]
        a = float(np.ravel(model.metric_)[0])
        np.testing.assert_allclose(np.ptp(x), np.sqrt(a) * np.ptp(X))


def test_sparse_rows(rng):
    X = sparse.random_array((80, 400), density=0.05, rng=rng, format="csr")
    model = HMRFKMeans(3, distortion="cosine", metric="diagonal")
    model.metric_, model.metric_kind_ = rng.uniform(0.5, 2, 400), "diagonal"
    model.labels_, model.n_features_in_ = rng.integers(0, 3, 80), 400
    display = PartitionDisplay.from_estimator(model, X)
    Z = learned_coordinates(model, X, model.labels_).Z.toarray()
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1)[Z.any(axis=1)], 1.0)
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    np.testing.assert_allclose(np.abs(display.plane), np.abs(U[:, :2] * s[:2]), atol=1e-9)


def test_more_clusters_than_colours_have_looks_of_their_own(rng):
    X = np.repeat(np.arange(15.0), 2)[:, None] * 10 + rng.normal(size=(30, 1))
    model = HMRFKMeans(15, metric="identity", random_state=0, n_init=1).fit(X)
    display = PartitionDisplay.from_estimator(model, X)
    named = [c for c in display.ax_.collections if c.get_label().startswith("cluster")]
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in named}
    assert len(looks) == len(np.unique(model.labels_))


def test_pipelines_prepare_the_rows(wine):
    pipe = make_pipeline(StandardScaler(), HMRFKMeans(3, metric="identity", random_state=0))
    pipe.fit(wine.X)
    display = PartitionDisplay.from_estimator(pipe, wine.X)
    plain = PartitionDisplay.from_estimator(pipe[-1], StandardScaler().fit_transform(wine.X))
    np.testing.assert_allclose(display.plane, plain.plane)


def test_mistakes_name_the_remedy(wine):
    with pytest.raises(NotFittedError):
        PartitionDisplay.from_estimator(HMRFKMeans(3), wine.X)
    with pytest.raises(ValueError, match="pass the very rows of the fit"):
        PartitionDisplay.from_estimator(wine.model, wine.X[:50])
    with pytest.raises(ValueError, match="5 features"):
        PartitionDisplay.from_estimator(wine.model, wine.X[:, :5])
    with pytest.raises(ValueError, match="name row 500, but the data has 178"):
        PartitionDisplay.from_estimator(wine.model, wine.X, constraints=Constraints([(0, 500)]))
    with pytest.raises(ValueError, match="pass sample_id="):
        PartitionDisplay.from_estimator(wine.model, wine.X, constraints=Constraints([("a", "b")]))
    with pytest.raises(ValueError, match="before must hold one entry for each of 178 rows"):
        PartitionDisplay.from_estimator(wine.model, wine.X, before=[0, 1])
    with pytest.raises(ValueError, match="projection must be"):
        PartitionDisplay.from_estimator(wine.model, wine.X, projection="tsne")
    axis = Figure().subplots()
    with pytest.raises(ValueError, match="2 panels here and ax holds 1"):
        PartitionDisplay.from_estimator(wine.model, wine.X, before=wine.y, ax=axis)
    with pytest.raises(TypeError, match=r"must be a linkfield\.Constraints"):
        PartitionDisplay.from_estimator(wine.model, wine.X, constraints=[(0, 1)])


def test_ids_align_the_constraints(wine):
    ids = [f"w{i}" for i in range(178)]
    named = Constraints(must_link=[("w3", "w10")])
    display = PartitionDisplay.from_estimator(wine.model, wine.X, constraints=named, sample_id=ids)
    (segment,) = next(iter(lines_of(display.ax_).values()))
    np.testing.assert_allclose(segment, display.plane[[3, 10]])


def test_projection_of_the_rows_as_they_are(wine):
    display = PartitionDisplay.from_estimator(wine.model, wine.X, projection="pca")
    Z = wine.X - wine.X.mean(0)
    assert np.linalg.norm(display.plane[:, 0]) == pytest.approx(np.linalg.svd(Z)[1][0])


def test_before_after_writes_a_file(wine, tmp_path: Path):
    path = before_after(
        wine.X, wine.y, wine.model.labels_, wine.known, tmp_path / "two.png",
        weights=wine.model.metric_, truth=wine.y,
    )  # fmt: skip
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["two.png"]
    plane = main_plane(wine.X, wine.model.metric_)
    np.testing.assert_allclose(plane, plane_of(wine.X * np.sqrt(wine.model.metric_)))
    assert matched_labels([1, 1, 0], [0, 0, 1]).tolist() == [0, 0, 1]
