"""The data of the speed benchmarks; the same seed gives the same data.

Dense data are Gaussian classes. Their spread differs from feature to feature, by up to four times,
so that a learned metric has something to learn. Two typical centres lie ``APART`` standard
deviations from each other at 16 features and (d / 16)^0.08 times that at d, because in more
dimensions classes of the same distance are harder to find. "Overlapping" classes keep k-means
moving for dozens of iterations and leave little to prune; "separated" ones are what bounds are
good at.

Sparse data look like text: words follow Zipf's law (Mandelbrot's form, the commonest cut off as
stop words are), every topic prefers words of its own, a row mixes two topics, holds 100 different
words and has length 1. Rows of one topic only, or very rare words, would stop k-means after three
iterations, and nothing could be timed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["Dense", "Text", "first_words", "short", "start_centres", "unit_rows"]

#: Distance of two typical centres in standard deviations of a class, at 16 features.
APART = {"overlapping": 4.0, "separated": 12.0}

#: Rows that are made at a time.
BLOCK = 1 << 15


@dataclass(frozen=True)
class Dense:
    """Gaussian classes: rows, features, classes."""

    n: int
    d: int
    K: int
    dtype: str = "float32"
    variant: str = "overlapping"
    seed: int = 0

    def __str__(self) -> str:
        other = "" if self.variant == "overlapping" else f", {self.variant}"
        return f"{short(self.n)} x {self.d}, K {self.K}, {self.dtype}{other}"

    def make(self) -> tuple[Any, NDArray[Any]]:
        """Return rows and classes."""
        rng = np.random.default_rng(self.seed)
        spread = np.exp2(rng.uniform(-1, 1, self.d))
        step = APART[self.variant] * (self.d / 16) ** 0.08 / np.sqrt(2 * self.d)
        centres = step * rng.standard_normal((self.K, self.d))
        y = rng.integers(0, self.K, self.n)
        X = np.empty((self.n, self.d), dtype=self.dtype)
        rng.standard_normal(dtype=X.dtype, out=X)
        centres, spread = centres.astype(X.dtype), spread.astype(X.dtype)
        for start in range(0, self.n, BLOCK):
            rows = slice(start, start + BLOCK)
            X[rows] += centres[y[rows]]
            X[rows] *= spread
        return X, y


@dataclass(frozen=True)
class Text:
    """Rows of words: rows, vocabulary, topics."""

    n: int
    d: int
    K: int
    words: int = 100
    dtype: str = "float32"
    seed: int = 0

    def __str__(self) -> str:
        size = f"{short(self.n)} x {short(self.d)}, {self.words} non-zeros a row"
        return f"CSR {size}, K {self.K}, {self.dtype}"

    def make(self) -> tuple[Any, NDArray[Any]]:
        """Return rows (CSR) and their first topics."""
        rng = np.random.default_rng(self.seed)
        common = 1.0 / (100 + np.arange(self.d))
        y, other = rng.integers(0, self.K, (2, self.n))
        length = 3 * self.words
        own = rng.random((self.n, length)) < rng.uniform(0.2, 1, (self.n, 1))
        topic = np.where(own, y[:, None], other[:, None])
        tokens = np.empty((self.n, length), dtype=np.int64)
        for k in range(self.K):
            share = np.cumsum(common * np.exp(1.45 * rng.standard_normal(self.d)))
            mine = topic == k
            drawn = rng.uniform(0, share[-1], np.count_nonzero(mine))
            tokens[mine] = np.searchsorted(share, drawn)
        return unit_rows(*first_words(tokens, self.words), (self.n, self.d), self.dtype), y


def first_words(
    tokens: NDArray[np.int64], limit: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return (row, word, count) of the first ``limit`` different words of every row of tokens."""
    n, length = tokens.shape
    where = np.repeat(np.arange(n), length)
    key = where * (tokens.max(initial=0) + 1) + tokens.ravel()
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    order = np.argsort(first)  # by row, and in a row by first appearance
    first, count = first[order], count[order]
    row = where[first]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    keep = rank < limit
    return row[keep], tokens.ravel()[first[keep]], count[keep]


def unit_rows(
    row: NDArray[Any], word: NDArray[Any], count: NDArray[Any], shape: tuple[int, int], dtype: str
) -> Any:
    """Return CSR rows of length 1, weighted by 1 + log tf."""
    value = 1 + np.log(count)
    length = np.sqrt(np.bincount(row, value**2, minlength=shape[0]))
    X = sparse.csr_matrix(((value / length[row]).astype(dtype), (row, word)), shape=shape)
    X.sort_indices()
    return X


def start_centres(X: Any, K: int, seed: int = 0) -> NDArray[Any]:
    """Return the centres that every candidate sets out from.

    Dense: K rows drawn at random. Sparse: K means of 20 such rows, because single rows of words
    have so little in common that k-means would stop at once.
    """
    size = max(1, min(20, X.shape[0] // K)) if sparse.issparse(X) else 1
    rows = np.random.default_rng(seed).choice(X.shape[0], (K, size), replace=False)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X[rows[:, 0]])
    return np.concatenate([np.asarray(X[some].mean(axis=0)) for some in rows]).astype(X.dtype)


def short(number: int) -> str:
    """Return 1M, 100k, 20k or the number itself."""
    for size, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= size and number % size == 0:
            return f"{number // size}{name}"
    return str(number)
