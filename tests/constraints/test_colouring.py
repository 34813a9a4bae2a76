"""Colouring of the component graph: exact on small graphs, quick on large ones."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield.constraints import _exact_colouring as exact
from linkfield.constraints import colouring
from linkfield.constraints.colouring import Colouring, colour, dsatur, greedy_clique


def graph_of(n_vertices, edges):
    """Symmetric graph from a list of pairs."""
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    both = np.concatenate((ends, ends[:, ::-1]))
    data = np.ones(len(both))
    table = sparse.coo_array((data, (both[:, 0], both[:, 1])), shape=(n_vertices, n_vertices))
    return sparse.csr_array(table)


def edges_of(graph):
    return np.column_stack(sparse.triu(graph).nonzero())


def colourable(edges, lists):
    """Brute force over all colourings."""
    return any(all(c[a] != c[b] for a, b in edges) for c in product(*lists))


def assert_proper(graph, colours, allowed=None, n_colours=None):
    ends = edges_of(graph)
    assert colours.dtype == np.int64 and colours.shape == (graph.shape[0],)
    assert (colours >= 0).all()
    assert (colours[ends[:, 0]] != colours[ends[:, 1]]).all()
    if n_colours is not None:
        assert (colours < n_colours).all()
    if allowed is not None:
        assert allowed[np.arange(len(colours)), colours].all()


def assert_minimal_core(graph, core, lists):
    """The core cannot be coloured, and can be without any one of its vertices."""
    ends = edges_of(graph).tolist()

    def possible(vertices):
        inside = {int(v): i for i, v in enumerate(vertices)}
        pairs = [(inside[a], inside[b]) for a, b in ends if a in inside and b in inside]
        return colourable(pairs, [lists[v] for v in vertices])

    assert (np.diff(core) > 0).all()
    assert not possible(core)
    for v in core:
        assert possible(core[core != v])


@st.composite
def problems(draw, max_vertices=7):
    n = draw(st.integers(0, max_vertices))
    k = draw(st.integers(1, 4))
    pairs = list(combinations(range(n), 2))
    edges = [p for p in pairs if draw(st.booleans())]
    allowed = None
    if draw(st.booleans()):
        rows = draw(st.lists(st.integers(0, 2**k - 1), min_size=n, max_size=n))
        allowed = np.array([[r >> c & 1 for c in range(k)] for r in rows], dtype=bool)
        allowed = allowed.reshape(n, k)
    cost = None
    if draw(st.booleans()):
        cost = np.array(draw(st.lists(st.integers(0, 3), min_size=n * k, max_size=n * k)))
        cost = cost.reshape(n, k)
    return n, k, edges, allowed, cost


def lists_of(n, k, allowed):
    return [list(range(k)) if allowed is None else np.flatnonzero(allowed[v]) for v in range(n)]


def check(n, k, edges, allowed, cost, **limits):
    graph = graph_of(n, edges)
    answer = colour(graph, k, allowed=allowed, cost=cost, **limits)
    lists = lists_of(n, k, allowed)
    if colourable(edges, lists):
        assert answer.status == "feasible" and answer.core is None
        assert_proper(graph, answer.colours, allowed, k)
    else:
        assert answer.status == "infeasible" and answer.colours is None
        assert_minimal_core(graph, answer.core, lists)


@given(problems())
@settings(max_examples=300, deadline=None)
def test_colour_is_exact(problem):
    check(*problem)


@given(problems(max_vertices=6))
@settings(max_examples=60, deadline=None)
def test_the_integer_program_agrees_when_no_node_may_be_searched(problem):
    check(*problem, node_limit=0)


@given(problems())
@settings(max_examples=150, deadline=None)
def test_search_alone_is_exact(problem):
    # Greedy colouring, clique and peeling settle most small graphs; here the search has to.
    n, k, edges, allowed, cost = problem
    inner = colouring._problem(graph_of(n, edges), k, allowed, cost)
    verdict = exact._search(inner, 0, exact.Budget(10**6, 0.0))
    assert (verdict.status == "feasible") == colourable(edges, lists_of(n, k, allowed))
    if verdict.colours is not None:
        assert_proper(graph_of(n, edges), np.array(verdict.colours, dtype=np.int64), allowed, k)


@given(problems(max_vertices=6))
@settings(max_examples=60, deadline=None)
def test_program_alone_is_exact(problem):
    n, k, edges, allowed, cost = problem
    inner = colouring._problem(graph_of(n, edges), k, allowed, cost)
    if n == 0 or not all(inner.masks):
        return  # a vertex without any colour is refuted before a program is built
    verdict = exact._program(inner, exact.Budget(0, 10.0))
    assert (verdict.status == "feasible") == colourable(edges, lists_of(n, k, allowed))
    if verdict.colours is not None:
        assert_proper(graph_of(n, edges), np.array(verdict.colours, dtype=np.int64), allowed, k)


@given(problems())
@settings(max_examples=200, deadline=None)
def test_dsatur_is_proper_when_it_answers(problem):
    n, k, edges, allowed, cost = problem
    graph = graph_of(n, edges)
    colours = dsatur(graph, k, allowed=allowed, cost=cost)
    if colours is not None:
        assert_proper(graph, colours, allowed, k)
    elif allowed is None:
        assert k <= max(np.diff(graph.indptr))  # greedy never needs more than degree + 1


@given(problems())
@settings(max_examples=150, deadline=None)
def test_greedy_clique_is_a_clique(problem):
    n, _, edges, _, _ = problem
    graph = graph_of(n, edges)
    clique = greedy_clique(graph)
    table = graph.toarray() > 0
    assert (np.diff(clique) > 0).all()
    assert table[np.ix_(clique, clique)].sum() == len(clique) * (len(clique) - 1)
    assert len(clique) >= min(n, 1) + bool(edges)


@given(problems(), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_vertices_does_not_matter(problem, random):
    n, k, edges, allowed, _ = problem
    order = list(range(n))
    random.shuffle(order)
    moved = None
    if allowed is not None:
        moved = np.empty_like(allowed)
        moved[order] = allowed
    before = colour(graph_of(n, edges), k, allowed=allowed)
    after = colour(graph_of(n, [(order[a], order[b]) for a, b in edges]), k, allowed=moved)
    assert before.status == after.status


def mycielski(steps):
    """Triangle-free graphs that need steps + 2 colours: nothing a clique could prove."""
    n, edges = 2, [(0, 1)]
    for _ in range(steps):
        edges += [(a, n + b) for a, b in edges] + [(b, n + a) for a, b in edges]
        edges += [(n + v, 2 * n) for v in range(n)]
        n = 2 * n + 1
    return n, edges


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_triangle_free_graphs_are_settled_by_search(steps):
    n, edges = mycielski(steps)
    graph = graph_of(n, edges)
    assert colour(graph, steps + 2).status == "feasible"
    answer = colour(graph, steps + 1)
    assert answer.status == "infeasible"
    assert len(answer.core) == n  # Mycielski graphs are vertex-critical


def test_core_is_found_inside_a_larger_graph():
    cycle = [(i, (i + 1) % 5) for i in range(5)]
    rest = [(5 + a, 5 + b) for a, b in combinations(range(2), 2)]
    answer = colour(graph_of(7, [*cycle, *rest, (0, 5), (2, 6)]), 2)
    assert answer.status == "infeasible"
    assert answer.core.tolist() in ([0, 1, 2, 3, 4], [0, 1, 2, 5, 6])


def test_clique_core_has_one_vertex_more_than_colours():
    answer = colour(graph_of(30, list(combinations(range(30), 2))), 4)
    assert answer.status == "infeasible" and len(answer.core) == 5


def test_lists_that_only_hall_can_refute():
    n = 14  # a clique of 14 with 14 colours in all, but 13 in the lists
    allowed = np.ones((n, n), dtype=bool)
    allowed[:, 3] = False
    answer = colour(graph_of(n, list(combinations(range(n), 2))), n, allowed=allowed)
    assert answer.status == "infeasible" and len(answer.core) == n


def test_vertex_without_a_colour_is_the_core():
    allowed = np.array([[True, True], [False, False], [True, True]])
    answer = colour(graph_of(3, [(0, 1), (1, 2)]), 2, allowed=allowed)
    assert answer.status == "infeasible" and answer.core.tolist() == [1]


def test_cost_decides_among_permitted_colours():
    cost = np.array([[3, 1, 2], [1, 0, 5], [2, 2, 2]])
    for solve in (dsatur, lambda *a, **k: colour(*a, **k).colours):
        assert solve(graph_of(3, []), 3, cost=cost).tolist() == [1, 1, 0]
    allowed = np.array([[True, False, True]] * 3)
    assert dsatur(graph_of(3, []), 3, allowed=allowed, cost=cost).tolist() == [2, 0, 0]


def test_cost_names_the_colours_of_a_searched_component(monkeypatch):
    monkeypatch.setattr(colouring, "_dsatur", lambda problem: None)
    cost = np.array([[0, 9, 9], [9, 9, 0], [9, 0, 9]])
    assert colour(graph_of(3, [(0, 1), (1, 2), (0, 2)]), 3, cost=cost).colours.tolist() == [0, 2, 1]
    triangles = graph_of(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
    answer = colour(triangles, 3, cost=np.concatenate((cost, cost[::-1])))
    assert_proper(triangles, answer.colours, n_colours=3)


def test_unknown_when_the_limits_are_zero():
    n, edges = mycielski(3)
    assert colour(graph_of(n, edges), 4, node_limit=0, time_limit=0.0).status == "unknown"


def test_large_core_is_returned_whole():
    n = 401  # odd wheel-like ring: every vertex joined to the next two, not 3-colourable
    ring = [(i, (i + d) % n) for i in range(n) for d in (1, 2)]
    answer = colour(graph_of(n, ring), 3)
    assert answer.status == "infeasible" and len(answer.core) == n


def test_large_sparse_graphs():
    rng = np.random.default_rng(0)
    n = 100_000
    ends = rng.integers(0, n, size=(200_000, 2))
    graph = graph_of(n, ends[ends[:, 0] != ends[:, 1]])
    allowed = rng.random((n, 8)) < 0.9
    assert_proper(graph, colour(graph, 8).colours, n_colours=8)
    assert_proper(graph, dsatur(graph, 8, cost=rng.random((n, 8))), n_colours=8)
    allowed[:, 0] = True
    allowed[:, 1] = True
    answer = colour(graph, 8, allowed=allowed, cost=rng.random((n, 8)))
    assert_proper(graph, answer.colours, allowed)


def test_large_sparse_graph_with_a_hidden_clique():
    rng = np.random.default_rng(1)
    n = 100_000
    ends = rng.integers(0, n, size=(200_000, 2))
    hidden = np.sort(rng.choice(n, 9, replace=False))
    clique = np.array(list(combinations(hidden, 2)))
    graph = graph_of(n, np.concatenate((ends[ends[:, 0] != ends[:, 1]], clique)))
    assert greedy_clique(graph).tolist() == hidden.tolist()
    answer = colour(graph, 8)
    assert answer.status == "infeasible" and answer.core.tolist() == hidden.tolist()


def test_many_components():
    blocks = np.array(list(combinations(range(4), 2)))
    ends = (blocks[None] + 4 * np.arange(10_000)[:, None, None]).reshape(-1, 2)
    graph = graph_of(40_000, ends)
    assert_proper(graph, colour(graph, 4).colours, n_colours=4)
    assert colour(graph, 3).status == "infeasible"


def test_input_is_left_alone_and_explicit_zeros_are_no_edges():
    graph = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    graph.data[:] = 0.0
    assert colour(graph, 1).colours.tolist() == [0, 0]
    assert graph.nnz == 2


def test_empty_graph():
    answer = colour(graph_of(0, []), 3)
    assert answer.status == "feasible" and len(answer.colours) == 0
    assert len(greedy_clique(graph_of(0, []))) == 0


def test_answer_is_frozen():
    with pytest.raises(AttributeError):
        Colouring("unknown").status = "feasible"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_colours": 0}, "n_colours"),
        ({"graph": sparse.csr_array((2, 3))}, "square"),
        ({"graph": sparse.csr_array(np.eye(2))}, "itself"),
        ({"graph": sparse.csr_array(np.array([[0, 1], [0, 0]]))}, "symmetric"),
        ({"allowed": np.ones((2, 3), dtype=bool)}, "allowed"),
        ({"allowed": np.ones((2, 2))}, "allowed"),
        ({"cost": np.ones((3, 2))}, "cost"),
        ({"cost": np.array([[0, np.nan], [0, 0]])}, "cost"),
        ({"node_limit": -1}, "limit"),
        ({"time_limit": float("nan")}, "limit"),
    ],
)
def test_bad_input(arguments, message):
    call = {"graph": graph_of(2, [(0, 1)]), "n_colours": 2} | arguments
    with pytest.raises(ValueError, match=message):
        colour(**call)
