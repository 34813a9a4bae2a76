"""Two clusterings whose clusters have the same names as far as that goes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

__all__ = ["matched_labels"]

IntArray = NDArray[np.int64]


def matched_labels(labels: Any, reference: Any) -> IntArray:
    """Rename clusters so that they agree with a reference as far as possible."""
    labels, reference = np.asarray(labels, np.int64), np.asarray(reference, np.int64)
    n = int(max(labels.max(initial=0), reference.max(initial=0))) + 1
    table = np.bincount(labels * n + reference, minlength=n * n).reshape(n, n)
    rows, columns = linear_sum_assignment(-table)
    name = np.empty(n, dtype=np.int64)
    name[rows] = columns
    return name[labels]
