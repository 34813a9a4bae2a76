"""Messages on forests of groups and rows: exact posteriors, each message sent once (F9, F10)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from ._group_solver import GroupSolver, Slopes, Solution, log_others, normalised

__all__ = ["ForestSolver", "is_forest"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class ForestSolver(GroupSolver):
    """Groups whose graph has no cycle.

    An edge joins a group with a factor: a row that it shares, or a cannot-link. Edges of shared
    memberships come first, then both ends of every cannot-link.
    """

    @cached_property
    def edge_group(self) -> IntArray:
        """The place of every edge's group."""
        return np.r_[self.at, self.apart.ravel()]

    @cached_property
    def edge_factor(self) -> IntArray:
        """The factor of every edge."""
        links = np.repeat(np.arange(len(self.apart)), 2)
        return np.r_[self.row_at, len(self.rows) + links]

    @cached_property
    def siblings(self) -> IntArray:
        """The other memberships of a membership's row, filled up with the number of edges."""
        n = len(self.members)
        order = np.argsort(self.row_at, kind="stable")
        start = np.searchsorted(self.row_at[order], np.arange(len(self.rows) + 1))
        most = int(np.diff(start).max(initial=1))
        table = np.full((n, max(most - 1, 0)), n, dtype=np.int64)
        for r in range(len(self.rows)):
            edges = order[start[r] : start[r + 1]]
            for e in edges.tolist():
                others = edges[edges != e]
                table[e, : len(others)] = others
        return table

    @cached_property
    def rounds(self) -> list[tuple[IntArray, IntArray]]:
        """Edges whose message to the factor, then whose message to the group, is due.

        A message is due when all others to its sender have arrived.
        """
        found = _rounds(self.edge_group, self.edge_factor, len(self.groups))
        if found is None:
            raise ValueError("the groups form a cycle")
        return found

    def solve(self, local: FloatArray, on: FloatArray, off: FloatArray) -> Solution:
        return ForestSolution(self, local, on, off)


def is_forest(group: IntArray, factor: IntArray, n_groups: int) -> bool:
    """Say whether edges between groups and factors close no cycle."""
    return _rounds(group, factor, n_groups) is not None


def _rounds(
    group: IntArray, factor: IntArray, n_groups: int
) -> list[tuple[IntArray, IntArray]] | None:
    n, n_factors = len(group), int(factor.max(initial=-1)) + 1
    up, down = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    rounds = []
    while not (up.all() and down.all()):
        due_up = _due(group, down, up, n_groups)
        up[due_up] = True
        due_down = _due(factor, up, down, n_factors)
        down[due_down] = True
        if not (due_up.any() or due_down.any()):
            return None
        rounds.append((np.flatnonzero(due_up), np.flatnonzero(due_down)))
    return rounds


def _due(node: IntArray, arrived: BoolArray, sent: BoolArray, n_nodes: int) -> BoolArray:
    """Say which edges can send from a node: all its other edges have brought theirs."""
    missing = np.bincount(node[~arrived], minlength=n_nodes)[node] - ~arrived
    return (missing == 0) & ~sent


class ForestSolution(Solution):
    """Messages and what follows from them.

    ``up`` are the messages from groups to factors, normalised, ``down`` those back; ``through``
    is log γ Σ_k up(k) q_k of a shared membership.
    """

    def __init__(
        self, solver: ForestSolver, local: FloatArray, on: FloatArray, off: FloatArray
    ) -> None:
        self.solver, self.on, self.off = solver, on, off
        n, K = len(solver.edge_group), local.shape[1]
        self.n_shared = len(solver.members)
        self.up, self.down = np.zeros((n, K)), np.zeros((n, K))
        self.through = np.full(self.n_shared + 1, -np.inf)
        self.beside = np.full(self.n_shared, -np.inf)
        total = local.copy()
        with np.errstate(divide="ignore"):
            self._keep = np.log1p(-solver.certainty)
        for due_up, due_down in solver.rounds:
            self._send_up(total, due_up)
            self._send_down(due_down)
            np.add.at(total, solver.edge_group[due_down], self.down[due_down])
        self._conclude(total)

    def _send_up(self, total: FloatArray, due: IntArray) -> None:
        """A group tells a factor what all its other neighbours say."""
        self.up[due] = normalised(total[self.solver.edge_group[due]] - self.down[due])
        mine = due[due < self.n_shared]
        self.through[mine] = logsumexp(self.up[mine] + self.on[mine], axis=1)

    def _send_down(self, due: IntArray) -> None:
        """A factor tells a group what its other ends say."""
        mine, link = due[due < self.n_shared], due[due >= self.n_shared]
        others = self.through[self.solver.siblings[mine]]
        off = self.off[self.solver.row_at[mine], None]
        self.beside[mine] = logsumexp(np.concatenate([others, off], axis=1), axis=1)
        self.down[mine] = np.logaddexp(self.beside[mine, None], self.on[mine])
        said = self.up[self._other_end(link)]
        keep = self._keep[(link - self.n_shared) // 2, None]
        self.down[link] = np.logaddexp(keep + said, log_others(said))

    def _other_end(self, link: IntArray) -> IntArray:
        return self.n_shared + ((link - self.n_shared) ^ 1)

    def _conclude(self, total: FloatArray) -> None:
        """Beliefs, and the log probability by Bethe's formula, which is exact on a forest."""
        solver = self.solver
        value = logsumexp(total, axis=1)
        self.log_group = total - value[:, None]
        edge = logsumexp(self.up + self.down, axis=1)
        arity = np.bincount(solver.edge_factor)
        first = np.unique(solver.edge_factor, return_index=True)[1]
        self.log_z = float(value.sum() + (edge[first] * (1.0 - arity)).sum())
        row_z = edge[: self.n_shared]
        self.log_on = self.up[: self.n_shared] + self.on - row_z[:, None]
        z = np.empty(len(solver.rows))
        z[solver.row_at] = row_z
        self.log_off = self.off - z

    def slopes(self, local: FloatArray, s: FloatArray) -> Slopes:
        solver, n = self.solver, self.n_shared
        up, down = np.zeros_like(self.up), np.zeros_like(self.down)
        through = np.zeros(n + 1)
        weight = np.exp(self.up)
        total = local.copy()
        for due_up, due_down in solver.rounds:
            change = total[solver.edge_group[due_up]] - down[due_up]
            up[due_up] = change - (weight[due_up] * change).sum(axis=1, keepdims=True)
            mine = due_up[due_up < n]
            share = np.exp(self.up[mine] + self.on[mine] - self.through[mine, None])
            through[mine] = s[mine] + (share * up[mine]).sum(axis=1)
            mine, link = due_down[due_down < n], due_down[due_down >= n]
            down[mine] = self._row_slopes(mine, s, through)
            down[link] = self._link_slopes(link, up)
            np.add.at(total, solver.edge_group[due_down], down[due_down])
        p = np.exp(self.log_group)
        group = p * (total - (p * total).sum(axis=1, keepdims=True))
        on = np.exp(self.log_on)
        on = on * (s[:, None] + up[:n])
        change = np.zeros(len(solver.rows))
        np.add.at(change, solver.row_at, on.sum(axis=1))
        on -= np.exp(self.log_on) * change[solver.row_at, None]
        return Slopes(group, on, -np.exp(self.log_off) * change)

    def _row_slopes(self, mine: IntArray, s: FloatArray, through: FloatArray) -> FloatArray:
        siblings = self.solver.siblings[mine]
        share = np.exp(self.through[siblings] - self.beside[mine, None])
        beside = (share * through[siblings]).sum(axis=1)
        own = np.exp(self.on[mine] - self.down[mine])
        rest = np.exp(self.beside[mine, None] - self.down[mine])
        return np.asarray(own * s[mine, None] + rest * beside[:, None])

    def _link_slopes(self, link: IntArray, up: FloatArray) -> FloatArray:
        """Return the derivative of log((1−χ) M_j + Σ_{k≠j} M_k), without a difference of sums."""
        other = self._other_end(link)
        said, change = self.up[other], up[other]
        chi = self.solver.certainty[(link - self.n_shared) // 2, None]
        line, top = np.arange(len(link)), said.argmax(axis=1)
        share = said - self.down[link]
        share[line, top] = 0.0
        slope = -chi * np.exp(share) * change
        at_top = self.down[link][line, top]
        with np.errstate(divide="ignore"):
            said = said + np.where(np.arange(said.shape[1]) == top[:, None], np.log1p(-chi), 0.0)
        part = np.exp(said - at_top[:, None]) * change
        slope[line, top] = part.sum(axis=1)
        return np.asarray(slope)
