"""The dual bound holds, never falls, and is tight on trees."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from fields import energies, entailed_field, every_labelling, forest_field, optimum, tiny_field
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import ICM, InferenceResult, PottsField, bound
from linkfield.inference._message_layout import Layout
from linkfield.inference.bound import certified, lower_bound
from linkfield.inference.explicit import explicit, parts
from linkfield.inference.trees import tree_components

seeds = st.integers(0, 2**32 - 1)


def near(value: float) -> float:
    return 1e-9 * (1 + abs(value))


def ring(seed: int, wide: bool = False) -> PottsField:
    """Return twenty nodes in a circle, one or three columns of costs."""
    rng = np.random.default_rng(seed)
    edges = [(i, (i + 1) % 20) for i in range(20)]
    costs = rng.random((2, 20, 3) if wide else (2, 20))
    return PottsField(rng.random((20, 3)), edges, *costs)


def exact_optimum(field: PottsField) -> Fraction:
    """Return the least energy without any rounding, among all labellings that come near it."""
    labellings = every_labelling(field)
    rough = energies(field, labellings)
    close = labellings[rough <= rough.min() + 1e-6 * (1 + abs(rough.min()))][:50]
    found = []
    for labels in close.tolist():
        total = sum((Fraction(U[h]) for U, h in zip(field.unary, labels, strict=True)), Fraction())
        for e, (i, j) in enumerate(field.edges.tolist()):
            agree, differ = np.atleast_1d(field.agree_cost[e]), np.atleast_1d(field.differ_cost[e])
            a, b = (labels[i], labels[j]) if len(agree) > 1 else (0, 0)
            mean = (Fraction(differ[a]) + Fraction(differ[b])) / 2
            total += Fraction(agree[a]) if labels[i] == labels[j] else mean
        found.append(total)
    return min(found)


# ---------------------------------------------------------------------------
# what every bound obeys


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_the_bound_is_below_the_optimum_and_tight_on_forests(wide: bool, hard: bool) -> None:
    tight = forests = 0
    for seed in range(125):
        field = tiny_field(seed, wide, hard)
        best, found = optimum(field), lower_bound(field)
        assert np.isfinite(found.value)
        assert found.value <= best
        assert len(found.trace) == found.n_iter
        tight += found.value >= best - near(best)
        if tree_components(explicit(field)).all():
            forests += 1
            assert found.n_iter == 0 and found.converged
            if np.isfinite(best):  # else the bound is that of the least violation
                assert found.value >= best - near(best)
    assert forests > 20
    assert tight > (80 if hard else 110)  # infeasible fields have no finite optimum


def test_the_bound_holds_without_any_tolerance() -> None:
    """Not even a rounding error above the optimum, computed in fractions."""
    for seed in range(80):
        field = explicit(tiny_field(seed, wide=seed % 2 == 0, hard=seed % 5 == 0))
        assert Fraction(lower_bound(field).value) <= exact_optimum(field)
        forest = forest_field(seed, wide=seed % 2 == 0)
        assert Fraction(lower_bound(forest).value) <= exact_optimum(forest)


def test_rounding_never_lifts_the_value_of_given_duals() -> None:
    """Large duals where costs are large: what is left of them is mostly rounding."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        duals = rng.random((1, 2, 3)) * rng.choice([1.0, 1e8], 3)
        half = duals[0].max(axis=0) + rng.random(3)
        agree = duals[0].sum(axis=0) + rng.random(3)
        field = PottsField(rng.random((2, 3)), [(0, 1)], agree[None], 2 * half[None])
        ascent = bound._Ascent(Layout(field), tol=0.0)
        ascent.duals = duals
        x, y = ([Fraction(v) for v in part] for part in duals[0])
        nodes = [min(Fraction(u) + d for u, d in zip(U, part, strict=True))
                 for U, part in zip(field.unary, (x, y), strict=True)]  # fmt: skip
        same = min(Fraction(a) - d - f for a, d, f in zip(agree, x, y, strict=True))
        other = min(
            Fraction(half[h]) + Fraction(half[k]) - x[h] - y[k]
            for h in range(3) for k in range(3) if h != k
        )  # fmt: skip
        ascent._look_at(np.ones(1, dtype=bool))
        assert Fraction(ascent._value()[0]) <= sum(nodes) + min(same, other)


@pytest.mark.parametrize("dual", [0.1, 0.3, 0.7, 1.1])
def test_rounding_of_a_sum_of_many_duals(dual: float) -> None:
    n = 100_000
    star = PottsField(np.zeros((n + 1, 1)), [(0, i) for i in range(1, n + 1)], dual, 0.0)
    ascent = bound._Ascent(Layout(star), tol=0.0)
    ascent.duals[:] = [[dual], [0.0]]  # the edges hand all their cost to the centre
    ascent._look_at(np.ones(1, dtype=bool))
    assert Fraction(ascent._value()[0]) <= n * Fraction(dual)


@pytest.mark.parametrize("cycle", [False, True])
def test_all_but_forbidden_labels_do_not_blur_the_bound(cycle: bool) -> None:
    """Costs of 1e12 round to 1e-4, which must not show in a bound of about 10."""
    rng = np.random.default_rng(0)
    n = 20
    unary = rng.random((n, 2))
    unary[::5, 1] = 1e12
    edges = [(i, (i + 1) % n) for i in range(n if cycle else n - 1)]
    field = PottsField(unary, edges, 0.0, 1e12)
    best = float(unary[:, 0].sum())
    found = lower_bound(field).value
    assert best - near(best) <= found <= best


@pytest.mark.parametrize("wide", [False, True])
def test_no_iteration_lowers_the_dual_value(wide: bool) -> None:
    """The value itself, not the best one so far, which the trace reports."""
    rose = 0
    for seed in range(60):
        field = tiny_field(seed, wide) if seed % 2 else ring(seed, wide)
        ascent = bound._Ascent(Layout(explicit(field)), tol=0.0)
        before = ascent.bounds.copy()
        for k in range(30):
            busy = ascent.busy.copy()
            if not busy.any():
                break
            ascent.iterate(backwards=k % 2 == 1)
            value = ascent._value()
            still = busy & ascent.busy
            assert (value >= before - 1e-10 * (1 + abs(before)))[still].all()
            rose += int((value > before + 1e-9)[still].sum())
            before = np.where(still, value, before)
    assert rose > 50


def test_the_trace_never_falls_and_ends_at_the_value() -> None:
    long = 0
    for seed in range(60):
        found = lower_bound(tiny_field(seed))
        assert (np.diff(found.trace) >= 0).all()
        if found.n_iter:
            long += found.n_iter > 5
            assert found.trace[-1] == found.value
            start = lower_bound(tiny_field(seed), max_iter=0)
            assert start.value <= found.trace[0] and not start.converged
    assert long > 5


@pytest.mark.parametrize("wide", [False, True])
def test_components_one_by_one_have_the_same_bounds(wide: bool) -> None:
    for seed in range(40):
        field = explicit(tiny_field(seed, wide))
        together = lower_bound(field)
        alone = np.array([lower_bound(part).value for _, part in parts(field)])
        np.testing.assert_allclose(together.by_component, alone, rtol=1e-9, atol=1e-9)
        least = [optimum(part) for _, part in parts(field)]
        assert (together.by_component <= np.array(least)).all()
        np.testing.assert_allclose(together.value, together.by_component.sum(), rtol=1e-12)


@given(seed=seeds)
def test_one_column_or_equal_columns(seed: int) -> None:
    field = tiny_field(seed % 10_000)
    columns = [
        np.repeat(c[:, None], field.n_labels, 1) for c in (field.agree_cost, field.differ_cost)
    ]
    same = PottsField(field.unary, field.edges, *columns)
    found, again = lower_bound(field), lower_bound(same)
    np.testing.assert_allclose(again.value, found.value, rtol=1e-9, atol=1e-9)


@given(seed=seeds)
def test_a_constant_on_a_node_shifts_the_bound(seed: int) -> None:
    field = tiny_field(seed % 10_000)
    rng = np.random.default_rng(seed)
    shift = rng.normal(size=field.n_nodes) * 5
    moved = field.with_unary(field.unary + shift[:, None])
    expected = lower_bound(field, tol=0).value + shift.sum()
    np.testing.assert_allclose(lower_bound(moved, tol=0).value, expected, rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------------------
# when to stop


def frustrated() -> PottsField:
    """Four nodes that must all differ, with three labels: a gap that no dual closes."""
    edges = [(i, j) for i in range(4) for j in range(i)]
    return PottsField(np.zeros((4, 3)), edges, 1.0, 0.0)


def test_a_gap_of_the_relaxation_stays() -> None:
    found = lower_bound(frustrated())
    assert found.converged and found.value <= 1e-9
    assert optimum(frustrated()) == 1.0


def test_the_target_stops_it() -> None:
    for seed in range(200):
        field = tiny_field(seed)
        free = lower_bound(field)
        if free.n_iter >= 10 and free.value > optimum(field) - 1e-10:
            break
    else:
        pytest.fail("no field needs ten iterations")
    aimed = lower_bound(field, target=optimum(field))
    assert aimed.converged and aimed.n_iter < free.n_iter
    assert aimed.value >= optimum(field) - near(optimum(field))
    low = lower_bound(field, target=-100.0)
    assert low.n_iter == 0 and low.converged
    assert lower_bound(field, target=np.inf).n_iter == free.n_iter


def test_running_out_of_iterations_is_told() -> None:
    field = ring(0)
    short, long = lower_bound(field, max_iter=1), lower_bound(field)
    assert not short.converged and short.n_iter == 1
    assert long.converged and long.value > short.value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_iter": -1}, "max_iter must be at least 0; got -1"),
        ({"tol": -1e-3}, "tol must be a number from 0 on"),
        ({"tol": np.nan}, "tol must be a number from 0 on"),
        ({"target": np.nan}, "target must be an energy"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lower_bound(frustrated(), **options)


# ---------------------------------------------------------------------------
# shapes and sizes


@pytest.mark.parametrize(
    ("unary", "edges", "value"),
    [(np.empty((0, 3)), (), 0.0), ([[2.0, 1.0]], (), 1.0), ([[1.0], [2.0]], [(0, 1)], 8.0)],
    ids=["empty", "one node", "one label"],
)
def test_smallest_fields(
    unary: list[list[float]], edges: list[tuple[int, int]], value: float
) -> None:
    found = lower_bound(PottsField(unary, edges, 5.0, 0.0))
    assert value - 1e-12 <= found.value <= value and found.converged
    assert found.by_component.shape == (1 if len(unary) else 0,)


def test_a_long_chain_and_many_cycles_are_no_matter() -> None:
    rng = np.random.default_rng(3)
    n = 60_000
    chain = np.column_stack([np.arange(n // 2 - 1), np.arange(1, n // 2)])
    first = n // 2 + 3 * np.arange(n // 6)[:, None]
    triangles = (first[:, None, :] + np.array([[0, 1], [1, 2], [0, 2]])).reshape(-1, 2)
    edges = np.concatenate([chain, triangles])
    field = PottsField(rng.random((n, 3)), edges, 0.0, rng.random(len(edges)))
    found = lower_bound(field)
    answer = certified(ICM().solve(field, random_state=0), field)
    assert found.value <= answer.energy
    assert len(found.by_component) == 1 + n // 6
    assert answer.gap <= 0.05 * answer.energy


# ---------------------------------------------------------------------------
# entailed links, and certificates


def test_entailed_links_are_written_out_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    weaker = 0
    for seed in range(30):
        field = entailed_field(seed)
        monkeypatch.setattr(bound, "explicit", explicit)
        best, written = optimum(field.written_out()), lower_bound(field)
        monkeypatch.setattr(bound, "explicit", partial(explicit, budget=3))
        without = lower_bound(field)
        assert without.value <= best + 1e-12
        assert written.value <= best + 1e-12
        assert len(without.by_component) == len(np.unique(field.connected)) == 1
        np.testing.assert_allclose(without.by_component.sum(), without.value, atol=1e-12)
        weaker += without.value < written.value - 1e-6
    assert weaker > 15


def test_a_certificate_keeps_the_better_bound() -> None:
    proven = 0
    for seed in range(60):
        field = tiny_field(seed, wide=seed % 2 == 0)
        best = optimum(field)
        plain = ICM().solve(field, random_state=seed)
        sure = certified(plain, field)
        np.testing.assert_array_equal(sure.labels, plain.labels)
        assert sure.energy == plain.energy and sure.lower_bound <= best
        assert sure.component_bounds is not None
        np.testing.assert_allclose(sure.component_bounds.sum(), sure.lower_bound, rtol=1e-9)
        if sure.optimal:
            proven += 1
            assert plain.energy <= best + 2 * near(best)
        known = InferenceResult(plain.labels, plain.energy, best, component_bounds=None)
        assert certified(known, field, max_iter=0).lower_bound == best
    assert proven > 40


def test_a_certificate_takes_the_better_of_both_in_every_component() -> None:
    field = PottsField([[0.0, 1.0], [2.0, 3.0]], (), (), ())
    half = InferenceResult(
        np.array([0, 0]), 2.0, lower_bound=-np.inf, component_bounds=np.array([-np.inf, 2.0])
    )
    sure = certified(half, field)
    assert sure.optimal and sure.component_bounds is not None
    assert sure.component_bounds[1] == 2.0 and sure.component_bounds[0] > -1e-12
