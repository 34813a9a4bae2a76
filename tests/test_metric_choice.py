"""metric="auto" and n_init="auto": what a fit chooses for itself."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from linkfield import Constraints, HMRFKMeans, MPCKMeans, PCKMeans
from linkfield.distortions import Bregman, as_distortion
from linkfield.estimators import _choosing, _metric_choice
from linkfield.evaluation import adjusted_rand
from linkfield.exceptions import ConstraintWarning, InfeasibleConstraintsError


def slanted(seed=0, n=300):
    """Two long clusters side by side: no weights of features tell them apart, a matrix does."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    long, across = rng.normal(0, 10, n), rng.normal(0, 0.5, n) + 4.0 * y
    return np.column_stack([long + across, long - across]), y


def noisy(seed=0, n=120, d=30):
    """Clusters in two of many features, and few rows."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = rng.normal(size=(n, d))
    X[:, :2] += 4.0 * np.eye(3)[y][:, :2]
    return X, y


def test_long_clusters_get_a_full_matrix():
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    model = HMRFKMeans(2, random_state=0).fit(X, constraints=known)
    assert model.metric_kind_ == "full" and model.metric_.shape == (2, 2)
    assert adjusted_rand(y, model.labels_, exclude=known) > 0.9
    table = model.metric_choice_
    assert table["metric"].tolist() == ["full", "diagonal", "identity"]
    assert table["kept"][0] > table["kept"][1] + table["error"][1]
    assert (table["n_pairs"] >= 60).all()  # a pair is held out by either of its rows


def test_few_rows_for_many_features_get_no_matrix():
    X, y = noisy()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    model = HMRFKMeans(3, random_state=0).fit(X, constraints=known)
    assert model.metric_choice_["metric"].tolist() == ["identity", "diagonal"]
    assert model.metric_kind_ in ("identity", "diagonal")


def test_weights_beat_the_first_choice_where_units_differ():
    X, y = noisy(n=200)
    X[:, :6] += 6.0 * np.eye(3)[y].repeat(2, axis=1)
    X[:, -1] *= 1000.0
    known = Constraints.from_labels(y, n_pairs=100, random_state=0)
    assert HMRFKMeans(3, random_state=0).fit(X, constraints=known).metric_kind_ == "diagonal"


@pytest.mark.parametrize("n_pairs", [0, 5])
def test_few_constraints_choose_nothing(n_pairs):
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=n_pairs, random_state=0)
    model = HMRFKMeans(2, random_state=0).fit(X, constraints=known)
    assert model.metric_kind_ == "diagonal" and len(model.metric_choice_) == 0


def test_a_metric_that_is_named_is_learned():
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    model = HMRFKMeans(2, random_state=0).fit(X, constraints=known)
    model.set_params(metric="identity").fit(X, constraints=known)
    assert model.metric_kind_ == "identity" and not hasattr(model, "metric_choice_")
    assert MPCKMeans(2).metric == "diagonal" and PCKMeans(2).metric == "identity"


def test_a_warm_fit_stays_with_its_metric():
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    model = HMRFKMeans(2, warm_start=True, random_state=0).fit(X, constraints=known)
    before = model.metric_choice_
    model.fit(X, constraints=Constraints.from_labels(y, n_pairs=3, random_state=1))
    assert model.metric_kind_ == "full" and model.metric_choice_ is before


def test_other_measures_learn_weights_where_they_can():
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    own = Bregman(lambda x: 0.5 * (x**2).sum(axis=1), lambda x: x)
    for distortion, kind in (
        ("cosine", "diagonal"),
        ("i-divergence", "diagonal"),
        (own, "identity"),
    ):
        model = HMRFKMeans(3, distortion=distortion, random_state=0).fit(X, constraints=known)
        assert model.metric_kind_ == kind and len(model.metric_choice_) == 0


def test_the_choice_is_made_on_a_sample_of_long_data(monkeypatch):
    X, y = slanted(n=3_000)
    known = Constraints.from_labels(y, n_pairs=600, random_state=0)
    monkeypatch.setattr(_metric_choice, "MOST_ROWS", 400)
    rows = _metric_choice.sampled(known, len(X), np.random.default_rng(0))
    part = known.restrict(rows)
    assert len(rows) <= 400 and part.n_must_link + part.n_cannot_link >= 100
    labelled = Constraints.from_labels(np.where(np.arange(3_000) < 2_000, y, -1))
    rows = _metric_choice.sampled(labelled, len(X), np.random.default_rng(0))
    assert len(np.intersect1d(rows, np.arange(2_000))) == 400
    assert HMRFKMeans(2, random_state=0).fit(X, constraints=known).metric_kind_ == "full"


def test_the_balance_of_must_links_and_cannot_links():
    kept = np.array([True, True, False, False, True, False])
    must = np.array([True, True, True, True, False, False])
    share, error = _metric_choice._balanced(kept, must)
    assert share == 0.5
    assert np.isclose(error, np.sqrt(0.25 / 4 + 0.25 / 2) / 2)
    assert _metric_choice._balanced(kept[must], must[must])[0] == 0.5
    assert _metric_choice.usual_metric(as_distortion("euclidean")) == "diagonal"


def test_several_starts_where_runs_are_quick(monkeypatch, capsys):
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)

    def starts(**told):
        HMRFKMeans(2, metric="identity", random_state=0, verbose=1).fit(X, **told)
        out = capsys.readouterr().out
        return max(int(line.split()[1].rstrip(",")) for line in out.splitlines())

    assert starts(constraints=known) == 5
    assert starts() == 1
    monkeypatch.setattr(_choosing, "QUICK", 100)
    assert starts(constraints=known) == 1


def test_the_same_seed_gives_the_same_choice():
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, n_pairs=40, random_state=3)
    first, second = (HMRFKMeans(3, random_state=5).fit(X, constraints=known) for _ in range(2))
    assert_array_equal(first.metric_choice_, second.metric_choice_)
    assert_array_equal(first.labels_, second.labels_)


def test_more_clusters_than_the_sample_has_rows(monkeypatch):
    X, y = slanted()
    known = Constraints.from_labels(y, n_pairs=60, random_state=0)
    monkeypatch.setattr(_metric_choice, "MOST_ROWS", 80)
    model = HMRFKMeans(100, random_state=0).fit(X, constraints=known)
    assert model.metric_kind_ == "diagonal" and len(model.metric_choice_) == 0


def test_what_cannot_be_is_told_by_the_rows_of_the_user(monkeypatch):
    """The choice sees a sample, whose rows have other numbers."""
    X, _ = slanted()
    triangles = [(a + i, a + j) for a in range(240, 300, 3) for i, j in ((0, 1), (1, 2), (0, 2))]
    known = Constraints(cannot_link=triangles, cannot_link_weight=np.inf)
    monkeypatch.setattr(_metric_choice, "MOST_ROWS", 200)
    messages = []
    for metric in ("auto", "diagonal"):
        with (
            pytest.warns(ConstraintWarning, match="mutually apart"),
            pytest.raises(InfeasibleConstraintsError) as caught,
        ):
            HMRFKMeans(2, metric=metric, random_state=0).fit(X, constraints=known)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
