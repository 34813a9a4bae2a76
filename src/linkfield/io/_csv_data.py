"""Data from CSV files: by pyarrow in blocks where it is there, else by Python in chunks."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ._cells import MISSING, as_number, shortened
from ._columns import Picked, Wish, pick
from ._gather import Block, Data, Gather
from .files import DELIMITERS
from .tables import binary, csv_rows, fail, reading

__all__ = ["read_csv"]

#: Lines by which columns of numbers are told from columns of text.
SAMPLE = 1000
#: Lines that are turned into numbers at once.
CHUNK = 4096
_NEEDS = "it needs a header with the names of the columns, and rows"


@dataclass
class _Source:
    """A CSV file whose header was read."""

    file: Path
    packed: bool
    delimiter: str
    names: list[str]
    header_line: int

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Read the lines below the header."""
        # Bytes that are no UTF-8 matter only in cells that are read.
        with reading(self.file, self.packed, _NEEDS, errors="surrogateescape") as stream:
            rows = csv_rows(self.file, stream, self.delimiter)
            next(rows, None)
            yield from rows

    @cached_property
    def at(self) -> dict[str, int]:
        """Where every column stands, the first of that name."""
        return {name: j for j, name in reversed(list(enumerate(self.names)))}


def read_csv(file: Path, form: str, packed: bool, wish: Wish, dtype: Any) -> Data:
    """Read a CSV or TSV file."""
    source = _opened(file, form, packed)
    picked = pick(file, source.names, wish, _NumberColumns(source))
    # Without any column pyarrow would read them all.
    if find_spec("pyarrow") is not None and source.header_line == 1 and picked.used:
        found = _by_pyarrow(source, picked, dtype)
        if found is not None:
            return found
    return _by_python(source, picked, dtype)


# ------------------------------------------------------------------ header


def _opened(file: Path, form: str, packed: bool) -> _Source:
    with reading(file, packed, _NEEDS, errors="surrogateescape") as stream:
        first = stream.readline()
    delimiter = DELIMITERS[form]
    if form == "csv" and "," not in first:
        # As spreadsheets write CSV where the comma is the decimal point.
        delimiter = next((d for d in ";\t" if d in first), ",")
    with reading(file, packed, _NEEDS, errors="surrogateescape") as stream:
        rows = csv_rows(file, stream, delimiter)
        line, values = next(rows, (0, []))
        below = next(rows, None)
    if not values:
        raise ValueError(f"{file} is empty; {_NEEDS}")
    names = [v.strip() for v in values]
    for name in names:
        if not _is_text(name):
            fail(file, line, "the header is not UTF-8 text; save the file as UTF-8")
    if _no_header(names):
        fail(
            file,
            line,
            "the first line holds numbers where the names of the columns are needed; write a "
            "header line above it",
        )
    if below is None:
        raise ValueError(f"{file} has a header but no rows; give a file with data")
    return _Source(file, packed, delimiter, names, line)


def _is_text(cell: str) -> bool:
    """Whether all bytes of a cell were UTF-8."""
    try:
        cell.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_header(names: list[str]) -> bool:
    """Whether the first line is data: all numbers, but not 0, 1, 2, ... as frames have them."""
    numbers = [as_number(name) if name else None for name in names]
    counted = [str(j) for j in range(len(names))]
    return None not in numbers and names != counted


class _NumberColumns:
    """Says which columns hold numbers: at least as many as text, in the first lines."""

    def __init__(self, source: _Source) -> None:
        self.source = source
        self.sample = [values for _, values in itertools.islice(source.rows(), SAMPLE)]

    def __call__(self, name: str) -> bool:
        at = self.source.at[name]
        cells = [values[at] for values in self.sample]
        with suppress(ValueError):
            return all(v == v for v in map(float, cells)) or self._mostly(cells)
        return self._mostly(cells)

    @staticmethod
    def _mostly(cells: list[str]) -> bool:
        found = [as_number(cell) for cell in cells]
        text = found.count(None)
        missing = sum(v is not None and v != v for v in found)
        return text <= len(found) - text - missing


# --------------------------------------------------------------- by pyarrow


def _by_pyarrow(source: _Source, picked: Picked, dtype: Any) -> Data | None:
    """Read the file in blocks; None where it has anything that takes a closer look."""
    import pyarrow as pa

    gather = Gather(source.file, picked, dtype)
    try:
        with binary(source.file, source.packed) as raw:
            stream = _Counting(raw)
            for batch in _batches(stream, source, picked):
                gather.add(_arrow_block(gather, batch, source))
                if gather.defects.counts:
                    return None
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError):
        return None  # read by line, the mistake gets its place, and odd numbers their value
    if gather.n + 1 != stream.lines:
        # Line ends in quotes, or a quote that was never closed: pyarrow does not say which.
        return None
    return gather.data(text_only=True)


class _Counting:
    """A binary file that counts the lines that are read from it."""

    closed = False

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self._ends = {b"\n": 0, b"\r": 0}
        self._last = b""

    def read(self, size: int = -1) -> bytes:
        block: bytes = self.raw.read(size)
        for end in self._ends:
            self._ends[end] += block.count(end)
        self._last = block[-1:] or self._last
        return block

    @property
    def lines(self) -> int:
        """The number of lines, the last one with or without its end."""
        ended = self._last in self._ends
        return (self._ends[b"\n"] or self._ends[b"\r"]) + (not ended)

    def close(self) -> None:
        """Leave the file to whoever opened it."""


def _batches(stream: _Counting, source: _Source, picked: Picked) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv

    # By place, for names may occur twice.
    types = {str(source.at[name]): pa.string() for name in picked.used}
    types |= {str(source.at[name]): pa.float64() for name in picked.numbers}
    reader = csv.open_csv(
        stream,
        read_options=csv.ReadOptions(
            column_names=[str(j) for j in range(len(source.names))], skip_rows_after_names=1
        ),
        parse_options=csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=sorted(MISSING),
            strings_can_be_null=False,
        ),
    )
    with reader:
        yield from reader


def _arrow_block(gather: Gather, batch: Any, source: _Source) -> Block:
    picked = gather.picked
    at = {name: str(source.at[name]) for name in picked.used}

    def texts(name: str | None) -> list[Any]:
        return [] if name is None else batch.column(at[name]).to_pylist()

    places = range(gather.n, gather.n + batch.num_rows)
    block = Block(
        places, ids=texts(picked.id), labels=texts(picked.label), texts=texts(picked.text)
    )
    for name in picked.numbers:
        block.numbers.append(batch.column(at[name]).to_numpy(zero_copy_only=False))
    if picked.embedding is not None:
        block.vectors = gather.vectors(texts(picked.embedding), places)
    return block


# ---------------------------------------------------------------- by Python


def _by_python(source: _Source, picked: Picked, dtype: Any) -> Data:
    gather = Gather(source.file, picked, dtype)
    rows = source.rows()
    while chunk := list(itertools.islice(rows, CHUNK)):
        gather.add(_python_block(gather, chunk, source))
    return gather.data(text_only=True)


def _python_block(gather: Gather, chunk: list[tuple[int, list[str]]], source: _Source) -> Block:
    picked = gather.picked
    lines = [line for line, _ in chunk]

    def cells(name: str | None) -> list[str]:
        if name is None:
            return []
        at = source.at[name]
        return [values[at] for _, values in chunk]

    def texts(name: str | None) -> list[str]:
        found = cells(name)
        if not _is_text("".join(found)):
            line = next(n for n, v in zip(lines, found, strict=True) if not _is_text(v))
            fail(source.file, line, f"the column {name!r} is not UTF-8 text; save it as UTF-8")
        return found

    block = Block(lines, ids=texts(picked.id), labels=texts(picked.label), texts=texts(picked.text))
    for name in picked.numbers:
        block.numbers.append(_numbers(source.file, name, cells(name), lines))
    if picked.embedding is not None:
        block.vectors = gather.vectors(texts(picked.embedding), lines)
    return block


def _numbers(file: Path, name: str, cells: list[str], lines: list[int]) -> NDArray[np.float64]:
    joined = "".join(cells)
    if joined.isascii() and "_" not in joined:  # which float() would take
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass
    found = [as_number(cell) for cell in cells]
    if None in found:
        at = found.index(None)
        _refuse_text(file, lines[at], name, cells[at])
    return np.array(found, dtype=np.float64)


def _refuse_text(file: Path, line: int, name: str, cell: str) -> NoReturn:
    comma = cell.count(",") == 1 and as_number(cell.replace(",", ".")) is not None
    remedy = "write decimals with a point" if comma else "correct it, or exclude the column"
    fail(file, line, f"column {name!r} needs numbers; found {shortened(cell)}; {remedy}")
