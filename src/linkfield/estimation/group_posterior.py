"""The E-step for rows that groups speak of: who is right, which labels, and effective weights.

Row i follows its group l with probability γ_il (the switch v_i = l) and takes the group's label
g_l ~ π, or follows none and draws its own (Law et al. 2005, eq. 2.1; maths.md 6.1). All is done in
logs, exactly: groups alone by (F2, F3), groups joined by shared rows or cannot-links by messages
on forests (F9, F10), by enumeration of small components otherwise.

Enforcement adds Σ β_e log P(v_i = l | Y). Its gradient is that of the expected complete-data
log-likelihood under effective weights (F5): with U = (1 − Σβ) + Σ_e β_e [v_i = l]/P_e, of mean 1,
they are E[· U | Y], the posterior plus its derivative when γ_e is tilted by 1 + ε β_e/P_e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from ..exceptions import InfeasibleConstraintsError
from ._group_components import said_once, solvable
from ._group_solver import Solution
from .group_structure import GroupArrays, merged, parts_of

__all__ = ["GroupArrays", "GroupModel", "GroupPosterior", "merged"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A membership that is less likely than this enters slopes as if it were not: they stay finite.
LEAST_LOG = -650.0


class GroupPosterior(NamedTuple):
    """What is known of the grouped rows under given components.

    Attributes
    ----------
    log_likelihood : float
        log P(Y) of the grouped rows (F2).
    enforcement : float
        Σ β log P(v = l | Y).
    group : float array (n_groups, K)
        P(g_l = j | Y).
    log_member : float array (m,)
        log P(v_i = l | Y); NaN for memberships that had to be left out.
    responsibilities : float array (n, K)
        r_ij (F5); without strength P(z_i = j | Y).
    draws : float array (K,)
        k_j (F6).
    """

    log_likelihood: float
    enforcement: float
    group: FloatArray
    log_member: FloatArray
    responsibilities: FloatArray
    draws: FloatArray


class GroupModel:
    """The structure of groups, worked out once, and their posteriors under any components.

    Parameters
    ----------
    arrays : GroupArrays
        Rows are numbered 0..n_rows-1 among the grouped rows.
    n_rows : int
    n_components : int
    """

    def __init__(self, arrays: GroupArrays, n_rows: int, n_components: int) -> None:
        self.n_rows, self.K, self.n_members = n_rows, n_components, len(arrays.group)
        mute = arrays.mute() & (arrays.confidence > 0)
        self.mute = np.flatnonzero(mute)
        self.mute_group, self.mute_row = arrays.group[mute], arrays.row[mute]
        self.mute_confidence = arrays.confidence[mute]
        said = np.flatnonzero((arrays.confidence > 0) & ~mute)
        arrays = said_once(arrays, said)
        if n_components == 1 and (arrays.apart_certainty == 1).any():
            raise InfeasibleConstraintsError(
                "some groups are apart for certain, but n_components=1 leaves them no other label"
            )
        arrays, kept, self.solvers = solvable(arrays, n_components)
        self.used = said[kept]
        self.left_out = said[~kept]
        self.arrays = arrays
        self.log_confidence = np.log(arrays.confidence)
        together = np.bincount(arrays.row, arrays.confidence, n_rows)
        with np.errstate(divide="ignore"):
            # A sum of 1 − 1e-17 is one of confidences that add up to 1.
            self.log_alone = np.log(np.where(together > 1 - 1e-12, 0.0, 1.0 - together))
        times = np.bincount(arrays.row, minlength=n_rows)
        self.untied = np.flatnonzero(times == 0)
        self.single = np.flatnonzero(times[arrays.row] == 1)
        one, group = np.ones(len(self.single)), arrays.group[self.single]
        self.gather = sparse.csr_array(
            (one, (group, np.arange(len(self.single)))), shape=(arrays.n_groups, len(self.single))
        )
        self.active = np.zeros(arrays.n_groups, dtype=bool)
        self.active[arrays.group] = True
        self.active[arrays.apart.ravel()] = True
        self.alone = self.active.copy()
        for solver in self.solvers:
            self.alone[solver.groups] = False

    def largest_strength(self, strength: FloatArray) -> float:
        """Return the greatest Σβ of groups that hang together (B_c of maths.md 6.3)."""
        arrays, beta = self.arrays, strength[self.used]
        component = np.arange(arrays.n_groups)
        for groups in parts_of(arrays).components:
            component[groups] = groups[0]
        total = np.bincount(component[arrays.group], beta, arrays.n_groups)
        return float(total.max(initial=0.0))

    # ------------------------------------------------------------------ E-step

    def posterior(
        self, log_joint: FloatArray, log_weights: FloatArray, strength: FloatArray | None = None
    ) -> GroupPosterior:
        """Return posteriors and effective weights.

        Parameters
        ----------
        log_joint : float array (n_rows, K)
            log π_j q_j(y_i).
        log_weights : float array (K,)
            log π_j.
        strength : float array (m,), optional
            β of every membership, those left out included; None for no enforcement.
        """
        arrays, single = self.arrays, self.single
        density = logsumexp(log_joint, axis=1)
        own = np.exp(log_joint - density[:, None])
        on = self.log_confidence[:, None] + (log_joint - log_weights)[arrays.row]
        off = self.log_alone + density
        row, group = arrays.row[single], arrays.group[single]
        mixed = np.logaddexp(on[single], off[row, None])
        right, wrong = on[single] - mixed, off[row, None] - mixed
        local = log_weights + self.gather @ mixed
        value = logsumexp(local, axis=1)
        log_group = local - value[:, None]
        log_z = float(value[self.alone].sum() + density[self.untied].sum())
        log_used = np.empty(len(arrays.group))
        solutions = []
        for solver in self.solvers:
            found = solver.solve(local[solver.groups], on[solver.members], off[solver.rows])
            solutions.append(found)
            log_z += found.log_z
            log_group[solver.groups] = found.log_group
            log_used[solver.members] = logsumexp(found.log_on, axis=1)
        if not np.isfinite(log_z):
            raise InfeasibleConstraintsError(IMPOSSIBLE.format(self.K))
        log_on = log_group[group] + right
        log_used[single] = logsumexp(log_on, axis=1)
        log_used = np.minimum(log_used, 0.0)
        found_ = _Found(log_group, log_on, log_used, np.exp(right), np.exp(wrong), own)
        beta = np.zeros(len(log_used)) if strength is None else strength[self.used]
        r, draws = self._weights(found_, solutions, beta)
        enforced = beta > 0
        value = float(beta[enforced] @ log_used[enforced])
        return GroupPosterior(log_z, value, *self._reported(found_, log_weights), r, draws)

    def _reported(self, found: _Found, log_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(g = j | Y) and log P(v = l | Y), those that matter to nobody included.

        A membership that says nothing is one more way to follow none: given v_i = 0 or l, it has
        the share γ_l of both, and its group the label of the row.
        """
        group = np.exp(found.log_group)
        log_member = np.full(self.n_members, -np.inf)
        log_member[self.used], log_member[self.left_out] = found.log_member, np.nan
        if len(self.mute):
            follows = np.bincount(self.arrays.row, np.exp(found.log_member), self.n_rows)
            row = self.mute_row
            share = self.mute_confidence * np.exp(-self.log_alone[row])
            right = share * np.maximum(1.0 - follows[row], 0.0)
            log_member[self.mute] = np.log(np.maximum(right, np.finfo(float).tiny))
            own = found.own[row]
            group[self.mute_group] = (
                np.exp(log_weights) * (1.0 - right[:, None]) + own * right[:, None]
            )
        return group, log_member

    def _weights(
        self, found: _Found, solutions: list[Solution], beta: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return r (F5) and k (F6); groups that say nothing draw no label that counts."""
        single = self.single
        row, group = self.arrays.row[single], self.arrays.group[single]
        # β_i ω^(i), whatever the size of P(v_i = l | Y) that divides it.
        given = beta[single, None] * np.exp(found.log_on - found.log_member[single, None])
        posterior = np.exp(found.log_group)
        total = self.gather @ beta[single]
        effective = (1.0 - total[:, None]) * posterior + self.gather @ given
        r = np.zeros_like(found.own)
        free = np.zeros(self.n_rows)
        free[self.untied] = 1.0
        tilt = beta * np.exp(-np.maximum(found.log_member, LEAST_LOG))
        local = self.gather @ (tilt[single, None] * found.right) if self.solvers else None
        for solver, solution in zip(self.solvers, solutions, strict=True):
            on, off = np.exp(solution.log_on), np.exp(solution.log_off)
            effective[solver.groups] = posterior[solver.groups]
            if local is not None and (beta[solver.members].any() or local[solver.groups].any()):
                slopes = solution.slopes(local[solver.groups], tilt[solver.members])
                effective[solver.groups] += slopes.group
                on, off = on + slopes.on, off + slopes.off
            np.add.at(r, solver.rows[solver.row_at], on)
            free[solver.rows] = off
        others = effective[group] - given
        r[row] += others * found.right + given
        free[row] = (others * found.wrong).sum(axis=1)
        drawn = found.own * free[:, None]
        return r + drawn, effective[self.active].sum(axis=0) + drawn.sum(axis=0)


class _Found(NamedTuple):
    """Posteriors on the way: logs of P(g = j), of P(v = l, z = j) and P(v = l); t and 1 − t; ξ."""

    log_group: FloatArray
    log_on: FloatArray
    log_member: FloatArray
    right: FloatArray
    wrong: FloatArray
    own: FloatArray


IMPOSSIBLE = (
    "no labels of the groups satisfy all that is certain: more groups are apart from each other "
    "than the {} components. Raise n_components, or lower apart_certainty below 1"
)
