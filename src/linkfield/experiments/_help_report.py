"""What constraints_help found, as arrays and in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HELP",
    "HURT",
    "MEASURES",
    "PAIRS",
    "SAME",
    "SPLITS",
    "TOO_FEW",
    "WEIGHTS",
    "ConstraintsHelp",
]

HELP, HURT = "they help", "they hurt"
SAME, TOO_FEW = "no difference shown", "too few constraints to tell"

#: Shares of held-out constraints that are kept, and their difference with its 95% interval.
_EFFECT = [
    ("kept_with", np.float64),
    ("kept_without", np.float64),
    ("difference", np.float64),
    ("low", np.float64),
    ("high", np.float64),
    ("p_value", np.float64),
]
MEASURES = np.dtype([("measure", "U11"), ("n_pairs", np.int64), *_EFFECT])
WEIGHTS = np.dtype([("weight", np.float64), ("must_link", float), ("cannot_link", float), *_EFFECT])
SPLITS = np.dtype(
    [
        ("repeat", np.int64),
        ("fold", np.int64),
        ("n_must_link", np.int64),
        ("n_cannot_link", np.int64),
        ("must_link_with", np.float64),
        ("must_link_without", np.float64),
        ("cannot_link_with", np.float64),
        ("cannot_link_without", np.float64),
        ("agreement", np.float64),
    ]
)
PAIRS = np.dtype(
    [
        ("a", np.int64),
        ("b", np.int64),
        ("kind", "U6"),
        ("kept_with", np.float64),
        ("kept_without", np.float64),
    ]
)


@dataclass(frozen=True, eq=False, repr=False)
class ConstraintsHelp:
    """What :func:`constraints_help` found; ``print`` it for a report in words.

    Attributes
    ----------
    verdict : str
        "they help", "no difference shown", "they hurt" or "too few constraints to tell".
    measures : structured array
        For must-links, cannot-links and both ("balanced", the mean of the two shares): the number
        of pairs, the shares of them that fits with and without constraints keep when the pairs
        are held out, the difference with its 95% interval, and a p-value.
    table : structured array
        The same shares for every split.
    pairs : structured array
        For every pair how often it is kept when it is held out. One that other constraints turn
        from kept to broken is worth a second look.
    stability_with, stability_without : float
        Mean ARI between labellings of different splits of one repeat, on rows outside the
        constraints that they were fitted with.
    agreement : float
        Mean ARI between labellings with and without constraints, on ``n_free`` rows that no
        constraint names.
    informativeness : float
        Share of the constraints that fits without constraints break (Davidson, Wagstaff & Basu
        2006): what the constraints could teach.
    n_contradictions : int
        Cannot-links whose ends must-links tie together.
    weights : structured array or None
        With ``weights=``: the shares kept under every weight, of must-links, of cannot-links and
        balanced, and the difference of the latter to a fit without constraints.
    best_weight : float or None
        The weight that keeps most, the smallest of them if several do.
    weight_name : str
        What the estimator calls it.
    n_fits, n_free : int
        Number of fits, and of rows that no constraint names.
    warned : dict
        What the fits warned of, and how many of them.
    notes : tuple of str
        What else should be known.
    """

    verdict: str
    measures: NDArray[Any]
    table: NDArray[Any]
    pairs: NDArray[Any]
    stability_with: float = np.nan
    stability_without: float = np.nan
    agreement: float = np.nan
    informativeness: float = np.nan
    n_contradictions: int = 0
    weights: NDArray[Any] | None = None
    best_weight: float | None = None
    weight_name: str = "constraint_weight"
    n_fits: int = 0
    n_free: int = 0
    warned: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """The balanced share of held-out constraints kept with constraints, less that without."""
        return float(self.measures["difference"][-1])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the difference."""
        return float(self.measures["low"][-1]), float(self.measures["high"][-1])

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"ConstraintsHelp({self.verdict!r}, {self.difference:+.3f} [{low:+.3f}, {high:+.3f}])"
        )

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the report in words."""
        return "\n".join([f"Do the constraints help? Verdict: {self.verdict}.", *self._lines()])

    def _lines(self) -> Iterator[str]:
        if self.n_fits:
            yield f"Held-out constraints that are kept ({self.n_fits} fits):"
            yield f"  {'':11} {'pairs':>7} {'with':>6} {'without':>8}   difference (95% interval)"
            yield from (_measure(line) for line in self.measures)
            yield from self._clusterings()
        if self.n_contradictions:
            yield (
                f"{self.n_contradictions:,} of the cannot-links contradict must-links: see "
                "constraints.conflicts(), and repair()."
            )
        if self.weights is not None:
            yield f"Held-out constraints kept, balanced, by {self.weight_name}:"
            for line in self.weights:
                best = "  <- best" if line["weight"] == self.best_weight else ""
                kept = f"{line['kept_with']:>14.3f} {'':8}"
                yield f"  {line['weight']:<11g} {kept}   {_change(line)}{best}"
        yield from self.notes
        if self.warned:
            text, _ = max(self.warned.items(), key=lambda item: item[1])
            yield f"The fits gave {sum(self.warned.values()):,} warnings; the most frequent: {text}"

    def _clusterings(self) -> Iterator[str]:
        yield (
            f"Without constraints {self.informativeness:.0%} of them are broken: so much they "
            "could teach."
        )
        if np.isfinite(self.stability_with):
            yield (
                "Stability (ARI between splits, rows outside the constraints of the fit): "
                f"{self.stability_with:.3f} with, {self.stability_without:.3f} without."
            )
        if np.isfinite(self.agreement):
            yield (
                f"With and without agree by ARI {self.agreement:.3f} on the {self.n_free:,} rows "
                "that no constraint names."
            )


def _measure(line: Any) -> str:
    shares = f"{line['kept_with']:>6.3f} {line['kept_without']:>8.3f}"
    return f"  {line['measure']:11} {line['n_pairs']:>7,} {shares}   {_change(line)}"


def _change(line: Any) -> str:
    if np.isnan(line["low"]):
        return "unknown"
    interval = f"[{line['low']:+.3f}, {line['high']:+.3f}]"
    return f"{line['difference']:+.3f} {interval}, p = {line['p_value']:.2g}"
