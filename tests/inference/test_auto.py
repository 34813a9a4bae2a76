"""Auto: what it picks, that it tells, and that it is never worse than ICM."""

import numpy as np
import pytest
from fields import entailed_field, optimum, tiny_field

from linkfield import HMRFKMeans
from linkfield.inference import ICM, Auto, PottsField


def test_every_node_is_accounted_for():
    for seed in range(100):
        field = tiny_field(seed, wide=seed % 4 == 0)
        answer = Auto().solve(field, random_state=seed)
        assert sum(answer.chosen.values()) == field.n_nodes
        assert min(answer.chosen.values()) >= 0
        if answer.chosen["icm"] == 0:
            assert answer.energy == pytest.approx(optimum(field), rel=1e-9, abs=1e-9)
            assert answer.lower_bound == pytest.approx(answer.energy, rel=1e-9, abs=1e-6)


def ring(n, K, cost, seed=0):
    """A cycle of must-links with unaries that say little: nothing is certain."""
    edges = [(i, (i + 1) % n) for i in range(n)]
    return PottsField(np.random.default_rng(seed).uniform(0, 1, (n, K)), edges, 0.0, cost)


def test_trees_small_cycles_and_large_cycles_go_their_ways():
    chain = PottsField(np.random.default_rng(1).uniform(0, 1, (30, 3)),
                       [(i, i + 1) for i in range(29)], 0.0, 2.0)  # fmt: skip
    assert Auto().solve(chain, random_state=0).chosen["tree"] == 30
    small = Auto().solve(ring(8, 3, 2.0), random_state=0)
    assert small.chosen["enumeration"] == 8
    assert small.optimal
    large = Auto().solve(ring(40, 3, 2.0), random_state=0)
    assert large.chosen["icm"] + large.chosen["bp"] == 40
    few = Auto(enumerate_limit=10).solve(ring(8, 3, 2.0), random_state=0)
    assert few.chosen["enumeration"] == 0
    assert np.isfinite(large.lower_bound)
    assert large.lower_bound <= large.energy


def test_components_with_tables_keep_the_labels_of_icm():
    for seed in range(20):
        field = entailed_field(seed)
        answer = Auto().solve(field, random_state=seed)
        icm = ICM().solve(field, random_state=seed)
        np.testing.assert_array_equal(answer.labels, icm.labels)
        assert answer.chosen["icm"] == field.n_nodes
        assert answer.lower_bound == -np.inf


def test_never_worse_than_icm_on_larger_fields():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, m, K = 300, 330, 4
        edges = rng.integers(0, n, (m, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        must, cost = rng.random(len(edges)) < 0.5, rng.uniform(0, 1, len(edges))
        field = PottsField(
            rng.uniform(0, 1, (n, K)), edges, np.where(must, 0, cost), np.where(must, cost, 0)
        )
        start = rng.integers(0, K, n)
        answer = Auto().solve(field, start, random_state=seed)
        assert answer.energy <= ICM().solve(field, start, random_state=seed).energy + 1e-9
        assert answer.energy == pytest.approx(field.energy(answer.labels))


def test_a_bad_limit_is_refused():
    with pytest.raises(ValueError, match="enumerate_limit"):
        Auto(enumerate_limit=-1).solve(ring(4, 2, 1.0))


@pytest.mark.parametrize("name", ["bp", "lp", "mean-field", "exact"])
def test_too_many_entailed_links_are_refused_with_the_remedy(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7_000, 2)), np.arange(7_000) % 2
    with pytest.raises(ValueError, match="closure=False") as caught:
        HMRFKMeans(2, inference=name, random_state=0, max_iter=2).fit(X, partial_labels=y)
    assert "'icm'" in str(caught.value)


@pytest.mark.parametrize("name", ["icm", "auto"])
def test_tables_are_fine_for_icm_and_auto(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(7_000, 2)), np.arange(7_000) % 2
    model = HMRFKMeans(2, inference=name, random_state=0, max_iter=2, certify=True)
    model.fit(X, partial_labels=y)
    assert model.lower_bound_ <= model.objective_
