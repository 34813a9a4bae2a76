"""The pass over rows of a Gaussian mixture written plainly, from differences to the means.

It keeps its digits where components are tiny beside the distances between them, and does not need
the d² features of a row at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .._rows import DenseRows, pieces
from .._threads import single_blas, spread
from ..estimation.component_sums import ComponentSums
from ..estimation.gaussians import Gaussians

__all__ = ["MixtureExpectation", "PlainMixtureEngine", "label_sums"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers in a table of rows by components (or features) that is held at once.
TABLE = 500_000


@dataclass(frozen=True)
class MixtureExpectation:
    """What a pass finds under given components.

    Attributes
    ----------
    log_likelihood : float
        Σ log p(x) of the rows that are not grouped.
    sums : ComponentSums
        Their sums; every one of them draws a label of its own.
    log_joint : float array (n_grouped, K)
        log π_j q_j(x) of the grouped rows.
    """

    log_likelihood: float
    sums: ComponentSums
    log_joint: FloatArray


@dataclass(frozen=True)
class PlainMixtureEngine:
    """All rows of a data set, as the E-step of a mixture sees them: x = (row − offset)·scale.

    Attributes
    ----------
    rows : DenseRows
    grouped : int array
        Positions of the rows that a constraint speaks of, rising.
    scale : float array (d,)
    """

    rows: DenseRows
    grouped: IntArray
    scale: FloatArray

    def taken(self, index: slice | IntArray) -> FloatArray:
        """Return some rows, centred and scaled, in float64."""
        X = np.asarray(self.rows.base[index], dtype=np.float64)
        offset = self.rows.offset
        return (X if offset is None else X - offset) * self.scale

    def _least(self, K: int) -> tuple[int, int]:
        """Return rows of a piece, and of the blocks that threads share."""
        size = max(64, TABLE // max(K, self.rows.shape[1]))
        return size, max(size, 4096)

    def expectation(self, gaussians: Gaussians) -> MixtureExpectation:
        """Return what all rows add up to; sums are about the present means."""
        K = len(gaussians.means)
        size, least = self._least(K)
        free = np.ones(len(self.rows), dtype=bool)
        free[self.grouped] = False

        def block(first: int, last: int) -> tuple[float, ComponentSums]:
            total, sums = 0.0, zero_sums(gaussians)
            for piece in pieces(last - first, size):
                index = slice(first + piece.start, first + piece.stop)
                X = self.taken(index)[free[index]]
                table = gaussians.log_joint(X)
                density = logsumexp(table, axis=1)
                total += float(density.sum())
                sums = sums + weighted_sums(gaussians, X, np.exp(table - density[:, None]))
            return total, sums

        with single_blas:
            parts = spread(block, len(self.rows), least)
        value = sum(part[0] for part in parts)
        sums = zero_sums(gaussians)
        for part in parts:
            sums = sums + part[1]
        return MixtureExpectation(value, sums, gaussians.log_joint(self.taken(self.grouped)))

    def grouped_sums(self, gaussians: Gaussians, r: FloatArray, draws: FloatArray) -> ComponentSums:
        """Return the sums of the grouped rows for responsibilities r (n_grouped, K)."""
        sums = zero_sums(gaussians)
        for piece in pieces(len(r), self._least(r.shape[1])[0]):
            sums = sums + weighted_sums(gaussians, self.taken(self.grouped[piece]), r[piece])
        return sums.with_draws(draws)


def zero_sums(gaussians: Gaussians) -> ComponentSums:
    """Return the sums of no rows, about the means."""
    K, d = gaussians.means.shape
    shape = (K, d, d) if gaussians.features == "full" else (K, d)
    none = np.zeros(K)
    return ComponentSums(none, none, np.zeros((K, d)), np.zeros(shape), gaussians.means)


def weighted_sums(gaussians: Gaussians, X: FloatArray, r: FloatArray) -> ComponentSums:
    """Return the sums of rows X with responsibilities r, about the means."""
    empty = zero_sums(gaussians)
    first, second = empty.first, empty.second
    for j, mean in enumerate(gaussians.means):
        Y = X - mean
        weighted = Y * r[:, j, None]
        first[j] = weighted.sum(axis=0)
        second[j] = weighted.T @ Y if second.ndim == 3 else np.einsum("nd,nd->d", weighted, Y)
    weight = r.sum(axis=0)
    return ComponentSums(weight, weight, first, second, gaussians.means)


def label_sums(
    engine: PlainMixtureEngine, gaussians: Gaussians, labels: NDArray[np.integer]
) -> ComponentSums:
    """Return the sums of all rows under hard labels, about the means."""
    sums = zero_sums(gaussians)
    K = len(gaussians.means)
    for piece in pieces(len(engine.rows), engine._least(K)[0]):
        r = (labels[piece, None] == np.arange(K)).astype(np.float64)
        sums = sums + weighted_sums(gaussians, engine.taken(piece), r)
    return sums
