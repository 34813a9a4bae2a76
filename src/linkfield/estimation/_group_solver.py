"""What solves groups that shared rows or cannot-links join, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["GroupSolver", "Slopes", "Solution", "log_others", "normalised"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Slopes(NamedTuple):
    """How posteriors change when memberships are tilted: γ_e → γ_e(1 + ε s_e).

    ``group`` (g, K) for P(g_l = j), ``on`` (e, K) for P(v_i = l, z_i = j), ``off`` (r,) for
    P(v_i = 0), each the derivative in ε at 0.
    """

    group: FloatArray
    on: FloatArray
    off: FloatArray


class Solution(ABC):
    """Posteriors of some groups and of the rows that they share, in logs.

    Attributes
    ----------
    log_z : float
        Log probability of all that the groups speak of.
    log_group : float array (g, K)
        log P(g_l = j | Y).
    log_on : float array (e, K)
        log P(v_i = l, z_i = j | Y) of every shared membership.
    log_off : float array (r,)
        log P(v_i = 0 | Y) of every shared row.
    """

    log_z: float
    log_group: FloatArray
    log_on: FloatArray
    log_off: FloatArray

    @abstractmethod
    def slopes(self, local: FloatArray, s: FloatArray) -> Slopes:
        """Return the derivatives of the posteriors.

        Parameters
        ----------
        local : float array (g, K)
            Derivative of each group's own evidence.
        s : float array (e,)
            The tilt of every shared membership.
        """


@dataclass(frozen=True)
class GroupSolver(ABC):
    """Groups to be solved together.

    Attributes
    ----------
    groups : int array (g,)
    members : int array (e,)
        Memberships of shared rows, by their number in all memberships.
    at : int array (e,)
        The place of each one's group among ``groups``.
    rows : int array (r,)
        The shared rows.
    row_at : int array (e,)
        The place of each one's row among ``rows``.
    apart : int array (a, 2)
        Pairs of places of groups that are apart.
    certainty : float array (a,)
    """

    groups: IntArray
    members: IntArray
    at: IntArray
    rows: IntArray
    row_at: IntArray
    apart: IntArray
    certainty: FloatArray

    @abstractmethod
    def solve(self, local: FloatArray, on: FloatArray, off: FloatArray) -> Solution:
        """Return the posteriors.

        Parameters
        ----------
        local : float array (g, K)
            log of π_j Π_i b_i(j) over the rows that only this group has.
        on : float array (e, K)
            log γ_e q_j(y_i) of the shared memberships.
        off : float array (r,)
            log γ_i0 p(y_i) of the shared rows.
        """


def normalised(table: FloatArray) -> FloatArray:
    """Return logs of numbers that add up to 1 along the last axis."""
    return table - logsumexp(table, axis=-1, keepdims=True)


def log_others(table: FloatArray) -> FloatArray:
    """Return log Σ_{k≠j} exp(table_k) for every j, of rows that are normalised.

    The sum without the largest number is taken as such; 1 − it would have no digits.
    """
    top = table.argmax(axis=1)
    line = np.arange(len(table))
    with np.errstate(divide="ignore"):
        others = np.log1p(-np.minimum(np.exp(table), 1.0))
    rest = table.copy()
    rest[line, top] = -np.inf
    with np.errstate(divide="ignore"):
        others[line, top] = logsumexp(rest, axis=1)
    return others
