"""Cuts hold for every labelling, are found where there are any, and raise the bound."""

from itertools import combinations

import numpy as np
import pytest
from fields import every_labelling, tiny_field

from linkfield.inference import PottsField
from linkfield.inference._program import CANNOT, MUST, Program, program_of
from linkfield.inference.cuts import Cuts, find_cuts
from linkfield.inference.explicit import explicit
from linkfield.inference.linear_program import LinearProgram


def whole_program(field: PottsField, allowed: np.ndarray | None = None) -> Program:
    if allowed is None:
        allowed = np.ones(field.unary.shape, dtype=bool)
    return program_of(field, allowed, np.zeros(field.n_nodes, np.int64), 1)


def dense_field(rng: np.random.Generator, wide: bool = False) -> PottsField:
    n, K = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    edges = np.array([e for e in combinations(range(n), 2) if rng.random() < 0.8])
    edges = edges.reshape(-1, 2)
    must = rng.random(len(edges)) < rng.choice([0.0, 0.5])
    cost = rng.uniform(0.5, 1.5, (len(edges), K) if wide else len(edges))
    kind = must[:, None] if wide else must
    unary = rng.uniform(0, 1, (n, K))
    return PottsField(unary, edges, np.where(kind, 0.0, cost), np.where(kind, cost, 0.0))


def violations(field: PottsField, program: Program, labellings: np.ndarray) -> np.ndarray:
    """Return which edges every labelling violates, by what their kind says."""
    i, j = field.edges.T
    same = labellings[:, i] == labellings[:, j]
    return np.where(program.kind == MUST, ~same, (program.kind == CANNOT) & same)


def random_cuts(program: Program, field: PottsField, rng: np.random.Generator) -> Cuts:
    x = rng.random(len(program.cost)) * rng.choice([0.02, 0.3, 1.0])
    return find_cuts(program, field.edges, x)


@pytest.mark.parametrize("wide", [False, True])
def test_no_labelling_is_cut_off(wide: bool) -> None:
    rng = np.random.default_rng(1)
    found = 0
    for seed in range(150):
        field = dense_field(rng, wide) if seed % 3 else explicit(tiny_field(seed, wide))
        allowed = rng.random(field.unary.shape) < 0.75
        allowed[np.arange(field.n_nodes), rng.integers(0, field.n_labels, field.n_nodes)] = True
        program = whole_program(field, allowed)
        cuts = random_cuts(program, field, rng)
        labellings = every_labelling(field)
        possible = allowed[np.arange(field.n_nodes), labellings].all(axis=1)
        v = violations(field, program, labellings[possible])
        total = (cuts.edges @ v.T.astype(float)).T
        assert (total >= cuts.least - 1e-9).all()
        found += len(cuts.least)
    assert found > 90


def test_cuts_found_are_violated_and_differ() -> None:
    rng = np.random.default_rng(2)
    for _ in range(120):
        field = dense_field(rng)
        program = whole_program(field)
        x = rng.random(len(program.cost)) * rng.uniform(0.2, 1.5)
        cuts = find_cuts(program, field.edges, x)
        assert (cuts.edges @ program.violations(x) < cuts.least).all()
        chosen = {tuple(np.sort(cuts.edges[[c]].indices)) for c in range(len(cuts.least))}
        assert len(chosen) == len(cuts.least)
        rows, lower = cuts.rows(program)
        np.testing.assert_allclose(rows @ x, cuts.edges @ (program.violation @ x))
        np.testing.assert_array_equal(lower, cuts.least)


def cycles(edges: np.ndarray, n: int) -> list[list[int]]:
    """Return every cycle, as a list of edges, by walking from its least node."""
    found, incident = [], [[] for _ in range(n)]
    for e, (i, j) in enumerate(edges):
        incident[i].append((j, e))
        incident[j].append((i, e))

    def walk(first: int, at: int, seen: list[int], used: list[int]) -> None:
        for other, e in incident[at]:
            if other == first and len(used) > 1 and used[0] < e:
                found.append([*used, e])
            if other > first and other not in seen:
                walk(first, other, [*seen, other], [*used, e])

    for first in range(n):
        walk(first, first, [first], [])
    return found


@pytest.mark.parametrize("n_labels", [2, 3])
def test_a_cycle_is_found_wherever_one_is_violated(n_labels: int) -> None:
    """The search for cycles is complete: it misses none, and finds none where there is none."""
    rng = np.random.default_rng(n_labels)
    outcome = set()
    for _ in range(120):
        n = int(rng.integers(3, 7))
        edges = np.array([e for e in combinations(range(n), 2) if rng.random() < 0.6])
        edges = edges.reshape(-1, 2)
        must = rng.random(len(edges)) < 0.6
        agree, differ = np.where(must, 0.0, 1.0), np.where(must, 1.0, 0.0)
        field = PottsField(np.zeros((n, n_labels)), edges, agree, differ)
        program = whole_program(field)
        x = rng.random(len(program.cost)) * 0.4
        v, n_cannot = program.violations(x), program.kind == CANNOT
        broken = False
        for cycle in cycles(field.edges, n):
            count = int(n_cannot[cycle].sum())
            valid = count % 2 == 1 if n_labels == 2 else count == 1
            broken |= bool(valid and v[cycle].sum() < 1 - 1e-3)
        cuts = find_cuts(program, field.edges, x)
        ones = cuts.least == 1  # a clique of three with two labels is an odd cycle too
        if broken:
            assert ones.any()
        outcome.add(broken)
    assert outcome == {False, True}


@pytest.mark.parametrize("n", [3, 5, 7])
def test_odd_cycles_of_cannot_links_with_two_labels(n: int) -> None:
    """Fact 2 of maths.md 4.3: half and half everywhere pays no cannot-link at all."""
    field = PottsField(np.zeros((n, 2)), [(i, (i + 1) % n) for i in range(n)], 1.0, 0.0)
    assert LinearProgram(cuts=False).solve(field).lower_bound == pytest.approx(0.0, abs=1e-9)
    result = LinearProgram().solve(field, random_state=0)
    assert result.lower_bound == pytest.approx(1.0, abs=1e-9)
    assert result.energy == 1.0


@pytest.mark.parametrize(("q", "K"), [(4, 3), (5, 3), (7, 3), (5, 2), (6, 4), (9, 2)])
def test_cliques_of_cannot_links(q: int, K: int) -> None:
    field = PottsField(np.zeros((q, K)), list(combinations(range(q), 2)), 1.0, 0.0)
    t, r = divmod(q, K)
    least = K * t * (t - 1) / 2 + r * t
    assert LinearProgram(cuts=False).solve(field).lower_bound == pytest.approx(0.0, abs=1e-9)
    result = LinearProgram().solve(field, random_state=0)
    assert result.lower_bound == pytest.approx(least, abs=1e-8)
    assert result.energy == least


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("K", [2, 3, 5])
def test_a_cannot_link_inside_a_chain_of_must_links(K: int, wide: bool) -> None:
    n = 6
    edges = [(i, i + 1) for i in range(n - 1)] + [(0, n - 1)]
    agree, differ = np.zeros(n), np.ones(n)
    agree[-1], differ[-1] = 1.0, 0.0
    if wide:  # every label has costs of its own
        scale = np.linspace(1.0, 2.0, K)
        agree, differ = agree[:, None] * scale, differ[:, None] * scale
    field = PottsField(np.zeros((n, K)), edges, agree, differ)
    assert LinearProgram(cuts=False).solve(field).lower_bound == pytest.approx(0.0, abs=1e-9)
    result = LinearProgram().solve(field, random_state=0)
    assert result.lower_bound == pytest.approx(1.0, abs=1e-8)
    assert result.energy == pytest.approx(1.0)


def test_no_room_means_fewer_cuts() -> None:
    from linkfield.inference._cut_kernels import one_cannot_cycles

    pointer, neighbour, edge = (
        np.array([0, 1, 3, 4]),
        np.array([1, 0, 2, 1]),
        np.array([0, 0, 1, 1]),
    )
    links = np.array([2, 3]), np.array([0, 0]), np.array([2, 1]), np.zeros(2)
    everything = one_cannot_cycles(pointer, neighbour, edge, np.zeros(4), links, 10)
    np.testing.assert_array_equal(everything[0], [1, 0, 2, 0, 3])
    np.testing.assert_array_equal(everything[1], [0, 3, 5])
    first = one_cannot_cycles(pointer, neighbour, edge, np.zeros(4), links, 4)
    np.testing.assert_array_equal(first[0], [1, 0, 2])
    none = one_cannot_cycles(pointer, neighbour, edge, np.zeros(4), links, 2)
    assert none[0].shape == (0,) and len(none[1]) == 1
