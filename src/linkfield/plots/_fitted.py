"""What a display needs of a fitted model: its last step, its labels, what it was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..constraints import Constraints

__all__ = [
    "Fitted",
    "aligned",
    "as_codes",
    "as_table",
    "check_labels",
    "feature_names_of",
    "last_step",
    "read_fitted",
]

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Fitted:
    """A fitted estimator and its rows.

    Parameters
    ----------
    model : estimator
        The clustering step itself.
    X : array or sparse matrix
        The rows as that step sees them.
    labels : int array (n,)
    constraints : Constraints
        Aligned to the rows; empty where there are none.
    """

    model: Any
    X: Any
    labels: IntArray
    constraints: Constraints

    @property
    def n_clusters(self) -> int:
        """How many clusters the model has, empty ones included."""
        asked = getattr(self.model, "n_clusters", getattr(self.model, "n_components", 0))
        return max(int(asked), int(self.labels.max(initial=0)) + 1)


def last_step(model: Any) -> tuple[Any, Any]:
    """Return the clustering step of a pipeline and what prepares its rows (or None)."""
    if hasattr(model, "steps") and hasattr(model, "named_steps"):
        before = model[:-1] if len(model.steps) > 1 else None
        return model[-1], before
    return model, None


def read_fitted(
    model: Any, X: Any, *, constraints: Constraints | None = None, sample_id: Any = None
) -> Fitted:
    """Check a model and its rows, and bring the constraints to the rows' order.

    Parameters
    ----------
    model : fitted estimator, or a pipeline that ends in one
    X : array, sparse matrix or data frame
        The rows of the fit, before a pipeline's preparation.
    constraints : Constraints, optional
        By default those of the fit, if the model still has them (a loaded one has not).
    sample_id : sequence, optional
        The id of every row, if the constraints name rows by id.
    """
    step, prepare = last_step(model)
    check_is_fitted(step)
    X = as_table(X if prepare is None else prepare.transform(X))
    d = getattr(step, "n_features_in_", X.shape[1])
    if X.shape[1] != d:
        raise ValueError(f"X has {X.shape[1]} features, but the model was fitted to {d}")
    labels = check_labels(getattr(step, "labels_", None), X.shape[0], "the model")
    return Fitted(step, X, labels, aligned(step, constraints, X.shape[0], sample_id))


def as_table(X: Any) -> Any:
    """Return rows as an array or a CSR matrix, copied only if need be."""
    if sparse.issparse(X):
        return X.tocsr()
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must be a table of rows and features; got shape {X.shape}")
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def check_labels(labels: Any, n: int, who: str) -> IntArray:
    """Return one label a row."""
    if labels is None:
        raise ValueError(f"{who} has no labels_: it is not a clustering")
    if len(labels) != n:
        raise ValueError(
            f"X has {n} rows, but {who} labels {len(labels)}: pass the very rows of the fit"
        )
    return np.asarray(labels, np.int64)


def as_codes(values: Any, n: int, what: str) -> tuple[IntArray, list[Any]]:
    """Return values of any kind as numbers 0, 1, ... and what each stands for.

    Whole numbers from 0 on that leave few gaps keep their values, so that clusters keep theirs.
    """
    array = np.asarray(getattr(values, "labels_", values))
    if array.shape != (n,):
        raise ValueError(f"{what} must hold one entry for each of {n} rows; got {array.shape}")
    names, codes = np.unique(array, return_inverse=True)
    if names.dtype.kind in "iu" and n and names[0] >= 0 and names[-1] < 2 * len(names) + 10:
        return array.astype(np.int64), list(range(int(names[-1]) + 1))
    return codes.astype(np.int64), names.tolist()


def aligned(
    model: Any, constraints: Constraints | None, n: int, sample_id: Any = None
) -> Constraints:
    """Return constraints by row position: those given, else those of the fit, else none."""
    if constraints is None:
        setup = getattr(model, "_setup", None)
        return setup.constraints if setup is not None else Constraints()
    if not isinstance(constraints, Constraints):
        raise TypeError(
            f"constraints must be a linkfield.Constraints, got {type(constraints).__name__}"
        )
    if sample_id is not None:
        if len(sample_id) != n:
            raise ValueError(f"sample_id has {len(sample_id)} entries but X has {n} rows")
        return constraints.align(sample_id)
    own = constraints.sample_id
    if own is not None and (len(own) != n or not constraints.knows_positions):
        raise ValueError("the constraints name rows by id: pass sample_id= with every row's id")
    constraints.check_rows(n)
    return constraints


def feature_names_of(model: Any, given: Any, d: int) -> list[str]:
    """Return the features' names: those given, those of the fit, or numbers."""
    step, prepare = last_step(model)
    if given is None and prepare is not None:
        try:
            given = prepare.get_feature_names_out()
        except (AttributeError, ValueError):  # a step that has no names to give
            given = None
    if given is None:
        given = getattr(step, "feature_names_in_", None)
    if given is None:
        return [f"feature {j}" for j in range(d)]
    if len(given) != d:
        raise ValueError(f"feature_names has {len(given)} names for {d} features")
    return [str(name) for name in given]
