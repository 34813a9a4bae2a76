"""Pairs drawn from labels: distinct, uniform, with the right share of noise, repeatable."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield.constraints import Constraints, sample_pairs
from linkfield.constraints.sampling import _triangle

classes = st.lists(st.integers(0, 3), max_size=12).map(np.array)
seeds = st.integers(0, 2**32 - 1)


@given(classes, seeds, st.data())
def test_pairs_are_distinct_and_tell_the_truth(y, seed, data):
    n_pairs = data.draw(st.integers(0, len(y) * (len(y) - 1) // 2))
    pairs, must = sample_pairs(y, n_pairs, random_state=seed)
    assert pairs.shape == (n_pairs, 2) and must.shape == (n_pairs,)
    assert len({tuple(p) for p in np.sort(pairs, axis=1).tolist()}) == n_pairs
    assert all(a != b for a, b in pairs.tolist())
    assert [y[a] == y[b] for a, b in pairs.tolist()] == must.tolist()


@given(st.integers(2, 12), seeds)
def test_as_many_as_there_are_is_all_of_them(n, seed):
    pairs, _ = sample_pairs(np.zeros(n, dtype=int), n * (n - 1) // 2, random_state=seed)
    assert sorted(map(tuple, pairs.tolist())) == list(combinations(range(n), 2))


def test_the_draw_is_uniform():
    n, per_draw, n_draws = 7, 5, 2_000
    rng = np.random.default_rng(0)
    y = np.array([0, 0, 0, 1, 1, 2, 2])
    drawn = Counter(
        tuple(p)
        for _ in range(n_draws)
        for p in sample_pairs(y, per_draw, random_state=rng)[0].tolist()
    )
    n_pairs = n * (n - 1) // 2
    expected = n_draws * per_draw / n_pairs
    # Each pair is in a draw with probability 5/21; five standard deviations of the worst of 21.
    bound = 5 * math.sqrt(n_draws * (per_draw / n_pairs) * (1 - per_draw / n_pairs))
    assert len(drawn) == n_pairs
    assert max(abs(count - expected) for count in drawn.values()) < bound


@pytest.mark.parametrize("noise", [0.05, 0.3, 0.9])
def test_noise_turns_the_right_share_over(noise):
    y = np.repeat([0, 1, 2], 100)
    n_pairs = 20_000
    pairs, must = sample_pairs(y, n_pairs, noise=noise, random_state=1)
    truth = y[pairs[:, 0]] == y[pairs[:, 1]]
    for kind in (truth, ~truth):  # whatever the kind
        n = int(kind.sum())
        turned = int((must != truth)[kind].sum())
        assert abs(turned - n * noise) < 5 * math.sqrt(n * noise * (1 - noise))


@given(classes, seeds, st.data())
def test_full_noise_turns_every_pair_and_none_does_not(y, seed, data):
    n_pairs = data.draw(st.integers(0, len(y) * (len(y) - 1) // 2))
    pairs, must = sample_pairs(y, n_pairs, noise=0.0, random_state=seed)
    same, turned = sample_pairs(y, n_pairs, noise=1.0, random_state=seed)
    assert pairs.tolist() == same.tolist()
    assert (must ^ turned).all()


@pytest.mark.parametrize(
    "make",
    [lambda: 7, lambda: np.random.default_rng(7), lambda: np.random.RandomState(7)],
    ids=["int", "Generator", "RandomState"],
)
def test_the_same_seed_gives_the_same_pairs(make):
    y = np.repeat([0, 1], 30)
    one, two = (
        Constraints.from_labels(y, n_pairs=200, noise=0.2, random_state=make()) for _ in range(2)
    )
    assert one == two
    assert one != Constraints.from_labels(y, n_pairs=200, noise=0.2, random_state=8)


def test_a_generator_goes_on():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    one, two = (Constraints.from_labels(y, n_pairs=20, random_state=rng) for _ in range(2))
    assert one != two


def test_many_rows_cost_no_more_than_the_pairs_drawn():
    pairs, must = sample_pairs(np.arange(2_000_000) % 2, 1_000, random_state=0)
    assert len({tuple(p) for p in pairs.tolist()}) == 1_000
    assert (pairs[:, 0] < pairs[:, 1]).all() and pairs.max() < 2_000_000
    assert (must == ((pairs[:, 0] - pairs[:, 1]) % 2 == 0)).all()


@given(st.integers(0, 2**60))
def test_the_number_of_a_pair_is_exact(k):
    around = [max(k - 1, 0), k, k + 1]
    b0 = (1 + math.isqrt(1 + 8 * k)) // 2
    around += [b0 * (b0 - 1) // 2 + d for d in (-1, 0, 1) if b0 * (b0 - 1) // 2 + d >= 0]
    for index, (a, b) in zip(around, _triangle(np.array(around)).tolist(), strict=True):
        assert 0 <= a < b
        assert b * (b - 1) // 2 + a == index


# -- through from_labels ---------------------------------------------------------------------------

partial = st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=12)


@given(partial, seeds, st.data())
def test_only_labelled_rows_are_drawn(y, seed, data):
    known = [i for i, v in enumerate(y) if v != -1]
    n_pairs = data.draw(st.integers(0, len(known) * (len(known) - 1) // 2))
    c = Constraints.from_labels(y, n_pairs=n_pairs, random_state=seed)
    table = c.pairs()
    assert len(table) == n_pairs and len(c.labels.rows) == 0
    for a, b, kind, weight in table.tolist():
        assert a in known and b in known and weight == 1.0
        assert kind == ("must" if y[a] == y[b] else "cannot")


def test_drawn_pairs_know_their_ids():
    ids = list("pqrst")
    c = Constraints.from_labels([0, -1, 0, 1, 1], n_pairs=6, random_state=0, sample_id=ids)
    frame = c.to_frame("pandas")
    assert set(frame["a"]) | set(frame["b"]) == {"p", "r", "s", "t"}
    assert c.align(ids[::-1]).align(ids) == c


# -- bad input -------------------------------------------------------------------------------------


def test_more_pairs_than_there_are_is_refused():
    with pytest.raises(ValueError, match=r"n_pairs=4 asks for more than the 3 pairs of 3 labelled"):
        Constraints.from_labels([0, -1, 1, 1], n_pairs=4)


@pytest.mark.parametrize("n_pairs", [-1, 1.5, True, "3"])
def test_the_number_of_pairs_is_whole(n_pairs):
    with pytest.raises(ValueError, match=r"n_pairs must be a whole number, 0 or more; got"):
        sample_pairs(np.zeros(5), n_pairs)


@pytest.mark.parametrize("noise", [-0.1, 1.1, float("nan")])
def test_noise_is_a_probability(noise):
    with pytest.raises(ValueError, match=r"noise is a probability between 0 and 1; got"):
        sample_pairs(np.zeros(5), 2, noise=noise)


def test_noise_without_pairs_is_refused():
    with pytest.raises(ValueError, match=r"noise needs n_pairs"):
        Constraints.from_labels([0, 0, 1], noise=0.1)
