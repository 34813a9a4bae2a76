"""Which given constraints a clustering breaks: all of them, or representatives of too many."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkfield.constraints import Constraints, violated_pairs

N = 10
clusters = st.lists(st.integers(0, 3), min_size=N, max_size=N).map(np.array)
partial = st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=N, max_size=N)
row = st.integers(0, N - 1)
pairs = st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), max_size=10)


@st.composite
def pairs_told(draw):
    must, cannot = draw(pairs), draw(pairs)
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, float("inf")]), min_size=20, max_size=20))
    return Constraints(
        must,
        cannot,
        must_link_weight=weight[: len(must)],
        cannot_link_weight=weight[10 : 10 + len(cannot)],
    )


def broken(constraints, labels):
    """The violated pairs, looked at one by one."""
    return sorted(
        (a, b, kind, w)
        for a, b, kind, w in constraints.pairs().tolist()
        if (labels[a] == labels[b]) != (kind == "must")
    )


@given(pairs_told(), partial, clusters)
def test_violated_pairs_are_found_one_by_one(c, y, labels):
    c = c | Constraints.from_labels(y)
    assert sorted(violated_pairs(c, labels).tolist()) == broken(c, labels)


@given(partial, st.permutations(range(4)), clusters)
def test_numbers_of_clusters_do_not_matter(y, names, labels):
    c = Constraints.from_labels(y)
    renamed = np.array(names)[labels]
    one, two = (sorted(violated_pairs(c, x).tolist()) for x in (labels, renamed))
    assert one == two


@given(partial)
def test_the_classes_themselves_break_nothing(y):
    assert len(violated_pairs(Constraints.from_labels(y), np.array(y))) == 0


def test_nothing_told_nothing_broken():
    assert len(violated_pairs(Constraints(), np.zeros(3, dtype=int))) == 0
    assert len(violated_pairs(Constraints(), np.zeros(0, dtype=int))) == 0


def test_a_pair_of_both_kinds_is_broken_either_way():
    c = Constraints([(0, 1)], [(0, 1)])
    assert [len(violated_pairs(c, np.array(x))) for x in ([0, 0], [0, 1])] == [1, 1]


# -- too many to list ------------------------------------------------------------------------------


def mains(y, labels):
    """The cluster that holds most rows of each class; the first such."""
    found = {}
    for x in sorted(set(y) - {-1}):
        inside = [labels[r] for r in range(N) if y[r] == x]
        found[x] = min(set(inside), key=lambda h: (-inside.count(h), h))
    return found


@settings(max_examples=100)
@given(partial, clusters)
def test_representatives_are_violations_and_stand_for_all(y, labels):
    c = Constraints.from_labels(y)
    table = violated_pairs(c, labels, budget=0).tolist()
    every = {(a, b, kind) for a, b, kind, _ in broken(c, labels)}
    shown = [(min(a, b), max(a, b), kind) for a, b, kind, _ in table]
    assert set(shown) <= every and len(set(shown)) == len(shown)
    assert bool(shown) == bool(every)
    assert {w for *_, w in table} <= {1.0}
    main = mains(y, labels)
    # Every row outside its class's main cluster is shown once, with a row inside it.
    outside = {r for r in range(N) if y[r] != -1 and labels[r] != main[y[r]]}
    shown_out = [{a, b} & outside for a, b, kind in shown if kind == "must"]
    assert all(len(s) == 1 for s in shown_out)
    assert sorted(r for s in shown_out for r in s) == sorted(outside)
    # Classes that share a main cluster are joined by the cannot-links that are shown.
    joined = {x: {x} for x in main}
    for a, b, kind in shown:
        if kind == "cannot":
            union = joined[y[a]] | joined[y[b]]
            joined |= dict.fromkeys(union, union)
    for x, z in combinations(main, 2):
        assert (z in joined[x]) == (main[x] == main[z])


@given(pairs_told(), partial, clusters)
def test_given_pairs_are_listed_whatever_the_budget(c, y, labels):
    both = c | Constraints.from_labels(y)
    table = violated_pairs(both, labels, budget=0)
    assert set(broken(c, labels)) <= set(table.tolist())


@given(partial, clusters)
def test_a_budget_that_suffices_lists_all(y, labels):
    c = Constraints.from_labels(y)
    n = len(broken(c, labels))
    assert sorted(violated_pairs(c, labels, budget=n).tolist()) == broken(c, labels)


@pytest.mark.parametrize("budget", [0, 100])
def test_pairs_are_in_normal_form_whatever_the_budget(budget):
    # Row 2 is outside the main cluster of its class, whose first row, 0, stands before it.
    table = violated_pairs(Constraints.from_labels([0, 0, 0]), np.array([1, 1, 0]), budget=budget)
    assert (table["a"] < table["b"]).all()


@pytest.mark.parametrize("budget", [0, 100])
def test_a_row_is_never_at_odds_with_itself(budget):
    # Row 0 has two labels and leads both classes, which share their main cluster.
    c = Constraints.from_labels([0, 0, 0]) | Constraints.from_labels([1, -1, -1, 1])
    table = violated_pairs(c, np.zeros(4, dtype=int), budget=budget)
    assert (table["a"] != table["b"]).all()


def test_many_labels_are_quick_to_list():
    y = np.arange(20_000) % 10
    labels = y.copy()
    labels[:50] = (labels[:50] + 1) % 10
    table = violated_pairs(Constraints.from_labels(y), labels)
    assert len(table) == 50 and set(table["kind"].tolist()) == {"must"}
    assert sorted(set(table["a"].tolist()) | set(table["b"].tolist()))[:50] == list(range(50))
    labels[3:] = y[3:]  # three rows: all that they break
    table = violated_pairs(Constraints.from_labels(y), labels)
    # Each is apart from the 1,999 others of its class and beside the 2,000 of the next, but for
    # the neighbour that has moved on as well.
    assert len(table) == 3 * (1_999 + 2_000) - 2 and len(np.unique(table)) == len(table)


def test_the_weight_of_labels_is_shown():
    c = Constraints.from_labels([0, 0]).scaled(4.0)
    for budget in (0, 10):
        assert violated_pairs(c, np.array([0, 1]), budget)["weight"].tolist() == [4.0]
