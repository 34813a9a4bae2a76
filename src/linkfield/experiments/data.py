"""The data sets of the experiments, by name.

The files are looked for in a data directory, given as an argument or by the variable
LINKFIELD_DATA, and their checksums are verified. Without one there are the sets that scikit-learn
bundles: iris, wine, wdbc, digits. Nothing is ever downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._files import (
    ENVIRONMENT,
    MissingDataError,
    data_folder,
    find,
    read_csv,
    read_jsonl,
    read_npz,
)
from ._text import TextForm, body, word_rows

__all__ = ["NEWS", "DataSet", "MissingDataError", "TextForm", "load", "names", "require"]

IntArray = NDArray[np.int64]

#: Newsgroups of the three subsets of Basu et al. 2004, 4.1; 100 messages each.
NEWS = {
    "news-different-3": ("alt.atheism", "rec.sport.baseball", "sci.space"),
    "news-related-3": ("talk.politics.guns", "talk.politics.mideast", "talk.politics.misc"),
    "news-similar-3": ("comp.graphics", "comp.os.ms-windows.misc", "comp.windows.x"),
}


@dataclass(frozen=True)
class DataSet:
    """Rows and their classes.

    Attributes
    ----------
    name : str
    X : array or CSR matrix of shape (n_rows, n_features)
    y : int array of shape (n_rows,)
        The class of every row, as a position in ``label_names``.
    label_names : tuple of str
        The classes, sorted.
    feature_names : tuple of str
        Empty where the features have no names.
    """

    name: str
    X: Any
    y: IntArray
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...] = ()

    @property
    def n_clusters(self) -> int:
        """Number of classes."""
        return len(self.label_names)


@dataclass(frozen=True)
class _Raw:
    """Rows of numbers, or texts, with the names of their classes."""

    rows: NDArray[Any] | Sequence[str]
    labels: Sequence[str]
    features: tuple[str, ...] = ()


def load(
    name: str,
    data_dir: str | Path | None = None,
    *,
    sample: float | int | None = None,
    seed: int = 0,
    text: TextForm | None = None,
) -> DataSet:
    """Return a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`; upper and lower case are the same ("Letter-IJL").
    data_dir : path, optional
        The folder of the files; by default what LINKFIELD_DATA says.
    sample : float or int, optional
        Take only this share of the rows, or this many of them, drawn by ``seed`` whatever their
        class.
    seed : int, default=0
    text : TextForm, optional
        How texts become rows; by default TF-IDF, rows of length 1.

    Examples
    --------
    >>> from linkfield.experiments.data import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.label_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    """
    raw = _entry(name).read(data_dir)
    keep = _sampled(len(raw.labels), sample, seed)
    features = raw.features
    if isinstance(raw.rows, np.ndarray):
        X = raw.rows[keep]
    else:
        X, features, filled = word_rows([raw.rows[k] for k in keep], text or TextForm())
        keep = keep[filled]
    label_names, y = np.unique(np.asarray(raw.labels), return_inverse=True)
    return DataSet(name, X, y[keep].astype(np.int64), tuple(label_names.tolist()), features)


def names() -> tuple[str, ...]:
    """Return the names of all data sets."""
    return tuple(_SETS)


def require(name: str, data_dir: str | Path | None = None) -> None:
    """Raise :class:`MissingDataError` if a data set is not there."""
    entry = _entry(name)
    folder = data_folder(data_dir)
    if entry.bundled is None:
        find(entry.file, folder)
    elif folder is None or not (folder / entry.file).is_file():
        entry.bundled()  # quick where it is missing


def _sampled(n: int, sample: float | int | None, seed: int) -> NDArray[np.intp]:
    """Return the rows of a sample, in their order."""
    if sample is None:
        return np.arange(n)
    size = round(sample * n) if isinstance(sample, float) else sample
    if not 1 <= size <= n:
        raise ValueError(f"sample={sample!r} asks for {size} of {n} rows; take 1 to {n}")
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


# ------------------------------------------------------------------ the sets


@dataclass(frozen=True)
class _Entry:
    """Where a set comes from: a file and how to read it, or what scikit-learn has."""

    file: str
    parse: Callable[[Path], _Raw]
    bundled: Callable[[], _Raw] | None = None

    def read(self, data_dir: str | Path | None) -> _Raw:
        """Read the file; without a data folder, or where it lacks the file, the bundled set."""
        if self.bundled is None:
            return self.parse(find(self.file, data_dir))
        folder = data_folder(data_dir)
        if folder is None or not (folder / self.file).is_file():
            return self.bundled()
        return self.parse(folder / self.file)


def _entry(name: str) -> _Entry:
    entry = _SETS.get(name.lower())
    if entry is None:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(_SETS)}")
    return entry


def _table(
    drop: tuple[str, ...] = (), classes: tuple[str, ...] | None = None
) -> Callable[[Path], _Raw]:
    """Return a reader of a table: without some columns, or with some classes only."""

    def parse(path: Path) -> _Raw:
        header, lines = read_csv(path)
        columns = [k for k, column in enumerate(header[:-1]) if column not in drop]
        if classes is not None:
            lines = [line for line in lines if line[-1] in classes]
        values = np.array([[line[k] for k in columns] for line in lines]).astype(np.float64)
        return _Raw(values, [line[-1] for line in lines], tuple(header[k] for k in columns))

    return parse


def _banking_texts(path: Path) -> _Raw:
    _, lines = read_csv(path)
    return _Raw([line[0] for line in lines], [line[-1] for line in lines])


def _archive(rows: str = "X", scale: float | None = None) -> Callable[[Path], _Raw]:
    """Return a reader of an archive: the array of this name, divided by ``scale``."""

    def parse(path: Path) -> _Raw:
        arrays = read_npz(path)
        X = arrays[rows].astype(np.float32)
        if scale is not None:
            X /= np.float32(scale)
        label_names = arrays.get("label_names", np.arange(arrays["y"].max() + 1))
        return _Raw(X, label_names.astype(str)[arrays["y"]].tolist())

    return parse


def _genres(path: Path) -> _Raw:
    # The tool that made text of HTML left NUL characters in some.
    records = read_jsonl(path)
    return _Raw([r["text"].replace("\0", " ") for r in records], [r["group"] for r in records])


def _newsgroups(groups: tuple[str, ...] | None = None) -> Callable[[Path], _Raw]:
    """Return a reader of message bodies: all, or the 100 of UCI's sample from some groups."""

    def parse(path: Path) -> _Raw:
        records = read_jsonl(path)
        if groups is not None:
            records = [r for r in records if r["mini"] and r["group"] in groups]
        return _Raw([body(r["text"]) for r in records], [r["group"] for r in records])

    return parse


def _bundled(function: str) -> Callable[[], _Raw]:
    """Return a reader of a set that comes with scikit-learn."""

    def read() -> _Raw:
        from sklearn import datasets

        found = getattr(datasets, function)()
        classes = np.asarray(found.target_names).astype(str)[found.target]
        features = tuple(str(name).replace(" ", "_") for name in found.feature_names)
        return _Raw(np.array(found.data, dtype=np.float64), classes.tolist(), features)

    return read


def _fetched(groups: tuple[str, ...] | None = None) -> Callable[[], _Raw]:
    """Return a reader of scikit-learn's own copy of 20 Newsgroups, if it has been fetched.

    That copy does not mark UCI's sample, so 100 messages of every group are drawn once and for all.
    """

    def read() -> _Raw:
        from sklearn.datasets import fetch_20newsgroups

        try:
            found = fetch_20newsgroups(
                subset="all", remove=("headers",), categories=groups and list(groups),
                download_if_missing=False,
            )  # fmt: skip
        except OSError:
            raise MissingDataError(
                f"20newsgroups.jsonl.gz is needed: set --data (data_dir) or {ENVIRONMENT} to the "
                "folder that holds it, or fetch it by sklearn.datasets.fetch_20newsgroups()"
            ) from None
        labels = np.asarray(found.target_names)[found.target]
        rows = np.arange(len(labels))
        if groups is not None:
            rng = np.random.default_rng(20)
            parts = [np.flatnonzero(labels == g) for g in groups]
            rows = np.sort(np.concatenate([rng.choice(p, 100, replace=False) for p in parts]))
        return _Raw([found.data[k] for k in rows], labels[rows].tolist())

    return read


_SETS = {
    "iris": _Entry("iris.csv.gz", _table(), _bundled("load_iris")),
    "wine": _Entry("wine.csv.gz", _table(), _bundled("load_wine")),
    "wdbc": _Entry("wdbc.csv.gz", _table(), _bundled("load_breast_cancer")),
    "digits": _Entry("", _table(), _bundled("load_digits")),
    "letter": _Entry("letter.csv.gz", _table()),
    "letter-ijl": _Entry("letter.csv.gz", _table(classes=("I", "J", "L"))),
    "pendigits": _Entry("pendigits.csv.gz", _table()),
    "digits-389": _Entry("pendigits.csv.gz", _table(classes=("3", "8", "9"))),
    "protein": _Entry("protein.csv.gz", _table()),
    "derm": _Entry("dermatology.csv.gz", _table(drop=("age",))),
    "image": _Entry("segment.csv.gz", _table(drop=("region-pixel-count",))),
    "20newsgroups": _Entry("20newsgroups.jsonl.gz", _newsgroups(), _fetched()),
    **{
        name: _Entry("20newsgroups.jsonl.gz", _newsgroups(groups), _fetched(groups))
        for name, groups in NEWS.items()
    },
    "genre7": _Entry("genre7.jsonl.gz", _genres),
    "genre_ki04": _Entry("genre_ki04.jsonl.gz", _genres),
    "banking77": _Entry("banking77_minilm.npz", _archive()),
    "banking77-texts": _Entry("banking77.csv.gz", _banking_texts),
    "mnist": _Entry("mnist_t10k.npz", _archive(scale=255.0)),
    "pbmc68k": _Entry("pbmc68k_700.npz", _archive("X_pca")),
}
