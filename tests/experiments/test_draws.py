"""Chance in experiments: reproducible, nested, and blind to what is scored."""

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkfield.experiments.draws import Drawing, distinct_pairs, random_pairs, seed_of, split


def drawing(labels, count, noise=0.0, seed=0):
    labels = np.asarray(labels)
    X = np.zeros((len(labels), 1))
    return Drawing(X, labels, 3, count, noise, seed_of(seed, "constraints"))


def links(known):
    return {(int(p["a"]), int(p["b"])): str(p["kind"]) for p in known.constraints.pairs()}


@given(n=st.integers(2, 40), share=st.floats(0, 1), seed=st.integers(0, 99))
def test_pairs_are_distinct_and_the_first_ones_stay(n, share, seed):
    available = n * (n - 1) // 2
    count = round(share * available)
    pairs = distinct_pairs(n, count, np.random.default_rng(seed))
    assert pairs.shape == (count, 2)
    assert (pairs[:, 0] < pairs[:, 1]).all() and pairs.max(initial=0) < n
    assert len({tuple(p) for p in pairs}) == count
    fewer = distinct_pairs(n, count // 2, np.random.default_rng(seed))
    np.testing.assert_array_equal(fewer, pairs[: count // 2])


def test_prefix_holds_over_many_blocks():
    pairs = [distinct_pairs(90, count, np.random.default_rng(1)) for count in (100, 4005)]
    np.testing.assert_array_equal(pairs[0], pairs[1][:100])


def test_all_pairs_are_equally_likely():
    seen = np.zeros((6, 6), int)
    for seed in range(1500):
        a, b = distinct_pairs(6, 3, np.random.default_rng(seed)).T
        seen[a, b] += 1
    found = seen[np.triu_indices(6, 1)]  # 300 of each are expected, 15 is one deviation
    assert found.min() > 235 and found.max() < 365


def test_more_pairs_than_there_are():
    with pytest.raises(ValueError, match="only 3"):
        distinct_pairs(3, 4, np.random.default_rng(0))


def test_pairs_tell_the_truth_about_labelled_rows_only():
    labels = np.array([0, 1, 2, -1, 0, 1, 2, -1, 0, 1])
    found = links(random_pairs(drawing(labels, 28)))
    assert len(found) == 28  # all pairs of the 8 labelled rows
    for (a, b), kind in found.items():
        assert labels[a] >= 0 and labels[b] >= 0
        assert kind == ("must" if labels[a] == labels[b] else "cannot")


def test_counts_and_noise_are_nested():
    labels = np.random.default_rng(0).integers(0, 3, 60)
    clean = links(random_pairs(drawing(labels, 400)))
    few = links(random_pairs(drawing(labels, 100)))
    assert few.items() <= clean.items()
    turned = []
    for noise in (0.05, 0.2, 1.0):
        noisy = links(random_pairs(drawing(labels, 400, noise)))
        assert noisy.keys() == clean.keys()
        turned.append({pair for pair in clean if clean[pair] != noisy[pair]})
        part = links(random_pairs(drawing(labels, 100, noise)))
        assert part.items() <= noisy.items()
    assert turned[0] < turned[1] < turned[2] == clean.keys()
    assert 5 <= len(turned[0]) <= 40 and 50 <= len(turned[1]) <= 110
    assert links(random_pairs(drawing(labels, 100, seed=1))).keys() != few.keys()


@given(n=st.integers(20, 200), folds=st.integers(1, 10), seed=st.integers(0, 99))
def test_folds_part_the_rows(n, folds, seed):
    parts = split(n, folds, seed_of(seed))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1


def test_too_few_rows_for_the_folds():
    with pytest.raises(ValueError, match="too few for 10 folds"):
        split(19, 10, seed_of(0))


def test_seeds_depend_on_every_part_and_on_nothing_else():
    assert seed_of(3, "Iris", 1).entropy == [3, crc32(b"Iris"), 1]
    keys = [(3, "Iris", 1, 0), (4, "Iris", 1, 0), (3, "Wine", 1, 0), (3, "Iris", 0, 1)]
    assert len({tuple(seed_of(*key).generate_state(2)) for key in keys}) == len(keys)
