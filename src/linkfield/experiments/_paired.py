"""Differences between labellings over pairs of rows, and how uncertain they are.

Pairs that share a row are no independent witnesses, and repeats that hold the same pairs out in
another order are no new ones. So the variance is that over pairs, with all products of pairs that
share a unit of rows (the dyadic sandwich of Fafchamps & Gubert 2007), plus that over repeats, which
has what splits and starts add. The former counts twice: rows that are hidden in turn also teach
each other, so that luck which row i brings to row j comes back from j to i, and no product of two
pairs shows it. (With labels drawn by chance the standard deviation is √2 of the sandwich's.)
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
    share: FloatArray  # (n_pairs,) each pair's part in the mean's error
    floor: float


def effects(
    values: FloatArray, must: BoolArray, unit: IntArray, chance: FloatArray
) -> dict[str, Effect]:
    """Return the mean over must-links, over cannot-links, and the mean of both ("balanced").

    Where one kind is missing, all pairs of rows stand for it in the balanced mean: a labelling
    that has nothing to do with the pairs then still comes to nothing, however large its clusters.

    Parameters
    ----------
    values : array (n_repeats, n_pairs)
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
    found = {
        "must-link": _effect(one, unit, must),
        "cannot-link": _effect(other, unit, ~must),
    }
    found["balanced"] = _effect(both, unit, np.ones(len(must), dtype=bool))
    return found


def _part(values: FloatArray, chosen: BoolArray, chance: FloatArray) -> _Part:
    n = int(chosen.sum())
    if n == 0:
        return _Part(chance, np.zeros(len(chosen)), 0.0)
    by_repeat = values[:, chosen].mean(axis=1)
    share = np.where(chosen, values.mean(axis=0) - by_repeat.mean(), 0.0) / n
    # As if there were two pairs more, half a pair each that turned to the better and to the worse
    # (Agresti & Min 2005): a few pairs that all say the same are not certain.
    return _Part(by_repeat, share, 1.0 / n**2)


def _effect(part: _Part, unit: IntArray, chosen: BoolArray) -> Effect:
    estimate, n_units = float(part.by_repeat.mean()), len(np.unique(unit[chosen]))
    if n_units < 2:  # nothing there, or nobody knows how certain it is
        return Effect(estimate if chosen.any() else np.nan, np.nan, np.nan, np.nan)
    variance = _dyadic(part.share[chosen], unit[chosen]) * n_units / (n_units - 1) + part.floor
    n_repeats = len(part.by_repeat)
    if n_repeats > 1:
        variance += part.by_repeat.var(ddof=1) / n_repeats
    error, freedom = float(np.sqrt(variance)), n_units - 1
    margin = float(stdtrit(freedom, 0.975)) * error
    p_value = 2 * float(stdtr(freedom, -abs(estimate) / error))
    return Effect(estimate, estimate - margin, estimate + margin, p_value)


def _dyadic(share: FloatArray, unit: IntArray) -> float:
    """Return 2 Σ e_p e_q over all pairs p, q of rows that share a unit; at least Σ e² over dyads.

    Summed by unit, products within one dyad come twice, and are taken off once.
    """
    a, b = np.sort(unit, axis=1).T
    n = int(b.max()) + 1
    _, dyad = np.unique(a * n + b, return_inverse=True)
    by_dyad = np.bincount(dyad, share)
    across = np.zeros(len(by_dyad), dtype=bool)
    across[dyad] = a != b
    by_unit = np.bincount(a, share, n) + np.bincount(b, np.where(a != b, share, 0.0), n)
    shared = float(by_unit @ by_unit) - float(by_dyad[across] @ by_dyad[across])
    return max(2 * shared, float(by_dyad @ by_dyad))
