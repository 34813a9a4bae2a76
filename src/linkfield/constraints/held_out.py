"""Constraints held out: rows whose constraints are hidden from a fit.

A split hides rows. The training part is what is said of the other rows; every pair with a hidden
row is held out. A hidden row is in no training constraint at all, so the closure of the training
part, however many clusters there are, entails nothing about a held-out pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .closure import must_components
from .pairs import Constraints
from .sampling import sample_pairs

__all__ = ["Question", "Split", "asked", "draw_splits"]

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

#: Labels may entail millions of pairs; so many, drawn by chance, show what there is to see.
MOST_LABEL_PAIRS = 20_000


class Question(NamedTuple):
    """The pairs that are held out in turn: their rows, kinds, and units of rows.

    Rows of one unit are hidden together.
    """

    ends: IntArray
    must: BoolArray
    unit: IntArray
    rows: IntArray
    unit_of_row: IntArray

    @property
    def n_units(self) -> int:
        """Number of units."""
        return int(self.unit_of_row.max(initial=-1)) + 1


class Split(NamedTuple):
    """One fit's share: the constraints that it sees, and the pairs (by number) that it does not.

    ``hidden`` says which of the two rows of a held-out pair are hidden: at least one is.
    """

    repeat: int
    fold: int
    seed: int
    training: Constraints
    held_out: IntArray
    hidden: BoolArray


def asked(constraints: Constraints, n_splits: int, rng: np.random.Generator) -> Question:
    """Return the pairs to be held out, and which rows are hidden together."""
    table = _listed(constraints, rng)
    ends = np.column_stack([table["a"], table["b"]])
    rows = constraints.tied_rows()
    unit = _units(constraints, rows, n_splits)
    return Question(ends, table["kind"] == "must", unit[np.searchsorted(rows, ends)], rows, unit)


def _listed(constraints: Constraints, rng: np.random.Generator) -> NDArray[np.void]:
    """Return the pairs as given, and those of labels, or some of these where they are too many."""
    labels = constraints.labels
    if labels.n_must_link + labels.n_cannot_link <= MOST_LABEL_PAIRS:
        return constraints.pairs()
    given = constraints.pairs(labels=False)
    said = labels.entails(np.column_stack([given["a"], given["b"]]), given["kind"] == "must")
    single = labels.single()
    size = len(single.rows)
    pairs, must = sample_pairs(
        single.codes, min(MOST_LABEL_PAIRS, size * (size - 1) // 2), random_state=rng
    )
    drawn = np.empty(len(pairs), dtype=given.dtype)
    drawn["a"], drawn["b"] = single.rows[pairs].T
    drawn["kind"], drawn["weight"] = np.where(must, "must", "cannot"), labels.weight
    return np.concatenate([given[~said], drawn])


def _units(constraints: Constraints, rows: IntArray, n_splits: int) -> IntArray:
    """Number the must-link components of the given pairs; labelled rows stand for themselves.

    A component of more rows than half a fold would make folds uneven, or the only one. Its rows
    are hidden one by one: that is no less fair, only more of its must-links are lost to training.
    """
    table = constraints.pairs(labels=False)
    must = table[table["kind"] == "must"]
    links = np.searchsorted(rows, np.column_stack([must["a"], must["b"]]))
    component = must_components(len(rows), links)
    large = np.bincount(component)[component] > max(2, len(rows) // (2 * n_splits))
    component[large] = len(rows) + np.flatnonzero(large)
    return np.unique(component, return_inverse=True)[1].astype(np.int64)


def draw_splits(
    constraints: Constraints,
    question: Question,
    n_splits: int,
    n_repeats: int,
    rng: np.random.Generator,
) -> list[Split]:
    """Deal the units out to folds of about equally many rows, anew in every repeat.

    Every row is hidden once a repeat, so every pair is held out once or twice.
    """
    size = np.bincount(question.unit_of_row, minlength=question.n_units)
    found = []
    for repeat in range(n_repeats):
        order = rng.permutation(question.n_units)
        fold_of = np.empty(question.n_units, dtype=np.int64)
        before = np.cumsum(size[order]) - size[order]
        fold_of[order] = before * n_splits // size.sum()
        seeds = rng.integers(2**31, size=n_splits)
        for fold in np.unique(fold_of).tolist():
            training = constraints.without(question.rows[fold_of[question.unit_of_row] == fold])
            hidden = fold_of[question.unit] == fold
            held_out = np.flatnonzero(hidden.any(axis=1))
            seed = int(seeds[fold])
            found.append(Split(repeat, fold, seed, training, held_out, hidden[held_out]))
    return found
