"""The in-memory engine: map over blocks of rows, then add.

Every step of an algorithm that looks at all rows is a function of one block; the engine cuts the
data into blocks, runs them (on threads if asked to) and adds the results in the order of the
blocks, so the number of threads never changes a bit of the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .._rows import Rows, pieces
from ..distortions import Distortion, Metric
from ..estimation import Model, Statistics, summarize

__all__ = ["ArrayEngine"]


#: threadpoolctl limits the whole process, so fits that overlap in several threads take turns:
#: otherwise one would restore the other's limit and leave BLAS with a single thread for good.
_blas = threading.Lock()

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True)
class ArrayEngine:
    """All rows of a data set, and the passes that an algorithm makes over them.

    Parameters
    ----------
    rows : Rows
    weight : float array (n,)
        Sample weights.
    free : bool array (n,)
        Rows that take their nearest centre on their own.
    distortion : Distortion
    n_clusters : int
    n_jobs : int, default=1
        Threads.
    """

    rows: Rows
    weight: FloatArray
    free: NDArray[np.bool_]
    distortion: Distortion
    n_clusters: int
    n_jobs: int = 1

    def _blocks(self) -> list[slice]:
        # The size depends on the problem alone, never on the number of threads.
        width = self.rows.shape[1] + self.n_clusters
        return list(pieces(len(self.rows), max(1024, 4_000_000 // width)))

    def map(self, function: Callable[[slice], T]) -> list[T]:
        """Return the function of every block, in order."""
        blocks = self._blocks()
        if len(blocks) == 1:
            return [function(blocks[0])]
        # BLAS adds up in another order with other numbers of threads, so it gets one always.
        with _blas, threadpool_limits(1):
            if self.n_jobs == 1:
                return [function(block) for block in blocks]
            with ThreadPoolExecutor(self.n_jobs) as pool:
                return list(pool.map(function, blocks))

    def add(self, function: Callable[[slice], Any]) -> Any:
        """Return the sum of the function over blocks."""
        return reduce(add, self.map(function))

    def assign(self, model: Model, offsets: FloatArray, labels: IntArray) -> Statistics:
        """Give every free row its nearest centre, in place; return the free rows' statistics.

        A row changes its label (-1: none yet) only for a strictly nearer centre.
        """

        def one(block: slice) -> Statistics:
            rows, free = self.rows.take(block), self.free[block]
            costs = self.costs(rows, model, offsets)
            rounding = self._rounding(rows, model, offsets, costs)
            nearest = _nearest(costs, rounding, labels[block])
            labels[block] = np.where(free, nearest, labels[block])
            mine = np.where(free, labels[block], 0)
            return summarize(
                self.distortion, rows, self.weight[block], mine, model.metric, self.n_clusters, free
            )

        result: Statistics = self.add(one)
        return result

    def costs(self, rows: Rows, model: Model, offsets: FloatArray) -> NDArray[Any]:
        """Return the cost of every label for some rows, up to a constant a row."""
        costs = self.distortion.products(rows, model.centres, model.metric)
        if model.metric.per_cluster:
            costs = costs + self.distortion.row_offset(rows, model.metric)
        return np.asarray(costs + offsets.astype(costs.dtype))

    def _rounding(
        self, rows: Rows, model: Model, offsets: FloatArray, costs: NDArray[Any]
    ) -> NDArray[Any]:
        """Return how far each cost may be off: some units in the last place of its terms."""
        g, _ = self.distortion.centre_terms(model.centres, model.metric)
        terms = np.abs(costs) + (np.abs(g) + np.abs(offsets)).astype(costs.dtype)
        if model.metric.per_cluster:
            terms = terms + self.distortion.row_offset(rows, model.metric)
        return np.asarray(4.0 * np.finfo(costs.dtype).eps * terms)

    def statistics(self, labels: IntArray, metric: Metric) -> Statistics:
        """Return the statistics of all rows under a labelling."""

        def one(block: slice) -> Statistics:
            rows, weight = self.rows.take(block), self.weight[block]
            K = self.n_clusters
            return summarize(self.distortion, rows, weight, labels[block], metric, K)

        result: Statistics = self.add(one)
        return result

    def moment(self, metric: Metric) -> FloatArray:
        """Return Σ v F(x) or Σ v xxᵀ over all rows; nothing if each cluster has its own."""
        if metric.per_cluster:
            return np.zeros(1)
        measure: Any = self.distortion
        if not measure.bregman:
            return np.array([self.weight.sum()])

        def one(block: slice) -> FloatArray:
            part: FloatArray = measure.second_moment(
                self.rows.take(block), self.weight[block], metric
            )
            return part

        return np.asarray(self.add(one))

    def _moments(self, metric: Metric) -> FloatArray:
        """Return Σ v φ̃(x) and Σ v φ̃(x)², feature by feature."""

        def one(block: slice) -> FloatArray:
            rows, weight = self.rows.take(block), self.weight[block]
            scale = self.distortion.row_scale(rows, metric)
            factor = np.ones(len(rows)) if scale is None else np.asarray(scale, np.float64)
            first = rows.sums((weight * factor)[None, :])
            return np.concatenate([first, rows.square_sums((weight * factor**2)[None, :])])

        return np.asarray(self.add(one))

    def mean_variance(self, metric: Metric) -> float:
        """Return the mean over features of the variance of φ̃(x)."""
        mean, square = self._moments(metric) / self.weight.sum()
        return float(np.maximum(square - mean**2, 0.0).mean())

    def feature_shares(self, metric: Metric) -> FloatArray:
        """Return Σ v φ̃(x)² of every feature."""
        return np.asarray(self._moments(metric)[1])

    def gradient(self, labels: IntArray, M: FloatArray, metric: Metric) -> FloatArray:
        """Return ∂/∂a Σ v D of a directional measure."""
        measure: Any = self.distortion

        def one(block: slice) -> FloatArray:
            part: FloatArray = measure.gradient(
                self.rows.take(block), self.weight[block], labels[block], M, metric
            )
            return part

        return np.asarray(self.add(one))

    def dearest(self, model: Model, offsets: FloatArray, labels: IntArray, k: int) -> IntArray:
        """Return the k free rows whose own cluster costs them most (ties: smallest position)."""

        def one(block: slice) -> tuple[list[float], list[int]]:
            rows = self.rows.take(block)
            table = self.distortion.table(rows, model.centres, model.metric) + offsets
            cost = self.weight[block] * table[np.arange(len(rows)), labels[block]]
            cost = np.where(self.free[block], cost, -np.inf)
            top = np.argsort(-cost, kind="stable")[:k]
            return cost[top].tolist(), (top + (block.start or 0)).tolist()

        found = self.map(one)
        cost = np.array([c for part in found for c in part[0]])
        at = np.array([i for part in found for i in part[1]], dtype=np.int64)
        order = np.argsort(-cost, kind="stable")[:k]
        return at[order][np.isfinite(cost[order])]


def _nearest(costs: NDArray[Any], rounding: NDArray[Any], old: IntArray) -> IntArray:
    """Return the cheapest label of each row; the old one stays unless another is cheaper.

    "Cheaper" is by more than the rounding of the two costs compared, so that float32 data cannot
    make the objective rise.
    """
    row, best = np.arange(len(costs)), costs.argmin(axis=1)
    known = old >= 0
    mine = np.where(known, old, 0)
    slack = rounding[row, mine] + rounding[row, best]
    stays = known & (costs[row, mine] <= costs[row, best] + slack)
    return np.where(stays, old, best)
