"""The engine of one machine: arrays in memory and memory maps, block by block, then add.

Every step of an algorithm that looks at all rows is a function of one block. The engine cuts the
data into blocks that depend on the problem alone, runs them on threads, and adds the results in
the order of the blocks, so the number of threads never changes a bit of the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._rows import Compiled, Rows
from .._threads import blas_for, run, share, threads
from ..distortions import Distortion, Metric
from ..estimation import Model, Statistics, summarize
from .blocks import cut_rows
from .layout import lengths_of, no_rows, offered, row_weights
from .moments import Moments

__all__ = ["ArrayEngine"]

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
    n_jobs : int or None, default=None
        Threads; None takes those of the context.
    reach : float array (d,) or None, default=None
        The greatest distance of any row from zero, feature by feature, if it is known.
    """

    rows: Rows
    weight: FloatArray
    free: NDArray[np.bool_]
    distortion: Distortion
    n_clusters: int
    n_jobs: int | None = None
    reach: FloatArray | None = None

    @cached_property
    def tied(self) -> IntArray:
        """Positions of the rows that are not free."""
        return np.flatnonzero(~self.free)

    @cached_property
    def edges(self) -> tuple[IntArray, list[int]]:
        """Where blocks begin and the last one ends, and how many rows each of them has."""
        edges = np.array([0, *(block.stop for block in self.blocks())])
        return edges, np.diff(edges).tolist()

    @property
    def result_size(self) -> int:
        """Numbers in the sums of all clusters."""
        return self.n_clusters * self.rows.shape[1]

    def compiled(self, metric: Metric) -> Compiled | None:
        """Return the rows for compiled passes, where they can do with this metric."""
        return None if metric.per_cluster else self.rows.compiled

    # ----------------------------------------------------------------- blocks

    def blocks(self, result: int = 0) -> tuple[slice, ...]:
        """Cut the rows; ``result`` says how many numbers each block gives back."""
        n, d = self.rows.shape
        return cut_rows(n, d, d * self.n_clusters, result)

    def map(self, function: Callable[[slice], T], result: int = 0) -> list[T]:
        """Return the function of every block, in order."""
        context = nullcontext() if self.n_jobs is None else threads(self.n_jobs)
        # BLAS adds up in another order with other numbers of threads, so it gets one always.
        with context, blas_for(*self.rows.shape, self.n_clusters):
            return run(function, self.blocks(result))

    def share(self, function: Callable[[int, int], T]) -> list[T]:
        """Call a function of the first block and the one behind the last, on ranges of blocks.

        Blocks are cut as by :meth:`map`; how they are shared out must not matter.
        """
        context = nullcontext() if self.n_jobs is None else threads(self.n_jobs)
        with context, blas_for(*self.rows.shape, self.n_clusters):
            return share(function, len(self.blocks()))

    def add(self, function: Callable[[slice], Any], result: int = 0) -> Any:
        """Return the sum of the function over blocks."""
        return reduce(add, self.map(function, result))

    # ------------------------------------------------------------- assignment

    def costs(self, rows: Rows, model: Model, offsets: FloatArray) -> NDArray[Any]:
        """Return the cost of every label for some rows, up to a constant a row."""
        costs = self.distortion.products(rows, model.centres, model.metric)
        if model.metric.per_cluster:
            costs = costs + self.distortion.row_offset(rows, model.metric)
        return np.asarray(costs + offsets.astype(costs.dtype))

    def statistics(self, labels: IntArray, metric: Metric) -> Statistics:
        """Return the statistics of all rows under a labelling; rows with label -1 do not count."""
        compiled, K = self.compiled(metric), self.n_clusters
        if compiled is None:
            return self._plain_statistics(labels, metric)
        theta = lengths_of(self.distortion, metric, self.rows.dtype)

        def one(block: slice) -> Statistics:
            part = Statistics.zero(K, self.rows.shape[1])
            compiled.passes.transfer(
                compiled.X, compiled.offset, theta, self.weight, no_rows, no_rows, labels,
                block.start, block.stop, part.in_place,
            )  # fmt: skip
            return part

        return self.add(one, self.result_size)

    def _plain_statistics(self, labels: IntArray, metric: Metric) -> Statistics:
        def one(block: slice) -> Statistics:
            mine, known = labels[block], labels[block] >= 0
            return summarize(
                self.distortion, self.rows.take(block), self.weight[block],
                np.where(known, mine, 0), metric, self.n_clusters, known,
            )  # fmt: skip

        return self.add(one, self.result_size * (self.rows.shape[1] if metric.full else 1))

    def nearest(self, model: Model, offsets: FloatArray) -> IntArray:
        """Return the label of the nearest centre of every row."""
        from .assignment import Assignment

        labels = np.full(len(self.rows), -1, dtype=np.int64)
        Assignment(self, labels, pruning=False, sums=False).assign(model, offsets)
        return labels

    # -------------------------------------------------------------- summaries

    def moments(self, metric: Metric) -> Moments:
        """Return Σ v φ̃(x), Σ v φ̃(x)² and the range, feature by feature."""
        compiled = self.compiled(metric)
        theta = lengths_of(self.distortion, metric, self.rows.dtype)

        def one(block: slice) -> Moments:
            if compiled is None:
                return Moments.plain(
                    self.rows.take(block), self.weight[block], self.distortion, metric
                )
            part = Moments.zero(self.rows.shape[1])
            compiled.passes.moments(
                compiled.X, compiled.offset, theta, self.weight, block.start, block.stop,
                part.first, part.second, part.low, part.high,
            )  # fmt: skip
            return part

        found: Moments = self.add(one, 4 * self.rows.shape[1])
        return found.with_zeros(self.rows)

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

        return np.asarray(self.add(one, metric.theta.size))

    def gradient(
        self, labels: IntArray, M: FloatArray, metric: Metric, sums: FloatArray | None = None
    ) -> FloatArray:
        """Return ∂/∂a Σ v D of a directional measure; ``sums`` are Σ v φ̃(x) if they are known."""
        measure: Any = self.distortion
        compiled, (K, d) = self.compiled(metric), M.shape
        dtype = self.rows.dtype
        theta = metric.theta.astype(dtype)
        unit = metric.apply(measure.unit(M, metric)).astype(dtype)

        def one(block: slice) -> FloatArray:
            if compiled is None:
                args = (self.rows.take(block), self.weight[block], labels[block])
                return np.concatenate(measure.slopes(*args, M, metric))
            out = np.zeros(K + d)
            compiled.passes.gradient(
                compiled.X, theta, self.weight, labels, unit, block.start, block.stop, out[:K],
                out[K:],
            )  # fmt: skip
            return out

        found = self.add(one, K + d)
        if sums is None:
            sums = self.statistics(labels, metric).sums
        slope: FloatArray = measure.gradient(sums, found[:K], found[K:], M, metric)
        return slope

    def row_offsets(self, metric: Metric) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return f(x) and the factor of φ̃(x) for every row (empty: 1), under a shared metric."""
        rows, distortion = self.rows, self.distortion
        parts = self.map(lambda b: row_weights(rows.take(b), distortion, metric), 0)
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def offer(
        self,
        points: FloatArray,
        metric: Metric,
        offsets: tuple[NDArray[Any], NDArray[Any]],
        nearest: FloatArray,
        found: NDArray[np.float32],
    ) -> FloatArray:
        """Write D of all rows to some points; return Σ v min(nearest, D) for each of them."""
        compiled, L = self.compiled(metric), len(points)
        terms: Any = None
        if compiled is not None:
            args = (points, metric, compiled, self.rows.dtype, self.reach)
            terms = offered(self.distortion, *args)

        def one(block: slice) -> FloatArray:
            left = np.zeros(L)
            if compiled is None:
                table = self.distortion.table(self.rows.take(block), points, metric)
                found[:, block] = table.T
                return np.minimum(nearest[block], found[:, block]) @ self.weight[block]
            compiled.passes.seed(
                compiled.X, compiled.offset, terms, *offsets, self.weight, nearest,
                block.start, block.stop, found, left,
            )  # fmt: skip
            return left

        return np.asarray(self.add(one, L))

    def dearest(self, model: Model, offsets: FloatArray, labels: IntArray, k: int) -> IntArray:
        """Return the k free rows whose own cluster costs them most (ties: smallest position)."""

        def one(block: slice) -> tuple[list[float], list[int]]:
            rows = self.rows.take(block)
            table = self.distortion.table(rows, model.centres, model.metric) + offsets
            cost = self.weight[block] * table[np.arange(len(rows)), labels[block]]
            cost = np.where(self.free[block], cost, -np.inf)
            top = np.argsort(-cost, kind="stable")[:k]
            return cost[top].tolist(), (top + (block.start or 0)).tolist()

        found = self.map(one, 0)
        cost = np.array([c for part in found for c in part[0]])
        at = np.array([i for part in found for i in part[1]], dtype=np.int64)
        order = np.argsort(-cost, kind="stable")[:k]
        return at[order][np.isfinite(cost[order])]
