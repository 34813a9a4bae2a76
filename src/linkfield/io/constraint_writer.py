"""Constraints to files: CSV, Parquet and JSON lines, one pair a line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ..constraints import Constraints
from .files import DELIMITERS, format_of, need_pyarrow, replacing

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
    form, packed = format_of(file)
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent}; make it first")
    columns = constraints._columns()
    _check_names(file, columns["a"] + columns["b"], form)
    if form == "parquet":
        need_pyarrow()
    with replacing(file) as raw:
        if form == "parquet":
            _write_parquet(constraints, raw)
            return
        with _packing(raw, packed) as stream:
            if form == "json":
                _write_json(columns, stream)
            else:
                _write_csv(columns, stream, DELIMITERS[form])


def _check_names(file: Path, names: list[Any], form: str) -> None:
    """Refuse ids that would come back as something else."""
    text = [v for v in names if isinstance(v, str)]
    for v in names:
        if isinstance(v, bool) or not isinstance(v, str | int):
            raise ValueError(f"{file}: ids must be whole numbers or text; found {v!r}")
    if form != "json" and 0 < len(text) < len(names):
        raise ValueError(f"{file}: some ids are numbers and some text; write a .jsonl file instead")
    if not all(v.strip() for v in text):
        raise ValueError(f"{file}: an id is empty or blank, which a file cannot hold; rename it")


@contextmanager
def _packing(raw: BinaryIO, packed: bool) -> Iterator[TextIO]:
    """Write text to an open file, compressed or not."""
    # Neither name nor time go into the file: equal constraints give equal bytes.
    binary: Any = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if packed else raw
    with io.TextIOWrapper(binary, encoding="utf-8", newline="") as stream:
        yield stream


def _write_csv(columns: dict[str, list[Any]], stream: TextIO, delimiter: str) -> None:
    # The csv module puts text with a line end in quotes, but knows only its own line end.
    returns = any("\r" in str(v) for column in columns.values() for v in column)
    writer = csv.writer(
        stream,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
    )
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))


def _write_json(columns: dict[str, list[Any]], stream: TextIO) -> None:
    if not columns["a"]:
        stream.write("\n")  # a file without a byte would look like one that was never written
    for values in zip(*columns.values(), strict=True):
        line = dict(zip(columns, values, strict=True))
        if math.isinf(line["weight"]):
            line["weight"] = "inf"  # JSON has no infinity
        if line.get("source", "") is None:
            del line["source"]
        stream.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def _write_parquet(constraints: Constraints, raw: BinaryIO) -> None:
    import pyarrow.parquet as pq

    pq.write_table(constraints.to_frame(backend="pyarrow"), raw)
