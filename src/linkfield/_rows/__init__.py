"""Rows of data behind one small algebra, so that every formula is written once.

Dense arrays, CSR matrices and CSR matrices with the row means taken off all answer the same few
questions. Products with centres keep the data's dtype; sums over rows are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .base import Compiled, Rows, pieces
from .csr import CentredCSR, CSRRows
from .dense import DenseRows

__all__ = ["CSRRows", "CentredCSR", "Compiled", "DenseRows", "Rows", "as_rows", "pieces"]


def as_rows(X: Any) -> Rows:
    """Wrap a dense array or a sparse matrix."""
    if sparse.issparse(X):
        return CSRRows(sparse.csr_array(X))
    return DenseRows(np.asarray(X))
