"""From what a file holds to the rows that are clustered; the steps travel with the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ._mistakes import Mistake

__all__ = ["SCALES", "Prepared", "prepared_numbers", "prepared_texts", "through"]

SCALES = ("auto", "none", "standard", "robust", "minmax", "unit")

#: With --scale auto columns are standardised if the widest has this many times the spread of the
#: middle one: differences of that size are units, not knowledge.
UNLIKE = 10.0

#: Numbers that a step works on at a time.
BLOCK = 2_000_000


@dataclass
class Prepared:
    """Rows as the clustering sees them, and the fitted steps that made them.

    Attributes
    ----------
    X : array or CSR matrix
    steps : list of (name, transformer)
    scale : str
        The scaling that was done, "none" if there was none.
    feature_names : list of str or None
    """

    X: Any
    steps: list[tuple[str, Any]] = field(default_factory=list)
    scale: str = "none"
    feature_names: list[str] | None = None


def prepared_numbers(
    X: Any, scale: str, names: list[str] | None, *, units_differ: bool
) -> Prepared:
    """Scale numbers in place.

    Parameters
    ----------
    X : array or CSR matrix
        Changed in place, so that no second copy is ever held.
    scale : str
        One of ``SCALES``.
    names : list of str or None
        The names of the columns.
    units_differ : bool
        Whether "auto" may standardise: for columns of a table under squared distances.
    """
    if not sparse.issparse(X) and not X.flags.writeable:
        X = X.copy()  # a memory map that may only be read
    if scale == "auto":
        scale = "standard" if units_differ and _unlike(X) else "none"
    if scale == "none":
        return Prepared(X, feature_names=names)
    scaler = _scaler(scale, sparse.issparse(X))
    if sparse.issparse(X):
        X = sparse.csr_array(scaler.fit_transform(X))
    else:
        _fit_blocks(scaler, X)
        for block in _blocks(X):
            X[block] = scaler.transform(X[block])
    return Prepared(X, [("scale", scaler)], scale, names)


def _scaler(scale: str, is_sparse: bool) -> Any:
    from sklearn import preprocessing

    if scale == "standard":
        return preprocessing.StandardScaler(with_mean=not is_sparse)
    if scale == "robust":
        return preprocessing.RobustScaler(with_centering=not is_sparse)
    if scale == "minmax":
        return preprocessing.MaxAbsScaler() if is_sparse else preprocessing.MinMaxScaler()
    return preprocessing.Normalizer()


def _fit_blocks(scaler: Any, X: Any) -> None:
    """Fit a scaler without copies of all rows, where it can add up blocks."""
    if not hasattr(scaler, "partial_fit"):
        scaler.fit(X)
        return
    for block in _blocks(X):
        scaler.partial_fit(X[block])


def _blocks(X: Any) -> Iterator[slice]:
    size = max(1, BLOCK // max(X.shape[1], 1))
    for start in range(0, X.shape[0], size):
        yield slice(start, start + size)


def _unlike(X: Any) -> bool:
    """Say whether the columns look like different units: one is far wider than most."""
    from sklearn.preprocessing import StandardScaler

    if X.shape[1] < 2:
        return False
    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    if sparse.issparse(X):
        scaler.fit(X)
    else:
        _fit_blocks(scaler, X)
    spread = np.sqrt(scaler.var_[scaler.var_ > 0])
    return bool(len(spread)) and float(spread.max()) > UNLIKE * float(np.median(spread))


def prepared_texts(
    texts: list[str], *, svd: int | None, stop_words: str | None, most: int, dtype: Any, seed: int
) -> Prepared:
    """Turn texts into TF-IDF weights of their words, and these into fewer columns if asked to.

    Parameters
    ----------
    texts : list of str
    svd : int or None
        Number of directions that a truncated singular value decomposition keeps.
    stop_words : {"english"} or None
    most : int
        Words at most, the most frequent ones.
    dtype : numpy dtype
    seed : int
    """
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    # A word that occurs once ties nothing together; with few texts each word counts.
    rare = 2 if len(texts) >= 100 else 1
    words = TfidfVectorizer(
        sublinear_tf=True,
        min_df=rare,
        max_features=most,
        stop_words=stop_words,
        dtype=np.dtype(dtype).type,
    )
    try:
        X: Any = words.fit_transform(texts)
    except ValueError as error:
        raise Mistake(
            f"the texts hold no words to compare ({error}); check --text-column"
        ) from None
    names = [str(name) for name in words.get_feature_names_out()]
    steps: list[tuple[str, Any]] = [("words", words)]
    if svd is not None:
        if svd >= X.shape[1]:
            raise Mistake(
                f"--svd {svd}: the texts have {X.shape[1]} different words; take fewer directions"
            )
        directions = TruncatedSVD(svd, random_state=seed)
        X = directions.fit_transform(X).astype(dtype, copy=False)
        names = [f"direction {k}" for k in range(svd)]
        steps.append(("directions", directions))
    return Prepared(sparse.csr_array(X) if sparse.issparse(X) else X, steps, "none", names)


def through(steps: list[tuple[str, Any]], X: Any) -> Any:
    """Return rows, or texts, after the fitted steps."""
    for _, step in steps:
        X = step.transform(X)
    return sparse.csr_array(X) if sparse.issparse(X) else X
