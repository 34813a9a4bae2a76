"""How many components a mixture needs (maths.md 6.9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .mixture import ConstrainedGaussianMixture

__all__ = ["ComponentSelection", "select_n_components"]

SELECTION_DTYPE = np.dtype(
    [
        ("n_components", np.int64),
        ("bic", np.float64),
        ("aic", np.float64),
        ("log_likelihood", np.float64),
        ("n_parameters", np.int64),
    ]
)


class ComponentSelection(NamedTuple):
    """The best mixture, its number of components, and what every number gives."""

    model: ConstrainedGaussianMixture
    n_components: int
    table: NDArray[Any]


def select_n_components(
    X: Any,
    candidates: Iterable[int] = range(1, 11),
    *,
    criterion: str = "bic",
    model: ConstrainedGaussianMixture | None = None,
    groups: Any = None,
    constraints: Any = None,
    partial_labels: Any = None,
    sample_id: Any = None,
    **parameters: Any,
) -> ComponentSelection:
    """Fit mixtures of several sizes and keep the one with the least criterion.

    The criterion is that of log P(Y), what the groups say included, never of the enforcement.

    Parameters
    ----------
    X : array or data frame of shape (n_samples, n_features)
    candidates : iterable of int, default=1..10
    criterion : {"bic", "aic"}, default="bic"
    model : ConstrainedGaussianMixture, optional
        Is copied for every candidate; otherwise one is made of ``parameters``.
    groups, constraints, partial_labels, sample_id
        As in :meth:`ConstrainedGaussianMixture.fit`.
    **parameters
        Parameters of the mixture.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(0, 1, (60, 2)), rng.normal(8, 1, (60, 2))]
    >>> select_n_components(X, [1, 2, 3], random_state=0).n_components
    2
    """
    if criterion not in ("bic", "aic"):
        raise ValueError(f"criterion must be 'bic' or 'aic', got {criterion!r}")
    base = ConstrainedGaussianMixture() if model is None else model
    sizes = sorted(dict.fromkeys(candidates))
    if not sizes:
        raise ValueError("candidates is empty; give some numbers of components, such as [1, 2, 3]")
    told = {
        "groups": groups,
        "constraints": constraints,
        "partial_labels": partial_labels,
        "sample_id": sample_id,
    }
    fitted, lines = [], []
    for K in sizes:
        each = clone(base).set_params(**{**parameters, "n_components": K}).fit(X, **told)
        fitted.append(each)
        lines.append((K, each.bic(), each.aic(), each.log_likelihood_, each._n_parameters()))
    table = np.array(lines, dtype=SELECTION_DTYPE)
    best = int(np.argmin(table[criterion]))
    return ComponentSelection(fitted[best], sizes[best], table)
