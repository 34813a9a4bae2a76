"""Constraints to files: CSV, Parquet and JSON lines, one pair a line."""

from __future__ import annotations

import os
from pathlib import Path

from ..constraints import Constraints
from .tables import check_folder, check_names, write_table

__all__ = ["write_constraints"]


def write_constraints(constraints: Constraints, path: str | os.PathLike[str]) -> None:
    """Write constraints to a file; :func:`read_constraints` reads them back.

    A file of that name is replaced only when the new one is complete. Pairs that labels entail are
    written out, with the source "labels".

    Parameters
    ----------
    constraints : Constraints
    path : path
        Its ending says what to write, see :func:`read_constraints`. Ids must be all whole numbers
        or all text; in JSON lines they may be mixed. To get the same row positions back from ids,
        pass the same ``sample_id`` when reading.
    """
    file = Path(path)
    check_folder(file)
    columns = constraints._columns()
    check_names(file, columns["a"] + columns["b"])
    write_table(columns, file)
