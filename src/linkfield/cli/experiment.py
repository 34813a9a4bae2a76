"""``linkfield experiment``: the papers' experiments, run and reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ._mistakes import Mistake, said

if TYPE_CHECKING:
    from ..experiments.runner import Progress as Report

__all__ = ["experiment"]


_out = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("results"),
    show_default=True,
    help="The folder of the results.",
)


@click.group()
def experiment() -> None:
    """Run the papers' experiments and report on them.

    \b
    Example: linkfield experiment run basu2003 --quick
             linkfield experiment report
    """  # noqa: D301


@experiment.command("list")
def list_() -> None:
    """List the experiments.

    Example: linkfield experiment list
    """
    from .. import experiments

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "paper", "title", "cells"):
        table.add_column(column, justify="right" if column == "cells" else "left")
    for name in experiments.names():
        found = experiments.get(name)
        cells = sum(1 for _ in found.cells())
        table.add_row(name, found.paper, found.title, f"{cells:,}")
    console = Console()
    if not console.is_terminal:  # nobody's window: no line need be cut
        console = Console(width=200)
    console.print(table)


@experiment.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--runs", type=click.IntRange(1), default=None,
              help="How many runs, if not the protocol's number; more can be added.")  # fmt: skip
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True,
              help="Processes; each fits with one thread.")  # fmt: skip
@click.option("--quick", is_flag=True, help="The variant of a few seconds.")
@_out
@click.option("--data", type=click.Path(path_type=Path), default=None,
              help="The folder of the data files, else that of LINKFIELD_DATA.")  # fmt: skip
def run(
    names: tuple[str, ...],
    runs: int | None,
    workers: int,
    quick: bool,
    out: Path,
    data: Path | None,
) -> None:
    """Run experiments by NAME, or ``all`` of them whose data is there.

    What has been run is not run again: the same command goes on where it was stopped, and more
    --runs add to those that are there.

    \b
    Example: linkfield experiment run basu2003 --workers 2 --data path/to/data
             linkfield experiment run all --quick --out results-quick
    """  # noqa: D301
    from .. import experiments

    known = experiments.names()
    unknown = [name for name in names if name not in (*known, "all")]
    if unknown:
        raise Mistake(
            f"there is no experiment {unknown[0]!r}; there are {', '.join(known)}, and 'all'"
        )
    whatever = "all" in names
    chosen = known if whatever else dict.fromkeys(names)
    for name in chosen:
        try:
            with _progress(name) as report:
                path = experiments.run(
                    name, out, runs=runs, workers=workers, quick=quick, data_dir=data,
                    progress=report,
                )  # fmt: skip
        except KeyboardInterrupt:
            click.echo(f"{name}: stopped; the same command goes on from here", err=True)
            raise click.exceptions.Exit(130) from None
        except (OSError, ValueError) as error:
            if whatever and isinstance(error, experiments.MissingDataError):
                click.echo(f"{name}: left out; {said(error)}", err=True)
                continue
            if getattr(error, "__notes__", None):  # a fit failed: not the user's mistake
                raise
            raise Mistake(f"{name}: {said(error)}") from None
        click.echo(f"{path}")


@contextmanager
def _progress(name: str) -> Iterator[Report]:
    """Show how far an experiment is: a bar on a terminal, else a line for every tenth."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(name)
        return
    left = TimeRemainingColumn(elapsed_when_finished=True)
    words = [TextColumn(f"{{task.{field}}}") for field in ("description", "fields[what]")]
    with Progress(
        words[0], BarColumn(), MofNCompleteColumn(), left, words[1], console=console
    ) as bars:
        bar = bars.add_task(name, total=None, what="")

        def report(done: int, total: int, what: str) -> None:
            bars.update(bar, completed=done, total=total, what="" if done == total else what)

        yield report


class _Lines:
    """Prints how many cells are finished, at the start and for every tenth of them."""

    def __init__(self, name: str) -> None:
        self.name, self.tenth = name, -1

    def __call__(self, done: int, total: int, what: str) -> None:
        tenth = 10 * done // max(total, 1)
        if tenth > self.tenth:
            self.tenth = tenth
            click.echo(f"{self.name}: {done:,} of {total:,} cells", err=True)


@experiment.command()
@_out
def report(out: Path) -> None:
    """Write the report: every claim of the papers beside what was measured.

    Example: linkfield experiment report --out results
    """
    if not out.is_dir():
        raise Mistake(f"the folder {out} does not exist; run experiments first, or change --out")
    write_report = import_module("linkfield.experiments.report").write_report
    try:
        written = write_report(out)
    except (OSError, ValueError) as error:
        raise Mistake(said(error)) from None
    for path in written if isinstance(written, list | tuple) else [written]:
        click.echo(f"{path}")
