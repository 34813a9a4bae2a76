"""Learning curves of an experiment: mean and 95% interval over runs, by number of constraints."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .. import plots
from ..plots import Curve, Panel, Style
from .quantities import Where, cells_of
from .result_table import ResultTable
from .statistics import interval, share_interval

__all__ = ["panels_of", "styles_of"]

FloatArray = NDArray[np.float64]

#: The methods of the papers: the fuller the method, the same the colour across papers.
KNOWN = {
    "K-Means": -1,
    "none": -1,
    "none full": -1,
    "none tied": -1,
    "fixed": -1,
    "MPC-KMeans": 0,
    "KMeans-I-C-D": 0,
    "ICM": 0,
    "posterior": 0,
    "posterior full": 0,
    "posterior tied": 0,
    "learned": 0,
    "PC-KMeans": 1,
    "KMeans-I-C": 1,
    "BP": 1,
    "hard": 1,
    "hard full": 1,
    "hard tied": 1,
    "Rayleigh": 1,
    "M-KMeans": 2,
    "KMeans-I": 2,
    "LP": 2,
    "soft": 2,
    "soft full": 2,
    "soft tied": 2,
    "MPC-KMeans 2003": 3,
    "mean field": 3,
    "auto": 4,
    "ICM, single rows": 5,
}


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Give every method its look, the same in every figure of a report.

    Methods of the papers have fixed colours; others take the colours in alphabetical order, first
    each colour once, then again with other dashes.
    """
    return plots.styles_of(methods, known=KNOWN)


def panels_of(
    results: ResultTable, score: str, data: list[str], methods: list[str]
) -> tuple[Panel, ...]:
    """Average a score over the runs: one panel a data set and noise, one curve a method."""
    noises = results.numbers("noise")
    panels = []
    for name in data:
        for noise in noises:
            where = Where(results, name, score, noise)
            curves = [_curve(where, method) for method in methods]
            curves = [curve for curve in curves if np.isfinite(curve.mean).any()]
            title = name if len(noises) == 1 else f"{name}, {100 * noise:g}% wrong"
            if curves:
                panels.append(Panel(title, tuple(curves), len(noises) if len(noises) > 1 else 0))
    return tuple(panels)


def _curve(where: Where, method: str) -> Curve:
    cells = cells_of(where, method)
    spans = [interval(column) for column in cells.values.T]
    mean = np.array([span.mean for span in spans], np.float64)
    if where.score == "recovered":
        low, high = np.array([share_interval(column) for column in cells.values.T]).reshape(-1, 2).T
    else:
        half = np.nan_to_num([span.half_width for span in spans])
        low, high = mean - half, mean + half
    return Curve(method, cells.counts, mean, low, high)
