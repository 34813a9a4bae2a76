"""``linkfield evaluate``: clusters against known classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ._estimators import as_json as plain
from ._help import GroupedCommand, option
from ._mistakes import Mistake, mistakes
from ._outputs import Clusters, read_classes, read_clusters, read_record
from ._summary import output, print_json

__all__ = ["evaluate"]

_FILE = click.Path(path_type=Path)

#: A table of more classes or clusters than this is not printed.
MOST = 20


@click.command(cls=GroupedCommand, no_args_is_help=True)
@click.argument("labels", type=_FILE)
@click.argument("truth", type=_FILE)
@option("Reading", "--label-column", metavar="NAME", default="label", show_default=True,
        help="The classes in TRUTH.")  # fmt: skip
@option("Reading", "--id-column", metavar="NAME",
        help="The ids in TRUTH. Default: the id column of the fit, else 'id'.")  # fmt: skip
@option("Reading", "--no-ids", is_flag=True, help="The rows of TRUTH are 0, 1, 2, ...")
@option("Constraints", "--constraints", "-c", type=_FILE, metavar="FILE",
        help="Pairs to check. Default: those of the output folder.")  # fmt: skip
@option("Constraints", "--exclude-constrained", is_flag=True,
        help="Score only rows outside the constraints, and whose label was not given.")  # fmt: skip
@option("Output", "--json", "as_json", is_flag=True, help="Print the scores as JSON.")
def evaluate(
    labels: Path,
    truth: Path,
    label_column: str,
    id_column: str | None,
    no_ids: bool,
    constraints: Path | None,
    exclude_constrained: bool,
    as_json: bool,
) -> None:
    """Score clusters against known classes, row by row id.

    LABELS is a folder that `linkfield fit` wrote, or a table with the columns id and cluster. TRUTH
    is any table with ids and classes, for instance the data itself; rows without a class do not
    count.

    \b
    Example: linkfield evaluate linkfield-out iris.csv --label-column species
             linkfield evaluate labels.csv truth.csv -c pairs.csv --exclude-constrained --json
    """  # noqa: D301
    folder = labels if labels.is_dir() else None
    with mistakes(reading=True):
        found = read_clusters(labels)
        run = {} if folder is None else read_record(folder)
        column = id_column or run.get("input", {}).get("id_column") or (None if run else "id")
        classes = read_classes(truth, None if no_ids else column, label_column)
        joined = _joined(found, classes, truth)
        pairs = _pairs(constraints, folder, found.ids)
        told = _told(pairs, folder, found.ids)
    if exclude_constrained and not len(told):
        raise Mistake("--exclude-constrained: there are no constraints; name them with -c FILE")
    scores = _scores(found, joined, told, exclude_constrained)
    scores["warnings"] = [] if folder is None else _doubts(folder, label_column)
    for line in scores["warnings"]:
        click.echo(f"note: {line}", err=True)
    if pairs is not None:
        scores["constraints"] = _satisfaction(pairs, found.cluster)
    if as_json:
        print_json(plain(scores))
    else:
        _show(scores, output())


# ------------------------------------------------------------------- reading


def _joined(found: Clusters, classes: dict[str, Any], truth: Path) -> list[Any]:
    """Return the class of every row of the clusters, None where it is not known."""
    joined = [classes.get(i) for i in found.ids.tolist()]
    if all(c is None for c in joined):
        raise Mistake(
            f"no row of the clusters has a class in {truth} (ids like {found.ids[0]!r}, and there "
            f"like {next(iter(classes), '')!r}); say --id-column, or --no-ids for row numbers"
        )
    return joined


def _pairs(given: Path | None, folder: Path | None, ids: Any) -> Any:
    """Read the constraints, by id; those of the folder if none are given."""
    from ..io import read_constraints

    file = given
    if folder is not None and given is None:
        kept = [folder / f"constraints.{ending}" for ending in ("csv", "jsonl")]
        file = next((path for path in kept if path.exists()), None)
    return None if file is None else read_constraints(file, sample_id=ids)


def _told(pairs: Any, folder: Path | None, ids: Any) -> NDArray[np.int64]:
    """Return the rows that constraints name, or whose label the fit was given."""
    rows = [] if pairs is None else [pairs.tied_rows()]
    file = None if folder is None else folder / "known_labels.csv"
    if file is not None and file.exists():
        given = read_classes(file, "id", "label")
        rows.append(np.flatnonzero([i in given for i in ids.tolist()]))
    return np.unique(np.concatenate(rows)).astype(np.int64) if rows else np.empty(0, np.int64)


def _doubts(folder: Path, label_column: str) -> list[str]:
    """Say if the clusters were made from the very classes that they are scored by."""
    from ..io import read_about

    try:
        columns = read_about(folder / "model.skops").get("columns") or []
    except (OSError, ValueError):
        return []  # the clusters can be scored without their model
    if label_column not in columns:
        return []
    return [
        f"the fit clustered by a column {label_column!r}, too; if these are the classes, the "
        f"scores mean nothing: fit again with --exclude {label_column}"
    ]


# ------------------------------------------------------------------- scoring


def _scores(
    found: Clusters, classes: list[Any], told: NDArray[np.int64], exclude: bool
) -> dict[str, Any]:
    """Return all scores of the rows that have a class, those that the fit was told of or not."""
    from ..evaluation import (
        adjusted_rand,
        clustering_accuracy,
        contingency,
        normalized_mutual_info,
        pairwise_f_score,
        pairwise_precision_recall,
    )

    use = np.array([c is not None for c in classes])
    n_known = int(use.sum())
    n_told = int(use[told].sum())
    if exclude:
        use[told] = False
        if not use.any():
            raise Mistake("every row with a class is in a constraint; leave --exclude-constrained")
    true = np.array([str(c) for c, wanted in zip(classes, use, strict=True) if wanted], object)
    pred = found.cluster[use]
    table = contingency(true, pred)
    precision, recall = pairwise_precision_recall(true, pred)
    counts = table.table if isinstance(table.table, np.ndarray) else table.table.toarray()
    return {
        "rows": int(use.sum()),
        "rows_without_class": len(use) - n_known,
        "rows_excluded": n_known - int(use.sum()),
        "rows_told": 0 if exclude else n_told,
        "pairwise_f": pairwise_f_score(true, pred),
        "pairwise_precision": precision,
        "pairwise_recall": recall,
        "nmi": normalized_mutual_info(true, pred),
        "ari": adjusted_rand(true, pred),
        "accuracy": clustering_accuracy(true, pred),
        "contingency": {
            "classes": list(table.classes),
            "clusters": list(table.clusters),
            "table": counts.tolist(),
        },
    }


def _satisfaction(pairs: Any, cluster: NDArray[np.int64]) -> dict[str, Any]:
    from ..evaluation import constraint_satisfaction

    kept = constraint_satisfaction(pairs, cluster)
    return {
        "must_links": kept.n_must_link,
        "must_links_kept": kept.must_link,
        "cannot_links": kept.n_cannot_link,
        "cannot_links_kept": kept.cannot_link,
        "kept": kept.overall,
    }


# ------------------------------------------------------------------- showing


def _show(scores: dict[str, Any], console: Console) -> None:
    """Print scores and the table of classes by clusters."""
    left = [f"{scores['rows']:,} rows scored"]
    for key, why in (("rows_without_class", "have no class"), ("rows_excluded", "left out")):
        if scores[key]:
            left.append(f"{scores[key]:,} {why}")
    console.print("\n" + ", ".join(left), highlight=False)
    if scores["rows_told"]:
        console.print(
            f"of these, {scores['rows_told']:,} were labelled or in constraints of the fit; "
            "--exclude-constrained leaves them out",
            highlight=False,
        )
    facts = Table(box=None, pad_edge=False, show_header=False)
    facts.add_column(style="bold")
    facts.add_column(justify="right")
    for key, name in (
        ("pairwise_f", "pairwise F"),
        ("nmi", "normalised mutual information"),
        ("ari", "adjusted Rand index"),
        ("accuracy", "accuracy"),
    ):
        facts.add_row(name, f"{scores[key]:.3f}")
    known = scores.get("constraints", {})
    for kind in ("must", "cannot"):
        if known.get(f"{kind}_links"):
            share = f"{known[f'{kind}_links_kept']:.1%} of {known[f'{kind}_links']:,}"
            facts.add_row(f"{kind}-links kept", share)
    console.print(facts, highlight=False)
    table = scores["contingency"]
    if max(len(table["classes"]), len(table["clusters"])) > MOST:
        console.print("the table of classes by clusters is in --json", highlight=False)
        return
    console.print("\nrows by class and cluster", highlight=False)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("")
    for cluster in table["clusters"]:
        grid.add_column(str(cluster), justify="right")
    for name, line in zip(table["classes"], table["table"], strict=True):
        grid.add_row(escape(str(name)), *(f"{n:,}" if n else "·" for n in line))
    console.print(grid, highlight=False)
