"""Groups to files: CSV, Parquet and JSON lines, one membership a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..constraints import Groups
from .files import format_of
from .tables import check_folder, check_names, write_table

__all__ = ["write_groups"]


def write_groups(groups: Groups, path: str | os.PathLike[str]) -> None:
    """Write groups to a file; :func:`read_groups` reads them back.

    A file of that name is replaced only when the new one is complete. Pairs of groups that are
    apart stand behind the memberships, with their certainty as ``confidence``.

    Parameters
    ----------
    groups : Groups
    path : path
        Its ending says what to write, see :func:`read_constraints`. Ids must be all whole numbers
        or all text; in JSON lines they may be mixed. Teachers and labels are text in CSV files.
    """
    file = Path(path)
    check_folder(file)
    columns = groups._columns()
    check_names(file, columns["row"])
    for name in ("teacher", "label"):
        if all(v is None for v in columns[name]):
            del columns[name]
        elif format_of(file)[0] == "parquet":
            columns[name] = _of_one_kind(columns[name])
    write_table(_with_apart(columns, groups), file)


def _with_apart(columns: dict[str, list[Any]], groups: Groups) -> dict[str, list[Any]]:
    """Add a line for every pair of groups that are apart, if there are any."""
    if not len(groups.apart):
        return columns
    a, b = groups.apart.T.tolist()
    links = {"group": a, "apart": b, "confidence": groups.apart_certainty.tolist()}
    wider = {
        "group": columns["group"],
        "row": columns["row"],
        "apart": [None] * len(columns["row"]),
    }
    wider |= columns
    return {name: column + links.get(name, [None] * len(a)) for name, column in wider.items()}


def _of_one_kind(column: list[Any]) -> list[Any]:
    """Return values that one column of a table can hold: all text where they differ in kind."""
    kinds = {type(v) for v in column if v is not None}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return column
    return [None if v is None else str(v) for v in column]
