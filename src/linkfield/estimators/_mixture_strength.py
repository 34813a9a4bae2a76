"""The strength of enforcement, chosen by groups that the fit does not see (maths.md 6.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimation.group_structure import GroupArrays
from ._mixture_groups import Knowledge

__all__ = ["STRENGTHS", "chosen_strength"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: The strengths that are tried, relative to the number of rows.
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0)

#: Groups are held out in this many turns, unless fewer show enough pairs of rows.
FOLDS, ENOUGH_PAIRS = 5, 200

#: ``split`` and ``joined`` are the shares of held-out pairs of rows of one group that have
#: different labels, and of groups apart that have the same; ``violation`` is their mean.
STRENGTH_DTYPE = np.dtype(
    [
        ("strength", np.float64),
        ("violation", np.float64),
        ("split", np.float64),
        ("joined", np.float64),
        ("n_pairs", np.int64),
    ]
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
    broken, pairs = np.zeros((2, len(STRENGTHS))), np.zeros((2, 1))
    for fold in range(int(turn.max()) + 1):
        out = (units >= 0) & (turn[np.maximum(units, 0)] == fold)
        for k, strength in enumerate(STRENGTHS):
            found = labels(_without(known, out), strength, known.arrays.row)
            counts = _split(known.arrays, out, found), _joined(known.arrays, out, found)
            broken[:, k] += [count for count, _ in counts]
        pairs[:, 0] += [of for _, of in counts]
        if pairs[0, 0] >= ENOUGH_PAIRS:
            break
    table = np.empty(len(STRENGTHS), dtype=STRENGTH_DTYPE)
    table["strength"], table["n_pairs"] = STRENGTHS, int(pairs.sum())
    table["split"], table["joined"] = broken / np.where(pairs > 0, pairs, np.nan)
    table["violation"] = np.nanmean([table["split"], table["joined"]], axis=0)
    return float(STRENGTHS[int(np.argmin(table["violation"]))]), table


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


def _without(known: Knowledge, out: BoolArray) -> Knowledge:
    """Return the knowledge with some memberships taken back, and the links of their groups."""
    arrays = known.arrays
    gone = np.zeros(arrays.n_groups, dtype=bool)
    gone[arrays.group[out]] = True
    confidence = np.where(out, 0.0, arrays.confidence)
    certainty = np.where(gone[arrays.apart].any(axis=1), 0.0, arrays.apart_certainty)
    return known._replace(arrays=arrays._replace(confidence=confidence, apart_certainty=certainty))


def _split(arrays: GroupArrays, out: BoolArray, labels: IntArray) -> tuple[int, int]:
    """Return how many held-out pairs of one group have different labels, and how many there are."""
    count = _table(arrays, labels, out)
    size = count.sum(axis=1)
    of = int((size * (size - 1) // 2).sum())
    return of - int((count * (count - 1) // 2).sum()), of


def _joined(arrays: GroupArrays, out: BoolArray, labels: IntArray) -> tuple[float, float]:
    """Return how many pairs of groups apart have the same label, and how many there are.

    Either group may be held out; pairs count by their certainty.
    """
    count = _table(arrays, labels, arrays.confidence > 0)
    hidden = np.zeros(arrays.n_groups, dtype=bool)
    hidden[arrays.group[out]] = True
    seen = hidden[arrays.apart].any(axis=1)
    (a, b), certainty = arrays.apart[seen].T, arrays.apart_certainty[seen]
    size = count.sum(axis=1)
    return float(certainty @ (count[a] * count[b]).sum(axis=1)), float(
        certainty @ (size[a] * size[b])
    )


def _table(arrays: GroupArrays, labels: IntArray, use: BoolArray) -> IntArray:
    """Return how many rows of every group have every label."""
    K = int(labels.max(initial=0)) + 1
    cell = arrays.group[use] * K + labels[use]
    return np.bincount(cell, minlength=arrays.n_groups * K).reshape(-1, K)
