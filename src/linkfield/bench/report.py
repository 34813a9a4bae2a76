"""The side-by-side benchmark as a report: run, and written down."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .data import Dense, Text
from .measure import BUSY, Spread
from .peers import Peer
from .peers import peers as time_peers
from .side_by_side import HOW, Given, Line, Result, beside
from .tables import cpu_model, limits, machine, seconds, table, usable_cores, versions

__all__ = ["Report", "benchmark", "cells", "peer_cells"]

_HEAD = ("", "an iteration", "ratio", "a whole fit", "ratio", "iterations made")
_PEER_HEAD = ("package", "method", "a fit", "ARI", "")


@dataclass(frozen=True)
class Report:
    """What was measured.

    Attributes
    ----------
    results : list of Result
    peers : list of Peer
        Other packages, where any are installed.
    missing : list of str
        Those that are not.
    rounds : int
    """

    results: list[Result]
    peers: list[Peer]
    missing: list[str]
    rounds: int

    def notes(self) -> list[str]:
        """Return how to read the figures, what may have spoilt them, and the machine."""
        said = [
            "How to read it: a ratio below 1 is faster than scikit-learn's lloyd on the same rows. "
            "It is the quotient of the two medians; [ ] has the least and the greatest ratio "
            f"within one of {self.rounds} rounds. linkfield learns a metric meanwhile. {HOW}"
        ]
        busy = max((r.others for r in self.results if not math.isnan(r.others)), default=0.0)
        if busy > BUSY:
            said.append(
                f"Other work took up to {busy:.0%} of this machine meanwhile: do not rely on these "
                "figures, run it again when the machine is quiet."
            )
        for result in self.results:
            told = [f"{line.candidate} {line.note}" for line in result.lines if line.note]
            if told:
                said.append(f"Too few iterations to time one on {result.data}: {', '.join(told)}.")
        if self.missing:
            said.append(f"Not installed, so not timed: {', '.join(self.missing)}.")
        return [*said, machine()]

    def markdown(self) -> str:
        """Return the report as Markdown."""
        parts = ["# linkfield beside scikit-learn"]
        for result in self.results:
            rows = [cells(line) for line in result.lines]
            parts += [f"## {result.data}", table(_HEAD, rows)]
        if self.peers:
            rows = [peer_cells(peer) for peer in self.peers]
            parts += ["## Other packages, 3,000 x 16, K 10, 1,000 pairs", table(_PEER_HEAD, rows)]
        return "\n\n".join([*parts, *self.notes()]) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold; None where something was not measured."""
        about = {"cores": usable_cores(), "processor": cpu_model(), "versions": versions()}
        return {
            "rounds": self.rounds,
            "machine": about | {"thread_limits": limits()},
            "results": [_plain(result.as_dict()) for result in self.results],
            "peers": [_plain(asdict(peer)) for peer in self.peers],
            "not_installed": self.missing,
        }


def _plain(value: Any) -> Any:
    """Return a value with None for nan, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def cells(line: Line) -> list[str]:
    """Return the cells of a candidate in a table."""
    step = "-" if line.iteration is None else seconds(line.iteration.median)
    fit = "-" if line.fit is None else seconds(line.fit.median)
    made = "-" if line.iterations_made is None else f"{line.iterations_made:g}"
    ratios = [_ratio(ratio) for ratio in (line.iteration_ratio, line.fit_ratio)]
    return [line.candidate, step, ratios[0], fit, ratios[1], made]


def _ratio(ratio: Spread | None) -> str:
    if ratio is None:
        return "-"
    if ratio.low == ratio.high == 1:
        return "1"
    return f"{_digits(ratio.median)} [{_digits(ratio.low)}-{_digits(ratio.high)}]"


def _digits(value: float) -> str:
    """Return a ratio with two decimals, fewer where it is large."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def peer_cells(peer: Peer) -> list[str]:
    """Return the cells of another package in a table."""
    rand = "-" if math.isnan(peer.rand) else f"{peer.rand:.3f}"
    return [peer.package, peer.method, seconds(peer.seconds), rand, peer.note]


def benchmark(
    cases: Sequence[Dense | Text | Given],
    rounds: int = 3,
    *,
    peers: bool = True,
    progress: Callable[[str], None] = lambda what: None,
) -> Report:
    """Time linkfield beside scikit-learn, and beside other packages that are installed.

    Parameters
    ----------
    cases : sequence of Dense, Text or Given
        ``linkfield.bench.side_by_side.SIZES`` has some.
    rounds : int, default=3
    peers : bool, default=True
    progress : callable
        Is told what comes next.

    Returns
    -------
    Report
    """
    results = [beside(case, rounds, progress=progress) for case in cases]
    others, missing = time_peers(progress=progress) if peers else ([], [])
    return Report(results, others, missing, rounds)
