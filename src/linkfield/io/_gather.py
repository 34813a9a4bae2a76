"""Blocks of a table, gathered into one array that grows in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import readable
from ._cells import as_ids, as_labels, as_vector, shortened
from ._columns import Picked

__all__ = ["Block", "Data", "Defects", "Gather"]


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """What a file holds.

    Attributes
    ----------
    X : array (n, d), CSR array or None
        None where only texts, ids or labels were read.
    sample_id : array (n,) or None
        The id of every row; without, rows are 0..n-1.
    labels : object array (n,) or None
        None where a label is unknown.
    texts : list of str or None
    feature_names : list of str or None
        The names of the columns of X.
    path : Path or None
    left_out : list of str
        Columns that were not read although nobody excluded them: text, dates, vectors.
    zero_based : bool or None
        Whether the columns of an svmlight file count from 0; None for other files.
    """

    X: Any
    sample_id: NDArray[Any] | None
    labels: NDArray[np.object_] | None
    texts: list[str] | None
    feature_names: list[str] | None
    path: Path | None
    left_out: list[str] = field(default_factory=list)
    zero_based: bool | None = None
    _counted: int | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        if self.X is not None:
            return int(self.X.shape[0])
        beside = (self.texts, self.sample_id, self.labels)
        return next((len(v) for v in beside if v is not None), self._counted or 0)

    def __repr__(self) -> str:
        shape = "no numbers" if self.X is None else f"{self.X.shape[1]} columns"
        more = [n for n in ("sample_id", "labels", "texts") if getattr(self, n) is not None]
        return f"Data({', '.join([f'{self.n_rows} rows', shape, *more])})"


@dataclass
class Defects:
    """Counts what an array may not hold, and where the first is."""

    file: Path
    place: str = "line"
    embedding: bool = False
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    first: dict[str, tuple[int, str]] = field(default_factory=dict)

    def check(self, values: NDArray[Any], places: Sequence[int], name: str) -> None:
        """Count what is not finite among the values of a column."""
        if np.isfinite(values).all():
            return
        missing = np.isnan(values)
        for kind, bad in (("missing", missing), ("infinite", np.isinf(values))):
            if bad.any():
                of_kind = self.counts.setdefault(kind, {})
                of_kind[name] = of_kind.get(name, 0) + int(bad.sum())
                here = (int(places[int(bad.argmax())]), name)
                self.first[kind] = min(self.first.get(kind, here), here, key=lambda at: at[0])

    def report(self) -> None:
        """Raise if there were any."""
        for kind, counts in self.counts.items():
            total = sum(counts.values())
            place, column = self.first[kind]
            parts = "entries of the vectors" if self.embedding else "columns"
            many = "" if len(counts) == 1 else f" in {len(counts)} {parts}"
            what = {
                "missing": f"{total:,} empty or NaN cell{'s' * (total > 1)}",
                "infinite": f"{total:,} infinite number{'s' * (total > 1)}",
            }[kind]
            remedy = (
                "fill them in, or drop these rows"
                if self.embedding  # of which no part can be excluded
                else "fill them in, drop these rows, or exclude the "
                f"column{'s' * (len(counts) > 1)} {readable(list(counts))}"
            )
            raise ValueError(
                f"{self.file}: {what} where numbers are needed{many}, the first in {self.place} "
                f"{place}, column {column!r}; {remedy}"
            )


@dataclass
class Block:
    """Some rows of a table: the values of every column that is read."""

    places: Sequence[int]
    numbers: list[NDArray[np.float64]] = field(default_factory=list)
    vectors: NDArray[Any] | None = None
    ids: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    texts: list[Any] = field(default_factory=list)


class Gather:
    """Collects blocks, then gives the data."""

    def __init__(self, file: Path, picked: Picked, dtype: Any, place: str = "line") -> None:
        self.file, self.picked, self.dtype = file, picked, dtype
        self.defects = Defects(file, place, picked.embedding is not None)
        self.n = 0
        self.ids: list[Any] = []
        self.labels: list[Any] = []
        self.texts: list[Any] = []
        self._kept: dict[Any, Any] = {}
        self._X: NDArray[Any] | None = None

    def reserve(self, n_rows: int) -> None:
        """Make room for a known number of rows."""
        if self.picked.numbers:
            self._X = np.empty((n_rows, len(self.picked.numbers)), dtype=self.dtype)

    def add(self, block: Block) -> None:
        """Add rows."""
        n = len(block.places)
        d = len(self.picked.numbers) if block.vectors is None else block.vectors.shape[1]
        if d:
            X = self._room(n, d)
            with np.errstate(over="ignore"):  # too large for float32 becomes infinite, and is found
                if block.vectors is not None:
                    X[:] = block.vectors
                for j, column in enumerate(block.numbers):
                    X[:, j] = column
            self._check(X, block.places)
        self.n += n
        self.ids.extend(block.ids)
        self.texts.extend(block.texts)
        # One object for all equal labels: there are few. True and 1 are not one label.
        self.labels.extend(self._kept.setdefault((type(v), v), v) for v in block.labels)

    def vectors(self, cells: Sequence[Any], places: Sequence[int]) -> NDArray[np.float64]:
        """Return the cells of the embedding column as rows, all of one length."""
        rows = []
        d = None if self._X is None else self._X.shape[1]
        for place, cell in zip(places, cells, strict=True):
            row = as_vector(cell)
            where = f"{self.file}, {self.defects.place} {place}, column {self.picked.embedding!r}"
            if row is None:
                raise ValueError(
                    f"{where}: {shortened(cell)} is no list of numbers; write [0.1, 0.2] or "
                    "numbers with spaces between them, in every row"
                )
            d = d or len(row)
            if len(row) != d:
                raise ValueError(
                    f"{where}: {len(row)} numbers where the rows before have {d}; all must be of "
                    "one length"
                )
            rows.append(row)
        return np.array(rows, dtype=np.float64)

    def _check(self, X: NDArray[Any], places: Sequence[int]) -> None:
        if np.isfinite(X).all():
            return
        for j, name in enumerate(self._names(X.shape[1])):
            self.defects.check(X[:, j], places, name)

    def _names(self, d: int) -> list[str]:
        if self.picked.embedding is None:
            return list(self.picked.numbers)
        return [f"{self.picked.embedding}[{j}]" for j in range(d)]

    def _room(self, n: int, d: int) -> NDArray[Any]:
        """Return the next n rows of the array."""
        if self._X is None:
            self._X = np.empty((max(n, 1024), d), dtype=self.dtype)
        if len(self._X) < self.n + n:
            # In place, as realloc does it: no second copy. Little at a time, for numpy clears the
            # new rows, which makes them count.
            rows = max(self.n + n, len(self._X) + len(self._X) // 8)
            self._X.resize((rows, d), refcheck=False)
        return self._X[self.n : self.n + n]

    def data(self, text_only: bool) -> Data:
        """Return all that was gathered; raise if it has defects."""
        self.defects.report()
        if not self.n:
            raise ValueError(f"{self.file} has no rows; give a file with data")
        picked, X = self.picked, self._X
        if X is not None:
            X.resize((self.n, X.shape[1]), refcheck=False)
        return Data(
            X=X,
            sample_id=as_ids(self.file, self.ids, text_only) if picked.id is not None else None,
            labels=as_labels(self.labels, text_only) if picked.label is not None else None,
            texts=self.texts if picked.text is not None else None,
            feature_names=None if X is None else self._names(X.shape[1]),
            path=self.file,
            left_out=list(picked.left_out),
            _counted=self.n,
        )
