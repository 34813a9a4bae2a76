"""Products and least costs in vector registers, against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numba import njit

from linkfield._kernels.tiles import TILE, nearest, product, products, room_for

Array = np.ndarray
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
sizes = st.tuples(st.integers(1, 100), st.integers(1, 40), st.integers(1, 11), st.integers(0, 999))


@njit
def find(X: Array, psi: Array, g: Array, room: Array, best: Array, second: Array, label: Array):  # type: ignore[no-untyped-def]
    nearest(X, X.shape[0] - 1, psi, g, room, best, second, label)


@njit
def multiply(X: Array, psi: Array, room: Array, out: Array):  # type: ignore[no-untyped-def]
    products(X, X.shape[0] - 1, psi, room, out)


@njit
def one_product(X: Array, psi: Array, i: int, h: int):  # type: ignore[no-untyped-def]
    return product(X, i, psi, h)


def make(size: tuple[int, int, int, int], dtype: Any) -> tuple[Array, Array, Array]:
    n, d, K, seed = size
    rng = np.random.default_rng(seed)
    X, psi, g = rng.normal(size=(n, d)), rng.normal(size=(K, d)), rng.normal(size=K)
    return X.astype(dtype), psi.astype(dtype), g.astype(dtype)


def found(X: Array, psi: Array, g: Array) -> tuple[Array, Array, Array]:
    n = len(X)
    whole = (n + TILE - 1) // TILE * TILE
    best, second = (np.full(whole + 3, 7.0, psi.dtype) for _ in range(2))
    label = np.full(whole + 3, 7, np.int32)
    find(X, psi, g, np.empty(room_for(len(psi)), psi.dtype), best, second, label)
    for out in (best, second, label):
        assert (out[whole:] == 7).all()  # nothing is written behind the last tile
    return best[:n], second[:n], label[:n]


@every_dtype
@settings(max_examples=60)
@given(size=sizes)
@example(size=(1, 1, 1, 0))
@example(size=(33, 16, 4, 0))
@example(size=(64, 33, 5, 0))
@example(size=(40, 300, 6, 0))
def test_least_and_second_least_cost(dtype: Any, size: tuple[int, int, int, int]) -> None:
    X, psi, g = make(size, dtype)
    best, second, label = found(X, psi, g)
    cost = g.astype(float) - X.astype(float) @ psi.astype(float).T
    wanted = np.sort(cost, axis=1)
    tolerance = 200 * np.finfo(dtype).eps * (1 + np.abs(X).sum(axis=1) * np.abs(psi).max())
    assert (np.abs(best - wanted[:, 0]) <= tolerance).all()
    assert (np.abs(cost[np.arange(len(X)), label] - wanted[:, 0]) <= 2 * tolerance).all()
    if len(g) == 1:
        assert np.isinf(second).all()
    else:
        assert (np.abs(second - wanted[:, 1]) <= tolerance).all()


@settings(max_examples=40)
@given(size=sizes)
@example(size=(40, 300, 6, 0))
def test_rows_of_double_precision_are_rounded_on_the_way(size: tuple[int, int, int, int]) -> None:
    X, psi, g = make(size, np.float64)
    psi, g = psi.astype(np.float32), g.astype(np.float32)
    for one, other in zip(found(X, psi, g), found(X.astype(np.float32), psi, g), strict=True):
        np.testing.assert_array_equal(one, other)


@every_dtype
@settings(max_examples=40)
@given(size=sizes)
def test_the_same_bits_wherever_a_row_stands(dtype: Any, size: tuple[int, int, int, int]) -> None:
    X, psi, g = make(size, dtype)
    best, _, label = found(X, psi, g)
    for i in range(0, len(X), 7):
        assert best[i] == g[label[i]] - one_product(X, psi, i, label[i])
    order = np.random.default_rng(size[3]).permutation(len(X))
    again, _, labels = found(np.ascontiguousarray(X[order]), psi, g)
    np.testing.assert_array_equal(again, best[order])
    np.testing.assert_array_equal(labels, label[order])


@every_dtype
@settings(max_examples=40)
@given(size=sizes)
def test_products(dtype: Any, size: tuple[int, int, int, int]) -> None:
    X, psi, _ = make(size, dtype)
    n = len(X)
    whole = (n + TILE - 1) // TILE * TILE
    out = np.empty((len(psi), whole), dtype)
    multiply(X, psi, np.empty(room_for(len(psi)), dtype), out)
    tolerance = 100 * np.finfo(dtype).eps * (1 + np.abs(X).sum(axis=1) * np.abs(psi).max())
    wanted = psi.astype(float) @ X.astype(float).T
    assert (np.abs(out[:, :n] - wanted) <= tolerance).all()
    for i in range(0, n, 5):
        assert out[0, i] == one_product(X, psi, i, 0)


@every_dtype
def test_of_equal_costs_the_first_label(dtype: Any) -> None:
    X, psi, g = make((70, 9, 3, 1), dtype)
    _, _, label = found(X, np.concatenate([psi, psi, psi]), np.concatenate([g, g, g]))
    assert (label < 3).all()
