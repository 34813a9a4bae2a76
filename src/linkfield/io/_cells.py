"""Cells of a file as numbers, labels, ids and vectors."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints._normal import is_missing
from .tables import is_whole

__all__ = ["MISSING", "as_ids", "as_labels", "as_number", "as_vector", "shortened"]

#: What stands for a missing number, or an unknown label, in a text file.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "NULL", "null", "None", "<NA>", "?"]
)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE_LABEL = re.compile(r"(0|-?[1-9][0-9]{0,30})(?:\.0*)?", re.ASCII)
_INFINITE = {"inf", "infinity"}


def shortened(value: Any, length: int = 40) -> str:
    """Return a value for a message."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def as_number(cell: str) -> float | None:
    """Return the number in a cell, NaN if it is missing, None if there is something else."""
    text = cell.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    if text in MISSING:
        return math.nan
    bare = text.lower().lstrip("+-")
    if bare in _INFINITE and len(text) - len(bare) <= 1:
        return -math.inf if text[0] == "-" else math.inf
    return None


def as_vector(cell: Any) -> list[float] | None:
    """Return a cell as numbers: a list, or in text a JSON list or numbers with spaces between."""
    if isinstance(cell, str):
        text = cell.strip()
        if text.startswith("["):
            try:
                cell = json.loads(text)
            except ValueError:  # as numpy prints an array
                if not text.endswith("]"):
                    return None
                cell = text.strip("[]").replace(",", " ").split()
        else:
            cell = text.split()
        if not all(isinstance(v, str) for v in cell):
            return as_vector(cell)
        found = [as_number(v) for v in cell]
        return None if not found or None in found else found  # type: ignore[return-value]
    if not isinstance(cell, list) or not cell:
        return None
    if any(isinstance(v, bool) or not isinstance(v, int | float | None) for v in cell):
        return None
    return [math.nan if v is None else float(v) for v in cell]


def as_labels(values: Sequence[Any], text_only: bool = False) -> NDArray[np.object_]:
    """Return labels, None where one is unknown: empty, missing or -1.

    Text that holds whole numbers only is read as integers, digit by digit; "01" and "1e3" are
    names, for they are not written back the same. In a file of text only, what stands for a
    missing number stands for an unknown label as well.
    """
    # By type, too: True, 1 and 1.0 are equal.
    keys = [(type(v), v) for v in values]
    distinct = {key: _label(key[1], text_only) for key in set(keys)}
    known = [v for v in distinct.values() if v is not None]
    if all(isinstance(v, str) for v in known):
        whole = {v: _whole_text(v) for v in known}
        if None not in whole.values():
            distinct = {key: whole.get(v) for key, v in distinct.items()}
    elif any(isinstance(v, bool) for v in known):
        if not all(isinstance(v, bool) for v in known):
            distinct = {key: _as_text(v) for key, v in distinct.items()}
    elif all(_is_whole_number(v) for v in known):
        distinct = {key: None if v is None else int(v) for key, v in distinct.items()}
    labels = np.empty(len(values), dtype=object)
    labels[:] = [distinct[key] for key in keys]
    return labels


def _label(value: Any, text_only: bool) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    if not isinstance(value, str):
        return value
    text = value.strip()
    return None if text_only and text in MISSING else text


def _whole_text(text: str) -> int | None:
    """Return a whole number that stands in text, as "7" or "7.0"; None if there is none."""
    found = _WHOLE_LABEL.fullmatch(text)
    return None if found is None else int(found[1])


def _is_whole_number(value: Any) -> bool:
    if isinstance(value, int):
        return True
    if isinstance(value, Decimal):
        return value.is_finite() and value == value.to_integral_value()
    return isinstance(value, float) and value.is_integer()


def _as_text(label: Any) -> str | None:
    """Return a label of a column that mixes true and false with others as JSON has it."""
    return label if label is None or isinstance(label, str) else json.dumps(label, default=str)


def as_ids(file: Path, values: Sequence[Any], text_only: bool) -> NDArray[Any]:
    """Return ids, distinct and not empty: integers where all are whole numbers.

    "007" is a name: it is not written back the same.
    """
    empty = next((i for i, v in enumerate(values) if _blank(v)), None)
    if empty is not None:
        raise ValueError(
            f"{file}: the id of row {empty} (counting from 0) is empty; give every row an id"
        )
    if text_only and all(map(is_whole, values)):
        values = [int(v) for v in values]
    elif not text_only:
        values = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
    odd = next((v for v in values if isinstance(v, bool) or not isinstance(v, int | str)), None)
    if odd is not None:
        raise ValueError(f"{file}: ids must be whole numbers or text; found {shortened(odd)}")
    if len(set(values)) < len(values):
        raise ValueError(_double(file, values))
    if all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in values):
        return np.array(values, dtype=np.int64)
    ids = np.empty(len(values), dtype=object)
    ids[:] = values
    return ids


def _blank(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and not value.strip())


def _double(file: Path, values: Sequence[Any]) -> str:
    seen: dict[Any, int] = {}
    for i, value in enumerate(values):
        first = seen.setdefault(value, i)
        if first != i:
            break
    return (
        f"{file}: the id {shortened(value)} occurs more than once (rows {first} and {i}, counting "
        "from 0); every row needs an id of its own"
    )
