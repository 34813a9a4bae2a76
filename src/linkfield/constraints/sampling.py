"""Pairs drawn from labels: the papers' way to make constraints for an experiment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ._normal import IntArray

__all__ = ["sample_pairs"]


def sample_pairs(
    classes: NDArray[np.integer],
    n_pairs: int,
    *,
    noise: float = 0.0,
    random_state: RandomState = None,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Draw distinct pairs of rows uniformly; a must-link where the classes agree.

    Parameters
    ----------
    classes : array of shape (n_rows,)
    n_pairs : int
    noise : float
        Probability with which each pair is turned into the other kind.
    random_state : int, Generator or RandomState, optional

    Returns
    -------
    pairs : array of shape (n_pairs, 2)
    must : bool array of shape (n_pairs,)
    """
    n = len(classes)
    available = n * (n - 1) // 2
    if isinstance(n_pairs, bool) or not isinstance(n_pairs, int | np.integer) or n_pairs < 0:
        raise ValueError(f"n_pairs must be a whole number, 0 or more; got {n_pairs!r}")
    if n_pairs > available:
        raise ValueError(
            f"n_pairs={n_pairs} asks for more than the {available} pairs of {n} labelled rows"
        )
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise is a probability between 0 and 1; got {noise!r}")
    rng = as_generator(random_state)
    pairs = _triangle(
        rng.choice(available, size=n_pairs, replace=False) if n_pairs else np.empty(0, np.int64)
    )
    must = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    turned = rng.random(n_pairs) < noise
    return pairs, must ^ turned


def _triangle(index: NDArray[np.integer]) -> IntArray:
    """Return the pair a < b at ``index`` of the list of all pairs, sorted by b, then a."""
    k = index.astype(np.int64)
    b = ((1.0 + np.sqrt(1.0 + 8.0 * k)) / 2.0).astype(np.int64)
    b -= b * (b - 1) // 2 > k  # the square root may round to the next row of the triangle
    b += b * (b + 1) // 2 <= k
    return np.column_stack([k - b * (b - 1) // 2, b]).astype(np.int64)
