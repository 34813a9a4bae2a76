"""Tables of any kind as a dict of columns."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["columns_of"]


def columns_of(table: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a data frame, a dict, a structured array or a CSV file."""
    if isinstance(table, str | os.PathLike):
        return _from_csv(Path(table))
    if isinstance(table, np.ndarray) and table.dtype.names:
        return {name: table[name] for name in table.dtype.names}
    if isinstance(table, Mapping):
        columns = {str(name): np.asarray(values) for name, values in table.items()}
    else:
        import narwhals as nw

        try:
            frame = nw.from_native(table, eager_only=True)
        except TypeError:
            raise TypeError(
                "results must be a data frame, a dict of columns, a structured array or the path "
                f"of a CSV file; got {type(table).__name__}"
            ) from None
        columns = {name: np.array(frame[name].to_list(), dtype=object) for name in frame.columns}
    sizes = {name: values.shape for name, values in columns.items()}
    if len(set(sizes.values())) > 1 or any(len(size) != 1 for size in sizes.values()):
        raise ValueError(f"all columns must be lists of one length; got {sizes}")
    return columns


def _from_csv(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a CSV file: not UTF-8 text") from None
    header = lines[0] if lines else []
    # A half-written last line belongs to a run that is still going on.
    rows = [line for line in lines[1:] if len(line) == len(header)]
    if not header or not rows:
        raise ValueError(f"{path}: no lines under a header; give a CSV file of results")
    return {name: np.array([row[i] for row in rows]) for i, name in enumerate(header)}
