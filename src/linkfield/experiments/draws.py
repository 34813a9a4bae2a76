"""Chance in experiments: seeds, splits, and pairs drawn from labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, Groups

__all__ = ["Drawing", "Known", "distinct_pairs", "random_pairs", "seed_of", "split"]

IntArray = NDArray[np.int64]

#: Pairs that are drawn at a time; a fixed number, so that asking for more changes none before.
_BLOCK = 1024


@dataclass(frozen=True)
class Drawing:
    """What constraints may be made of.

    Attributes
    ----------
    X : array or CSR matrix
        The rows that are clustered.
    labels : int array
        Their classes; -1 for all rows that will be scored.
    n_clusters : int
    count, noise : float
        How many constraints, and which share of them is to be wrong.
    seed : SeedSequence
        The same for every count and noise of a split.
    data_seed : int
        What the data were drawn by.
    """

    X: Any
    labels: IntArray
    n_clusters: int
    count: float
    noise: float
    seed: np.random.SeedSequence
    data_seed: int = 0


@dataclass(frozen=True)
class Known:
    """What the methods are told."""

    constraints: Constraints = field(default_factory=Constraints)
    partial_labels: IntArray | None = None
    groups: Groups | None = None


def seed_of(*key: int | str) -> np.random.SeedSequence:
    """Return the seed of a key; the order of its parts matters, the process does not."""
    words = [crc32(part.encode()) if isinstance(part, str) else int(part) for part in key]
    return np.random.SeedSequence(words)


def as_int(seed: np.random.SeedSequence) -> int:
    """Return a seed as the whole number that scikit-learn takes."""
    return int(seed.generate_state(1)[0] >> 1)


def split(n: int, folds: int, seed: np.random.SeedSequence) -> list[IntArray]:
    """Return the rows of every fold, by chance and in nearly equal numbers.

    Classes are not balanced: that would take the labels of the test rows.
    """
    if n < 2 * folds:
        raise ValueError(f"{n} rows are too few for {folds} folds")
    order = np.random.default_rng(seed).permutation(n)
    return [np.sort(part).astype(np.int64) for part in np.array_split(order, folds)]


def distinct_pairs(n: int, count: int, rng: np.random.Generator) -> IntArray:
    """Draw so many distinct pairs of n rows, uniformly; fewer pairs are the first of more."""
    available = n * (n - 1) // 2
    if count > available:
        raise ValueError(f"{count} pairs are asked for, but {n} rows have only {available}")
    keys = np.empty(0, dtype=np.int64)
    while True:
        _, first = np.unique(keys, return_index=True)
        if len(first) >= count:
            chosen = keys[np.sort(first)[:count]]
            return np.column_stack([chosen // max(n, 1), chosen % max(n, 1)])
        ends = np.sort(rng.integers(0, n, (_BLOCK, 2)), axis=1)
        ends = ends[ends[:, 0] < ends[:, 1]]
        keys = np.r_[keys, ends[:, 0] * n + ends[:, 1]]


def random_pairs(drawing: Drawing) -> Known:
    """Return ``count`` random pairs of labelled rows, each wrong with probability ``noise``.

    The papers' way: a pair is a must-link where the classes agree, else a cannot-link. Pairs that
    are wrong at some noise are wrong at any greater one.
    """
    rows = np.flatnonzero(drawing.labels >= 0)
    pairs_seed, noise_seed = (
        np.random.SeedSequence(drawing.seed.entropy, spawn_key=(k,)) for k in range(2)
    )
    count = int(drawing.count)
    pairs = rows[distinct_pairs(len(rows), count, np.random.default_rng(pairs_seed))]
    turned = np.random.default_rng(noise_seed).random(count) < drawing.noise
    classes = drawing.labels[pairs]
    must = (classes[:, 0] == classes[:, 1]) ^ turned
    return Known(Constraints(pairs[must].tolist(), pairs[~must].tolist()))
