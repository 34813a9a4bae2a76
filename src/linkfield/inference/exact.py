"""The best labelling, or how near to it the search came (maths.md 4.6)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from ._reduce import narrowed, reduced
from ._search import Search
from .base import Inference, InferenceResult, checked_start
from .explicit import explicit

__all__ = ["Exact"]

IntArray = NDArray[np.int64]


@dataclass
class Exact(Inference):
    """The labelling of least energy, component by component.

    Labels that cannot be best are left out first. Trees are solved by dynamic programming, and
    components with few labellings are searched through; the others are relaxed with cuts, labels
    that the prices rule out are dropped, and what is still open goes to the branch and bound of
    HiGHS, from the best labelling of ICM, belief propagation and rounding.

    Where time runs out ``converged`` is False, the labels are the best found so far and
    ``lower_bound`` is still valid. Where HiGHS ended the search it is proven up to its tolerance
    of 1e-10 times the median cost, ten times of which are taken off; everywhere else up to
    rounding. ``n_iter`` counts the nodes of HiGHS.

    Parameters
    ----------
    time_limit : float or None, default=60.0
        Seconds; components come in the order of their size, each with its share of what is left.
    max_nodes : int or None, default=None
        The most nodes of branch and bound in one component.
    enumerate_limit : int, default=200_000
        Components with at most so many labellings are searched through.

    Examples
    --------
    >>> from linkfield.inference import Exact, PottsField
    >>> field = PottsField([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], [(0, 1), (1, 2)], 0.25, 0.0)
    >>> result = Exact().solve(field)
    >>> result.labels, round(result.energy, 6), result.optimal
    (array([0, 1, 0]), 0.2, True)
    """

    time_limit: float | None = 60.0
    max_nodes: int | None = None
    enumerate_limit: int = 200_000

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` is improved by ICM and then by search."""
        self._check()
        start = checked_start(field, start)
        limit = np.inf if self.time_limit is None else self.time_limit
        deadline = time.monotonic() + limit
        left = reduced(narrowed(explicit(field)))
        rng = as_generator(random_state)
        search = Search(left.field, left.allowed, rng, deadline)
        search.begin(None if start is None else start[left.nodes])
        search.solve_trees()
        search.try_all(self.enumerate_limit)
        search.propagate()
        search.branch_and_bound(self.max_nodes, self.enumerate_limit)
        labels, bounds = search.put_into(left, field.connected)
        energy = field.energy(labels)
        return InferenceResult(
            labels,
            energy,
            lower_bound=min(float(bounds.sum()), energy),
            n_iter=search.n_nodes,
            converged=bool(search.proven.all()),
            component_bounds=bounds,
        )

    def _check(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(
                "time_limit must be a number of seconds above 0, or None for no limit; "
                f"got {self.time_limit!r}"
            )
        for name in ("max_nodes", "enumerate_limit"):
            value = getattr(self, name)
            if name == "max_nodes" and value is None:
                continue
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number of at least 0; got {value!r}")
