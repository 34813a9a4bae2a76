"""linkfield beside scikit-learn on the same rows, in one run: an iteration, and a whole fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from . import fits
from .data import Dense, Text, short, start_centres
from .measure import FEW, MANY, Spread, Times, compare, iteration

__all__ = [
    "BASE",
    "SIZES",
    "WHOLE",
    "Given",
    "Line",
    "Result",
    "Seeded",
    "beside",
    "iteration_times",
    "whole_times",
]

#: Iterations of a whole fit.
WHOLE = 22

#: What everything is a ratio to.
BASE = "lloyd"

#: Numbers of pairs that are drawn, and how many a row at most.
PAIRS, MOST = (0, 10_000, 100_000), 5

#: The data that a run takes.
SIZES: dict[str, tuple[Dense | Text, ...]] = {
    "tiny": (Dense(600, 6, 4), Text(400, 300, 4, words=20)),
    "small": (Dense(50_000, 32, 20), Text(4_000, 8_000, 20)),
    "medium": (Dense(100_000, 32, 20), Dense(100_000, 32, 20, "float64"), Text(20_000, 30_000, 20)),
    "large": (Dense(1_000_000, 16, 50), Dense(100_000, 384, 100), Text(20_000, 30_000, 100)),
}


@dataclass(frozen=True, eq=False)
class Given:
    """The user's own rows, and classes to draw pairs from."""

    name: str
    X: Any
    K: int
    y: NDArray[Any] | None = None

    def __str__(self) -> str:
        n, d = self.X.shape
        csr = "CSR " if sparse.issparse(self.X) else ""
        return f"{self.name}: {csr}{n:,} x {d:,}, K {self.K}, {self.X.dtype}"

    def make(self) -> tuple[Any, NDArray[Any]]:
        """Return rows and classes; the clusters of k-means where no classes are known."""
        if self.y is not None:
            return self.X, self.y
        return self.X, fits.lloyd(self.X, self.K, random_state=0, max_iter=WHOLE).labels_


class Seeded:
    """A fit to be called again and again: seed 0, 1, 2, ...; it keeps the iterations made."""

    def __init__(
        self, fit: Callable[..., Any], X: Any, K: int, told: fits.Told | None = None
    ) -> None:
        self.fit, self.data = fit, (X, K, told)
        self.iterations: list[int] = []

    def __call__(self) -> None:
        """Make the next fit."""
        seed = len(self.iterations)
        model = self.fit(*self.data, random_state=seed, max_iter=WHOLE)
        self.iterations.append(model.n_iter_)

    def median(self) -> float:
        """Return the median of the iterations made."""
        return Spread.of(self.iterations).median


def iteration_times(X: Any, y: NDArray[Any], K: int, pairs: Iterable[int], rounds: int) -> Times:
    """Return the times an iteration of all candidates, measured in turn.

    The candidates are "lloyd" and "elkan" of scikit-learn, linkfield by the number of pairs it is
    told, and "faiss" where it is installed and the rows are what it takes.
    """
    centres = start_centres(X, K)
    run: dict[Any, Any] = {BASE: fits.counted(fits.lloyd, X, K, centres)}
    for number in pairs:
        told = fits.knowledge(y, number)
        run[number] = fits.counted(fits.linkfield, X, K, centres, told)
    run["elkan"] = fits.counted(fits.elkan, X, K, centres)
    if not sparse.issparse(X) and X.dtype == np.float32 and fits.faiss_module() is not None:
        run["faiss"] = partial(fits.faiss_iterations, X, K, centres)
    return compare(run, rounds, iteration)


def whole_times(
    X: Any, y: NDArray[Any], K: int, pairs: Iterable[int], rounds: int
) -> tuple[Times, dict[Any, Seeded]]:
    """Return the times of whole fits, default initialisation included, and the fits."""
    run: dict[Any, Seeded] = {BASE: Seeded(fits.lloyd, X, K)}
    for number in pairs:
        run[number] = Seeded(fits.linkfield, X, K, fits.knowledge(y, number))
    run["elkan"] = Seeded(fits.elkan, X, K)
    return compare(run, rounds), run


# -------------------------------------------------------------------- result


@dataclass(frozen=True)
class Line:
    """One candidate on one set of data: seconds, and ratios to lloyd; None where there is none.

    A ratio is the quotient of the two medians of seconds; its spread is that of the ratios within
    the rounds.
    """

    candidate: str
    iteration: Spread | None
    iteration_ratio: Spread | None
    fit: Spread | None
    fit_ratio: Spread | None
    iterations_made: float | None
    note: str = ""


@dataclass(frozen=True)
class Result:
    """All candidates on one set of data, and the share of the machine that other work took."""

    data: str
    lines: list[Line] = field(default_factory=list)
    others: float = float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def beside(
    data: Dense | Text | Given,
    rounds: int,
    pairs: Sequence[int] = PAIRS,
    progress: Callable[[str], None] = lambda what: None,
) -> Result:
    """Measure all candidates on one set of data.

    Parameters
    ----------
    data : Dense, Text or Given
    rounds : int
        How often each candidate is measured, in turn with the others.
    pairs : sequence of int
        How many pairs linkfield is told, but at most ``MOST`` a row.
    progress : callable
        Is told what comes next.
    """
    progress(f"{data}: making it")
    X, y = data.make()
    n = X.shape[0]
    most = min(MOST * n, n * (n - 1) // 2)
    told = list(dict.fromkeys(min(number, most) for number in pairs))
    progress(f"{data}: iterations")
    steps = iteration_times(X, y, data.K, told, rounds)
    progress(f"{data}: whole fits")
    whole, runs = whole_times(X, y, data.K, told, rounds)
    names: list[Any] = [BASE, "elkan", *told, "faiss"]
    lines = [_line(name, steps, whole, runs) for name in names if _measured(name, steps)]
    return Result(str(data), lines, max(steps.watch.others, whole.watch.others))


def _measured(name: Any, steps: Times) -> bool:
    return name in steps.rounds or name in steps.refused


def _line(name: Any, steps: Times, whole: Times, runs: dict[Any, Seeded]) -> Line:
    step, step_ratio = _figures(name, steps)
    fit, fit_ratio = _figures(name, whole)
    made = runs[name].median() if name in runs else None
    return Line(_called(name), step, step_ratio, fit, fit_ratio, made, steps.refused.get(name, ""))


def _figures(name: Any, times: Times) -> tuple[Spread | None, Spread | None]:
    """Return seconds and the ratio to lloyd, as far as they were measured."""
    if name not in times.rounds or np.isnan(times.seconds(name).median):
        return None, None
    ratio = None
    if BASE in times.rounds and not np.isnan(times.seconds(BASE).median):
        ratio = times.quotient(name, BASE)
    return times.seconds(name), ratio


def _called(name: Any) -> str:
    """Return what a candidate is called in a table."""
    if isinstance(name, int):
        return f"linkfield, {short(name)} pairs" if name else "linkfield, no pairs"
    return name if name == "faiss" else f"scikit-learn {name}"


#: How the figures came about, for the foot of a report.
HOW = (
    f"An iteration: fits of {FEW} and of {MANY} iterations from the same centres, one minus the "
    f"other. A whole fit: default initialisation, one start, at most {WHOLE} iterations."
)
