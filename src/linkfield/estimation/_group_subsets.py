"""Groups that only cannot-links join, such as the answers of one teacher, by sets of groups.

Which groups have label j is a subset S of them, and its factor Π(1−χ) over the pairs in S does not
depend on j. So labels are given out one after the other: K·3ᵍ steps instead of Kᵍ.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ._group_solver import GroupSolver, Slopes, Solution

__all__ = ["SubsetSolver"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Splits(NamedTuple):
    """All ways to cut a set of groups into a part and the rest, sets as bit masks.

    ``start`` says where the splits of every set begin; ``by_part`` sorts the splits by their part,
    ``part_start`` says where those begin.
    """

    whole: IntArray
    part: IntArray
    rest: IntArray
    start: IntArray
    by_part: IntArray
    part_start: IntArray


def splits_of(g: int) -> Splits:
    """Return the 3ᵍ splits of the subsets of g groups."""
    whole, part = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    for k in range(g):  # a group is outside, in the rest, or in the part
        bit = 1 << k
        whole, part = np.r_[whole, whole | bit, whole | bit], np.r_[part, part, part | bit]
    order = np.lexsort((part, whole))
    whole, part = whole[order], part[order]
    sets = np.arange(1 << g)
    by_part = np.argsort(part, kind="stable")
    return Splits(
        whole,
        part,
        whole ^ part,
        np.searchsorted(whole, sets),
        by_part,
        np.searchsorted(part[by_part], sets),
    )


@dataclass(frozen=True)
class SubsetSolver(GroupSolver):
    """A component of groups without shared rows."""

    @cached_property
    def splits(self) -> Splits:
        """All cuts of sets of groups."""
        return splits_of(len(self.groups))

    @cached_property
    def member(self) -> FloatArray:
        """Which groups are in every set: (2ᵍ, g)."""
        g = len(self.groups)
        return ((np.arange(1 << g)[:, None] >> np.arange(g)) & 1).astype(np.float64)

    @cached_property
    def factor(self) -> FloatArray:
        """Log of the factor of every set that has one label."""
        both = self.member[:, self.apart[:, 0]] * self.member[:, self.apart[:, 1]]
        with np.errstate(divide="ignore"):
            keep = np.log1p(-self.certainty)
        # A pair that is not in the set counts 0, even if its factor is 0 and the log −inf.
        return np.where(both > 0, keep, 0.0).sum(axis=1)

    def solve(self, local: FloatArray, on: FloatArray, off: FloatArray) -> Solution:
        return SubsetSolution(self, local)


class SubsetSolution(Solution):
    """``before[j]``: labels below j given to a set; ``after[j]``: labels from j on."""

    def __init__(self, solver: SubsetSolver, local: FloatArray) -> None:
        self.solver = solver
        self.K = local.shape[1]
        # Sums over a set by product would be nan where a group cannot have a label at all.
        self.one = solver.factor + local.T @ solver.member.T
        cut = solver.splits
        empty = np.full(len(solver.member), -np.inf)
        empty[0] = 0.0
        self.before, self.after = [empty], [empty]
        for j in range(self.K):
            self.before.append(self._joined(self.before[-1], self.one[j]))
        for j in reversed(range(self.K)):
            self.after.append(self._joined(self.after[-1], self.one[j]))
        self.after.reverse()
        self.log_z = float(self.after[0][-1])
        full = len(solver.member) - 1
        self.log_group = np.empty(local.shape)
        self.place: list[FloatArray] = []
        for j in range(self.K):
            chance = self.before[j][cut.rest] + self.one[j][cut.part]
            chance = chance + self.after[j + 1][full ^ cut.whole] - self.log_z
            self.place.append(chance)
            of_part = np.logaddexp.reduceat(chance[cut.by_part], cut.part_start)
            for place in range(len(local)):
                with_it = of_part[solver.member[:, place] > 0]
                self.log_group[place, j] = logsumexp(with_it)
        self.log_on = np.empty((0, self.K))
        self.log_off = np.empty(0)

    def _joined(self, table: FloatArray, one: FloatArray) -> FloatArray:
        cut = self.solver.splits
        return np.logaddexp.reduceat(table[cut.rest] + one[cut.part], cut.start)

    def slopes(self, local: FloatArray, s: FloatArray) -> Slopes:
        solver, cut = self.solver, self.solver.splits
        one = local.T @ solver.member.T
        none = np.zeros(len(solver.member))
        before, after = [none], [none]
        for j in range(self.K):
            step = (self.before[j], self.one[j], self.before[j + 1])
            before.append(self._mean(before[-1], one[j], *step))
        for j in reversed(range(self.K)):
            step = (self.after[j + 1], self.one[j], self.after[j])
            after.append(self._mean(after[-1], one[j], *step))
        after.reverse()
        full = len(solver.member) - 1
        group = np.empty((len(local), self.K))
        for j in range(self.K):
            slope = before[j][cut.rest] + one[j][cut.part] + after[j + 1][full ^ cut.whole]
            change = np.exp(self.place[j]) * (slope - after[0][-1])
            group[:, j] = np.bincount(cut.part, change, full + 1) @ solver.member
        return Slopes(group, np.empty((0, self.K)), np.empty(0))

    def _mean(
        self,
        slope: FloatArray,
        one_slope: FloatArray,
        table: FloatArray,
        one: FloatArray,
        joined: FloatArray,
    ) -> FloatArray:
        """Return the mean slope of all ways in which a set can have got its labels."""
        cut = self.solver.splits
        chance = table[cut.rest] + one[cut.part]
        possible = np.isfinite(joined)[cut.whole]
        share = np.where(possible, np.exp(chance - np.where(possible, joined[cut.whole], 0.0)), 0.0)
        mean = np.bincount(cut.whole, share * (slope[cut.rest] + one_slope[cut.part]))
        return np.asarray(mean, np.float64)
