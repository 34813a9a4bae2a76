"""Tables in files: CSV, JSON lines and Parquet, read by line and written whole."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TextIO

from ..constraints import readable
from ..constraints.frames import Layout
from .files import (
    DELIMITERS,
    check_there,
    format_of,
    need_folder,
    need_pyarrow,
    replacing,
)

__all__ = [
    "Line",
    "binary",
    "check_folder",
    "check_names",
    "csv_rows",
    "fail",
    "is_whole",
    "json_objects",
    "make_whole",
    "name_value",
    "opened_parquet",
    "read_lines",
    "read_parquet",
    "reading",
    "said_value",
    "write_table",
]

# Only numbers that are written back the same: "007" and "+7" are names.
_WHOLE = re.compile(r"\s*(0|-?[1-9][0-9]{0,30})\s*", re.ASCII)

#: A line of a file: its number and the values by column.
Line = tuple[int, dict[str, Any]]


# --------------------------------------------------------------- reading


def fail(file: Path, line: int, what: str) -> NoReturn:
    """Raise, naming the file and the line."""
    raise ValueError(f"{file}, line {line}: {what}")


def read_lines(file: Path, layout: Layout) -> tuple[list[Line], bool]:
    """Return the lines of a file, and whether its values are text only (CSV)."""
    form, packed = format_of(file)
    check_there(file)
    if form == "parquet":
        table = read_parquet(file, layout)
        if layout.missing(table.column_names):
            raise ValueError(f"{file}: the table {layout.lacks(table.column_names)}")
        return list(enumerate(table.to_pylist(), 1)), False
    with reading(file, packed, f"it needs the columns {layout}") as stream:
        if form == "json":
            return list(_json_lines(file, stream, layout)), False
        return list(_csv_lines(file, stream, DELIMITERS[form], layout)), True


def read_parquet(file: Path, layout: Layout) -> Any:
    """Return a Parquet file as a table of pyarrow."""
    with opened_parquet(file, f"it needs the columns {layout}") as opened:
        return opened.read()


@contextmanager
def opened_parquet(file: Path, needs: str, **options: Any) -> Iterator[Any]:
    """Open a Parquet file, and say clearly what is wrong with its bytes."""
    check_there(file)
    need_pyarrow()
    import pyarrow as pa
    import pyarrow.parquet as pq

    if file.stat().st_size == 0:
        raise ValueError(f"{file} is empty; {needs}")
    try:
        with pq.ParquetFile(file, **options) as opened:
            yield opened
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{file} is not a Parquet file ({reason}); write it again") from None


def binary(file: Path, packed: bool) -> Any:
    """Open a file, compressed or not, for its bytes."""
    return gzip.open(file, "rb") if packed else file.open("rb")


@contextmanager
def reading(file: Path, packed: bool, needs: str, errors: str = "strict") -> Iterator[TextIO]:
    """Open a text file, compressed or not, and say clearly what is wrong with its bytes."""
    try:
        with binary(file, packed) as raw:
            if not raw.peek(1):
                raise ValueError(f"{file} is empty; {needs}")
            # A byte order mark, as spreadsheets write it, is no part of the first column's name.
            with io.TextIOWrapper(raw, encoding="utf-8-sig", errors=errors, newline="") as stream:
                yield stream
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{file} is not a whole gzip file ({error}); write it again") from None


#: The longest cell, where the csv module takes 131,072 characters if it is not told otherwise.
_LONGEST_CELL = 2**31 - 1


class _LongCells:
    """While files are read, in any thread, cells may be long; the limit is the whole process's."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.readers = 0
        self.limit = 0

    def __enter__(self) -> None:
        with self.lock:
            if not self.readers:
                self.limit = csv.field_size_limit()
                csv.field_size_limit(max(self.limit, _LONGEST_CELL))
            self.readers += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.readers -= 1
            if not self.readers:
                csv.field_size_limit(self.limit)


_long_cells = _LongCells()


def csv_rows(file: Path, stream: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Read the lines of a CSV file, its header first; blank lines do not count."""
    # Strict: a quote that is never closed would swallow the rest of the file.
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
    width = 0
    try:
        with _long_cells:
            for values in reader:
                if not values:
                    continue
                width = width or len(values)
                if len(values) != width:
                    fail(
                        file,
                        reader.line_num,
                        f"{len(values)} values where the header has {width} columns; put text "
                        "with a delimiter in quotes",
                    )
                yield reader.line_num, values
    except csv.Error as error:
        fail(file, reader.line_num, f"{error}; check the quotes")


def _csv_lines(file: Path, stream: TextIO, delimiter: str, layout: Layout) -> Iterator[Line]:
    """Read the lines of a CSV file by the names in its first line."""
    rows = csv_rows(file, stream, delimiter)
    first = next(rows, None)
    if first is None:
        raise ValueError(f"{file} is empty; it needs the columns {layout}")
    header = _header(file, *first, layout)
    for number, values in rows:
        yield number, dict(zip(header, values, strict=True))


def _header(file: Path, line: int, values: Sequence[str], layout: Layout) -> list[str]:
    names = [v.strip() for v in values]
    if layout.missing(names):
        fail(file, line, f"the header {layout.lacks(names)}")
    double = [c for c in layout.columns if names.count(c) > 1]
    if double:
        fail(file, line, f"the header has the column {readable(double)} twice; rename one")
    return names


def json_objects(file: Path, stream: TextIO) -> Iterator[Line]:
    """Read one JSON object a line; blank lines do not count."""
    for number, text in enumerate(stream, 1):
        if not text.strip():
            continue
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            fail(file, number, f"not JSON ({reason}); write one object a line")
        if not isinstance(values, dict):
            fail(file, number, f"a JSON {type(values).__name__}; write one object a line")
        yield number, values


def _json_lines(file: Path, stream: TextIO, layout: Layout) -> Iterator[Line]:
    """Read objects that have the keys of a layout."""
    for number, values in json_objects(file, stream):
        missing = layout.missing(values)
        if missing:
            fail(file, number, f"lacks the key {readable(missing)}; it needs {layout}")
        yield number, values


def is_whole(text: str) -> bool:
    """Whether text is a whole number that is written back the same."""
    return _WHOLE.fullmatch(text) is not None


def make_whole(lines: list[Line], columns: Sequence[str]) -> None:
    """Turn the values of some columns into integers if every one of them is a whole number."""
    found = [(values, c) for _, values in lines for c in columns if values.get(c, "").strip()]
    if all(is_whole(values[c]) for values, c in found):
        for values, c in found:
            values[c] = int(values[c])


def name_value(file: Path, line: int, column: str, value: Any, what: str) -> int | str:
    """Check a value that names a row, or a group: a whole number or text."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        fail(file, line, f"{column} must be a whole number or text; found {value!r}")
    if isinstance(value, str) and not value.strip():
        fail(file, line, f"{column} is empty; give {what}")
    return value


def said_value(file: Path, line: int, column: str, value: Any) -> Any:
    """Check a value that is there for people only: text or a number; empty text is None."""
    if value is not None and not isinstance(value, str | int | float):
        fail(file, line, f"{column} must be text or a number; found {value!r}")
    return None if value == "" else value


# --------------------------------------------------------------- writing


def check_folder(file: Path) -> None:
    """Refuse endings that mean nothing, and folders that are not there."""
    format_of(file)
    need_folder(file)


def check_names(file: Path, names: list[Any]) -> None:
    """Refuse ids that would come back from a file as something else."""
    form, _ = format_of(file)
    text = [v for v in names if isinstance(v, str)]
    for v in names:
        if isinstance(v, bool) or not isinstance(v, str | int):
            raise ValueError(f"{file}: ids must be whole numbers or text; found {v!r}")
    if form != "json" and 0 < len(text) < len(names):
        raise ValueError(f"{file}: some ids are numbers and some text; write a .jsonl file instead")
    if not all(v.strip() for v in text):
        raise ValueError(f"{file}: an id is empty or blank, which a file cannot hold; rename it")


def write_table(columns: dict[str, list[Any]], file: Path) -> None:
    """Write a table; a file of that name is replaced only when the new one is complete."""
    form, packed = format_of(file)
    if form == "parquet":
        need_pyarrow()
    with replacing(file) as raw:
        if form == "parquet":
            _write_parquet(columns, raw)
            return
        with _packing(raw, packed) as stream:
            if form == "json":
                _write_json(columns, stream)
            else:
                _write_csv(columns, stream, DELIMITERS[form])


@contextmanager
def _packing(raw: BinaryIO, packed: bool) -> Iterator[TextIO]:
    """Write text to an open file, compressed or not."""
    # Neither name nor time go into the file: equal tables give equal bytes.
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
    if not any(columns.values()):
        stream.write("\n")  # a file without a byte would look like one that was never written
    for values in zip(*columns.values(), strict=True):
        given = zip(columns, values, strict=True)
        line = {name: _json_value(value) for name, value in given if value is not None}
        stream.write(json.dumps(line, ensure_ascii=False, default=str) + "\n")


def _json_value(value: Any) -> Any:
    # JSON has no infinity.
    return "inf" if isinstance(value, float) and math.isinf(value) else value


def _write_parquet(columns: dict[str, list[Any]], raw: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), raw)
