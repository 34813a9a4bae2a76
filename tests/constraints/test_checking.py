"""What a check says is true: chains hold, repairs mend, numbers of clusters are right."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield import Constraints
from linkfield.constraints import check_constraints, clusters_needed
from linkfield.constraints.conflicts import count_conflicts


def colourable(n, edges, k):
    return any(all(c[a] != c[b] for a, b in edges) for c in itertools.product(range(k), repeat=n))


pairs = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda p: p[0] != p[1]), max_size=9
)


@given(must=pairs, cannot=pairs)
def test_a_check_equals_what_follows_from_its_definitions(must, cannot):
    known = Constraints(must, cannot)
    found = check_constraints(known, 2, max_conflicts=50)
    assert (found.n_must_link, found.n_cannot_link) == (known.n_must_link, known.n_cannot_link)
    assert found.n_conflicts == len(found.conflicts) == len(known.conflicts())
    given_must = {tuple(sorted(p)) for p in must}
    given_cannot = {tuple(sorted(p)) for p in cannot}
    for conflict in found.conflicts:
        *steps, last = conflict.links
        assert [s.a for s in steps] == list(conflict.chain[:-1])
        assert [s.b for s in steps] == list(conflict.chain[1:])
        assert all(tuple(sorted((s.a, s.b))) in given_must and s.kind == "must" for s in steps)
        assert {last.a, last.b} == {conflict.chain[0], conflict.chain[-1]}
        assert tuple(sorted((last.a, last.b))) in given_cannot and last.kind == "cannot"
    rest = known.repair().constraints
    assert not rest.conflicts()
    assert len(found.dropped) == found.cost
    closure = rest.closure()
    edges = closure.apart.tolist()
    least = next(k for k in range(1, 7) if colourable(closure.n_components, edges, k))
    assert found.clusters.at_least == found.clusters.enough == least
    assert found.clusters.status == ("feasible" if least <= 2 else "infeasible")
    assert found.fine == (found.consistent and least <= 2)


@given(cannot=pairs, must=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=2))
def test_the_core_proves_that_k_clusters_do_not_suffice(cannot, must):
    known = Constraints(must, cannot).repair().constraints
    for k in (1, 2, 3):
        found = clusters_needed(known, k)
        if found.status == "feasible":
            assert found.core == ()
            continue
        group = {row: g for g, rows in enumerate(found.core) for row in rows}
        table = known.pairs()
        edges = [
            (group[a], group[b])
            for a, b, kind, _ in table.tolist()
            if kind == "cannot" and a in group and b in group
        ]
        assert not colourable(len(found.core), edges, k)
        assert found.clique == (len({tuple(sorted(e)) for e in edges}) == k * (k + 1) // 2
                                and len(found.core) == k + 1)  # fmt: skip


def test_an_odd_ring_needs_three_although_no_three_rows_are_mutually_apart():
    ring = Constraints(cannot_link=[(i, (i + 1) % 7) for i in range(7)])
    found = clusters_needed(ring, 2)
    assert (found.status, found.at_least, found.enough, found.clique) == ("infeasible", 3, 3, False)
    assert len(found.core) == 7
    assert clusters_needed(Constraints()).enough == 1


def test_no_time_leaves_bounds_that_are_true():
    rng = np.random.default_rng(0)
    ends = np.array(list(itertools.combinations(range(60), 2)))
    graph = Constraints(cannot_link=ends[rng.random(len(ends)) < 0.5])
    hurried = clusters_needed(graph, 9, time_limit=0.0)
    assert hurried.status == "unknown"
    assert hurried.at_least <= 9 < hurried.enough
    patient = clusters_needed(graph, hurried.enough)
    assert patient.status == "feasible"
    assert hurried.at_least <= patient.at_least <= patient.enough <= hurried.enough


def test_contradictory_constraints_are_no_question_of_colours():
    with pytest.raises(ValueError, match="repair"):
        clusters_needed(Constraints([(0, 1)], [(0, 1)]))
    with pytest.raises(ValueError, match="at least 1"):
        check_constraints(Constraints(), 0)


def test_sources_are_counted_one_by_one_also_where_a_pair_has_two():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [
            ("a", "b", "must", 1, "kim"),
            ("b", "a", "must", 1, "lee"),
            ("a", "b", "cannot", 0.5, "lee"),
            ("c", "d", "cannot", np.inf, None),
        ],
        columns=["a", "b", "kind", "weight", "source"],
    )
    found = check_constraints(Constraints.from_frame(frame))
    counts = {s.source: (s.n_must_link, s.n_cannot_link, s.n_dropped) for s in found.sources}
    assert counts == {"kim": (1, 0, 0), "lee": (1, 1, 1), None: (0, 1, 0)}
    assert found.n_hard == 1 and found.weights == (0.5, 1.0)
    assert [str(link) for link in found.dropped] == ["a-b cannot"]


def test_labels_appear_in_chains_by_their_name():
    labels = Constraints.from_labels(["x", "x", "y", None])
    known = labels | Constraints(must_link=[(1, 2)])
    found = check_constraints(known)
    chains = [str(c) for c in found.conflicts]
    assert found.n_conflicts == 1
    assert "label 'x'-1-2-label 'y' must" in chains[0]
    assert found.conflicts[0].links[0].source == "labels"
    assert found.conflicts[0].links[1].source is None


def test_a_limit_names_every_contradictory_set_before_any_twice():
    must = [(10 * k + i, 10 * k + i + 1) for k in range(5) for i in range(9)]
    cannot = [(10 * k + i, 10 * k + j) for k in range(5) for i in range(10) for j in range(i)]
    known = Constraints(must, cannot)
    assert count_conflicts(known) == len(cannot)
    few = known.conflicts(limit=5)
    assert sorted(c.chain[0] // 10 for c in few) == [0, 1, 2, 3, 4]
    assert all(len(c.chain) == 2 for c in few)  # a pair of both kinds is the plainest
    assert len(known.conflicts(limit=8)) == 8
    assert known.conflicts(limit=0) == []
    full = known.conflicts()
    assert len(full) == len(cannot)
    assert [len(c.chain) for c in full] == sorted(len(c.chain) for c in full)


def test_very_many_contradictions_are_explained_in_a_moment():
    y = np.random.default_rng(0).integers(0, 5, 2_000)
    known = Constraints.from_labels(y, n_pairs=100_000, noise=0.05, random_state=0)
    some = known.conflicts(limit=10)
    assert len(some) == 10 and len({c.cannot[0] for c in some}) == 10
    assert all(len(c.chain) <= 3 for c in some)
    together = {(p["a"], p["b"]) for p in known.pairs() if p["kind"] == "must"}
    for conflict in some:
        steps = zip(conflict.chain, conflict.chain[1:], strict=False)
        assert all(tuple(sorted(step)) in together for step in steps)
