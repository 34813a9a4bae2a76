"""Belief propagation is exact on trees, good elsewhere, and says which is which."""

import numpy as np
import pytest
from fields import energies, entailed_field, every_labelling, forest_field, optimum, tiny_field
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import ICM, PottsField
from linkfield.inference._message_layout import Layout
from linkfield.inference.belief_propagation import BeliefPropagation, _Traffic
from linkfield.inference.explicit import explicit, parts
from linkfield.inference.trees import tree_components

seeds = st.integers(0, 2**32 - 1)
SCHEDULES = ["flooding", "random"]


def near(value: float) -> float:
    return 1e-9 * (1 + abs(value))


def enumerated(field: PottsField, temperature: float) -> np.ndarray:
    """Return P(l_i = h) under exp(−En/T), labelling by labelling."""
    labellings = every_labelling(field)
    cost = energies(field, labellings)
    share = np.exp(-(cost - cost.min()) / temperature)
    share /= share.sum()
    columns = [np.bincount(labels, share, field.n_labels) for labels in labellings.T]
    return np.array(columns).reshape(field.n_nodes, field.n_labels)


# ---------------------------------------------------------------------------
# trees


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_forests_are_solved_exactly(schedule: str, wide: bool) -> None:
    for seed in range(60):
        field = forest_field(seed, wide=wide)
        answer = BeliefPropagation(schedule=schedule, polish=False).solve(field, random_state=seed)
        best = optimum(field)
        assert abs(answer.energy - best) <= near(best)
        assert answer.converged and answer.n_iter == 0 and answer.marginals is None
        assert answer.optimal and answer.lower_bound <= answer.energy
        assert answer.component_bounds is not None
        least = [optimum(part) for _, part in parts(field)]
        np.testing.assert_allclose(answer.component_bounds, least, atol=1e-9)


@pytest.mark.parametrize("wide", [False, True])
def test_flooding_alone_settles_on_trees_within_their_diameter(wide: bool) -> None:
    """The messages themselves, without the passes from leaves to root: min-marginals."""
    for seed in range(40):
        field = forest_field(seed, wide=wide)
        layout = Layout(field)
        everything = np.ones(layout.n_components, dtype=bool)
        nodes, edges = layout.nodes_of(everything), layout.edges_of(everything)
        traffic = _Traffic(layout, 0.0)
        for _ in range(field.n_nodes):
            change = traffic.run(edges, nodes, 0.0, False)
        assert change.max(initial=0.0) <= 1e-12
        for nodes, part in parts(field):
            labellings = every_labelling(part)
            cost = energies(part, labellings)
            for at, i in enumerate(nodes):
                least = [cost[labellings[:, at] == h].min() for h in range(field.n_labels)]
                excess = traffic.sums[i] - traffic.sums[i].min()
                np.testing.assert_allclose(excess, least - min(least), atol=1e-9)
        labels = traffic.decoded(np.full(field.n_nodes, -1), everything)
        best = optimum(field)
        assert abs(field.energy(labels) - best) <= near(best)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_a_long_chain(temperature: float) -> None:
    n = 100_000
    rng = np.random.default_rng(0)
    chain = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    cost, must = rng.random(n - 1), rng.random(n - 1) < 0.5
    field = PottsField(rng.random((n, 3)), chain, np.where(must, 0, cost), np.where(must, cost, 0))
    answer = BeliefPropagation(temperature=temperature).solve(field)
    assert answer.converged and answer.n_iter == 0
    if temperature == 0:
        assert answer.optimal
        assert answer.energy <= ICM().solve(field, random_state=0).energy
    else:
        assert answer.marginals is not None
        np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0)
        # What lies far along the chain does not matter: a short piece has the same marginals.
        piece = slice(50_000 - 30, 50_000 + 30)
        inner = PottsField(
            field.unary[piece], chain[:59],
            field.agree_cost[piece][:59], field.differ_cost[piece][:59],
        )  # fmt: skip
        alone = BeliefPropagation(temperature=temperature).solve(inner).marginals
        assert alone is not None
        np.testing.assert_allclose(answer.marginals[50_000], alone[30], atol=1e-6)


def test_a_hard_tree_keeps_its_constraints() -> None:
    """Forbidden labels at the ends of a hard chain decide everything in between."""
    unary = np.zeros((5, 3))
    unary[0, [0, 1]] = np.inf
    field = PottsField(unary, [(i, i + 1) for i in range(4)], 0.0, np.inf)
    np.testing.assert_array_equal(BeliefPropagation().solve(field).labels, [2] * 5)
    unary[4, 2] = np.inf
    broken = BeliefPropagation().solve(field)
    assert broken.energy == np.inf and np.isfinite(broken.lower_bound)


# ---------------------------------------------------------------------------
# all fields


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_answers_obey_the_contract(schedule: str, wide: bool, hard: bool) -> None:
    hits = kept = trials = 0
    for seed in range(125):
        field = tiny_field(seed, wide, hard)
        method = BeliefPropagation(schedule=schedule)
        answer = method.solve(field, random_state=seed)
        best, forest = optimum(field), tree_components(explicit(field)).all()
        assert answer.energy == field.energy(answer.labels)
        assert answer.trace is not None and len(answer.trace) == answer.n_iter <= 200
        assert np.isfinite(answer.trace).all()
        assert np.isfinite(answer.lower_bound) == forest
        if np.isfinite(best):
            assert answer.lower_bound <= best + near(best)
            trials += 1
            hits += answer.energy <= best + near(best)
            kept += np.isfinite(answer.energy)
            if forest:
                assert answer.energy <= best + near(best)
    assert hits >= 0.95 * trials
    assert kept == trials


def test_better_than_icm_on_cannot_links() -> None:
    """Maths.md 4: with cycles of cannot-links single moves are stuck where messages are not."""
    gains = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = rng.integers(0, 40, (60, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        field = PottsField(rng.random((40, 3)), edges, rng.random(len(edges)) + 0.5, 0.0)
        gains.append(
            ICM().solve(field, random_state=seed).energy - BeliefPropagation().solve(field).energy
        )
    assert np.mean(gains) > 0.05
    assert np.mean(np.array(gains) >= -1e-9) >= 0.9


@pytest.mark.parametrize("polish", [False, True])
def test_components_one_by_one_get_the_same_labels(polish: bool) -> None:
    several = 0
    for seed in range(60):
        field = explicit(tiny_field(seed))
        method = BeliefPropagation(polish=polish)
        together = method.solve(field)
        several += len(np.unique(field.connected)) > 1
        for nodes, part in parts(field):
            np.testing.assert_array_equal(method.solve(part).labels, together.labels[nodes])
    assert several > 20


def test_entailed_links_are_written_out() -> None:
    hits = 0
    for seed in range(40):
        field = entailed_field(seed)
        answer = BeliefPropagation().solve(field)
        assert answer.energy == field.energy(answer.labels)
        best = optimum(field.written_out())
        hits += answer.energy <= best + 1e-9
    assert hits >= 38


@pytest.mark.parametrize("temperature", [0.0, 0.3])
@given(seed=seeds)
def test_the_names_of_nodes_do_not_matter(temperature: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = tiny_field(seed % 10_000)
    noise = rng.random(field.unary.shape)  # no ties, which names would decide
    field = field.with_unary(field.unary + noise)
    new = rng.permutation(field.n_nodes)  # node i becomes node new[i]
    unary = np.empty_like(field.unary)
    unary[new] = field.unary
    moved = PottsField(unary, new[field.edges], field.agree_cost, field.differ_cost)
    method = BeliefPropagation(temperature=temperature, polish=False, max_iter=50)
    answer, again = method.solve(field), method.solve(moved)
    np.testing.assert_allclose(again.energy, answer.energy)
    if answer.marginals is not None and again.marginals is not None:
        np.testing.assert_allclose(again.marginals[new], answer.marginals, atol=1e-8)


@given(seed=seeds)
def test_a_constant_on_a_node_changes_nothing_but_the_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = tiny_field(seed % 10_000)
    shift = rng.normal(size=field.n_nodes) * 3
    moved = field.with_unary(field.unary + shift[:, None])
    method = BeliefPropagation(temperature=0.2, max_iter=50, tol=0)
    answer, again = method.solve(field), method.solve(moved)
    np.testing.assert_allclose(again.energy, answer.energy + shift.sum(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again.marginals, answer.marginals, atol=1e-6)


@given(seed=seeds)
def test_one_column_or_equal_columns(seed: int) -> None:
    field = tiny_field(seed % 10_000)
    columns = [
        np.repeat(c[:, None], field.n_labels, 1) for c in (field.agree_cost, field.differ_cost)
    ]
    same = PottsField(field.unary, field.edges, *columns)
    for temperature in (0.0, 0.4):
        method = BeliefPropagation(temperature=temperature, polish=False)
        answer, again = method.solve(field), method.solve(same)
        np.testing.assert_allclose(again.energy, answer.energy, rtol=1e-9, atol=1e-9)
        assert again.n_iter == answer.n_iter


def test_the_random_schedule_follows_its_seed_and_flooding_needs_none() -> None:
    edges = [(i, j) for i in range(8) for j in range(i) if (i + j) % 3]
    rng = np.random.default_rng(0)
    field = PottsField(rng.random((8, 3)), edges, rng.random(len(edges)), rng.random(len(edges)))
    method = BeliefPropagation(schedule="random")
    traces = [method.solve(field, random_state=s).trace for s in (1, 1, 2)]
    np.testing.assert_array_equal(traces[0], traces[1])
    assert traces[0] is not None and traces[2] is not None
    assert len(traces[0]) != len(traces[2]) or (traces[0] != traces[2]).any()
    flooded = [BeliefPropagation().solve(field, random_state=s).trace for s in (1, None)]
    np.testing.assert_array_equal(flooded[0], flooded[1])


def test_polish_and_start() -> None:
    """The answer is never worse than the start; without polish the start does not count."""
    better = 0
    for seed in range(80):
        field = tiny_field(seed, wide=seed % 2 == 0)
        labellings = every_labelling(field)
        start = labellings[energies(field, labellings).argmin()]
        kept = start.copy()
        raw = BeliefPropagation(max_iter=1, polish=False)
        rough = raw.solve(field)
        polished = BeliefPropagation(max_iter=1).solve(field)
        guarded = BeliefPropagation(max_iter=1).solve(field, start)
        assert guarded.energy <= optimum(field) + near(optimum(field))
        assert polished.energy <= rough.energy + near(rough.energy)
        better += polished.energy < rough.energy - 1e-9
        np.testing.assert_array_equal(raw.solve(field, start).labels, rough.labels)
        np.testing.assert_array_equal(start, kept)
    assert better > 0


def test_the_answer_is_never_worse_than_the_start() -> None:
    """One iteration on a frustrated field is worse than many, unless those are where it starts."""
    missed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        edges = rng.integers(0, 40, (90, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        field = PottsField(rng.random((40, 3)), edges, rng.random(len(edges)) + 0.5, 0.0)
        good = BeliefPropagation().solve(field)
        hasty = BeliefPropagation(max_iter=1)
        missed += hasty.solve(field).energy > good.energy + 1e-9
        assert hasty.solve(field, good.labels).energy <= good.energy + 1e-9
    assert missed > 5


def decoded_by_hand(field: PottsField, messages: np.ndarray) -> list[int]:
    """Decode as maths.md 4.2 says, looking at all nodes again after every label."""
    beliefs = field.unary.copy()
    for (i, j), (to_i, to_j) in zip(field.edges, messages, strict=True):
        beliefs[i] += to_i
        beliefs[j] += to_j
    labels = np.full(field.n_nodes, -1)
    while (labels < 0).any():
        low = np.sort(beliefs, axis=1)
        gap = np.where(labels < 0, low[:, 1] - low[:, 0], -1.0)
        node = int(gap.argmax())
        labels[node] = beliefs[node].argmin()
        for e, ends in enumerate(field.edges.tolist()):
            if node in ends:
                side = 1 - ends.index(node)
                true = np.full(field.n_labels, field.differ_cost[e])
                true[labels[node]] = field.agree_cost[e]
                beliefs[ends[side]] += true - messages[e, side]
    return labels.tolist()


def test_decoding_takes_the_most_decided_node_first() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        edges = np.array([(i, j) for i in range(12) for j in range(i) if rng.random() < 0.3])
        field = PottsField(rng.random((12, 3)), edges, *rng.random((2, len(edges))))
        traffic = _Traffic(Layout(field), 0.0)
        traffic.messages[:] = rng.random(traffic.messages.shape)
        for (i, j), (to_i, to_j) in zip(edges, traffic.messages, strict=True):
            traffic.sums[i] += to_i
            traffic.sums[j] += to_j
        everything = np.ones(traffic.layout.n_components, dtype=bool)
        labels = traffic.decoded(np.full(12, -1), everything)
        assert labels.tolist() == decoded_by_hand(field, traffic.messages)


def test_running_out_of_iterations_is_told() -> None:
    rng = np.random.default_rng(1)
    edges = [(i, (i + 1) % 20) for i in range(20)]
    field = PottsField(rng.random((20, 3)), edges, rng.random(20), rng.random(20))
    short, long = BeliefPropagation(max_iter=2).solve(field), BeliefPropagation().solve(field)
    assert not short.converged and short.n_iter == 2
    assert long.converged and 2 < long.n_iter < 200
    assert long.trace is not None and long.trace[-1] < 1e-6 < long.trace[0]
    undamped = BeliefPropagation(damping=0.0).solve(field)
    assert undamped.converged and undamped.n_iter < long.n_iter


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_tolerance_knows_the_scale(scale: float) -> None:
    rng = np.random.default_rng(2)
    edges = [(i, (i + 1) % 20) for i in range(20)]
    costs = rng.random((2, 20))
    unary = rng.random((20, 3))
    answer = BeliefPropagation().solve(PottsField(unary, edges, *costs))
    scaled = BeliefPropagation().solve(PottsField(scale * unary, edges, *(scale * costs)))
    assert abs(scaled.n_iter - answer.n_iter) <= 1
    np.testing.assert_array_equal(scaled.labels, answer.labels)


# ---------------------------------------------------------------------------
# marginals


@pytest.mark.parametrize("temperature", [0.02, 0.3, 5.0])
@pytest.mark.parametrize("wide", [False, True])
def test_marginals_of_trees_are_exact(wide: bool, temperature: float) -> None:
    for seed in range(40):
        field = forest_field(seed, n=6, wide=wide)
        answer = BeliefPropagation(temperature=temperature).solve(field)
        np.testing.assert_allclose(answer.marginals, enumerated(field, temperature), atol=1e-9)
        assert answer.converged and answer.lower_bound == -np.inf


@pytest.mark.parametrize("temperature", [0.3, 50.0])
@pytest.mark.parametrize("wide", [False, True])
def test_marginals_under_hard_constraints_and_huge_costs(wide: bool, temperature: float) -> None:
    """Forbidden labels have probability 0 even where the temperature is above all other costs."""
    compared = 0
    for seed in range(150):
        field = tiny_field(seed, wide, hard=True)
        if not tree_components(explicit(field)).all() or not np.isfinite(optimum(field)):
            continue
        compared += 1
        answer = BeliefPropagation(temperature=temperature).solve(field)
        np.testing.assert_allclose(answer.marginals, enumerated(field, temperature), atol=1e-7)
        assert answer.marginals is not None
        assert (answer.marginals[np.isinf(field.unary)] == 0).all()
    assert compared > 40


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1e-12, 1e-3, 1.0, 1e12])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_marginals_are_probabilities_at_every_temperature(
    schedule: str, temperature: float
) -> None:
    method = BeliefPropagation(temperature=temperature, schedule=schedule, max_iter=30)
    for seed in range(40):
        field = tiny_field(seed, wide=seed % 2 == 0, hard=seed % 3 == 0)
        if seed % 4 == 0:
            field = PottsField(
                field.unary * 1e9, field.edges, field.agree_cost * 1e9, field.differ_cost * 1e9
            )
        answer = method.solve(field, random_state=seed)
        assert answer.marginals is not None
        assert answer.marginals.shape == field.unary.shape
        assert (answer.marginals >= 0).all()
        np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, rtol=1e-12)


def test_marginals_of_loose_loops_are_nearly_right() -> None:
    worst = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        edges = [(i, (i + 1) % 6) for i in range(6)]
        field = PottsField(rng.random((6, 3)), edges, 0.0, rng.random(6))
        answer = BeliefPropagation(temperature=1.0).solve(field)
        assert answer.converged
        worst.append(np.abs(answer.marginals - enumerated(field, 1.0)).max())
    assert np.max(worst) < 0.01


def test_cold_marginals_are_the_best_labels() -> None:
    for seed in range(40):
        field = forest_field(seed)
        answer = BeliefPropagation(temperature=1e-4).solve(field)
        assert answer.marginals is not None
        best = BeliefPropagation().solve(field)
        np.testing.assert_array_equal(answer.labels, best.labels)
        sure = answer.marginals.max(axis=1) > 0.99
        np.testing.assert_array_equal(answer.marginals.argmax(axis=1)[sure], best.labels[sure])
        assert sure.mean() > 0.5


# ---------------------------------------------------------------------------
# input


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_smallest_fields(temperature: float) -> None:
    method = BeliefPropagation(temperature=temperature)
    empty = method.solve(PottsField(np.empty((0, 3)), (), (), ()))
    assert len(empty.labels) == 0 and empty.energy == 0.0 and empty.converged
    one = method.solve(PottsField([[1.0], [2.0], [3.0]], [(0, 1), (1, 2), (0, 2)], 5.0, 0.0))
    np.testing.assert_array_equal(one.labels, [0, 0, 0])
    assert one.energy == 21.0 and one.converged
    free = method.solve(PottsField([[1.0, 0.5], [0.0, 2.0]], (), (), ()))
    np.testing.assert_array_equal(free.labels, [1, 0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"damping": 1.0}, r"damping must be None or in \[0, 1\); got 1.0"),
        ({"damping": -0.1}, r"damping must be None or in \[0, 1\)"),
        ({"damping": np.nan}, r"damping must be None or in \[0, 1\)"),
        ({"schedule": "tree"}, "schedule must be 'flooding' or 'random'; got 'tree'"),
        ({"max_iter": 0}, "max_iter must be at least 1; got 0"),
        ({"tol": -1.0}, "tol must be a number from 0 on"),
        ({"tol": np.nan}, "tol must be a number from 0 on"),
        ({"temperature": -1.0}, "temperature must be 0"),
        ({"temperature": np.inf}, "temperature must be 0"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, object], message: str) -> None:
    method = BeliefPropagation().set_params(**parameters)  # constructors only store
    with pytest.raises(ValueError, match=message):
        method.solve(PottsField(np.eye(2), (), (), ()))


def test_impossible_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="start must give each of the 2 nodes"):
        BeliefPropagation().solve(PottsField(np.eye(2), (), (), ()), np.array([0, 2]))
