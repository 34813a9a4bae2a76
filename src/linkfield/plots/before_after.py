"""Two clusterings of the same rows side by side, as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._random import as_generator
from ..constraints import Constraints
from ._coordinates import plane_of
from ._figures import save
from ._fitted import as_codes
from ._links import links_of
from ._matching import matched_labels
from .partition import PartitionDisplay

__all__ = ["before_after", "main_plane"]

FloatArray = NDArray[np.float64]


def main_plane(X: Any, weights: FloatArray | None = None) -> FloatArray:
    """Project rows on the two directions of largest spread under feature weights (PCA)."""
    Z = np.asarray(X, np.float64)
    return plane_of(Z if weights is None else Z * np.sqrt(weights), 0)


def before_after(
    X: Any,
    before: Any,
    after: Any,
    constraints: Constraints,
    path: str | os.PathLike[str],
    *,
    weights: FloatArray | None = None,
    titles: tuple[str, str] = ("before", "after"),
    truth: Any = None,
) -> Path:
    """Draw two clusterings of the same rows side by side, with the constraints on the second.

    Parameters
    ----------
    X : array (n, d)
    before, after : int arrays (n,)
    constraints : Constraints
        Must-links are drawn solid, cannot-links dashed, violated ones red.
    path : path-like
        Where the picture goes (.png, .svg or .pdf); a file there is replaced only by a whole one.
    weights : array (d,), optional
        Feature weights of the plane that both pictures are drawn in.
    titles : pair of str
    truth : int array (n,), optional
        True classes, drawn as the shape of the points; colours are clusters.
    """
    n = len(X)
    before = as_codes(before, n, "before")[0]
    after = matched_labels(as_codes(after, n, "after")[0], before)
    constraints.check_rows(n)
    links = links_of(constraints, after, 2000, as_generator(0))
    shape, names = (None, None) if truth is None else as_codes(truth, n, "truth")
    words = "" if weights is None else "learned metric"
    display = PartitionDisplay(
        main_plane(X, weights), after, before=before, truth=shape, links=links,
        class_names=names, words=words, titles=titles,
    )  # fmt: skip
    return save(display, path, dpi=130)
