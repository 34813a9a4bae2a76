"""The assignment step: free rows to their nearest centres, tied rows by inference."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine import Assignment
from ..estimation import Model
from ..field import PottsField
from ..inference import ICM, InferenceResult, certified
from ..inference.feasible import feasible_labels
from ._problem import Problem

__all__ = ["CERTIFICATE_DTYPE", "UNKNOWN", "Certificate", "assign"]

IntArray = NDArray[np.int64]

#: One line of the record of certified assignments.
CERTIFICATE_DTYPE = np.dtype(
    [("iteration", np.int64)] + [(name, np.float64) for name in ("energy", "lower_bound", "gap")]
)


class Certificate(NamedTuple):
    """What the tied rows cost under an assignment, and at least under any other."""

    energy: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """How much better another assignment could be at most."""
        return max(self.energy - self.lower_bound, 0.0)


#: Of rows that take their nearest centres, and of an assignment that nothing is known about.
PERFECT, UNKNOWN = Certificate(0.0, 0.0), Certificate(0.0, -np.inf)


def assign(
    problem: Problem,
    standing: Assignment,
    model: Model,
    rng: np.random.Generator,
    keep_bounds: bool = False,
    every_move: bool = False,
) -> Certificate:
    """E-step, in place; return how good it is known to be.

    With ``every_move`` ICM tries all its moves: under this model nothing is left to gain then.
    """
    labels, tied = standing.labels, problem.tied
    standing.assign(model, problem.objective.label_offsets(model), keep_bounds)
    if len(tied) == 0:
        return PERFECT
    if not problem.assign_pairs:
        return UNKNOWN
    before = None if labels[tied[0]] < 0 else labels
    if before is not None and problem.stays(standing, model):
        rng.integers(len(tied))  # as ICM would draw: what is drawn later is the same
        return UNKNOWN
    pairs, costs = problem.objective.pairs, problem.costs_on_demand(standing, model.metric)
    if costs is not None:
        start = None if before is None else standing.tied_labels
        assert isinstance(problem.inference, ICM) and pairs is not None
        found = problem.inference.settled(costs, start, rng, every_move)
        standing.kept.want(costs.needed)
        standing.place(found, model.metric, None if start is None else costs.moved)
        pairs.violating(standing.tied_labels, costs.broken)
        if not problem.certify:
            return UNKNOWN
        field = problem.field(standing, model.metric)
        answer = certified(InferenceResult(found, field.energy(found)), field)
    else:
        field = problem.field(standing, model.metric)
        answer = _solve(problem, field, before, rng, every_move)
        answer = certified(answer, field) if problem.certify else answer
        standing.place(answer.labels[problem.node], model.metric)
    return Certificate(answer.energy, answer.lower_bound)


def _solve(
    problem: Problem,
    field: PottsField,
    labels: IntArray | None,
    rng: np.random.Generator,
    every_move: bool,
) -> InferenceResult:
    """Label the field; never worse than where it stood, and never against a hard constraint."""
    start = None
    if labels is not None:
        start = np.empty(field.n_nodes, dtype=np.int64)
        start[problem.node] = labels[problem.tied]
    method = problem.inference
    solve: Any = method.solve
    if isinstance(method, ICM):
        solve = partial(method.step, every_move=every_move)
    answer = solve(field, start, rng)
    if not np.isfinite(answer.energy):
        allowed = feasible_labels(field, answer.labels)
        answer = solve(field, allowed, rng)
    if not method.at_least_icm and start is not None:
        guard = ICM().solve(field, start, rng)  # maths.md 4.8
        if guard.energy < answer.energy:
            answer = replace(answer, labels=guard.labels, energy=guard.energy)
    return answer
