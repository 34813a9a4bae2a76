"""What comes in, checked once: data, knowledge, weights."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, validate_data

from .._rows import as_rows
from .._threads import spread
from ..constraints import Constraints
from ..constraints.labels import labelled_rows
from ..distortions import Distortion

__all__ = [
    "AbsoluteLabels",
    "check_clusters",
    "check_parameters",
    "knowledge",
    "read_data",
    "read_weights",
]

#: Numbers that one thread sums up at a time.
SUMMED = 500_000

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def read_data(estimator: Any, X: Any, distortion: Distortion, *, reset: bool) -> Any:
    """Return X as float64 or float32, dense or CSR, in the distortion's domain."""
    X = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        reset=reset,
        ensure_all_finite=False,
    )
    _check_finite(estimator, X)
    if sparse.issparse(X):
        X = _canonical(sparse.csr_array(X))
    distortion.check(X)
    if distortion.name == "cosine":
        _warn_zero_rows(X)
    return X


def _check_finite(estimator: Any, X: Any) -> None:
    """Raise as scikit-learn does where X holds NaN or infinity.

    It reads all of X on one thread to find that out, which is much of a refit.
    """
    values = X.data if sparse.issparse(X) else X

    def total(first: int, last: int) -> float:
        with np.errstate(over="ignore", invalid="ignore"):  # holds for one thread
            return float(values[first:last].sum())

    rows = max(1, SUMMED // max(values[:1].size, 1))
    if not np.isfinite(spread(total, len(values), rows)).all():
        # Numbers that are too large together may be finite each.
        with np.errstate(invalid="ignore"):
            assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")


def _canonical(X: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix sorted, without duplicates; the user's own is left as it is."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.indices.dtype != np.int32 and max(*X.shape, X.nnz) < np.iinfo(np.int32).max:
        index = (X.indices.astype(np.int32), X.indptr.astype(np.int32))
        X = sparse.csr_array((X.data, *index), shape=X.shape)
    return X


def _warn_zero_rows(X: Any) -> None:
    if not sparse.issparse(X):  # few rows begin with 0
        X = X[X[:, 0] == 0]
    n = int((as_rows(X).lengths(np.ones(X.shape[1])) == 0).sum())
    if n:
        warnings.warn(
            f"{n} all-zero row(s) have no direction: their cosine distance to every centre is 1",
            UserWarning,
            stacklevel=4,
        )


def check_clusters(n_clusters: Any, n_rows: int) -> None:
    """Raise unless 1 ≤ n_clusters ≤ n_rows."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, int | np.integer):
        raise TypeError(f"n_clusters must be a whole number, got {n_clusters!r}")
    if n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
    if n_rows < n_clusters:
        raise ValueError(f"n_samples={n_rows} should be >= n_clusters={n_clusters}")


def read_weights(sample_weight: Any, X: Any) -> FloatArray:
    """Return one weight a row, none negative, not all zero."""
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    # Compiled loops would be compiled anew for an array that cannot be written to.
    return np.require(weight, np.float64, ["C", "W"])


@dataclass(frozen=True)
class AbsoluteLabels:
    """Labels that bind a class to a cluster of its own (maths.md 1.1, "absolute")."""

    rows: IntArray
    cluster: IntArray
    classes: tuple[Any, ...]


def absolute_labels(partial_labels: Any, n_clusters: int) -> AbsoluteLabels:
    """Bind classes to clusters: whole numbers 0..K-1 to their own, others in sorted order."""
    rows, codes, classes = labelled_rows(partial_labels)
    if len(classes) > n_clusters:
        raise ValueError(
            f"partial_labels holds {len(classes)} classes, more than n_clusters={n_clusters}; "
            "raise n_clusters, or read the labels relationally (HMRFKMeans)"
        )
    numbers = [c for c in classes if isinstance(c, int) and not isinstance(c, bool)]
    if len(numbers) == len(classes) and all(0 <= c < n_clusters for c in numbers):
        cluster = np.array(numbers, dtype=np.int64)[codes] if len(codes) else codes
        return AbsoluteLabels(rows, cluster, tuple(range(n_clusters)))
    return AbsoluteLabels(rows, codes, classes)


def knowledge(
    n_rows: int,
    n_clusters: int,
    *,
    constraints: Any,
    partial_labels: Any,
    sample_id: Any,
    reading: str,
) -> tuple[Constraints, AbsoluteLabels | None]:
    """Return everything the user knows, aligned to the rows."""
    known = _aligned(constraints, n_rows, sample_id)
    if partial_labels is None:
        return known, None
    if len(partial_labels) != n_rows:
        raise ValueError(
            f"partial_labels has {len(partial_labels)} entries but X has {n_rows} rows; use -1 "
            "for rows whose label is unknown"
        )
    if reading == "absolute":
        return known, absolute_labels(partial_labels, n_clusters)
    if reading != "relational":
        raise ValueError(f"label_reading must be 'relational' or 'absolute', got {reading!r}")
    return known | Constraints.from_labels(partial_labels, sample_id=known.sample_id), None


def _aligned(constraints: Any, n_rows: int, sample_id: Any) -> Constraints:
    if sample_id is not None and len(sample_id) != n_rows:
        raise ValueError(f"sample_id has {len(sample_id)} entries but X has {n_rows} rows")
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(
            f"constraints must be a linkfield.Constraints, got {type(constraints).__name__}; make "
            "one with Constraints(must_link=..., cannot_link=...), from a table with "
            "Constraints.from_frame, or pass labels as partial_labels="
        )
    own = constraints.sample_id
    if sample_id is not None:
        return constraints.align(sample_id)
    if own is not None and (len(own) != n_rows or not constraints.knows_positions):
        raise ValueError(
            "the constraints name rows by id: pass fit(..., sample_id=ids) with the id of every "
            "row of X, in order"
        )
    constraints.check_rows(n_rows)
    return constraints


def check_parameters(estimator: Any) -> None:
    """Raise if a number or a choice among the parameters makes no sense."""
    for name, least in (("max_iter", 1), ("verbose", 0)):
        value = getattr(estimator, name)
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
    if not (isinstance(estimator.tol, int | float | np.number) and estimator.tol >= 0):
        raise ValueError(f"tol must be a number >= 0, got {estimator.tol!r}")
    starts = estimator.n_init
    if starts != "auto" and not (isinstance(starts, int | np.integer) and starts >= 1):
        raise ValueError(f"n_init must be 'auto' or a whole number >= 1, got {starts!r}")
    if estimator.engine not in ("auto", "array"):
        raise ValueError(f"engine must be 'auto' or 'array', got {estimator.engine!r}")
