"""The loop of a mixture: E-step, damped M-step, until the objective stands still."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.mixture import MixtureEngine
from ..estimation.component_sums import ComponentSums, ScatterPrior
from ..estimation.gaussians import Gaussians
from ..estimation.group_posterior import GroupModel
from .progress import Report

__all__ = ["MixtureOutcome", "MixtureProblem", "run_mixture"]

FloatArray = NDArray[np.float64]

#: No step is damped more than this.
MOST_DAMPING = 1e8

#: The least damping that is worth a try, as a share of the rows; and the most iterations that a
#: damping is kept before a smaller one is tried.
WORTH_DAMPING, MOST_PATIENCE = 0.01, 32


@dataclass(frozen=True)
class MixtureProblem:
    """Rows, groups and prior: everything that the objective depends on but the components.

    Attributes
    ----------
    engine : MixtureEngine
    prior : ScatterPrior
    groups : GroupModel or None
    strength : float array or None
        β of every membership (maths.md 6.3).
    equal : bool
        Whether the mixing weights are kept equal.
    """

    engine: MixtureEngine
    prior: ScatterPrior
    groups: GroupModel | None = None
    strength: FloatArray | None = None
    equal: bool = False

    @cached_property
    def may_overshoot(self) -> bool:
        """Whether an undamped step can fail: the strengths of some groups add up to more than 1."""
        if self.groups is None or self.strength is None:
            return False
        return self.groups.largest_strength(self.strength) > 1.0

    def evaluated(self, gaussians: Gaussians) -> Standing | None:
        """Return the objective and the sums for the next step, None where there is no density."""
        try:
            found = self.engine.expectation(gaussians)
        except np.linalg.LinAlgError:
            return None
        value, reward, sums = found.log_likelihood, 0.0, found.sums
        if self.groups is not None:
            known = self.groups.posterior(found.log_joint, gaussians.log_weights, self.strength)
            value, reward = value + known.log_likelihood, known.enforcement
            sums = sums + self.engine.grouped_sums(gaussians, known.responsibilities, known.draws)
        objective = value + reward + gaussians.log_prior(self.prior)
        if not np.isfinite(objective):
            return None
        return Standing(gaussians, float(objective), float(value), sums)


class Standing(NamedTuple):
    """Components, E + log prior, log P(Y), and the sums that the next step needs."""

    gaussians: Gaussians
    objective: float
    log_likelihood: float
    sums: ComponentSums


@dataclass
class MixtureOutcome:
    """The end of a run; ``trace`` has the objective after every iteration."""

    gaussians: Gaussians
    objective: float
    log_likelihood: float
    converged: bool
    trace: list[float] = field(default_factory=list)


COLLAPSED = (
    "a component shrank to fewer dimensions than the data has, where its density has no bound. "
    "Raise reg_covar, give a covariance_prior, or take fewer components"
)


def run_mixture(
    problem: MixtureProblem,
    start: Gaussians,
    max_iter: int,
    tol: float,
    report: Report | None = None,
) -> MixtureOutcome:
    """Raise the objective step by step; it never falls (maths.md 6.3)."""
    now = problem.evaluated(start)
    if now is None:
        raise ValueError(COLLAPSED)
    n = len(problem.engine.rows)
    stride, converged, trace = _Stride(max(1.0, WORTH_DAMPING * n)), False, []
    for iteration in range(1, max_iter + 1):
        new = _step(problem, now, stride)
        gain = 0.0 if new is None else new.objective - now.objective
        now = now if new is None else new
        trace.append(now.objective)
        if report is not None:
            report(iteration, now.objective, stride.damping, None)
        # A damped step goes n/(n + Δ) of the way: the gain of a whole one is what counts.
        if gain * (1.0 + stride.damping / n) <= tol * n:
            converged = True
            break
    return MixtureOutcome(now.gaussians, now.objective, now.log_likelihood, converged, trace)


@dataclass
class _Stride:
    """The damping of the last step, and when to try less: later and later if that was in vain."""

    least: float
    damping: float = 0.0
    rest: int = 0
    patience: int = 1

    def first(self) -> float:
        """Return the damping to try first."""
        if self.rest > 0:
            self.rest -= 1
            return self.damping
        return self._less()

    def more(self, damping: float, *, valid: bool) -> float:
        """Return what to try after a damping that failed.

        A step that is not valid costs nothing, so the least damping that makes it so is found; one
        that is costs a pass, and little more damping than none would not change it.
        """
        return max(self.least, 4.0 * damping) if valid else max(1.0, 2.0 * damping)

    def _less(self) -> float:
        return 0.5 * self.damping if self.damping > 1.0 else 0.0

    def took(self, damping: float) -> None:
        """Remember what worked."""
        if damping != self.damping:
            self.damping, self.patience, self.rest = damping, 1, 0
        elif self.rest == 0 and damping > 0:  # less was tried in vain, or will be next
            self.rest, self.patience = self.patience, min(2 * self.patience, MOST_PATIENCE)


def _step(problem: MixtureProblem, now: Standing, stride: _Stride) -> Standing | None:
    """Return the next standing, None where nothing rises any more (maths.md 6.3)."""
    overshoots = problem.may_overshoot
    damping = stride.first()
    while damping <= MOST_DAMPING:
        new = now.gaussians.stepped(now.sums, damping, problem.prior, equal=problem.equal)
        standing = None if new is None else problem.evaluated(new)
        if standing is not None and standing.objective > now.objective:
            stride.took(damping)
            return standing
        if not overshoots:
            # This step cannot lower the objective: what is left is rounding, or a collapse.
            if standing is None:
                raise ValueError(COLLAPSED)
            return None
        damping = stride.more(damping, valid=standing is not None)
    return None
