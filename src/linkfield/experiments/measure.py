"""One unit of work: all fits that share data, run and fold, and what they are worth."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from ..constraints import violated_pairs
from ..evaluation import (
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
    pairwise_f_score,
)
from ..exceptions import ConstraintWarning
from .data import DataSet
from .draws import Drawing, Known, as_int, distinct_pairs, seed_of, split
from .protocol import Cell, Experiment, Fit, Method, Source, Task

__all__ = ["HELD_OUT", "Row", "measure"]

IntArray = NDArray[np.int64]

#: A cell and its values by column.
Row = tuple[Cell, dict[str, Any]]

#: Pairs of scored rows that the labels are held against: so many, or all there are.
HELD_OUT = 1000

#: Methods that this process has run on some data: whatever they compile is ready.
_WARM: set[tuple[str, str, str]] = set()


def measure(
    experiment: Experiment, cells: Sequence[Cell], data_dir: Path | None = None
) -> Iterator[Row]:
    """Yield the values of cells that share data, run and fold.

    Every fit has one thread, whatever the number of processes: times can be compared, and sums
    are added up in the same order.
    """
    unit = _Unit.of(experiment, cells[0], data_dir)
    wanted = set(cells)
    with threadpool_limits(1), warnings.catch_warnings():
        # Expected where constraints are noisy or a start is poor; nobody reads a thousand of them.
        for kind in (ConvergenceWarning, ConstraintWarning):
            warnings.simplefilter("ignore", kind)
        for constraints in experiment.constraints:
            for noise in experiment.noise:
                known: Known | None = None
                for method in experiment.methods:
                    cell = cells[0]._replace(
                        method=method.name, constraints=constraints, noise=noise
                    )
                    if cell in wanted:
                        known = known or unit.known(constraints, noise)
                        yield cell, unit.values(method, cell, known)


@dataclass(frozen=True)
class _Unit:
    """Data, split and seeds of one fold of one run; only the scores see the labels of the test."""

    experiment: Experiment
    source: Source
    data: DataSet
    clustered: IntArray
    test: IntArray | None
    key: tuple[int | str, ...]
    data_seed: int
    fits: dict[tuple[str, float, float], tuple[Fit, float]]

    @classmethod
    def of(cls, experiment: Experiment, cell: Cell, data_dir: Path | None) -> _Unit:
        """Load the data of a cell and split them."""
        source = next(s for s in experiment.data if s.name == cell.data)
        run_key = (experiment.seed, source.chance, cell.run)
        data_seed = as_int(seed_of(*run_key, "sample")) if source.redrawn else 0
        data = _loaded(source, data_dir, data_seed)
        clustered, test = np.arange(len(data.y)), None
        if experiment.folds > 1:
            test = split(len(data.y), experiment.folds, seed_of(*run_key, "split"))[cell.fold]
            if experiment.cluster == "train":
                clustered = np.setdiff1d(clustered, test)
        key = (*run_key, cell.fold)
        return cls(experiment, source, data, clustered, test, key, data_seed, {})

    # ------------------------------------------------------------- the fits

    def known(self, constraints: float, noise: float) -> Known:
        """Return what is told: drawn from the labels of rows outside the test."""
        labels = self.data.y.copy()
        if self.test is not None:
            labels[self.test] = -1
        drawing = Drawing(
            X=self.data.X[self.clustered],
            labels=labels[self.clustered],
            n_clusters=self.data.n_clusters,
            count=constraints,
            noise=noise,
            seed=seed_of(*self.key, "constraints"),
            data_seed=self.data_seed,
        )
        return self.experiment.draw(drawing)

    def task(self, known: Known, method: Method) -> Task:
        """Return what a method sees."""
        if method.ignores_constraints:
            known = Known()
        separate = self.experiment.cluster == "train"
        return Task(
            X=self.data.X[self.clustered],
            n_clusters=self.data.n_clusters,
            constraints=known.constraints,
            seed=as_int(seed_of(*self.key, "start")),
            distortion=self.source.distortion,
            partial_labels=known.partial_labels,
            groups=known.groups,
            others=self.data.X[self.test] if separate else None,
        )

    def fit(self, method: Method, cell: Cell, known: Known) -> tuple[Fit, float]:
        """Return what a method finds and how long it takes; the same task is solved once."""
        told = cell.constraints > 0 and not method.ignores_constraints
        key = (method.name, cell.constraints, cell.noise) if told else (method.name, 0, 0)
        if key in self.fits:
            return self.fits[key]
        self._warm(method)
        task = self.task(known, method)
        begin = time.perf_counter()
        fit = method.fit(task)
        self.fits[key] = fit, time.perf_counter() - begin
        return self.fits[key]

    def _warm(self, method: Method) -> None:
        """Let a method compile what it will need, on the largest task of this unit."""
        used = (self.experiment.name, self.source.name, method.name)
        if method.warm_up and used not in _WARM:
            known = self.known(max(self.experiment.constraints), max(self.experiment.noise))
            method.fit(self.task(known, method))
        _WARM.add(used)

    # ----------------------------------------------------------- the scores

    def values(self, method: Method, cell: Cell, known: Known) -> dict[str, Any]:
        """Return the values of a cell by column."""
        try:
            fit, seconds = self.fit(method, cell, known)
        except Exception as error:
            error.add_note(f"in the experiment {self.experiment.name}, at {cell}")
            raise
        if fit.labels is None:
            return {"seconds": round(seconds, 6), **fit.extra}
        return {
            **self._scores(fit, known),
            "objective": fit.objective,
            "energy": fit.energy,
            "seconds": round(seconds, 6),
            "iterations": fit.iterations,
            "violated": _violated(known, fit.labels),
            **fit.extra,
        }

    def _scores(self, fit: Fit, known: Known) -> dict[str, float]:
        """Return the scores on test rows; without folds, on rows that no constraint touches."""
        if self.test is None:
            test = np.setdiff1d(np.arange(len(self.data.y)), _told_rows(known))
        else:
            test = self.test
        if len(test) < 2:
            return {}
        found = fit.labels if self.experiment.cluster == "all" else None
        labels = fit.other_labels if found is None else found[test]
        if labels is None or len(labels) != len(test):
            raise ValueError("the method did not label the rows that it was to label")
        y = self.data.y[test]
        count = min(HELD_OUT, len(test) * (len(test) - 1) // 2)
        rng = np.random.default_rng(seed_of(*self.key, "held out"))
        a, b = distinct_pairs(len(test), count, rng).T
        return {
            "pairwise_f": pairwise_f_score(y, labels),
            "nmi": normalized_mutual_info(y, labels),
            "ari": adjusted_rand(y, labels),
            "accuracy": clustering_accuracy(y, labels),
            "satisfied_held_out": float(np.mean((y[a] == y[b]) == (labels[a] == labels[b]))),
        }


def _violated(known: Known, labels: IntArray) -> int | None:
    """Return how many of the given pairs the labels break; None where groups were given."""
    return len(violated_pairs(known.constraints, labels)) if known.groups is None else None


def _told_rows(known: Known) -> IntArray:
    """Return the rows that the methods were told anything about."""
    rows = [known.constraints.tied_rows()]
    if known.partial_labels is not None:
        rows.append(np.flatnonzero(known.partial_labels >= 0))
    if known.groups is not None:
        rows.append(known.groups.row)
    return np.unique(np.concatenate(rows))


@lru_cache(maxsize=8)
def _loaded(source: Source, data_dir: Path | None, seed: int) -> DataSet:
    """Return the rows of a source; the folds of a run share them."""
    return source.load(data_dir, seed)
