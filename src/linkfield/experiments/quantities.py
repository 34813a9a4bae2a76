"""What a claim compares: a score of a method at some numbers of constraints, a gain, a lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .displays import BASELINES
from .result_table import Cells, ResultTable

__all__ = [
    "ALL",
    "LEAST",
    "MOST",
    "SOME",
    "Constant",
    "Counts",
    "Gain",
    "Lead",
    "PerRun",
    "Quantity",
    "Score",
    "Where",
    "at",
    "cells_of",
    "plain",
]

FloatArray = NDArray[np.float64]


def plain(number: float) -> str:
    """Write a count or a share without a needless fraction: 20, 2.5, 0.05."""
    return f"{number:g}"


@dataclass(frozen=True)
class Counts:
    """Numbers of constraints from ``low`` to ``high``; all of them, or only the least or most."""

    low: float = -np.inf
    high: float = np.inf
    only: Literal["", "least", "most"] = ""

    def pick(self, counts: FloatArray) -> NDArray[np.bool_]:
        """Tell which of the sorted counts are meant."""
        chosen = (counts >= self.low) & (counts <= self.high)
        if self.only and chosen.any():
            place = np.flatnonzero(chosen)[0 if self.only == "least" else -1]
            chosen = np.arange(counts.size) == place
        return chosen

    def __str__(self) -> str:
        if self.only and np.isinf(self.high):
            return f"the {'fewest' if self.only == 'least' else 'most'}"
        if self.low == self.high:
            return plain(self.low)
        if np.isinf(self.low) and np.isinf(self.high):
            return "all"
        if np.isinf(self.high):
            return "> 0" if self.low < 1 else f"≥ {plain(self.low)}"
        return f"≤ {plain(self.high)}" if self.only else f"1 to {plain(self.high)}"


#: Every number; every number but none at all; the first and the last point of the curve.
ALL, SOME = Counts(), Counts(low=0.5)
LEAST, MOST = Counts(only="least"), Counts(only="most")


def at(count: float) -> Counts:
    """Exactly this number of constraints (for Law et al. 2005: per cent of the rows)."""
    return Counts(count, count)


class Where(NamedTuple):
    """The part of a table that a check looks at."""

    results: ResultTable
    data: str
    score: str
    noise: float | None


class PerRun(NamedTuple):
    """One value for each run, nan where the run is incomplete."""

    runs: FloatArray
    values: FloatArray


class Quantity(Protocol):
    """Anything that gives one number for each run, with a name and its numbers of constraints."""

    @property
    def place(self) -> str:
        """At which numbers of constraints, in words."""
        ...

    def per_run(self, where: Where) -> PerRun:
        """Measure it in every run."""
        ...


@dataclass(frozen=True)
class Constant:
    """A number to compare with."""

    value: float
    place = ""

    def per_run(self, where: Where) -> PerRun:
        """Give the number for every run."""
        runs = np.array(where.results.numbers("run", data=where.data), np.float64)
        return PerRun(runs, np.full(runs.size, self.value))

    def __str__(self) -> str:
        return plain(self.value)


@dataclass(frozen=True)
class Score:
    """The score of a method, averaged over numbers of constraints.

    The score of a baseline (K-Means) that was run at one number of constraints only stands for
    every number, since it takes no notice of them.
    """

    method: str
    counts: Counts = ALL
    data: str | None = None

    def per_run(self, where: Where) -> PerRun:
        """Average over the chosen counts; a run without one of them gives nan."""
        data = where.results.data_name(self.data) if self.data else where.data
        cells = cells_of(where._replace(data=data), self.method)
        chosen = self.counts.pick(cells.counts)
        if not chosen.any():
            return PerRun(cells.runs, np.full(cells.runs.size, np.nan))
        return PerRun(cells.runs, cells.values[:, chosen].mean(axis=1))

    def __str__(self) -> str:
        return f"{self.method} on {self.data}" if self.data else self.method

    @property
    def place(self) -> str:
        """At which numbers of constraints, in words."""
        return str(self.counts)


@dataclass(frozen=True)
class Gain:
    """What each further constraint adds, from one number of constraints to another."""

    method: str
    start: Counts
    end: Counts

    def per_run(self, where: Where) -> PerRun:
        """Divide the rise of the score by the number of constraints added."""
        cells = cells_of(where, self.method)
        start, end = self.start.pick(cells.counts), self.end.pick(cells.counts)
        if start.sum() != 1 or end.sum() != 1 or (start & end).any():
            return PerRun(cells.runs, np.full(cells.runs.size, np.nan))
        rise = cells.values[:, end] - cells.values[:, start]
        return PerRun(cells.runs, (rise / (cells.counts[end] - cells.counts[start]))[:, 0])

    def __str__(self) -> str:
        return f"{self.method}, gain a constraint"

    @property
    def place(self) -> str:
        """From which number of constraints to which, in words."""
        return f"{self.start} to {self.end}"


@dataclass(frozen=True)
class Lead:
    """By how much a method is ahead of another in the same run."""

    method: str
    over: str
    counts: Counts = ALL
    data: str | None = None

    def per_run(self, where: Where) -> PerRun:
        """Subtract run by run."""
        first = Score(self.method, self.counts, self.data).per_run(where)
        second = Score(self.over, self.counts, self.data).per_run(where)
        runs, a, b = np.intersect1d(first.runs, second.runs, return_indices=True)
        return PerRun(runs, first.values[a] - second.values[b])

    def __str__(self) -> str:
        lead = f"lead of {self.method} over {self.over}"
        return f"{lead} on {self.data}" if self.data else lead

    @property
    def place(self) -> str:
        """At which numbers of constraints, in words."""
        return str(self.counts)


def cells_of(where: Where, method: str) -> Cells:
    """Give a method's fold means at every number of constraints of its data set."""
    cells = where.results.cells(where.data, method, where.score, where.noise)
    if cells.counts.size == 1 and method in BASELINES:
        counts = np.array(where.results.numbers("constraints", data=where.data), np.float64)
        cells = Cells(cells.runs, counts, np.repeat(cells.values, counts.size, axis=1))
    return cells
