"""The section of a report that shows one experiment: curves and tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..plots import LearningCurveDisplay, Style, as_png, as_svg
from ..reports import Block, Figure, Heading, Note, Table, Text
from ._descent import descent_panels
from ._numbers import mean_and_half
from .claims import TABLE_2
from .curves import panels_of
from .displays import SCORES, Display, column_name, display_of, in_order
from .quantities import Lead, Where, at, cells_of, plain
from .result_table import ResultTable
from .statistics import Interval, interval, runs_needed

__all__ = ["experiment_blocks", "unfinished"]


def experiment_blocks(results: ResultTable, styles: dict[str, Style]) -> list[Block]:
    """Show one experiment: what it is, how far it is, its curves and tables."""
    display = display_of(results)
    title = str(results.about.get("title") or results.name)
    blocks: list[Block] = [Heading(2, title, f"experiment-{results.name}")]
    blocks += [*_about(results, display), *_status(results, display)]
    data = in_order(results.names("data"), display.data)
    methods = in_order(results.names("method"), display.methods)
    for score in display.scores:
        label = SCORES.get(score, (score, None))[0]
        blocks.append(Heading(3, label[:1].upper() + label[1:]))
        blocks += _curves(results, display, score, data, methods, styles)
        for name in data:
            blocks += _tables(results, display, score, name, methods)
    blocks += _descent(results, data, methods, styles)
    if results.name == "law2005-teachers":
        blocks += _table_2(results)
    if not display.scores:
        blocks.append(Note("No cell has a score yet."))
    return blocks


def _about(results: ResultTable, display: Display) -> list[Block]:
    """Say whose experiment it is, its protocol, and how to make it again."""
    about = results.about
    paper = display.paper or str(about.get("paper") or "No paper named")
    versions = about.get("versions") or {}
    told = ", ".join(f"{name} {version}" for name, version in versions.items()) or "unknown"
    blocks: list[Block] = [
        Text(f"{paper}. {display.protocol}".strip()),
        Text(_protocol(results)),
    ]
    notes = _parameters(results).get("notes") or about.get("notes")
    if notes:
        blocks.append(Text(str(notes)))
    command = about.get("command") or f"linkfield experiment run {results.name}"
    command = " ".join(command) if isinstance(command, list) else str(command)
    when = about.get("finished")
    blocks.append(
        Text(
            f"Regenerate with `{command}`; seed {about.get('seed', 'unknown')}; {told}"
            + (f"; finished {when}." if when else "."),
            "soft",
        )
    )
    return blocks


def _parameters(results: ResultTable) -> dict[str, Any]:
    found = results.about.get("protocol")
    return found if isinstance(found, dict) else {}


def _protocol(results: ResultTable) -> str:
    """Say what was run, by the table itself, and the parameters that the table cannot show."""
    runs, folds = results.numbers("run"), results.numbers("fold")
    counts = ", ".join(plain(x) for x in results.numbers("constraints"))
    noise = ", ".join(f"{100 * x:g}%" for x in results.numbers("noise"))
    size = f"{_many(len(runs), 'run')} of {_many(len(folds), 'fold')}"
    text = f"Run here: {size}, constraints {counts}, noise {noise}."
    shown = {"data", "methods", "constraints", "noise", "runs", "folds", "folds_run", "notes"}
    more = {k: v for k, v in _parameters(results).items() if k not in shown and v is not None}
    listed = "; ".join(
        f"{key} = {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in more.items()
    )
    return f"{text} Also: {listed}." if listed else text


def unfinished(results: ResultTable) -> str:
    """Say how much of an experiment is there, if it is not finished; else nothing."""
    if results.expected is not None and results.n_cells < results.expected:
        return f"Unfinished: {results.n_cells} of {results.expected} cells."
    if results.about and not results.about.get("finished"):
        return f"Unfinished, or stopped before the end was recorded: {results.n_cells} cells."
    return ""


def _many(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _status(results: ResultTable, display: Display) -> list[Block]:
    """Warn of what is missing: the JSON file, cells, folds, runs, values."""
    notes = list(results.notes)
    if not results.about:
        notes.append(
            f"There is no {results.name}.json: seed, versions and the number of cells are unknown."
        )
    elif results.expected is None:
        notes.append("The JSON file does not say how many cells there are to be.")
    elif results.n_cells > results.expected:
        notes.append(f"More cells than planned: {results.n_cells}, not {results.expected}.")
    if unfinished(results):
        notes.append(unfinished(results))
    runs = len(results.numbers("run"))
    if runs < runs_needed(1):
        notes.append(
            f"Few runs: {runs}; no test can show anything with fewer than {runs_needed(1)}."
        )
    elif runs < display.runs:
        notes.append(f"Fewer runs than the paper: {runs} here, {display.runs} there.")
    score = display.scores[0] if display.scores else ""
    if score:
        empty = int(np.isnan(results.values[score]).sum())
        if empty:
            notes.append(
                f"{empty} of {results.n_cells} cells have no `{score}` (the method gave no "
                "answer); their runs are left out of means and tests."
            )
    return [Note(note) for note in notes]


def _curves(
    results: ResultTable,
    display: Display,
    score: str,
    data: list[str],
    methods: list[str],
    styles: dict[str, Style],
) -> list[Block]:
    panels = panels_of(results, score, data, methods)
    if not panels:
        return [Note("No run is complete yet, so there is nothing to draw.")]
    label = SCORES.get(score, (score, None))[0]
    name = f"{results.name}-{score.replace('_', '-')}"
    if score == "recovered":
        label = "share recovered"
    look: dict[str, Any] = {"ylabel": label, "xlabel": display.axis, "log": score == "seconds"}
    picture = LearningCurveDisplay(panels, styles, **look)
    caption = (
        f"{results.name}: {label}, mean and 95% interval over runs, against {display.axis} "
        "(linear up to the first number, then logarithmic). "
        f"Source: `{results.file.name}`, column `{column_name(score)}`."
    )
    return [Figure(name, caption, as_svg(picture, name), as_png(picture))]


def _descent(
    results: ResultTable, data: list[str], methods: list[str], styles: dict[str, Style]
) -> list[Block]:
    """Draw how the objective falls from step to step, where the experiment wrote it down."""
    panels = descent_panels(results, data, methods)
    if not panels:
        return []
    name = f"{results.name}-descent"
    look: dict[str, Any] = {"ylabel": "relative to the first", "xlabel": "iteration", "log": False}
    picture = LearningCurveDisplay(panels, styles, **look)
    caption = (
        f"{results.name}: values after each iteration, divided by the first, mean and 95% interval "
        f"over runs, all constraints. Source: `{results.file.name}`, columns `*_after_*`."
    )
    return [
        Heading(3, "Descent, step by step"),
        Figure(name, caption, as_svg(picture, name), as_png(picture)),
    ]


def _tables(
    results: ResultTable, display: Display, score: str, data: str, methods: list[str]
) -> list[Block]:
    """Tabulate means of one data set, one table for each noise."""
    more = SCORES.get(score, (score, None))[1]
    tables: list[Block] = []
    noises = results.numbers("noise", data=data)
    for noise in noises:
        counts = results.numbers("constraints", data=data, noise=noise)
        lines: list[tuple[str, list[Interval]]] = []
        for method in methods:
            cells = cells_of(Where(results, data, score, noise), method)
            place = {float(c): i for i, c in enumerate(cells.counts)}
            none = Interval(np.nan, np.nan, 0)
            spans = [interval(cells.values[:, place[c]]) if c in place else none for c in counts]
            if any(span.n for span in spans):
                lines.append((method, spans))
        if not lines:
            continue
        runs = sorted({span.n for _, spans in lines for span in spans})
        means = np.array([[span.mean for span in spans] for _, spans in lines])
        what = f"{data}, {100 * noise:g}% wrong" if len(noises) > 1 else data
        tables.append(
            Table(
                [f"{what} / {display.axis}", *(plain(c) for c in counts)],
                [[m, *(_entry(span, score) for span in spans)] for m, spans in lines],
                f"From `{results.file.name}`, rows with data = `{data}`, noise = {plain(noise)}: "
                f"column `{column_name(score)}`, {_how(score, runs)}",
                strong=_best(means, more),
                folded=f"Table: {what}",
            )
        )
    return tables


def _entry(span: Interval, score: str) -> str:
    """Write one entry of a table; a share of runs as a count."""
    if score == "recovered":
        return f"{round(span.mean * span.n)} of {span.n}" if span.n else "–"
    return mean_and_half(span, score)


def _how(score: str, runs: list[int]) -> str:
    """Say how the entries of a table were worked out."""
    if score == "recovered":
        return "number of runs. Best in bold."
    best = "" if SCORES.get(score, (score, None))[1] is None else " Best in bold."
    return (
        "averaged over folds, then mean ± half-width of the 95% interval over "
        f"{_range(runs)} runs.{best}"
    )


def _range(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _best(means: Any, more: bool | None) -> frozenset[tuple[int, int]]:
    """Mark the best of each column, unless neither more nor less is better."""
    if more is None:
        return frozenset()
    signed = np.where(np.isnan(means), -np.inf, means if more else -means)
    top = signed.max(axis=0, initial=-np.inf)
    best = np.isfinite(signed) & (signed >= top - 5e-4 * (1 if more else 0))
    return frozenset((int(i), int(j) + 1) for i, j in np.argwhere(best))


def _table_2(results: ResultTable) -> list[Block]:
    """Put Table 2 of Law et al. beside the same figures of ours."""
    methods = {"H": "hard", "S": "soft", "P": "posterior"}
    rows = []
    for (data, share), printed in TABLE_2.items():
        where = Where(results, data, "accuracy", None)
        row = [f"{data}, {plain(share)}%"]
        for (_, method), paper in zip(methods.items(), printed[:3], strict=True):
            gain = Lead(method, "none", at(share)).per_run(where).values
            span = interval(100 * gain)
            ours = f"{span.mean:.1f} ± {span.half_width:.1f}" if span.n > 1 else "–"
            row += [f"{paper:.1f}", ours]
        for other, paper in zip(("hard", "soft"), printed[3:], strict=True):
            lead = Lead("posterior", other, at(share)).per_run(where).values
            lead = lead[np.isfinite(lead)]
            row += [f"{paper:.0f} of 10", f"{int((lead >= -1e-12).sum())} of {lead.size}"]
        rows.append(row)
    header = ["data set, rows in constraints"]
    for name in (*methods, "P ≥ H", "P ≥ S"):
        header += [f"{name}, paper", f"{name}, here"]
    footer = (
        f"From `{results.file.name}`, column `accuracy`: 100 × (method - none) in the same run, "
        "rows with the data set and `constraints` = the per cent of its line, mean ± half-width of "
        "the 95% interval; the last columns count runs."
    )
    return [
        Heading(3, "Table 2 of the paper: gain in accuracy, in per cent"),
        Table(header, rows, footer),
    ]
