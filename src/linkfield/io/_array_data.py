"""Data from NPY, NPZ and svmlight files: arrays whose columns have numbers for names."""

from __future__ import annotations

import gzip
import itertools
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..constraints import readable
from ._cells import as_ids, as_labels
from ._columns import Picked, Wish, check_single, pick
from ._gather import Data, Defects

__all__ = ["read_npy", "read_npz", "read_svmlight"]

#: Rows that are checked at once.
PIECE = 65_536
_SPARSE = {"csr", "csc", "coo", "bsr", "dia"}
_ROW = re.compile(rb"\s*[^\s:]+(\s+(qid:\d+|\d+:[^\s:]+))*\s*(#.*)?")


def read_npy(file: Path, wish: Wish, dtype: Any) -> Data:
    """Read an array; it stays on disk, mapped into memory, if all of it is taken as it is."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(_unreadable(file, error)) from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{file} is not one array; name it .npz if it is an archive of several")
    return _chosen(file, array, wish, dtype)


def _unreadable(file: Path, error: Exception) -> str:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "allow_pickle" in reason or "Python objects" in reason:
        return (
            f"{file} holds Python objects, which are pickled and could run code; save an array of "
            "numbers, or of text with .astype(str)"
        )
    return f"{file} is no whole array file ({reason}); write it again with numpy.save"


# --------------------------------------------------------------------- NPZ


def read_npz(file: Path, wish: Wish, dtype: Any) -> Data:
    """Read an archive of arrays, or a sparse matrix as ``scipy.sparse.save_npz`` writes it."""
    try:
        # numpy leaves a file open that it cannot read.
        with file.open("rb") as raw, np.load(raw, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array; name it .npy")
            names = list(archive)
            if wish.no_numbers and _all_beside(names, wish):
                return _only_beside(file, archive, names, wish)
            if "format" in names and "shape" in names:
                raw.seek(0)
                X = sparse.load_npz(raw)
                return _chosen(file, X, wish, dtype, _beside(archive, names, wish, "", X))
            name = _main(file, archive, names, wish)
            X = archive[name]
            if not isinstance(X, np.ndarray):
                raise ValueError(f"{name} in it is no array")
            return _chosen(file, X, wish, dtype, _beside(archive, names, wish, name, X))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError, NotImplementedError) as e:
        raise ValueError(_unreadable(file, e)) from None
    except ValueError as error:
        if str(file) in str(error):
            raise
        raise ValueError(_unreadable(file, error)) from None


def _main(file: Path, archive: Any, names: list[str], wish: Wish) -> str:
    """Return the name of the array that holds the data."""
    if "X" in names:
        return "X"
    others = {"sample_id", "labels", "feature_names", wish.id_column, wish.label_column}
    left = [name for name in names if name not in others]
    if len(left) == 1:
        return left[0]
    raise ValueError(
        f"{file} holds the arrays {readable(names, 10)}; call the one with the data X"
        if names
        else f"{file} holds no array; write it again with numpy.savez"
    )


def _all_beside(names: list[str], wish: Wish) -> bool:
    """Whether ids and labels are arrays of their own, so that the data need not be read."""
    asked = [name for name in (wish.id_column, wish.label_column) if name is not None]
    there = {"sample_id", "labels"} & set(names)
    return not wish.exclude and all(name in names for name in asked) and bool(asked or there)


def _only_beside(file: Path, archive: Any, names: list[str], wish: Wish) -> Data:
    _refuse_roles(file, wish)
    found: list[list[Any] | None] = []
    for name in (wish.id_column or "sample_id", wish.label_column or "labels"):
        values = archive[name] if name in names else None
        if values is not None and values.ndim != 1:
            raise ValueError(
                f"{file}: {name} has the shape {values.shape}; it needs one value a row"
            )
        found.append(None if values is None else values.tolist())
    ids, labels = found
    if ids is not None and labels is not None and len(ids) != len(labels):
        raise ValueError(f"{file}: {len(ids)} ids and {len(labels)} labels; every row needs both")
    return Data(
        X=None,
        sample_id=None if ids is None else as_ids(file, ids, text_only=False),
        labels=None if labels is None else as_labels(labels),
        texts=None,
        feature_names=None,
        path=file,
    )


def _beside(archive: Any, names: list[str], wish: Wish, main: str, X: Any) -> dict[str, Any]:
    """Return what stands beside the data: ids, labels, names of columns."""
    asked = {"sample_id": wish.id_column, "labels": wish.label_column, "feature_names": None}
    found = {}
    for role, name in asked.items():
        name = name if name in names and name != main else role
        if name in names and name != main:
            found[role] = archive[name]
            axis = 1 if role == "feature_names" else 0
            if found[role].shape != (X.shape[axis] if X.ndim == 2 else -1,):
                raise ValueError(
                    f"{name} has the shape {found[role].shape} and X {X.shape}; it needs one value "
                    f"a {'column' if axis else 'row'}"
                )
            found[role] = found[role].tolist()
    for role, name in (("sample_id", wish.id_column), ("labels", wish.label_column)):
        if name is not None and name in names and role in found:
            found[f"{role} named"] = True
    return found


# ---------------------------------------------------------------- svmlight


def read_svmlight(
    file: Path,
    packed: bool,
    wish: Wish,
    dtype: Any,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Data:
    """Read an svmlight file as a sparse matrix; -1 and 1 alone are two classes."""
    from sklearn.datasets import load_svmlight_file

    if file.stat().st_size == 0:
        raise ValueError(f"{file} is empty; it needs a line 'label column:value ...' for every row")
    try:
        X, y = load_svmlight_file(str(file), dtype=dtype or np.float64, zero_based=True)
    except (ValueError, OverflowError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(_blamed(file, packed, error)) from None
    if not X.shape[0]:
        raise ValueError(f"{file} has no rows; give a file with data")
    first = int(X.indices.min(initial=X.shape[1])) if X.nnz else 0
    if zero_based is None:
        zero_based = first == 0
    X = _as_wide(file, X, first, n_features, zero_based)
    labels = as_labels(y.tolist())
    if np.abs(y).max() >= 2**53:  # where not every whole number is a float
        labels = as_labels(_labels_in_front(file, packed), text_only=True)
    if set(np.unique(y)) == {-1.0, 1.0}:
        labels[:] = y.astype(int).tolist()
    found = _chosen(file, X, wish, dtype, {"labels": labels})
    if wish.label_column is None:
        found = replace(found, labels=labels)
    return replace(found, zero_based=zero_based)


def _labels_in_front(file: Path, packed: bool) -> list[str]:
    """Return the labels of an svmlight file as they are written."""
    with gzip.open(file) if packed else file.open("rb") as raw:
        rows = (line.split(b"#")[0].split(maxsplit=1) for line in raw)
        return [row[0].decode() for row in rows if row]


def _as_wide(file: Path, X: Any, first: int, n_features: int | None, zero_based: bool) -> Any:
    """Return the columns counted from 0, as many as asked for."""
    if not zero_based and X.nnz:
        if first == 0:
            raise ValueError(
                f"{file} has a column 0, but its columns should count from 1; write it as the "
                "other files were written"
            )
        X = X[:, 1:]
    if n_features is None or X.shape[1] == n_features:
        return X
    if X.nnz and X.shape[1] > n_features:
        last = X.shape[1] - zero_based
        raise ValueError(
            f"{file} has a column {last}, but only {n_features} columns are known; leave out those "
            f"after {n_features - zero_based}"
        )
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))


def _blamed(file: Path, packed: bool, error: Exception) -> str:
    """Say which line of an svmlight file cannot be read."""
    try:
        with gzip.open(file) if packed else file.open("rb") as raw:
            for number, line in enumerate(raw, 1):
                if line.split(b"#")[0].strip() and not _good(line):
                    shown = line.strip()[:40].decode(errors="replace")
                    return (
                        f"{file}, line {number}: {shown!r} is not 'label column:value ...' with "
                        "columns in rising order; correct it"
                    )
    except (OSError, EOFError, zlib.error) as damage:
        return f"{file} is not a whole gzip file ({damage}); write it again"
    return f"{file} is no svmlight file ({str(error).splitlines()[0]}); correct it"


def _good(line: bytes) -> bool:
    if not _ROW.fullmatch(line):
        return False
    label, *pairs = line.split(b"#")[0].split()
    pairs = [p for p in pairs if not p.startswith(b"qid:")]
    try:
        float(label)
        at = [int(p.split(b":")[0]) for p in pairs]
        for p in pairs:
            float(p.split(b":")[1])
    except ValueError:
        return False
    return all(a < b for a, b in itertools.pairwise(at))


# ----------------------------------------------------------------- columns


def _chosen(
    file: Path, X: Any, wish: Wish, dtype: Any, beside: dict[str, Any] | None = None
) -> Data:
    """Check an array and take its columns, by name or by position."""
    beside = dict(beside or {})
    _check_array(file, X, any_type=wish.no_numbers)
    _refuse_roles(file, wish)
    if beside.pop("sample_id named", False):
        wish = replace(wish, id_column=None)
    if beside.pop("labels named", False):
        wish = replace(wish, label_column=None)
    given = beside.get("feature_names")
    names = [str(j) for j in range(X.shape[1])] if given is None else [str(v) for v in given]
    every = wish in (Wish(), Wish(exact=True))
    picked = Picked(tuple(names)) if every else pick(file, names, _textual(wish), lambda _: True)
    check_single(file, names, picked)
    at = {name: j for j, name in enumerate(names)}
    data = None
    if not wish.no_numbers:
        data = X if every else _taken(X, [at[name] for name in picked.numbers])
        data = _converted(data, dtype)
        _check_finite(file, data, picked.numbers)
    ids, labels = beside.get("sample_id"), beside.get("labels")
    if picked.id is not None:
        ids = _column(X, at[picked.id])
    if picked.label is not None:
        labels = _column(X, at[picked.label])
    return Data(
        X=data,
        sample_id=None if ids is None else as_ids(file, ids, text_only=False),
        labels=None if labels is None else as_labels(labels),
        texts=None,
        feature_names=None if given is None or data is None else list(picked.numbers),
        path=file,
        left_out=list(picked.left_out),
        _counted=X.shape[0],
    )


def _refuse_roles(file: Path, wish: Wish) -> None:
    if wish.text_column is not None or wish.embedding_column is not None:
        raise ValueError(
            f"{file} is an array: it has no text and no embedding column; all its columns are data"
        )


def _textual(wish: Wish) -> Wish:
    """Return the wish with positions as text, which is what the columns are called."""

    def named(value: Any) -> Any:
        return str(value) if isinstance(value, int) else value

    return Wish(
        None if wish.columns is None else tuple(map(named, wish.columns)),
        tuple(map(named, wish.exclude)),
        named(wish.id_column),
        named(wish.label_column),
        exact=wish.exact,
    )


def _check_array(file: Path, X: Any, any_type: bool = False) -> None:
    if X.dtype.kind not in ("biufUS" if any_type else "biuf"):
        what = "a table with named fields" if X.dtype.names else f"values of type {X.dtype}"
        raise ValueError(f"{file} holds {what} where numbers are needed; save an array of numbers")
    if X.ndim != 2:
        raise ValueError(
            f"{file} holds an array of shape {X.shape}; it needs rows and columns, for one column "
            "use reshape(-1, 1)"
        )
    if not X.shape[0] or not X.shape[1]:
        raise ValueError(f"{file} has no rows or no columns (shape {X.shape}); give one with data")


def _taken(X: Any, at: Sequence[int]) -> Any:
    return sparse.csc_array(X)[:, at] if sparse.issparse(X) else X[:, at]


def _column(X: Any, at: int) -> list[Any]:
    column = sparse.csc_array(X)[:, [at]].toarray().ravel() if sparse.issparse(X) else X[:, at]
    return list(column.tolist())


def _converted(X: Any, dtype: Any) -> Any:
    """Return numbers of the type asked for, sparse ones by row."""
    if dtype is None:
        dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    with np.errstate(over="ignore"):
        if sparse.issparse(X):
            return sparse.csr_array(X).astype(dtype, copy=False)
        return X if X.dtype == dtype else np.asarray(X, dtype=dtype)


def _check_finite(file: Path, X: Any, names: Sequence[str]) -> None:
    defects = Defects(file, place="row")
    if sparse.issparse(X):
        if not np.isfinite(X.data).all():
            coo = X.tocoo()
            row, column = coo.coords
            for k in np.flatnonzero(~np.isfinite(coo.data)):
                defects.check(coo.data[[k]], [int(row[k])], names[int(column[k])])
    else:
        for start in range(0, len(X), PIECE):
            piece = np.asarray(X[start : start + PIECE])
            if not np.isfinite(piece).all():
                for j, name in enumerate(names):
                    defects.check(piece[:, j], range(start, start + len(piece)), name)
    defects.report()
