"""Roundings keep the shares on average, and never exceed what they promise."""

import numpy as np
import pytest
from fields import every_labelling, tiny_field
from hypothesis import given
from hypothesis import strategies as st

from linkfield.inference import ICM, PottsField
from linkfield.inference.explicit import explicit
from linkfield.inference.rounding import (
    best_rounding,
    better_of,
    component_energies,
    independent_energy,
    kleinberg_tardos,
    one_by_one,
)

seeds = st.integers(0, 2**32 - 1)


def random_shares(field: PottsField, rng: np.random.Generator) -> np.ndarray:
    return rng.dirichlet(np.full(field.n_labels, 0.5), field.n_nodes)


def test_kleinberg_tardos_gives_labels_their_shares_and_keeps_like_nodes_together() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 5)
    shares[1] = shares[0]  # the same shares: always the same label
    shares[2] = [0.0, 1.0, 0.0]
    trials = 20_000
    labels = np.array([kleinberg_tardos(shares, rng) for _ in range(trials)])
    found = np.array([(labels == h).mean(axis=0) for h in range(3)]).T
    np.testing.assert_allclose(found, shares, atol=4 * 0.5 / np.sqrt(trials))
    assert (labels[:, 0] == labels[:, 1]).all()
    assert (labels[:, 2] == 1).all()
    for i in range(5):
        for j in range(5):
            apart = (labels[:, i] != labels[:, j]).mean()
            assert apart <= np.abs(shares[i] - shares[j]).sum() + 0.02


@pytest.mark.parametrize("wide", [False, True])
def test_the_mean_energy_of_independent_draws(wide: bool) -> None:
    for seed in range(20):
        field = explicit(tiny_field(seed, wide))
        shares = random_shares(field, np.random.default_rng(seed))
        labellings = every_labelling(field)
        chance = np.prod(shares[np.arange(field.n_nodes), labellings], axis=1)
        mean = sum(p * field.energy(L) for p, L in zip(chance, labellings, strict=True))
        np.testing.assert_allclose(independent_energy(field, shares), mean, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("wide", [False, True])
@given(seed=seeds)
def test_one_by_one_is_no_worse_than_the_mean(wide: bool, seed: int) -> None:
    field = explicit(tiny_field(seed, wide, hard=seed % 2 == 0))
    shares = random_shares(field, np.random.default_rng(seed))
    before = shares.copy()
    energy = field.energy(one_by_one(field, shares))
    mean = independent_energy(field, shares)
    assert energy <= mean + 1e-9 * (1 + abs(mean))
    np.testing.assert_array_equal(shares, before)


@given(seed=seeds)
def test_energies_of_components_add_up_and_the_better_one_is_kept(seed: int) -> None:
    field = explicit(tiny_field(seed, wide=seed % 2 == 0))
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, field.n_labels, (2, field.n_nodes))
    component, count = field.connected, int(field.connected.max()) + 1
    first, second = (component_energies(field, L, component, count) for L in (one, other))
    np.testing.assert_allclose(first.sum(), field.energy(one), rtol=1e-12, atol=1e-12)
    mixed = better_of(field, component, one, other)
    expected = np.minimum(first, second)
    np.testing.assert_allclose(component_energies(field, mixed, component, count), expected)


@pytest.mark.parametrize("polish", [False, True])
def test_best_rounding_is_no_worse_than_any_single_one(polish: bool) -> None:
    for seed in range(30):
        field = explicit(tiny_field(seed))
        shares = random_shares(field, np.random.default_rng(seed))
        labels = best_rounding(field, shares, 5, polish, np.random.default_rng(seed))
        energy = field.energy(labels)
        single = one_by_one(field, shares)
        assert energy <= field.energy(single) + 1e-9
        if polish:
            improved = ICM().solve(field, labels, 0).energy
            assert improved >= energy - 1e-9 * (1 + abs(energy))  # nothing left for ICM to do


def test_whole_shares_are_taken_as_they_are() -> None:
    """Even where ICM would find something better: the caller has proven them."""
    field = PottsField([[0.0, 1.0]] * 2, [(0, 1)], 0.0, 1.0)
    labels = best_rounding(field, np.array([[0.0, 1.0]] * 2), 3, True, np.random.default_rng(0))
    np.testing.assert_array_equal(labels, [1, 1])


def test_nothing_to_round() -> None:
    field = PottsField(np.empty((0, 3)), (), (), ())
    shares, rng = np.empty((0, 3)), np.random.default_rng(0)
    assert best_rounding(field, shares, 3, True, rng).shape == (0,)
    assert kleinberg_tardos(shares, rng).shape == (0,)
