"""constraints_help: what is held out stays hidden, and the verdicts are right."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t, ttest_rel
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

import linkfield
from linkfield import (
    ConstrainedGaussianMixture,
    Constraints,
    COPKMeans,
    Groups,
    HMRFKMeans,
    PCKMeans,
    SeededKMeans,
    constraints_help,
)
from linkfield.constraints import held_out
from linkfield.constraints.held_out import asked, draw_splits
from linkfield.exceptions import ContradictionError
from linkfield.experiments import ConstraintsHelp
from linkfield.experiments._paired import effects


def misleading(seed, n=120, noise=1.0):
    """Two groups that differ in the first feature; the second is louder and means nothing."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], n // 2)
    X = np.column_stack([group + rng.normal(0, 0.3, n), rng.normal(0, noise, n)])
    return X, group, rng


def three_blobs(seed, n=90):
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    return np.array([[0, 0], [2.5, 0], [0, 2.5]])[group] + rng.normal(size=(n, 2)), group, rng


class Spy(ClusterMixin, BaseEstimator):
    """Keeps all it is fitted with; puts rows into clusters by chance, or by ``truth``."""

    calls = []  # noqa: RUF012  copies share it

    def __init__(self, truth=None, random_state=None):
        self.truth = truth
        self.random_state = random_state

    def fit(self, X, y=None, *, constraints=None):
        rng = np.random.default_rng(self.random_state)
        Spy.calls.append((self.random_state, constraints))
        known = constraints.tied_rows()
        self.labels_ = rng.integers(0, 2, len(X))
        if self.truth is not None and len(known):
            self.labels_ = np.asarray(self.truth)
        return self


@pytest.fixture(autouse=True)
def _forget():
    Spy.calls.clear()


# ------------------------------------------------------------------ what is hidden


def mixed_knowledge(seed=0):
    """Pairs and labels of 90 rows, some of them about the same rows."""
    _, group, rng = three_blobs(seed)
    some = np.full(90, -1)
    some[rng.choice(90, 25, replace=False)] = 7
    some[some == 7] = group[some == 7]
    pairs = Constraints.from_labels(group, n_pairs=50, random_state=seed)
    return pairs | Constraints.from_labels(some)


def keys(pairs):
    return {(int(a), int(b), str(kind)) for a, b, kind in pairs[["a", "b", "kind"]]}


@pytest.mark.parametrize("seed", range(3))
def test_no_held_out_pair_reaches_the_fit_nor_follows_from_it(seed):
    """Every pair is in the training part or held out, and one of a held-out pair's rows is free."""
    known = mixed_knowledge(seed)
    everything = keys(known.pairs())
    rng = np.random.default_rng(seed)
    question = asked(known, 5, rng)
    splits = draw_splits(known, question, 5, 2, rng)
    times = np.zeros(len(question.ends), dtype=int)
    for split in splits:
        seen, tied = keys(split.training.pairs()), split.training.tied_rows()
        ends = question.ends[split.held_out]
        kinds = np.where(question.must[split.held_out], "must", "cannot")
        held = {(int(a), int(b), str(k)) for (a, b), k in zip(ends, kinds, strict=True)}
        assert seen | held == everything and not seen & held
        assert (~np.isin(ends, tied)).any(axis=1).all()
        times[split.held_out] += 1
    assert len(splits) == 10 and times.min() >= 2 and times.max() <= 4


def test_the_estimator_gets_the_training_parts_and_nothing_else():
    """What reaches fit is none of the pairs that the same split is judged by."""
    X, _, _ = three_blobs(0)
    known = mixed_knowledge()
    found = constraints_help(Spy(), X, known, n_repeats=2, random_state=3)
    assert found.n_fits == len(Spy.calls) == 20
    rng = np.random.default_rng(3)
    splits = draw_splits(known, asked(known, 5, rng), 5, 2, rng)
    for k, split in enumerate(splits):
        (seed, none), (same, some) = Spy.calls[2 * k : 2 * k + 2]
        assert seed == same == split.seed  # with and without constraints alike
        assert none == Constraints() and some == split.training
    assert len({split.seed for split in splits}) == 10


def test_rows_that_must_links_join_are_hidden_together():
    known = Constraints(
        must_link=[(3 * k, 3 * k + 1) for k in range(20)],
        cannot_link=[(3 * k + 1, 3 * k + 2) for k in range(20)],
    )
    rng = np.random.default_rng(0)
    question = asked(known, 5, rng)
    assert question.n_units == 40
    for split in draw_splits(known, question, 5, 3, rng):
        # A must-link is never torn: held out, both of its rows are free of constraints.
        must = question.ends[split.held_out][question.must[split.held_out]]
        assert not np.isin(must, split.training.pairs()["a"]).any()


def test_a_giant_component_is_split_by_rows():
    """A chain through all rows would be one unit; nothing could be held out."""
    chain = Constraints(must_link=[(k, k + 1) for k in range(59)])
    question = asked(chain, 5, np.random.default_rng(0))
    assert question.n_units == 60


def test_many_labels_are_judged_by_some_of_their_pairs(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_LABEL_PAIRS", 500)
    labels = np.arange(80) % 3
    known = Constraints.from_labels(labels) | Constraints(must_link=[(0, 3), (0, 90)])
    question = asked(known, 5, np.random.default_rng(0))
    assert len(question.ends) == 501  # (0, 3) is one of the labels' own
    a, b = question.ends[1:].T
    assert_array_equal(labels[a] == labels[b], question.must[1:])
    assert question.n_units == 79  # rows 0, 3 and 90 go together


def test_without_leaves_out_all_that_touches_a_row():
    known = Constraints([(0, 1), (1, 2)], [(2, 3)]) | Constraints.from_labels([-1, 1, 1, 2, 2])
    left = known.without([1])
    assert_array_equal(left.tied_rows(), [2, 3, 4])
    assert left == known.without(np.arange(5) == 1)
    assert keys(left.pairs()) == {(2, 3, "cannot"), (2, 4, "cannot"), (3, 4, "must")}
    named = Constraints([("a", "b")], [("b", "c")], sample_id=["a", "b", "c"])
    assert named.without([0]).pairs()[["a", "b"]].tolist() == [(1, 2)]
    assert named.without([1, 7]).n_cannot_link == 0


# ------------------------------------------------------------------ the shares


def test_shares_are_those_of_the_labellings():
    """A spy that knows the truth when it is given anything keeps all; one by chance keeps half."""
    X, group, _ = misleading(0)
    known = Constraints.from_labels(group, n_pairs=100, random_state=0)
    found = constraints_help(Spy(truth=tuple(group)), X, known, random_state=0)
    assert_allclose(found.measures["kept_with"], 1.0)
    assert_allclose(found.measures["kept_without"], 0.5, atol=0.1)
    assert_allclose(found.difference, 1 - found.measures["kept_without"][:2].mean(), rtol=1e-12)
    assert found.verdict == "they help"
    assert_allclose(found.informativeness, 1 - found.pairs["kept_without"].mean())
    assert found.stability_with == 1.0 and abs(found.stability_without) < 0.1


def test_tables_agree_with_each_other():
    X, group, _ = three_blobs(1)
    known = Constraints.from_labels(group, n_pairs=60, random_state=1)
    found = constraints_help(HMRFKMeans(3), X, known, n_repeats=2, random_state=0)
    assert keys(found.pairs) == keys(known.pairs())
    must = found.pairs["kind"] == "must"
    for side in ("with", "without"):
        kept = found.pairs[f"kept_{side}"]
        shares = [kept[must].mean(), kept[~must].mean()]
        assert_allclose(found.measures[f"kept_{side}"], [*shares, np.mean(shares)])
    n_must = found.table["n_must_link"].sum()
    assert 2 * must.sum() <= n_must <= 4 * must.sum()
    assert_array_equal(np.unique(found.table["repeat"]), [0, 1])
    assert_allclose(found.agreement, found.table["agreement"].mean())
    assert found.n_free == 90 - len(known.tied_rows())


def test_the_interval_of_independent_pairs_is_the_usual_one():
    """Pairs that share no row: the paired t-test's, a little wider."""
    rng = np.random.default_rng(0)
    n = 400
    with_, without = 1.0 * (rng.random((2, n)) < [[0.8], [0.6]])
    values = np.repeat((with_ - without)[None, :, None], 2, axis=2)
    unit = np.arange(2 * n).reshape(n, 2)
    found = effects(values, np.ones(n, dtype=bool), unit, np.zeros(1))["must-link"]
    usual = ttest_rel(with_, without).confidence_interval()
    width = usual.high - usual.low
    assert_allclose(found.estimate, (usual.high + usual.low) / 2)
    assert width < found.high - found.low < 1.01 * width


@pytest.mark.parametrize("case", ["sandwich", "hidden", "dyads"])
def test_the_variance_is_the_greatest_of_three(case):
    """Each is the greatest in turn, and equals its formula, pair by pair."""
    rng = np.random.default_rng(1)
    n, m = 60, 12
    unit = rng.integers(0, m, (n, 2))
    if case == "sandwich":  # what a unit adds it adds in all its pairs
        values = np.repeat(rng.normal(size=m)[unit].sum(axis=1)[:, None], 2, axis=1)
    elif case == "hidden":  # it does so only when it is hidden itself
        values = rng.normal(size=m)[unit]
        values -= 0.9 * values.mean(axis=1, keepdims=True)
    else:  # a ring: at every unit a good pair and a bad one
        unit = np.column_stack([np.arange(n), np.arange(1, n + 1)]) % m
        values = np.repeat((-1.0) ** np.arange(n)[:, None], 2, axis=1)
    e = (values - values.mean()) / (2 * n)
    both = e.sum(axis=1)
    share = (unit[:, None, :, None] == unit[None, :, None, :]).any(axis=(2, 3))
    dyad = np.unique(np.sort(unit, axis=1), axis=0, return_inverse=True)[1].ravel()
    by_unit = np.array([e[unit == u].sum() for u in range(m)])
    three = {
        "sandwich": both @ share @ both,
        "hidden": 2 * (by_unit**2).sum(),
        "dyads": (np.bincount(dyad, both) ** 2).sum(),
    }
    assert max(three, key=three.get) == case
    found = effects(values[None], np.ones(n, dtype=bool), unit, np.zeros(1))["must-link"]
    variance = three[case] * m / (m - 1) + 1 / n**2
    assert_allclose((found.high - found.low) / 2, t.ppf(0.975, m - 1) * np.sqrt(variance))


def test_repeats_that_differ_widen_the_interval():
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(1, 50, 2)), 4, axis=0)
    must, unit = np.ones(50, dtype=bool), np.arange(100).reshape(50, 2)
    shifted = values + np.array([-1.0, 1.0, -1.0, 1.0])[:, None, None]
    one, other = (effects(v, must, unit, np.zeros(4))["must-link"] for v in (values, shifted))
    assert_allclose(one.estimate, other.estimate)
    error = [(x.high - x.low) / 2 / t.ppf(0.975, 99) for x in (one, other)]
    assert_allclose(error[1] ** 2 - error[0] ** 2, (4 / 3) / 4)


# ------------------------------------------------------------------ the verdict


@pytest.mark.parametrize("seed", range(3))
def test_clean_constraints_help_against_a_misleading_metric(seed):
    X, group, _ = misleading(seed)
    known = Constraints.from_labels(group, n_pairs=120, random_state=seed)
    found = constraints_help(HMRFKMeans(2), X, known, n_repeats=2, random_state=seed)
    assert found.verdict == "they help"
    assert found.interval[0] > 0 and found.measures["p_value"][-1] < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_constraints_by_chance_do_not_help(seed):
    X, group, rng = misleading(seed)
    known = Constraints.from_labels(rng.permutation(group), n_pairs=120, random_state=seed)
    found = constraints_help(HMRFKMeans(2), X, known, n_repeats=2, random_state=seed)
    assert found.verdict in ("no difference shown", "they hurt")
    assert "better than chance" in found.summary()


def test_wrong_constraints_hurt_what_the_data_show():
    """The clusters are plain to see; heavy constraints, a fifth of them wrong, pull them apart."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 75)
    X = np.column_stack([6 * group, np.zeros(150)]) + rng.normal(size=(150, 2))
    known = Constraints.from_labels(group, n_pairs=300, noise=0.2, random_state=0)
    model = PCKMeans(2, constraint_weight=1e3)
    found = constraints_help(model, X, known, n_repeats=2, random_state=0)
    assert found.verdict == "they hurt"
    assert found.n_contradictions > 0 and "contradict" in found.summary()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kinds by chance", "labels by chance", "only cannot-links"])
def test_without_information_the_interval_covers_nothing(kind):
    """About 95% of the intervals hold 0; 40 of 50 or fewer would be less than one in 5,000."""
    covered = 0
    for seed in range(50):
        X, group, rng = three_blobs(seed)
        wrong = rng.permutation(group)
        known = Constraints.from_labels(wrong, n_pairs=60, noise=0.5, random_state=seed)
        if kind == "labels by chance":
            known = Constraints.from_labels(np.where(rng.random(90) < 0.4, wrong, -1))
        elif kind == "only cannot-links":
            known = Constraints(
                cannot_link=np.column_stack([known.pairs()["a"], known.pairs()["b"]])
            )
        found = constraints_help(HMRFKMeans(3), X, known, n_repeats=2, random_state=seed)
        low, high = found.interval
        covered += low <= 0 <= high
    assert covered > 40


# ------------------------------------------------------------------ estimators


@pytest.mark.parametrize(
    "estimator",
    [PCKMeans(3), COPKMeans(3), SeededKMeans(3), ConstrainedGaussianMixture(3, tol=1e-2)],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("what", ["pairs", "labels"])
def test_relatives(estimator, what):
    X, group, rng = three_blobs(2)
    known = Constraints.from_labels(group, n_pairs=30, random_state=0)
    if what == "labels":
        known = Constraints.from_labels(np.where(rng.random(90) < 0.2, group, -1))
    before = estimator.get_params()
    found = constraints_help(estimator, X, known, n_splits=3, n_repeats=1, random_state=0)
    assert np.isfinite(found.difference) and found.n_fits == 6
    assert estimator.get_params() == before and not hasattr(estimator, "labels_")


def test_the_seed_decides_and_the_workers_do_not():
    X, group, _ = three_blobs(0)
    known = Constraints.from_labels(group, n_pairs=40, random_state=0)
    told = {"n_splits": 2, "n_repeats": 2, "weights": (0.1, 1.0)}
    one, two = (
        constraints_help(HMRFKMeans(3), X, known, random_state=5, n_jobs=n_jobs, **told)
        for n_jobs in (None, 2)
    )
    other = constraints_help(HMRFKMeans(3), X, known, random_state=6, **told)
    assert one.summary() == two.summary() != other.summary()
    for name in ("measures", "table", "pairs", "weights"):
        assert_array_equal(getattr(one, name), getattr(two, name))


def test_the_best_weight_is_found_by_held_out_pairs():
    """Nearly all constraints are wrong ones of hard weight: the least weight is the best."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    X = np.column_stack([5 * group, np.zeros(120)]) + rng.normal(size=(120, 2))
    known = Constraints.from_labels(group, n_pairs=100, noise=0.3, random_state=0)
    model = PCKMeans(2, constraint_weight=100.0, closure=False)
    found = constraints_help(
        model, X, known, n_repeats=2, weights=(100.0, 1e-3, 1.0), random_state=0
    )
    assert_array_equal(found.weights["weight"], [100.0, 1e-3, 1.0])
    assert found.weights["kept_with"][0] == found.measures["kept_with"][-1]  # its own weight
    assert_allclose(found.weights["difference"][1], 0.0, atol=1e-12)
    assert found.best_weight in (1e-3, 1.0) and found.n_fits == 50
    assert "constraint_weight" in found.summary() and "<- best" in found.summary()


def test_the_strength_of_a_mixture_is_its_weight():
    X, group, _ = three_blobs(0)
    known = Constraints.from_labels(group, n_pairs=30, random_state=0)
    mixture = ConstrainedGaussianMixture(3, tol=1e-2)
    told = {"n_splits": 2, "n_repeats": 1, "random_state": 0}
    found = constraints_help(mixture, X, known, weights=(0.0, 2.0), **told)
    assert found.best_weight in (0.0, 2.0) and "strength" in found.summary()


# ------------------------------------------------------------------ hard cases


@pytest.mark.parametrize(
    "known",
    [
        Constraints(),
        Constraints([(0, 1)]),
        Constraints((), [(0, 1)]),
        Constraints([(0, 1), (1, 2)]),
    ],
    ids=["none", "one must-link", "one cannot-link", "one component"],
)
def test_too_little_to_split(known):
    X, _, _ = three_blobs(0)
    found = constraints_help(HMRFKMeans(3), X, known, n_repeats=1, random_state=0)
    assert isinstance(found, ConstraintsHelp)
    assert found.verdict == "too few constraints to tell"
    assert found.verdict in str(found) and "too few" in repr(found)


def test_a_handful_is_too_few_however_well_they_are_kept():
    X, group, _ = three_blobs(0)
    known = Constraints.from_labels(group, n_pairs=12, random_state=0)
    found = constraints_help(Spy(truth=tuple(group)), X, known, random_state=0)
    assert found.verdict == "too few constraints to tell"
    assert found.measures["kept_with"][-1] == 1.0


def test_one_cluster_cannot_be_helped():
    X, group, _ = three_blobs(0)
    known = Constraints.from_labels(group, n_pairs=60, random_state=0)
    found = constraints_help(HMRFKMeans(1), X, known, n_repeats=1, random_state=0)
    assert found.verdict == "no difference shown" and found.difference == 0
    assert_array_equal(found.measures["kept_with"], [1.0, 0.0, 0.5])
    assert "single cluster" in found.summary()


def test_one_kind_of_constraint_is_measured_against_any_two_rows():
    """A spy with one large cluster keeps many must-links by chance: that is no merit."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 1))
    pairs = rng.permutation(200).reshape(100, 2)
    large = tuple((rng.random(200) < 0.05).astype(int))
    found = constraints_help(Spy(truth=large), X, Constraints(must_link=pairs), random_state=0)
    assert found.measures["difference"][0] > 0.3  # must-links kept: 0.9 against 0.5
    assert abs(found.difference) < 0.05 and found.verdict == "no difference shown"
    assert np.isnan(found.measures["kept_with"][1])
    assert "no cannot-link" in found.summary()


def test_hard_and_contradictory_constraints():
    X, group, _ = three_blobs(0)
    clean = Constraints.from_labels(group, n_pairs=40, random_state=0).scaled(np.inf)
    found = constraints_help(HMRFKMeans(3), X, clean, n_repeats=1, random_state=0)
    assert np.isfinite(found.difference) and not found.warned
    wrong = clean | Constraints([(0, 1), (1, 2)], [(0, 2)]).scaled(np.inf)
    with pytest.raises(ContradictionError) as error:
        constraints_help(COPKMeans(3), X, wrong, n_repeats=1, random_state=0)
    assert "constraints_help" in error.value.__notes__[0]


def test_warnings_of_the_fits_are_counted_not_lost():
    X, group, _ = three_blobs(0)
    wrong = Constraints.from_labels(group, n_pairs=80, noise=0.4, random_state=0)
    found = constraints_help(HMRFKMeans(3), X, wrong, n_repeats=1, random_state=0)
    assert found.n_contradictions > 0
    assert any(text.startswith("ConstraintWarning") for text in found.warned)
    assert "warnings" in found.summary()


def test_ids_and_frames():
    pd = pytest.importorskip("pandas")
    X, group, _ = three_blobs(0)
    names = [f"r{i}" for i in range(90)]
    plain = Constraints.from_labels(group, n_pairs=40, random_state=0)
    named = Constraints.from_labels(group, n_pairs=40, random_state=0, sample_id=names)
    told = {"n_splits": 2, "n_repeats": 1, "random_state": 0}
    expected = constraints_help(HMRFKMeans(3), X, plain, **told).summary()
    assert constraints_help(HMRFKMeans(3), pd.DataFrame(X), named, **told).summary() == expected
    loose = Constraints([("r1", "r2")], [("r5", "r2"), ("r8", "r9")])
    with pytest.raises(ValueError, match="align"):
        constraints_help(HMRFKMeans(3), X, loose)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"estimator": KMeans(2)}, TypeError, "constraints="),
        ({"constraints": Groups([[0, 1]])}, TypeError, "from_labels"),
        ({"constraints": Constraints([(0, 500)])}, ValueError, "500"),
        ({"n_splits": 1}, ValueError, "n_splits"),
        ({"n_repeats": 0}, ValueError, "n_repeats"),
        ({"weights": ()}, ValueError, "weights is empty"),
        ({"estimator": Spy(), "weights": (1.0,)}, ValueError, "constraint_weight"),
    ],
)
def test_bad_input(change, error, match):
    X, group, _ = three_blobs(0)
    known = Constraints.from_labels(group, n_pairs=10, random_state=0)
    told = {"estimator": HMRFKMeans(3), "X": X, "constraints": known} | change
    with pytest.raises(error, match=match):
        constraints_help(**told)


def test_it_is_offered_at_the_top():
    from linkfield.experiments import constraints_help as own

    assert linkfield.constraints_help is own and "constraints_help" in dir(linkfield)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = linkfield.no_such_thing
