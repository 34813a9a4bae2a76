"""A file of constraints line by line, so that some lines can be written again as they were."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Constraints
from ..constraints._normal import IntArray, positions_of
from ..constraints.frames import KINDS, PAIRS
from .constraint_reader import _constraints, uncollected
from .files import DELIMITERS, format_of
from .tables import check_folder, check_names, make_whole, read_lines, write_table

__all__ = ["ConstraintLines", "read_constraint_lines"]


@dataclass(frozen=True, eq=False)
class ConstraintLines:
    """The lines of a file of constraints, with all its columns, and what they say.

    Attributes
    ----------
    constraints : Constraints
        As :func:`read_constraints` reads them: a pair that several lines give is one pair.
    columns : dict of str to list
        All columns of the file, those that mean nothing to linkfield included.
    """

    constraints: Constraints
    columns: dict[str, list[Any]]
    _keys: IntArray
    _text_only: bool

    def among(self, some: Constraints) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Say which lines give one of some of the constraints, with the same rows."""
        wanted = _keys(some._pairs, some._must, self.constraints.tied_rows())
        found: np.ndarray[Any, np.dtype[np.bool_]] = np.isin(self._keys, wanted)
        return found

    def write(self, chosen: Any, path: str | os.PathLike[str]) -> None:
        """Write some of the lines, in their order, to a file of any format."""
        file = Path(path)
        check_folder(file)
        rows = np.flatnonzero(chosen).tolist()
        columns = {name: [values[k] for k in rows] for name, values in self.columns.items()}
        check_names(file, columns["a"] + columns["b"])
        form, _ = format_of(file)
        as_they_were = form in DELIMITERS if self._text_only else form == "json"
        if "weight" in columns and not as_they_were:
            # JSON lines may lack a weight and have "inf" as text; a table has a number everywhere.
            columns["weight"] = [1.0 if v is None else float(v) for v in columns["weight"]]
        write_table(columns, file)


def read_constraint_lines(
    path: str | os.PathLike[str], *, merge: str = "max", sample_id: Any = None
) -> ConstraintLines:
    """Read a file of constraints and keep its lines; see :func:`read_constraints`."""
    file = Path(path)
    with uncollected():
        return _read(file, merge, sample_id)


def _read(file: Path, merge: str, sample_id: Any) -> ConstraintLines:
    lines, text_only = read_lines(file, PAIRS)
    if text_only and not (sample_id is not None and any(isinstance(v, str) for v in sample_id)):
        make_whole(lines, ("a", "b"))
    constraints = _constraints(file, lines, sample_id, merge)
    names = dict.fromkeys(name for _, values in lines for name in values)
    columns = {name: [values.get(name) for _, values in lines] for name in names}
    for name in ("a", "b", "kind"):
        columns.setdefault(name, [])
    ends = [_rows(constraints, columns[name]) for name in "ab"]
    must = np.array([KINDS[str(v).strip().lower()] for v in columns["kind"]], dtype=bool)
    pairs = np.sort(np.column_stack(ends), axis=1)
    keys = _keys(pairs, must, constraints.tied_rows())
    keys[ends[0] == ends[1]] = -1  # a must-link of a row with itself says nothing
    return ConstraintLines(constraints, columns, keys, text_only)


def _rows(constraints: Constraints, names: list[Any]) -> IntArray:
    ids = constraints.sample_id
    return np.array(names, dtype=np.int64) if ids is None else positions_of(names, ids)


def _keys(pairs: IntArray, must: Any, tied: IntArray) -> IntArray:
    """Return one number for every pair and kind; rows count among the tied ones."""
    ends = np.searchsorted(tied, pairs)
    return np.asarray((ends[:, 0] * (len(tied) + 1) + ends[:, 1]) * 2 + must, dtype=np.int64)
