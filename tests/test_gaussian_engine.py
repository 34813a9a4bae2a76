"""The pass over rows of a Gaussian mixture gives what a plain look at all rows would."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy import sparse
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from linkfield._kernels.exponential import LEAST_32, LEAST_64, exp_negative
from linkfield._rows import CSRRows, DenseRows, pieces
from linkfield.engine import GaussianEngine, gaussian_features, gaussian_triangles
from linkfield.engine import gaussian as choice

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
TOLERANCE = {np.float64: 1e-10, np.float32: 1e-4}
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
every_kind = pytest.mark.parametrize("kind", ["full", "diag"])
#: Features in one panel, in several, or triangular roots (which full covariances have).
every_form = pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("one panel", "full"),
        ("panels", "full"),
        ("triangles", "full"),
        ("one panel", "diag"),
        ("panels", "diag"),
    ],
)


class Blocks(GaussianEngine):
    """The same engine with blocks of a few rows."""

    def blocks(self, n: int | None = None) -> list[slice]:
        n = len(self.rows) if n is None else n
        return list(pieces(n, 37)) or [slice(0, 0)]


def use(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "WIDE", 0 if form == "triangles" else 10**9)
    monkeypatch.setattr(gaussian_features, "PANEL", 5 if form == "panels" else 256)
    monkeypatch.setattr(gaussian_triangles, "CHUNK", 29)


def components(K: int, d: int, kind: str, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return weights, means and covariances."""
    factors = rng.normal(size=(K, d, d)) / np.sqrt(d)
    covariances = factors @ np.swapaxes(factors, 1, 2) + 0.3 * np.eye(d)
    if kind == "diag":
        covariances *= np.eye(d)
    return rng.dirichlet(np.full(K, 2.0)), rng.normal(size=(K, d)), covariances


def natural(weights: Array, means: Array, covariances: Array, kind: str) -> tuple[Any, ...]:
    """Return constant, linear and quadratic, as the formula of a Gaussian says."""
    K, d = means.shape
    precision = np.linalg.inv(covariances)
    linear = np.einsum("jab,jb->ja", precision, means)
    constant = (
        np.log(weights)
        - 0.5 * np.einsum("ja,ja->j", linear, means)
        - 0.5 * np.linalg.slogdet(covariances)[1]
        - 0.5 * d * np.log(2 * np.pi)
    )
    if kind == "diag":
        return constant, linear, -0.5 * np.einsum("jaa->ja", precision)
    packed = [
        [-precision[j, a, b] * (0.5 if a == b else 1.0) for a in range(d) for b in range(a, d)]
        for j in range(K)
    ]
    return constant, linear, np.array(packed)


def densities(X: Array, weights: Array, means: Array, covariances: Array) -> Array:
    with np.errstate(divide="ignore"):
        logs = np.log(weights)
    table = [
        np.atleast_1d(multivariate_normal(m, C).logpdf(X))
        for m, C in zip(means, covariances, strict=True)
    ]
    return np.stack(table, axis=1) + logs


def moments(X: Array, r: Array, kind: str) -> tuple[Array, Array, Array]:
    """Return Σ r, Σ r x, Σ r·features."""
    d = X.shape[1]
    pairs = [(a, b) for a in range(d) for b in range(a, d) if kind == "full" or a == b]
    features = np.stack([X[:, a] * X[:, b] for a, b in pairs], axis=1)
    return r.sum(axis=0), r.T @ X, r.T @ features


def close(found: Array, wanted: Array, dtype: Any) -> None:
    assert np.shape(found) == np.shape(wanted)
    size = np.abs(wanted).max(initial=1e-300)
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * size)


def problem(
    seed: int, kind: str, dtype: Any
) -> tuple[DenseRows, Array, Array, Array, tuple[Any, ...]]:
    """Return rows, what they stand for, the scale, grouped rows, the components."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(1, 400)), int(rng.integers(1, 9)), int(rng.integers(1, 7))
    offset, scale = rng.normal(size=d).astype(dtype), rng.uniform(0.5, 2.0, d)
    X = (rng.normal(size=(n, d)) * 1.5 + offset).astype(dtype)
    share = rng.choice([0.0, 0.05, 0.5, 1.0])
    grouped = np.flatnonzero(rng.random(n) < share)
    plain = (X.astype(np.float64) - offset) * scale
    return DenseRows(X, offset), plain, scale, grouped, components(K, d, kind, rng)


# ---------------------------------------------------------------------------
# the exponential function


@njit
def exponentials(x: Array, out: Array) -> None:  # pragma: no cover - compiled
    for k in range(x.shape[0]):
        out[k] = exp_negative(x[k])


@pytest.mark.parametrize(("dtype", "least"), [(np.float32, LEAST_32), (np.float64, LEAST_64)])
def test_the_exponential_is_right_to_two_units_in_the_last_place(dtype: Any, least: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([
        rng.uniform(float(least), 0.0, 200_000), rng.uniform(-1, 0, 50_000),
        -np.exp(rng.uniform(-60, 0, 10_000)), np.log(2) * np.arange(-120, 1) / 2,
    ]).astype(dtype)  # fmt: skip
    found = np.empty_like(x)
    exponentials(x, found)
    wanted = np.exp(x.astype(np.longdouble))
    assert np.abs((found - wanted) / np.spacing(wanted.astype(dtype))).max() <= 2.0
    np.testing.assert_allclose(found, np.exp(x), rtol=4 * np.finfo(dtype).eps)
    special = np.array([0.0, -0.0, least, -1e6, -np.inf, np.nan], dtype)
    found = np.empty_like(special)
    exponentials(special, found)
    np.testing.assert_array_equal(found[:2], [1.0, 1.0])
    assert (found[2:] == found[2]).all() and found[2] >= np.finfo(dtype).tiny


# ---------------------------------------------------------------------------
# sums


@every_dtype
@every_form
def test_sums_are_those_of_all_rows_at_once(form: str, kind: str, dtype: Any) -> None:
    @given(seeds)
    def law(seed: int) -> None:
        rows, X, scale, grouped, model = problem(seed, kind, dtype)
        with pytest.MonkeyPatch.context() as patch:
            use(form, patch)
            engine = Blocks(rows, None, grouped, kind, len(model[0]), scale)
            found = engine.expectation(*natural(*model, kind))
        table = densities(X, *model)
        free = np.ones(len(X), bool)
        free[grouped] = False
        total = logsumexp(table, axis=1)
        r = np.exp(table - total[:, None]) * free[:, None]
        close(found.log_likelihood, total[free].sum(), dtype)
        for value, wanted in zip(astuple(found)[1:4], moments(X, r, kind), strict=True):
            close(value, wanted, dtype)
        close(found.log_joint, table[grouped], dtype)
        assert found.weight.sum() == pytest.approx(free.sum(), rel=10 * TOLERANCE[dtype])

    law()


@every_kind
@given(seed=seeds)
def test_grouped_rows_come_in_with_the_responsibilities_that_they_are_given(
    seed: int, kind: str
) -> None:
    rows, X, scale, grouped, model = problem(seed, kind, np.float64)
    r = np.random.default_rng(seed).normal(size=(len(grouped), len(model[0])))
    r[::3] *= 1e-300  # nothing, in the end
    engine = Blocks(rows, None, grouped, kind, len(model[0]), scale)
    for value, wanted in zip(engine.add_grouped(r), moments(X[grouped], r, kind), strict=True):
        close(value, wanted, np.float64)
    # As free rows would, given what free rows have.
    found = engine.expectation(*natural(*model, kind))
    own = np.exp(found.log_joint - logsumexp(found.log_joint, axis=1, keepdims=True))
    all_free = GaussianEngine(rows, None, grouped[:0], kind, len(model[0]), scale)
    whole = all_free.expectation(*natural(*model, kind))
    both = zip(astuple(found)[1:4], engine.add_grouped(own), astuple(whole)[1:4], strict=True)
    for free, bound, wanted in both:
        close(free + bound, wanted, np.float64)


@every_kind
def test_weighted_rows_count_as_repeated_ones(kind: str) -> None:
    rows, X, scale, _, model = problem(3, kind, np.float64)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    given_ = (kind, len(model[0]), scale)
    none = np.empty(0, np.int64)
    repeated = DenseRows(np.repeat(rows.base, times, axis=0), rows.offset)
    one = GaussianEngine(rows, times.astype(float), none, *given_).expectation(
        *natural(*model, kind)
    )
    other = GaussianEngine(repeated, None, none, *given_).expectation(*natural(*model, kind))
    for value, wanted in zip(astuple(one)[:4], astuple(other)[:4], strict=True):
        close(value, wanted, np.float64)


def test_the_triangle_is_packed_row_by_row() -> None:
    x = np.array([[2.0, 3.0, 5.0, 7.0]])
    nothing = np.zeros((1, 4))
    engine = GaussianEngine(DenseRows(x), kind="full", n_components=1)
    found = engine.expectation(np.zeros(1), nothing, np.zeros((1, 10)))
    products = [4, 6, 10, 14, 9, 15, 21, 25, 35, 49]
    np.testing.assert_array_equal(found.second, [products])
    np.testing.assert_array_equal(found.first, x)
    for k, product in enumerate(products):
        quadratic = np.eye(10)[[k]]
        assert engine.log_joint(np.ones(1), nothing, quadratic) == 1 + product
    squares = GaussianEngine(DenseRows(x), kind="diag", n_components=1)
    found = squares.expectation(np.zeros(1), nothing, nothing)
    np.testing.assert_array_equal(found.second, x**2)


# ---------------------------------------------------------------------------
# densities and labels


@every_dtype
@every_form
def test_densities_and_labels_of_all_rows(
    form: str, kind: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(form, monkeypatch)
    for seed in range(5):
        rows, X, scale, grouped, model = problem(seed, kind, dtype)
        engine = Blocks(rows, None, grouped, kind, len(model[0]), scale)
        table = densities(X, *model)
        close(engine.log_joint(*natural(*model, kind)), table, dtype)
        label, density = engine.most_likely(*natural(*model, kind))
        close(density, logsumexp(table, axis=1), dtype)
        best = table.max(axis=1)
        chosen = table[np.arange(len(X)), label]
        assert (chosen >= best - 10 * TOLERANCE[dtype] * (1 + np.abs(best))).all()


def test_of_equal_components_the_first_is_taken() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    engine = GaussianEngine(DenseRows(X), n_components=3)
    one = natural(np.ones(3), np.zeros((3, 2)), np.tile(np.eye(2), (3, 1, 1)), "full")
    one[0][0] -= 1.0
    np.testing.assert_array_equal(engine.most_likely(*one)[0], np.ones(300))


# ---------------------------------------------------------------------------
# threads and files


@every_dtype
@every_form
def test_the_number_of_threads_changes_nothing(
    form: str, kind: str, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(form, monkeypatch)
    monkeypatch.setattr(gaussian_triangles, "CHUNK", 1024)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 6)).astype(dtype)
    grouped = np.flatnonzero(rng.random(len(X)) < 0.5)
    model, r = natural(*components(4, 6, kind, rng), kind), rng.normal(size=(len(grouped), 4))
    answers = []
    for jobs in (1, 2, 3):
        engine = GaussianEngine(DenseRows(X), None, grouped, kind, 4, n_jobs=jobs)
        assert len(engine.blocks()) > 3 and len(engine.blocks(len(r))) > 1
        answer = [*astuple(engine.expectation(*model)), *engine.add_grouped(r)]
        answers.append([*answer, *engine.most_likely(*model), engine.log_joint(*model)])
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@every_dtype
def test_a_file_is_as_good_as_an_array(tmp_path: Path, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 5)).astype(dtype)
    X.tofile(tmp_path / "data")
    disk = np.memmap(tmp_path / "data", dtype, "r", shape=X.shape)
    model, grouped = natural(*components(3, 5, "full", rng), "full"), np.array([0, 5, 2_999])
    offset = X.mean(axis=0)
    answers = []
    for base in (X, disk):
        engine = GaussianEngine(DenseRows(base, offset), None, grouped, "full", 3)
        answers.append([*astuple(engine.expectation(*model)), *engine.add_grouped(np.eye(3))])
    for one, two in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)
    assert engine._rows.X.ctypes.data == disk.ctypes.data  # not copied


# ---------------------------------------------------------------------------
# numbers that are hard to compute with


@every_dtype
@every_kind
def test_rows_far_away_have_finite_densities(kind: str, dtype: Any) -> None:
    d, K = 3, 4
    model = components(K, d, kind, np.random.default_rng(0))
    X = np.random.default_rng(1).normal(size=(50, d)).astype(dtype)
    X[::7] *= dtype(2_000)
    table = densities(X.astype(np.float64), *model)
    assert table.max(axis=1).min() < -1e6
    engine = GaussianEngine(DenseRows(X), None, np.array([7, 8]), kind, K)
    found = engine.expectation(*natural(*model, kind))
    for value in astuple(found):
        assert np.isfinite(value).all()
    total = np.delete(logsumexp(table, axis=1), [7, 8])
    assert found.log_likelihood == pytest.approx(total.sum(), rel=TOLERANCE[dtype])
    assert found.weight.sum() == pytest.approx(48, rel=1e-6)
    np.testing.assert_allclose(found.log_joint, table[[7, 8]], rtol=TOLERANCE[dtype])
    assert np.isfinite(engine.most_likely(*natural(*model, kind))[1]).all()


@every_dtype
@every_kind
def test_components_of_hardly_any_weight(kind: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)).astype(dtype)
    _, means, covariances = components(4, 2, kind, rng)
    smallest = 1e-25 if dtype == np.float32 else 1e-250
    weights = np.array([0.7, 0.3, smallest, 0.0])
    with np.errstate(divide="ignore"):
        model = natural(weights, means, covariances, kind)
    found = GaussianEngine(DenseRows(X), kind=kind, n_components=4).expectation(*model)
    table = densities(X.astype(np.float64), weights, means, covariances)
    r = np.exp(table - logsumexp(table, axis=1, keepdims=True))
    wanted = moments(X.astype(np.float64), r, kind)
    for value, other in zip(astuple(found)[1:4], wanted, strict=True):
        np.testing.assert_allclose(value[2], other[2], rtol=10 * TOLERANCE[dtype])
        assert not value[3].any()
    assert found.weight[2] > 0


def test_a_row_that_no_component_can_have_made() -> None:
    engine = GaussianEngine(DenseRows(np.ones((3, 2))), n_components=2)
    model = (np.full(2, -np.inf), np.zeros((2, 2)), np.zeros((2, 3)))
    found = engine.expectation(*model)
    assert found.log_likelihood == -np.inf
    np.testing.assert_allclose(found.weight, [1.5, 1.5])
    assert (engine.most_likely(*model)[1] == -np.inf).all()


def exact_densities(X: Array, weights: Array, means: Array, covariances: Array) -> Array:
    """Return log π_j q_j in extended precision."""
    table = np.empty((len(X), len(means)), np.longdouble)
    for j, (m, C) in enumerate(zip(means, covariances, strict=True)):
        root = np.linalg.inv(np.linalg.cholesky(C)).astype(np.longdouble)
        z = (X - m.astype(np.longdouble)) @ root.T
        constant = np.log(weights[j]) - 0.5 * X.shape[1] * np.log(2 * np.pi)
        table[:, j] = constant + np.log(np.diagonal(root)).sum() - 0.5 * (z**2).sum(axis=1)
    return table


@every_form
def test_data_far_from_zero_and_of_any_scale(
    form: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(form, monkeypatch)
    rng, n, d, K = np.random.default_rng(0), 4_000, 7, 3
    model = components(K, d, kind, rng)
    means = model[1]
    z = means[rng.integers(0, K, n)] + rng.normal(size=(n, d))
    spread = np.logspace(-6, 6, d)
    X = 1e6 * np.maximum(spread, 1.0) * rng.choice([-1, 1], d) + spread * z
    offset = X.mean(axis=0)
    scale = 1 / (X - offset).std(axis=0)
    # Parameters are those of the scaled rows; these are exactly what the file holds.
    x = (X.astype(np.longdouble) - offset) * scale
    table = exact_densities(x, *model)
    engine = GaussianEngine(DenseRows(X, offset), None, np.arange(n), kind, K, scale)
    found = engine.expectation(*natural(*model, kind))
    np.testing.assert_allclose(found.log_joint, table.astype(float), rtol=1e-11, atol=1e-11)
    streamed = GaussianEngine(
        DenseRows(X, offset), None, found.weight[:0].astype(int), kind, K, scale
    )
    sums = streamed.expectation(*natural(*model, kind))
    total = logsumexp(table.astype(float), axis=1)
    r = np.exp(table.astype(float) - total[:, None])
    assert sums.log_likelihood == pytest.approx(total.sum(), rel=1e-12)
    for value, wanted in zip(astuple(sums)[1:4], moments(x.astype(float), r, kind), strict=True):
        close(value, wanted, np.float64)


@every_kind
def test_small_components_far_apart_are_not_left_to_single_precision(kind: str) -> None:
    rng, n, d, K = np.random.default_rng(0), 2_000, 4, 3
    means, size = rng.normal(size=(K, d)), 1e-3
    X = (means[rng.integers(0, K, n)] + size * rng.normal(size=(n, d))).astype(np.float32)
    model = (np.full(K, 1 / K), means, np.tile(size**2 * np.eye(d), (K, 1, 1)))
    wanted = logsumexp(densities(X.astype(np.float64), *model), axis=1).sum()
    error = {}
    for dtype in (None, np.float32):
        engine = GaussianEngine(DenseRows(X), kind=kind, n_components=K, dtype=dtype)
        found = engine.expectation(*natural(*model, kind)).log_likelihood
        error[dtype] = abs(found - wanted) / n
    assert error[None] < 1e-6
    assert error[np.float32] > 1e-3  # it would not do
    # Nor does it depend on the unit of the data.
    double = GaussianEngine(DenseRows(X * np.float32(1e-4)), kind=kind, n_components=K)
    small = (model[0], means * 1e-4, model[2] * 1e-8)
    assert double._form(*natural(*small, kind)).constant.dtype == np.float64
    wide = (model[0], means * 1e-4, np.tile(1e-8 * np.eye(d), (K, 1, 1)))
    assert double._form(*natural(*wide, kind)).constant.dtype == np.float32


# ---------------------------------------------------------------------------
# bad input


@pytest.mark.parametrize("grouped", [[3, 1], [1, 1], [-1, 2], [2, 10]])
def test_grouped_rows_are_positions_in_order(grouped: list[int]) -> None:
    with pytest.raises(ValueError, match=r"np\.unique"):
        GaussianEngine(DenseRows(np.zeros((10, 2))), grouped=np.array(grouped))


def test_other_bad_input_is_named() -> None:
    rows = DenseRows(np.zeros((10, 2)))
    with pytest.raises(ValueError, match="'tied'"):
        GaussianEngine(rows, kind="tied")
    engine = GaussianEngine(rows, grouped=np.array([1, 2]), n_components=3)
    with pytest.raises(ValueError, match=r"\(3, 2\).* 2 grouped rows and 3 columns"):
        engine.add_grouped(np.zeros((3, 2)))
    scarce = GaussianEngine(CSRRows(sparse.csr_array(np.eye(3))))
    with pytest.raises(TypeError, match="dense"):
        scarce.expectation(np.zeros(1), np.zeros((1, 3)), np.zeros((1, 6)))
