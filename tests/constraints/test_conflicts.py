"""Contradictions: each with a shortest chain, and repaired at the least cost."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkfield.constraints import Constraints

INF = float("inf")


@st.composite
def told(draw, n=6, max_pairs=8, max_names=4, weights=(0.5, 1.0, 2.0)):
    """Constraints on few rows, so that contradictions are common."""
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1])
    pair = st.tuples(ends, st.sampled_from(["must", "must", "cannot"]))
    said = draw(st.dictionaries(pair, st.sampled_from(weights), max_size=max_pairs))
    must = {p: w for (p, kind), w in said.items() if kind == "must"}
    cannot = {p: w for (p, kind), w in said.items() if kind == "cannot"}
    c = Constraints(
        list(must),
        list(cannot),
        must_link_weight=list(must.values()),
        cannot_link_weight=list(cannot.values()),
    )
    names = st.lists(st.sampled_from([-1, 0, 1]), min_size=max_names, max_size=max_names)
    factor = draw(st.sampled_from(weights))
    labels = Constraints.from_labels(draw(names)) | Constraints.from_labels(draw(names))
    return c | labels.scaled(factor) if max_names else c


class Graph:
    """Rows and names as nodes: a name is tied to its rows, two names are apart."""

    def __init__(self, c: Constraints) -> None:
        table, labels = c.pairs(labels=False).tolist(), c.labels
        self.must = [((a, b), w) for a, b, kind, w in table if kind == "must"]
        self.cannot = [((a, b), w) for a, b, kind, w in table if kind == "cannot"]
        words = [f"label {v!r}" for v in labels.classes]
        self.ties = [
            ((r, words[k]), labels.weight)
            for r, k in zip(labels.rows.tolist(), labels.codes.tolist(), strict=True)
        ]
        self.differ = [((a, b), labels.weight) for i, a in enumerate(words) for b in words[i + 1 :]]

    @staticmethod
    def distance(edges, start, goal):
        """Number of must-links from start to goal, by breadth first; None if there is no way."""
        reached, queue = {start: 0}, deque([start])
        while queue:
            node = queue.popleft()
            for e in edges:
                if node in e:
                    other = e[0] if e[1] == node else e[1]
                    if other not in reached:
                        reached[other] = reached[node] + 1
                        queue.append(other)
        return reached.get(goal)

    def conflicts(self):
        """Every cannot-link inside a component, with the length of its shortest chain."""
        edges = [e for e, _ in self.must + self.ties]
        found = {(p, w): self.distance(edges, *p) for p, w in self.cannot + self.differ}
        return {key: n for key, n in found.items() if n is not None}


def consistent(must, cannot):
    return all(Graph.distance(must, a, b) is None for a, b in cannot)


# -- chains ----------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(told())
def test_every_conflict_has_a_shortest_chain(c):
    graph, conflicts = Graph(c), c.conflicts()
    links = {frozenset(e) for e, _ in graph.must + graph.ties}
    expected = graph.conflicts()
    assert sorted((str(x.cannot), x.weight) for x in conflicts) == sorted(
        (str(p), w) for p, w in expected
    )
    for x in conflicts:
        assert {x.chain[0], x.chain[-1]} == set(x.cannot)
        assert len(x.chain) - 1 == expected[x.cannot, x.weight]
        assert all(frozenset(step) in links for step in pairwise(x.chain))
    lengths = [len(x.chain) for x in conflicts]
    assert lengths == sorted(lengths)


@given(told())
def test_conflicts_lie_where_the_closure_finds_contradictions(c):
    assert bool(c.conflicts()) == bool(c.closure().contradictory.any())


def text(*args, **kwargs):
    return [str(x) for x in Constraints(*args, **kwargs).conflicts()]


def test_the_text_of_a_conflict():
    assert text([(3, 8), (12, 8)], [(12, 3)]) == ["3-8-12 must, 3-12 cannot"]


def test_a_pair_of_both_kinds():
    assert text([(0, 1)], [(1, 0)]) == ["0-1 must, 0-1 cannot"]


def test_the_shorter_of_two_chains_is_shown():
    must = [(3, 8), (8, 12), (3, 1), (1, 2), (2, 12)]
    assert text(must, [(3, 12)]) == ["3-8-12 must, 3-12 cannot"]


def test_shorter_conflicts_come_first():
    must = [(0, 1), (1, 2), (2, 3)]
    assert text(must, [(0, 3), (0, 2), (0, 1)]) == [
        "0-1 must, 0-1 cannot",
        "0-1-2 must, 0-2 cannot",
        "0-1-2-3 must, 0-3 cannot",
    ]


def test_a_conflict_by_id():
    must, cannot = [("ann", "bob"), ("bob", "cy")], [("cy", "ann")]
    ids = ["cy", "dan", "bob", "ann"]
    assert text(must, cannot, sample_id=ids) == ["cy-bob-ann must, cy-ann cannot"]


def test_a_conflict_through_a_common_label():
    c = Constraints.from_labels(["x", "x", "y"]) | Constraints(cannot_link=[(0, 1)])
    (conflict,) = c.conflicts()
    assert conflict.chain == (0, "label 'x'", 1)
    assert str(conflict) == "0-label 'x'-1 must, 0-1 cannot"


def test_a_conflict_between_labels():
    ids = ["ann", "bob", "cy"]
    c = Constraints([("ann", "cy")], must_link_weight=3.0, sample_id=ids)
    c |= Constraints.from_labels(["x", "x", "y"], sample_id=ids)
    (conflict,) = c.conflicts()
    assert str(conflict) == "label 'x'-ann-cy-label 'y' must, label 'x'-label 'y' cannot"
    assert conflict.weight == 1.0


def test_a_row_with_two_labels_is_a_conflict():
    c = Constraints.from_labels(["x"]) | Constraints.from_labels(["y"])
    assert [str(x) for x in c.conflicts()] == [
        "label 'x'-0-label 'y' must, label 'x'-label 'y' cannot"
    ]


def test_a_conflict_has_the_weight_of_its_cannot_link():
    (conflict,) = Constraints([(0, 1)], [(0, 1)], cannot_link_weight=2.5).conflicts()
    assert conflict.weight == 2.5


def test_consistent_constraints_have_no_conflicts():
    assert Constraints().conflicts() == []
    assert Constraints([(0, 1)], [(1, 2)]).conflicts() == []
    assert Constraints.from_labels([0, 0, 1]).conflicts() == []


# -- repair ----------------------------------------------------------------------------------------


def rank(weights):
    """How bad a repair is: hard pairs first, then the total weight of the others."""
    return sum(map(math.isinf, weights)), sum(w for w in weights if math.isfinite(w))


def cheapest(graph):
    """The least cost over all subsets of pairs and labels; that names differ is not in doubt."""
    items = [*graph.must, *graph.ties, *graph.cannot]
    n_must = len(graph.must) + len(graph.ties)
    best = (math.inf, math.inf)
    for drop in product([False, True], repeat=len(items)):
        cost = rank([w for (_, w), d in zip(items, drop, strict=True) if d])
        if cost >= best:
            continue
        kept = [(k, e) for k, (e, _) in enumerate(items) if not drop[k]]
        must = [e for k, e in kept if k < n_must]
        cannot = [e for k, e in kept if k >= n_must] + [e for e, _ in graph.differ]
        if consistent(must, cannot):
            best = cost
    return best


def dropped_weights(repaired):
    labels = repaired.dropped.labels
    pairs = repaired.dropped.pairs(labels=False)["weight"].tolist()
    return [*pairs, *[labels.weight] * len(labels.rows)]


def entries(c):
    """Pairs and labels, as a set."""
    labels = c.labels
    codes = zip(labels.rows.tolist(), labels.codes.tolist(), strict=True)
    return {*c.pairs(labels=False).tolist()} | {(r, labels.classes[k]) for r, k in codes}


small = told(n=5, max_pairs=6, max_names=2, weights=(0.5, 1.0, 2.0, INF))


@settings(max_examples=60)
@given(small)
def test_a_repair_is_consistent_and_the_cheapest(c):
    repaired = c.repair()
    weights = dropped_weights(repaired)
    assert repaired.proven
    assert repaired.constraints.conflicts() == []
    assert rank(weights) == pytest.approx(cheapest(Graph(c)))
    assert repaired.cost == pytest.approx(sum(weights))


@given(told())
def test_a_repair_splits_the_constraints_in_two(c):
    repaired = c.repair()
    kept, dropped = entries(repaired.constraints), entries(repaired.dropped)
    assert kept | dropped == entries(c) and not kept & dropped
    assert repaired.constraints.conflicts() == []
    assert (repaired.cost == 0) == (not dropped) == (not c.conflicts())


@given(told())
def test_a_repaired_set_needs_no_repair(c):
    once = c.repair().constraints
    again = once.repair()
    assert again.constraints == once and again.cost == 0 and again.proven


def test_the_weaker_side_goes():
    must, cannot = [(0, 1), (1, 2)], [(0, 2)]
    repaired = Constraints(
        must, cannot, must_link_weight=[2.0, 1.0], cannot_link_weight=3.0
    ).repair()
    assert repaired.dropped == Constraints([(1, 2)]) and repaired.cost == 1.0
    repaired = Constraints(must, cannot, cannot_link_weight=0.5).repair()
    assert repaired.dropped.pairs().tolist() == [(0, 2, "cannot", 0.5)]
    assert repaired.constraints == Constraints(must)


def test_a_label_can_be_dropped():
    labels = Constraints.from_labels(["x", "x", "y", "y"])
    c = labels | Constraints([(1, 2), (1, 3)], must_link_weight=5.0)
    repaired = c.repair()
    assert repaired.cost == 1.0
    assert entries(repaired.dropped) == {(1, "x")}
    assert repaired.constraints.labels.rows.tolist() == [0, 2, 3]


def test_a_class_that_lost_its_last_row_is_gone():
    c = Constraints.from_labels(["x", "y", "y"]) | Constraints(
        [(0, 1), (0, 2)], must_link_weight=3.0
    )
    repaired = c.repair()
    assert repaired.constraints.labels.classes == ("y",)
    assert entries(repaired.dropped) == {(0, "x")}


def test_hard_pairs_are_kept_if_any_way_is_left():
    c = Constraints(
        [(0, 1), (1, 2)], [(0, 2)], must_link_weight=[100.0, INF], cannot_link_weight=INF
    )
    repaired = c.repair()
    assert repaired.dropped == Constraints([(0, 1)], must_link_weight=100.0)
    assert repaired.cost == 100.0


def test_hard_labels_are_kept_if_any_way_is_left():
    c = Constraints.from_labels(["x", "y"]).scaled(INF) | Constraints(
        [(0, 1)], must_link_weight=9.0
    )
    repaired = c.repair()
    assert repaired.dropped.pairs().tolist() == [(0, 1, "must", 9.0)]
    assert repaired.constraints.labels.rows.tolist() == [0, 1]


def test_hard_contradictions_cost_infinity():
    repaired = Constraints(
        [(0, 1)], [(0, 1)], must_link_weight=INF, cannot_link_weight=INF
    ).repair()
    assert repaired.cost == INF and repaired.constraints.conflicts() == []
    assert len(repaired.dropped.pairs()) == 1


def test_a_repair_keeps_ids_and_sources():
    c = Constraints([("a", "b")], [("a", "b")], cannot_link_weight=2.0, sample_id=["b", "a"])
    c = c._with(source=np.array(["ann", "bob"], dtype=object))
    repaired = c.repair()
    assert repaired.constraints._source.tolist() == ["bob"]
    assert repaired.dropped._source.tolist() == ["ann"]
    assert repaired.constraints.sample_id.tolist() == ["b", "a"]


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match=r"strategy must be 'cheapest', got 'random'"):
        Constraints().repair("random")
