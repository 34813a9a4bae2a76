"""The strength of enforcement, chosen by groups that the fit does not see (maths.md 6.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._mixture_groups import Knowledge

__all__ = ["STRENGTHS", "chosen_strength"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The strengths that are tried, relative to the number of rows.
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)

#: Groups are held out in this many turns, unless fewer show enough pairs of rows.
FOLDS, ENOUGH_PAIRS = 5, 200

STRENGTH_DTYPE = np.dtype(
    [("strength", np.float64), ("violation", np.float64), ("n_pairs", np.int64)]
)


def chosen_strength(
    known: Knowledge,
    labels: Callable[[Knowledge, float, IntArray], IntArray],
    rng: np.random.Generator,
) -> tuple[float, NDArray[Any]]:
    """Return the smallest strength that violates held-out groups least, and what was found.

    Parameters
    ----------
    known : Knowledge
    labels : callable
        Fits with some knowledge and a strength, and returns the labels of some rows.
    rng : Generator
    """
    units = _units(known)
    n_units = int(units.max(initial=-1)) + 1
    if n_units < 2:
        raise ValueError(
            "strength='auto' holds groups out to see what a fit makes of them, and needs at least "
            "two groups of two rows; pass a number, such as strength=2.5"
        )
    turn = rng.permutation(n_units) % min(FOLDS, n_units)
    broken, pairs = np.zeros(len(STRENGTHS)), 0
    for fold in range(int(turn.max()) + 1):
        out = (units >= 0) & (turn[np.maximum(units, 0)] == fold)
        rows = known.arrays.row[out]
        for k, strength in enumerate(STRENGTHS):
            found = labels(_without(known, out), strength, rows)
            split, of = _pairs(known.arrays.group[out], found)
            broken[k] += split
        pairs += of
        if pairs >= ENOUGH_PAIRS:
            break
    table = np.empty(len(STRENGTHS), dtype=STRENGTH_DTYPE)
    table["strength"], table["violation"] = STRENGTHS, broken / pairs
    table["n_pairs"] = pairs
    return float(STRENGTHS[int(np.argmin(broken))]), table


def _units(known: Knowledge) -> IntArray:
    """Number what is held out together: teachers if there are several, groups otherwise.

    Memberships that say nothing about pairs of rows have -1.
    """
    arrays = known.arrays
    said = arrays.confidence > 0
    size = np.bincount(arrays.group[said], minlength=arrays.n_groups)
    useful = said & (size[arrays.group] > 1)
    teachers = dict.fromkeys(known.teacher[useful].tolist())
    names = known.teacher if len(teachers) >= FOLDS and None not in teachers else arrays.group
    number: dict[Any, int] = {}
    units = [
        number.setdefault(name, len(number)) if use else -1
        for name, use in zip(names.tolist(), useful.tolist(), strict=True)
    ]
    return np.array(units, dtype=np.int64)


def _without(known: Knowledge, out: NDArray[np.bool_]) -> Knowledge:
    """Return the knowledge with some memberships taken back, and the links of their groups."""
    arrays = known.arrays
    gone = np.zeros(arrays.n_groups, dtype=bool)
    gone[arrays.group[out]] = True
    confidence = np.where(out, 0.0, arrays.confidence)
    certainty = np.where(gone[arrays.apart].any(axis=1), 0.0, arrays.apart_certainty)
    return known._replace(arrays=arrays._replace(confidence=confidence, apart_certainty=certainty))


def _pairs(group: IntArray, labels: IntArray) -> tuple[int, int]:
    """Return how many pairs of rows of one group have different labels, and how many there are."""
    K = int(labels.max(initial=0)) + 1
    cell = np.bincount(group * K + labels)
    size = np.bincount(group)
    of = int((size * (size - 1) // 2).sum())
    return of - int((cell * (cell - 1) // 2).sum()), of
