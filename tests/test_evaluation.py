"""Scores agree with naive counting, with scikit-learn, and with what a score must obey."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

from linkfield import Constraints
from linkfield.evaluation import (
    ConstraintSatisfaction,
    _contingency,
    adjusted_rand,
    clustering_accuracy,
    constraint_satisfaction,
    contingency,
    normalized_mutual_info,
    pairwise_f_score,
    pairwise_precision_recall,
)

Score = Callable[..., float]
SCORES: list[Score] = [pairwise_f_score, normalized_mutual_info, adjusted_rand, clustering_accuracy]
PAIRS = np.dtype([("a", "i8"), ("b", "i8"), ("kind", "U6"), ("weight", "f8")])

every_score = pytest.mark.parametrize("score", SCORES, ids=lambda score: score.__name__)
law = settings(deadline=None)


class Told:
    """The part of Constraints that the scores rely on."""

    def __init__(self, rows: Sequence[tuple[int, int, str, float]]) -> None:
        self._pairs = np.array(list(rows), dtype=PAIRS)

    def pairs(self) -> np.ndarray:
        return self._pairs

    def tied_rows(self) -> np.ndarray:
        return np.unique(np.concatenate([self._pairs["a"], self._pairs["b"]]))


@st.composite
def labellings(
    draw: st.DrawFn, max_rows: int = 30, max_labels: int = 5
) -> tuple[list[int], list[int]]:
    n = draw(st.integers(1, max_rows))
    label = st.integers(-1, max_labels - 2)
    return tuple(draw(st.lists(label, min_size=n, max_size=n)) for _ in range(2))


def naive_pairs(true: Sequence[Any], pred: Sequence[Any]) -> tuple[int, int, int]:
    """Pairs that share class and cluster, class, cluster: one by one."""
    both = same_class = same_cluster = 0
    for i, j in combinations(range(len(true)), 2):
        same_class += true[i] == true[j]
        same_cluster += pred[i] == pred[j]
        both += true[i] == true[j] and pred[i] == pred[j]
    return both, same_class, same_cluster


# -- agreement with independent ways to compute the same -------------------------------------------


@law
@given(labellings())
def test_pairwise_scores_equal_pair_counting(labels: tuple[list[int], list[int]]) -> None:
    both, same_class, same_cluster = naive_pairs(*labels)
    precision = both / same_cluster if both else 0.0
    recall = both / same_class if both else 0.0
    f = 2 * precision * recall / (precision + recall) if both else 0.0
    assert pairwise_precision_recall(*labels) == pytest.approx((precision, recall), rel=1e-14)
    assert pairwise_f_score(*labels) == pytest.approx(f, rel=1e-14)


@law
@given(labellings())
def test_adjusted_rand_equals_pair_counting(labels: tuple[list[int], list[int]]) -> None:
    both, same_class, same_cluster = naive_pairs(*labels)
    n = len(labels[0])
    every = n * (n - 1) / 2
    chance = same_class * same_cluster / every if every else 0.0
    room = (same_class + same_cluster) / 2 - chance
    assume(room > 0)
    assert adjusted_rand(*labels) == pytest.approx((both - chance) / room, abs=1e-12)


@law
@given(labellings())
def test_scores_equal_scikit_learn(labels: tuple[list[int], list[int]]) -> None:
    assert adjusted_rand(*labels) == pytest.approx(adjusted_rand_score(*labels), abs=1e-12)
    expected = normalized_mutual_info_score(*labels, average_method="arithmetic")
    assert normalized_mutual_info(*labels) == pytest.approx(expected, abs=1e-12)


@law
@given(labellings(max_rows=12, max_labels=4))
def test_accuracy_equals_trying_every_naming(labels: tuple[list[int], list[int]]) -> None:
    true, pred = (np.array(side) for side in labels)
    names = np.arange(-1, 3)
    best = max(
        np.mean(true == np.array(naming)[pred + 1]) for naming in permutations(names, names.size)
    )
    assert clustering_accuracy(true, pred) == pytest.approx(best, rel=1e-14)


@law
@given(labellings())
def test_contingency_counts_every_row_once(labels: tuple[list[int], list[int]]) -> None:
    true, pred = (np.array(side) for side in labels)
    result = contingency(true, pred)
    for u, name in enumerate(result.classes):
        for v, cluster in enumerate(result.clusters):
            assert result.table[u, v] == np.sum((true == name) & (pred == cluster))
    assert result.table.sum() == len(true)
    assert (result.class_sizes > 0).all()
    assert (result.cluster_sizes > 0).all()


@every_score
def test_sparse_table_gives_the_same_score(score: Score, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for n_classes, n_clusters in [(3, 3), (7, 4), (4, 9), (1, 6), (6, 1)]:
        true = rng.integers(n_classes, size=60)
        pred = np.where(rng.random(60) < 0.6, true, rng.integers(n_clusters, size=60))
        dense = score(true, pred)
        with monkeypatch.context() as patch:
            patch.setattr(_contingency, "_DENSE_CELLS", 0)
            assert not isinstance(contingency(true, pred).table, np.ndarray)
            assert score(true, pred) == pytest.approx(dense, rel=1e-14)


@every_score
def test_many_small_clusters_need_no_dense_table(score: Score) -> None:
    n = 10_000 if score is clustering_accuracy else 200_000  # the assignment takes longer
    true = np.arange(n) // 2
    pred = np.roll(true, 1)[::-1]
    assert not isinstance(contingency(true, pred).table, np.ndarray)
    assert score(true, true) == 1.0
    assert -0.5 <= score(true, pred) < 1.0


def test_pairs_of_many_rows_do_not_overflow() -> None:
    # Two classes of 2 million rows, split in halves: products of pair counts exceed 2**63.
    n = 2_000_000
    true = np.repeat(np.array([0, 1], dtype=np.int8), n)
    pred = np.tile(np.repeat(np.array([0, 1], dtype=np.int8), n // 2), 2)
    both, one = 4 * math.comb(n // 2, 2), 2 * math.comb(n, 2)
    every = math.comb(2 * n, 2)
    chance = one * one / every
    assert pairwise_f_score(true, pred) == pytest.approx(both / one, rel=1e-14)
    # An ARI of about -2.5e-7 is the difference of numbers near 4e12.
    assert adjusted_rand(true, pred) == pytest.approx((both - chance) / (one - chance), rel=1e-6)
    assert normalized_mutual_info(true, pred) == pytest.approx(0.0, abs=1e-15)
    assert clustering_accuracy(true, pred) == 0.5


# -- laws ------------------------------------------------------------------------------------------


@every_score
@law
@given(labels=labellings(), data=st.data())
def test_names_do_not_matter(
    score: Score, labels: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    true, pred = labels
    renamed = data.draw(st.permutations(["ä", "b", "", "nan", "-1"]))
    numbers = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=5, unique=True))
    expected = score(true, pred)
    assert score([renamed[label + 1] for label in true], pred) == pytest.approx(expected, rel=1e-14)
    assert score(true, [numbers[label + 1] for label in pred]) == pytest.approx(expected, rel=1e-14)


@every_score
@law
@given(labels=labellings(), seed=st.integers(0, 99))
def test_order_and_sides_do_not_matter(
    score: Score, labels: tuple[list[int], list[int]], seed: int
) -> None:
    true, pred = (np.array(side) for side in labels)
    order = np.random.default_rng(seed).permutation(true.size)
    expected = score(true, pred)
    assert score(true[order], pred[order]) == pytest.approx(expected, rel=1e-14)
    assert score(pred, true) == pytest.approx(expected, rel=1e-14)
    assert expected <= 1.0
    assert expected >= (-0.5 if score is adjusted_rand else 0.0)


@every_score
@law
@given(labels=labellings())
def test_identical_partitions_score_one(score: Score, labels: tuple[list[int], list[int]]) -> None:
    true = labels[0]
    assume(score is not pairwise_f_score or len(set(true)) < len(true))
    assert score(true, [f"cluster {label}" for label in true]) == 1.0


@law
@given(labellings())
def test_only_identical_partitions_score_one(labels: tuple[list[int], list[int]]) -> None:
    both, same_class, same_cluster = naive_pairs(*labels)
    assume(not both == same_class == same_cluster)
    assert all(score(*labels) < 1.0 for score in SCORES)


def test_rows_that_are_all_alone_make_no_pairs() -> None:
    assert pairwise_f_score([0, 1, 2], [5, 6, 7]) == 0.0
    assert pairwise_precision_recall([0, 1, 2], [5, 6, 7]) == (0.0, 0.0)
    assert adjusted_rand([0, 1, 2], [5, 6, 7]) == 1.0
    assert adjusted_rand([0], [3]) == normalized_mutual_info([0], [3]) == 1.0


@pytest.mark.parametrize(
    "convert",
    [
        list,
        tuple,
        np.array,
        lambda x: np.array(x, dtype=np.int8),
        lambda x: np.array(x) * 1.0,
        lambda x: np.array(x, dtype=np.uint64) + np.uint64(2**64 - 10),
        lambda x: np.array(x, dtype=object),
        lambda x: np.array(x).astype("S"),
        lambda x: np.array(x).astype(np.dtypes.StringDType()),
        lambda x: np.array(x) * (2**60),
        pd.Series,
        pl.Series,
        lambda x: pd.Series(x, dtype="Int64"),
        lambda x: pd.Series(x).astype(str),
        lambda x: pd.Series(x).astype("category"),
        lambda x: pl.Series(x).cast(pl.String),
    ],
)
def test_labels_of_any_kind(convert: Callable[[list[int]], Any]) -> None:
    true, pred = [0, 0, 1, 1, 2, 2, 2], [1, 1, 1, 0, 0, 2, 2]
    for score in SCORES:
        expected = score(true, pred)
        assert score(convert(true), convert(pred)) == pytest.approx(expected, rel=1e-14)


def test_int8_labels_use_their_whole_range() -> None:
    labels = np.arange(-128, 128).astype(np.int8)
    assert contingency(labels, labels).classes.tolist() == list(range(-128, 128))


def test_strings_and_numbers_are_different_names() -> None:
    assert contingency(["1", 1, "1"], [0, 0, 0]).table.tolist() == [[2], [1]]


# -- choice of rows --------------------------------------------------------------------------------


@every_score
@law
@given(labels=labellings(), data=st.data())
def test_rows_score_the_subset(
    score: Score, labels: tuple[list[int], list[int]], data: st.DataObject
) -> None:
    true, pred = (np.array(side) for side in labels)
    position = st.integers(0, true.size - 1)
    rows = np.array(data.draw(st.lists(position, min_size=1, unique=True)))
    mask = np.zeros(true.size, dtype=bool)
    mask[rows] = True
    expected = score(true[mask], pred[mask])
    assert score(true, pred, rows=rows) == score(true, pred, rows=mask) == expected
    assert score(true, pred, rows=np.repeat(rows, 2)) == expected
    assert mask.sum() == rows.size  # the mask of the caller is untouched


@every_score
def test_exclude_leaves_out_the_tied_rows(score: Score) -> None:
    true = np.array([0, 0, 1, 1, 2, 2, 2, 0])
    pred = np.array([0, 1, 1, 1, 2, 2, 0, 0])
    told = Told([(0, 1, "must", 1.0), (1, 6, "cannot", math.inf)])
    rest = [2, 3, 4, 5, 7]
    assert score(true, pred, exclude=told) == score(true[rest], pred[rest])
    mask = np.arange(8) < 6
    assert score(true, pred, rows=mask, exclude=told) == score(true[2:6], pred[2:6])
    assert mask.sum() == 6


def test_missing_labels_outside_the_rows_are_no_matter() -> None:
    true = [0.0, 0.0, math.nan, 1.0]
    assert adjusted_rand(true, [3, 3, 3, 4], rows=[0, 1, 3]) == 1.0
    assert adjusted_rand(["a", "a", None, "b"], [3, 3, 3, 4], rows=[0, 1, 3]) == 1.0


# -- constraints -----------------------------------------------------------------------------------


def assert_counted(
    result: ConstraintSatisfaction, pairs: Sequence[tuple[Any, ...]], labels: Sequence[int]
) -> None:
    """Compare with the kept pairs, looked at one by one."""
    kept = [(labels[a] == labels[b]) == (kind == "must") for a, b, kind, _ in pairs]
    for name, share, count in [
        ("must", result.must_link, result.n_must_link),
        ("cannot", result.cannot_link, result.n_cannot_link),
    ]:
        of_kind = [k for k, pair in zip(kept, pairs, strict=True) if pair[2] == name]
        assert count == len(of_kind)
        assert share == pytest.approx(np.mean(of_kind) if of_kind else math.nan, nan_ok=True)
    weights = [pair[3] for pair in pairs]
    overall = np.average(kept, weights=weights) if pairs else math.nan
    assert result.overall == pytest.approx(overall, nan_ok=True)


@law
@given(
    labels=st.lists(st.integers(0, 3), min_size=2, max_size=12),
    data=st.data(),
)
def test_constraint_satisfaction_equals_counting(labels: list[int], data: st.DataObject) -> None:
    row = st.integers(0, len(labels) - 1)
    weight = st.floats(1e-3, 1e3)
    kind = st.sampled_from(["must", "cannot"])
    pairs = data.draw(st.lists(st.tuples(row, row, kind, weight), max_size=20))
    assert_counted(constraint_satisfaction(Told(pairs), labels), pairs, labels)


@law
@given(
    rows=st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=1, max_size=12),
    weight=st.floats(1e-3, 1e3),
    data=st.data(),
)
def test_partial_labels_equal_counting(
    rows: list[tuple[int, int, int]], weight: float, data: st.DataObject
) -> None:
    *labels, first, second = zip(*rows, strict=True)  # a row may carry two classes
    told = Constraints.from_labels(first)
    if data.draw(st.booleans()):
        told |= Constraints.from_labels(second)
    # Pairs of their own join rows to one without a class.
    ends = [(row, len(rows)) for row in data.draw(st.sets(st.integers(0, len(rows) - 1)))]
    told = told.scaled(weight) | Constraints(ends[::2], ends[1::2], must_link_weight=7.0)
    pairs = [(a, b, "must", 7.0) for a, b in ends[::2]]
    pairs += [(a, b, "cannot", 1.0) for a, b in ends[1::2]]
    for (a, u), (b, v) in combinations(zip(told.labels.rows, told.labels.codes, strict=True), 2):
        if a != b:
            pairs.append((a, b, "must" if u == v else "cannot", weight))
    clusters = [*labels[0], 0]
    assert_counted(constraint_satisfaction(told, clusters), pairs, clusters)


@pytest.mark.parametrize("own_weight", [2.0, math.inf])
def test_hard_labels_weigh_as_much_as_the_heaviest_soft_pair(own_weight: float) -> None:
    labels = Constraints.from_labels([0, 0, 1, -1]).scaled(math.inf)
    told = labels | Constraints(must_link=[(0, 3)], must_link_weight=own_weight)
    # Of the labels' three pairs the must-link and one cannot-link are broken.
    assert constraint_satisfaction(told, [0, 1, 1, 0]).overall == pytest.approx(2 / 4)
    soft = Constraints.from_labels([0, 0, 1, -1]).scaled(4.0)
    told = soft | Constraints(must_link=[(0, 3)], must_link_weight=own_weight)
    expected = 6 / 14 if own_weight == 2.0 else 8 / 16
    assert constraint_satisfaction(told, [0, 1, 1, 0]).overall == pytest.approx(expected)


def test_one_labelled_row_entails_nothing() -> None:
    labels = Constraints.from_labels([0, -1, -1])
    assert math.isnan(constraint_satisfaction(labels, [0, 1, 1]).overall)
    told = labels.scaled(1e300) | Constraints([(1, 2)], must_link_weight=1e-300)
    assert constraint_satisfaction(told, [0, 1, 1]).overall == 1.0


def test_labels_of_many_rows_entail_too_many_pairs_to_write_out() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    true = rng.integers(5, size=n)
    pred = np.where(rng.random(n) < 0.8, true, rng.integers(7, size=n))
    told = Constraints.from_labels(true)
    with pytest.raises(ValueError, match="pairs"):
        told.pairs()
    result = constraint_satisfaction(told, pred)
    assert result.n_must_link + result.n_cannot_link == math.comb(n, 2)
    assert result.must_link == pairwise_precision_recall(true, pred)[1]
    assert result.overall == pytest.approx(rand_score(true, pred), rel=1e-14)
    everything = constraint_satisfaction(told, true)
    assert everything.must_link == everything.cannot_link == everything.overall == 1.0


def test_hard_pairs_weigh_as_much_as_the_heaviest_soft_pair() -> None:
    labels = [0, 0, 1, 1]
    kept, broken = (0, 1, "must"), (0, 2, "must")
    hard_kept = Told([(*kept, math.inf), (*broken, 3.0), (1, 2, "cannot", 1.0)])
    assert constraint_satisfaction(hard_kept, labels).overall == pytest.approx(4 / 7)
    hard_broken = Told([(*kept, 3.0), (*broken, math.inf)])
    assert constraint_satisfaction(hard_broken, labels).overall == 0.5
    only_hard = Told([(*kept, math.inf), (*broken, math.inf), (1, 2, "cannot", math.inf)])
    assert constraint_satisfaction(only_hard, labels).overall == pytest.approx(2 / 3)


@law
@given(st.lists(st.one_of(st.floats(1e-300, 1e300), st.just(math.inf)), min_size=1, max_size=9))
def test_overall_is_one_only_if_all_is_kept(weights: list[float]) -> None:
    told = Told([(0, 1, "must", weight) for weight in weights])
    assert constraint_satisfaction(told, ["x", "x"]).overall == 1.0
    assert constraint_satisfaction(told, ["x", "y"]).overall == 0.0


def test_no_constraints() -> None:
    result = constraint_satisfaction(Told([]), [0, 1])
    assert result.n_must_link == result.n_cannot_link == 0
    assert math.isnan(result.must_link)
    assert math.isnan(result.cannot_link)
    assert math.isnan(result.overall)


# -- bad input -------------------------------------------------------------------------------------


@every_score
@pytest.mark.parametrize(
    ("true", "pred", "error", "message"),
    [
        ([0, 1], [0, 1, 1], ValueError, "labels_true has 2 labels and labels_pred has 3"),
        ([], [], ValueError, "labels_true is empty"),
        ([[0, 1]], [0, 1], ValueError, r"labels_true must be 1-D.*\(1, 2\)"),
        ([0, 1], [[0], [1]], ValueError, "labels_pred must be 1-D"),
        ([[0, 1], [2]], [0, 1], ValueError, "labels_true must be a flat sequence"),
        (3, [0, 1], ValueError, "labels_true must be 1-D"),
        ([0, math.nan], [0, 1], ValueError, "labels_true has missing labels"),
        ([0, 1], ["a", math.nan], ValueError, "labels_pred has missing labels"),
        ([0, 1], ["a", None], ValueError, "labels_pred has missing labels"),
        (pd.Series([1, None], dtype="Int64"), [0, 1], ValueError, "labels_true has missing"),
        (pd.Series(["a", None]), [0, 1], ValueError, "labels_true has missing"),
        (pl.Series(["a", None]), [0, 1], ValueError, "labels_true has missing"),
        (np.ma.array([0, 1], mask=[0, 1]), [0, 1], ValueError, "masked"),
        ([0, 1], [1j, 2j], TypeError, "labels_pred must be integers or strings"),
        ([0, 1], np.array([{}, {}], dtype=object), TypeError, "cannot be hashed"),
    ],
)
def test_bad_labels(
    score: Score, true: Any, pred: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        score(true, pred)


@every_score
@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"rows": [0, 3]}, ValueError, "rows mentions row 3, but the labels have rows 0 to 2"),
        ({"rows": [-1]}, ValueError, "rows mentions row -1"),
        ({"rows": [True, False]}, ValueError, "mask rows has length 2, but there are 3"),
        ({"rows": [0.5]}, TypeError, "rows must be positions or a boolean mask"),
        ({"rows": [[0]]}, ValueError, "rows must be 1-D"),
        ({"rows": []}, ValueError, "no rows are left"),
        ({"exclude": Told([(0, 1, "must", 1), (1, 2, "must", 1)])}, ValueError, "no rows are left"),
        ({"exclude": Told([(0, 7, "must", 1)])}, ValueError, "exclude mentions row 7"),
        ({"exclude": [0, 1]}, TypeError, "exclude must be Constraints; got list"),
    ],
)
def test_bad_rows(
    score: Score, choice: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        score([0, 1, 1], [0, 1, 0], **choice)


def test_bad_constraints() -> None:
    with pytest.raises(ValueError, match="constraints mention row 2, but the labels have rows 0"):
        constraint_satisfaction(Told([(0, 2, "must", 1.0)]), [0, 1])
    with pytest.raises(ValueError, match="constraints mention row 2, but the labels have rows 0"):
        constraint_satisfaction(Constraints.from_labels([0, 1, 1]), [0, 1])
    with pytest.raises(ValueError, match="labels has missing labels"):
        constraint_satisfaction(Told([(0, 1, "must", 1.0)]), [0.0, math.nan])
    with pytest.raises(ValueError, match='"must" or "cannot"'):
        constraint_satisfaction(Told([(0, 1, "maybe", 1.0)]), [0, 1])


def test_a_given_pair_that_labels_entail_too_counts_once():
    from linkfield import Constraints

    known = Constraints([(0, 1)], [(2, 3)], must_link_weight=5.0) | Constraints.from_labels(
        [0, 0, 1, 0, -1]
    )
    found = constraint_satisfaction(known, [0, 0, 0, 1, 1])
    table = known.pairs()
    labels = np.array([0, 0, 0, 1, 1])
    must = table["kind"] == "must"
    kept = (labels[table["a"]] == labels[table["b"]]) == must
    assert found.n_must_link == must.sum() and found.n_cannot_link == (~must).sum()
    assert found.must_link == kept[must].mean() and found.cannot_link == kept[~must].mean()
    assert found.overall == pytest.approx(table["weight"][kept].sum() / table["weight"].sum())
