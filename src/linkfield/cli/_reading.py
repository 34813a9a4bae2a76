"""What the commands say about files beyond what the files say themselves."""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._constraint_words import counted
from ._mistakes import Mistake
from ._progress import Teller
from ._request import Request

__all__ = ["check_ids", "check_roles", "describe_data", "how_read", "read_like", "reads_labels"]

#: Names that columns of ids have.
_ID = re.compile(r"(id|.*[_ .-]id|.*[a-z]I[dD]|index|idx|row|key|no|nr)", re.IGNORECASE)

#: Names that columns of classes have, and how many classes they hold at most.
_CLASS = re.compile(
    r"(.*[_ .-])?(labels?|class(es)?|kinds?|targets?|species|categor(y|ies)|clusters?|groups?"
    r"|truth|outcome|diagnosis)([_ .-]?(id|code|no|nr))?|y|y[_ .-]?true",
    re.IGNORECASE,
)
MOST_CLASSES = 50


def reads_labels(path: Path) -> bool:
    """Say whether a format has a place of its own for labels: svmlight."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith((".svm", ".svmlight", ".libsvm"))


def check_roles(ask: Request) -> None:
    """Refuse patterns for columns of ids or texts: the model keeps their names as they are."""
    from ..io import read_data

    roles = {"id_column": ask.id_column, "text_column": ask.text_column}
    roles["embedding_column"] = ask.embedding_column
    odd = {role: name for role, name in roles.items() if name and {"*", "?"} & set(name)}
    for role, name in odd.items():
        more = {} if role == "embedding_column" else {"columns": ()}
        read_data(ask.data, exact=True, **{role: name}, **more)  # type: ignore[arg-type]


def check_ids(data: Any) -> None:
    """Refuse ids that differ in JSON, but not in a table: 7 and "7"."""
    ids = data.sample_id
    if ids is None or ids.dtype != object or len({type(v) for v in ids}) < 2:
        return
    seen: dict[str, Any] = {}
    for name in ids.tolist():
        if str(name) in seen:
            raise Mistake(
                f"{data.path}: the ids {seen[str(name)]!r} and {name!r} are the same in a table of "
                "labels; rename one"
            )
        seen[str(name)] = name


def how_read(ask: Request, data: Any) -> dict[str, Any]:
    """Return what ``predict`` must know of how the rows were read; see :func:`read_like`."""
    unnamed = data.feature_names is None and not ask.directional
    if ask.directional:
        columns = None
    elif unnamed:
        columns = list(ask.columns) or _positions(ask, data.X.shape[1])
    else:
        columns = data.feature_names
    return {
        "columns": columns,
        "exclude": list(ask.exclude) if unnamed and ask.columns else [],
        "exact": not unnamed,
        "id_column": ask.id_column,
        "label_column": ask.label_column,
        "text_column": ask.text_column,
        "embedding_column": ask.embedding_column,
        "dtype": ask.dtype,
        "n_features": _width(ask, data),
        "zero_based": data.zero_based,
    }


def _positions(ask: Request, number: int) -> list[int] | None:
    """Return the columns that were read of an array without names; None is all of them."""
    gone = list(ask.exclude)
    gone += [] if ask.id_column is None else [ask.id_column]
    gone += [] if ask.label_column is None or reads_labels(ask.data) else [ask.label_column]
    # The data are the first so many that nobody took away. (An archive may hold ids and labels as
    # arrays: their names are no positions, and match none.)
    positions = itertools.count()
    left = (j for j in positions if not any(fnmatch.fnmatchcase(str(j), p) for p in gone))
    taken = list(itertools.islice(left, number))
    return taken if gone else None


def _width(ask: Request, data: Any) -> int | None:
    """Return the number of columns of an svmlight file, which others may not fill."""
    from ..io import read_data

    if data.zero_based is None:
        return None
    whole = data if not (ask.columns or ask.exclude or ask.id_column) else read_data(ask.data)
    return int(whole.X.shape[1])


def read_like(file: Path, about: dict[str, Any], *, label_column: str | None = None) -> Any:
    """Read rows as those of the fit were read.

    Parameters
    ----------
    file : Path
    about : dict
        What :func:`how_read` returned at the fit, or what somebody saved with a model.
    label_column : str, optional
        Classes to be read with them.
    """
    from ..io import read_data

    svmlight = reads_labels(file)
    return read_data(
        file,
        columns=about.get("columns"),
        exclude=about.get("exclude") or (),
        id_column=about.get("id_column"),
        label_column=None if svmlight else label_column,
        text_column=about.get("text_column"),
        embedding_column=about.get("embedding_column"),
        dtype=np.dtype(about.get("dtype") or "float64"),
        exact=about.get("exact", True),
        n_features=about.get("n_features") if svmlight else None,
        zero_based=about.get("zero_based") if svmlight else None,
    )


def describe_data(data: Any, tell: Teller, ask: Request) -> None:
    """Say what was read, and what looks like a slip."""
    X = data.X
    if X is None:
        tell.say(f"  {counted(data.n_rows, 'text')}")
    else:
        named = data.feature_names and not ask.directional
        which = f": {_some(data.feature_names)}" if named else ""
        width = counted(X.shape[1], "column")
        tell.say(f"  {counted(data.n_rows, 'row')} of {width}{which}")
    if data.left_out:
        why = "since others were chosen" if ask.directional else "since they hold no numbers"
        tell.say(f"  left out, {why}: {_some(data.left_out)}")
    if ask.directional or not isinstance(X, np.ndarray):
        return
    names = data.feature_names or ()
    plane = {"x", "y"} <= {name.lower() for name in names}  # then y is no class
    for j, name in enumerate(names):
        column = X[:, j]
        if ask.id_column is None and (
            _counts(column) or (_ID.fullmatch(name) and _numbers_rows(column))
        ):
            tell.note(
                f"the column {name!r} counts like any other; if it names the rows, say "
                f"--id-column {name}"
            )
        if name in ask.columns or (plane and name.lower() == "y"):
            continue
        if _CLASS.fullmatch(name) and _numbers_classes(column):
            tell.note(
                f"the column {name!r} counts like any other; if it holds classes, say "
                f"--label-column {name} to go by them, or --exclude {name} to keep them out"
            )


def _some(names: Sequence[str], most: int = 6) -> str:
    """Return names for a line, the first of them if they are many."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def _counts(column: Any) -> bool:
    """Say whether a column counts the rows: each number is the one before, and one."""
    return len(column) > 2 and bool((np.diff(column) == 1).all())


def _numbers_classes(column: Any) -> bool:
    """Say whether a column holds few whole numbers, each several times."""
    if not (column == np.floor(column)).all():
        return False
    return 1 < len(np.unique(column)) <= min(MOST_CLASSES, len(column) // 2)


def _numbers_rows(column: Any) -> bool:
    """Say whether a column holds a different whole number in every row."""
    if not (column == np.floor(column)).all():
        return False
    return len(np.unique(column)) == len(column) > 1
