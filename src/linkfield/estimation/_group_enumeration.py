"""Small components of groups with cycles: all labels of all groups at once (maths.md 6.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ._group_solver import GroupSolver, Slopes, Solution

__all__ = ["EnumerationSolver"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class EnumerationSolver(GroupSolver):
    """A component of so few groups that every labelling of them can be looked at: Kᵍ of them."""

    def solve(self, local: FloatArray, on: FloatArray, off: FloatArray) -> Solution:
        return EnumerationSolution(self, local, on, off)


class EnumerationSolution(Solution):
    """A grid with one axis a group: the log probability of every labelling."""

    def __init__(
        self, solver: EnumerationSolver, local: FloatArray, on: FloatArray, off: FloatArray
    ) -> None:
        self.solver = solver
        g, K = local.shape
        self.n_groups, self.K = g, K
        grid = np.zeros((K,) * g)
        for place in range(g):
            grid = grid + self._along(local[place], place)
        same = np.eye(K, dtype=bool)
        for (a, b), chi in zip(solver.apart.tolist(), solver.certainty.tolist(), strict=True):
            with np.errstate(divide="ignore"):
                factor = np.where(same, np.log1p(-chi), 0.0)
            shape = [1] * g
            shape[a] = shape[b] = K
            grid = grid + factor.reshape(shape)
        # Given the labels of the groups, shared rows are independent: log P(v_i = l | g).
        self.on_given: list[FloatArray] = [np.empty(0)] * len(solver.members)
        self.off_given: list[FloatArray] = []
        for r in range(len(solver.rows)):
            edges = np.flatnonzero(solver.row_at == r).tolist()
            terms = {e: self._along(on[e], int(solver.at[e])) for e in edges}
            density = np.asarray(off[r])
            for term in terms.values():
                density = np.logaddexp(density, term)
            for e, term in terms.items():
                self.on_given[e] = term - density
            self.off_given.append(off[r] - density)
            grid = grid + density
        self.log_z = float(logsumexp(grid))
        self.grid = grid - self.log_z if np.isfinite(self.log_z) else grid
        self._conclude(len(solver.members))

    def _along(self, values: FloatArray, place: int) -> FloatArray:
        """Return numbers by label along the axis of one group."""
        shape = [1] * self.n_groups
        shape[place] = self.K
        return values.reshape(shape)

    def _by_label(self, grid: FloatArray, place: int) -> FloatArray:
        """Return a grid (in full) as (K, everything else)."""
        full = np.broadcast_to(grid, (self.K,) * self.n_groups)
        return np.moveaxis(full, place, 0).reshape(self.K, -1)

    def _conclude(self, n_members: int) -> None:
        places = range(self.n_groups)
        self.log_group = np.stack(
            [logsumexp(self._by_label(self.grid, place), axis=1) for place in places]
        )
        self.log_on = np.empty((n_members, self.K))
        for e in range(n_members):
            table = self._by_label(self.grid + self.on_given[e], int(self.solver.at[e]))
            self.log_on[e] = logsumexp(table, axis=1)
        self.log_off = np.array([logsumexp(self.grid + given) for given in self.off_given])

    def slopes(self, local: FloatArray, s: FloatArray) -> Slopes:
        solver, n = self.solver, len(self.solver.members)
        chance = np.exp(self.grid)
        slope = np.zeros_like(chance)
        for place in range(self.n_groups):
            slope = slope + self._along(local[place], place)
        of_row = [np.zeros(())] * len(solver.rows)
        for e in range(n):
            r = int(solver.row_at[e])
            of_row[r] = of_row[r] + s[e] * np.exp(self.on_given[e])
        for part in of_row:
            slope = slope + part
        slope = slope - (chance * slope).sum()
        group = np.stack(
            [self._by_label(chance * slope, p).sum(axis=1) for p in range(self.n_groups)]
        )
        on = np.empty((n, self.K))
        for e in range(n):
            weight = chance * np.exp(self.on_given[e])
            change = weight * (slope - of_row[int(solver.row_at[e])] + s[e])
            on[e] = self._by_label(change, int(solver.at[e])).sum(axis=1)
        off = np.array(
            [
                (chance * np.exp(given) * (slope - of_row[r])).sum()
                for r, given in enumerate(self.off_given)
            ]
        )
        return Slopes(group, on, off)
