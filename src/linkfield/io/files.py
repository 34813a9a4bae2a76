"""Files that are either whole or not there, and what their endings mean."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["DELIMITERS", "check_there", "format_of", "need_folder", "need_pyarrow", "replacing"]

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}
_ARRAYS = {
    ".npy": "npy",
    ".npz": "npz",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
DELIMITERS = {"csv": ",", "tsv": "\t"}


def format_of(file: Path, arrays: bool = False) -> tuple[str, bool]:
    """Return the format that a file's ending stands for, and whether it is compressed."""
    packed = file.suffix.lower() == ".gz"
    inner = file.with_suffix("") if packed else file
    known = _FORMATS | (_ARRAYS if arrays else {})
    form = known.get(inner.suffix.lower())
    if form is None or (packed and form in ("parquet", "npy", "npz")):
        more = ", .svm, .svmlight or .libsvm" if arrays else ""
        last = ", .parquet, .npy or .npz" if arrays else ", or .parquet"
        raise ValueError(
            f"{file}: cannot tell the format by this ending; use .csv, .tsv, .jsonl "
            f"or .ndjson{more} (.gz after it compresses){last}"
        )
    return form, packed


def check_there(file: Path) -> None:
    """Raise with the remedy if there is no such file."""
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; give a file in it")
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}; check the path")


def need_folder(file: Path) -> None:
    """Raise with the remedy if there is no folder to put a file into."""
    if not file.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {file.parent}; make it first")
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; give the name of a file")


def need_pyarrow() -> None:
    """Raise with the remedy if pyarrow is not there."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'linkfield[io]', or take CSV or JSON lines"
        ) from None


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Open a new file beside ``file`` that takes its place once all is written."""
    target = file.resolve()  # a link stays a link
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as raw:
            yield raw
        if target.exists():
            shutil.copymode(target, beside)
        os.replace(beside, target)
    except BaseException:
        with suppress(FileNotFoundError):
            beside.unlink()
        raise
