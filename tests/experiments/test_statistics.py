"""Intervals and tests agree with scipy, with enumeration, and with figures worked out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from linkfield.experiments.statistics import (
    holm,
    interval,
    runs_needed,
    share_interval,
    signed_rank,
)


def enumerated(differences: np.ndarray) -> float:
    """Two-sided p by trying all signs."""
    d = differences[differences != 0]
    ranks = stats.rankdata(np.abs(d))
    seen = ranks[d > 0].sum()
    sums = [ranks @ np.array(signs) for signs in product((0, 1), repeat=len(d))]
    low = np.mean([s <= seen + 1e-9 for s in sums])
    high = np.mean([s >= seen - 1e-9 for s in sums])
    return min(1.0, 2 * min(low, high))


def test_interval_is_that_of_scipy() -> None:
    x = np.random.default_rng(0).normal(size=17)
    low, high = stats.t.interval(0.95, len(x) - 1, x.mean(), stats.sem(x))
    found = interval(x)
    assert found.n == 17
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx(
        (low, high)
    )


def test_interval_by_hand() -> None:
    # mean 2, standard deviation 1, standard error 1/√3, t of 2 degrees of freedom 4.3027
    found = interval([1, 2, 3, np.nan])
    assert found == pytest.approx((2.0, 4.302653 / np.sqrt(3), 3), abs=1e-5)
    assert interval([]).n == 0
    assert interval([0.4])[0::2] == (0.4, 1)
    assert np.isnan(interval([0.4]).half_width)


def test_share_interval_is_that_of_scipy() -> None:
    for k in (0, 3, 20):
        expected = stats.binomtest(k, 20).proportion_ci(method="wilson")
        assert share_interval([1.0] * k + [0.0] * (20 - k)) == pytest.approx(
            (expected.low, expected.high)
        )


def test_signed_rank_by_hand() -> None:
    # Five positive differences: 2 · 2^-5; turning the smallest over doubles both tails.
    assert signed_rank([1, 2, 3, 4, 5]) == (pytest.approx(2 / 32), 1, 5)
    assert signed_rank([-1, 2, 3, 4, 5]) == (pytest.approx(4 / 32), 1, 5)
    assert signed_rank([0.0, 0.0]) == (1.0, 0, 0)


@pytest.mark.parametrize("n", [3, 8, 20, 50])
def test_signed_rank_is_that_of_scipy_without_ties(n: int) -> None:
    d = np.random.default_rng(n).normal(0.3, 1, size=n)
    expected = stats.wilcoxon(d, method="exact").pvalue
    assert signed_rank(d).p == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
def test_signed_rank_is_exact_with_ties_and_zeros(whole: list[int]) -> None:
    d = np.array(whole, np.float64)
    if d.any():
        assert signed_rank(d).p == pytest.approx(enumerated(d))
    # Neither the unit nor rounding makes a difference.
    noisy = 0.1 * d + 1e-15
    assert signed_rank(noisy).p == pytest.approx(signed_rank(d).p)
    assert signed_rank(-d).direction == -signed_rank(d).direction


def test_signed_rank_of_signs_is_the_sign_test() -> None:
    expected = stats.binomtest(9, 12).pvalue
    assert signed_rank([0.5] * 9 + [-0.5] * 3).p == pytest.approx(expected)


def test_signed_rank_refuses_gaps() -> None:
    with pytest.raises(ValueError, match="incomplete"):
        signed_rank([0.1, np.nan])


def test_holm_by_hand() -> None:
    # 0.01 · 3, then 0.02 · 2 = 0.04, then 0.03 · 1 lifted to 0.04
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert holm([]).size == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_the_order_and_never_helps(p: list[float]) -> None:
    adjusted = holm(p)
    order = np.argsort(p, kind="stable")
    assert (adjusted >= np.array(p) - 1e-15).all()
    assert (np.diff(adjusted[order]) >= 0).all()
    assert adjusted.min() == pytest.approx(min(1.0, len(p) * min(p)))


@pytest.mark.parametrize("comparisons", [1, 2, 6, 12, 25, 26])
def test_runs_needed_is_the_least_that_can_show_anything(comparisons: int) -> None:
    n = runs_needed(comparisons)
    assert holm([signed_rank(np.arange(1.0, n + 1)).p] * comparisons)[0] < 0.05
    assert holm([signed_rank(np.arange(1.0, n)).p] * comparisons)[0] >= 0.05
