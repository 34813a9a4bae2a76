"""What the commands say about files beyond what the files say themselves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ._progress import Teller

__all__ = ["describe_data", "reads_labels"]

#: Names that columns of ids have.
_ID = re.compile(r"(id|.*[_ .-]id|.*[a-z]I[dD]|index|idx|row|key|no|nr)", re.IGNORECASE)


def reads_labels(path: Path) -> bool:
    """Say whether a format has a place of its own for labels: svmlight."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith((".svm", ".svmlight", ".libsvm"))


def describe_data(data: Any, tell: Teller, id_column: str | None) -> None:
    """Say what was read, and what looks like a slip."""
    X = data.X
    what = "texts" if X is None else f"rows of {X.shape[1]:,} columns"
    tell.say(f"  {data.n_rows:,} {what}")
    if data.left_out and X is not None:
        shown = ", ".join(data.left_out[:8]) + (" and others" if len(data.left_out) > 8 else "")
        tell.say(f"  left out, since they hold no numbers: {shown}")
    if id_column is None and isinstance(X, np.ndarray):
        for j, name in enumerate(data.feature_names or ()):
            if _ID.fullmatch(name) and _numbers_rows(X[:, j]):
                tell.note(
                    f"the column {name!r} counts like any other; if it names the rows, say "
                    f"--id-column {name}"
                )


def _numbers_rows(column: Any) -> bool:
    """Say whether a column holds a different whole number in every row."""
    if not (column == np.floor(column)).all():
        return False
    return len(np.unique(column)) == len(column) > 1
