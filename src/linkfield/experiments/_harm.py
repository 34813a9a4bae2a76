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


#: Why, as far as we know: experiment, how the method's name begins, and the cause.
CAUSES = (
    ("basu2003", "M-KMeans", "The pairs act on the weights of features only, and these follow the "
     "inverse spread within clusters, which overrates pixels that hardly vary."),
    ("basu2003", "PC-KMeans", "A weight of 1 is next to nothing beside squared distances of raw "
     "features; all that is left of the pairs is a start from two or three rows."),
    ("law2005-teachers", "", "EM ends in local optima: the spread between starts is larger than "
     "what the groups change."),
    ("modern", "HMRFKMeans", "On 10,000 images in 50 principal components a full matrix gives all "
     "components the same say, the noise of the last ones too. Held-out pairs do not tell it from "
     "a fixed metric, and it is the first choice where rows are many."),
    ("modern", "PCKMeans", "Within the spread of the starts."),
    ("defaults", "diagonal", "Weights of features follow the inverse spread within clusters, which "
     "is no measure of their use; the default leaves them where held-out pairs are against them."),
    ("defaults", "identity", "Within the spread of the starts."),
    ("peers", "k-means", "No constraints here: the least sum of squares of ten starts need not be "
     "the best clusters."),
    ("peers", "", "Methods of the other package; not looked into."),
)  # fmt: skip


def _causes(rows: list[list[str]]) -> list[Block]:
    """Say why, for each experiment and method that is listed."""
    told: dict[tuple[str, str], list[str]] = {}
    for experiment, _, method, *_ in rows:
        cause = next((c for e, m, c in CAUSES if e == experiment and method.startswith(m)), None)
        if cause is not None:
            methods = told.setdefault((experiment, cause), [])
            methods += [method] * (method not in methods)
    return [
        Text(f"Why, in {experiment}, {', '.join(methods)}: {cause}")
        for (experiment, cause), methods in told.items()
    ]


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
        *_causes(rows),
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
