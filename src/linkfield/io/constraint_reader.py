"""Constraints from files: CSV, Parquet and JSON lines, one pair a line."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Constraints
from ..constraints._assembly import assembled
from ..constraints._normal import as_ids
from ..constraints.frames import KINDS, PAIRS
from .files import format_of
from .tables import Line, fail, make_whole, name_value, read_lines, read_parquet, said_value

__all__ = ["read_constraints"]


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
    form, _ = format_of(file)
    ids = None if sample_id is None else as_ids(sample_id)
    if form == "parquet":
        table = read_parquet(file, PAIRS)
        try:
            return Constraints.from_frame(table, merge=merge, sample_id=ids)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{file}: {error}") from None
    with uncollected():
        lines, text_only = read_lines(file, PAIRS)
        if text_only and not (ids is not None and any(isinstance(v, str) for v in ids)):
            make_whole(lines, ("a", "b"))
        return _constraints(file, lines, ids, merge)


@contextmanager
def uncollected() -> Iterator[None]:
    """Let no garbage be looked for: among millions of new lines that takes most of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _constraints(file: Path, lines: list[Line], ids: Any, merge: str) -> Constraints:
    """Check every line by itself, then make the constraints as any others are made."""
    links: tuple[list[Any], list[Any]] = ([], [])
    weights: tuple[list[float], list[float]] = ([], [])
    sources: tuple[list[Any], list[Any]] = ([], [])
    for number, values in lines:
        part = 0 if _is_must(file, number, values["kind"]) else 1
        ends = (name_value(file, number, c, values[c], "a row position or an id") for c in "ab")
        links[part].append(tuple(ends))
        weights[part].append(_weight(file, number, values.get("weight", 1.0)))
        sources[part].append(said_value(file, number, "source", values.get("source")))
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
        fail(file, line, f"kind must be 'must' or 'cannot'; found {kind!r}")
    return must


def _weight(file: Path, line: int, value: Any) -> float:
    try:
        weight = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not weight > 0:
        fail(file, line, f"weight must be a positive number or inf; found {value!r}")
    return weight
