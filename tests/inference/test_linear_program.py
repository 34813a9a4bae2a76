"""The linear program bounds the optimum, equals the textbook programs, and its labels are good."""

from __future__ import annotations

import pickle
import time
from itertools import combinations

import numpy as np
import pytest
from fields import energies, every_labelling, optimum, tiny_field
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from linkfield._rows import DenseRows
from linkfield.field import EntailedLinks
from linkfield.inference import ICM, InferenceResult, PottsField
from linkfield.inference._highs import Solver
from linkfield.inference._program import program_of
from linkfield.inference.explicit import explicit, parts
from linkfield.inference.linear_program import LinearProgram

seeds = st.integers(0, 2**32 - 1)
kinds = pytest.mark.parametrize(("wide", "hard"), [(w, h) for w in (0, 1) for h in (0, 1)])


def close(value: float) -> float:
    return 1e-9 * (1 + abs(value)) if np.isfinite(value) else 0.0


def bound_of(field: PottsField, **options: object) -> float:
    return LinearProgram(**options).solve(field, random_state=0).lower_bound


def components(count: int, seed: int, size: int = 5, extra: int = 1) -> PottsField:
    """Return components of ``size`` nodes, each a tree and ``extra`` edges, half of them apart."""
    rng = np.random.default_rng(seed)
    edges = []
    for c in range(count):
        edges += [(c * size + rng.integers(k), c * size + k) for k in range(1, size)]
        edges += [c * size + rng.choice(size, 2, replace=False) for _ in range(extra)]
    cost, must = rng.uniform(0.5, 1.5, len(edges)), rng.random(len(edges)) < 0.5
    unary = rng.uniform(0, 1, (count * size, 3))
    return PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))


def frustrated(seed: int, wide: bool = False) -> PottsField:
    """Return a field where links contradict each other and nodes hardly care."""
    rng = np.random.default_rng([seed, 3])
    n, K = int(rng.integers(4, 7)), int(rng.integers(2, 4))
    edges = [e for e in combinations(range(n), 2) if rng.random() < 0.8]
    cost = rng.uniform(0.5, 1.5, (len(edges), K) if wide else len(edges))
    must = (rng.random(len(edges)) < 0.5).reshape(-1, *[1] * wide)
    unary = rng.uniform(0, 0.3, (n, K))
    return PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))


# ---------------------------------------------------------------------------
# bounds


@kinds
def test_bound_optimum_energy(wide: bool, hard: bool) -> None:
    whole = raised = 0
    for seed in range(90):
        field = frustrated(seed, wide) if seed % 3 == 0 else tiny_field(seed, wide, hard)
        best, near = optimum(field), close(optimum(field))
        plain = LinearProgram(cuts=False).solve(field, random_state=seed)
        result = LinearProgram().solve(field, random_state=seed)
        for answer in (plain, result):
            assert answer.energy == field.energy(answer.labels)
            assert answer.lower_bound <= best + near
            assert answer.energy >= best - near
            assert answer.converged
            if answer.integral:
                whole += 1
                assert answer.energy <= best + near
                assert answer.optimal
        assert plain.lower_bound <= result.lower_bound + near
        raised += result.lower_bound > plain.lower_bound + 0.1
    assert 100 < whole < 170
    assert raised > 15


@kinds
def test_shares_trace_and_component_bounds(wide: bool, hard: bool) -> None:
    for seed in range(30):
        field = frustrated(seed, wide) if seed % 3 == 0 else tiny_field(seed, wide, hard)
        result = LinearProgram().solve(field, random_state=0)
        assert result.marginals is not None and result.component_bounds is not None
        np.testing.assert_allclose(result.marginals.sum(axis=1), 1.0)
        assert (result.marginals >= 0).all()
        near = 1e-9 * (1 + abs(result.lower_bound))
        assert result.trace is not None and len(result.trace) == result.n_iter
        assert (np.diff(result.trace) >= -near).all()
        assert abs(result.trace[-1] - result.lower_bound) <= near
        assert len(result.component_bounds) == int(field.connected.max()) + 1
        for c, bound in enumerate(result.component_bounds):
            nodes = np.flatnonzero(field.connected == c)
            inner = np.isin(field.edges, nodes).all(axis=1)
            new = np.searchsorted(nodes, field.edges[inner])
            costs = field.agree_cost[inner], field.differ_cost[inner]
            alone = PottsField(field.unary[nodes], new, *costs)
            assert bound <= optimum(alone) + close(optimum(alone))
        assert abs(result.component_bounds.sum() - result.lower_bound) <= near


@given(seed=seeds)
def test_any_prices_prove_a_bound(seed: int) -> None:
    """Weak duality: whatever a solver returns, no bound exceeds the optimum."""
    rng = np.random.default_rng(seed)
    field = explicit(tiny_field(seed, wide=seed % 2 == 0))
    count = int(field.connected.max()) + 1
    program = program_of(field, np.ones(field.unary.shape, bool), field.connected, count)
    prices = rng.normal(0, rng.choice([0.1, 1.0, 100.0]), len(program.lower) - field.n_nodes)
    best = optimum(field)
    assert program.bounds(prices).sum() <= best + close(best)
    found = Solver(program).solve(np.inf)
    assert found.prices is not None
    assert program.bounds(found.prices).sum() <= best + close(best)


@pytest.mark.parametrize("wide", [False, True])
def test_labels_that_prices_rule_out_are_in_no_good_labelling(wide: bool) -> None:
    out = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        field = frustrated(seed, wide)
        everyone = np.ones(field.unary.shape, bool), np.zeros(field.n_nodes, np.int64)
        program = program_of(field, *everyone, 1)
        prices = Solver(program).solve(np.inf).prices
        if seed % 2 or prices is None:
            prices = rng.uniform(0, 0.3, len(program.lower) - field.n_nodes)
        labellings = every_labelling(field)
        energy = energies(field, labellings)
        gap = float(rng.uniform(0.0, 1.0))
        good = labellings[energy <= program.bounds(prices)[0] + gap]
        zero = program.ruled_out(prices, gap + 1e-9)[program.column]
        for i, h in np.argwhere(zero):
            assert (good[:, i] != h).all()
        out += int(zero.sum())
    assert out > 40


# ---------------------------------------------------------------------------
# the same value as other programs


def local_polytope(field: PottsField) -> float:
    """Solve the program with a column for every pair of labels of every edge."""
    n, K = field.unary.shape
    off = ~np.eye(K, dtype=bool)
    tables, rows, right = [field.unary.ravel()], [], []
    width = n * K + len(field.edges) * K * K
    for i in range(n):
        rows.append(np.zeros(width))
        rows[-1][i * K : (i + 1) * K] = 1.0
        right.append(1.0)
    for e, ends in enumerate(field.edges):
        a, d = (np.broadcast_to(c[e], K) for c in (field.agree_cost, field.differ_cost))
        tables.append(np.where(off, 0.5 * (d[:, None] + d), np.diag(a)).ravel())
        pairs = n * K + e * K * K + np.arange(K * K).reshape(K, K)
        for node, table in zip(ends, (pairs, pairs.T), strict=True):
            for h in range(K):
                rows.append(np.zeros(width))
                rows[-1][table[h]] = 1.0
                rows[-1][node * K + h] = -1.0
                right.append(0.0)
    answer = linprog(np.concatenate(tables), A_eq=np.array(rows), b_eq=right)
    assert answer.status == 0
    return float(answer.fun)


def program_of_the_paper(field: PottsField) -> float:
    """Solve the program of Bilenko & Basu 2004 as it is written in maths.md 4.3 (D2)."""
    n, K = field.unary.shape
    m = len(field.edges)
    weight = np.abs(field.agree_cost - field.differ_cost)
    must = field.differ_cost > field.agree_cost
    cost = [field.unary.ravel(), np.repeat(np.where(must, 0.5, 1.0) * weight, K)]
    above, below = [], []  # above·x <= below
    for e, (i, j) in enumerate(field.edges):
        for h in range(K):
            z, y, w = n * K + e * K + h, i * K + h, j * K + h
            signs = [{z: -1, y: 1, w: -1}, {z: -1, y: -1, w: 1}]
            rights = [0.0, 0.0]
            if not must[e]:
                signs, rights = [{z: 1, y: -1, w: -1}, {z: -1, y: 1, w: 1}], [0.0, 1.0]
            for entries, right in zip(signs, rights, strict=True):
                above.append(np.zeros((n + m) * K))
                above[-1][list(entries)] = list(entries.values())
                below.append(right)
    one = np.zeros((n, (n + m) * K))
    for i in range(n):
        one[i, i * K : (i + 1) * K] = 1.0
    limits = {"A_ub": np.array(above), "b_ub": below} if m else {}
    answer = linprog(np.concatenate(cost), A_eq=one, b_eq=np.ones(n), **limits)
    assert answer.status == 0
    return float(answer.fun + np.minimum(field.agree_cost, field.differ_cost).sum())


def moderate(seed: int, wide: bool) -> PottsField:
    """Return a tiny field without huge costs; wide ones with edges that want both."""
    field = explicit(tiny_field(seed, wide))
    rng = np.random.default_rng(seed)
    shape = field.agree_cost.shape
    if wide and seed % 2:
        return field.with_costs(field.unary, rng.normal(size=shape), rng.normal(size=shape))
    agree, differ = (np.minimum(c, 2.0) for c in (field.agree_cost, field.differ_cost))
    return field.with_costs(field.unary, agree - 0.1 * (seed % 3), differ)


@pytest.mark.parametrize("wide", [False, True])
def test_same_value_as_the_program_with_all_pairs_of_labels(wide: bool) -> None:
    for seed in range(50):
        field = frustrated(seed, wide) if seed % 4 == 0 else moderate(seed, wide)
        value = bound_of(field, cuts=False)
        assert value == pytest.approx(local_polytope(field), rel=1e-7, abs=1e-7)


def test_same_value_as_the_program_of_the_paper() -> None:
    """One column for a violated cannot-link is enough, and one row a label for a must-link."""
    for seed in range(40):
        field = frustrated(seed) if seed % 2 == 0 else moderate(seed, wide=False)
        value = bound_of(field, cuts=False)
        assert value == pytest.approx(program_of_the_paper(field), rel=1e-7, abs=1e-7)


def test_fields_of_must_links_are_whole() -> None:
    """With two labels that is a theorem; with more it holds for all of these."""
    for seed in range(0, 240, 3):  # every third kind is must-links only
        result = LinearProgram().solve(tiny_field(seed), random_state=0)
        assert result.integral
        assert result.optimal


# ---------------------------------------------------------------------------
# batches


def test_batches_and_single_calls_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [0]
    real = Solver.solve

    def counted(self: Solver, deadline: float) -> object:
        runs[0] += 1
        return real(self, deadline)

    monkeypatch.setattr(Solver, "solve", counted)
    field = components(200, seed=0)
    together = LinearProgram().solve(field, random_state=0)
    few, runs[0] = runs[0], 0
    alone = [LinearProgram().solve(part, random_state=0) for _, part in parts(field)]
    many, runs[0] = runs[0], 0
    one_each = LinearProgram(batch=1).solve(field, random_state=0)
    assert few < 12 and many > 200 and runs[0] > 200
    total = sum(answer.lower_bound for answer in alone)
    assert together.component_bounds is not None
    assert together.lower_bound == pytest.approx(total, abs=1e-8)
    assert one_each.lower_bound == pytest.approx(total, abs=1e-8)
    assert sum(answer.energy for answer in alone) == pytest.approx(together.energy, rel=0.01)
    order = [field.connected[nodes[0]] for nodes, _ in parts(field)]
    singles = np.array([answer.lower_bound for answer in alone])
    np.testing.assert_allclose(together.component_bounds[order], singles, atol=1e-8)


@given(seed=seeds)
def test_the_order_of_nodes_and_constants_do_not_matter(seed: int) -> None:
    field = explicit(tiny_field(seed, wide=seed % 2 == 0))
    rng = np.random.default_rng(seed)
    new = rng.permutation(field.n_nodes)
    back = np.argsort(new)
    moved = PottsField(field.unary[back], new[field.edges], field.agree_cost, field.differ_cost)
    value = bound_of(field, cuts=False)
    assert bound_of(moved, cuts=False) == pytest.approx(value, rel=1e-8, abs=1e-8)
    shift = rng.normal(size=(field.n_nodes, 1))
    shifted = bound_of(field.with_unary(field.unary + shift), cuts=False)
    assert shifted == pytest.approx(value + shift.sum(), rel=1e-8, abs=1e-8)


def test_equal_columns_are_plain_costs() -> None:
    for seed in range(20):
        field = explicit(tiny_field(seed))
        wide = PottsField(
            field.unary,
            field.edges,
            np.repeat(field.agree_cost[:, None], field.n_labels, axis=1),
            np.repeat(field.differ_cost[:, None], field.n_labels, axis=1),
        )
        one, other = (LinearProgram().solve(f, random_state=0) for f in (field, wide))
        assert one.lower_bound == pytest.approx(other.lower_bound, abs=1e-12)
        np.testing.assert_array_equal(one.labels, other.labels)


# ---------------------------------------------------------------------------
# labels


@pytest.mark.parametrize("polish", [False, True])
def test_never_worse_than_the_start(polish: bool) -> None:
    for seed in range(40):
        field = frustrated(seed) if seed % 2 else tiny_field(seed, hard=seed % 4 == 0)
        start = np.random.default_rng(seed).integers(0, field.n_labels, field.n_nodes)
        result = LinearProgram(polish=polish).solve(field, start, random_state=seed)
        reached = ICM().solve(field, start, seed).energy if polish else field.energy(start)
        assert result.energy <= reached + close(reached)


def test_same_seed_same_labels() -> None:
    field = components(3, seed=1, size=12, extra=12)
    one, other = (LinearProgram().solve(field, random_state=5) for _ in range(2))
    np.testing.assert_array_equal(one.labels, other.labels)


def test_entailed_links() -> None:
    """Links that blocks entail are written out; they are bounded like all others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 2))
    links = EntailedLinks(
        np.array([0, 0, 0, 1, 1, -1, -1]), np.array([[0, 1]]), np.array([[5, 0]]), 0.5,
        np.ones(7), (X**2).sum(axis=1)[None] / 2, [DenseRows(X)], np.array([9.0]),
    )  # fmt: skip
    field = PottsField(rng.uniform(0, 1, (7, 3)), [(5, 6)], 0.0, 0.7, links)
    best = optimum(field.written_out())
    result = LinearProgram().solve(field, random_state=0)
    assert result.energy == field.energy(result.labels)
    assert result.lower_bound <= best + 1e-9
    assert result.energy == pytest.approx(best)
    assert result.component_bounds is not None
    assert len(result.component_bounds) == int(field.connected.max()) + 1


# ---------------------------------------------------------------------------
# limits and edges


def hard_field(n: int, K: int, m: int) -> PottsField:
    rng = np.random.default_rng(0)
    pairs = np.array(list(combinations(range(n), 2)))
    edges = pairs[rng.choice(len(pairs), m, replace=False)]
    cost, must = rng.uniform(0.5, 1.5, m), rng.random(m) < 0.5
    unary = rng.uniform(0, 1, (n, K))
    return PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))


@pytest.mark.parametrize("limit", [1e-9, 0.05, 0.4])
def test_time_limit(limit: float) -> None:
    field = hard_field(150, 5, 800)
    LinearProgram(cuts=False).solve(hard_field(20, 3, 30))  # load what is compiled
    before = time.monotonic()
    result = LinearProgram(time_limit=limit).solve(field, random_state=0)
    assert time.monotonic() - before < limit + 2.0
    assert not result.converged
    assert not result.integral
    assert result.lower_bound >= field.unary.min(axis=1).sum() - 1e-9
    assert result.lower_bound < result.energy == field.energy(result.labels)
    assert ICM().solve(field, result.labels, 0).energy == pytest.approx(result.energy)


def check(result: InferenceResult, energy: float) -> None:
    assert result.energy == pytest.approx(energy)
    assert result.lower_bound == pytest.approx(energy)
    assert result.integral and result.converged


def test_small_and_empty_fields() -> None:
    empty = LinearProgram().solve(PottsField(np.empty((0, 3)), (), (), ()))
    assert empty.labels.shape == (0,) and empty.marginals is not None
    assert empty.marginals.shape == (0, 3)
    check(empty, 0.0)
    check(LinearProgram().solve(PottsField([[2.0], [3.0]], [(0, 1)], 0.5, 9.0)), 5.5)
    check(LinearProgram().solve(PottsField([[2.0, 1.0], [3.0, 4.0]], (), (), ())), 4.0)
    check(LinearProgram().solve(PottsField(np.zeros((3, 2)), [(0, 1)], 0.0, 0.0)), 0.0)
    check(LinearProgram().solve(PottsField(np.zeros((2, 2)), [(0, 1)], -3.0, -1.0)), -3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cut_rounds": -1}, "cut_rounds must be an integer of at least 0"),
        ({"rounding_trials": 1.5}, "rounding_trials must be an integer"),
        ({"batch": 0}, "batch must be an integer of at least 1"),
        ({"time_limit": 0.0}, "time_limit must be a number of seconds above 0, or None"),
        ({"time_limit": np.nan}, "time_limit must be a number of seconds above 0, or None"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    method = LinearProgram(**options)  # parameters are looked at when they are used
    with pytest.raises(ValueError, match=message):
        method.solve(tiny_field(1))


def test_bad_start() -> None:
    with pytest.raises(ValueError, match="start must give each of the"):
        LinearProgram().solve(tiny_field(1), np.array([99]))


def test_parameters_are_all_there_is() -> None:
    method = LinearProgram(cut_rounds=3)
    fresh = LinearProgram(cut_rounds=3)
    method.solve(tiny_field(5))
    assert method == fresh
    assert pickle.loads(pickle.dumps(method)) == fresh
    assert LinearProgram(**method.get_params()) == fresh
