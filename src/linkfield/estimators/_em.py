"""The loop: assign, centres, metric, until nothing moves. The objective never rises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Assignment
from ..estimation import (
    Model,
    Statistics,
    update_directional,
    update_linear,
)
from ..inference import ICM
from ._empty import refill_empty
from ._estep import CERTIFICATE_DTYPE, Certificate, assign
from ._problem import Problem
from .progress import Report

__all__ = [
    "HISTORY_DTYPE",
    "Outcome",
    "Start",
    "Stop",
    "annealed",
    "relative_change",
    "run",
    "stopping_rule",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A fit that goes on from a converged one learns the metric again when this share of all rows has
#: changed its label since the metric was last learned.
LAZY = 0.005

#: One line of the record that a fit keeps.
HISTORY_DTYPE = np.dtype([("iteration", np.int64), ("step", "U8"), ("objective", np.float64)])


@dataclass(frozen=True)
class Stop:
    """When to stop: tolerance on the centres' squared shift, on the metric, and a limit."""

    max_iter: int
    tol: float
    shift: float


def stopping_rule(variance: float, max_iter: int, tol: float) -> Stop:
    """Scale the tolerance by the mean variance of the features, as scikit-learn does.

    The features are those that centres are means of: rows of length 1 for a directional measure.
    """
    return Stop(int(max_iter), float(tol), float(tol) * variance)


@dataclass
class Outcome:
    """The end of a run."""

    standing: Assignment
    model: Model
    objective: float
    certificates: list[tuple[int, Certificate]]
    converged: bool
    n_iter: int
    history: list[tuple[int, str, float]]
    step: float

    @property
    def resumable(self) -> Assignment | None:
        """The standing, if another fit to the same rows can go on from it."""
        return self.standing

    @property
    def lower_bound(self) -> float:
        """What J is at least under the final centres and metric, whatever the labels."""
        return self.objective - self.certificates[-1][1].gap

    def certified(self) -> NDArray[Any]:
        """Return energy, bound and gap of every assignment."""
        lines = [(k, *known, known.gap) for k, known in self.certificates]
        return np.array(lines, dtype=CERTIFICATE_DTYPE)

    @property
    def labels(self) -> IntArray:
        """The labels of all rows."""
        return self.standing.labels

    @property
    def stats(self) -> Statistics:
        """The statistics that belong to them."""
        assert self.standing.stats is not None
        return self.standing.stats

    def trace(self) -> FloatArray:
        """Return J at the end of every iteration, the closing assignment included."""
        ends: dict[int, float] = {iteration: value for iteration, _, value in self.history}
        return np.array(list(ends.values()))


def learn_metric(
    problem: Problem, standing: Assignment, model: Model, step: float
) -> tuple[Model, Statistics, float]:
    """Metric step; directional measures also renew statistics and centres (maths.md 2.6)."""
    engine, objective, mine = problem.engine, problem.objective, problem.tied_labels(standing)
    labels, stats = standing.labels, standing.stats
    assert stats is not None
    if engine.distortion.bregman:
        return model.with_(metric=update_linear(objective, stats, model, mine)), stats, step
    metric, stats, step = update_directional(
        objective,
        model,
        stats,
        mine,
        lambda metric: engine.gradient(labels, model.centres, metric, stats.sums),
        lambda metric: engine.statistics(labels, metric),
        step,
    )
    model = model.with_(metric=metric)
    return model.with_(centres=objective.centres(stats, model)), stats, step


@dataclass
class _Run:
    """A run in progress: where it stands, and where it stood an iteration ago."""

    problem: Problem
    model: Model
    standing: Assignment
    stop: Stop
    rng: np.random.Generator
    certificates: list[tuple[int, Certificate]] = field(default_factory=list)
    step: float = 0.5
    resumed: bool = False
    history: list[tuple[int, str, float]] = field(default_factory=list)

    @property
    def metric_can_wait(self) -> bool:
        """Whether a fit that goes on from a converged one has moved too few rows to matter."""
        return self.resumed and self.standing.moved < LAZY * len(self.standing.labels)

    @property
    def stats(self) -> Statistics:
        assert self.standing.stats is not None
        return self.standing.stats

    def record(self, iteration: int, step: str) -> None:
        """Write J down."""
        mine = self.problem.tied_labels(self.standing)
        value = self.problem.value(self.stats, self.model, mine)
        self.history.append((iteration, step, value))

    def assign(self, keep_bounds: bool, every_move: bool = False) -> Certificate:
        return assign(self.problem, self.standing, self.model, self.rng, keep_bounds, every_move)

    def assigned(self, iteration: int, known: Certificate) -> None:
        """Write down how good an assignment is."""
        self.certificates.append((iteration, known))
        self.record(iteration, "assign")

    def iterate(self, iteration: int, known: Certificate | None = None) -> bool:
        """Take all steps once; return whether the smoothing has settled.

        The first has been taken if it is ``known`` how good its labels are.
        """
        problem, objective, standing = self.problem, self.problem.objective, self.standing
        self.assigned(iteration, self.assign(self.resumed) if known is None else known)
        stats, self.model, refilled = refill_empty(problem, self.stats, self.model, standing.labels)
        if refilled:
            standing.replaced(stats)
            self.record(iteration, "refill")
        self.model = self.model.with_(centres=objective.centres(self.stats, self.model))
        self.record(iteration, "centres")
        if self.model.metric.learned and not self.metric_can_wait:
            standing.moved = 0
            self.model, standing.stats, self.step = learn_metric(
                problem, standing, self.model, self.step
            )
            self.record(iteration, "metric")
        self.model, settled = annealed(problem, self.model)
        return settled

    def outcome(self, converged: bool, n_iter: int) -> Outcome:
        """Return where the run ends."""
        return Outcome(
            self.standing, self.model, self.history[-1][2], self.certificates, converged, n_iter,
            self.history, self.step,
        )  # fmt: skip

    def arrived(self, old: Model, fall: float) -> bool:
        """Say whether nothing that matters moved since the last iteration.

        Labels that stay say so only if the old centres were theirs, which those that a run sets
        out from need not be.
        """
        same = self.standing.changed == 0 and (self.resumed or np.isfinite(fall))
        still = relative_change(old, self.model) <= self.stop.tol
        slow = fall <= 0.01 * self.stop.tol * abs(self.history[-1][2])
        if same and (still or slow):
            return True
        return still and float(((self.model.centres - old.centres) ** 2).sum()) <= self.stop.shift


@dataclass(frozen=True)
class Start:
    """Where a run sets out from.

    Attributes
    ----------
    model : Model
    labels : int array (n,)
        -1 for none; changed in place.
    step : float
        The first step of the metric to try.
    last : Assignment or None
        How the same rows stood at the end of a fit that converged with this model.
    lasting : bool
        Whether another fit may go on from the end of this one.
    """

    model: Model
    labels: IntArray
    step: float = 0.5
    last: Assignment | None = None
    lasting: bool = False


def run(
    problem: Problem,
    start: Start,
    stop: Stop,
    rng: np.random.Generator,
    report: Report | None = None,
) -> Outcome:
    """Alternate the steps until convergence."""
    standing = problem.standing(start.labels, start.last)
    resumed = start.last is not None
    now = _Run(problem, start.model, standing, stop, rng, step=start.step, resumed=resumed)
    # Assignment that does not see the pairs may raise J: then the better end is kept.
    blind = not problem.assign_pairs and problem.objective.pairs is not None
    converged, previous, iteration = False, np.inf, 0
    known: Certificate | None = None
    if resumed and not blind:
        known = now.assign(keep_bounds=True, every_move=True)
        if standing.changed == 0:  # what is new changes nothing
            now.assigned(0, known)
            return now.outcome(True, 0)
        if isinstance(problem.inference, ICM):  # another assignment would change nothing
            standing.changed = 0
    while iteration < stop.max_iter and not converged:
        iteration += 1
        old_model, kept = now.model, _kept(now) if blind else None
        settled, known = now.iterate(iteration, known), None
        value = now.history[-1][2]
        if report is not None:
            report(iteration, value, now.certificates[-1][1].gap, lambda: standing.labels)
        if kept is not None and value > previous:
            _restore(now, kept)
            iteration -= 1
            converged = True
            break
        converged = settled and now.arrived(old_model, previous - value)
        previous = value
    # Labels that belong to the final centres and metric, as scikit-learn's KMeans has them.
    kept, ends = _kept(now) if blind else None, now.history[-1][2]
    final = now.assign(start.lasting)
    if not resumed:
        standing.refresh(now.model.metric)
    now.assigned(iteration, final)
    if kept is not None and now.history[-1][2] > ends:
        _restore(now, kept)
    return now.outcome(converged, iteration)


def _kept(now: _Run) -> tuple[IntArray, Model, Statistics | None, int]:
    """Return a copy of where a run stands."""
    stats = now.standing.stats
    stats = None if stats is None else stats.copy()
    return now.standing.labels.copy(), now.model, stats, len(now.history)


def _restore(now: _Run, kept: tuple[IntArray, Model, Statistics | None, int]) -> None:
    """Go back to where a run stood."""
    now.standing.labels[:], now.model, stats = kept[:3]
    assert stats is not None
    now.standing.replaced(stats)
    del now.history[kept[3] :]


def annealed(problem: Problem, model: Model) -> tuple[Model, bool]:
    """Weaken the smoothing; say whether it has reached its floor."""
    smoothing = problem.objective.smoothing
    if smoothing is None:
        return model, True
    strength = smoothing.annealed(model.smoothing)
    return model.with_(smoothing=strength), strength == model.smoothing


def relative_change(old: Model, new: Model) -> float:
    """Return the largest change of a metric parameter, as a part of the largest of them."""
    change = float(np.abs(new.metric.theta - old.metric.theta).max(initial=0.0))
    return change / float(np.abs(new.metric.theta).max(initial=1e-300))
