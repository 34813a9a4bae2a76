"""A labelling under way: labels, their statistics and the costs of tied rows, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._threads import spread
from ..distortions import Metric
from ..estimation import Model, Statistics
from .array import ArrayEngine
from .kept_costs import KeptCosts
from .layout import centre_terms, lengths_of, no_rows
from .pruning import Pruning

__all__ = ["Assignment"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


#: Bounds are tried while no more than this share of the rows change their labels.
CALM = 0.1

#: From so many products on it pays to find some of them in single precision first, and to keep
#: bounds.
MANY = 2_000_000

#: Tied rows whose costs one thread works out at a time, and rows that it enters into the sums.
COSTS_AT_A_TIME, TRANSFERRED = 2048, 2048


@dataclass
class Assignment:
    """Labels of all rows, and what follows from them.

    A pass enters only the rows that changed into the statistics, so that a row which is certain
    of its label need not be read at all.

    Parameters
    ----------
    engine : ArrayEngine
    labels : int array (n,)
        Changed in place; -1 for none yet.
    pruning : bool, default=True
        Whether rows that are certain of their label may be passed by, in passes that take long.
    sums : bool, default=True
        Whether statistics are wanted.

    Attributes
    ----------
    stats : Statistics or None
        Of all rows that have a label, under the metric of the last pass.
    cheapest : int array (n_tied,)
        The label that costs each tied row least.
    margin : float array (n_tied,)
        By how much it does, at least.
    kept : KeptCosts
        The tied rows whose costs every pass writes down.
    changed : int
        How many labels the last pass changed.
    moved : int
        How many labels changed since :attr:`moved` was last set to 0.
    """

    engine: ArrayEngine
    labels: IntArray
    pruning: bool = True
    sums: bool = True
    stats: Statistics | None = None
    changed: int = 0
    moved: int = 0
    cheapest: NDArray[np.int32] = field(init=False, repr=False)
    margin: FloatArray = field(init=False, repr=False)
    kept: KeptCosts = field(init=False, repr=False)
    bounds: Pruning = field(init=False, repr=False)
    _terms: tuple[Model, FloatArray, Any] = field(init=False, repr=False)
    _tied_labels: IntArray | None = field(default=None, repr=False)
    _table: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        # Bounds of a row that was free in an earlier fit are those of its label.
        self.cheapest = self.labels[self.engine.tied].astype(np.int32)
        self.margin = np.zeros(len(self.cheapest))
        self.kept = KeptCosts(len(self.cheapest), self.engine.n_clusters)
        self.bounds = Pruning(self.engine.distortion, len(self.labels))

    def resumed(self, engine: ArrayEngine, labels: IntArray) -> Assignment:
        """Return the same standing for another fit to the same rows with other ties."""
        new = Assignment(engine, labels, self.pruning, stats=self.stats, moved=self.moved)
        self.bounds.resume(self.engine.tied)
        new.bounds = self.bounds
        return new

    def assign(self, model: Model, offsets: FloatArray, keep_bounds: bool = False) -> None:
        """Give every free row its nearest centre, and note the cheapest label of the tied rows.

        With ``keep_bounds`` the bounds of all rows are noted, for a fit that goes on from here.
        """
        engine, metric = self.engine, model.metric
        if self.stats is None:
            self.stats = self._first_statistics(metric)
        # The compiled pass leaves out the length of a row, which offsets would have to know.
        lengths_matter = not engine.distortion.bregman and bool(offsets.any())
        if engine.compiled(metric) is None or lengths_matter:
            self._plain_pass(model, offsets)
            return
        together = len(engine.blocks(engine.result_size)) == len(engine.blocks())
        fused, apart = self.sums and together, self.sums and not together
        before = self.labels.copy() if apart else no_rows
        if self._bounded:
            calm = self.changed < CALM * len(self.labels)
            self.bounds.begin(model, keep_bounds, calm)
        self._compiled_pass(model, offsets, fused)
        if apart and self.changed:
            self._enter(no_rows, before, self.labels, metric)

    @property
    def _long(self) -> bool:
        """Whether passes take so long that it pays to think about how to shorten them."""
        return self.engine.result_size * len(self.labels) >= MANY

    @property
    def _bounded(self) -> bool:
        return self.pruning and self._long

    def _first_statistics(self, metric: Metric) -> Statistics:
        if (self.labels >= 0).any():
            return self.engine.statistics(self.labels, metric)
        return Statistics.zero(self.engine.n_clusters, self.engine.rows.shape[1], metric)

    def _compiled_pass(self, model: Model, offsets: FloatArray, fused: bool) -> None:
        from .._kernels.layout import Sums, Tied

        engine, dtype = self.engine, self.engine.rows.dtype
        compiled = engine.compiled(model.metric)
        assert compiled is not None and self.stats is not None
        terms = centre_terms(
            engine.distortion, model, offsets, compiled, dtype, engine.reach, self._long
        )
        self._terms = (model, offsets, terms)
        kept = self.kept.rows, *self.kept.renewed()
        tied = Tied(engine.tied, engine.free, self.cheapest, self.margin, *kept)
        edges, sizes = engine.edges
        B, (K, d) = len(sizes), model.centres.shape if fused else (0, 0)
        sums = Sums(np.zeros((B, K)), np.zeros((B, K)), np.zeros((B, K, d)))
        probe = bounds = self.bounds.nothing()
        if self._bounded:
            probe, bounds = (self.bounds.bounds(k) for k in (0, 1))
        found = np.zeros((B, 2), dtype=np.int64)
        engine.share(
            lambda first, last: compiled.passes.assign(
                compiled.X, compiled.offset, terms, engine.weight, self.labels, edges, first, last,
                tied, fused, sums, probe, bounds, found,
            )
        )  # fmt: skip
        self.changed = int(found[:, 0].sum())
        self.moved += self.changed
        if fused and self.changed:
            self.stats.take_in(Statistics(*(part.sum(axis=0) for part in sums)))
            self.stats.clear_empty()
        self.bounds.learn(found[:, 1].tolist(), sizes)

    @property
    def in_parts(self) -> bool:
        """Whether costs of single rows can be had at the price of those rows."""
        return self._terms[2] is not None

    def costs(self) -> tuple[FloatArray, FloatArray]:
        """Return v D + offsets of all tied rows under the last pass's model, and their noise.

        Noise is how far a cost may be off. The arrays are written again by the next call.
        """
        engine, (model, offsets, terms) = self.engine, self._terms
        if self._table is None:
            n = len(engine.tied)
            self._table = np.zeros((n, engine.n_clusters)), np.zeros(n)
        table, noise = self._table
        if terms is None:
            tied = engine.rows.take(engine.tied).float64()
            found = engine.distortion.table(tied, model.centres, model.metric) + offsets
            table[:] = engine.weight[engine.tied, None] * found
            return table, noise
        self.some_costs(np.arange(len(engine.tied)), table, noise)
        diagonal = engine.distortion.name == "euclidean" and not model.metric.full
        if not diagonal and engine.distortion.bregman and len(table):
            f = engine.distortion.row_offset(engine.rows.take(engine.tied), model.metric)
            table += (engine.weight[engine.tied] * f)[:, None]
        return table, noise

    def some_costs(self, which: IntArray, table: FloatArray, noise: FloatArray) -> None:
        """Write the costs of some tied rows and their noise, up to a constant a row."""
        engine, (model, _, terms) = self.engine, self._terms
        compiled = engine.compiled(model.metric)
        assert compiled is not None
        rows = engine.tied[which]

        def one(first: int, last: int) -> None:
            compiled.passes.costs(
                compiled.X, compiled.offset, terms, engine.weight, rows, first, last, table, noise
            )

        spread(one, len(rows), COSTS_AT_A_TIME)

    def _plain_pass(self, model: Model, offsets: FloatArray) -> None:
        """Do the same for metrics and rows that have no compiled passes."""
        engine = self.engine
        self._terms = (model, offsets, None)
        before = self.labels.copy()

        def one(block: slice) -> None:
            rows, free = engine.rows.take(block), engine.free[block]
            costs = engine.costs(rows, model, offsets)
            rounding = _rounding(engine, rows, model, offsets, costs)
            nearest = _nearest(costs, rounding, self.labels[block])
            self.labels[block] = np.where(free, nearest, self.labels[block])

        engine.map(one)
        self.changed = int((before != self.labels).sum())
        self.moved += self.changed
        if self.changed and self.sums:
            self.stats = engine.statistics(self.labels, model.metric)

    @property
    def tied_labels(self) -> IntArray:
        """The labels of the tied rows, not to be written to; another array when they change."""
        if self._tied_labels is None:
            self._tied_labels = self.labels[self.engine.tied]
        return self._tied_labels

    def place(
        self, tied_labels: IntArray, metric: Metric, moved: NDArray[np.uint32] | None = None
    ) -> None:
        """Give the tied rows their labels; the array must not be written to afterwards.

        ``moved`` says whose labels are others than before, where that is known.
        """
        tied, before = self.engine.tied, self.tied_labels
        if moved is None:
            moved = np.flatnonzero(before != tied_labels).astype(np.uint32)
        if len(moved) == 0:
            return
        self._tied_labels = tied_labels
        self.changed += len(moved)
        self.moved += len(moved)
        if self.engine.compiled(metric) is None:
            self.labels[tied[moved]] = tied_labels[moved]
            self.stats = self.engine.statistics(self.labels, metric)
        else:
            from .._kernels.lists import relabelled

            rows, old, new = relabelled(tied, before, tied_labels, moved, self.labels)
            self._enter(rows, old, new, metric)

    def _enter(self, rows: IntArray, old: IntArray, new: IntArray, metric: Metric) -> None:
        """Move rows from one cluster's sums to another's."""
        engine, compiled = self.engine, self.engine.compiled(metric)
        assert compiled is not None and self.stats is not None
        theta = lengths_of(engine.distortion, metric, engine.rows.dtype)

        def transfer(stats: Statistics, first: int, last: int) -> Statistics:
            compiled.passes.transfer(
                compiled.X, compiled.offset, theta, engine.weight, rows, old, new, first, last,
                stats.in_place,
            )  # fmt: skip
            return stats

        least = max(TRANSFERRED, 4 * engine.n_clusters)
        if compiled.transposed or len(new) < 2 * least:  # sums of their own would cost more
            transfer(self.stats, 0, len(new))
        else:
            K, d = engine.n_clusters, engine.rows.shape[1]
            for part in spread(lambda a, b: transfer(Statistics.zero(K, d), a, b), len(new), least):
                self.stats.take_in(part)
        self.stats.clear_empty()

    def replaced(self, stats: Statistics) -> None:
        """Note that labels were changed from outside, and what the statistics are now."""
        self.stats = stats
        self.changed += 1
        self.bounds.forget(slice(None))
        self._tied_labels = None

    def refresh(self, metric: Metric) -> None:
        """Sum the statistics afresh: moving many rows in and out leaves rounding behind."""
        self.stats = self.engine.statistics(self.labels, metric)


def _rounding(
    engine: ArrayEngine, rows: Any, model: Model, offsets: FloatArray, costs: NDArray[Any]
) -> NDArray[Any]:
    """Return how far each cost may be off: some units in the last place of its terms."""
    g, _ = engine.distortion.centre_terms(model.centres, model.metric)
    terms = np.abs(costs) + (np.abs(g) + np.abs(offsets)).astype(costs.dtype)
    if model.metric.per_cluster:
        terms = terms + engine.distortion.row_offset(rows, model.metric)
    return np.asarray(4.0 * np.finfo(costs.dtype).eps * terms)


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
