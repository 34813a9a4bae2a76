"""The stored files of the experiments: where they are, whether they are the right ones."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHECKSUMS", "ENVIRONMENT", "MissingDataError", "data_folder", "find", "read_csv",
           "read_jsonl", "read_npz"]  # fmt: skip

#: The variable that names the folder of the data files.
ENVIRONMENT = "LINKFIELD_DATA"

#: sha256 of every file that is known.
CHECKSUMS = {
    "iris.csv.gz": "4e9747d973d8298c0229b991a854424a787614477079d8b6c52b740060f160f0",
    "wine.csv.gz": "38e8c7ec57e60c3befdd13006336a919d10a370b5e1651427f083aaf3809ed21",
    "wdbc.csv.gz": "9d2d7a2873bfffb80f07b96d023ad24276fb4cef679976cf58d16289fd369889",
    "letter.csv.gz": "227b4d6ea7f44a2877c37d4775db8f66d11fd057390d0a69fa93d70c096398fb",
    "pendigits.csv.gz": "a60cdb2a606f4f8bafd1637cdc93aa86400f53bdd0bf811a9e02302f5821ba17",
    "protein.csv.gz": "09007b16c0e5cac94c1aea03dc63890dd124f82e6169408ffb12bca49e65b332",
    "dermatology.csv.gz": "08ca03fc0bae8db064473097457e29c1e45bb4f43f732425cf8a13e135554ff8",
    "segment.csv.gz": "e54653e6f04fc992cda7e3370106d67fd323875f56b9b199be93cec7145b67df",
    "20newsgroups.jsonl.gz": "7bde81c28137c639dae6e855d06f8166fdb9bc0076ee3e5c5347f5c719f5b6e9",
    "genre7.jsonl.gz": "ebf318e03affe9f33e7b179299cd0fc1d92d2238e6ac3f85125d76b8f96ddb5f",
    "genre_ki04.jsonl.gz": "d9c78638234f0202592afda06f3cce379d26b9a960ffb49548e4e8cad309c910",
    "banking77.csv.gz": "6fbcece7c935afff4770a491c37e7c079ecce60ae8fc1b37d456293e4a228c78",
    "banking77_minilm.npz": "f8fa28f3b23080e3430242a7825ba4ea6569a1308fc6c5e23db46f8f4e50e4d0",
    "mnist_t10k.npz": "96ec6a9c413a1e20a45398cb23275e33c439c12ee65564d4b8ff0a0ef4d64f14",
    "pbmc68k_700.npz": "c0dc533d95e13f88c94948463193dfd0dd4ffadaaefd602806397098839c586e",
}


class MissingDataError(FileNotFoundError):
    """A data set is not there; the message says how to provide it."""


def data_folder(data_dir: str | Path | None = None) -> Path | None:
    """Return the folder of the data files: as given, else LINKFIELD_DATA, else None."""
    given = data_dir or os.environ.get(ENVIRONMENT)
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise MissingDataError(
            f"the data folder {folder} does not exist; set --data (data_dir) or {ENVIRONMENT} to "
            "the folder that holds the files"
        )
    return folder


def find(file: str, data_dir: str | Path | None = None) -> Path:
    """Return the path of a data file, or say how to provide it."""
    folder = data_folder(data_dir)
    if folder is None:
        raise MissingDataError(
            f"{file} is needed: set --data (data_dir) or {ENVIRONMENT} to the folder that holds it"
        )
    path = folder / file
    if not path.is_file():
        raise MissingDataError(
            f"{file} is not in the data folder {folder}; put it there, or set --data (data_dir) or "
            f"{ENVIRONMENT} to the folder that holds it"
        )
    return path


def _verified(path: Path) -> bytes:
    """Return what a file holds, if it is the file that the experiments were made with."""
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != CHECKSUMS[path.name]:
        raise ValueError(
            f"{path} is not the file that the experiments use: its sha256 is {found}, "
            f"expected {CHECKSUMS[path.name]}; fetch it again"
        )
    return content


def _stamp(path: Path) -> tuple[Path, int, int]:
    """Return what changes whenever a file does, so that reading can be remembered by it."""
    state = path.stat()
    return path, state.st_mtime_ns, state.st_size


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of a compressed CSV file."""
    return _csv(*_stamp(path))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the records of a compressed file of JSON lines."""
    return _jsonl(*_stamp(path))


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a numpy archive."""
    return _npz(*_stamp(path))


@lru_cache(maxsize=8)
def _csv(path: Path, modified: int, size: int) -> tuple[list[str], list[list[str]]]:
    text = gzip.decompress(_verified(path)).decode("utf-8")
    header, *lines = csv.reader(io.StringIO(text, newline=""))
    return header, lines


@lru_cache(maxsize=2)
def _jsonl(path: Path, modified: int, size: int) -> list[dict[str, Any]]:
    text = gzip.decompress(_verified(path)).decode("utf-8")
    # Not splitlines(): texts may hold other characters that it takes for ends of lines.
    return [json.loads(line) for line in text.split("\n") if line]


@lru_cache(maxsize=2)
def _npz(path: Path, modified: int, size: int) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(_verified(path)), allow_pickle=False) as archive:
        return dict(archive)
