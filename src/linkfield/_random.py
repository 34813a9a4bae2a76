"""One way to read every ``random_state``."""

from __future__ import annotations

import numpy as np

__all__ = ["RandomState", "as_generator"]

RandomState = int | np.integer | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a ``numpy.random.Generator`` for a seed, a generator or a ``RandomState``.

    A ``RandomState`` (scikit-learn's habit) is advanced by one draw and seeds a generator.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    return np.random.default_rng(random_state)
