"""Descent from a labelling that another method found: ICM without its random start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField

__all__ = ["polished"]

IntArray = NDArray[np.int64]

#: Sweeps at most, as ICM's own default.
SWEEPS = 100


def polished(field: PottsField, labels: IntArray) -> tuple[IntArray, float]:
    """Return labels that no move of ICM improves (maths.md 4.1), and their energy.

    Nodes are visited in the field's own order, so the answer depends on nothing but the labels.
    """
    from ._icm_state import state_of

    state = state_of(field.finite, np.array(labels, dtype=np.int64))
    for sweeps_left in reversed(range(SWEEPS)):
        moves, settled = state.sweep(0, sweeps_left)
        if settled:
            moves = state.sweep_components() or int(state.rename())
        if moves == 0:
            break
    return state.labels, field.energy(state.labels)
