"""Texts as rows of words, by scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TextForm", "body", "word_rows"]


@dataclass(frozen=True)
class TextForm:
    """How texts become rows.

    Parameters
    ----------
    weighting : {"tfidf", "counts"}, default="tfidf"
    norm : {"l2", "l1"} or None, default="l2"
        Length of a row: "l2" suits the cosine, "l1" (a distribution over words) the I-divergence.
    min_df, max_df : int or float, default=3 and 0.15
        A word that is in fewer, or in more, of the texts is left out. Basu et al. 2004 do not say
        theirs; these come near to the sizes of their vocabularies (maths.md 7).
    """

    weighting: str = "tfidf"
    norm: str | None = "l2"
    min_df: int | float = 3
    max_df: int | float = 0.15


def body(message: str) -> str:
    """Return a message of a newsgroup without its header, which names the group."""
    return message.partition("\n\n")[2]


def word_rows(
    texts: Sequence[str], form: TextForm
) -> tuple[Any, tuple[str, ...], NDArray[np.intp]]:
    """Return the rows (CSR), the words, and which texts have any word left.

    Stop words go, and so do words by ``form.min_df`` and ``max_df``; a text that loses all its
    words has no place among the others and no row.
    """
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.preprocessing import normalize

    if form.weighting not in ("tfidf", "counts"):
        raise ValueError(f"weighting must be 'tfidf' or 'counts', got {form.weighting!r}")
    if form.norm not in ("l1", "l2", None):
        raise ValueError(f"norm must be 'l1', 'l2' or None, got {form.norm!r}")
    vectorizer = CountVectorizer(
        stop_words="english",
        min_df=form.min_df,
        max_df=form.max_df,
        token_pattern="[a-zA-Z]{2,}",
        dtype=np.float64,
    )
    X = vectorizer.fit_transform(texts)
    if form.weighting == "tfidf":
        X = TfidfTransformer(norm=None).fit_transform(X)
    if form.norm is not None:
        X = normalize(X, norm=form.norm, copy=False)
    kept = np.flatnonzero(np.diff(X.indptr))
    return X[kept], tuple(vectorizer.get_feature_names_out().tolist()), kept
