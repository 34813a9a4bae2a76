"""Constraints from files: CSV, Parquet and JSON lines, one pair a line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TextIO

import numpy as np

from ..constraints import Constraints, readable
from ..constraints._assembly import assembled
from ..constraints._normal import as_ids
from ..constraints.frames import KINDS
from .files import DELIMITERS, format_of, need_pyarrow

__all__ = ["read_constraints"]

_REQUIRED = ("a", "b", "kind")
# Only numbers that are written back the same: "007" and "+7" are names.
_WHOLE = re.compile(r"\s*(0|-?[1-9][0-9]{0,30})\s*", re.ASCII)

#: A line of a file: its number and the values by column.
_Line = tuple[int, dict[str, Any]]


def read_constraints(
    path: str | os.PathLike[str], *, sample_id: Any = None, merge: str = "max"
) -> Constraints:
    """Read constraints from a file.

    Parameters
    ----------
    path : path
        The ending says what the file is: CSV (``.csv``, or ``.tsv`` with tabs), JSON lines
        (``.jsonl``, ``.ndjson``), each also with ``.gz`` after it, or Parquet (``.parquet``, which
        needs pyarrow). Text is UTF-8. Columns, or keys, ``a``, ``b`` and ``kind`` ("must" or
        "cannot"), optional ``weight`` ("inf" makes the pair hard) and ``source``; others are
        ignored.
    sample_id : sequence, optional
        The id of every row; ``a`` and ``b`` are then ids. See :class:`linkfield.Constraints`.
    merge : {"max", "sum"}, default="max"
        What the weight of a pair given several times is.

    Returns
    -------
    Constraints

    Notes
    -----
    A CSV file holds text only. If every value in its columns ``a`` and ``b`` is a whole number
    ("7", not "007" or "7.0") all of them are integers, and row positions unless ``sample_id`` is
    given; otherwise, or if ``sample_id`` holds text, all of them stay text, which is an id.
    JSON lines and Parquet say themselves which is which. An empty source is no source.
    """
    file = Path(path)
    form, packed = format_of(file)
    ids = None if sample_id is None else as_ids(sample_id)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}; check the path")
    if form == "parquet":
        return _read_parquet(file, ids, merge)
    with _reading(file, packed) as stream:
        if form == "json":
            lines = list(_json_lines(file, stream))
        else:
            lines = list(_csv_lines(file, stream, DELIMITERS[form]))
    if form != "json" and not (ids is not None and any(isinstance(v, str) for v in ids)):
        _make_whole(lines)
    return _constraints(file, lines, ids, merge)


def _fail(file: Path, line: int, what: str) -> NoReturn:
    raise ValueError(f"{file}, line {line}: {what}")


def _binary(file: Path, packed: bool) -> Any:
    return gzip.open(file, "rb") if packed else file.open("rb")


@contextmanager
def _reading(file: Path, packed: bool) -> Iterator[TextIO]:
    """Open a text file, compressed or not, and say clearly what is wrong with its bytes."""
    try:
        with _binary(file, packed) as raw:
            if not raw.peek(1):
                raise ValueError(f"{file} is empty; it needs the columns a, b, kind")
            # A byte order mark, as spreadsheets write it, is no part of the first column's name.
            with io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{file} is not a whole gzip file ({error}); write it again") from None


def _csv_lines(file: Path, stream: TextIO, delimiter: str) -> Iterator[_Line]:
    """Read the lines of a CSV file by the names in its first line."""
    reader = csv.reader(stream, delimiter=delimiter)
    header: list[str] = []
    try:
        for values in reader:
            if not values:
                continue
            if not header:
                header = _header(file, reader.line_num, values)
            elif len(values) != len(header):
                _fail(
                    file,
                    reader.line_num,
                    f"{len(values)} values where the header has {len(header)} columns; put text "
                    "with a delimiter in quotes",
                )
            else:
                yield reader.line_num, dict(zip(header, values, strict=True))
    except csv.Error as error:
        _fail(file, reader.line_num, f"{error}; check the quotes")
    if not header:
        raise ValueError(f"{file} is empty; it needs the columns a, b, kind")


def _header(file: Path, line: int, values: Sequence[str]) -> list[str]:
    names = [v.strip() for v in values]
    missing = [c for c in _REQUIRED if c not in names]
    if missing:
        _fail(
            file,
            line,
            f"the header lacks the column {readable(missing)}; it needs a, b, kind and may have "
            f"weight, source (it has {readable(names, 10)})",
        )
    double = [c for c in (*_REQUIRED, "weight", "source") if names.count(c) > 1]
    if double:
        _fail(file, line, f"the header has the column {readable(double)} twice; rename one")
    return names


def _json_lines(file: Path, stream: TextIO) -> Iterator[_Line]:
    """Read one JSON object a line; blank lines do not count."""
    for number, text in enumerate(stream, 1):
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except ValueError as error:
            reason = getattr(error, "msg", error)
            _fail(file, number, f"not JSON ({reason}); write one object a line")
        if not isinstance(values, dict):
            _fail(file, number, f"a JSON {type(values).__name__}; write one object a line")
        missing = [c for c in _REQUIRED if c not in values]
        if missing:
            _fail(file, number, f"lacks the key {readable(missing)}; it needs a, b, kind")
        yield number, values


def _make_whole(lines: list[_Line]) -> None:
    """Turn the ends of all pairs into integers if every one of them is a whole number."""
    ends = ("a", "b")
    if all(_WHOLE.fullmatch(values[c]) for _, values in lines for c in ends):
        for _, values in lines:
            for c in ends:
                values[c] = int(values[c])


def _constraints(file: Path, lines: list[_Line], ids: Any, merge: str) -> Constraints:
    """Check every line by itself, then make the constraints as any others are made."""
    links: tuple[list[Any], list[Any]] = ([], [])
    weights: tuple[list[float], list[float]] = ([], [])
    sources: tuple[list[Any], list[Any]] = ([], [])
    for number, values in lines:
        part = 0 if _is_must(file, number, values["kind"]) else 1
        links[part].append(tuple(_end(file, number, c, values[c]) for c in ("a", "b")))
        weights[part].append(_weight(file, number, values.get("weight", 1.0)))
        sources[part].append(_source(file, number, values.get("source")))
    source = np.empty(len(lines), dtype=object)
    source[:] = sources[0] + sources[1]
    try:
        parts = assembled(links, weights, ids)
        return object.__new__(Constraints)._set(merge=merge, source=source, **parts)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None


def _is_must(file: Path, line: int, kind: Any) -> bool:
    must = KINDS.get(str(kind).strip().lower())
    if must is None:
        _fail(file, line, f"kind must be 'must' or 'cannot'; found {kind!r}")
    return must


def _end(file: Path, line: int, column: str, value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        _fail(file, line, f"{column} must be a whole number or text; found {value!r}")
    if isinstance(value, str) and not value.strip():
        _fail(file, line, f"{column} is empty; give a row position or an id")
    return value


def _weight(file: Path, line: int, value: Any) -> float:
    try:
        weight = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not weight > 0:
        _fail(file, line, f"weight must be a positive number or inf; found {value!r}")
    return weight


def _source(file: Path, line: int, value: Any) -> Any:
    if value is not None and not isinstance(value, str | int | float):
        _fail(file, line, f"source must be text or a number; found {value!r}")
    return None if value == "" else value


def _read_parquet(file: Path, ids: Any, merge: str) -> Constraints:
    need_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.stat().st_size == 0:
        raise ValueError(f"{file} is empty; it needs the columns a, b, kind")
    try:
        with pq.ParquetFile(file) as opened:
            table = opened.read()
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{file} is not a Parquet file ({reason}); write it again") from None
    try:
        return Constraints.from_frame(table, merge=merge, sample_id=ids)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{file}: {error}") from None
