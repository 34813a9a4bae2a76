"""How an objective falls from one iteration to the next, where an experiment wrote it down.

Such an experiment has columns NAME_after_0, NAME_after_1, …: the value of NAME after so many
iterations, empty once the fit has ended. For Pritsos & Stamatatos NAME is ``objective`` (the one
that is minimised) and ``equation_26`` (their sum over all clusters).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ..plots import Curve, Panel
from .result_table import ResultTable
from .statistics import interval

__all__ = ["descent_panels"]

FloatArray = NDArray[np.float64]
_COLUMN = re.compile(r"(.+)_after_(\d+)")


def descent_panels(results: ResultTable, data: list[str], methods: list[str]) -> tuple[Panel, ...]:
    """Average the values after each step over runs: a panel for each quantity and data set."""
    found: dict[str, dict[int, FloatArray]] = {}
    for column, values in results.values.items():
        match = _COLUMN.fullmatch(column)
        if match and np.isfinite(values).any():
            found.setdefault(match[1], {})[int(match[2])] = values
    panels = []
    for quantity, columns in found.items():
        steps = np.array(sorted(columns), np.float64)
        table = _filled(np.column_stack([columns[int(step)] for step in steps]))
        for name in data:
            curves = []
            for method in methods:
                mine = (results.keys["data"] == name) & (results.keys["method"] == method)
                if np.isfinite(table[mine]).any():
                    curves.append(_curve(method, steps, table[mine], results.keys["run"][mine]))
            if curves:
                panels.append(Panel(f"{name}: {quantity.replace('_', ' ')}", tuple(curves)))
    return tuple(panels)


def _filled(table: FloatArray) -> FloatArray:
    """Divide by the first value, and keep the last value of a fit that has ended."""
    filled = table.copy()
    for step in range(1, filled.shape[1]):
        ended = np.isnan(filled[:, step])
        filled[ended, step] = filled[ended, step - 1]
    first = np.abs(filled[:, :1])
    return np.divide(filled, first, out=np.full_like(filled, np.nan), where=first > 0)


def _curve(method: str, steps: FloatArray, table: FloatArray, run: FloatArray) -> Curve:
    """Average the fits of each run first: they share data and splits."""
    by_run = np.array([table[run == r].mean(axis=0) for r in np.unique(run)])
    spans = [interval(column) for column in by_run.T]
    mean = np.array([span.mean for span in spans], np.float64)
    half = np.nan_to_num([span.half_width for span in spans])
    return Curve(method, steps, mean, mean - half, mean + half)
