"""``linkfield predict``: new rows into the clusters of a fitted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

from ._help import GroupedCommand, option
from ._mistakes import Mistake, mistakes
from ._outputs import check_width, load_model
from ._progress import Teller, teller
from ._reading import check_ids, read_like
from ._summary import output, print_json

__all__ = ["predict"]

_FILE = click.Path(path_type=Path)


@click.command(cls=GroupedCommand, no_args_is_help=True)
@click.argument("model", type=_FILE)
@click.argument("data", type=_FILE)
@option("Reading", "--id-column", metavar="NAME",
        help="The column that names the rows, if its name is not that of the fit.")  # fmt: skip
@option("Reading", "--no-ids", is_flag=True, help="Name the rows 0, 1, 2, ...")
@option("Output", "--out", "-o", type=_FILE, default=Path("labels.csv"), show_default=True,
        help="The file to write (.csv or .tsv).")  # fmt: skip
@option("Output", "--force", is_flag=True, help="Replace a file that holds something else.")
@option("Output", "--quiet", "-q", is_flag=True, help="Say nothing but errors.")
@option("Output", "--json", "as_json", is_flag=True, help="Print what was done as JSON.")
def predict(
    model: Path,
    data: Path,
    id_column: str | None,
    no_ids: bool,
    out: Path,
    force: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Put the rows of DATA into the clusters of a fitted model.

    MODEL is a folder that `linkfield fit` wrote, or a model.skops. DATA needs the columns that the
    model was made with, in any order. The table has id, cluster, probability and distance;
    constraints play no part in it.

    \b
    Example: linkfield predict linkfield-out new-customers.csv --out new-labels.csv
    """  # noqa: D301
    tell = teller(quiet)
    _check_out(out, force)
    with tell.stage("model", f"loading {model}"), mistakes(reading=True):
        loaded, about = load_model(model)
    if no_ids:
        about["id_column"] = None
    elif id_column is not None:
        about["id_column"] = id_column
    with tell.stage("read", f"reading {data}"), mistakes(reading=True):
        rows = read_like(data, about)
        check_ids(rows)
    with tell.stage("predict", "finding the clusters"), mistakes():
        sizes = _write(loaded, rows, about, out)
    done = _record(model, data, out, sizes, about, tell)
    if as_json:
        print_json(done)
    elif not quiet:
        console = output()
        shown = ", ".join(f"{k}: {n:,}" for k, n in enumerate(sizes))
        console.print(f"{int(sizes.sum()):,} rows ({shown})", highlight=False)
        console.print(f"written to {out}", highlight=False, markup=False)


def _check_out(out: Path, force: bool) -> None:
    """Refuse to overwrite something that is no table of labels."""
    from ._labels import HEADER

    if out.suffix not in (".csv", ".tsv"):
        raise Mistake(f"--out {out}: the table is written as .csv or .tsv; change the ending")
    if out.is_dir():
        raise Mistake(f"--out {out} is a folder; give the name of a file")
    if not out.parent.is_dir():
        raise Mistake(f"there is no folder {out.parent}; make it first, or change --out")
    if force or not out.exists():
        return
    with mistakes(reading=True), out.open("rb") as raw:
        first = raw.readline(200).decode("utf-8", "replace").strip()
    if not first.replace("\t", ",").startswith(",".join(HEADER)):
        raise Mistake(f"--out {out} holds something else; choose another name, or say --force")


def _write(model: Any, data: Any, about: dict[str, Any], out: Path) -> Any:
    """Write the table; return how many rows every cluster got."""
    from ..io.files import replacing
    from ._labels import Members, memberships, write_labels
    from ._preparation import through

    steps = list(getattr(model, "steps", [("cluster", model)]))
    estimator, before = steps[-1][1], steps[:-1]
    X = data.X if data.texts is None else np.array(data.texts, dtype=object)
    if data.texts is None:
        check_width(steps[0][1], X, about)
    K = len(getattr(estimator, "cluster_centers_", getattr(estimator, "means_", ())))
    sizes = np.zeros(K, dtype=np.int64)

    def counted() -> Iterator[Members]:
        for part in memberships(estimator, X, prepare=lambda rows: through(before, rows)):
            np.add.at(sizes, part.cluster, 1)
            yield part

    names = about.get("cluster_names")
    delimiter = "\t" if out.suffix == ".tsv" else ","
    with replacing(out) as raw:
        write_labels(raw, counted(), data.sample_id, names, delimiter=delimiter)
    return sizes


def _record(
    model: Path, data: Path, out: Path, sizes: Any, about: dict[str, Any], tell: Teller
) -> dict[str, Any]:
    names = about.get("cluster_names")
    return {
        "program": "linkfield predict",
        "model": str(model),
        "data": str(data),
        "out": str(out),
        "rows": int(sizes.sum()),
        "clusters": [
            {"cluster": k, "rows": int(n)} | ({"label": names[k]} if names else {})
            for k, n in enumerate(sizes)
        ],
        "seconds": {name: round(value, 3) for name, value in tell.seconds.items()},
        "warnings": tell.notes,
    }
