"""How times are taken: in turn, in one process, as ratios within a round.

*In turn.* Candidates run A B C A B C ..., after one uncounted run of each (compilation, caches,
thread pools). A machine that gets slower or busier hits all of them alike, so the ratio is taken
within a round, and the median of the rounds' ratios is reported with its least and greatest.

*Quiet.* A core that other work takes makes thread pools wait for their slowest member: with one of
two cores busy, scikit-learn's lloyd was seen 250 times slower on small data, which would flatter
whatever stands beside it. So every comparison knows which share of the machine went to others, and
above ``BUSY`` its bars are not judged. Between two measurements there is a pause, in which the
last candidate's threads, which spin for a while, fall asleep.

*Time an iteration.* Two fits from the same given centres, one with few and one with more
iterations; the difference of their times is divided by the difference of their ``n_iter_``. What
every fit does once (checking the input, copies, the closure of the constraints, the closing
assignment) cancels, initialisation does not happen. With ``tol=0`` a fit still stops when no label
changes, so ``n_iter_`` is read from every fit, and a difference of fewer than ``LEAST`` iterations
is refused (``RefusedError``), because it would be noise divided by little. Short fits are repeated
within a round until ``FLOOR`` seconds have gone by, and the median is taken: the difference of two
fits is small, and one interruption of either would drown it.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "RefusedError",
    "Spread",
    "Times",
    "Watch",
    "compare",
    "elapsed",
    "iteration",
    "once",
    "progress",
    "repeated",
]

Clock = Callable[[Any], tuple[float, Any]]

#: Iterations of the shorter and the longer fit, and the least difference that is accepted.
FEW, MANY, LEAST = 4, 14, 5

#: Seconds between two measurements, and the share of other work that is tolerated.
PAUSE, BUSY = 0.02, 0.05

#: A single measurement lasts at least this long, in seconds, by repetition.
FLOOR = 0.05


class RefusedError(Exception):
    """A measurement that would mean nothing."""


@dataclass(frozen=True)
class Spread:
    """A median with the least and the greatest of its values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """Summarise values; nan (a round that was refused) does not count."""
        array = np.array(list(values), dtype=float)
        array = array[~np.isnan(array)]
        if len(array) == 0:
            return cls(np.nan, np.nan, np.nan)
        return cls(float(np.median(array)), float(array.min()), float(array.max()))

    def __str__(self) -> str:
        if np.isnan(self.median):
            return "lost in noise"
        return f"{self.median:.2f} [{self.low:.2f}-{self.high:.2f}]"


class Watch:
    """How much of the machine other processes took, inside a ``with``.

    ``others`` is their share of all processor time, nan where the system does not tell. Time that
    a hypervisor took away counts as theirs; children that have ended count as this process.
    """

    others: float = np.nan

    def __enter__(self) -> Watch:
        self.before = self.now()
        return self

    def __exit__(self, *_: object) -> None:
        spent, own, there = self.now() - self.before
        if there > 0:
            self.others = float(max(spent - own, 0.0) / there)

    @staticmethod
    def now() -> NDArray[np.float64]:
        """Return seconds of processor time: spent by all, by this process, there to spend."""
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        except OSError:
            return np.full(3, np.nan)
        ticks = np.array(fields, float) / os.sysconf("SC_CLK_TCK")
        return np.array([ticks.sum() - ticks[3:5].sum(), sum(os.times()[:4]), ticks.sum()])

    @property
    def quiet(self) -> bool:
        """Whether the machine was left alone, as far as is known."""
        return not self.others > BUSY

    def __str__(self) -> str:
        return "?" if np.isnan(self.others) else f"{self.others:.0%}"


@dataclass(frozen=True)
class Times:
    """What came out.

    Attributes
    ----------
    rounds : dict
        Seconds a round, for every candidate.
    refused : dict
        Why other candidates have none.
    watch : Watch
        What other processes did meanwhile.
    """

    rounds: dict[Any, list[float]]
    refused: dict[Any, str]
    watch: Watch

    def seconds(self, name: Any) -> Spread:
        """Return median and spread of the times."""
        return Spread.of(self.rounds[name])

    def ratio(self, name: Any, baseline: Any) -> Spread:
        """Return median and spread of the ratios to a baseline, each within one round."""
        pairs = zip(self.rounds[name], self.rounds[baseline], strict=True)
        return Spread.of([mine / other for mine, other in pairs])

    def quotient(self, name: Any, baseline: Any) -> Spread:
        """Return the quotient of the two medians, with the spread of the rounds' ratios.

        It can be worked out from the times in a table; it lies within that spread.
        """
        spread = self.ratio(name, baseline)
        medians = self.seconds(name).median, self.seconds(baseline).median
        return Spread(medians[0] / medians[1], spread.low, spread.high)


def elapsed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call took, and what it returned."""
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def compare(candidates: Mapping[Any, Any], repeats: int, clock: Clock = elapsed) -> Times:
    """Measure candidates in turn.

    Parameters
    ----------
    candidates : dict of str to callable
    repeats : int
        Rounds; every candidate is measured once in each.
    clock : callable
        ``clock(candidate)`` returns (seconds, anything); by default the time of one call.

    Returns
    -------
    Times
        A candidate whose warm-up is ``RefusedError`` is left out, and the reason kept.
    """
    able: dict[Any, Any] = {}
    refused: dict[Any, str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in candidates.items():
            try:
                clock(run)
                able[name] = run
            except RefusedError as reason:
                refused[name] = str(reason)
        rounds: dict[Any, list[float]] = {name: [] for name in able}
        with Watch() as watch:
            for _ in range(repeats):
                for name, run in able.items():
                    rounds[name].append(once(run, clock))
    return Times(rounds, refused, watch)


def once(run: Any, clock: Clock) -> float:
    """Return one measurement after a pause; nan where it is refused.

    That is rare after a warm-up that was not: sums in another order, converged a step earlier.
    """
    time.sleep(PAUSE)
    try:
        return clock(run)[0]
    except RefusedError:
        return float("nan")


def iteration(fit: Callable[[int], int]) -> tuple[float, tuple[int, int]]:
    """Return the seconds of one iteration; a clock for :func:`compare`.

    ``fit(max_iter)`` makes a fit and returns how many iterations it took.
    """
    laps: list[float] = []
    spent = 0.0
    while not laps or (spent < FLOOR and len(laps) < 50):
        (short_time, few), (long_time, many) = (elapsed(partial(fit, m)) for m in (FEW, MANY))
        if many - few < LEAST:
            raise RefusedError(f"stopped after {many} iterations")
        spent += long_time
        laps.append((long_time - short_time) / (many - few))
    middle = float(np.median(laps))
    return middle if middle > 0 else np.nan, (few, many)  # else lost in noise


def repeated(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a whole call, repeated while it is short; a clock for `compare`."""
    start, laps = time.perf_counter(), 0
    while laps == 0 or (time.perf_counter() - start < FLOOR and laps < 50):
        answer = run()
        laps += 1
    return (time.perf_counter() - start) / laps, answer


def progress(text: str) -> None:
    """Say on the error channel what is being measured; the tables go to the other one."""
    print(f"... {text}", file=sys.stderr, flush=True)
