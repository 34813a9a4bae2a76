"""What a fit came to, on stdout: a table for people, JSON for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

__all__ = ["output", "print_json", "summary"]

#: More clusters than this are not listed one by one.
MOST = 20


def output() -> Console:
    """Return the console of stdout; where no window cuts lines off, they are long."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


def print_json(content: dict[str, Any]) -> None:
    """Print a record as JSON, and nothing else."""
    click.echo(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def summary(run: dict[str, Any], out: Path, console: Console) -> None:
    """Print what came out of a fit, and where it is."""
    result = run["result"]
    console.print()
    console.print(_clusters(result["clusters"]))
    if len(result["clusters"]) > MOST:
        console.print(f"and {len(result['clusters']) - MOST} smaller ones", highlight=False)
    console.print()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, text in _facts(run):
        facts.add_row(name, escape(text))
    facts.add_row("written to", escape(f"{out}/: {', '.join(run['files'])}"))
    console.print(facts, highlight=False)


def _clusters(clusters: list[dict[str, Any]]) -> Table:
    total = max(sum(cluster["rows"] for cluster in clusters), 1)
    named = any(cluster.get("label") for cluster in clusters)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("cluster", *(("label",) if named else ()), "rows", "share"):
        table.add_column(name, justify="left" if name == "label" else "right")
    shown = clusters
    if len(clusters) > MOST:
        shown = sorted(clusters, key=lambda cluster: -cluster["rows"])[:MOST]
    for cluster in shown:
        cells = [str(cluster["cluster"])]
        cells += [escape(cluster.get("label", ""))] if named else []
        table.add_row(*cells, f"{cluster['rows']:,}", f"{cluster['rows'] / total:.0%}")
    return table


def _facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines below the table."""
    result, given = run["result"], run["input"]
    settled = "" if result["converged"] else ", not settled"
    lines = [
        (
            "fit",
            f"{run['parameters']['estimator']}, objective {result['objective']:.6g} after "
            f"{result['iterations']} iterations{settled}",
        )
    ]
    if run["preparation"]["scale"] != "none":
        lines.append(("scaling", _scaling(run["preparation"])))
    if "metric" in result:
        lines.append(("metric", _metric(result)))
    if given["must_links"] + given["cannot_links"]:
        labelled = f"{given['labelled_rows']:,} labelled rows: " if given["labelled_rows"] else ""
        if labelled and given["constraints"]:
            labelled = labelled.replace(":", " and pairs:")
        lines.append(
            (
                "known",
                f"{labelled}{given['must_links']:,} must-links and {given['cannot_links']:,} "
                f"cannot-links, {result['violations']:,} violated",
            )
        )
    if "lower_bound" in result:
        lines.append(("bound", f"no labels give an objective below {result['lower_bound']:.6g}"))
    if result.get("suspects"):
        lines.append(("suspects", f"{result['suspects']:,} memberships look wrong"))
    seconds = run["seconds"]
    took = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items() if value >= 0.05)
    lines.append(("time", took or "no time at all"))
    return lines


def _scaling(preparation: dict[str, Any]) -> str:
    chosen = " (chosen: the spreads of the columns differ)"
    auto = preparation["asked"] == "auto" and preparation["scale"] != "none"
    return f"{preparation['scale']}{chosen if auto else ''}"


def _metric(result: dict[str, Any]) -> str:
    """Return the kind of metric, and how it was chosen."""
    choice = result.get("metric_choice")
    if not choice:
        return str(result["metric"])
    kept = ", ".join(f"{line['metric']} {line['kept']:.0%}" for line in choice)
    return f"{result['metric']} (pairs kept that a fit had not seen: {kept})"
