"""The loop for soft assignment: rows belong to clusters by probability (maths.md 4.5).

It lowers, step by step,

    F(q, M, θ) = Σ_ih v_i q_ih D_ih + E_q[pairs] + R(θ) − T Σ_i v_i H(q_i)

Free rows have q_i ∝ exp(−D_i/T), which minimises F in q_i; tied rows follow the mean field of
their links; centres and metric are those of labels, with every sum taken under q. The entropy
counts by the rows' weights, so that a free row of weight 2 is two equal rows. A node that hard
must-links make of several rows has one label, whose entropy counts by their mean weight.

T belongs to the scale of the learned metric, which the starting one does not have: under that one
all rows might belong to all clusters alike, and the start be lost. So where a metric is learned,
the first assignment is cold: labels, as good as certain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distortions import Metric
from ..engine import Assignment
from ..estimation import (
    Model,
    Statistics,
    entropies,
    soft_slopes,
    soft_statistics,
    softmax,
    update_directional,
    update_linear,
)
from ..field import PottsField
from ..inference import MeanField
from ._em import Outcome, Start, Stop, annealed, relative_change
from ._estep import UNKNOWN
from ._problem import Problem
from .progress import Report

__all__ = ["SoftOutcome", "run_soft"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A cluster of less weight than this has none: sums so small have lost their digits.
DUST = 1e-280


@dataclass
class SoftOutcome(Outcome):
    """The end of a soft run; ``objective`` is F."""

    marginals: FloatArray
    temperature: float

    @property
    def resumable(self) -> Assignment | None:
        """Nothing: the statistics are not those of the labels."""
        return None


@dataclass
class _SoftRun:
    """A soft run in progress."""

    problem: Problem
    method: MeanField
    model: Model
    stop: Stop
    rng: np.random.Generator
    step: float
    q: FloatArray
    stats: Statistics = field(init=False)
    tied_q: FloatArray = field(init=False)
    node_q: FloatArray | None = None
    entropy: float = 0.0
    change: float = np.inf
    cold: bool = False
    fresh: bool = True
    history: list[tuple[int, str, float]] = field(default_factory=list)

    @property
    def temperature(self) -> float:
        return float(self.method.temperature)

    # ------------------------------------------------------------ assignment

    def assign(self, iteration: int, start: IntArray | None = None) -> None:
        """E-step: the probabilities of all rows, and their statistics."""
        self._assign_tied(start)
        self._assign_free()
        # The mean field tries its own starts at T once; later steps go on from the last.
        self.cold, self.fresh = False, self.cold
        self.stats = self.statistics(self.model.metric)
        self.record(iteration, "assign")

    def _assign_tied(self, start: IntArray | None) -> None:
        """Let the tied rows follow the mean field of their links."""
        problem, tied = self.problem, self.problem.tied
        self.entropy, self.change, self.tied_q = 0.0, 0.0, self.q[tied]
        if len(tied) == 0:
            return
        node = problem.node
        weight = np.bincount(node, problem.engine.weight[tied]) / np.bincount(node)
        labels = None
        if start is not None:
            labels = np.empty(len(weight), dtype=np.int64)
            labels[node] = start[tied]
        found = self.method.relax(
            self._field(), weight=0.0 * weight if self.cold else weight, before=self.node_q,
            fresh=self.fresh, start=labels, random_state=self.rng,
        )  # fmt: skip
        self.change = float(np.abs(found.q[node] - self.tied_q).max())
        self.node_q, self.tied_q = found.q, found.q[node]
        self.q[tied] = self.tied_q
        self.entropy = float(weight @ entropies(found.q))

    def _assign_free(self) -> None:
        """Give the free rows their softmax, block by block."""
        engine, model = self.problem.engine, self.model
        offsets = self.problem.objective.label_offsets(model)
        T = np.finfo(float).tiny if self.cold else self.temperature

        def one(block: slice) -> tuple[float, float]:
            costs = engine.costs(engine.rows.take(block).float64(), model, offsets)
            free, weight = engine.free[block], engine.weight[block]
            q = np.where(free[:, None], softmax(costs, T), self.q[block])
            moved = np.abs(q - self.q[block])[weight > 0].max(initial=0.0)
            self.q[block] = q
            return float(moved), float(np.where(free, weight, 0.0) @ entropies(q))

        found = engine.map(one)
        self.change = max(self.change, *(moved for moved, _ in found))
        self.entropy += sum(part for _, part in found)

    def _field(self) -> PottsField:
        """Return the labelling problem of the tied rows."""
        problem, engine, model = self.problem, self.problem.engine, self.model
        offsets = problem.objective.label_offsets(model)
        rows = engine.rows.take(problem.tied).float64()
        unary = engine.weight[problem.tied, None] * engine.costs(rows, model, offsets)
        if problem.label_costs is not None:
            unary = unary + problem.label_costs
        pairs = problem.objective.pairs
        if pairs is None:
            return PottsField(unary, (), (), ())
        return pairs.field(unary, model.metric)

    # ------------------------------------------------------------- estimation

    def statistics(self, metric: Metric) -> Statistics:
        """Return the sums of all rows under q."""
        engine = self.problem.engine
        size = engine.result_size * (engine.rows.shape[1] if metric.full else 1)

        def one(block: slice) -> Statistics:
            rows = engine.rows.take(block).float64()
            return soft_statistics(
                engine.distortion, rows, engine.weight[block], self.q[block], metric
            )

        stats: Statistics = engine.add(one, size)
        none = stats.weight < DUST
        for part in (stats.count, stats.weight, stats.sums, stats.moment):
            if part is not None:
                part[none] = 0.0
        return stats

    def learn(self, iteration: int) -> bool:
        """M-step; return whether the smoothing has settled."""
        objective = self.problem.objective
        self.model = self.model.with_(centres=objective.centres(self.stats, self.model))
        self.record(iteration, "centres")
        if self.model.metric.learned:
            if objective.distortion.bregman:
                metric = update_linear(objective, self.stats, self.model, self.tied_q)
                self.model = self.model.with_(metric=metric)
            else:
                self._learn_directional()
            self.record(iteration, "metric")
        self.model, settled = annealed(self.problem, self.model)
        return settled

    def _learn_directional(self) -> None:
        """Metric step of cosine and correlation: centres and statistics follow (maths.md 2.6)."""
        objective, model = self.problem.objective, self.model
        metric, self.stats, self.step = update_directional(
            objective, model, self.stats, self.tied_q, self._gradient, self.statistics, self.step
        )
        model = model.with_(metric=metric)
        self.model = model.with_(centres=objective.centres(self.stats, model))

    def _gradient(self, metric: Metric) -> FloatArray:
        """Return ∂/∂a Σ v q D of a directional measure."""
        engine, M = self.problem.engine, self.model.centres
        measure: Any = engine.distortion
        K, d = M.shape

        def one(block: slice) -> FloatArray:
            rows = engine.rows.take(block).float64()
            args = (rows, engine.weight[block], self.q[block], M, metric)
            return np.concatenate(soft_slopes(measure, *args))

        found = engine.add(one, K + d)
        slope: FloatArray = measure.gradient(self.stats.sums, found[:K], found[K:], M, metric)
        return slope

    # ------------------------------------------------------------- bookkeeping

    def value(self) -> float:
        """Return F."""
        total = self.problem.objective.fixed_labels(self.stats, self.model, self.tied_q)
        costs = self.problem.label_costs
        if costs is not None:  # a forbidden label costs inf, and has probability 0
            total += float((self.tied_q * np.where(self.tied_q > 0, costs, 0.0)).sum())
        return total - self.temperature * self.entropy

    def record(self, iteration: int, step: str) -> None:
        """Write F down."""
        self.history.append((iteration, step, self.value()))

    def arrived(self, old: Model, fall: float) -> bool:
        """Say whether nothing that matters moved since the last iteration."""
        tol = self.stop.tol
        still = relative_change(old, self.model) <= tol
        slow = fall <= 0.01 * tol * abs(self.history[-1][2])
        if self.change <= tol and (still or slow):
            return True
        return still and float(((self.model.centres - old.centres) ** 2).sum()) <= self.stop.shift

    def outcome(self, converged: bool, n_iter: int) -> SoftOutcome:
        """Return where the run ends."""
        standing = self.problem.standing(self.q.argmax(axis=1))
        standing.stats = self.stats
        return SoftOutcome(
            standing, self.model, self.history[-1][2], [(n_iter, UNKNOWN)], converged, n_iter,
            self.history,
            self.step, self.q, self.temperature,
        )  # fmt: skip


def run_soft(
    problem: Problem,
    start: Start,
    stop: Stop,
    rng: np.random.Generator,
    report: Report | None = None,
) -> SoftOutcome:
    """Alternate the steps until convergence; F never rises."""
    method = problem.inference
    assert isinstance(method, MeanField)
    q = np.zeros((len(start.labels), problem.engine.n_clusters))
    known = start.labels if (start.labels >= 0).all() else None
    cold = start.model.metric.learned and known is None
    now = _SoftRun(problem, method, start.model, stop, rng, start.step, q, cold=cold)
    converged, previous, iteration = False, np.inf, 0
    while iteration < stop.max_iter and not converged:
        iteration += 1
        old = now.model
        now.assign(iteration, known)
        settled = now.learn(iteration)
        value = now.history[-1][2]
        if report is not None:
            report(iteration, value, np.inf, lambda: now.q.argmax(axis=1))
        converged = settled and now.arrived(old, previous - value)
        previous = value
    # Probabilities that belong to the final centres and metric.
    now.assign(iteration)
    return now.outcome(converged, iteration)
