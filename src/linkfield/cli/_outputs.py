"""What fit wrote, read again by the commands that go on from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._mistakes import Mistake

__all__ = [
    "Clusters",
    "as_text",
    "check_width",
    "load_model",
    "read_classes",
    "read_clusters",
    "read_record",
]


class Clusters(NamedTuple):
    """The ids of rows, as text, and their clusters."""

    ids: NDArray[np.object_]
    cluster: NDArray[np.int64]


def load_model(model: Path) -> tuple[Any, dict[str, Any]]:
    """Return the model and what is known of its making."""
    from ..io import load, read_about

    file = model / "model.skops" if model.is_dir() else model
    if model.is_dir() and not file.exists():
        raise Mistake(f"{model} holds no model.skops; give a folder that `linkfield fit` wrote")
    about = read_about(file)
    return load(file), about


def check_width(first: Any, X: Any, about: dict[str, Any]) -> None:
    """Refuse rows of another width than the model's; formats without names cannot say more."""
    wanted = getattr(first, "n_features_in_", X.shape[1])
    if X.shape[1] != wanted:
        raise Mistake(
            f"the model was made with {wanted} columns, and the data has {X.shape[1]}; give the "
            f"same columns as in {about.get('data', 'the fit')}"
        )


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of a fit, empty if there is none."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def read_clusters(labels: Path) -> Clusters:
    """Read the table of labels."""
    from ..io import read_data

    file = labels / "labels.csv" if labels.is_dir() else labels
    if labels.is_dir() and not file.exists():
        raise Mistake(f"{labels} holds no labels.csv; give a folder that `linkfield fit` wrote")
    data = read_data(file, columns=(), id_column="id", label_column="cluster")
    assert data.labels is not None and data.sample_id is not None
    if any(not isinstance(k, int) for k in data.labels):
        raise Mistake(f"{file}: the column 'cluster' must hold a whole number in every row")
    return Clusters(as_text(data.sample_id), np.array(data.labels.tolist(), dtype=np.int64))


def read_classes(truth: Path, id_column: str | None, label_column: str) -> dict[str, Any]:
    """Return the class of every row that has one, by its id."""
    from ..io import read_data
    from ._reading import reads_labels

    in_front = reads_labels(truth)  # svmlight: classes stand in front of every row
    data = read_data(
        truth, columns=(), id_column=id_column, label_column=None if in_front else label_column
    )
    assert data.labels is not None
    rows = range(len(data.labels))
    ids = [str(k) for k in rows] if data.sample_id is None else as_text(data.sample_id).tolist()
    return {i: c for i, c in zip(ids, data.labels.tolist(), strict=True) if c is not None}


def as_text(ids: Any) -> NDArray[np.object_]:
    """Return ids as text: 7 in one file and "7" in another are the same row."""
    out = np.empty(len(ids), dtype=object)
    out[:] = [str(v) for v in ids.tolist()]
    return out
