"""Ties: pairs and tables together hold every entailed pair exactly once, at its weight."""

from __future__ import annotations

import contextlib
import tracemalloc
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from linkfield.constraints import Constraints, tie
from linkfield.constraints import ties as module
from linkfield.exceptions import ConstraintWarning, ContradictionError

INF = float("inf")
N = 8
Key = tuple[int, int, str]

# -- what ties should say, by brute force ----------------------------------------------------------


@dataclass
class Told:
    """What was said, in plain lists: pairs with their weights, and who was called what."""

    pairs: dict[Key, float]
    names: list[tuple[int, int]]

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
    def rows(self):
        return sorted({r for a, b, _ in self.pairs for r in (a, b)} | {r for r, _ in self.names})

    def called(self, single):
        """The pairs that labels say; with ``single``, without the rows that have two names."""
        times = Counter(r for r, _ in self.names)
        names = [(r, x) for r, x in self.names if times[r] == 1 or not single]
        return {
            (min(r, s), max(r, s), "must" if x == y else "cannot")
            for (r, x), (s, y) in combinations(names, 2)
        }


@st.composite
def told(draw, weights=(0.5, 1.0, 2.0, INF)):
    ends = st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)).filter(lambda p: p[0] < p[1])
    pair = st.tuples(ends, st.sampled_from(["must", "must", "cannot"]))
    said = draw(st.dictionaries(pair, st.sampled_from(weights), max_size=8))
    name = st.tuples(st.integers(0, N - 1), st.integers(0, 2))
    names = draw(st.lists(name, unique=True, max_size=6))
    return Told({(*p, kind): w for (p, kind), w in said.items()}, sorted(names))


def components(rows, must):
    """The sets of rows that must-links join, found by joining them one by one."""
    found = {r: {r} for r in rows}
    for a, b in must:
        if found[a] is not found[b]:
            union = found[a] | found[b]
            for r in union:
                found[r] = union
    return {r: frozenset(c) for r, c in found.items()}


class Expected:
    """The pairs, by the rules: a given pair keeps its weight, an entailed one has ``weight``."""

    def __init__(self, said: Told, closure, weight: float) -> None:
        links = {*said.pairs, *said.called(single=False)}
        component = components(said.rows, [(a, b) for a, b, kind in links if kind == "must"])
        ends = {(component[a], component[b]) for a, b, kind in links if kind == "cannot"}
        self.contradictory = {p for p, q in ends if p == q}
        trusted = {c for c in component.values() if c not in self.contradictory}
        entailed = said.called(single=True)
        if closure is not False:
            entailed |= {(*p, "must") for c in trusted for p in combinations(sorted(c), 2)}
            entailed |= {
                (min(i, j), max(i, j), "cannot")
                for p, q in ends
                if {p, q} <= trusted
                for i, j in product(p, q)
            }
            entailed |= self._across(said, trusted)
        self.pairs = dict.fromkeys(entailed, weight) | {
            k: w * weight for k, w in said.pairs.items()
        }
        hard = [(a, b) for (a, b, kind), w in said.pairs.items() if kind == "must" and w == INF]
        self.node = components(said.rows, hard)
        self.impossible = any(
            kind == "cannot" and w == INF and self.node[a] == self.node[b]
            for (a, b, kind), w in said.pairs.items()
        )

    def _across(self, said, trusted):
        """What labels say between a trusted component and rows in a contradiction.

        It holds for the whole trusted component, as its must-links are not in doubt.
        """
        times = Counter(r for r, _ in said.names)
        single = {r: x for r, x in said.names if times[r] == 1}
        doubtful = {r: x for r, x in single.items() if any(r in c for c in self.contradictory)}
        return {
            (min(i, j), max(i, j), "cannot")
            for c in trusted
            for x in {single[r] for r in c if r in single}
            for j, y in doubtful.items()
            if x != y
            for i in c
        }


# -- what ties do say ------------------------------------------------------------------------------


def represented(ties):
    """Every pair that ties hold, written out and summed up, by the rows of the data."""
    rows = ties.rows.tolist()
    total: Counter[Key] = Counter()

    def add(i, j, must, w):
        total[min(rows[i], rows[j]), max(rows[i], rows[j]), "must" if must else "cannot"] += w

    for (i, j), must, w in zip(
        ties.pairs.tolist(), ties.must.tolist(), ties.weight.tolist(), strict=True
    ):
        add(i, j, must, w)
    members = [np.flatnonzero(ties.block == k).tolist() for k in range(ties.n_blocks)]
    for block in members:
        for i, j in combinations(block, 2):
            add(i, j, True, ties.entailed_weight)
    for p, q in ties.block_pairs.tolist():
        for i, j in product(members[p], members[q]):
            add(i, j, False, ties.entailed_weight)
    for i, q in ties.row_blocks.tolist():
        assert ties.block[i] == -1
        for j in members[q]:
            add(i, j, False, ties.entailed_weight)
    return {key: w for key, w in total.items() if w != 0.0}


def nodes(ties):
    """The sets of data rows that are one node."""
    assert set(ties.node.tolist()) == set(range(ties.n_nodes))
    return {frozenset(ties.rows[ties.node == k].tolist()) for k in range(ties.n_nodes)}


@contextlib.contextmanager
def forced(choice):
    """Make tables of the blocks that ``choice`` picks, however small."""

    def pick(blocks, n_clusters):
        return np.array([k for k in range(len(blocks.sizes)) if choice[k % len(choice)]], dtype=int)

    with (
        mock.patch.object(module, "_table_blocks", pick),
        mock.patch.object(module, "WRITE_OUT", (0, -1)),
    ):
        yield


def assert_nodes_fit_tables(ties):
    """A node lies in one table or in none, and is apart from a table as a whole or not at all."""
    apart = [set() for _ in range(ties.n_rows)]
    for i, q in ties.row_blocks.tolist():
        apart[i].add(q)
    for k in range(ties.n_nodes):
        rows = np.flatnonzero(ties.node == k)
        assert len(set(ties.block[rows].tolist())) == 1
        assert len({frozenset(apart[i]) for i in rows}) == 1


@contextlib.contextmanager
def warned(expected):
    """Demand the warning about contradictions, or its absence."""
    if expected:
        with pytest.warns(ConstraintWarning, match="contradict each other"):
            yield
    else:
        yield


closures = st.sampled_from(["auto", False])
factors = st.sampled_from([0.5, 1.0, 4.0])
choices = st.sampled_from([[True], [True, False], [False, True], [True, True, False]])


# -- the law ---------------------------------------------------------------------------------------


@settings(max_examples=400)
@given(told(), closures, factors, choices)
def test_ties_hold_every_pair_once_at_its_weight(said, closure, factor, choice):
    expected = Expected(said, closure, factor)
    c = said.constraints
    if expected.impossible:
        with pytest.raises(ContradictionError, match="hard constraints contradict"):
            tie(c, closure=closure)
        return
    with warned(closure == "auto" and expected.contradictory), forced(choice):
        ties = tie(c, closure=closure, constraint_weight=factor)
    assert represented(ties) == expected.pairs
    assert nodes(ties) == set(expected.node.values())
    assert ties.rows.tolist() == said.rows
    assert_nodes_fit_tables(ties)
    if all(choice) and ties.n_nodes == ties.n_rows:
        assert (ties.block >= 0).all() and len(ties.row_blocks) == 0
    keys = [(*p, m) for p, m in zip(ties.pairs.tolist(), ties.must.tolist(), strict=True)]
    assert len(set(keys)) == len(keys) and all(i < j for i, j, _ in keys)


@settings(max_examples=100)
@given(told(weights=(0.5, 1.0, 2.0)), closures, st.booleans())
def test_few_pairs_or_a_penalty_without_tables_are_written_out(said, closure, few):
    expected = Expected(said, closure, 1.0)
    forcing = contextlib.nullcontext() if few else forced([True])
    with warned(closure == "auto" and expected.contradictory), forcing:
        ties = tie(said.constraints, closure=closure, tables=few)
    assert ties.n_blocks == len(ties.block_pairs) == len(ties.row_blocks) == 0
    assert represented(ties) == expected.pairs


@settings(max_examples=100)
@given(told())
def test_closure_true_is_auto_where_nothing_contradicts(said):
    expected, c = Expected(said, True, 1.0), said.constraints
    if expected.contradictory or expected.impossible:
        with pytest.raises(ContradictionError):
            tie(c, closure=True)
    else:
        assert represented(tie(c, closure=True)) == represented(tie(c)) == expected.pairs


@pytest.mark.parametrize("closure", ["auto", False])
@pytest.mark.parametrize("tables", [True, False])
def test_labels_tie_at_their_own_weight(closure, tables):
    c = Constraints.from_labels([0, 0, 1]).scaled(3.0)
    with forced([True]):
        ties = tie(c, closure=closure, tables=tables, constraint_weight=2.0)
    assert set(represented(ties).values()) == {6.0}


def test_large_blocks_become_tables_unasked():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.8, rng.integers(0, 3, 300), -1)
    names = [(r, int(x)) for r, x in enumerate(y) if x >= 0]
    pairs: dict[Key, float] = {}
    for _ in range(60):  # consistent: only rows without a label, or what labels entail anyway
        a, b = sorted(rng.choice(300, 2, replace=False).tolist())
        same = y[a] == y[b] if min(y[a], y[b]) >= 0 else min(y[a], y[b]) == max(y[a], y[b])
        if (y[a] < 0) == (y[b] < 0):
            pairs[a, b, "must" if same else "cannot"] = float(rng.integers(1, 4))
    said = Told(pairs, names)
    ties = tie(said.constraints)
    assert ties.n_blocks >= 3 and len(ties.pairs) < 1_000
    assert represented(ties) == Expected(said, "auto", 1.0).pairs


def test_labels_tie_in_linear_memory():
    c = Constraints.from_labels(np.arange(10_000) % 20)
    tracemalloc.start()
    try:
        ties = tie(c)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert ties.n_blocks == 20 and len(ties.block_pairs) == 190 and len(ties.pairs) == 0
    assert peak < 50e6


def test_nothing_ties_nothing():
    ties = tie(Constraints())
    assert ties.n_rows == ties.n_nodes == ties.n_blocks == 0
    assert represented(ties) == {}


# -- hard constraints ------------------------------------------------------------------------------


@settings(max_examples=100)
@given(told(weights=(0.5, 1.0, 2.0)), closures)
def test_an_infinite_factor_makes_everything_hard(said, closure):
    expected, c = Expected(said, closure, 1.0), said.constraints
    if expected.contradictory:
        with pytest.raises(ContradictionError, match="hard constraints contradict"):
            tie(c, closure=closure, constraint_weight=INF)
        return
    ties = tie(c, closure=closure, constraint_weight=INF)
    links = {*said.pairs, *said.called(single=False)}
    component = components(said.rows, [(a, b) for a, b, kind in links if kind == "must"])
    assert nodes(ties) == set(component.values())
    assert ties.n_blocks == 0 and (ties.weight == INF).all()
    # Between nodes, the same components are apart.
    ends = {frozenset((component[a], component[b])) for a, b, kind in links if kind == "cannot"}
    cannot = [tuple(ties.rows[p].tolist()) for p in ties.pairs[~ties.must]]
    assert {frozenset((component[a], component[b])) for a, b in cannot} == ends


@settings(max_examples=100)
@given(told(), closures, choices)
def test_hard_labels_share_a_node_and_keep_apart(said, closure, choice):
    times = Counter(r for r, _ in said.names)
    said = Told(said.pairs, [(r, x) for r, x in said.names if times[r] == 1])
    pairs, labels = Told(said.pairs, []).constraints, Told({}, said.names).constraints
    called = said.called(single=True)
    hard = {key for key, w in said.pairs.items() if w == INF} | called
    node = components(said.rows, [(a, b) for a, b, kind in hard if kind == "must"])
    impossible = any(kind == "cannot" and node[a] == node[b] for a, b, kind in hard)
    c = pairs | labels.scaled(INF)
    if impossible:
        with pytest.raises(ContradictionError):
            tie(c, closure=closure)
        return
    with warnings.catch_warnings(), forced(choice):
        warnings.simplefilter("ignore", ConstraintWarning)
        ties = tie(c, closure=closure)
    assert nodes(ties) == set(node.values())
    assert_nodes_fit_tables(ties)
    at = [ties.rows[p].tolist() for p in ties.pairs[~ties.must & (ties.weight == INF)]]
    kept = {frozenset((node[a], node[b])) for a, b in at}
    assert kept == {frozenset((node[a], node[b])) for a, b, kind in hard if kind == "cannot"}


def test_hard_must_links_share_a_node():
    c = Constraints([(0, 1), (1, 2), (2, 3)], must_link_weight=[INF, INF, 1.0])
    assert nodes(tie(c)) == {frozenset({0, 1, 2}), frozenset({3})}


def test_a_hard_contradiction_is_refused_whatever_the_closure():
    c = Constraints([(3, 8), (8, 12)], [(3, 12)], must_link_weight=INF, cannot_link_weight=INF)
    for closure in ("auto", True, False):
        with pytest.raises(
            ContradictionError, match=r"hard .*: 3-8-12 must, 3-12 cannot; give one"
        ):
            tie(c, closure=closure)


def test_a_hard_contradiction_is_named_not_one_that_can_be_weighed_up():
    c = Constraints(
        [(0, 1), (5, 6), (6, 7)],
        [(0, 1), (5, 7)],
        must_link_weight=[1.0, INF, INF],
        cannot_link_weight=INF,
    )
    with pytest.raises(ContradictionError, match=r"5-6-7 must, 5-7 cannot"):
        tie(c)


def test_a_hard_contradiction_is_named_by_its_hard_chain():
    # The shortest chain, 0-9-2, is soft: giving it a finite weight would help nobody.
    c = Constraints(
        [(0, 9), (9, 2), (0, 4), (4, 5), (5, 2)],
        [(0, 2)],
        must_link_weight=[1.0, 1.0, INF, INF, INF],
        cannot_link_weight=INF,
    )
    with pytest.raises(ContradictionError, match=r"0-4-5-2 must, 0-2 cannot"):
        tie(c)


def test_a_hard_cannot_link_inside_a_soft_component_is_allowed():
    c = Constraints([(0, 1)], [(0, 1)], cannot_link_weight=INF)
    with pytest.warns(ConstraintWarning):
        ties = tie(c)
    assert represented(ties) == {(0, 1, "must"): 1.0, (0, 1, "cannot"): INF}
    assert ties.n_nodes == 2


# -- contradictions are told -----------------------------------------------------------------------

CONTRADICTION = {"must_link": [(3, 8), (8, 12)], "cannot_link": [(3, 12)]}


def test_auto_warns_and_names_the_chain():
    with pytest.warns(ConstraintWarning, match=r"3-8-12 must, 3-12 cannot\. The components"):
        ties = tie(Constraints(**CONTRADICTION))
    assert represented(ties) == {(3, 8, "must"): 1, (8, 12, "must"): 1, (3, 12, "cannot"): 1}


def test_true_raises_and_names_the_chain():
    with pytest.raises(ContradictionError, match=r"3-8-12 must, 3-12 cannot\. .*repair\(\)"):
        tie(Constraints(**CONTRADICTION), closure=True)


def test_false_keeps_silent():
    assert len(represented(tie(Constraints(**CONTRADICTION), closure=False))) == 3


def test_many_contradictions_are_not_all_listed():
    pairs = [(i, i + 1) for i in range(0, 20, 2)]
    with pytest.warns(ConstraintWarning, match=r"0-1 cannot; .*4-5 cannot; and 7 more"):
        tie(Constraints(pairs, pairs))


def test_every_contradictory_component_is_named():
    one = [(0, 1), (1, 2), (2, 3), (3, 4)]
    two = [(7, 8), (8, 9)]
    with pytest.warns(ConstraintWarning, match=r"7-8-9 must, 7-9 cannot"):
        tie(Constraints(one + two, [*one, (7, 9)]))


@pytest.mark.parametrize("closure", ["yes", None, 1])
def test_an_unknown_closure_is_refused(closure):
    with pytest.raises(ValueError, match=r"closure must be 'auto', True or False; got"):
        tie(Constraints(), closure=closure)


def test_without_tables_too_many_pairs_are_refused():
    c = Constraints.from_labels([0] * 10 + [1] * 10)
    assert len(tie(c, tables=False, budget=190).pairs) == 190
    with pytest.raises(ValueError, match=r"the constraints entail 190 pairs, more than the 189"):
        tie(c, tables=False, budget=189)


# -- renumbering -----------------------------------------------------------------------------------


def tied(said, closure, choice):
    with warnings.catch_warnings(), forced(choice):
        warnings.simplefilter("ignore", ConstraintWarning)
        try:
            return tie(said.constraints, closure=closure)
        except ContradictionError:
            assume(False)


@settings(max_examples=100)
@given(told(), closures, choices, st.lists(st.integers(0, 12), unique=True))
def test_including_more_rows_changes_nothing_else(said, closure, choice, rows):
    ties = tied(said, closure, choice)
    more = ties.including(np.array(rows, dtype=np.int64))
    assert more.rows.tolist() == sorted({*ties.rows.tolist(), *rows})
    assert represented(more) == represented(ties)
    added = {frozenset({r}) for r in set(rows) - set(ties.rows.tolist())}
    assert nodes(more) == nodes(ties) | added
    same = np.searchsorted(more.rows, ties.rows)
    assert len({*zip(more.node[same].tolist(), ties.node.tolist(), strict=True)}) == ties.n_nodes
    first = [int(np.flatnonzero(more.node == k)[0]) for k in range(more.n_nodes)]
    assert first == sorted(first)  # nodes are numbered by their first rows
    assert more.block[same].tolist() == ties.block.tolist()


@settings(max_examples=100)
@given(told(), closures, choices, st.data())
def test_ordering_nodes_changes_nothing_but_the_order_of_visits(said, closure, choice, data):
    ties = tied(said, closure, choice)
    key = st.integers(0, 3).map(float)
    keys = np.array(data.draw(st.lists(key, min_size=ties.n_rows, max_size=ties.n_rows)))
    ordered = ties.ordered(keys)
    assert ordered.node.tolist() == ties.node.tolist()
    assert represented(ordered) == represented(ties)
    assert sorted(ordered.visit.tolist()) == list(range(ties.n_nodes))
    # By the least key of their rows; equal keys keep their order.
    least = [(keys[ties.node == k].min(), k) for k in ordered.visit.tolist()]
    assert least == sorted(least)


@settings(max_examples=50)
@given(told(), closures, choices, st.permutations(range(N)))
def test_ties_do_not_depend_on_where_the_rows_stand(said, closure, choice, order):
    here = tied(said, closure, [True])
    to = np.argsort(order)
    moved = Told(
        {(*sorted((int(to[a]), int(to[b]))), kind): w for (a, b, kind), w in said.pairs.items()},
        [(int(to[r]), x) for r, x in said.names],
    )
    there = tied(moved, closure, choice)
    back = {
        (*sorted((order[a], order[b])), kind): w for (a, b, kind), w in represented(there).items()
    }
    assert back == represented(here)
