"""The normal form sorts by single numbers, as sorting by columns would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield.constraints._normal import (
    merge_duplicates,
    stable_order,
    with_smaller_first,
)


@given(st.lists(st.integers(0, 6) | st.integers(0, 2**62), max_size=40))
def test_equal_numbers_keep_their_order(numbers):
    numbers = np.array(numbers, dtype=np.int64)
    np.testing.assert_array_equal(stable_order(numbers), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("merge", ["max", "sum"])
@given(data=st.data())
def test_pairs_given_twice_are_merged(merge, data):
    listed = data.draw(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=25))
    pairs = np.array(listed, dtype=np.int64).reshape(-1, 2)
    weight = np.arange(1.0, len(pairs) + 1)
    source = np.array([f"s{k}" for k in range(len(pairs))], dtype=object)
    found, weights, _ = merge_duplicates(pairs, weight, source, merge)
    wanted = {}
    for (a, b), w in zip(listed, weight, strict=True):
        wanted.setdefault((min(a, b), max(a, b)), []).append(w)
    assert [tuple(pair) for pair in found.tolist()] == sorted(wanted)
    combine = max if merge == "max" else sum
    assert weights.tolist() == [combine(wanted[key]) for key in sorted(wanted)]
    again = merge_duplicates(found, weights, np.full(len(found), None), merge)
    np.testing.assert_array_equal(again[0], found)
    np.testing.assert_array_equal(with_smaller_first(found), found)
