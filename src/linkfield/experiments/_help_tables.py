"""From the answers of all splits to tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints.held_out import Question, Split
from ..evaluation import adjusted_rand
from ._help_fits import Answer
from ._help_report import PAIRS, SPLITS, WEIGHTS
from ._paired import Effect, effects

__all__ = [
    "Kept",
    "best_weight",
    "counts",
    "pair_table",
    "split_table",
    "stability",
    "weight_table",
]


def counts(question: Question) -> dict[str, int]:
    """Return how many pairs every measure rests on."""
    n, n_must = len(question.must), int(question.must.sum())
    return {"must-link": n_must, "cannot-link": n - n_must, "balanced": n}


class Kept:
    """What every fit keeps, by repeat, pair, and which row is hidden; fit 0 has no constraints."""

    def __init__(self, question: Question, splits: list[Split], answers: list[Answer]) -> None:
        n_fits, n_repeats = len(answers[0].kept), splits[-1].repeat + 1
        self.question = question
        self.shares = np.zeros((n_fits, n_repeats, len(question.ends), 2))
        together, folds = np.zeros((n_fits, n_repeats)), np.zeros(n_repeats)
        for split, found in zip(splits, answers, strict=True):
            kept = found.kept[:, :, None] * split.hidden
            self.shares[:, split.repeat, split.held_out] += kept
            together[:, split.repeat] += found.together
            folds[split.repeat] += 1
        self.together = together / folds

    def gain(self, fit: int) -> dict[str, Effect]:
        """Return by how much a fit with constraints keeps more than one without."""
        values = self.shares[fit] - self.shares[0]
        chance = self.together[fit] - self.together[0]
        return effects(values, self.question.must, self.question.unit, chance)

    def level(self, fit: int) -> dict[str, Effect]:
        """Return by how much the shares that a fit keeps exceed 1/2."""
        question = self.question
        values, chance = self.shares[fit] - 0.5, self.together[fit] - 0.5
        return effects(values, question.must, question.unit, chance)

    def lines(self, fit: int) -> list[tuple[Any, ...]]:
        """Return the measures of a fit with constraints, as in the table of measures."""
        with_, without, gain = self.level(fit), self.level(0), self.gain(fit)
        return [
            (name, n, with_[name].estimate + 0.5, without[name].estimate + 0.5, *gain[name])
            for name, n in counts(self.question).items()
        ]


def split_table(question: Question, splits: list[Split], answers: list[Answer]) -> NDArray[Any]:
    """Return the shares kept in every split."""
    lines = []
    for split, found in zip(splits, answers, strict=True):
        must = question.must[split.held_out]
        shares = [
            found.kept[fit, kind].mean() if kind.any() else np.nan
            for kind in (must, ~must)
            for fit in (1, 0)
        ]
        sizes = (int(must.sum()), int((~must).sum()))
        lines.append((split.repeat, split.fold, *sizes, *shares, found.agreement))
    return np.array(lines, dtype=SPLITS)


def pair_table(kept: Kept) -> NDArray[Any]:
    """Return how often every pair is kept."""
    question = kept.question
    table = np.empty(len(question.ends), dtype=PAIRS)
    table["a"], table["b"] = question.ends.T
    table["kind"] = np.where(question.must, "must", "cannot")
    table["kept_without"], table["kept_with"] = kept.shares[:2].mean(axis=(1, 3))
    return table


def stability(splits: list[Split], answers: list[Answer], n_rows: int) -> tuple[float, float]:
    """Return the mean ARI between folds of one repeat, with constraints and without."""
    scores = []
    for (one, first), (other, second) in combinations(zip(splits, answers, strict=True), 2):
        if one.repeat != other.repeat:
            continue
        outside = np.ones(n_rows, dtype=bool)
        outside[one.training.tied_rows()] = False
        outside[other.training.tied_rows()] = False
        if outside.sum() > 1:
            pair = zip(first.labels, second.labels, strict=True)
            scores.append([adjusted_rand(a, b, rows=outside) for a, b in pair])
    if not scores:
        return np.nan, np.nan
    without, with_ = np.mean(scores, axis=0)
    return float(with_), float(without)


def weight_table(kept: Kept, weights: Sequence[float] | None) -> NDArray[Any] | None:
    """Return what every weight keeps; the weights' fits come after the two others."""
    if weights is None:
        return None
    lines = []
    for k, weight in enumerate(weights):
        must, cannot, balanced = kept.lines(k + 2)
        lines.append((float(weight), must[2], cannot[2], *balanced[2:]))
    return np.array(lines, dtype=WEIGHTS)


def best_weight(tried: NDArray[Any]) -> float:
    """Return the smallest weight that keeps most."""
    best = tried[tried["kept_with"] >= tried["kept_with"].max() - 1e-12]
    return float(best["weight"].min())
