"""Bars, lines and nodes have the lengths and numbers that the data asks for."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.metrics import silhouette_samples
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from linkfield import ConstrainedGaussianMixture, Constraints, HMRFKMeans
from linkfield.inference import MeanField
from linkfield.plots import (
    FeatureWeightsDisplay,
    FieldDisplay,
    ObjectiveDisplay,
    SatisfactionDisplay,
    SilhouetteDisplay,
)
from linkfield.plots._moments import cluster_means, column_moments

# ------------------------------------------------------------------ objective


def test_objective_trace_substeps_and_gap(wine):
    display = ObjectiveDisplay.from_estimator(wine.model)
    above, below = display.axes_
    lines = {line.get_label(): line for line in above.lines}
    trace = lines["after the iteration"]
    np.testing.assert_allclose(trace.get_ydata(), wine.model.objective_trace_)
    assert trace.get_xdata().tolist() == list(range(1, wine.model.n_iter_ + 1))
    history = wine.model.history_
    assigned = lines["after the step “assign”"]
    wanted = history["objective"][history["step"] == "assign"]
    np.testing.assert_allclose(assigned.get_ydata(), wanted)
    # A sub-step lies within its iteration; the last of each at its end, with the trace's value.
    x = assigned.get_xdata()
    assert (np.ceil(x) == history["iteration"][history["step"] == "assign"]).all()
    gap = below.lines[0]
    np.testing.assert_allclose(gap.get_ydata(), wine.model.certificate_["gap"], atol=1e-6)
    assert "never rises" in above.get_title()


def test_objective_of_mixtures_and_soft_fits(wine, mixture):
    display = ObjectiveDisplay.from_estimator(mixture)
    assert len(display.axes_) == 1 and "never falls" in display.ax_.get_title()
    assert display.ax_.get_ylabel() == "log posterior E"
    assert (np.diff(display.ax_.lines[0].get_ydata()) >= 0).all()
    X = StandardScaler().fit_transform(wine.X)
    soft = HMRFKMeans(3, metric="identity", assignment="soft", random_state=0,
                      inference=MeanField(temperature=2.0)).fit(X)  # fmt: skip
    assert ObjectiveDisplay.from_estimator(soft).ax_.get_ylabel() == "free energy F"


def test_one_iteration_is_a_point():
    model = HMRFKMeans(1, metric="identity", random_state=0).fit([[0.0], [1.0]])
    display = ObjectiveDisplay.from_estimator(model)
    assert len(display.ax_.lines[-1].get_xdata()) == model.n_iter_
    with pytest.raises(ValueError, match="one number an iteration"):
        ObjectiveDisplay(np.array([]))
    with pytest.raises(NotFittedError):
        ObjectiveDisplay.from_estimator(HMRFKMeans(2))
    with pytest.raises(ValueError, match="records no objective_trace_"):
        ObjectiveDisplay.from_estimator(StandardScaler().fit([[0.0]]))


# -------------------------------------------------------------------- weights


def bars_of(axis):
    return [p for p in axis.patches if isinstance(p, Rectangle)]


def test_weights_and_shares_by_name(wine):
    plain = FeatureWeightsDisplay.from_estimator(wine.model, feature_names=wine.names)
    order = np.argsort(-wine.model.metric_)
    assert [t.get_text() for t in plain.ax_.get_yticklabels()] == [wine.names[j] for j in order]
    lengths = [bar.get_width() for bar in bars_of(plain.ax_)]
    np.testing.assert_allclose(lengths, wine.model.metric_[order])
    shares = FeatureWeightsDisplay.from_estimator(wine.model, wine.X, feature_names=wine.names)
    wanted = wine.model.metric_ * wine.X.var(axis=0)
    wanted = np.sort(wanted / wanted.sum())[::-1]
    np.testing.assert_allclose([bar.get_width() for bar in bars_of(shares.ax_)], wanted)
    assert sum(bar.get_width() for bar in bars_of(shares.ax_)) == pytest.approx(1.0)


def test_largest_weights_only_and_full_metrics_say_so(wine, rng):
    X = rng.normal(size=(60, 30))
    model = HMRFKMeans(2, metric="diagonal", random_state=0).fit(X)
    display = FeatureWeightsDisplay.from_estimator(model, X)
    assert len(bars_of(display.ax_)) == 20 and "20 largest of 30" in display.ax_.get_title()
    full = HMRFKMeans(2, metric="full", random_state=0).fit(wine.X[:, :3])
    display = FeatureWeightsDisplay.from_estimator(full)
    assert "diagonal of the full metric" in display.ax_.get_xlabel()
    widths = [bar.get_width() for bar in bars_of(display.ax_)]
    np.testing.assert_allclose(widths, np.sort(np.diag(full.metric_))[::-1])


def test_a_metric_for_every_cluster_is_a_table_of_fields(wine):
    model = HMRFKMeans(3, metric="diagonal-per-cluster", random_state=0).fit(wine.X)
    display = FeatureWeightsDisplay.from_estimator(model, wine.X)
    assert len(bars_of(display.ax_)) == 3 * 13
    share = model.metric_ * wine.X.var(axis=0)
    share /= share.sum(axis=1, keepdims=True)
    text = [t.get_text() for t in display.ax_.texts]
    assert text == [f"{share[h, j]:.0%}" for h in range(3) for j in display.order]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_weights_of_mixtures_are_precisions(wine, kind):
    X = StandardScaler().fit_transform(wine.X)[:, :4]
    model = ConstrainedGaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    display = FeatureWeightsDisplay.from_estimator(model)
    P = model.precisions_
    wanted = {
        "full": lambda: np.array([np.diag(p) for p in P]),
        "tied": lambda: np.diag(P),
        "diag": lambda: P,
        "spherical": lambda: np.repeat(P[:, None], 4, axis=1),
    }[kind]()
    np.testing.assert_allclose(display.weights, wanted)


def test_names_of_features_are_text_not_formulas(wine):
    names = ["$\\frac{1}", "a$b$", "line\nbreak", "x" * 60, *wine.names[4:]]
    display = FeatureWeightsDisplay.from_estimator(wine.model, feature_names=names)
    display.figure_.canvas.draw()  # a formula that does not parse would raise here
    shown = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert "line break" in shown and max(map(len, shown)) <= 30
    with pytest.raises(ValueError, match="2 names for 13 features"):
        FeatureWeightsDisplay.from_estimator(wine.model, feature_names=["a", "b"])


def test_names_come_from_frames_and_pipelines(wine):
    import pandas as pd

    frame = pd.DataFrame(wine.X, columns=wine.names)
    model = HMRFKMeans(3, metric="diagonal", random_state=0).fit(frame)
    assert FeatureWeightsDisplay.from_estimator(model).names == wine.names
    pipe = make_pipeline(StandardScaler(), HMRFKMeans(3, metric="diagonal", random_state=0))
    display = FeatureWeightsDisplay.from_estimator(pipe.fit(frame), frame)
    assert display.names == wine.names
    np.testing.assert_allclose(display.variance, 1.0)


def test_moments_by_block_are_numpys(rng, monkeypatch):
    monkeypatch.setattr("linkfield.plots._moments.BLOCK", 40)
    X = rng.normal(size=(101, 5)) * [1, 10, 100, 1, 1] + [0, 1e6, 0, 5, 0]
    labels = rng.integers(0, 3, 101)
    for data in (X, sparse.csr_array(X)):
        mean, variance = column_moments(data)
        np.testing.assert_allclose(mean, X.mean(axis=0))
        rtol = 1e-10 if data is X else 1e-2  # sparse columns lie near 0 in practice
        np.testing.assert_allclose(variance, X.var(axis=0), rtol=rtol)
        means = cluster_means(data, labels, 4)
        np.testing.assert_allclose(means[:3], [X[labels == h].mean(axis=0) for h in range(3)])
        assert np.isnan(means[3]).all()


# ---------------------------------------------------------------- silhouettes


def test_silhouettes_are_those_of_the_learned_metric(wine):
    display = SilhouetteDisplay.from_estimator(wine.model, wine.X)
    found = display.silhouettes
    Z = wine.X * np.sqrt(wine.model.metric_)
    wanted = silhouette_samples(Z, wine.model.labels_)
    np.testing.assert_allclose(found.values, wanted[found.rows])
    assert found.sizes.tolist() == np.bincount(wine.model.labels_).tolist()
    names = [t.get_text() for t in display.ax_.get_yticklabels()]
    for h, name in enumerate(names):
        mine = wanted[wine.model.labels_ == h]
        assert f"cluster {h}\n{len(mine)} rows, mean {mine.mean():.2f}" == name
    for h, body in enumerate(display.ax_.collections):
        reach = body.get_paths()[0].vertices[:, 0]
        assert reach.max() == pytest.approx(max(0, wanted[wine.model.labels_ == h].max()))
    assert f"{wanted.mean():.2f}" in display.ax_.get_title()


def test_silhouettes_of_a_sample_and_other_measures(rng):
    X = np.abs(rng.normal(size=(500, 3))) + np.repeat([[0, 0, 0], [9, 0, 0]], 250, axis=0)
    for name in ("euclidean", "cosine", "i-divergence"):
        model = HMRFKMeans(2, distortion=name, random_state=0, n_init=1).fit(X)
        display = SilhouetteDisplay.from_estimator(model, X, max_rows=100)
        assert abs(len(display.silhouettes.rows) - 100) <= 2
        assert "of 500 rows" in display.ax_.get_xlabel()
        assert (np.abs(display.silhouettes.values) <= 1).all()


def test_one_cluster_one_row_and_empty_clusters(recwarn):
    one = HMRFKMeans(1, random_state=0).fit([[0.0], [1.0], [2.0]])
    display = SilhouetteDisplay.from_estimator(one, [[0.0], [1.0], [2.0]])
    assert "no silhouettes" in display.ax_.get_title()
    single = HMRFKMeans(1, random_state=0).fit([[0.0]])
    SilhouetteDisplay.from_estimator(single, [[0.0]]).figure_.canvas.draw()
    each = HMRFKMeans(3, random_state=0).fit([[0.0], [5.0], [9.0]])
    display = SilhouetteDisplay.from_estimator(each, [[0.0], [5.0], [9.0]])
    assert display.silhouettes.values.tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="at least 2"):
        SilhouetteDisplay.from_estimator(each, [[0.0], [5.0], [9.0]], max_rows=1)
    recwarn.clear()
    with pytest.warns(UserWarning, match="distinct clusters"):
        empty = HMRFKMeans(2, random_state=0, metric="identity").fit([[0.0], [0.0], [0.0]])
    display = SilhouetteDisplay.from_estimator(empty, [[0.0], [0.0], [0.0]])
    assert len(display.clusters) == 1


# --------------------------------------------------------------- satisfaction


def widths(display):
    """Shares kept and violated, by bar."""
    n = len(display.counts)
    bars = bars_of(display.ax_)
    return [b.get_width() for b in bars[:n]], [b.get_width() for b in bars[n:]]


def test_satisfaction_counts_by_kind(wine):
    display = SatisfactionDisplay.from_estimator(wine.model)
    labels, table = wine.model.labels_, wine.known.pairs()
    same = labels[table["a"]] == labels[table["b"]]
    must = table["kind"] == "must"
    wanted = [(int((same & must).sum()), int((~same & must).sum())),
              (int((~same & ~must).sum()), int((same & ~must).sum()))]  # fmt: skip
    assert [(c.kept, c.violated) for c in display.counts] == wanted
    kept, violated = widths(display)
    np.testing.assert_allclose(kept, [k / (k + v) for k, v in wanted])
    np.testing.assert_allclose(np.add(kept, violated), 1.0)
    total = sum(map(sum, wanted))
    assert f"{total - len(wine.model.violations_)} of {total}" in display.ax_.get_title()


def test_satisfaction_by_weight_source_and_labels():
    import pandas as pd

    labels = np.array([0, 0, 1, 1])
    known = Constraints(
        must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3), (2, 3)],
        must_link_weight=[1.0, 2.0], cannot_link_weight=[np.inf, 2.0],
    )  # fmt: skip
    display = SatisfactionDisplay.from_labels(labels, known)
    assert display.by == "weight"
    assert {(c.kind, c.group): (c.kept, c.violated) for c in display.counts} == {
        ("must-links", "weight 1"): (1, 0),
        ("must-links", "weight 2"): (0, 1),
        ("cannot-links", "hard"): (1, 0),
        ("cannot-links", "weight 2"): (0, 1),
    }
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [1, 2, 3], "kind": ["must", "must", "cannot"],
                          "source": ["Ada", "Bo", None]})  # fmt: skip
    display = SatisfactionDisplay.from_labels(labels, Constraints.from_frame(frame))
    assert display.by == "source"
    assert {(c.kind, c.group): (c.kept, c.violated) for c in display.counts} == {
        ("must-links", "Ada"): (1, 0),
        ("must-links", "Bo"): (0, 1),
        ("cannot-links", "no source"): (1, 0),
    }
    both = Constraints(must_link=[(0, 1)]) | Constraints.from_labels([0, 0, 0, 1])
    display = SatisfactionDisplay.from_labels(labels, both, by="source")
    # Of the labels' pairs 0-1 is given already; 0-2 and 1-2 are broken, 0-3 and 1-3 apart.
    assert {(c.kind, c.group): (c.kept, c.violated) for c in display.counts} == {
        ("must-links", "no source"): (1, 0),
        ("must-links", "labels"): (0, 2),
        ("cannot-links", "labels"): (2, 1),
    }


def test_many_weights_are_put_into_ranges(rng):
    n = 200
    ends = np.column_stack([np.arange(n), np.arange(n) + n])
    weight = rng.uniform(0.1, 5, n)
    known = Constraints(must_link=ends, must_link_weight=weight)
    labels = rng.integers(0, 2, 2 * n)
    display = SatisfactionDisplay.from_labels(labels, known)
    assert len(display.counts) == 4
    assert sum(c.kept + c.violated for c in display.counts) == n
    assert sum(c.kept for c in display.counts) == (labels[:n] == labels[n:]).sum()


def test_no_constraints_is_an_error_and_none_violated_a_picture(wine):
    model = HMRFKMeans(3, random_state=0).fit(wine.X)
    with pytest.raises(ValueError, match="no constraints to count"):
        SatisfactionDisplay.from_estimator(model)
    with pytest.raises(ValueError, match="there is no field"):
        FieldDisplay.from_estimator(model, wine.X)
    display = SatisfactionDisplay.from_labels([0, 0], Constraints([(0, 1)]))
    assert widths(display) == ([1.0], [0.0])
    with pytest.raises(ValueError, match="name row 9"):
        SatisfactionDisplay.from_labels([0, 0], Constraints([(0, 9)]))
    with pytest.raises(ValueError, match="by must be"):
        SatisfactionDisplay.from_labels([0, 0], Constraints([(0, 1)]), by="moon")


# ---------------------------------------------------------------------- field


def components(known, n):
    """Connected rows, by walking."""
    near = {}
    for a, b, *_ in known.pairs():
        near.setdefault(int(a), set()).add(int(b))
        near.setdefault(int(b), set()).add(int(a))
    left, found = set(near), []
    while left:
        queue, seen = [left.pop()], set()
        while queue:
            row = queue.pop()
            if row not in seen:
                seen.add(row)
                queue += near[row]
        left -= seen
        found.append(sorted(seen))
    return found


def test_the_field_of_the_largest_component(wine):
    display = FieldDisplay.from_estimator(wine.model, wine.X)
    parts = components(wine.known, 178)
    assert display.rows.tolist() in [p for p in parts if len(p) == max(map(len, parts))]
    table = wine.known.pairs()
    inside = np.isin(table["a"], display.rows) & np.isin(table["b"], display.rows)
    drawn = [c for c in display.ax_.collections if isinstance(c, LineCollection)]
    assert sum(len(c.get_segments()) for c in drawn) == inside.sum()
    labels = wine.model.labels_
    same = labels[table["a"]] == labels[table["b"]]
    broken = inside & (same != (table["kind"] == "must"))
    red = sum(len(c.get_segments()) for c in drawn if "violated" in c.get_label())
    assert red == broken.sum()
    assert display.names == [str(r) for r in display.rows]


def test_nodes_pay_for_distance_and_violations(wine):
    row = int(wine.model.violations_["a"][0])
    display = FieldDisplay.from_estimator(wine.model, wine.X, row=row)
    assert row in display.rows.tolist()
    D = wine.model.transform(wine.X)
    labels = wine.model.labels_
    for k, i in enumerate(display.rows.tolist()):
        mine = [v["cost"] for v in wine.model.violations_ if i in (v["a"], v["b"])]
        wanted = D[i, labels[i]] - D[i].min() + sum(mine)
        assert display.cost[k] == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    sizes = display._sizes()
    assert sizes.min() >= 30 and sizes.argmax() == display.cost.argmax()


def test_components_that_are_too_large_are_cut_and_other_layouts(wine):
    chain = Constraints(must_link=[(i, i + 1) for i in range(100)])
    display = FieldDisplay.from_estimator(
        wine.model, wine.X, constraints=chain, row=50, max_nodes=9
    )
    assert display.rows.tolist() == list(range(46, 55))
    assert "9 of the component's 101 rows" in display.ax_.get_xlabel()
    round_ = FieldDisplay.from_estimator(wine.model, wine.X, layout="circle")
    np.testing.assert_allclose(np.linalg.norm(round_.place, axis=1), 1.0)
    with pytest.raises(ValueError, match="no constraint speaks of that row"):
        FieldDisplay.from_estimator(wine.model, wine.X, constraints=chain, row=150)
    with pytest.raises(ValueError, match="between 0 and 177"):
        FieldDisplay.from_estimator(wine.model, wine.X, row=999)
    ids = np.array([f"id{i}" for i in range(178)], object)
    named = Constraints(cannot_link=[("id4", "id9")])
    display = FieldDisplay.from_estimator(
        wine.model, wine.X, constraints=named, sample_id=ids, row="id9"
    )
    assert display.names == ["id4", "id9"]


def test_springs_bring_must_links_nearer_than_strangers(rng):
    from linkfield.plots._layout import spring

    edges = np.array([(i, j) for g in (0, 5) for i in range(g, g + 5) for j in range(i)
                      if j >= g] + [(0, 5)])  # fmt: skip
    must = np.array([True] * 20 + [False])
    place = spring(10, edges, must, rng)
    inside = np.mean([np.linalg.norm(place[a] - place[b]) for a, b in edges[:-1]])
    across = np.mean([np.linalg.norm(place[a] - place[b]) for a in range(5) for b in range(5, 10)])
    assert inside < 0.6 * across


def test_the_field_of_a_mixture(wine, mixture):
    display = FieldDisplay.from_estimator(mixture, wine.X, constraints=wine.known)
    assert (display.cost >= 0).all() and np.isfinite(display.cost).all()
