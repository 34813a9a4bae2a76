"""``linkfield fit``: from a file to clusters, a model, and a report, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._estimators import ESTIMATORS, OPTIONS
from ._folder import output_folder
from ._help import GroupedCommand, option
from ._preparation import SCALES
from ._progress import teller
from ._summary import output, print_json, summary

__all__ = ["fit"]

_FILE = click.Path(path_type=Path)
_READ, _KNOW, _HOW, _OUT = "Reading", "What you know", "The fit", "Output"


def _listed(_: Any, __: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    """Split the values of an option that is repeated, or holds commas."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def _starts(_: Any, __: Any, value: str | None) -> int | str | None:
    """Read a number of starts, or "auto"."""
    if value is None or value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither a number nor 'auto'") from None


def _closure(_: Any, __: Any, value: str | None) -> str | bool | None:
    return {"true": True, "false": False}.get(value, value) if value else None


@click.command(cls=GroupedCommand, no_args_is_help=True)
@click.argument("data", type=_FILE)
@option(_READ, "--id-column", metavar="NAME",
        help="The column that names the rows; without it they are 0, 1, 2, ...")  # fmt: skip
@option(_READ, "--columns", metavar="A,B,...", multiple=True, callback=_listed,
        help="The columns to cluster by. Default: all that hold numbers.")  # fmt: skip
@option(_READ, "--exclude", metavar="A,B,...", multiple=True, callback=_listed,
        help="Columns to leave out.")  # fmt: skip
@option(_READ, "--text-column", metavar="NAME",
        help="Cluster the texts in this column (TF-IDF, cosine).")  # fmt: skip
@option(_READ, "--svd", type=click.IntRange(1), metavar="N",
        help="Keep N directions of the texts (truncated SVD).")  # fmt: skip
@option(_READ, "--stop-words", type=click.Choice(["none", "english"]), default="none",
        show_default=True, help="Words of the texts to leave out.")  # fmt: skip
@option(_READ, "--words", type=click.IntRange(1), default=20_000, show_default=True,
        help="Words of the texts at most.")  # fmt: skip
@option(_READ, "--embedding-column", metavar="NAME",
        help="Cluster the lists of numbers in this column (cosine).")  # fmt: skip
@option(_READ, "--scale", type=click.Choice(SCALES), default="auto", show_default=True,
        help="'auto' standardises columns of a table whose spreads differ more than tenfold."
)  # fmt: skip
@option(_READ, "--dtype", type=click.Choice(["float64", "float32"]), default="float64",
        show_default=True, help="float32 takes half the memory.")  # fmt: skip
@option(_KNOW, "--clusters", "-k", type=click.IntRange(1), metavar="K",
        help="How many clusters. Default: the number of classes in --label-column.")  # fmt: skip
@option(_KNOW, "--label-column", metavar="NAME",
        help="Labels of some rows; empty where they are unknown.")  # fmt: skip
@option(_KNOW, "--constraints", "-c", type=_FILE, multiple=True, metavar="FILE",
        help="Pairs: columns a, b, kind (must or cannot), weight. By row id; may be repeated."
)  # fmt: skip
@option(_KNOW, "--groups", type=_FILE, metavar="FILE",
        help="Groups by teachers, for --estimator mixture.")  # fmt: skip
@option(_KNOW, "--allow-contradictions", is_flag=True,
        help="Go on where constraints contradict each other.")  # fmt: skip
@option(_HOW, "--estimator", "-e", type=click.Choice(list(ESTIMATORS), case_sensitive=False),
        default="hmrf", show_default=True, help="See below.")  # fmt: skip
@option(_HOW, "--distortion", metavar="NAME",
        help="euclidean, cosine, correlation, i-divergence, kl, itakura-saito, logistic."
)  # fmt: skip
@option(_HOW, "--metric", metavar="NAME",
        help="What is learned: auto, identity (nothing), diagonal, full, diagonal-per-cluster, "
             "full-per-cluster.")  # fmt: skip
@option(_HOW, "--inference", metavar="NAME",
        help="How tied rows are labelled: icm, auto, bp, lp, mean-field, exact.")  # fmt: skip
@option(_HOW, "--penalty", metavar="NAME", help="hmrf, mpc2003 or potts.")
@option(_HOW, "--weight", type=float, metavar="W",
        help="Factor on all constraint weights; inf makes them hard. Default: 1.")  # fmt: skip
@option(_HOW, "--closure", type=click.Choice(["auto", "true", "false"]), callback=_closure,
        help="false takes only the pairs as given, for noisy constraints. Default: auto."
)  # fmt: skip
@option(_HOW, "--starts", metavar="N", callback=_starts, help="Number of starts, or auto.")
@option(_HOW, "--max-iter", type=click.IntRange(1), metavar="N", help="Iterations at most.")
@option(_HOW, "--certify", is_flag=True, help="Bound how far the labels are from the best ones.")
@option(_HOW, "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True,
        help="The same seed gives the same clusters.")  # fmt: skip
@option(_HOW, "--jobs", type=int, metavar="N", help="Threads. Default: all cores.")
@option(_HOW, "--set", "extra", multiple=True, metavar="NAME=VALUE",
        help="Any other parameter of the estimator, such as tol=1e-6; may be repeated."
)  # fmt: skip
@option(_OUT, "--out", "-o", type=_FILE, default=Path("linkfield-out"), show_default=True,
        help="The folder to write; an earlier output in it is replaced when all is done."
)  # fmt: skip
@option(_OUT, "--force", is_flag=True, help="Write into a folder that holds other things, too.")
@option(_OUT, "--no-report", is_flag=True, help="Leave report.html out.")
@option(_OUT, "--quiet", "-q", is_flag=True, help="Say nothing but errors.")
@option(_OUT, "--json", "as_json", is_flag=True, help="Print run.json instead of the summary.")
def fit(data: Path, out: Path, force: bool, quiet: bool, as_json: bool, **options: Any) -> None:
    """Cluster the rows of a file by what you know.

    DATA is CSV, TSV, JSON lines (each also with .gz), Parquet, NPY, NPZ or svmlight. The folder
    --out gets labels.csv, model.skops, violations.csv, report.html and run.json.

    \b
    Example: linkfield fit customers.csv --id-column customer --clusters 4
             linkfield fit iris.csv --label-column species
             linkfield fit mails.jsonl --text-column body -k 20 -c pairs.csv --svd 100
    """  # noqa: D301
    from ._fitting import run_fit
    from ._request import Request

    parameters = {name: options.pop(name) for name in OPTIONS}
    options["stop_words"] = None if options["stop_words"] == "none" else options["stop_words"]
    options["report"] = not options.pop("no_report")
    request = Request(data=data, parameters=parameters, **options)
    tell = teller(quiet)
    try:
        with output_folder(out, force=force, names=request.names, inputs=request.inputs) as folder:
            run = run_fit(request, tell, folder)
    except KeyboardInterrupt:
        click.echo("stopped; nothing was written", err=True)
        raise click.exceptions.Exit(130) from None
    if as_json:
        print_json(run)
    elif not quiet:
        summary(run, out, output())


fit.epilog = "\b\nEstimators:\n" + "\n".join(
    f"  {name:<12} {told}" for name, (_, told) in ESTIMATORS.items()
)
