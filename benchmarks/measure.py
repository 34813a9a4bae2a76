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
within a round and averaged until ``FLOOR`` seconds have gone by.
"""

import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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
    def of(cls, values):
        """Summarise values; nan (a round that was refused) does not count."""
        values = np.asarray(values, dtype=float)
        values = values[~np.isnan(values)]
        if len(values) == 0:
            return cls(np.nan, np.nan, np.nan)
        return cls(float(np.median(values)), float(values.min()), float(values.max()))

    def __str__(self):
        if np.isnan(self.median):
            return "lost in noise"
        return f"{self.median:.2f} [{self.low:.2f}-{self.high:.2f}]"


class Watch:
    """How much of the machine other processes took, inside a ``with``.

    ``others`` is their share of all processor time, nan where the system does not tell. Time that
    a hypervisor took away counts as theirs; children that have ended count as this process.
    """

    others = np.nan

    def __enter__(self):
        self.before = self.now()
        return self

    def __exit__(self, *_):
        spent, own, there = self.now() - self.before
        if there > 0:
            self.others = float(max(spent - own, 0.0) / there)

    @staticmethod
    def now():
        """Return seconds of processor time: spent by all, by this process, there to spend."""
        try:
            fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
        except OSError:
            return np.full(3, np.nan)
        ticks = np.array(fields, float) / os.sysconf("SC_CLK_TCK")
        return np.array([ticks.sum() - ticks[3:5].sum(), sum(os.times()[:4]), ticks.sum()])

    @property
    def quiet(self):
        """Whether the machine was left alone, as far as is known."""
        return not self.others > BUSY

    def __str__(self):
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

    rounds: dict
    refused: dict
    watch: Watch

    def seconds(self, name):
        """Return median and spread of the times."""
        return Spread.of(self.rounds[name])

    def ratio(self, name, baseline):
        """Return median and spread of the ratios to a baseline, each within one round."""
        pairs = zip(self.rounds[name], self.rounds[baseline], strict=True)
        return Spread.of([mine / other for mine, other in pairs])


def elapsed(function):
    """Return the seconds that a call took, and what it returned."""
    start = time.perf_counter()
    answer = function()
    return time.perf_counter() - start, answer


def compare(candidates, repeats, clock=elapsed):
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
    able, refused = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, run in candidates.items():
            try:
                clock(run)
                able[name] = run
            except RefusedError as reason:
                refused[name] = str(reason)
        rounds = {name: [] for name in able}
        with Watch() as watch:
            for _ in range(repeats):
                for name, run in able.items():
                    rounds[name].append(once(run, clock))
    return Times(rounds, refused, watch)


def once(run, clock):
    """Return one measurement after a pause; nan where it is refused.

    That is rare after a warm-up that was not: sums in another order, converged a step earlier.
    """
    time.sleep(PAUSE)
    try:
        return clock(run)[0]
    except RefusedError:
        return np.nan


def iteration(fit):
    """Return the seconds of one iteration; a clock for :func:`compare`.

    ``fit(max_iter)`` makes a fit and returns how many iterations it took.
    """
    spent, done = np.zeros(2), (0, 0)
    laps = 0
    while laps == 0 or (spent[1] < FLOOR and laps < 50):
        (short_time, few), (long_time, many) = (elapsed(lambda m=m: fit(m)) for m in (FEW, MANY))
        spent += short_time, long_time
        done = (few, many)
        laps += 1
    if done[1] - done[0] < LEAST:
        raise RefusedError(f"stopped after {done[1]} iterations")
    if spent[1] <= spent[0]:
        return np.nan, done  # lost in noise
    return float(spent[1] - spent[0]) / laps / (done[1] - done[0]), done


def repeated(run):
    """Return the seconds of a whole call, repeated while it is short; a clock for `compare`."""
    start, laps = time.perf_counter(), 0
    while laps == 0 or (time.perf_counter() - start < FLOOR and laps < 50):
        answer = run()
        laps += 1
    return (time.perf_counter() - start) / laps, answer


def progress(text):
    """Say on the error channel what is being measured; the tables go to the other one."""
    print(f"... {text}", file=sys.stderr, flush=True)
