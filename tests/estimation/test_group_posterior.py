"""Posteriors of groups against all worlds, one by one, and against finite differences."""

import numpy as np
import pytest
from mixtures import densities, enumerated, groups_of
from numpy.testing import assert_allclose

from linkfield.estimation import _group_components, group_structure
from linkfield.estimation.gaussians import GAUSSIANS
from linkfield.estimation.group_posterior import GroupModel, merged
from linkfield.exceptions import (
    ConstraintWarning,
    ContradictionError,
    InfeasibleConstraintsError,
)

CASES = {
    "one group": groups_of([(0, 0, 0.5), (0, 1, 0.7), (0, 2, 0.3)]),
    "two groups": groups_of([(0, 0, 0.5), (0, 1, 0.9), (1, 2, 0.4), (1, 3, 0.6)]),
    "a row alone and one of no group": groups_of([(0, 0, 0.5), (0, 1, 0.7), (1, 3, 0.6)]),
    "certain": groups_of([(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 3, 0.5)]),
    "confidence 0": groups_of([(0, 0, 0.5), (0, 1, 0.7), (0, 2, 0.0)]),
    "shared row": groups_of([(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.6)]),
    "shared row that follows one": groups_of([(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.6), (1, 2, 0.6)]),
    "row of three groups": groups_of(
        [(0, 0, 0.2), (1, 0, 0.3), (2, 0, 0.4), (0, 1, 0.6), (1, 2, 0.7), (2, 3, 0.8)]
    ),
    "chain": groups_of(
        [(0, 0, 0.8), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.3), (2, 2, 0.6), (2, 3, 0.7)]
    ),
    "apart": groups_of(
        [(0, 0, 0.5), (0, 1, 0.7), (1, 2, 0.8), (1, 3, 0.6)], apart=[(0, 1)], certainty=[0.7]
    ),
    "apart for certain": groups_of(
        [(0, 0, 0.5), (0, 1, 0.7), (1, 2, 1.0)], apart=[(0, 1)], certainty=[1.0]
    ),
    "apart and shared": groups_of(
        [(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.6), (2, 3, 0.9)],
        apart=[(1, 2)], certainty=[0.9],
    ),
    "a row shared by groups apart": groups_of(
        [(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.6)], apart=[(0, 1)], certainty=[0.9]
    ),
    "two shared rows": groups_of(
        [(0, 0, 0.5), (0, 1, 0.4), (1, 0, 0.3), (1, 1, 0.5), (1, 2, 0.6)]
    ),
    "triangle": groups_of(
        [(0, 0, 0.5), (0, 1, 0.7), (1, 2, 0.8), (2, 3, 0.6)],
        apart=[(0, 1), (1, 2), (0, 2)], certainty=[0.7, 0.9, 0.4],
    ),
    "said twice": groups_of(
        [(0, 0, 0.5), (0, 1, 0.7), (1, 2, 0.8)], apart=[(0, 1), (1, 0)], certainty=[0.5, 0.6]
    ),
    "an empty group": groups_of([(0, 0, 0.5), (0, 1, 0.7)], n_groups=2),
}  # fmt: skip


def components(seed, K=3, kind="full"):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(K, 2, 2))
    C = A @ A.transpose(0, 2, 1) + 0.3 * np.eye(2)
    C = {"full": C, "tied": C[0], "diag": C[:, range(2), range(2)], "spherical": C[:, 0, 0]}[kind]
    found = GAUSSIANS[kind](rng.dirichlet(np.full(K, 3.0)), rng.normal(size=(K, 2)), C)
    return found, rng.normal(size=(4, 2)), rng


def found_by(arrays, gaussians, X, beta=None):
    model = GroupModel(arrays, len(X), len(gaussians.means))
    return model.posterior(gaussians.log_joint(X), gaussians.log_weights, beta)


def essential(arrays):
    """The groups without those that say nothing: a single row, no row, nobody apart."""
    keep = ~arrays.mute() & (arrays.confidence > 0)
    used = np.unique(np.r_[arrays.group[keep], arrays.apart.ravel()])
    new = np.full(arrays.n_groups, -1)
    new[used] = np.arange(len(used))
    columns = [column[keep] for column in arrays[1:4]]
    return arrays._replace(
        group=new[arrays.group[keep]], row=columns[0], confidence=columns[1],
        strength=columns[2], apart=new[arrays.apart], n_groups=len(used),
    ), keep  # fmt: skip


def all_worlds(gaussians, X, arrays, beta=None):
    """By enumeration; who says nothing is left out where labels are counted."""
    q = densities(gaussians, X)
    beta = np.zeros(len(arrays.group)) if beta is None else np.where(arrays.mute(), 0.0, beta)
    whole = enumerated(gaussians.weights, q, arrays, beta)
    small, keep = essential(arrays)
    part = enumerated(gaussians.weights, q, small, beta[keep])
    for name in ("log_likelihood", "enforcement", "responsibilities"):
        assert_allclose(part[name], whole[name], atol=1e-10)
    return whole | {"draws": part["draws"]}


def assert_same(found, expected, atol=1e-10):
    for name in ("log_likelihood", "enforcement", "group", "log_member", "responsibilities",
                 "draws"):  # fmt: skip
        assert_allclose(getattr(found, name), expected[name], atol=atol, err_msg=name)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_posteriors_are_those_of_all_worlds(name, seed):
    gaussians, X, _ = components(seed)
    expected = all_worlds(gaussians, X, CASES[name])
    found = found_by(CASES[name], gaussians, X)
    assert_same(found, expected)
    assert_allclose(found.responsibilities, expected["plain"], atol=1e-10)


@pytest.mark.parametrize("size", [0.3, 5.0])
@pytest.mark.parametrize("name", CASES)
def test_effective_weights_are_those_of_all_worlds(name, size):
    gaussians, X, rng = components(3)
    arrays = CASES[name]
    beta = np.where(arrays.confidence > 0, size * rng.random(len(arrays.group)), 0.0)
    expected = all_worlds(gaussians, X, arrays, beta)
    found = found_by(arrays, gaussians, X, beta)
    assert_same(found, expected)
    assert_allclose(found.responsibilities.sum(axis=1), 1.0)


def objective(gaussians, X, arrays, beta):
    expected = enumerated(gaussians.weights, densities(gaussians, X), arrays, beta)
    return expected["log_likelihood"] + expected["enforcement"]


@pytest.mark.parametrize("name", ["two groups", "chain", "apart and shared", "two shared rows",
                                  "triangle"])  # fmt: skip
def test_gradient_is_that_of_finite_differences(name):
    """(F7): means, precisions and logits, with the effective weights; E is summed over worlds."""
    gaussians, X, rng = components(4, K=2)
    arrays = CASES[name]
    beta = 4.0 * rng.random(len(arrays.group))
    found = found_by(arrays, gaussians, X, beta)
    r, k, h = found.responsibilities, found.draws, 1e-5
    P = gaussians.precisions

    def changed(j, mean=0.0, precision=0.0, logit=0.0):
        means, precisions = gaussians.means.copy(), P.copy()
        means[j] += mean
        precisions[j] += precision
        weights = gaussians.weights * np.exp(np.where(np.arange(2) == j, logit, 0.0))
        other = GAUSSIANS["full"](weights / weights.sum(), means, np.linalg.inv(precisions))
        return objective(other, X, arrays, beta)

    for j in range(2):
        away = X - gaussians.means[j]
        by_mean = P[j] @ (r[:, j] @ away)
        by_precision = 0.5 * (
            r[:, j].sum() * gaussians.covariances[j] - (r[:, j, None] * away).T @ away
        )
        for a in range(2):
            step = h * np.eye(2)[a]
            slope = (changed(j, mean=step) - changed(j, mean=-step)) / (2 * h)
            assert_allclose(slope, by_mean[a], rtol=1e-6, atol=1e-7)
            for b in range(2):
                step = np.zeros((2, 2))
                step[a, b] += h / 2
                step[b, a] += h / 2
                slope = (changed(j, precision=step) - changed(j, precision=-step)) / (2 * h)
                assert_allclose(slope, by_precision[a, b], rtol=1e-6, atol=1e-7)
        slope = (changed(j, logit=h) - changed(j, logit=-h)) / (2 * h)
        assert_allclose(slope, k[j] - gaussians.weights[j] * k.sum(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_random_groups(seed):
    """Any structure at all: rows in several groups, groups apart, certainties 0 among them."""
    gaussians, X, rng = components(seed, K=2)
    member = rng.random((3, 4)) < 0.6
    member[0, 0] = True
    gamma = rng.random((3, 4)) * member
    gamma /= np.maximum(gamma.sum(axis=0), 1.0) * np.where(rng.random(4) < 0.3, 1.0, 1.3)
    gamma[rng.random((3, 4)) < 0.1] = 0.0
    triples = [(g, i, gamma[g, i]) for g, i in zip(*np.nonzero(member), strict=True)]
    pairs = [(0, 1), (1, 2), (2, 0)][: rng.integers(0, 4)]
    arrays = groups_of(triples, pairs, rng.choice([0.0, 0.5, 0.9], len(pairs)), n_groups=3)
    beta = np.where(arrays.confidence > 0, 3 * rng.random(len(triples)), 0.0)
    expected = all_worlds(gaussians, X, arrays, beta)
    assert_same(found_by(arrays, gaussians, X, beta), expected)


@pytest.mark.parametrize("name", [c for c in CASES if len(CASES[c].group) > 3])
def test_enumeration_agrees_with_messages(name, monkeypatch):
    """Solve forests by enumeration as well: two algorithms, one answer."""
    gaussians, X, rng = components(5)
    beta = np.where(CASES[name].confidence > 0, 2 * rng.random(len(CASES[name].group)), 0.0)
    usual = found_by(CASES[name], gaussians, X, beta)
    monkeypatch.setattr(_group_components, "is_forest", lambda *_: False)
    other = found_by(CASES[name], gaussians, X, beta)
    assert_same(other, usual._asdict())


@pytest.mark.parametrize("name", ["apart", "apart for certain", "triangle", "said twice"])
def test_subsets_agree_with_enumeration(name, monkeypatch):
    gaussians, X, rng = components(6)
    beta = 2 * rng.random(len(CASES[name].group))
    usual = found_by(CASES[name], gaussians, X, beta)
    monkeypatch.setattr(_group_components, "is_forest", lambda *_: False)
    monkeypatch.setattr(_group_components, "MOST_CONFIGURATIONS", 1)
    other = found_by(CASES[name], gaussians, X, beta)
    kinds = [type(s).__name__ for s in
             GroupModel(CASES[name], 4, 3).solvers]  # fmt: skip
    assert kinds == ["SubsetSolver"]
    assert_same(other, usual._asdict())


def test_a_teacher_of_seven_labels_is_solved_exactly(monkeypatch):
    """7 groups mutually apart and 7 components: 823,543 labellings, by subsets and by the grid."""
    rng = np.random.default_rng(0)
    K = 7
    triples = [(g, 2 * g + s, 0.6) for g in range(K) for s in range(2)]
    pairs = [(a, b) for a in range(K) for b in range(a)]
    arrays = groups_of(triples, pairs, rng.choice([1.0, 0.8], len(pairs)))
    log_joint = 2 * rng.normal(size=(2 * K, K))
    weights = np.log(rng.dirichlet(np.full(K, 5.0)))
    beta = rng.random(2 * K)
    model = GroupModel(arrays, 2 * K, K)
    assert [type(s).__name__ for s in model.solvers] == ["SubsetSolver"]
    found = model.posterior(log_joint, weights, beta)
    monkeypatch.setattr(_group_components, "MOST_CONFIGURATIONS", 10**6)
    grid = GroupModel(arrays, 2 * K, K)
    assert [type(s).__name__ for s in grid.solvers] == ["EnumerationSolver"]
    assert_same(found, grid.posterior(log_joint, weights, beta)._asdict(), atol=1e-8)


def test_groups_alone_need_no_solver():
    assert GroupModel(CASES["two groups"], 4, 3).solvers == []
    assert len(GroupModel(CASES["chain"], 4, 3).solvers) == 1


def test_a_group_of_one_row_changes_nothing():
    gaussians, X, _ = components(0)
    arrays = groups_of([(0, 0, 0.5), (0, 1, 0.7), (1, 2, 0.9)])
    without = groups_of([(0, 0, 0.5), (0, 1, 0.7)])
    beta = np.array([2.0, 3.0, 4.0])
    one, two = found_by(arrays, gaussians, X, beta), found_by(without, gaussians, X, beta[:2])
    assert_allclose(one.log_likelihood, two.log_likelihood)
    assert_allclose(one.responsibilities, two.responsibilities, atol=1e-12)
    assert_allclose(one.draws, two.draws)
    assert_allclose(np.exp(one.log_member[2]), 0.9)
    assert arrays.movable().tolist() == [True, True, False]
    assert_allclose(arrays.enforced(6.0), [3.0, 3.0, 0.0])


def test_strength_goes_to_memberships_that_can_move():
    arrays = groups_of(
        [(0, 0, 0.5), (0, 1, 1.0), (0, 2, 0.0), (1, 3, 0.5), (2, 4, 0.5)],
        apart=[(0, 1)], certainty=[0.5], strength=[1.0, 1.0, 1.0, 3.0, 1.0],
    )  # fmt: skip
    assert arrays.movable().tolist() == [True, False, False, True, False]
    assert_allclose(arrays.enforced(8.0), [2.0, 0.0, 0.0, 6.0, 0.0])
    assert_allclose(groups_of([(0, 0, 1.0), (0, 1, 1.0)]).enforced(5.0), 0.0)


def test_certain_memberships_do_not_depend_on_strength():
    gaussians, X, _ = components(1)
    arrays = groups_of([(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 3, 1.0)])
    plain, strong = found_by(arrays, gaussians, X), found_by(arrays, gaussians, X, np.full(4, 9.0))
    assert_allclose(strong.responsibilities, plain.responsibilities, atol=1e-12)
    assert_allclose(strong.enforcement, 0.0, atol=1e-10)


def test_far_rows_stay_in_logs():
    """Rows that are 1e4 nats away from a component: nothing underflows to NaN, E stays exact."""
    log_joint = np.array([[0.0, -2e4], [-2e4, 0.0], [-3e3, 0.0], [0.0, -4e3]])
    for arrays in (
        groups_of([(0, 0, 0.5), (0, 1, 0.5), (1, 2, 0.5), (1, 3, 0.5)]),
        groups_of([(0, 0, 0.5), (0, 1, 0.5), (1, 2, 0.5), (1, 3, 0.5)], [(0, 1)], [1.0]),
        groups_of([(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.5)]),
        groups_of([(0, 0, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 3, 1.0)], [(0, 1)], [1.0]),
    ):
        found = GroupModel(arrays, 4, 2).posterior(log_joint, np.log([0.5, 0.5]), np.full(4, 2.0))
        for part in found:
            assert np.isfinite(part).all()
        assert_allclose(found.responsibilities.sum(axis=1), 1.0, atol=1e-9)


def test_cannot_link_between_certain_groups_far_in_the_tails():
    """Both groups want component 0, by 5000 and 4000 nats; the one that wants it less must go."""
    arrays = groups_of([(0, 0, 1.0), (1, 1, 1.0)], [(0, 1)], [1.0])
    log_joint = np.array([[0.0, -5000.0], [0.0, -4000.0]])
    found = GroupModel(arrays, 2, 2).posterior(log_joint, np.log([0.5, 0.5]))
    assert_allclose(found.group, [[1.0, 0.0], [0.0, 1.0]])
    assert_allclose(found.log_likelihood, -4000.0)


def test_cycles_too_large_are_thinned_out():
    """A ring of 20 groups that share rows, with one weak membership: that one goes."""
    n = 20
    triples = [t for g in range(n) for t in ((g, g, 0.5), (g, (g + 1) % n, 0.4))]
    triples[7] = (3, 4, 0.1)
    triples += [(g, n + g, 0.5) for g in range(n)]
    arrays = groups_of(triples)
    with pytest.warns(ConstraintWarning, match="1 memberships and 0 pairs"):
        model = GroupModel(arrays, 2 * n, 3)
    rng = np.random.default_rng(0)
    log_joint = rng.normal(size=(2 * n, 3))
    weights = np.log(np.full(3, 1 / 3))
    found = model.posterior(log_joint, weights, np.ones(3 * n))
    assert np.flatnonzero(np.isnan(found.log_member)).tolist() == [7]
    gamma = arrays.confidence.copy()
    gamma[7] = 0.0
    without = GroupModel(arrays._replace(confidence=gamma), 2 * n, 3)
    beta = np.where(np.arange(3 * n) == 7, 0.0, 1.0)
    assert_allclose(found.responsibilities, without.posterior(log_joint, weights, beta)[4])


def test_apart_cliques_too_large_are_thinned_out():
    n = 12
    triples = [(g, g, 0.5) for g in range(n)]
    pairs = [(a, b) for a in range(n) for b in range(a)]
    with pytest.warns(ConstraintWarning, match=f"0 memberships and {len(pairs) - n + 1} pairs"):
        model = GroupModel(groups_of(triples, pairs, np.full(len(pairs), 0.9)), n, 12)
    assert [type(s).__name__ for s in model.solvers] == ["ForestSolver"]


def test_impossible_groups():
    arrays = groups_of([(g, g, 1.0) for g in range(3)], [(0, 1), (1, 2), (0, 2)], np.ones(3))
    with pytest.raises(InfeasibleConstraintsError, match="n_components"):
        GroupModel(arrays, 3, 2).posterior(np.zeros((3, 2)), np.log([0.5, 0.5]))
    with pytest.raises(InfeasibleConstraintsError, match="n_components=1"):
        GroupModel(arrays, 3, 1)


def test_merging_for_hard_enforcement():
    arrays = groups_of(
        [(0, 0, 0.5), (0, 1, 0.4), (1, 1, 0.5), (1, 2, 0.6), (2, 3, 0.2), (2, 4, 0.0)],
        apart=[(1, 2)], certainty=[0.3],
    )  # fmt: skip
    hard = merged(arrays)
    assert hard.group_of.tolist() == [0, 0, 1]
    assert hard.arrays.group.tolist() == [0, 0, 0, 1]
    assert hard.arrays.row.tolist() == [0, 1, 2, 3]
    assert hard.arrays.confidence.tolist() == [1.0] * 4
    assert hard.arrays.apart.tolist() == [[0, 1]]
    assert hard.arrays.apart_certainty.tolist() == [1.0]
    with pytest.raises(ContradictionError, match="groups 0 and 1 are apart"):
        merged(arrays._replace(apart=np.array([[0, 1]])))


def test_parts():
    arrays = CASES["apart and shared"]
    parts = group_structure.parts_of(arrays)
    assert [c.tolist() for c in parts.components] == [[0, 1, 2]]
    assert parts.alone.tolist() == [False, False, False]
    assert group_structure.parts_of(CASES["two groups"]).components == []
