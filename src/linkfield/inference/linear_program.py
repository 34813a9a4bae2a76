"""Linear programming, with cuts and rounding (Bilenko & Basu 2004; maths.md 4.3 and 4.4)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from ._reduce import narrowed, reduced
from ._relaxation import relax_all
from .base import Inference, InferenceResult, checked_start
from .explicit import explicit
from .icm import ICM
from .rounding import best_rounding, better_of, fractional

__all__ = ["LinearProgram"]

IntArray = NDArray[np.int64]


@dataclass
class LinearProgram(Inference):
    """Shares y_ih instead of labels: a linear program, whose value bounds the least energy.

    minimise Σ U_ih y_ih + Σ_e w_e v_e, Σ_h y_ih = 1, y ≥ 0, with ``v_e = ½Σ_h |y_ih − y_jh|`` for a
    must-link and v_e ≥ y_ih + y_jh − 1 for a cannot-link (Bilenko & Basu 2004, section 3.2), solved
    by the dual simplex method of HiGHS. Cuts raise the bound (:mod:`linkfield.inference.cuts`);
    shares become labels by the best of several roundings (:mod:`linkfield.inference.rounding`).

    ``lower_bound`` is proven by the prices of the rows, whatever the solver's tolerances, also
    where it was stopped; only rounding errors are allowed for. ``marginals`` are the shares,
    ``trace`` is the lower bound after every round of cuts, ``integral`` says that all shares are
    within 1e-6 of 0 or 1, and then the labels are optimal.

    Parameters
    ----------
    cuts : bool, default=True
        Cut off fractional solutions. Without cuts cannot-links are worth little in the program.
    cut_rounds : int, default=10
        How often to look for cuts at most.
    rounding_trials : int, default=10
        Random roundings, beside the one that leaves nothing to chance.
    polish : bool, default=True
        Improve every rounding by ICM.
    batch : int, default=5000
        Components are put into one program until it has about this many columns.
    time_limit : float or None, default=None
        Seconds for the programs (roundings not counted). Where they run out the bound is lower.

    Examples
    --------
    >>> from linkfield.inference import LinearProgram, PottsField
    >>> triangle = [(0, 1), (1, 2), (0, 2)]  # all apart, but there are only two labels
    >>> field = PottsField([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], triangle, 1.0, 0.0)
    >>> result = LinearProgram().solve(field, random_state=0)
    >>> result.labels, round(result.lower_bound, 6)
    (array([1, 0, 0]), 1.1)
    >>> round(LinearProgram(cuts=False).solve(field).lower_bound, 6)
    0.3
    """

    cuts: bool = True
    cut_rounds: int = 10
    rounding_trials: int = 10
    polish: bool = True
    batch: int = 5000
    time_limit: float | None = None

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` improved by ICM is one of the labellings to choose from."""
        self._check()
        start = checked_start(field, start)
        rng = as_generator(random_state)
        limit = np.inf if self.time_limit is None else self.time_limit
        deadline = time.monotonic() + limit
        plain = narrowed(explicit(field))
        left = reduced(plain)
        rounds = self.cut_rounds if self.cuts else 0
        relaxed = relax_all(left, field.connected, self.batch, rounds, deadline)
        shares, trace = relaxed.shares, relaxed.trace
        labels = left.labels.copy()
        labels[left.nodes] = best_rounding(
            left.field, shares, self.rounding_trials, self.polish, rng
        )
        if start is not None:
            other = ICM().solve(plain, start, rng).labels if self.polish else start
            labels = better_of(plain, field.connected, labels, other)
        marginals = np.zeros(field.unary.shape)
        marginals[np.arange(len(labels)), labels] = 1.0
        marginals[left.nodes] = shares
        return InferenceResult(
            labels,
            field.energy(labels),
            lower_bound=float(relaxed.bounds.sum()),
            marginals=marginals,
            n_iter=len(trace),
            converged=relaxed.solved,
            trace=trace,
            component_bounds=relaxed.bounds,
            integral=relaxed.solved and not fractional(shares).any(),
        )

    def _check(self) -> None:
        for name, least in (("cut_rounds", 0), ("rounding_trials", 0), ("batch", 1)):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(
                f"time_limit must be a number of seconds above 0, or None for no limit; "
                f"got {self.time_limit!r}"
            )
