"""Differences between labellings over pairs of rows, and how uncertain they are.

Repeats that hold the same pairs out in another order are no new witnesses, so the variance is that
over pairs, plus that over repeats, which has what splits and starts add. Pairs that share a row are
no independent witnesses either. Let pair p add e_p to the error of the mean, a part of it, e_pa, on
those occasions when its row a is hidden. The variance over pairs is the greatest of

- Σ e_p e_q over pairs p, q that share a unit of rows (Fafchamps & Gubert 2007);
- 2 Σ_u h_u², h_u = Σ e_pa over the rows a of unit u: rows that are hidden in turn teach each
  other, so that the luck that u brings to v comes back from v to u, which no product above shows.
  This counts where constraints hold no information and every row is in many of them;
- Σ e² over dyads, the pairs between the same two units taken together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

__all__ = ["Effect", "effects"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Effect(NamedTuple):
    """A mean, its 95% interval, and the p-value of the hypothesis that it is 0."""

    estimate: float
    low: float
    high: float
    p_value: float


class _Part(NamedTuple):
    """Something that is averaged: its value in every repeat, and what makes it uncertain."""

    by_repeat: FloatArray  # (n_repeats,)
    share: FloatArray  # (n_pairs, 2) each pair's part in the mean's error, by hidden end
    floor: float


def effects(
    values: FloatArray, must: BoolArray, unit: IntArray, chance: FloatArray
) -> dict[str, Effect]:
    """Return the mean over must-links, over cannot-links, and the mean of both ("balanced").

    Where one kind is missing, all pairs of rows stand for it in the balanced mean: a labelling
    that has nothing to do with the pairs then still comes to nothing, however large its clusters.

    Parameters
    ----------
    values : array (n_repeats, n_pairs, 2)
        The value of every pair when its first, and when its second row is hidden.
    must : bool array (n_pairs,)
    unit : int array (n_pairs, 2)
        The units of rows that each pair joins.
    chance : array (n_repeats,)
        What must-links between any two rows would have; cannot-links have its negative.
    """
    one, other = _part(values, must, chance), _part(values, ~must, -chance)
    both = _Part(
        (one.by_repeat + other.by_repeat) / 2,
        (one.share + other.share) / 2,
        (one.floor + other.floor) / 4,
    )
    return {
        "must-link": _effect(one, unit, must),
        "cannot-link": _effect(other, unit, ~must),
        "balanced": _effect(both, unit, np.ones(len(must), dtype=bool)),
    }


def _part(values: FloatArray, chosen: BoolArray, chance: FloatArray) -> _Part:
    n = int(chosen.sum())
    if n == 0:
        return _Part(chance, np.zeros(values.shape[1:]), 0.0)
    by_repeat = values[:, chosen].mean(axis=(1, 2))
    share = np.where(chosen[:, None], values.mean(axis=0) - by_repeat.mean(), 0.0) / (2 * n)
    # As if there were two pairs more, half a pair each that turned to the better and to the worse
    # (Agresti & Min 2005): a few pairs that all say the same are not certain.
    return _Part(by_repeat, share, 1.0 / n**2)


def _effect(part: _Part, unit: IntArray, chosen: BoolArray) -> Effect:
    estimate, n_units = float(part.by_repeat.mean()), len(np.unique(unit[chosen]))
    if n_units < 2:  # nothing there, or nobody knows how certain it is
        return Effect(estimate if chosen.any() else np.nan, np.nan, np.nan, np.nan)
    variance = _over_pairs(part.share[chosen], unit[chosen]) * n_units / (n_units - 1) + part.floor
    n_repeats = len(part.by_repeat)
    if n_repeats > 1:
        variance += part.by_repeat.var(ddof=1) / n_repeats
    error, freedom = float(np.sqrt(variance)), n_units - 1
    margin = float(stdtrit(freedom, 0.975)) * error
    p_value = 2 * float(stdtr(freedom, -abs(estimate) / error))
    return Effect(estimate, estimate - margin, estimate + margin, p_value)


def _over_pairs(share: FloatArray, unit: IntArray) -> float:
    """Return the variance over pairs, from each pair's parts in the error and their units.

    Summed by unit, products within one dyad come twice, and are taken off once.
    """
    hidden = np.bincount(unit.ravel(), share.ravel())
    a, b = np.sort(unit, axis=1).T
    n, across, error = len(hidden), a != b, share.sum(axis=1)
    by_unit = np.bincount(a, error, n) + np.bincount(b, np.where(across, error, 0.0), n)
    _, first, dyad = np.unique(a * n + b, return_index=True, return_inverse=True)
    by_dyad = np.bincount(dyad, error)
    between = by_dyad[across[first]]
    sandwich = float(by_unit @ by_unit - between @ between)
    return max(sandwich, 2 * float(hidden @ hidden), float(by_dyad @ by_dyad))
