"""Empty clusters: give one the row whose move there lowers the objective most (maths.md E4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..estimation import Model, Statistics, summarize

if TYPE_CHECKING:
    from ._problem import Problem

__all__ = ["refill_empty"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

#: How many of the dearest rows, free and tied, are tried exactly.
CANDIDATES = 16


def refill_empty(
    problem: Problem, stats: Statistics, model: Model, labels: IntArray
) -> tuple[Statistics, Model, bool]:
    """Fill empty clusters one after the other as long as that lowers J; labels in place."""
    moved = False
    for h in np.flatnonzero(stats.count == 0):
        now = problem.value(stats, model, labels[problem.tied])
        best = (now - 1e-12 * abs(now), -1)
        for i in _candidates(problem, stats, model, labels):
            _, value = _after(problem, stats, model, labels, int(i), int(h))
            if value < best[0]:
                best = (value, int(i))
        if best[1] < 0:
            continue
        (stats, model), _ = _after(problem, stats, model, labels, best[1], int(h))
        labels[best[1]] = h
        moved = True
    return stats, model, moved


def _candidates(problem: Problem, stats: Statistics, model: Model, labels: IntArray) -> IntArray:
    """Return rows that cost their cluster much and are not alone in it."""
    offsets = problem.objective.label_offsets(model)
    found = problem.engine.dearest(model, offsets, labels, CANDIDATES)
    if problem.assign_pairs and len(problem.tied):
        alone = np.bincount(problem.node, minlength=len(problem.tied))[problem.node] == 1
        rows = problem.engine.rows.take(problem.tied)
        table = problem.engine.distortion.table(rows, model.centres, model.metric)
        mine = labels[problem.tied]
        cost = problem.engine.weight[problem.tied] * table[np.arange(len(mine)), mine]
        order = np.argsort(np.where(alone, -cost, np.inf), kind="stable")[:CANDIDATES]
        found = np.r_[found, problem.tied[order[alone[order]]]]
    return found[stats.count[labels[found]] >= 2]


def _after(
    problem: Problem, stats: Statistics, model: Model, labels: IntArray, i: int, h: int
) -> tuple[tuple[Statistics, Model], float]:
    """Return statistics, model and J if row i alone made cluster h."""
    engine = problem.engine
    row = engine.rows.take(np.array([i]))
    old = int(labels[i])
    args = (engine.distortion, row, engine.weight[[i]])
    K = engine.n_clusters
    gone = summarize(*args, np.array([old]), model.metric, K)
    come = summarize(*args, np.array([h]), model.metric, K)
    moment = stats.moment
    if moment is not None and gone.moment is not None and come.moment is not None:
        moment = moment - gone.moment + come.moment
    new = Statistics(
        stats.count - gone.count + come.count,
        stats.weight - gone.weight + come.weight,
        stats.sums - gone.sums + come.sums,
        moment,
    )
    centres = model.centres.copy()
    centres[h] = problem.objective.centres(new, model)[h]
    trial = model.with_(centres=centres)
    labels[i] = h
    value = problem.value(new, trial, labels[problem.tied])
    labels[i] = old
    return (new, trial), value
