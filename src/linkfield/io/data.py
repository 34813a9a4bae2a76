"""Data from files, whatever their format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._array_data import read_npy, read_npz, read_svmlight
from ._columns import Wish
from ._csv_data import read_csv
from ._gather import Data
from ._json_data import read_json
from ._parquet_data import read_parquet_data
from .files import check_there, format_of

__all__ = ["Data", "read_data"]

#: How files begin, what they are, and which formats begin so.
_BEGINNINGS = (
    (b"PAR1", "a Parquet file", ("parquet",), "name it .parquet"),
    (b"\x93NUMPY", "a numpy array", ("npy",), "name it .npy"),
    (b"\x1f\x8b", "compressed with gzip", ("gzip",), "add .gz to its name"),
    (b"PK\x03\x04", "a zip archive", ("npz",), "export a workbook as CSV, name arrays .npz"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet", (), "export it as CSV"),
    (b"%PDF", "a PDF document", (), "export the table as CSV"),
    (b"\x89HDF", "an HDF5 file", (), "read .h5ad with anndata and linkfield.io.from_anndata"),
    (b"\xff\xfe", "UTF-16 text", (), "save it as UTF-8"),
    (b"\xfe\xff", "UTF-16 text", (), "save it as UTF-8"),
    (b"\x80", "a pickle, which could run code", (), "write it again as Parquet, CSV or NPY"),
)


def read_data(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str | int] | str | int | None = None,
    exclude: Sequence[str | int] | str | int = (),
    id_column: str | int | None = None,
    label_column: str | int | None = None,
    text_column: str | int | None = None,
    embedding_column: str | int | None = None,
    dtype: Any = np.float64,
    exact: bool = False,
    n_features: int | None = None,
    zero_based: bool | None = None,
) -> Data:
    r"""Read rows to cluster from a file.

    Parameters
    ----------
    path : path
        The ending says what the file is: CSV (``.csv`` with commas or semicolons, ``.tsv`` with
        tabs) with a header line, JSON lines (``.jsonl``, ``.ndjson``), svmlight (``.svm``,
        ``.svmlight``, ``.libsvm``), each also with ``.gz`` after it; Parquet (``.parquet``, which
        needs pyarrow); ``.npy``, which is mapped into memory; ``.npz`` with one array, or one
        called X and beside it ``sample_id``, ``labels`` and ``feature_names``, or a sparse matrix
        of scipy. Text is UTF-8.
    columns : names, optional
        The columns of X, in this order. Patterns such as "gene_*" and positions (from 0) will do.
        By default these are all columns of numbers that have no other part; none if a text or an
        embedding column is named. An empty list reads ids, labels and texts alone, whatever the
        other columns hold: X is None then.
    exclude : names, optional
        Columns that are not read.
    id_column : name, optional
        The ids of the rows, which constraints may name. In an ``.npz`` file also an array.
    label_column : name, optional
        What is known of the rows' classes; empty, missing and -1 mean unknown, and in CSV files
        also NA, N/A, NaN, NULL, None and ?, as for numbers.
    text_column : name, optional
        Texts, to be turned into numbers by TF-IDF or the like.
    embedding_column : name, optional
        A vector for every row: a list in Parquet and JSON; in CSV a JSON list, or numbers with
        spaces between them.
    dtype : float64, float32 or None
        The numbers of X; None keeps float32 where the file has it.
    exact : bool, default False
        Take names as they are: * and ? in them stand for nothing else.
    n_features : int, optional
        How many columns an svmlight file has; without it, as many as occur. Other files say so
        themselves.
    zero_based : bool, optional
        Whether the columns of an svmlight file count from 0; without it, they do if there is a
        column 0.

    Returns
    -------
    Data
        With ``X``, ``sample_id``, ``labels``, ``texts``, ``feature_names``, ``path``,
        ``left_out``, the columns that were passed over, and ``zero_based``.

    Raises
    ------
    FileNotFoundError, ValueError
        In one line that names the file, the place in it and the remedy. Empty cells, NaN and
        infinity in the columns that are read are errors, and so is text: a column counts as
        numbers if at least half of what its first 1,000 lines hold is numbers. A column of numbers
        with decimal commas is refused as well, unless it is excluded.

    Notes
    -----
    A file is read in blocks; little more than X is held in memory. In a CSV file ids and labels
    are integers if all of them are whole numbers ("7", and "7.0" for labels), else text: where
    there is "007" or "1e3", all stay as they are written. In JSON lines, true and 1 are two labels,
    "true" and "1". In an svmlight file the labels are those in front; where these are -1 and 1
    only, both are classes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from linkfield.io import read_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "flowers.csv"
    ...     _ = file.write_text("name,length,width,kind\na,5.1,3.5,x\nb,4.9,3,\n")
    ...     data = read_data(file, id_column="name", label_column="kind")
    >>> data.X
    array([[5.1, 3.5],
           [4.9, 3. ]])
    >>> data.feature_names, data.sample_id.tolist(), data.labels.tolist()
    (['length', 'width'], ['a', 'b'], ['x', None])
    """
    file = Path(path)
    form, packed = format_of(file, arrays=True)
    check_there(file)
    kind = None if dtype is None else np.dtype(dtype)
    if kind not in (None, np.float64, np.float32):
        raise ValueError(f"dtype must be float64, float32 or None; got {dtype!r}")
    if n_features is not None and n_features < 1:
        raise ValueError(f"n_features must be at least 1; got {n_features!r}")
    _check_beginning(file, "gzip" if packed else form)
    wish = Wish(
        None if columns is None else _listed(columns),
        _listed(exclude),
        id_column,
        label_column,
        text_column,
        embedding_column,
        exact,
    )
    if form == "npy":
        return read_npy(file, wish, kind)
    if form == "npz":
        return read_npz(file, wish, kind)
    if form == "svmlight":
        return read_svmlight(file, packed, wish, kind, n_features, zero_based)
    if form == "parquet":
        return read_parquet_data(file, wish, kind)
    if form == "json":
        return read_json(file, packed, wish, kind or np.dtype(np.float64))
    return read_csv(file, form, packed, wish, kind or np.dtype(np.float64))


def _listed(names: Sequence[str | int] | str | int) -> tuple[Any, ...]:
    return (names,) if isinstance(names, str | int) else tuple(names)


def _check_beginning(file: Path, form: str) -> None:
    """Refuse a file that is something other than its ending says."""
    with file.open("rb") as raw:
        start = raw.read(4096)
    for beginning, what, forms, remedy in _BEGINNINGS:
        if start.startswith(beginning) and form not in forms:
            raise ValueError(f"{file} is {what}, which its ending does not say; {remedy}")
    if form in ("csv", "tsv", "json", "svmlight") and b"\0" in start:
        raise ValueError(f"{file} holds binary data, not text; check what it is, and its ending")
    if form == "npy" and start and not start.startswith(b"\x93NUMPY"):
        raise ValueError(f"{file} is no array of numpy; write it again with numpy.save")
    if form in ("npy", "npz", "parquet") and not start:
        raise ValueError(f"{file} is empty; write it again")
    if form == "npz" and not start.startswith(b"PK"):
        raise ValueError(f"{file} is no archive of numpy; write it again with numpy.savez")
