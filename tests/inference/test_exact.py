"""Exact search finds the optimum, says so only where it is proven, and keeps to its time."""

from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from fields import forest_field, optimum, tiny_field
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import ICM, PottsField
from linkfield.inference.exact import Exact
from linkfield.inference.explicit import explicit, parts

seeds = st.integers(0, 2**32 - 1)


def assert_optimal(field: PottsField, method: Exact, seed: int) -> None:
    best = optimum(field)
    result = method.solve(field, random_state=seed)
    assert result.converged
    assert result.energy == field.energy(result.labels)
    assert result.component_bounds is not None
    if np.isinf(best):
        assert np.isinf(result.energy)
        return
    near = 1e-9 * (1 + abs(best))
    assert abs(result.energy - best) <= near
    assert result.lower_bound <= best + 1e-12 * (1 + abs(best))
    assert result.optimal
    assert abs(result.component_bounds.sum() - result.lower_bound) <= near


def mixed_field(seed: int, n: int, K: int, m: int, wide: bool = False) -> PottsField:
    """Return a field of many links that contradict each other."""
    rng = np.random.default_rng([seed, 11])
    pairs = np.array(list(combinations(range(n), 2)))
    edges = pairs[rng.choice(len(pairs), m, replace=False)]
    cost = rng.uniform(0.5, 1.5, (m, K) if wide else m)
    must = (rng.random(m) < 0.5).reshape(-1, *[1] * wide)
    unary = rng.uniform(0, 1, (n, K))
    return PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))


# ---------------------------------------------------------------------------
# the optimum


@pytest.mark.parametrize("block", range(5))
def test_optimum_of_tiny_fields(block: int) -> None:
    for seed in range(100 * block, 100 * block + 100):
        assert_optimal(tiny_field(seed), Exact(), seed)


@pytest.mark.parametrize(("wide", "hard"), [(True, False), (False, True), (True, True)])
def test_optimum_with_costs_by_label_and_hard_constraints(wide: bool, hard: bool) -> None:
    for seed in range(120):
        assert_optimal(tiny_field(seed, wide, hard), Exact(), seed)


@pytest.mark.parametrize("wide", [False, True])
def test_optimum_by_program_instead_of_enumeration(wide: bool) -> None:
    """Nothing is enumerated, so relaxation, ruling out and branch and bound do all the work."""
    for seed in range(40):
        assert_optimal(tiny_field(seed, wide, hard=seed % 2 == 0), Exact(enumerate_limit=1), seed)
    for seed in range(25):
        field = mixed_field(seed, 7, 3, 14, wide)
        assert_optimal(field, Exact(enumerate_limit=1), seed)


@pytest.mark.parametrize("wide", [False, True])
def test_search_and_branch_and_bound_agree(wide: bool) -> None:
    nodes = 0
    for seed in range(8):
        field = mixed_field(seed, 13, 3, 26, wide)
        everything = Exact(enumerate_limit=10**9).solve(field, random_state=0)
        branched = Exact(enumerate_limit=1).solve(field, random_state=0)
        assert everything.n_iter == 0
        assert everything.energy == pytest.approx(branched.energy, rel=1e-9)
        assert branched.lower_bound <= everything.energy + 1e-12
        assert everything.optimal and branched.optimal
        nodes += branched.n_iter
    assert nodes > 0  # some of them were branched on indeed


@given(seed=seeds)
def test_trees(seed: int) -> None:
    assert_optimal(forest_field(seed, wide=seed % 2 == 0), Exact(), seed)


@given(seed=seeds)
def test_order_of_nodes_and_constants_do_not_matter(seed: int) -> None:
    field = explicit(tiny_field(seed, wide=seed % 2 == 0))
    rng = np.random.default_rng(seed)
    new = rng.permutation(field.n_nodes)
    back = np.argsort(new)
    moved = PottsField(field.unary[back], new[field.edges], field.agree_cost, field.differ_cost)
    energy = Exact().solve(field, random_state=0).energy
    assert Exact().solve(moved, random_state=0).energy == pytest.approx(energy, rel=1e-9, abs=1e-9)
    shift = rng.normal(size=(field.n_nodes, 1))
    shifted = Exact().solve(field.with_unary(field.unary + shift), random_state=0).energy
    assert shifted == pytest.approx(energy + shift.sum(), rel=1e-9, abs=1e-9)


def test_components_one_by_one() -> None:
    for seed in range(20):
        field = explicit(tiny_field(seed))
        whole = Exact().solve(field, random_state=0)
        assert whole.component_bounds is not None
        for nodes, part in parts(field):
            alone = Exact().solve(part, random_state=0)
            bound = whole.component_bounds[field.connected[nodes[0]]]
            assert bound == pytest.approx(alone.energy, rel=1e-9, abs=1e-9)
            assert part.energy(whole.labels[nodes]) == pytest.approx(alone.energy, rel=1e-9)


def test_impossible_constraints() -> None:
    """Three nodes that must all be apart with two labels: no labelling has a finite energy."""
    field = PottsField(np.zeros((3, 2)), [(0, 1), (1, 2), (0, 2)], np.inf, 0.0)
    for limit in (200_000, 1):
        result = Exact(enumerate_limit=limit).solve(field)
        assert np.isinf(result.energy) and result.converged
        assert np.isfinite(result.lower_bound)


# ---------------------------------------------------------------------------
# limits


def test_time_limit_on_a_hard_field() -> None:
    field = mixed_field(0, 60, 4, 600)
    Exact(enumerate_limit=1).solve(mixed_field(0, 9, 3, 20))  # load what is compiled
    before = time.monotonic()
    result = Exact(time_limit=1.0).solve(field, random_state=0)
    assert time.monotonic() - before < 4.0
    assert not result.converged
    trivial = field.unary.min(axis=1).sum()
    assert trivial + 10 < result.lower_bound < result.energy == field.energy(result.labels)
    others = [ICM().solve(field, random_state=s).energy for s in range(20)]
    assert result.lower_bound < min(others)  # no labelling that anyone finds is below the bound
    assert result.energy <= others[0] + 1e-9  # where the search set out from


def test_no_time_at_all() -> None:
    """Components that are not reached keep the labels of ICM and the trivial bound."""
    field = mixed_field(0, 30, 3, 80)
    start = ICM().solve(field, random_state=3).labels
    result = Exact(time_limit=1e-9).solve(field, start, random_state=0)
    assert not result.converged
    assert result.energy <= field.energy(start)
    assert result.lower_bound == pytest.approx(field.unary.min(axis=1).sum(), abs=1.0)
    assert result.lower_bound <= Exact().solve(field).energy


def test_limited_nodes() -> None:
    field = mixed_field(1, 40, 4, 120)
    result = Exact(max_nodes=1, time_limit=20.0).solve(field, random_state=0)
    best = min(ICM().solve(field, random_state=s).energy for s in range(20))
    assert result.lower_bound <= best
    assert result.n_iter <= 2
    assert result.energy == field.energy(result.labels)


def test_time_is_shared_among_components() -> None:
    """One component that never ends does not keep the others from being solved."""
    hard, easy = mixed_field(0, 50, 4, 500), mixed_field(1, 12, 2, 14)
    edges = np.concatenate([hard.edges, 50 + easy.edges])
    costs = [np.r_[getattr(hard, c), getattr(easy, c)] for c in ("agree_cost", "differ_cost")]
    field = PottsField(np.pad(easy.unary, ((0, 0), (0, 2)), constant_values=9.0), (), (), ())
    field = PottsField(np.concatenate([hard.unary, field.unary]), edges, *costs)
    result = Exact(time_limit=0.8, enumerate_limit=1).solve(field, random_state=0)
    assert not result.converged and result.component_bounds is not None
    sizes = np.bincount(field.connected)
    last = int(field.connected[-1])
    assert len(sizes) == 2
    alone = Exact().solve(easy, random_state=0).energy
    assert result.component_bounds[last] == pytest.approx(alone, rel=1e-9)


# ---------------------------------------------------------------------------
# edges


def test_small_and_empty_fields() -> None:
    empty = Exact().solve(PottsField(np.empty((0, 3)), (), (), ()))
    assert empty.labels.shape == (0,) and empty.energy == 0.0 == empty.lower_bound
    assert Exact().solve(PottsField([[2.0], [3.0]], [(0, 1)], 0.5, 9.0)).energy == 5.5
    assert Exact().solve(PottsField([[2.0, 1.0], [3.0, 4.0]], (), (), ())).energy == 4.0
    assert Exact().solve(PottsField(np.zeros((2, 2)), [(0, 1)], -3.0, -1.0)).energy == -3.0


def test_thousands_of_small_components() -> None:
    rng = np.random.default_rng(0)
    n = 6000
    edges = np.concatenate([np.arange(n).reshape(-1, 3)[:, [0, 1]],
                            np.arange(n).reshape(-1, 3)[:, [1, 2]]])  # fmt: skip
    agree = rng.uniform(0, 1, len(edges))
    field = PottsField(rng.uniform(0, 1, (n, 4)), edges, agree, 1 - agree)
    Exact().solve(tiny_field(1))  # load what is compiled
    before = time.monotonic()
    result = Exact().solve(field, random_state=0)
    assert time.monotonic() - before < 5.0
    assert result.optimal
    assert result.energy <= ICM().solve(field, random_state=0).energy + 1e-9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": -1.0}, "time_limit must be a number of seconds above 0, or None"),
        ({"max_nodes": -1}, "max_nodes must be a whole number"),
        ({"enumerate_limit": 0.5}, "enumerate_limit must be a whole number"),
        ({"enumerate_limit": None}, "enumerate_limit must be a whole number"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    method = Exact(**options)
    with pytest.raises(ValueError, match=message):
        method.solve(tiny_field(1))


def test_bad_start() -> None:
    with pytest.raises(ValueError, match="start must give each of the"):
        Exact().solve(tiny_field(1), np.array([99]))
