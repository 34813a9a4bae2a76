"""Groups from files: CSV, Parquet and JSON lines, one membership or one answer a line."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Groups
from ..constraints._group_sources import answers, named_groups
from ..constraints._memberships import texts
from ..constraints._normal import as_ids, is_missing
from ..constraints.frames import Layout
from .tables import Line, fail, make_whole, name_value, read_lines, said_value

__all__ = ["read_groups"]

_LAYOUT = Layout(
    "groups",
    (("group", "row"), ("teacher", "row", "label"), ("group", "apart")),
    ("confidence", "strength", "teacher", "label", "apart"),
)
_NAME = {"row": "a row position or an id", "group": "its number or name", "apart": "a group"}


def read_groups(
    path: str | os.PathLike[str],
    *,
    sample_id: Any = None,
    apart: bool | float = False,
    overlap: str = "raise",
) -> Groups:
    """Read groups from a file.

    Parameters
    ----------
    path : path
        The ending says what the file is, see :func:`read_constraints`. A line ties a row to a
        group: columns, or keys, ``group`` and ``row``, optional ``confidence``, ``strength``,
        ``teacher``, ``label``. Or, with ``group`` and ``apart`` and no ``row``, it says that two
        groups are apart, with a certainty of ``confidence``. Without ``group`` the file is one of
        teachers' answers: ``teacher``, ``row`` and ``label``, see
        :meth:`linkfield.Groups.from_teachers`.
    sample_id : sequence, optional
        The id of every row; ``row`` is then an id. See :class:`linkfield.Groups`.
    apart : bool or float, default=False
        For teachers' answers: how certain it is that two labels of one teacher are different
        clusters.
    overlap : {"raise", "share"}, default="raise"
        What to do with rows whose confidences add up to more than 1, see
        :class:`linkfield.Groups`.

    Returns
    -------
    Groups

    Notes
    -----
    A CSV file holds text only. If every value of ``row`` is a whole number all of them are
    integers, unless ``sample_id`` holds text; likewise the names of groups. Teachers and labels
    stay text. JSON lines and Parquet say themselves which is which.
    """
    file = Path(path)
    ids = None if sample_id is None else as_ids(sample_id)
    lines, text_only = read_lines(file, _LAYOUT)
    if text_only:
        make_whole(lines, ("group", "apart"))
        if ids is None or not any(isinstance(v, str) for v in ids):
            make_whole(lines, ("row",))
    named = any("group" in values for _, values in lines)
    try:
        parts = _memberships(file, lines, ids) if named else _answers(file, lines, ids, apart)
        return Groups._made(parts, overlap)
    except (TypeError, ValueError) as error:
        told = str(error)
        raise ValueError(told if told.startswith(str(file)) else f"{file}: {told}") from None


def _answers(file: Path, lines: list[Line], ids: Any, apart: Any) -> dict[str, Any]:
    """Read teachers' answers; those without a label do not count."""
    given = [(n, values) for n, values in lines if not is_missing(values["label"])]
    for number, values in given:
        if values["teacher"] is None or not str(values["teacher"]).strip():
            fail(file, number, "teacher is empty; every answer needs a teacher")
    columns = _columns(file, given)
    return answers(**columns, apart=apart, sample_id=ids)


def _memberships(file: Path, lines: list[Line], ids: Any) -> dict[str, Any]:
    """Read memberships and pairs of groups that are apart."""
    for number, values in lines:
        if "group" not in values:
            fail(file, number, "lacks the key 'group', which other lines have")
    ties = [(n, values) for n, values in lines if _blank(values.get("apart"))]
    links = [(n, values) for n, values in lines if not _blank(values.get("apart"))]
    for number, values in links:
        if not _blank(values.get("row")):
            fail(file, number, "has both a row and a group that is apart; write two lines")
    pairs = [tuple(_named(file, n, c, values) for c in ("group", "apart")) for n, values in links]
    return named_groups(
        group=texts(_named(file, n, "group", values) for n, values in ties),
        **_columns(file, ties),
        apart=pairs,
        certainty=np.array([_number(file, n, "confidence", 1.0, values) for n, values in links]),
        sample_id=ids,
    )


def _columns(file: Path, lines: list[Line]) -> dict[str, Any]:
    """Check the columns that memberships and answers have in common, line by line."""
    return {
        "row": texts(_named(file, n, "row", values) for n, values in lines),
        "confidence": _numbers(file, lines, "confidence", 0.5),
        "strength": _numbers(file, lines, "strength", 1.0),
        "teacher": _said(file, lines, "teacher"),
        "label": _said(file, lines, "label"),
    }


def _named(file: Path, line: int, column: str, values: dict[str, Any]) -> int | str:
    value = values.get(column)
    return name_value(file, line, column, "" if value is None else value, _NAME[column])


def _said(file: Path, lines: list[Line], column: str) -> Any:
    return texts(said_value(file, n, column, values.get(column)) for n, values in lines)


def _numbers(file: Path, lines: list[Line], column: str, default: float) -> Any:
    numbers = [_number(file, n, column, default, values) for n, values in lines]
    return np.array(numbers, dtype=np.float64)


def _number(file: Path, line: int, column: str, default: float, values: dict[str, Any]) -> float:
    value = values.get(column, default)
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    top = 1.0 if column == "confidence" else np.finfo(np.float64).max
    if not 0 <= number <= top:
        wanted = "a number from 0 to 1" if column == "confidence" else "a finite number >= 0"
        fail(file, line, f"{column} must be {wanted}; found {value!r}")
    return number


def _blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
