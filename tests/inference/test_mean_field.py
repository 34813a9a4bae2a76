"""The mean field never goes up, is never below the field's own free energy, and is never NaN."""

from __future__ import annotations

import numpy as np
import pytest
from fields import energies, every_labelling, forest_field, tiny_field
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp, softmax

from linkfield._rows import DenseRows
from linkfield.field import EntailedLinks
from linkfield.inference import ICM, MeanField, PottsField
from linkfield.inference._free_energy import FreeEnergy, one_hot
from linkfield.inference.explicit import parts

seeds = st.integers(0, 2**32 - 1)
temperatures = st.sampled_from([0.05, 0.3, 1.0, 4.0])


def naive_free_energy(field, q, T):
    """F by loops over every pair of labels, from the definition."""
    K = field.n_labels
    total = 0.0
    for i in range(field.n_nodes):
        for h in range(K):
            if q[i, h] > 0:
                total += q[i, h] * (field.unary[i, h] + T * np.log(q[i, h]))
    for e, (i, j) in enumerate(field.edges):
        agree = np.broadcast_to(field.agree_cost[e], (K,))
        differ = np.broadcast_to(field.differ_cost[e], (K,))
        for h in range(K):
            for g in range(K):
                cost = agree[h] if h == g else 0.5 * (differ[h] + differ[g])
                total += q[i, h] * q[j, g] * cost
    return total


def scale(field):
    """How large the numbers are that a free energy is made of."""
    parts = (field.unary, field.agree_cost, field.differ_cost)
    return 1.0 + sum(float(np.abs(part[np.isfinite(part)]).sum()) for part in parts)


def log_partition(field, T):
    return float(logsumexp(-energies(field, every_labelling(field)) / T))


def best_response(field, q, i, T):
    """q_i ∝ exp(−expected cost/T), from the definition."""
    costs = []
    for h in range(field.n_labels):
        certain = q.copy()
        certain[i] = one_hot(np.array([h]), field.n_labels)
        costs.append(naive_free_energy(field, certain, 0.0))
    return softmax(-np.array(costs) / T)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("T", [0.1, 1.0, 10.0])
def test_laws_on_tiny_fields(wide, T):
    for seed in range(100):
        field = tiny_field(seed, wide=wide)
        result = MeanField(temperature=T).solve(field, random_state=seed)
        q, room = result.marginals, 1e-12 * scale(field)
        assert result.energy == field.energy(result.labels)
        assert result.lower_bound == -np.inf
        assert result.trace.shape == (result.n_iter,)
        assert_allclose(q.sum(axis=1), 1.0, rtol=1e-12)
        assert np.isfinite(q).all() and (q >= 0).all()
        assert_allclose(result.trace[-1], naive_free_energy(field, q, T), rtol=1e-12, atol=room)
        assert np.diff(result.trace).max(initial=0.0) <= room
        assert result.trace[-1] >= -T * log_partition(field, T) - room


@given(seeds, temperatures, st.booleans())
def test_every_sweep_from_anywhere_lowers_the_free_energy(seed, T, wide):
    rng = np.random.default_rng(seed)
    field = tiny_field(seed % 5000, wide=wide)
    energy = FreeEnergy.of(field, np.full(field.n_nodes, T))
    q = rng.dirichlet(np.ones(field.n_labels), field.n_nodes)
    before = energy.values(q)
    for _ in energy.descend(q, 8, 0.0):
        after = energy.values(q)
        assert (after <= before + 1e-12 * scale(field)).all()
        before = after


@given(seeds, temperatures, st.booleans())
def test_the_last_node_is_at_its_best_response_and_all_are_in_the_end(seed, T, wide):
    rng = np.random.default_rng(seed)
    field = tiny_field(seed % 5000, wide=wide)
    energy = FreeEnergy.of(field, np.full(field.n_nodes, T))
    q = rng.dirichlet(np.ones(field.n_labels), field.n_nodes)
    energy.sweep(q, np.ones(field.n_nodes, dtype=bool), 0.0)
    last = int(field.structure.visit[-1])
    assert_allclose(q[last], best_response(field, q, last, T), atol=1e-7)
    result = MeanField(temperature=T, tol=1e-12, max_iter=5000).solve(field, random_state=0)
    if result.converged and scale(field) < 1e5:  # 1e6 · rounding is more than a temperature
        for i in range(field.n_nodes):
            assert_allclose(
                result.marginals[i], best_response(field, result.marginals, i, T), atol=1e-6
            )


@given(seeds, temperatures)
def test_nodes_without_edges_have_their_softmax(seed, T):
    U = np.random.default_rng(seed).normal(size=(6, 4)) * 3
    result = MeanField(temperature=T).solve(PottsField(U, (), (), ()))
    assert_allclose(result.marginals, softmax(-U / T, axis=1), rtol=1e-12)
    assert_array_equal(result.labels, U.argmin(axis=1))
    assert_allclose(result.trace[-1], -T * logsumexp(-U / T, axis=1).sum(), rtol=1e-12)
    assert result.converged


@given(seeds, temperatures)
def test_weak_links_leave_marginals_near_the_true_ones(seed, T):
    """To first order in the costs of the links the mean field is exact."""
    field = forest_field(seed % 1000, n=5)
    weak = PottsField(field.unary, field.edges, 1e-4 * field.agree_cost, 1e-4 * field.differ_cost)
    every = every_labelling(weak)
    p = softmax(-energies(weak, every) / T)
    exact = np.stack([p @ one_hot(every[:, i], weak.n_labels) for i in range(weak.n_nodes)])
    result = MeanField(temperature=T, tol=1e-10).solve(weak, random_state=0)
    assert_allclose(result.marginals, exact, atol=1e-6 + 1e-7 / T**2)


@pytest.mark.parametrize("wide", [False, True])
def test_a_low_temperature_ends_no_higher_than_icm_and_in_a_local_minimum(wide):
    for seed in range(100):
        field = tiny_field(seed, wide=wide)
        icm = ICM().solve(field, random_state=seed)
        for polish in (True, False):
            method = MeanField(temperature=1e-5, polish=polish)
            result = method.solve(field, random_state=seed)
            assert result.energy <= icm.energy + 1e-3  # n K T at most
            for i in range(field.n_nodes):
                for h in range(field.n_labels):
                    moved = result.labels.copy()
                    moved[i] = h
                    assert field.energy(moved) >= result.energy - 1e-4


@given(seeds, temperatures, st.booleans())
def test_with_a_start_it_is_never_worse_than_icm_from_there(seed, T, wide):
    field = tiny_field(seed % 5000, wide=wide)
    start = np.random.default_rng(seed).integers(0, field.n_labels, field.n_nodes)
    mine = MeanField(temperature=T).solve(field, start, random_state=3)
    assert mine.energy <= ICM().solve(field, start, random_state=3).energy + 1e-9
    # A labelling is a q without entropy, so F ends below what ICM reaches, too.
    assert mine.trace[-1] <= ICM().solve(field, start, random_state=3).energy + 1e-12 * scale(field)


@pytest.mark.parametrize("T", [0.3, 5.0])
def test_a_labelling_that_cannot_be_improved_is_kept_however_hot_it_is(T):
    for seed in range(150):
        field = tiny_field(seed)
        every = every_labelling(field)
        costs = energies(field, every)
        result = MeanField(temperature=T).solve(field, every[costs.argmin()], random_state=0)
        assert_allclose(result.energy, costs.min(), atol=1e-9 * scale(field))


def test_many_changes_too_small_to_wake_a_neighbour_are_seen_in_the_end():
    """A hub whose leaves all move a little: none wakes it, together they move it."""
    n, tol = 51, 0.04
    star = np.column_stack([np.zeros(n - 1, np.int64), np.arange(1, n)])
    edges = np.r_[star, [[n, n + 1]]]  # and two nodes elsewhere, which keep the sweeps going
    field = PottsField(np.zeros((n + 2, 2)), edges, -0.1, 0.1)
    energy = FreeEnergy.of(field, np.ones(n + 2))
    q = np.full((n + 2, 2), 0.5)
    q[1:n] += [-0.02, 0.02]
    q[0] = best_response(field, q, 0, 1.0)
    q[n:] = [1.0, 0.0]
    start = q.copy()
    settled = list(energy.descend(q, 100, tol))
    assert settled[-1] and not any(settled[:-1])
    # The last sweep looked at everyone, so the hub has seen its leaves.
    assert np.abs(q[0] - start[0]).max() > tol
    assert_allclose(q[0], best_response(field, q, 0, 1.0), atol=tol)


@given(seeds, temperatures)
def test_one_column_equals_equal_columns(seed, T):
    field = tiny_field(seed % 5000)
    columns = [np.repeat(c[:, None], field.n_labels, axis=1)
               for c in (field.agree_cost, field.differ_cost)]  # fmt: skip
    wide = PottsField(field.unary, field.edges, *columns)
    first, second = (MeanField(T, polish=False).solve(f, random_state=0) for f in (field, wide))
    assert_allclose(first.trace[-1], second.trace[-1], atol=1e-12 * scale(field))
    if scale(field) < 1e4:  # otherwise which of two equal starts wins is a matter of rounding
        assert_allclose(first.marginals, second.marginals, atol=1e-5)


@given(seeds, temperatures, st.booleans())
def test_components_one_by_one_give_the_same(seed, T, wide):
    # Labels as given, so that no random order matters.
    field = tiny_field(seed % 5000, wide=wide)
    start = ICM().solve(field, random_state=0).labels
    method = MeanField(temperature=T, polish=False)
    whole = method.solve(field, start, random_state=0)
    energy = free = 0.0
    for nodes, part in parts(field):
        result = method.solve(part, start[nodes], random_state=0)
        energy, free = energy + result.energy, free + result.trace[-1]
    assert_allclose(whole.trace[-1], free, atol=1e-5 * T + 1e-12 * scale(field))
    if T < 1.0:  # hot marginals tie, and a tie has two likeliest labels
        assert_allclose(whole.energy, energy, atol=1e-5 + 1e-12 * scale(field))


@given(seeds, temperatures)
def test_a_constant_on_a_node_changes_nothing(seed, T):
    rng = np.random.default_rng(seed)
    field = forest_field(seed % 1000)
    first = MeanField(T, tol=1e-9).solve(field, random_state=0)
    shifted = field.with_unary(field.unary + rng.normal(size=(field.n_nodes, 1)))
    second = MeanField(T, tol=1e-9).solve(shifted, random_state=0)
    assert_allclose(second.marginals, first.marginals, atol=1e-6)


@given(seeds)
def test_another_order_of_nodes_gives_the_same_where_there_is_one_answer(seed):
    """While the links are weak beside T the updates contract: one fixed point, from everywhere."""
    rng = np.random.default_rng(seed)
    field = forest_field(seed % 1000)
    order = rng.permutation(field.n_nodes)
    place = np.argsort(order)
    other = PottsField(field.unary[order], place[field.edges], field.agree_cost, field.differ_cost)
    first, second = (MeanField(10.0, tol=1e-10).solve(f, random_state=0) for f in (field, other))
    assert_allclose(first.marginals[order], second.marginals, atol=1e-8)
    assert_allclose(first.trace[-1], second.trace[-1], rtol=1e-12)
    assert np.ptp(first.marginals) > 1e-3 or field.n_labels == 1


@given(seeds, st.booleans(), st.sampled_from([1e-300, 1e-12, 1e-3, 1.0, 1e6]))
def test_hard_edges_forbidden_labels_and_any_temperature(seed, wide, T):
    field = tiny_field(seed % 5000, wide=wide, hard=True)
    result = MeanField(temperature=T).solve(field, random_state=0)
    assert np.isfinite(result.marginals).all() and np.isfinite(result.trace).all()
    assert_allclose(result.marginals.sum(axis=1), 1.0)
    assert (result.marginals[np.isinf(field.unary)] == 0.0).all()
    assert result.energy == field.energy(result.labels)
    if np.isfinite(ICM().solve(field, random_state=0).energy):
        assert np.isfinite(result.energy)


@given(seeds)
def test_hard_edges_hold_however_hot_it_is(seed):
    U = np.random.default_rng(seed).random((3, 3))
    U[2, 0] = np.inf
    hard = PottsField(U, [(0, 1), (1, 2)], [0.0, np.inf], [np.inf, 0.0])
    q = MeanField(temperature=10.0).solve(hard, random_state=0).marginals
    assert q[0] @ q[1] > 0.99
    assert q[1] @ q[2] < 0.01
    assert q[2, 0] == 0.0
    cold = PottsField(1e12 * U, [(0, 1), (1, 2)], [0.0, np.inf], [np.inf, 0.0])
    assert np.isfinite(MeanField(temperature=1e-305).solve(cold).marginals).all()


@given(seeds, temperatures)
def test_entailed_links_are_edges(seed, T):
    rng = np.random.default_rng(seed)
    n = 7
    X = rng.normal(size=(n, 2))
    links = EntailedLinks(
        np.array([0, 0, 0, 1, 1, -1, -1]), np.array([[0, 1]]), np.array([[5, 0]]), 0.3, np.ones(n),
        (X**2).sum(axis=1)[None], [DenseRows(np.sqrt(2.0) * X)], np.array([30.0]),
    )  # fmt: skip
    field = PottsField(rng.random((n, 3)), [(5, 6)], [0.0], [0.4], entailed=links)
    result = MeanField(T).solve(field, random_state=0)
    assert result.energy == field.energy(result.labels)
    q = result.marginals
    assert_allclose(result.trace[-1], naive_free_energy(field.written_out(), q, T), rtol=1e-10)


def test_too_many_entailed_links_are_refused():
    n = 5000
    none = np.empty((0, 2), np.int64)
    links = EntailedLinks(
        np.zeros(n, np.int64), none, none, 1.0, np.ones(n), np.full((1, n), 0.5),
        [DenseRows(np.zeros((n, 0)))], np.array([2.0]),
    )  # fmt: skip
    with pytest.raises(ValueError, match="closure=False"):
        MeanField().solve(PottsField(np.zeros((n, 2)), (), (), (), entailed=links))


def test_annealing_reaches_lower_energies_in_frustrated_fields():
    """Many cannot-links, few labels: cooling down slowly pays, and either beats ICM."""
    reached = {"icm": 0.0, "quenched": 0.0, "annealed": 0.0}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        edges = rng.integers(0, 200, (600, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        field = PottsField(rng.random((200, 3)), edges, rng.random(len(edges)) * 1.5, 0.0)
        reached["icm"] += ICM().solve(field, random_state=0).energy
        for name, stages in (("quenched", None), ("annealed", 8)):
            method = MeanField(0.1, anneal=stages)
            reached[name] += method.solve(field, random_state=0).energy
    assert reached["annealed"] < 0.97 * reached["quenched"] < 0.97 * reached["icm"]


def test_small_cases():
    empty = MeanField().solve(PottsField(np.empty((0, 3)), (), (), ()))
    assert empty.marginals.shape == (0, 3) and empty.energy == 0.0 and len(empty.trace) == 0
    one = MeanField().solve(PottsField([[3.0], [1.0]], [(0, 1)], [2.0], [5.0]))
    assert_array_equal(one.marginals, 1.0)
    assert one.energy == 6.0 and one.trace[-1] == pytest.approx(6.0)
    flat = MeanField().solve(PottsField(np.zeros((2, 2)), [(0, 1)], [0.0], [0.0]))
    assert_allclose(flat.marginals, 0.5)


def test_a_start_is_taken_from_where_it_is():
    """Two labellings are equally good; each start stays with its own."""
    field = PottsField(np.zeros((2, 2)), [(0, 1)], [-5.0], [0.0])
    for h in (0, 1):
        result = MeanField(temperature=0.5).solve(field, [h, h], random_state=0)
        assert_array_equal(result.labels, [h, h])
        assert (result.marginals[:, h] > 0.9).all()


@pytest.mark.parametrize(
    ("method", "match"),
    [
        (MeanField(temperature=0.0), "temperature must be a positive number"),
        (MeanField(temperature=np.nan), "temperature"),
        (MeanField(temperature=np.inf), "temperature"),
        (MeanField(temperature="2"), "temperature"),
        (MeanField(anneal=0), "anneal must be None or a whole number"),
        (MeanField(anneal=0.5), "anneal"),
        (MeanField(max_iter=0), "max_iter must be a whole number"),
        (MeanField(tol=-1.0), "tol must be a number"),
    ],
)
def test_bad_parameters(method, match):
    field = tiny_field(3)
    with pytest.raises(ValueError, match=match):
        method.solve(field)


def test_bad_fields_and_starts():
    field = PottsField(np.zeros((2, 2)), [(0, 1)], [1.0], [0.0])
    with pytest.raises(ValueError, match="start must give"):
        MeanField().solve(field, [0, 2])
    huge = PottsField(np.zeros((2, 2)), [(0, 1), (0, 1)], [1.5e308, 1.5e308], [0.0, 0.0])
    with pytest.raises(ValueError, match="scale them down"):
        MeanField().solve(huge)


def test_unfinished_sweeps_are_told():
    field = tiny_field(40)
    result = MeanField(temperature=0.5, anneal=None, max_iter=1, tol=0.0).solve(field)
    assert result.n_iter == 1 and not result.converged
