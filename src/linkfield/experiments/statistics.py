"""Means, intervals and paired tests over the runs of an experiment.

The runs are the independent repetitions, not the folds: the folds of a run share rows, so they are
averaged first. Two methods are then compared run by run, on the same splits, constraints and seeds,
by Wilcoxon's signed-rank test. Why not the t test: differences of clusterings are mostly small with
a few jumps to another local optimum, bounded, often tied, and sometimes the same in every run; the
signed-rank test is exact in all these cases. Intervals of means are Student's, which is what a
reader expects of "mean ± half-width".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..evaluation.intervals import Interval, interval, share_interval

__all__ = [
    "LEVEL",
    "Interval",
    "SignedRank",
    "holm",
    "interval",
    "runs_needed",
    "share_interval",
    "signed_rank",
]

FloatArray = NDArray[np.float64]

#: A difference counts as shown if it would come by chance with less than this probability.
LEVEL = 0.05
#: Differences that agree to so many digits of the largest are the same; so are 0 and less than it.
DIGITS = 12


class SignedRank(NamedTuple):
    """Two-sided p, the direction of the ranks (1, 0, -1), and how many differences are not zero."""

    p: float
    direction: int
    n: int


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Wilcoxon's signed-rank test that differences lie around zero, exact also with ties.

    Zeros are left out (Wilcoxon's own rule). Given the ranks of the absolute values, each sign is
    a fair coin if nothing differs; the distribution of the positive rank sum is found by adding
    one rank after the other, with ranks doubled so that the half ranks of ties are whole.

    Parameters
    ----------
    differences : array (runs,)
        One difference for each run.
    """
    d = np.asarray(differences, np.float64).ravel()
    if not np.isfinite(d).all():
        raise ValueError("differences must be finite; leave incomplete runs out first")
    size = np.abs(d)
    scale = size.max(initial=0.0)
    d = d[size > 10.0**-DIGITS * max(scale, 1.0)]
    if not d.size:
        return SignedRank(1.0, 0, 0)
    size = np.round(np.abs(d) / scale, DIGITS)
    _, group, members = np.unique(size, return_inverse=True, return_counts=True)
    ranks = (2 * np.cumsum(members) - members + 1)[group]
    total, positive = int(ranks.sum()), int(ranks[d > 0].sum())
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for rank in ranks:
        chance[rank:] = 0.5 * chance[rank:] + 0.5 * chance[: total + 1 - rank]
        chance[:rank] *= 0.5
    tail = min(chance[: positive + 1].sum(), chance[positive:].sum())
    return SignedRank(min(1.0, 2 * float(tail)), int(np.sign(2 * positive - total)), int(d.size))


def holm(p: ArrayLike) -> FloatArray:
    """Adjust the p values of one family (Holm 1979): the i-th smallest of m times m - i + 1.

    An adjusted value is never below one of a smaller p, and at most 1.
    """
    raw = np.asarray(p, np.float64)
    order = np.argsort(raw, kind="stable")
    steps = raw[order] * np.arange(raw.size, 0, -1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted


def runs_needed(comparisons: int, level: float = LEVEL) -> int:
    """How few runs could show anything: m · 2^(1-n) < level, if all runs point the same way."""
    return 1 + math.floor(1 + math.log2(max(comparisons, 1) / level))
