"""Trees are solved exactly, however long, many or lopsided."""

import numpy as np
import pytest
from fields import energies, every_labelling, forest_field, optimum, tiny_field

from linkfield.inference import PottsField
from linkfield.inference.explicit import explicit, parts
from linkfield.inference.trees import solve_forest, tree_components


def near(value: float) -> float:
    return 1e-9 * (1 + abs(value))


def has_cycle(field: PottsField) -> bool:
    """Whether some set of nodes has as many edges among themselves: by stripping leaves."""
    edges = {tuple(edge) for edge in field.edges.tolist()}
    while edges:
        degree = np.bincount(np.array(list(edges)).ravel(), minlength=field.n_nodes)
        kept = {(i, j) for i, j in edges if degree[i] > 1 and degree[j] > 1}
        if kept == edges:
            return True
        edges = kept
    return False


@pytest.mark.parametrize("wide", [False, True])
def test_forests_by_brute_force(wide: bool) -> None:
    for seed in range(100):
        field = forest_field(seed, wide=wide)
        forest = solve_forest(field)
        assert forest.solved.all() and (forest.labels >= 0).all()
        best = optimum(field)
        assert abs(field.energy(forest.labels) - best) <= near(best)
        assert abs(forest.energies.sum() - best) <= near(best)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_trees_among_other_components(wide: bool, hard: bool) -> None:
    """Every tree gets its own minimum, huge costs and forbidden labels included."""
    trees = cycles = 0
    for seed in range(60):
        field = explicit(tiny_field(seed, wide, hard))
        forest = solve_forest(field)
        for c, (nodes, part) in enumerate(parts(field)):
            assert forest.solved[c] == (not has_cycle(part))
            if forest.solved[c]:
                trees += 1
                best = optimum(part)
                assert abs(forest.energies[c] - best) <= near(best)
                assert abs(part.energy(forest.labels[nodes]) - best) <= near(best)
            else:
                cycles += 1
                assert forest.energies[c] == -np.inf
                assert (forest.labels[nodes] == -1).all()
    assert trees > 50 and cycles > 10


def test_only_the_chosen_components_are_solved() -> None:
    field = forest_field(3, n=9)
    everything = solve_forest(field)
    for c in range(len(everything.solved)):
        chosen = np.arange(len(everything.solved)) == c
        forest = solve_forest(field, chosen)
        mine = field.connected == c
        np.testing.assert_array_equal(forest.labels[mine], everything.labels[mine])
        assert (forest.labels[~mine] == -1).all()
        assert forest.energies[c] == everything.energies[c]
        assert (forest.energies[~chosen] == -np.inf).all()


def test_costs_of_any_sign() -> None:
    rng = np.random.default_rng(0)
    for seed in range(40):
        field = forest_field(seed, n=6, wide=seed % 2 == 0)
        costs = [rng.normal(size=field.agree_cost.shape) * 3 for _ in range(2)]
        field = PottsField(rng.normal(size=field.unary.shape), field.edges, *costs)
        best = optimum(field)
        assert abs(field.energy(solve_forest(field).labels) - best) <= near(best)


@pytest.mark.parametrize("scale", [1.0, 1e9])
def test_a_long_chain(scale: float) -> None:
    """Against the textbook recursion in plain numpy, node after node."""
    n, K = 100_000, 3
    rng = np.random.default_rng(1)
    unary, cost, must = rng.random((n, K)), scale * rng.random(n - 1), rng.random(n - 1) < 0.5
    names = rng.permutation(n)
    shuffled = np.empty_like(unary)
    shuffled[names] = unary
    edges = np.column_stack([names[:-1], names[1:]])
    field = PottsField(shuffled, edges, np.where(must, 0, cost), np.where(must, cost, 0))
    forest = solve_forest(field)
    reach, same = unary[0], np.eye(K, dtype=bool)
    for i in range(1, n):
        price = np.where(same != must[i - 1], cost[i - 1], 0.0)
        reach = unary[i] + (reach[:, None] + price).min(axis=0)
    best = float(reach.min())
    assert abs(field.energy(forest.labels) - best) <= 1e-10 * best
    assert abs(forest.energies[0] - best) <= 1e-10 * best


def test_a_star_of_many_leaves() -> None:
    rng = np.random.default_rng(2)
    n, K = 2_000, 4
    field = PottsField(
        rng.random((n, K)), [(0, i) for i in range(1, n)], rng.random(n - 1), rng.random(n - 1)
    )
    by_centre = []
    for h in range(K):
        leaf = field.unary[1:] + field.differ_cost[:, None]
        leaf[:, h] = field.unary[1:, h] + field.agree_cost
        by_centre.append(field.unary[0, h] + leaf.min(axis=1).sum())
    np.testing.assert_allclose(field.energy(solve_forest(field).labels), min(by_centre))


@pytest.mark.parametrize(
    ("unary", "edges"),
    [(np.empty((0, 3)), ()), ([[2.0, 1.0]], ()), ([[1.0], [2.0]], [(0, 1)]), (np.eye(3), ())],
    ids=["empty", "one node", "one label", "no edges"],
)
def test_smallest_fields(unary: list[list[float]], edges: list[tuple[int, int]]) -> None:
    field = PottsField(unary, edges, 5.0, 0.0)
    forest = solve_forest(field)
    best = energies(field, every_labelling(field)).min() if field.n_nodes else 0.0
    assert field.energy(forest.labels) == forest.energies.sum() == best
    assert len(forest.energies) == len(np.unique(field.connected))


def test_what_is_refused() -> None:
    triangle = PottsField(np.eye(3), [(0, 1), (1, 2), (0, 2)], 0.0, 1.0)
    assert not tree_components(triangle).any()
    with pytest.raises(ValueError, match=r"component 0 has a cycle.*tree_components"):
        solve_forest(triangle, np.array([True]))
    with pytest.raises(ValueError, match=r"components must be a boolean array of shape \(1,\)"):
        solve_forest(triangle, [0, 1])
    hard = PottsField(np.eye(2), [(0, 1)], 0.0, np.inf)
    with pytest.raises(ValueError, match=r"finite costs.*explicit\(field\)"):
        solve_forest(hard)
