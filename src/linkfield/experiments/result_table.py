"""What the experiments wrote: OUT/NAME.csv, one line a cell, and OUT/NAME.json beside it."""

from __future__ import annotations

import csv
import json
import math
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["KEYS", "Cells", "ResultTable", "read_table", "split_table"]

FloatArray = NDArray[np.float64]
TextArray = NDArray[np.str_]

#: A line's number in the file, and its fields.
NumberedRow = tuple[int, list[str]]

#: The columns that name a cell; all others are values.
KEYS = ("data", "method", "constraints", "noise", "run", "fold")
TEXT = ("data", "method")
#: A cluster structure counts as found from this agreement on (maths.md 6).
RECOVERED = 0.85


class Cells(NamedTuple):
    """Fold means of one score: one line a run, one column a number of constraints; nan if none."""

    runs: FloatArray
    counts: FloatArray
    values: FloatArray


@dataclass(frozen=True)
class ResultTable:
    """The table of one experiment.

    Attributes
    ----------
    name : str
    file : Path
        The CSV file.
    about : dict
        What the JSON file says; empty if there is none.
    keys : dict of str to array
        The key columns.
    values : dict of str to float array
        The value columns, nan where a field is empty.
    notes : tuple of str
        What a reader of the report must know about the file.
    """

    name: str
    file: Path
    about: dict[str, Any]
    keys: dict[str, Any]
    values: dict[str, FloatArray]
    notes: tuple[str, ...] = ()
    _found: dict[tuple[Any, ...], Cells] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_cells(self) -> int:
        """How many cells are finished."""
        return len(self.keys["run"])

    @cached_property
    def expected(self) -> int | None:
        """How many cells there will be: as recorded, else the size of the protocol's grid."""
        if isinstance(self.about.get("cells"), int):
            return int(self.about["cells"])
        protocol = self.about.get("protocol")
        sizes = ("data", "methods", "constraints", "noise", "runs", "folds_run")
        if not isinstance(protocol, dict) or not all(key in protocol for key in sizes):
            return None
        grid = [protocol[key] for key in sizes]
        return math.prod(size if isinstance(size, int) else len(size) for size in grid)

    def data_name(self, name: str) -> str:
        """Give a data set's name as this file spells it; capitals make no difference."""
        return next((n for n in self.names("data") if n.casefold() == name.casefold()), name)

    def names(self, key: str, **chosen: Any) -> list[str]:
        """Return the data sets or methods, in the order of the file."""
        return list(dict.fromkeys(self.keys[key][self._mask(**chosen)].tolist()))

    def numbers(self, key: str, **chosen: Any) -> list[float]:
        """Return the different values of a key column that holds numbers, sorted."""
        found = np.unique(self.keys[key][self._mask(**chosen)])
        return [float(x) for x in found if np.isfinite(x)]

    def has(self, score: str) -> bool:
        """Tell whether any cell has a value of this score."""
        return score in self.values and bool(np.isfinite(self.values[score]).any())

    def cells(self, data: str, method: str, score: str, noise: float | None = None) -> Cells:
        """Average a score over the folds of each run; a run that lacks a fold gives nan.

        Parameters
        ----------
        data, method, score : str
        noise : float, optional
            Only cells with this share of wrong constraints; None takes all.
        """
        key = (data, method, score, noise)
        if key not in self._found:
            self._found[key] = self._average(*key)
        return self._found[key]

    def _average(self, data: str, method: str, score: str, noise: float | None) -> Cells:
        mine = self._mask(data=data, method=method, noise=noise)
        whole = len(self.numbers("fold", data=data)) or 1
        runs, row = np.unique(self.keys["run"][mine], return_inverse=True)
        counts, column = np.unique(self.keys["constraints"][mine], return_inverse=True)
        shape = (len(runs), len(counts))
        place = np.ravel_multi_index((row, column), shape) if row.size else row
        found = self.values[score][mine] if score in self.values else np.full(row.size, np.nan)
        sums = np.bincount(place, found, minlength=shape[0] * shape[1])
        folds = np.bincount(place, minlength=shape[0] * shape[1])
        # Several noises in one cell, if all are asked for, each have all folds.
        complete = (folds > 0) & (folds % whole == 0)
        means = np.where(complete, sums / np.maximum(folds, 1), np.nan)
        return Cells(runs, counts, means.reshape(shape))

    def _mask(self, **chosen: Any) -> NDArray[np.bool_]:
        mask = np.ones(self.n_cells, dtype=bool)
        for key, value in chosen.items():
            if value is not None:
                mask &= self.keys[key] == value
        return mask


def read_table(csv_file: str | os.PathLike[str]) -> ResultTable:
    """Read the cells of one experiment and what its JSON file says about them.

    A half-written last line (the experiment was stopped, or is running) is left out with a note;
    anything else that is wrong raises ValueError with the line.
    """
    file = Path(csv_file)
    about = _about(file.with_suffix(".json"))
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not a CSV file of an experiment: not UTF-8 text") from None
    header, rows, whole = split_table(text)
    if tuple(header[: len(KEYS)]) != KEYS or len(set(header)) < len(header):
        raise ValueError(
            f"{file}: not a CSV file of an experiment: its first columns must be "
            f"{','.join(KEYS)}, found {','.join(header[: len(KEYS)]) or 'an empty file'}; "
            "move it elsewhere, or write it with `linkfield experiment run`"
        )
    notes = []
    if rows and len(rows[-1][1]) < len(header):
        rows, whole = rows[:-1], False
    if not whole:
        notes.append("The last line is half-written and was left out.")
    keys, values = _columns(file, header, rows)
    _refuse_repeats(file, keys, [number for number, _ in rows])
    _add_recovered(values)
    return ResultTable(file.stem, file, about, keys, values, tuple(notes))


def _about(file: Path) -> dict[str, Any]:
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{file}: not valid JSON ({error}); run the experiment again") from None
    if not isinstance(about, dict):
        raise ValueError(f"{file}: must hold an object with name, title, seed, versions, …")
    return about


def split_table(text: str) -> tuple[list[str], list[NumberedRow], bool]:
    """Split a results file into header and numbered rows; say whether its last line was ended.

    A line without its end was still being written, and is left out. Lines are split one by one,
    so that a broken quotation cannot swallow those after it.
    """
    *complete, rest = text.split("\n")
    rows = [(i, next(csv.reader([line]), [])) for i, line in enumerate(complete, start=1)]
    header = rows[0][1] if rows else []
    return header, [(i, row) for i, row in rows[1:] if row], not rest


def _columns(
    file: Path, header: list[str], rows: list[NumberedRow]
) -> tuple[dict[str, Any], dict[str, FloatArray]]:
    for number, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"{file}, line {number}: {len(row)} fields, the header has {len(header)}; "
                "delete the line and run the experiment again: it fills in what is missing"
            )
    columns = {name: [row[i] for _, row in rows] for i, name in enumerate(header)}
    keys: dict[str, Any] = {name: np.array(columns[name], dtype=str) for name in TEXT}
    values = {}
    for name in header:
        if name in TEXT:
            continue
        try:
            numbers = np.array([float(x) if x else np.nan for x in columns[name]], np.float64)
        except ValueError:
            where = next(n for n, row in rows if not _is_number(row[header.index(name)]))
            wrong = columns[name][[n for n, _ in rows].index(where)]
            raise ValueError(
                f"{file}, line {where}: {name} must be a number or empty, got {wrong!r}"
            ) from None
        if name in KEYS:
            keys[name] = numbers
        else:
            values[name] = numbers
    # No noise given, or one fold only: the same as 0, so that cells compare equal.
    for name in ("constraints", "noise", "run", "fold"):
        keys[name] = np.nan_to_num(keys[name], nan=0.0)
    return keys, values


def _is_number(text: str) -> bool:
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _refuse_repeats(file: Path, keys: dict[str, Any], lines: list[int]) -> None:
    seen: dict[tuple[Any, ...], int] = {}
    for line, cell in zip(lines, zip(*(keys[k].tolist() for k in KEYS), strict=True), strict=True):
        if cell in seen:
            raise ValueError(
                f"{file}, line {line}: the cell of line {seen[cell]} again "
                f"({', '.join(f'{k} {v}' for k, v in zip(KEYS, cell, strict=True))}); delete one"
            )
        seen[cell] = line


def _add_recovered(values: dict[str, FloatArray]) -> None:
    """Add 1 where the agreement is high enough to say the structure was found, else 0."""
    if "accuracy" in values and "recovered" not in values:
        accuracy = values["accuracy"]
        values["recovered"] = np.where(
            np.isnan(accuracy), np.nan, (accuracy >= RECOVERED).astype(np.float64)
        )
