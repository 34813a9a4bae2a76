"""Squares that are kept give what the rows themselves give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkfield._rows import DenseRows
from linkfield.estimation import stored_squares as module
from linkfield.estimation.stored_squares import StoredSquares


@pytest.mark.parametrize("room", [module.ROOM, 300, 0])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_equal_to_the_rows(room, seed):
    rng = np.random.default_rng(seed)
    n, d, m = 30, int(rng.integers(1, 6)), 60
    X = rng.normal(size=(n, d)).astype(rng.choice([np.float32, np.float64]))
    rows = DenseRows(X, rng.normal(size=d).astype(X.dtype) if rng.random() < 0.5 else None)
    left, right = rng.integers(0, n, (2, m))
    stored = StoredSquares(rows, left, right)
    before, module.ROOM = module.ROOM, room
    try:
        for _ in range(8):
            a = rng.uniform(0.1, 2.0, d)
            pairs = rng.integers(0, m, int(rng.integers(0, m))).astype(np.int32)
            wanted = rows.pair_squares(left[pairs], right[pairs], a)
            for keep in (bool(rng.random() < 0.5), False, True):
                found = stored.weighted(pairs, a, keep)
                np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
    finally:
        module.ROOM = before


def test_pairs_that_are_asked_for_no_longer_make_room():
    rng = np.random.default_rng(0)
    rows, m = DenseRows(rng.normal(size=(200, 2))), 5_000
    left, right = rng.integers(0, 200, (2, m))
    stored, a = StoredSquares(rows, left, right), np.ones(2)
    stored.weighted(np.arange(m), a, True)
    assert stored._used == m
    few = np.arange(0, m, 50)
    for factor, used in ((2.0, m), (3.0, len(few)), (4.0, len(few))):  # once they are that few
        found = stored.weighted(few, factor * a, True)
        assert stored._used == used
        np.testing.assert_allclose(found, rows.pair_squares(left[few], right[few], factor * a))
