"""Explicit fields have finite costs, single edges and the same best labellings."""

import numpy as np
import pytest
from fields import energies, every_labelling, tiny_field

from linkfield.inference.explicit import explicit, parts


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_same_energies_where_nothing_hard_is_broken(seed: int, wide: bool) -> None:
    field = tiny_field(seed, wide, hard=seed % 2 == 0)
    plain = explicit(field)
    assert np.isfinite(plain.unary).all()
    assert np.isfinite(plain.agree_cost).all()
    assert np.isfinite(plain.differ_cost).all()
    low, high = np.sort(plain.edges, axis=1).T
    assert len(np.unique(low * 10 + high)) == len(plain.edges)
    labellings = every_labelling(field)
    before, after = energies(field, labellings), energies(plain, labellings)
    kept = np.isfinite(before)
    np.testing.assert_allclose(after[kept], before[kept], rtol=1e-12, atol=1e-12)
    if kept.any() and not kept.all():
        assert after[~kept].min() > after[kept].max(initial=-np.inf) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_parts_add_up(seed: int) -> None:
    field = explicit(tiny_field(seed))
    labels = np.random.default_rng(seed).integers(0, field.n_labels, field.n_nodes)
    found = list(parts(field))
    assert sorted(np.concatenate([nodes for nodes, _ in found])) == list(range(field.n_nodes))
    total = sum(sub.energy(labels[nodes]) for nodes, sub in found)
    np.testing.assert_allclose(total, field.energy(labels))
