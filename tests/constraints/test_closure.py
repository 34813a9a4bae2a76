"""What constraints entail, against reachability by brute force; and at scale."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkfield.constraints import Constraints
from linkfield.constraints.closure import between, must_components, within

N = 8


@dataclass
class Told:
    """What was said, in plain lists: pairs with their weights, and who was called what."""

    pairs: dict[tuple[int, int, str], float]
    names: list[tuple[int, int]]

    @classmethod
    def draw(cls, draw, n=N, max_pairs=6):
        ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] < p[1])
        pair = st.tuples(ends, st.sampled_from(["must", "cannot"]))
        weight = st.sampled_from([0.5, 1.0, 2.0])
        said = draw(st.dictionaries(pair, weight, max_size=max_pairs))
        name = st.tuples(st.integers(0, n - 1), st.integers(0, 2))
        names = draw(st.lists(name, unique=True, max_size=4))
        return cls({(*p, kind): w for (p, kind), w in said.items()}, sorted(names))

    @property
    def constraints(self):
        c = Constraints()
        for kind in ("must", "cannot"):
            some = {(a, b): w for (a, b, k), w in self.pairs.items() if k == kind}
            links = {f"{kind}_link": list(some), f"{kind}_link_weight": list(some.values())}
            c |= Constraints(**links)
        for r, name in self.names:
            c |= Constraints.from_labels([*[-1] * r, name])
        return c

    @property
    def by_labels(self):
        """The pairs that labels say, those of a row with itself included."""
        return {
            (min(r, s), max(r, s), "must" if x == y else "cannot")
            for (r, x), (s, y) in combinations(self.names, 2)
        }


class Entailed:
    """The augmented set, by Floyd and Warshall on the must-links."""

    def __init__(self, told: Told) -> None:
        said = {*told.pairs, *told.by_labels}
        self.rows = sorted({r for a, b, _ in said for r in (a, b)} | {r for r, _ in told.names})
        reach = {(i, j): i == j for i, j in product(self.rows, repeat=2)}
        for a, b, kind in said:
            if kind == "must":
                reach[a, b] = reach[b, a] = True
        for k, i, j in product(self.rows, repeat=3):
            reach[i, j] = reach[i, j] or (reach[i, k] and reach[k, j])
        self.component = {i: frozenset(j for j in self.rows if reach[i, j]) for i in self.rows}
        self.components = set(self.component.values())
        ends = [(self.component[a], self.component[b]) for a, b, k in said if k == "cannot"]
        self.contradictory = {p for p, q in ends if p == q}
        self.apart = {frozenset((p, q)) for p, q in ends if p != q}
        trusted = self.components - self.contradictory
        keys = self.keys(trusted, {e for e in self.apart if e <= trusted})
        keys |= {key for key in told.by_labels if key[0] != key[1]}
        self.pairs = dict.fromkeys(keys, 1.0)
        self.pairs |= told.pairs  # a given pair keeps its weight

    @staticmethod
    def keys(components, apart):
        """Every pair inside components and between those that are apart."""
        must = {(*p, "must") for c in components for p in combinations(sorted(c), 2)}
        cannot = {
            (min(i, j), max(i, j), "cannot") for p, q in map(tuple, apart) for i, j in product(p, q)
        }
        return must | cannot


told = st.composite(Told.draw)()


def partition(closure):
    members = [frozenset(closure.members(k).tolist()) for k in range(closure.n_components)]
    assert sorted(r for m in members for r in m) == closure.rows.tolist()
    return members


@settings(max_examples=150)
@given(told)
def test_components_apartness_and_contradictions(said):
    closure, expected = said.constraints.closure(), Entailed(said)
    members = partition(closure)
    assert closure.rows.tolist() == expected.rows
    assert set(members) == expected.components and len(members) == len(expected.components)
    assert {frozenset((members[p], members[q])) for p, q in closure.apart} == expected.apart
    assert len(closure.apart) == len(expected.apart)
    assert {members[k] for k in np.flatnonzero(closure.contradictory)} == expected.contradictory
    assert closure.sizes.tolist() == [len(m) for m in members]
    # Components are numbered by their first row.
    assert [min(m) for m in members] == sorted(min(m) for m in members)
    for name, component in zip(
        said.constraints.labels.classes, closure.class_component, strict=True
    ):
        assert {r for r, x in said.names if x == name} <= members[component]


@settings(max_examples=150)
@given(told)
def test_counts_are_those_of_the_augmented_set(said):
    closure, expected = said.constraints.closure(), Entailed(said)
    keys = expected.keys(expected.components, expected.apart)
    assert closure.n_must_link == sum(kind == "must" for *_, kind in keys)
    assert closure.n_cannot_link == sum(kind == "cannot" for *_, kind in keys)


@settings(max_examples=200)
@given(told)
def test_the_augmented_set_is_that_of_brute_force(said):
    out = said.constraints.closure().pairs()
    found = {(a, b, kind): w for a, b, kind, w in out.pairs().tolist()}
    assert found == Entailed(said).pairs
    assert len(out.labels.rows) == 0


@given(told)
def test_what_is_closed_is_closed(said):
    once = said.constraints.closure().pairs()
    assert once.closure().pairs() == once


@given(told)
def test_nothing_that_was_given_is_lost(said):
    out = said.constraints.closure().pairs().pairs().tolist()
    assert said.pairs.items() <= {(a, b, kind): w for a, b, kind, w in out}.items()


@given(told)
def test_the_graph_is_symmetric_and_holds_the_edges(said):
    closure = said.constraints.closure()
    dense = closure.graph.toarray()
    assert (dense == dense.T).all() and not dense.diagonal().any()
    edges = [tuple(e) for e in closure.apart.tolist()]
    assert sorted(edges) == [tuple(e) for e in np.argwhere(np.triu(dense)).tolist()]


@settings(max_examples=150)
@given(told)
def test_neighbourhoods_are_the_larger_components_and_those_of_labels(said):
    found = [frozenset(m.tolist()) for m in said.constraints.neighbourhoods()]
    labelled = {r for r, _ in said.names}
    expected = {c for c in Entailed(said).components if len(c) > 1 or c & labelled}
    assert set(found) == expected and len(found) == len(expected)
    assert [len(c) for c in found] == sorted((len(c) for c in found), reverse=True)


def test_a_contradictory_component_entails_nothing():
    c = Constraints([(0, 1), (1, 2), (5, 6), (6, 7)], [(0, 2), (2, 5)], must_link_weight=2.0)
    table = c.closure().pairs().pairs().tolist()
    assert [p[:3] for p in table] == [
        (0, 1, "must"),
        (1, 2, "must"),
        (5, 6, "must"),
        (5, 7, "must"),
        (6, 7, "must"),
        (0, 2, "cannot"),
        (2, 5, "cannot"),
    ]
    assert [w for *_, w in table] == [2.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0]


def test_ids_go_through_the_closure():
    c = Constraints([("a", "b"), ("b", "c")], sample_id=["c", "b", "a", "z"])
    out = c.closure().pairs()
    assert out.sample_id.tolist() == ["c", "b", "a", "z"]
    assert out.pairs().tolist() == [(i, j, "must", 1.0) for i, j in combinations(range(3), 2)]


def test_sources_of_given_pairs_go_through_the_closure():
    c = Constraints([(0, 1), (1, 2)])
    c = c._with(source=np.array(["ann", "bob"], dtype=object))
    assert c.closure().pairs()._source.tolist() == ["ann", None, "bob"]


def test_nothing_entails_nothing():
    closure = Constraints().closure()
    assert closure.n_components == closure.n_must_link == closure.n_cannot_link == 0
    assert closure.pairs() == Constraints() and Constraints().neighbourhoods() == []
    assert closure.clusters_suffice(1) == ("feasible", None)


# -- blocks ----------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.data())
def test_pairs_within_and_between_sets(sizes, data):
    starts = np.r_[0, np.cumsum(sizes)]
    order = np.array(data.draw(st.permutations(range(int(starts[-1])))), dtype=np.int64)
    sets = [order[starts[k] : starts[k + 1]].tolist() for k in range(len(sizes))]
    some = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True))
    inside = within(order, starts, np.array(some, dtype=np.int64))
    expected = [tuple(sorted(p)) for k in some for p in combinations(sets[k], 2)]
    assert sorted(tuple(sorted(p)) for p in inside.tolist()) == sorted(expected)
    edges = data.draw(st.lists(st.permutations(range(len(sizes))).map(lambda p: p[:2]), max_size=4))
    edges = [e for e in edges if len(e) == 2]
    across = between(order, starts, np.array(edges, dtype=np.int64).reshape(-1, 2))
    expected = [p for a, b in edges for p in product(sets[a], sets[b])]
    assert sorted(map(tuple, across.tolist())) == sorted(expected)


# -- scale -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3_000, 1_000_000])
def test_a_long_chain_is_one_component(n):
    order = np.random.default_rng(0).permutation(n)
    chain = np.column_stack([order[:-1], order[1:]])
    closure = Constraints(chain, [(int(order[0]), n)]).closure()
    assert closure.n_components == 2 and closure.sizes.tolist() == [n, 1]
    assert closure.n_must_link == n * (n - 1) // 2
    assert closure.n_cannot_link == n
    assert not closure.contradictory.any()


def test_a_long_chain_with_a_cannot_link_is_explained():
    n = 3_000
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    (conflict,) = Constraints(chain, [(0, n - 1)]).conflicts()
    assert conflict.chain == tuple(range(n))


def test_components_are_numbered_by_their_first_node():
    assert must_components(6, np.array([[4, 1], [5, 0]])).tolist() == [0, 1, 2, 3, 1, 0]
    assert must_components(3, np.empty((0, 2), dtype=np.int64)).tolist() == [0, 1, 2]


def test_labels_close_in_linear_memory():
    y = np.arange(10_000) % 20
    tracemalloc.start()
    try:
        c = Constraints.from_labels(y) | Constraints([(0, 10_000)], [(10_001, 1)])
        closure = c.closure()
        n_pairs = closure.n_must_link + closure.n_cannot_link
        neighbourhoods = closure.neighbourhoods()
        status = closure.clusters_suffice(20)
        conflicts = c.conflicts()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Row 10,000 joins a class of 500; row 10,001 is apart from another one.
    assert n_pairs == 10_001 * 10_000 // 2 + 500
    assert len(neighbourhoods) == 20 and status[0] == "feasible" and conflicts == []
    assert peak < 50e6


def test_too_many_pairs_are_not_written_out():
    closure = Constraints.from_labels(np.zeros(4_000, dtype=int)).closure()
    with pytest.raises(ValueError, match=r"the closure has 7,998,000 pairs, more than the 5,000,0"):
        closure.pairs()
    with pytest.raises(ValueError, match=r"the closure has 3 pairs, more than the 2 that are"):
        Constraints([(0, 1), (1, 2)]).closure().pairs(max_pairs=2)


def test_pairs_that_are_not_entailed_do_not_count_against_the_budget():
    chain = [(i, i + 1) for i in range(9)]
    c = Constraints(chain, [(0, 9)])
    assert c.closure().pairs(max_pairs=10) == c


def test_too_many_classes_are_refused():
    with pytest.raises(
        ValueError, match=r"4000 different classes in the labels put apart 7,998,000"
    ):
        Constraints.from_labels(np.arange(4_000)).closure()


# -- do K clusters suffice? ------------------------------------------------------------------------


def colourable(n_vertices, edges, n_colours):
    return any(
        all(c[a] != c[b] for a, b in edges) for c in product(range(n_colours), repeat=n_vertices)
    )


@settings(max_examples=100)
@given(told, st.integers(1, 4))
def test_clusters_suffice_never_lies(said, n_clusters):
    closure = said.constraints.closure()
    status, core = closure.clusters_suffice(n_clusters)
    edges = {tuple(e) for e in closure.apart.tolist()}
    if closure.contradictory.any():
        return  # see below
    possible = colourable(closure.n_components, edges, n_clusters)
    if status == "infeasible":
        assert not possible and len(core) > n_clusters
        assert all((min(p), max(p)) in edges for p in combinations(core.tolist(), 2))
    else:
        assert core is None
        assert status == "unknown" or possible


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 5])
def test_classes_need_a_cluster_each(n_clusters):
    closure = Constraints.from_labels([0, 1, 2, 3, 0, 1]).closure()
    status, core = closure.clusters_suffice(n_clusters)
    assert status == ("feasible" if n_clusters >= 4 else "infeasible")
    assert core is None or sorted(core.tolist()) == [0, 1, 2, 3]


def test_must_links_can_make_a_clique():
    # A path of five rows needs two clusters; joined at its ends it is a ring of four, then a
    # triangle with one more must-link.
    path = [(0, 1), (1, 2), (2, 3), (3, 4)]
    assert Constraints([], path).closure().clusters_suffice(2)[0] == "feasible"
    assert Constraints([(0, 4)], path).closure().clusters_suffice(2)[0] == "feasible"
    assert Constraints([(0, 3)], path).closure().clusters_suffice(2)[0] == "infeasible"


def test_an_odd_ring_is_not_called_feasible():
    ring = [(i, (i + 1) % 5) for i in range(5)]
    closure = Constraints([], ring).closure()
    assert closure.clusters_suffice(2)[0] in ("unknown", "infeasible")
    assert closure.clusters_suffice(3)[0] == "feasible"


def test_no_number_of_clusters_suffices_for_a_contradiction():
    closure = Constraints([(0, 1), (1, 2)], [(0, 2)]).closure()
    assert closure.clusters_suffice(5)[0] == "infeasible"
