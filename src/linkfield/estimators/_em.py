"""The loop: assign, centres, metric, until nothing moves. The objective never rises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows
from ..distortions import Metric
from ..engine import ArrayEngine
from ..estimation import (
    Model,
    Objective,
    Statistics,
    summarize,
    update_directional,
    update_linear,
)
from ..field import PottsField
from ..inference import ICM, Inference, InferenceResult
from ..inference.feasible import feasible_labels
from ._empty import refill_empty

__all__ = ["HISTORY_DTYPE", "Outcome", "Problem", "Stop", "run", "stopping_rule"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: One line of the record that a fit keeps.
HISTORY_DTYPE = np.dtype([("iteration", np.int64), ("step", "U8"), ("objective", np.float64)])


@dataclass(frozen=True)
class Problem:
    """Everything that stays the same during a fit.

    Attributes
    ----------
    engine : ArrayEngine
    objective : Objective
    tied : int array
        Positions of the tied rows; empty where nothing is tied.
    tied_rows : Rows
        Those rows, in float64.
    label_costs : float array (n_tied, K)
        What absolute labels add to the unary costs.
    inference : Inference
    assign_pairs : bool
        Whether pairs count in the assignment (M-KMeans uses them for the metric only).
    """

    engine: ArrayEngine
    objective: Objective
    tied: IntArray
    tied_rows: Rows
    label_costs: FloatArray
    inference: Inference
    assign_pairs: bool = True

    def value(self, stats: Statistics, model: Model, labels: IntArray) -> float:
        """Return J."""
        mine = labels[self.tied]
        total = self.objective.fixed_labels(stats, model, mine)
        return total + float(self.label_costs[np.arange(len(mine)), mine].sum())

    def field(self, model: Model, offsets: FloatArray) -> PottsField:
        """Return the labelling problem of the tied rows."""
        weight = self.engine.weight[self.tied, None]
        table = self.engine.distortion.table(self.tied_rows, model.centres, model.metric)
        unary = weight * (table + offsets) + self.label_costs
        pairs = self.objective.pairs
        if pairs is None:
            return PottsField(unary, (), (), ())
        return pairs.field(unary, model.metric)

    @property
    def node(self) -> IntArray:
        """The field's node of every tied row."""
        pairs = self.objective.pairs
        return np.arange(len(self.tied)) if pairs is None else pairs.ties.node


@dataclass(frozen=True)
class Stop:
    """When to stop: tolerance on the centres' squared shift, on the metric, and a limit."""

    max_iter: int
    tol: float
    shift: float


def stopping_rule(problem: Problem, metric: Metric, max_iter: int, tol: float) -> Stop:
    """Scale the tolerance by the mean variance of the features, as scikit-learn does.

    The features are those that centres are means of: rows of length 1 for a directional measure.
    """
    return Stop(int(max_iter), float(tol), float(tol) * problem.engine.mean_variance(metric))


@dataclass
class Outcome:
    """The end of a run."""

    labels: IntArray
    model: Model
    stats: Statistics
    objective: float
    lower_bound: float
    converged: bool
    n_iter: int
    history: list[tuple[int, str, float]] = field(default_factory=list)

    def trace(self) -> FloatArray:
        """Return J at the end of every iteration, the closing assignment included."""
        ends: dict[int, float] = {iteration: value for iteration, _, value in self.history}
        return np.array(list(ends.values()))


def assign(
    problem: Problem, model: Model, labels: IntArray, rng: np.random.Generator
) -> tuple[Statistics, float]:
    """E-step, in place; return the statistics and a bound on the least energy of the field."""
    engine = problem.engine
    offsets = problem.objective.label_offsets(model)
    first = bool(len(problem.tied)) and bool(labels[problem.tied[0]] < 0)
    stats = engine.assign(model, offsets, labels)
    if len(problem.tied) == 0 or not problem.assign_pairs:
        return stats, -np.inf
    answer = _solve(problem, problem.field(model, offsets), None if first else labels, rng)
    labels[problem.tied] = answer.labels[problem.node]
    mine = _tied_statistics(problem, model, labels)
    return stats + mine, answer.lower_bound


def _solve(
    problem: Problem, field: PottsField, labels: IntArray | None, rng: np.random.Generator
) -> InferenceResult:
    """Label the field; never worse than where it stood, and never against a hard constraint."""
    start = None
    if labels is not None:
        start = np.empty(field.n_nodes, dtype=np.int64)
        start[problem.node] = labels[problem.tied]
    answer = problem.inference.solve(field, start, rng)
    if not np.isfinite(answer.energy):
        allowed = feasible_labels(field, answer.labels)
        answer = problem.inference.solve(field, allowed, rng)
    if not isinstance(problem.inference, ICM) and start is not None:
        guard = ICM().solve(field, start, rng)  # maths.md 4.8
        if guard.energy < answer.energy:
            answer = InferenceResult(guard.labels, guard.energy, answer.lower_bound)
    return answer


def _tied_statistics(problem: Problem, model: Model, labels: IntArray) -> Statistics:
    engine = problem.engine
    return summarize(
        engine.distortion,
        problem.tied_rows,
        engine.weight[problem.tied],
        labels[problem.tied],
        model.metric,
        engine.n_clusters,
    )


def learn_metric(
    problem: Problem, stats: Statistics, model: Model, labels: IntArray, step: float
) -> tuple[Model, Statistics, float]:
    """Metric step; directional measures also renew statistics and centres (maths.md 2.6)."""
    engine, objective, mine = problem.engine, problem.objective, labels[problem.tied]
    if engine.distortion.bregman:
        return model.with_(metric=update_linear(objective, stats, model, mine)), stats, step
    metric, stats, step = update_directional(
        objective,
        model,
        mine,
        lambda metric: engine.gradient(labels, model.centres, metric),
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
    labels: IntArray
    stop: Stop
    rng: np.random.Generator
    stats: Statistics | None = None
    bound: float = -np.inf
    step: float = 0.5
    history: list[tuple[int, str, float]] = field(default_factory=list)

    def record(self, iteration: int, step: str) -> None:
        """Write J down."""
        assert self.stats is not None
        value = self.problem.value(self.stats, self.model, self.labels)
        self.history.append((iteration, step, value))

    def assign(self, iteration: int) -> None:
        self.stats, self.bound = assign(self.problem, self.model, self.labels, self.rng)
        self.record(iteration, "assign")

    def iterate(self, iteration: int) -> bool:
        """Take all steps once; return whether the smoothing has settled."""
        problem, objective = self.problem, self.problem.objective
        self.assign(iteration)
        assert self.stats is not None
        self.stats, self.model, refilled = refill_empty(
            problem, self.stats, self.model, self.labels
        )
        if refilled:
            self.record(iteration, "refill")
        self.model = self.model.with_(centres=objective.centres(self.stats, self.model))
        self.record(iteration, "centres")
        if self.model.metric.learned:
            self.model, self.stats, self.step = learn_metric(
                problem, self.stats, self.model, self.labels, self.step
            )
            self.record(iteration, "metric")
        self.model, settled = _annealed(problem, self.model)
        return settled

    def arrived(self, old_labels: IntArray, old: Model, fall: float) -> bool:
        """Say whether nothing that matters moved since the last iteration."""
        same = bool((old_labels == self.labels).all())
        still = _relative_change(old, self.model) <= self.stop.tol
        slow = fall <= 0.01 * self.stop.tol * abs(self.history[-1][2])
        shift = float(((self.model.centres - old.centres) ** 2).sum())
        return (same and (still or slow)) or (shift <= self.stop.shift and still)


def run(
    problem: Problem,
    model: Model,
    labels: IntArray,
    stop: Stop,
    rng: np.random.Generator,
    report: Callable[[int, float], None] | None = None,
) -> Outcome:
    """Alternate the steps until convergence.

    ``labels`` are the starting labels (-1 for none) and are changed in place.
    """
    now = _Run(problem, model, labels, stop, rng)
    blind = not problem.assign_pairs and problem.objective.pairs is not None
    converged, previous, iteration = False, np.inf, 0
    while iteration < stop.max_iter and not converged:
        iteration += 1
        old_labels, old_model, old_stats = labels.copy(), now.model, now.stats
        settled = now.iterate(iteration)
        value = now.history[-1][2]
        if report is not None:
            report(iteration, value)
        if blind and value > previous:
            # Assignment that does not see the pairs may raise J: keep the better end and stop.
            labels[:], now.model, now.stats = old_labels, old_model, old_stats
            now.history = [line for line in now.history if line[0] < iteration]
            iteration -= 1
            converged = True
            break
        converged = settled and now.arrived(old_labels, old_model, previous - value)
        previous = value
    # Labels that belong to the final centres and metric, as scikit-learn's KMeans has them.
    last, ends = (labels.copy(), now.stats, len(now.history)), now.history[-1][2]
    now.assign(iteration)
    if blind and now.history[-1][2] > ends:
        labels[:], now.stats = last[:2]
        del now.history[last[2] :]
    assert now.stats is not None
    objective = now.history[-1][2]
    return Outcome(
        labels, now.model, now.stats, objective, now.bound, converged, iteration, now.history
    )


def _annealed(problem: Problem, model: Model) -> tuple[Model, bool]:
    """Weaken the smoothing; say whether it has reached its floor."""
    smoothing = problem.objective.smoothing
    if smoothing is None:
        return model, True
    strength = smoothing.annealed(model.smoothing)
    return model.with_(smoothing=strength), strength == model.smoothing


def _relative_change(old: Model, new: Model) -> float:
    change = float(np.abs(new.metric.theta - old.metric.theta).max(initial=0.0))
    return change / float(np.abs(new.metric.theta).max(initial=1e-300))
