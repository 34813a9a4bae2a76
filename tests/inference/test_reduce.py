"""What is settled before any search changes neither the optimum nor the relaxation."""

import numpy as np
import pytest
from fields import energies, every_labelling, optimum, tiny_field

from linkfield.inference import PottsField
from linkfield.inference._reduce import narrowed, reduced
from linkfield.inference.explicit import explicit


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("hard", [False, True])
def test_the_best_labelling_survives(wide: bool, hard: bool) -> None:
    settled = dropped = 0
    for seed in range(80):
        field = explicit(tiny_field(seed, wide, hard))
        left = reduced(field)
        assert (left.labels[left.nodes] == -1).all()
        assert (left.allowed.sum(axis=1) >= 2).all()
        labels = left.labels.copy()
        labels[left.nodes] = 0
        low = np.inf
        if len(left.nodes):
            inner = every_labelling(left.field)
            inner = inner[left.allowed[np.arange(len(left.nodes)), inner].all(axis=1)]
            low = energies(left.field, inner).min()
        total = left.constant.sum() + (low if len(left.nodes) else 0.0)
        np.testing.assert_allclose(total, optimum(field), rtol=1e-9, atol=1e-9)
        settled += int((left.labels >= 0).sum())
        dropped += int((~left.allowed).sum())
    assert settled > 50
    assert dropped > 0


@pytest.mark.parametrize("wide", [False, True])
def test_energies_add_up_around_settled_nodes(wide: bool) -> None:
    rng = np.random.default_rng(0)
    for seed in range(60):
        field = explicit(tiny_field(seed, wide))
        left = reduced(field)
        labels = np.where(left.labels < 0, 0, left.labels)
        labels[left.nodes] = rng.integers(0, field.n_labels, len(left.nodes))
        total = left.constant.sum() + left.field.energy(labels[left.nodes])
        np.testing.assert_allclose(total, field.energy(labels), rtol=1e-9, atol=1e-9)


def test_nodes_without_links_and_settled_chains() -> None:
    """The first node of a chain is sure of its label, which settles the others one by one."""
    n = 30
    unary = np.zeros((n, 3))
    unary[0] = [0.0, 5.0, 5.0]
    unary[1:, 1:] = 0.5  # a link alone could still change the mind of a node
    field = PottsField(unary, [(i, i + 1) for i in range(n - 1)], 0.0, np.full(n - 1, 1.0))
    np.testing.assert_array_equal(reduced(field).labels, np.zeros(n))
    lonely = PottsField([[1.0, 0.5, 0.5]] * 4, (), (), ())
    np.testing.assert_array_equal(reduced(lonely).labels, np.ones(4))


def test_costs_of_equal_columns_become_one() -> None:
    field = tiny_field(4, wide=True)
    flat = field.with_costs(
        field.unary,
        np.repeat(field.agree_cost[:, :1], field.n_labels, axis=1),
        np.repeat(field.differ_cost[:, :1], field.n_labels, axis=1),
    )
    assert narrowed(flat).agree_cost.ndim == 1
    labellings = every_labelling(field)
    np.testing.assert_allclose(energies(narrowed(flat), labellings), energies(flat, labellings))
    assert narrowed(field) is field
