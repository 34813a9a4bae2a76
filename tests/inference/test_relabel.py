"""Renaming moves: no permutation of a connected component's labels is left that helps."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import ICM, PottsField
from linkfield.inference.relabel import renamed


def random_field(seed, per_label=False):
    rng = np.random.default_rng(seed)
    n, K, m = int(rng.integers(2, 9)), int(rng.integers(2, 5)), int(rng.integers(1, 10))
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    shape = (m, K) if per_label else m
    unary = rng.random((n, K))
    if rng.random() < 0.3:
        unary[0, 1:] = np.inf
    return PottsField(unary, edges, rng.random(shape), rng.random(shape)), rng


def best_renaming(field, labels):
    """The least energy over all permutations, component by component, by brute force."""
    best = labels.copy()
    for c in np.unique(field.connected):
        mine = field.connected == c
        if mine.sum() == 1:
            continue  # a lone node moves by itself
        options = []
        for names in permutations(range(field.n_labels)):
            trial = best.copy()
            trial[mine] = np.array(names)[labels[mine]]
            options.append((field.energy(trial), names))
        names = min(options)[1]
        best[mine] = np.array(names)[labels[mine]]
    return field.energy(best)


@given(st.integers(0, 10_000))
def test_renaming_is_the_best_permutation_of_every_component(seed):
    field, rng = random_field(seed)
    labels = rng.integers(0, field.n_labels, field.n_nodes)
    better = renamed(field, labels)
    energy = field.energy(labels if better is None else better)
    expected = best_renaming(field, labels)
    assert energy == expected or abs(energy - expected) < 1e-9


@given(st.integers(0, 10_000))
def test_with_costs_a_label_the_energy_never_rises(seed):
    field, rng = random_field(seed, per_label=True)
    labels = rng.integers(0, field.n_labels, field.n_nodes)
    better = renamed(field, labels)
    assert better is None or field.energy(better) < field.energy(labels)


@given(st.integers(0, 10_000))
def test_icm_leaves_no_renaming_that_helps(seed):
    field, _ = random_field(seed)
    result = ICM().solve(field, random_state=seed)
    assert best_renaming(field, result.labels) >= result.energy - 1e-9


def test_two_groups_in_each_others_cluster_change_places():
    """Neither can leave alone: the other is in the way. Single moves are stuck there."""
    unary = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    edges = [(0, 1), (2, 3), (0, 2), (1, 3)]
    field = PottsField(unary, edges, [0, 0, 50, 50], [50, 50, 0, 0])
    stuck = np.array([0, 0, 1, 1])
    assert ICM(component_moves=False).solve(field, stuck, random_state=0).energy == 4.0
    assert ICM().solve(field, stuck, random_state=0).labels.tolist() == [1, 1, 0, 0]
