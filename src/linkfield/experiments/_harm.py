"""The section of a report that says where constraints do harm."""

from __future__ import annotations

import numpy as np

from ..reports import Block, Heading, Table, Text
from ._numbers import figures, mean_and_half, p_text
from .displays import BASELINES, SCORES, display_of
from .quantities import Counts, Lead, Score, Where
from .result_table import ResultTable
from .statistics import LEVEL, holm, interval, signed_rank

__all__ = ["worse_than_nothing"]


def worse_than_nothing(found: dict[str, ResultTable]) -> list[Block]:
    """List what does worse than the same method's baseline with 100 or more clean constraints."""
    rows = []
    for results in found.values():
        display = display_of(results)
        score = display.scores[0] if display.scores else ""
        if SCORES.get(score, ("", None))[1] is not True:
            continue
        # Of the mixtures' experiments, the number is the per cent of rows in constraints.
        counts = Counts(low=100) if display.axis == "constraints" else Counts()
        rows += _worse(results, score, counts)
    heading = Heading(2, "Where constraints do harm", "harm")
    if not rows:
        return [heading, Text("Nowhere: no method is below its baseline on average, with 100 or "
                              "more clean constraints, in the experiments above.")]  # fmt: skip
    return [
        heading,
        Text(
            "Methods whose mean is below that of K-Means (or of no constraints) with 100 or more "
            "clean constraints; significant or not."
        ),
        Table(
            ["experiment", "data", "method", "score", "baseline", "method's", "difference",
             "runs below", "p (Holm)"],
            rows,
            "From the CSV file of the experiment: rows with noise = 0 and `constraints` >= 100 "
            "(mixtures: all), fold means averaged over these counts, paired over complete runs. "
            "The p values of one experiment are one family.",
            words=frozenset({1, 2, 3}),
        ),
    ]  # fmt: skip


def _worse(results: ResultTable, score: str, counts: Counts) -> list[list[str]]:
    """Compare every method of an experiment with its baseline on every data set."""
    tested = []
    methods = results.names("method")
    for data in results.names("data"):
        where = Where(results, data, score, 0.0 if 0.0 in results.numbers("noise") else None)
        for method in methods:
            base = next((b for b in BASELINES if b in methods and _kin(b, method)), None)
            if base is None or method in BASELINES:
                continue
            lead = Lead(method, base, counts).per_run(where).values
            lead = lead[np.isfinite(lead)]
            if lead.size:
                pair = [interval(Score(m, counts).per_run(where).values) for m in (base, method)]
                tested.append((data, method, pair, lead))
    adjusted = holm([signed_rank(lead).p for *_, lead in tested])
    rows = []
    for (data, method, pair, lead), p in zip(tested, adjusted, strict=True):
        if interval(lead).mean < -1e-12:
            shown = [figures(span.mean, score) for span in pair]
            sure = " (significant)" if p < LEVEL else ""
            rows.append(
                [results.name, data, method, SCORES[score][0], *shown,
                 mean_and_half(interval(lead), score), f"{int((lead < 0).sum())} of {lead.size}",
                 p_text(float(p)) + sure]
            )  # fmt: skip
    return rows


def _kin(baseline: str, method: str) -> bool:
    """Tell whether a baseline is of the method's kind: full with full, tied with tied."""
    kind = baseline.removeprefix("none").strip()
    return method.endswith(kind) if kind in ("full", "tied") else True
