"""Gaussian components of every kind: densities, natural parameters, the M-step, the prior."""

import numpy as np
import pytest
from mixtures import covariance_list, densities
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.mixture import GaussianMixture

from linkfield.estimation.component_sums import (
    ComponentSums,
    CovariancePrior,
    ScatterPrior,
    packed,
    unpacked,
)
from linkfield.estimation.gaussians import GAUSSIANS

KINDS = list(GAUSSIANS)


def some(kind, seed=0, K=3, d=3):
    """Random components of a kind."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(K, d, d))
    C = A @ A.transpose(0, 2, 1) + 0.5 * np.eye(d)
    shapes = {"full": C, "tied": C[0], "diag": C[:, range(d), range(d)], "spherical": C[:, 0, 0]}
    weights = rng.dirichlet(np.ones(K))
    return GAUSSIANS[kind](weights, rng.normal(size=(K, d)), shapes[kind]), rng


def summed(kind, X, r, about=None, draws=None):
    """Sums of rows, by loops."""
    K, d = r.shape[1], X.shape[1]
    about = np.zeros((K, d)) if about is None else about
    first, second = np.zeros((K, d)), np.zeros((K, d, d))
    for x, weights in zip(X, r, strict=True):
        for j, w in enumerate(weights):
            first[j] += w * (x - about[j])
            second[j] += w * np.outer(x - about[j], x - about[j])
    if GAUSSIANS[kind].features == "diag":
        second = second[:, range(d), range(d)]
    n = r.sum(axis=0)
    return ComponentSums(n if draws is None else draws, n, first, second, about)


@pytest.mark.parametrize("kind", KINDS)
def test_log_densities_are_those_of_scipy(kind):
    gaussians, rng = some(kind)
    X = rng.normal(size=(20, 3))
    assert_allclose(gaussians.log_densities(X), np.log(densities(gaussians, X)), rtol=1e-10)
    joint = np.log(gaussians.weights * densities(gaussians, X))
    assert_allclose(gaussians.log_joint(X), joint, rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_natural_parameters_give_the_log_joint(kind):
    gaussians, rng = some(kind)
    X = rng.normal(size=(20, 3))
    constant, linear, quadratic = gaussians.natural()
    a, b = np.triu_indices(3) if gaussians.features == "full" else (np.arange(3),) * 2
    table = constant + X @ linear.T + (X[:, a] * X[:, b]) @ quadratic.T
    assert_allclose(table, gaussians.log_joint(X), rtol=1e-10, atol=1e-10)


def test_packing():
    A = np.random.default_rng(0).normal(size=(4, 3, 3))
    A = A + A.transpose(0, 2, 1)
    assert_allclose(unpacked(packed(A), 3), A)
    assert_allclose(packed(A)[0], [A[0, 0, 0], A[0, 0, 1], A[0, 0, 2], A[0, 1, 1], A[0, 1, 2],
                                   A[0, 2, 2]])  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_and_number_of_parameters_are_scikit_learns(kind):
    gaussians, rng = some(kind)
    X = rng.normal(size=(60, 3))
    theirs = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    assert gaussians.covariances.shape == theirs.covariances_.shape
    assert gaussians.n_parameters == theirs._n_parameters()
    mine = GAUSSIANS[kind](theirs.weights_, theirs.means_, theirs.covariances_)
    assert_allclose(mine.precision_factors, theirs.precisions_cholesky_, rtol=1e-8, atol=1e-12)
    assert_allclose(mine.precisions, theirs.precisions_, rtol=1e-8, atol=1e-12)
    again = GAUSSIANS[kind].covariances_of(theirs.precisions_, 3, 3)
    assert_allclose(again, theirs.covariances_, rtol=1e-8, atol=1e-12)


def expected_log_likelihood(gaussians, X, r, draws, prior):
    """Q(Θ) plus the log prior."""
    log_q = gaussians.log_densities(X)
    return (r * log_q).sum() + draws @ gaussians.log_weights + gaussians.log_prior(prior)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_the_m_step_maximises_the_expected_log_likelihood(kind, strength):
    start, rng = some(kind, K=2, d=2)
    X, r = rng.normal(size=(15, 2)), rng.dirichlet(np.ones(2), 15)
    draws = rng.random(2) * 5
    A = rng.normal(size=(2, 2))
    prior = ScatterPrior(strength, A @ A.T, np.zeros(2))
    best = GAUSSIANS[kind].estimated(summed(kind, X, r, draws=draws), prior)
    top = expected_log_likelihood(best, X, r, draws, prior)
    assert top > expected_log_likelihood(start, X, r, draws, prior)
    size = best.covariances.size

    def value(step):
        weights = best.weights * np.exp(np.append(step[0], 0.0))
        C = best.covariances + step[5:].reshape(best.covariances.shape)
        if kind in ("full", "tied"):
            C = (C + np.swapaxes(C, -1, -2)) / 2
        near = type(best)(weights / weights.sum(), best.means + step[1:5].reshape(2, 2), C)
        return expected_log_likelihood(near, X, r, draws, prior)

    for _ in range(30):
        step = 1e-3 * rng.normal(size=5 + size)
        assert value(step) <= top
    slope = [(value(h) - value(-h)) / 2e-5 for h in 1e-5 * np.eye(5 + size)]
    assert_allclose(slope, 0.0, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_about_any_points_give_the_same_step(kind):
    gaussians, rng = some(kind)
    X, r = rng.normal(size=(15, 3)), rng.dirichlet(np.ones(3), 15)
    prior = ScatterPrior(1.0, 0.1 * np.eye(3), np.full(3, 1e-9))
    steps = [
        gaussians.stepped(summed(kind, X, r, about), 3.0, prior)
        for about in (np.zeros((3, 3)), gaussians.means, rng.normal(size=(3, 3)))
    ]
    for other in steps[1:]:
        assert_allclose(other.means, steps[0].means, atol=1e-12)
        assert_allclose(other.covariances, steps[0].covariances, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_damped_step_is_that_of_f8(kind):
    old, rng = some(kind, K=2, d=2)
    X, r = rng.normal(size=(9, 2)), rng.dirichlet(np.ones(2), 9) - 0.1
    k, damping, nu = rng.random(2), 7.0, 1.5
    S0 = np.diag([0.3, 0.2])
    found = old.stepped(summed(kind, X, r, draws=k), damping, ScatterPrior(nu, S0, np.zeros(2)))
    pi, C_old = old.weights, covariance_list(old)
    assert_allclose(found.weights, (k + damping * pi) / (k.sum() + damping))
    n = r.sum(axis=0) + damping * pi
    numerators = []
    for j in range(2):
        D = damping * pi[j]
        m = (r[:, j] @ X + D * old.means[j]) / n[j]
        assert_allclose(found.means[j], m, rtol=1e-10)
        away, moved = X - m, old.means[j] - m
        S = (r[:, j, None] * away).T @ away + D * (C_old[j] + np.outer(moved, moved)) + nu * S0
        numerators.append(S)
    each = [S / (n[j] + nu) for j, S in enumerate(numerators)]
    expected = {
        "full": each,
        "diag": [np.diag(C) for C in each],
        "spherical": [np.trace(C) / 2 for C in each],
        "tied": sum(numerators) / (n + nu).sum(),
    }[kind]
    assert_allclose(found.covariances, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_does_not_exist(kind):
    gaussians, rng = some(kind)
    X = rng.normal(size=(15, 3))
    prior = ScatterPrior.none(3)
    negative = summed(kind, X, np.tile([-0.1, 0.5, 0.6], (15, 1)))
    assert gaussians.stepped(negative, 0.0, prior) is None
    r = rng.dirichlet(np.ones(3), 15)
    assert gaussians.stepped(summed(kind, X, r, draws=np.array([-1.0, 9, 9])), 0.0, prior) is None
    inside_out = summed(kind, X, r)
    inside_out = ComponentSums(r.sum(0), r.sum(0), inside_out.first, -inside_out.second,
                               inside_out.about)  # fmt: skip
    assert gaussians.stepped(inside_out, 0.0, prior) is None
    assert gaussians.stepped(inside_out, 1e6, prior) is not None
    endless = ComponentSums(r.sum(0), r.sum(0), inside_out.first * np.nan, inside_out.second,
                            inside_out.about)  # fmt: skip
    assert gaussians.stepped(endless, 0.0, prior) is None


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_component_stays_where_it_is(kind):
    gaussians, rng = some(kind)
    X, r = rng.normal(size=(15, 3)), rng.dirichlet(np.ones(3), 15)
    r[:, 1] = 0.0
    found = gaussians.stepped(summed(kind, X, r), 0.0, ScatterPrior.none(3))
    assert_allclose(found.means[1], gaussians.means[1])
    assert np.isfinite(found.log_joint(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_floor_is_the_best_covariance_above_it(kind):
    """One row for each component: without a floor there is no covariance at all."""
    gaussians, rng = some(kind, K=2, d=2)
    X, r = rng.normal(size=(2, 2)), np.eye(2)
    sums = summed(kind, X, r)
    assert gaussians.stepped(sums, 0.0, ScatterPrior.none(2)) is None
    found = gaussians.stepped(sums, 0.0, ScatterPrior.none(2, 0.01))
    for C in covariance_list(found):
        assert np.linalg.eigvalsh(C)[0] >= 0.01 * (1 - 1e-9)
    if kind == "full":
        assert_allclose(found.covariances, np.tile(0.01 * np.eye(2), (2, 1, 1)), atol=1e-15)


def test_the_floor_maximises_the_likelihood_among_matrices_above_it():
    from linkfield.estimation._covariances import raised_matrix

    S = np.array([[1.0, 0.99], [0.99, 1.0]])
    floor = np.array([0.2, 0.05])
    C = raised_matrix(S, floor)

    def cost(u):
        L = np.array([[u[0], 0.0], [u[1], u[2]]])
        M = L @ L.T + np.diag(floor)
        return np.linalg.slogdet(M)[1] + np.trace(np.linalg.solve(M, S))

    best = min(
        minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13}).fun
        for start in np.random.default_rng(0).normal(size=(5, 3))
    )
    value = np.linalg.slogdet(C)[1] + np.trace(np.linalg.solve(C, S))
    assert_allclose(value, best, rtol=1e-8)
    assert_allclose(raised_matrix(S, np.zeros(2)), S)


@pytest.mark.parametrize("kind", KINDS)
def test_prior_is_what_it_says(kind):
    gaussians, rng = some(kind)
    A = rng.normal(size=(3, 3))
    S = A @ A.T
    value = (
        -0.5
        * 2.5
        * sum(
            np.trace(np.linalg.solve(C, S)) + np.linalg.slogdet(C)[1]
            for C in covariance_list(gaussians)
        )
    )
    assert_allclose(gaussians.log_prior(ScatterPrior(2.5, S, np.zeros(3))), value)


@pytest.mark.parametrize("kind", KINDS)
def test_rescaling_is_that_of_the_rows(kind):
    gaussians, rng = some(kind)
    X = rng.normal(size=(10, 3))
    unit = np.full(3, 4.0) if gaussians.isotropic else np.array([2.0, 0.5, 8.0])
    offset = np.array([100.0, -3.0, 0.0])
    other = gaussians.rescaled(unit, offset)
    assert_allclose(
        other.log_densities(X * unit + offset), gaussians.log_densities(X) - np.log(unit).sum()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_rows_have_the_means_and_covariances(kind):
    gaussians, _ = some(kind)
    n = 40_000
    X = gaussians.drawn(np.full(3, n), np.random.default_rng(1))
    for j, C in enumerate(covariance_list(gaussians)):
        mine = X[j * n : (j + 1) * n]
        deviation = np.sqrt(np.diag(C) / n)
        assert (np.abs(mine.mean(axis=0) - gaussians.means[j]) < 5 * deviation).all()
        assert_allclose(np.cov(mine.T), C, atol=0.05 * np.trace(C))


@pytest.mark.parametrize("kind", KINDS)
def test_bad_precisions(kind):
    cls = GAUSSIANS[kind]
    good = {"full": np.tile(np.eye(2), (3, 1, 1)), "tied": np.eye(2), "diag": np.ones((3, 2)),
            "spherical": np.ones(3)}[kind]  # fmt: skip
    assert cls.covariances_of(good, 3, 2).shape == good.shape
    with pytest.raises(ValueError, match="positive"):
        cls.covariances_of(-good, 3, 2)
    with pytest.raises(ValueError, match="shape"):
        cls.covariances_of(np.ones(7), 3, 2)
    with pytest.raises(ValueError, match="NaN"):
        cls.covariances_of(good * np.nan, 3, 2)
    if kind in ("full", "tied"):
        skew = good.copy()
        skew[..., 0, 1] = 0.5
        with pytest.raises(ValueError, match="symmetric"):
            cls.covariances_of(skew, 3, 2)


def test_covariance_prior_reads_its_scale():
    variance = np.array([1.0, 4.0])
    assert_allclose(CovariancePrior().scatter(variance), np.diag([0.01, 0.04]))
    assert_allclose(CovariancePrior(scale=[1.0, 2.0]).scatter(variance), np.diag([1.0, 2.0]))
    S = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert_allclose(CovariancePrior(scale=S).scatter(variance), S)
    assert CovariancePrior().get_params() == {"strength": 1.0, "scale": 0.01}
    for bad, match in (
        (CovariancePrior(strength=-1), "strength"),
        (CovariancePrior(scale=[1.0, 2.0, 3.0]), "shape"),
        (CovariancePrior(scale=np.array([[1.0, 5.0], [5.0, 1.0]])), "negative"),
        (CovariancePrior(scale=np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=match):
            bad.scatter(variance)


def test_sums_about_different_points_do_not_mix():
    X, r = np.ones((2, 2)), np.ones((2, 1))
    with pytest.raises(ValueError, match="different points"):
        summed("full", X, r) + summed("full", X, r, np.ones((1, 2)))
