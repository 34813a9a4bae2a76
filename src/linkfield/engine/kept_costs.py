"""Costs that a pass writes down because they were asked for after the last one.

A tied row that its links keep from its cheapest label is asked for all its costs in one iteration
after the other. The pass has them in its hands, so it writes them down in passing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeptCosts"]

FloatArray = NDArray[np.float64]
Int32Array = NDArray[np.int32]

#: So few tied rows are all written down: to ask for some of them would take longer.
FEW = 64


@dataclass
class KeptCosts:
    """The tied rows whose costs are wanted, and what the last pass wrote down.

    Attributes
    ----------
    n_tied, n_labels : int
    rows : int array (m,)
        The tied rows that are wanted, by their number among all tied rows, in order; where there
        are few, all of them are, once any were.
    table : float array (m or more, n_labels)
    noise : float array (m or more,)
        How far the costs may be off.
    """

    n_tied: int
    n_labels: int
    rows: Int32Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    table: FloatArray = field(init=False, repr=False)
    noise: FloatArray = field(init=False, repr=False)
    _slot: Int32Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.table, self.noise = np.empty((0, self.n_labels)), np.empty(0)
        self._slot = np.empty(0, dtype=np.int32)

    def want(self, rows: Int32Array) -> None:
        """Have the costs of these rows, or of all where they are few, written down by passes."""
        if self.n_tied <= FEW:
            if len(self.rows) == self.n_tied:
                return
            rows = np.arange(self.n_tied, dtype=np.int32)
        if len(self._slot) == 0 and len(rows):
            self._slot = np.full(self.n_tied, -1, dtype=np.int32)
        if len(self._slot):
            from .._kernels.lists import renumber

            renumber(self._slot, self.rows, rows)
        self.rows = rows

    def renewed(self) -> tuple[Int32Array, FloatArray, FloatArray]:
        """Return slots, table and noise for a pass to write to."""
        if len(self.table) < len(self.rows):
            room = len(self.rows) + len(self.rows) // 4
            self.table, self.noise = np.empty((room, self.n_labels)), np.empty(room)
        return self._slot if len(self.rows) else self._slot[:0], self.table, self.noise
