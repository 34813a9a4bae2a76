"""Arrays of Python objects in a form that skops can write, and back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

__all__ = ["packed", "unpacked"]

_MARK = "linkfield array"
_PLAIN = (str, int, float, bool, type(None))


def packed(value: Any) -> Any:
    """Return an array with objects in it (ids, names of teachers) as a dict; others as they are."""
    if not isinstance(value, np.ndarray) or not value.dtype.hasobject:
        return value
    if value.dtype.names is None:
        return {_MARK: "objects", "shape": list(value.shape), "values": _texts(value.ravel())}
    columns = {}
    for name in value.dtype.names:
        column = np.ascontiguousarray(value[name]).ravel()
        columns[name] = _texts(column) if column.dtype == object else column
    descr = json.dumps(value.dtype.descr)
    return {_MARK: "table", "shape": list(value.shape), "dtype": descr, "columns": columns}


def unpacked(value: Any) -> Any:
    """Return what :func:`packed` made of an array as the array; other values as they are."""
    if not isinstance(value, dict) or _MARK not in value:
        return value
    shape = tuple(value["shape"])
    n = math.prod(shape)
    if value[_MARK] == "objects":
        return _objects(value["values"], n).reshape(shape)
    table = np.empty(n, dtype=[tuple(field) for field in json.loads(value["dtype"])])
    for name, column in value["columns"].items():
        table[name] = column if isinstance(column, np.ndarray) else _objects(column, n)
    return table.reshape(shape)


def _texts(values: Any) -> Any:
    """Return objects as one JSON text where they are plain: skops writes every item of a list."""
    items = values.tolist()
    return json.dumps(items) if all(type(v) in _PLAIN for v in items) else items


def _objects(values: Any, n: int) -> Any:
    array = np.empty(n, dtype=object)
    array[:] = json.loads(values) if isinstance(values, str) else values
    return array
