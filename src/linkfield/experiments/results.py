"""The results of an experiment: one CSV line for every cell, and a JSON file that tells how.

Lines are appended as cells finish, so that a run may be killed at any time and goes on where it
stopped: a line that was not written to its end is dropped, and only cells without a line are run.
"""

from __future__ import annotations

import csv
import io
import json
import math
import platform
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from .. import __version__
from ..io.files import replacing
from .protocol import Cell, Experiment
from .result_table import split_table

__all__ = ["VALUES", "Results"]

#: The value columns that every experiment has.
VALUES = ("pairwise_f", "nmi", "ari", "accuracy", "objective", "energy", "seconds", "iterations",
          "violated", "satisfied_held_out")  # fmt: skip


class Results:
    """The two files of an experiment, ``NAME.csv`` and ``NAME.json``, in a folder.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        It is made if it is not there.
    """

    def __init__(self, experiment: Experiment, folder: Path) -> None:
        self.experiment = experiment
        self.path = folder / f"{experiment.name}.csv"
        self.record = folder / f"{experiment.name}.json"
        self.columns = (*Cell._fields, *VALUES, *experiment.extra)
        self._stream: IO[str] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def finished(self) -> set[Cell]:
        """Return the cells that have a line; whatever is not a whole line is taken out.

        Cells that were made by another protocol must not stand beside new ones: that is refused.
        """
        if not self.path.exists():
            return set()
        self._check_protocol()
        lines, whole = self._read()
        if not whole:
            self._write(lines)
        return set(lines)

    def begin(self, command: str) -> None:
        """Record how the cells are made, and open the file for their lines."""
        new = self._description(command)
        if self.path.exists():
            old = self._recorded()
            if old["versions"] != new["versions"]:
                raise ValueError(
                    f"{self.path} was made with versions {old['versions']}, not {new['versions']}; "
                    f"to go on, {self._remedy()}"
                )
            new["started"] = old["started"]
        self._write_record(new)
        if not self.path.exists():
            self._write({})
        self._stream = self.path.open("a", encoding="utf-8", newline="")

    def append(self, rows: Iterable[tuple[Cell, Mapping[str, Any]]]) -> None:
        """Write the lines of finished cells; they are on their way to the disk on return."""
        assert self._stream is not None
        for cell, values in rows:
            self._stream.write(_line(self._fields(cell, values)))
        self._stream.flush()

    def close(self) -> None:
        """Stop writing."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def complete(self) -> None:
        """Sort the lines by cell, and record when all was finished."""
        self.close()
        lines, _ = self._read()
        self._write(lines)
        record = self._recorded()
        record["protocol"]["runs"] = 1 + max((cell.run for cell in lines), default=-1)
        self._write_record(record | {"finished": _now(), "cells": len(lines)})

    # ----------------------------------------------------------- the CSV file

    def _read(self) -> tuple[dict[Cell, list[str]], bool]:
        """Return the whole lines by cell, and whether there was nothing else."""
        text = self.path.read_bytes().decode("utf-8", errors="replace")
        header, rows, whole = split_table(text)
        if not header:
            return {}, whole
        if tuple(header) != self.columns:
            raise ValueError(
                f"{self.path} has other columns than {self.experiment.name} writes; remove it, or "
                "choose another folder"
            )
        lines: dict[Cell, list[str]] = {}
        for _, row in rows:
            cell = _cell(row) if len(row) == len(self.columns) else None
            if cell is not None:
                lines.setdefault(cell, row)
        return lines, whole and len(lines) == len(rows)

    def _write(self, lines: Mapping[Cell, list[str]]) -> None:
        """Write the file anew, sorted by cell."""
        text = _line(self.columns) + "".join(_line(lines[cell]) for cell in sorted(lines))
        with replacing(self.path) as stream:
            stream.write(text.encode("utf-8"))

    def _fields(self, cell: Cell, values: Mapping[str, Any]) -> list[str]:
        unknown = set(values) - set(self.columns)
        if unknown:
            raise ValueError(f"no column for {sorted(unknown)}; name it in the experiment's extra")
        key = [cell.data, cell.method, f"{cell.constraints:g}", f"{cell.noise:g}"]
        key += [str(cell.run), str(cell.fold)]
        return key + [_number(values.get(column)) for column in self.columns[len(key) :]]

    # ---------------------------------------------------------- the JSON file

    def _description(self, command: str) -> dict[str, Any]:
        packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "protocol": self.experiment.parameters(),
            "seed": self.experiment.seed,
            "versions": {
                "python": platform.python_version(), **packages, "linkfield": __version__,
            },
            "command": command,
            "started": _now(),
            "finished": None,
            "cells": None,
        }  # fmt: skip

    def _check_protocol(self) -> None:
        """Refuse lines that mean something else than those of this experiment."""
        old = self._recorded()
        was = {"seed": old["seed"], **old["protocol"]}
        now = {"seed": self.experiment.seed, **self.experiment.parameters()}
        for name in ("variant", "seed", "folds", "cluster", "draw"):
            if was[name] != now[name]:
                raise ValueError(
                    f"{self.path} was made with {name} = {was[name]}, not {now[name]}; to go on, "
                    f"{self._remedy()}"
                )

    def _recorded(self) -> dict[str, Any]:
        if not self.record.exists():
            raise ValueError(f"{self.path} is there without {self.record.name}: {self._remedy()}")
        found: dict[str, Any] = json.loads(self.record.read_text("utf-8"))
        return found

    def _remedy(self) -> str:
        return f"move {self.path.name} and {self.record.name} away, or choose another folder"

    def _write_record(self, record: Mapping[str, Any]) -> None:
        with replacing(self.record) as stream:
            stream.write((json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode("utf-8"))


def _cell(row: list[str]) -> Cell | None:
    """Return the cell of a line, or None if it is none."""
    try:
        return Cell(row[0], row[1], float(row[2]), float(row[3]), int(row[4]), int(row[5]))
    except ValueError:
        return None


def _number(value: Any) -> str:
    """Return a number as text that reads back the same; nothing for what does not apply."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(int(value)) if isinstance(value, int) else repr(float(value))


def _line(fields: Iterable[str]) -> str:
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerow(fields)
    return stream.getvalue()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
