"""``linkfield bench``: linkfield beside scikit-learn, timed on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ._help import GroupedCommand, option
from ._mistakes import Mistake, mistakes

if TYPE_CHECKING:
    from ..bench.report import Report
    from ..bench.side_by_side import Given, Result

__all__ = ["bench"]

_FILE = click.Path(path_type=Path)
_SIZES = ["small", "medium", "large"]


class _Size(click.Choice[str]):
    """The sizes that are offered, and the tiny one of the tests."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        return "tiny" if value == "tiny" else super().convert(value, param, ctx)


@click.command(cls=GroupedCommand)
@option("What is timed", "--size", type=_Size(_SIZES), default="small", show_default=True,
        help="Made-up rows: 50,000, 100,000, or up to a million, and texts.")  # fmt: skip
@option("What is timed", "--rounds", type=click.IntRange(1), default=3, show_default=True,
        metavar="N", help="How often everything is timed, in turn.")  # fmt: skip
@option("What is timed", "--peers/--no-peers", default=True, show_default=True,
        help="Other packages as well, where they are installed.")  # fmt: skip
@option("Your own rows", "--data", type=_FILE, metavar="FILE", help="Rows instead of made-up ones.")
@option("Your own rows", "--clusters", "-k", type=click.IntRange(1), metavar="K",
        help="Number of clusters. Default: that of the classes.")  # fmt: skip
@option("Your own rows", "--label-column", metavar="NAME",
        help="Classes, from which pairs are drawn. Default: the clusters of k-means.")  # fmt: skip
@option("Your own rows", "--id-column", metavar="NAME", help="A column that is no feature.")
@option("Your own rows", "--embedding-column", metavar="NAME", help="A column of vectors.")
@option("Your own rows", "--exclude", metavar="NAME", multiple=True,
        help="A column to leave out; may be repeated.")  # fmt: skip
@option("Output", "--json", "machine", is_flag=True, help="Print the figures as one JSON object.")
@option("Output", "--out", type=_FILE, metavar="FILE.md", help="Write the report as Markdown.")
@option("Output", "--quiet", "-q", is_flag=True, help="No progress.")
def bench(
    size: str,
    rounds: int,
    peers: bool,
    data: Path | None,
    clusters: int | None,
    label_column: str | None,
    id_column: str | None,
    embedding_column: str | None,
    exclude: tuple[str, ...],
    machine: bool,
    out: Path | None,
    quiet: bool,
) -> None:
    """Time linkfield beside scikit-learn's KMeans: the same rows, one run, in turn.

    An iteration and a whole fit of HMRFKMeans, which learns a metric meanwhile, without pairs and
    with 10,000 and 100,000 of them, as ratios to scikit-learn's lloyd.

    \b
    Example: linkfield bench
             linkfield bench --size medium --rounds 7 --out bench.md
             linkfield bench --data rows.csv --label-column kind
    """  # noqa: D301
    from ..bench.report import benchmark
    from ..bench.side_by_side import SIZES

    if data is None and (clusters or label_column or id_column or embedding_column or exclude):
        raise Mistake("--clusters and columns are for rows of your own; name their file by --data")
    if out is not None:
        _check_out(out)
    cases: Any = SIZES[size]
    if data is not None:
        cases = [_given(data, clusters, id_column, label_column, embedding_column, exclude)]
    with _telling(quiet) as tell:
        report = benchmark(cases, rounds, peers=peers, progress=tell)
    if out is not None:
        from ..io.files import replacing

        with mistakes(), replacing(out) as raw:
            raw.write(report.markdown().encode())
    if machine:
        click.echo(json.dumps(report.as_dict(), allow_nan=False))
    else:
        _show(report)
        if out is not None:
            click.echo(f"written to {out}")


def _check_out(out: Path) -> None:
    """Find out before the timing, not after it, that a file cannot be written."""
    if not out.parent.is_dir():
        raise Mistake(f"there is no folder {out.parent}; make it, or change --out")
    if out.is_dir():
        raise Mistake(f"{out} is a folder; give --out the name of a file")


def _given(
    data: Path,
    clusters: int | None,
    id_column: str | None,
    label_column: str | None,
    embedding_column: str | None,
    exclude: tuple[str, ...],
) -> Given:
    """Read the user's rows; classes are numbered, rows without one count as one more class."""
    from ..bench.side_by_side import Given
    from ..constraints.labels import labelled_rows
    from ..io import read_data

    with mistakes(reading=True):
        rows = read_data(
            data, id_column=id_column, label_column=label_column,
            embedding_column=embedding_column, exclude=exclude, dtype=None,
        )  # fmt: skip
    import numpy as np

    y = None
    if rows.labels is not None:
        known, codes, classes = labelled_rows(rows.labels.tolist())
        y = np.full(rows.n_rows, len(classes))
        y[known] = codes
        clusters = clusters or max(len(classes), 1)
    if clusters is None:
        raise Mistake("how many clusters? Say --clusters K, or name classes by --label-column")
    if clusters > rows.n_rows:
        raise Mistake(f"--clusters {clusters} is more than the {rows.n_rows:,} rows of {data}")
    return Given(data.name, rows.X, clusters, y)


@contextmanager
def _telling(quiet: bool) -> Iterator[Callable[[str], None]]:
    """Say what is being timed: in one line that changes on a terminal, else line by line."""
    console = Console(stderr=True)
    if quiet:
        yield lambda what: None
    elif console.is_terminal:
        with console.status("starting") as status:
            yield lambda what: status.update(Text(what))
    else:
        yield lambda what: click.echo(f"... {what}", err=True)


# -------------------------------------------------------------------- showing


def _show(report: Report) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:  # nobody's window: no line need be cut
        console = Console(highlight=False, width=120)
    for result in report.results:
        console.print(_table(result))
        console.print()
    if report.peers:
        console.print(_peer_table(report))
        console.print()
    for line in report.notes():
        console.print(Text(line), soft_wrap=True)


def _table(result: Result) -> Table:
    from ..bench.report import cells

    table = Table(title=Text(result.data, style="bold"), title_justify="left", box=None,
                  pad_edge=False, header_style="dim")  # fmt: skip
    for name in ("", "iteration", "ratio", "whole fit", "ratio"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for line in result.lines:
        ours = line.candidate.startswith("linkfield")
        table.add_row(*cells(line)[:5], style="cyan" if ours else "")
    return table


def _peer_table(report: Report) -> Table:
    from ..bench.report import peer_cells

    title = Text("a fit of 3,000 x 16, K 10, with 1,000 pairs", style="bold")
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name in ("package", "method", "a fit", "ARI", ""):
        table.add_column(name, justify="right" if name in ("a fit", "ARI") else "left")
    for peer in report.peers:
        table.add_row(*peer_cells(peer))
    return table
