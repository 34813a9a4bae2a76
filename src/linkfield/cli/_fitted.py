"""What ``linkfield fit`` wrote, read back: the model, its rows, what it was told."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..constraints import Constraints
from ._mistakes import Mistake
from ._outputs import check_width, load_model, read_classes, read_record
from ._reading import read_like

__all__ = ["Saved", "opened"]


def opened(source: Path, data: Path | None, constraints: Path | None) -> Saved:
    """Load a model: a folder that ``linkfield fit`` wrote, or a model.skops.

    Parameters
    ----------
    source : Path
    data : Path or None
        The rows of the fit, if they are not where they were.
    constraints : Path or None
        Other constraints than those of the fit.
    """
    if not source.exists():
        raise Mistake(f"{source} does not exist; give a folder that `linkfield fit` wrote")
    model, about = load_model(source)
    folder = source if source.is_dir() else None
    if folder is None and (source.parent / "run.json").exists():
        folder = source.parent
    return Saved(source, model, about, folder, data, constraints)


@dataclass
class Saved:
    """A fitted model with what lies beside it.

    Attributes
    ----------
    source : Path
    model : Pipeline
    about : dict
        How its rows were read.
    folder : Path or None
        Where the other files of the fit are.
    data, constraints : Path or None
        What the user named.
    truth : str or None
        A column of true classes to be read with the rows.
    """

    source: Path
    model: Any
    about: dict[str, Any]
    folder: Path | None
    data: Path | None
    constraints: Path | None
    truth: str | None = None

    @property
    def step(self) -> Any:
        """The clustering step."""
        return self.model[-1] if hasattr(self.model, "steps") else self.model

    @cached_property
    def run(self) -> dict[str, Any]:
        """The record of the fit; empty if there is none."""
        return {} if self.folder is None else read_record(self.folder)

    # ------------------------------------------------------------------ rows

    @property
    def has_rows(self) -> bool:
        """Whether the rows of the fit are at hand."""
        return self.data is not None or self._where() is not None

    def _where(self) -> Path | None:
        """Return where the fit read its rows, if that file is there."""
        path = self.run.get("input", {}).get("path")
        if path is None:
            return None
        # The path is as it was given then; from elsewhere it may lead on from the folder.
        beside = [] if self.folder is None else [self.folder / path, self.folder.parent / path]
        return next((p for p in (Path(path), *beside) if p.is_file()), None)

    @cached_property
    def rows(self) -> Any:
        """The rows of the fit as they were read (:class:`linkfield.io.Data`)."""
        file = self.data or self._where()
        if file is None:
            path = self.run.get("input", {}).get("path")
            gone = f"{path}, the data of the fit, is not there" if path else "the rows are needed"
            raise Mistake(f"{gone}; say --data FILE")
        if self.data is None:
            self._check_unchanged(file)
        data = read_like(file, self.about, label_column=self.truth)
        n = len(self.step.labels_)
        if data.n_rows != n:
            raise Mistake(f"{file} has {data.n_rows:,} rows, the fit had {n:,}; give its very rows")
        return data

    def _check_unchanged(self, file: Path) -> None:
        from ._record import file_facts

        then = self.run["input"]
        if then.get("bytes") != file.stat().st_size or then["sha256"] != file_facts(file)["sha256"]:
            raise Mistake(f"{file} has changed since the fit; fit again, or say --data FILE")

    @cached_property
    def X(self) -> Any:
        """The rows as the clustering step sees them."""
        from ._preparation import through

        data, steps = self.rows, list(getattr(self.model, "steps", [("cluster", self.model)]))
        X = data.X if data.texts is None else np.array(data.texts, dtype=object)
        if data.texts is None:
            check_width(steps[0][1], X, self.about)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of names, which were checked in reading
            return through(steps[:-1], X)

    @property
    def feature_names(self) -> list[str] | None:
        """What the features are called; None where nobody knows."""
        from ..plots.reading import feature_names_of

        d = int(self.step.n_features_in_)
        columns = self.about.get("columns") or []
        named = all(isinstance(name, str) for name in columns)  # not positions in an array
        if named and len(columns) == d and self.about.get("text_column") is None:
            return list(columns)
        return feature_names_of(self.model, None, d)

    @cached_property
    def ids(self) -> Any:
        """The id of every row; None where rows are 0, 1, 2, ..."""
        named = self.about.get("id_column") is not None
        # Only JSON tells the id 7 from the id "7", and the table of labels is CSV.
        plain = self.folder is not None and not (self.folder / "constraints.jsonl").exists()
        table = None if self.folder is None else self.folder / "labels.csv"
        if not named:
            return None
        if "rows" in self.__dict__ or not plain or table is None or not table.exists():
            return self.rows.sample_id
        from ..io import read_data

        return read_data(table, columns=(), id_column="id").sample_id

    # ------------------------------------------------------------- knowledge

    @cached_property
    def known(self) -> Constraints:
        """The constraints: those that were named, else those of the fit."""
        from ._knowledge import read_knowledge

        n, file = len(self.step.labels_), self.constraints
        if file is None and self.folder is not None:
            kept = [self.folder / f"constraints.{ending}" for ending in ("csv", "jsonl")]
            file = next((path for path in kept if path.exists()), None)
        labels = None if self.constraints is not None else self._labels()
        if file is None and labels is None:
            raise Mistake(f"there are no constraints beside {self.source}; say --constraints FILE")
        found = read_knowledge([] if file is None else [file], None, labels, self.ids, n)
        pairs = found.all_pairs(self.ids)
        assert pairs is not None
        return pairs

    @property
    def has_known(self) -> bool:
        """Whether there are constraints at all."""
        try:
            return bool(len(self.known.tied_rows()))
        except Mistake:
            if self.constraints is not None:
                raise
            return False

    def _labels(self) -> Any:
        """Return the labels that the fit was given, where it read them as pairs."""
        file = None if self.folder is None else self.folder / "known_labels.csv"
        apart = getattr(self.step, "label_reading", "absolute") == "absolute"
        if file is None or not file.exists() or apart:
            return None
        given = read_classes(file, "id", "label")
        names = range(len(self.step.labels_)) if self.ids is None else self.ids
        return np.array([given.get(str(name)) for name in names], dtype=object)
