"""``linkfield constraints``: files of constraints looked over, mended, completed and drawn."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._constraint_words import as_json, busy, counted, lines_of_links, say, say_check
from ._mistakes import Mistake, mistakes, said

if TYPE_CHECKING:
    from ..constraints import Constraints

__all__ = ["constraints"]

_FILE = click.Path(path_type=Path)

_file = click.argument("file", type=_FILE)
_out = click.option("--out", type=_FILE, required=True, help="The file to write.")
_force = click.option("--force", is_flag=True, help="Replace files that are there.")
_json = click.option("--json", "machine", is_flag=True, help="The answer as one JSON object.")
_quiet = click.option("--quiet", "-q", is_flag=True, help="Say nothing.")
_merge = click.option(
    "--merge", type=click.Choice(["max", "sum"]), default="max", show_default=True,
    help="The weight of a pair given several times: once (max), or once an annotator (sum).",
)  # fmt: skip
_seconds = click.option(
    "--time-limit", type=click.FloatRange(0), default=30.0, metavar="SECONDS",
    show_default=True, help="For the cheapest repair, and again for the number of clusters.",
)  # fmt: skip


@click.group()
def constraints() -> None:
    """Look files of constraints over, mend them, complete them, draw them from labels.

    A file has the columns a, b and kind ("must" or "cannot"), and may have weight ("inf" is hard),
    source, and any others: CSV, TSV, JSON lines or Parquet, by its ending.

    \b
    Example: linkfield constraints check pairs.csv --clusters 5
             linkfield constraints repair pairs.csv --out mended.csv
    """  # noqa: D301


# --------------------------------------------------------------------- check


@constraints.command(short_help="Say what contradicts what, and what would mend it.")
@_file
@click.option("--clusters", "-k", type=click.IntRange(1), metavar="K",
              help="Can so many clusters satisfy all of it?")  # fmt: skip
@click.option("--data", type=_FILE, help="The rows: are all the ids in there?")
@click.option("--id-column", metavar="NAME", help="The column of ids in --data.")
@click.option("--show", type=click.IntRange(0), default=10, show_default=True, metavar="N",
              help="How many contradictions and dropped pairs are listed.")  # fmt: skip
@_merge
@_seconds
@_json
@_quiet
def check(
    file: Path,
    clusters: int | None,
    data: Path | None,
    id_column: str | None,
    show: int,
    merge: str,
    time_limit: float,
    machine: bool,
    quiet: bool,
) -> None:
    """Say what contradicts what in FILE, through which chain, and what would mend it.

    Also how many clusters the constraints need, and with --clusters whether K can satisfy them
    (what the cheapest repair leaves of them, if they contradict each other).

    Exit code 0: all is well. 1: contradictions, or K clusters are impossible. 2: bad input.

    \b
    Example: linkfield constraints check pairs.csv --clusters 5
             linkfield constraints check pairs.csv --data rows.csv --id-column id
    """  # noqa: D301
    from ..constraints import check_constraints

    if id_column is not None and data is None:
        raise Mistake("--id-column names a column of --data; say which file that is")
    with busy(f"reading {file}", quiet):
        known = _known(file, merge, data, id_column, clusters)
    with busy(f"looking {file} over", quiet):
        found = check_constraints(known, clusters, max_conflicts=show, time_limit=time_limit)
    if machine:
        conflicts = [asdict(c) | {"text": str(c)} for c in found.conflicts]
        answer = asdict(found) | {"conflicts": conflicts, "fine": found.fine}
        click.echo(json.dumps(as_json({"file": str(file), **answer}), default=str))
    elif not quiet:
        say_check(found, str(file), show)
    if not found.fine:
        raise click.exceptions.Exit(1)


def _known(
    file: Path, merge: str, data: Path | None, id_column: str | None, clusters: int | None
) -> Constraints:
    """Read constraints, and hold them against the rows if there are any."""
    from ..io import read_constraints

    with mistakes(reading=True):
        if data is None:
            return read_constraints(file, merge=merge)
        ids, n_rows = _rows_of(data, id_column)
        if clusters is not None and clusters > n_rows:
            raise Mistake(f"--clusters {clusters} is more than the {n_rows:,} rows of {data}")
        if ids is None:
            found = read_constraints(file, merge=merge)
            if found.sample_id is not None:
                names = ", ".join(repr(v) for v in found.sample_id[:3])
                raise Mistake(
                    f"{file} names rows by ids ({names}, ...); say which column of {data} holds "
                    "them with --id-column"
                )
            found.check_rows(n_rows)
            return found
        try:
            return read_constraints(file, merge=merge, sample_id=ids)
        except ValueError as error:
            if "does not have" not in str(error):
                raise
            told = f"{said(error)}; correct them, or --id-column {id_column}"
            raise Mistake(told) from None


def _rows_of(data: Path, id_column: str | None) -> tuple[Any, int]:
    """Return the ids of a file's rows, None where they have none, and their number."""
    rows = _read(data, id_column, None)
    return rows.sample_id, rows.n_rows


def _read(data: Path, id_column: str | None, label_column: str | None) -> Any:
    """Read ids and labels; of a table nothing else, whatever its other columns hold."""
    from ..io import read_data

    return read_data(data, columns=(), id_column=id_column, label_column=label_column)


def _refuse_existing(force: bool, *targets: Path | None) -> None:
    """Refuse to write over what is there: data, or pairs that somebody made by hand."""
    for target in targets:
        if target is not None and target.exists() and not force:
            raise Mistake(f"{target} is there already; choose another name, or say --force")


def _holds_arrays(data: Path) -> bool:
    """Say whether a file is of a format that has no columns with names."""
    from ..io.files import format_of

    return format_of(data, arrays=True)[0] in ("npy", "npz", "svmlight")


# -------------------------------------------------------------------- repair


@constraints.command(short_help="Write the file without its cheapest contradictions.")
@_file
@_out
@_force
@click.option("--dropped", type=_FILE, help="A file for what is left out.")
@_merge
@_seconds
@_json
@_quiet
def repair(
    file: Path,
    out: Path,
    force: bool,
    dropped: Path | None,
    merge: str,
    time_limit: float,
    machine: bool,
    quiet: bool,
) -> None:
    """Write FILE without its cheapest contradictions: all columns, all other lines, in order.

    What is left out has the least total weight that leaves no contradiction. How many clusters
    the rest needs is another matter: see check --clusters.

    \b
    Example: linkfield constraints repair pairs.csv --out mended.csv
             linkfield constraints repair pairs.csv --out mended.csv --dropped dropped.csv
    """  # noqa: D301
    from ..constraints.conflicts import links_of
    from ..io.constraint_lines import read_constraint_lines
    from ..io.files import format_of, need_folder

    if dropped is not None and dropped.resolve() == out.resolve():
        raise Mistake("--out and --dropped are the same file; give them two names")
    _refuse_existing(force, out, dropped)
    with mistakes():  # both at first: it is both files, or none
        for target in (out, dropped):
            if target is not None:
                need_folder(target)
                format_of(target)
    with busy(f"reading {file}", quiet), mistakes(reading=True):
        lines = read_constraint_lines(file, merge=merge)
    with busy("looking for the cheapest repair", quiet):
        mended = lines.constraints.repair(time_limit=time_limit)
    gone = lines.among(mended.dropped)
    with mistakes():
        fresh = dropped is not None and not dropped.exists()
        if dropped is not None:
            lines.write(gone, dropped)
        try:
            lines.write(~gone, out)
        except BaseException:
            if dropped is not None and fresh:
                dropped.unlink(missing_ok=True)
            raise
    links = links_of(mended.dropped)
    if machine:
        answer = {
            "file": str(file), "out": str(out), "dropped_file": dropped and str(dropped),
            "n_kept": int((~gone).sum()), "n_dropped": len(links), "cost": mended.cost,
            "proven": mended.proven, "dropped": [asdict(link) for link in links],
        }  # fmt: skip
        click.echo(json.dumps(as_json(answer), default=str))
    elif not quiet:
        _say_repaired(links, mended.cost, mended.proven)
        say(f"{out}: {counted(int((~gone).sum()), 'line')} kept")
        if dropped is not None:
            say(f"{dropped}: {counted(int(gone.sum()), 'line')} left out")


def _say_repaired(links: list[Any], cost: float, proven: bool) -> None:
    if not links:
        say("nothing contradicts anything; nothing was left out", "green")
        return
    total = "hard ones among them" if cost == float("inf") else f"total weight {cost:g}"
    proof = "no cheaper way exists" if proven else "a cheaper way may exist: raise --time-limit"
    say(f"left out {counted(len(links), 'pair')}, {total} ({proof}):", "yellow")
    for line in lines_of_links(links[:10], "  "):
        say(line)
    if len(links) > 10:
        say(f"  and {len(links) - 10:,} more; --dropped FILE has all of them", "dim")


# --------------------------------------------------------------------- close


@constraints.command(short_help="Write all that the constraints entail.")
@_file
@_out
@_force
@click.option("--limit", type=click.IntRange(0), default=1_000_000, show_default=True,
              metavar="N", help="Refuse to write more pairs than this.")  # fmt: skip
@_merge
@_json
@_quiet
def close(
    file: Path, out: Path, force: bool, limit: int, merge: str, machine: bool, quiet: bool
) -> None:
    """Write all that the constraints of FILE entail, pair by pair.

    If a-b and b-c are must-links, so is a-c; if further c-d is a cannot-link, so are a-d and b-d.
    Such pairs have the source "entailed" and weight 1. A fit needs no such file: it entails by
    itself, without listing pairs.

    \b
    Example: linkfield constraints close pairs.csv --out closed.csv
    """  # noqa: D301
    from ..io import read_constraints, write_constraints

    _refuse_existing(force, out)
    with mistakes(reading=True):
        known = read_constraints(file, merge=merge)
    closure = known.closure()
    if closure.contradictory.any():
        raise Mistake(
            f"{file} contradicts itself: {known.conflicts(limit=1)[0]}; mend it with linkfield "
            f"constraints repair {file} --out FILE"
        )
    total = closure.n_must_link + closure.n_cannot_link
    if total > limit:
        raise Mistake(
            f"{file} entails {total:,} pairs, more than --limit {limit:,}; raise --limit, or let "
            "the fit entail them, which lists none"
        )
    full = closure.pairs(max(total, 1), source="entailed")
    with mistakes():
        write_constraints(full, out)
    given = known.n_must_link + known.n_cannot_link
    if machine:
        answer = {"file": str(file), "out": str(out), "n_given": given, "n_entailed": total - given,
                  "n_must_link": full.n_must_link, "n_cannot_link": full.n_cannot_link}  # fmt: skip
        click.echo(json.dumps(answer))
    elif not quiet:
        say(f"{out}: {counted(given, 'pair')} as given, {total - given:,} entailed "
            f"({counted(full.n_must_link, 'must-link')}, "
            f"{counted(full.n_cannot_link, 'cannot-link')})")  # fmt: skip


# -------------------------------------------------------------------- sample


@constraints.command(short_help="Draw pairs from the labels of some rows.")
@click.argument("data", type=_FILE)
@click.option("--label-column", metavar="NAME",
              help="The column of the labels; svmlight has them in front.")  # fmt: skip
@click.option("--pairs", type=click.IntRange(0), required=True, metavar="N",
              help="How many pairs of labelled rows.")  # fmt: skip
@click.option("--noise", type=click.FloatRange(0, 1), default=0.0, show_default=True, metavar="P",
              help="Probability with which a pair is turned into the other kind.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S",
              help="Another seed draws other pairs.")  # fmt: skip
@click.option("--id-column", metavar="NAME",
              help="The column of ids; without it, rows are called 0, 1, 2, ...")  # fmt: skip
@_out
@_force
@_json
@_quiet
def sample(
    data: Path,
    label_column: str | None,
    pairs: int,
    noise: float,
    seed: int,
    id_column: str | None,
    out: Path,
    force: bool,
    machine: bool,
    quiet: bool,
) -> None:
    """Draw pairs of labelled rows of DATA: must-links within a class, cannot-links between two.

    Every pair of labelled rows is as likely as any other; rows without a label are left alone.

    \b
    Example: linkfield constraints sample rows.csv --label-column kind \\
                 --pairs 100 --out pairs.csv
             linkfield constraints sample rows.csv --label-column kind \\
                 --id-column name --pairs 100 --noise 0.1 --out pairs.csv
    """  # noqa: D301
    from ..constraints import Constraints
    from ..io import write_constraints

    _refuse_existing(force, out)
    with busy(f"reading {data}", quiet), mistakes(reading=True):
        if label_column is None and not _holds_arrays(data):
            raise Mistake(f"which column of {data} holds the labels? Say --label-column NAME")
        rows = _read(data, id_column, label_column)
    if rows.labels is None:
        raise Mistake(f"{data} holds no labels; name them with --label-column, or take a table")
    labels = rows.labels.tolist()
    labelled = sum(label is not None for label in labels)
    available = labelled * (labelled - 1) // 2
    if pairs > available:
        raise Mistake(
            f"--pairs {pairs:,} is more than the {available:,} pairs of the {labelled:,} labelled "
            f"rows of {data}; ask for fewer"
        )
    drawn = Constraints.from_labels(
        labels, n_pairs=pairs, noise=noise, random_state=seed, sample_id=rows.sample_id
    )
    with mistakes():
        write_constraints(drawn, out)
    if machine:
        answer = {"file": str(data), "out": str(out), "n_must_link": drawn.n_must_link,
                  "n_cannot_link": drawn.n_cannot_link, "seed": seed, "noise": noise}  # fmt: skip
        click.echo(json.dumps(answer))
    elif not quiet:
        say(f"{out}: {counted(drawn.n_must_link, 'must-link')}, "
            f"{counted(drawn.n_cannot_link, 'cannot-link')}")  # fmt: skip
