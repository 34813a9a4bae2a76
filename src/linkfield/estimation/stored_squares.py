"""Squared differences of pairs that are asked for again and again, kept side by side.

Σ a (x_i − x_j)² reads two rows that lie anywhere in memory. A fit asks for the same few pairs in
every iteration, those of rows that their links keep from their cheapest labels, with other weights
a. Their (x_i − x_j)² are kept, up to a limit, until others are asked for instead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows
from .._threads import spread

__all__ = ["StoredSquares"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: At most so many numbers are kept (8 MB).
ROOM = 1_000_000

#: Nothing new is kept while there are less than this share of the pairs of the last time: it would
#: soon be of no use.
CALM = 0.9


@dataclass
class StoredSquares:
    """The squares of some pairs of dense rows, by feature.

    Attributes
    ----------
    rows : DenseRows
    left, right : int arrays (m,)
        The ends of all pairs that may be asked for.
    """

    rows: DenseRows
    left: IntArray
    right: IntArray
    _slot: NDArray[np.int32] = field(init=False, repr=False)
    _squares: FloatArray = field(init=False, repr=False)
    _used: int = field(default=0, repr=False)
    _asked: int = field(default=0, repr=False)
    _last: tuple[FloatArray, FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._slot = np.full(len(self.left), -1, dtype=np.int32)
        self._squares = np.empty((0, self.rows.shape[1]))
        self._last = np.empty(0), np.empty(0)

    def weighted(self, pairs: NDArray[np.integer], a: FloatArray, keep: bool) -> FloatArray:
        """Return Σ_m a_m (x_im − x_jm)² of some pairs.

        ``keep`` says that the same pairs will be asked for again.
        """
        if keep:
            self._keep(pairs)
        slot = self._slot[pairs]
        stored = slot >= 0
        if not stored.any():
            return self.rows.pair_squares(self.left[pairs], self.right[pairs], a)
        known = self._all(a)
        if stored.all():
            return known[slot]
        out, new = known[slot], pairs[~stored]
        out[~stored] = self.rows.pair_squares(self.left[new], self.right[new], a)
        return out

    def _all(self, a: FloatArray) -> FloatArray:
        """Return Σ a (x_i − x_j)² of all pairs that are kept: one after the other is fastest."""
        from .._kernels.pairs import weighted_rows

        if self._last[0] is not a:
            out = np.empty(self._used)
            spread(lambda first, last: weighted_rows(self._squares, a, first, last, out),
                   self._used, max(64, 200_000 // len(a)))  # fmt: skip
            self._last = a, out
        return self._last[1]

    def _keep(self, pairs: NDArray[np.integer]) -> None:
        """Keep the squares of some pairs, once it is clear which ones are asked for for long."""
        calm, self._asked = len(pairs) >= CALM * self._asked, len(pairs)
        if not calm:
            return
        if self._used > 2 * len(pairs) + 1024:  # most of them are of no use any more
            self._slot[:] = -1
            self._used = 0
        new = np.unique(pairs[self._slot[pairs] < 0])
        d, first, used = self.rows.shape[1], self._used, self._used + len(new)
        if len(new) == 0 or used * d > ROOM:
            return
        if used > len(self._squares):
            grown = np.empty((min(max(1024, 2 * used), len(self.left)), d))
            grown[:first] = self._squares[:first]
            self._squares = grown
        squares, base = self._squares[first:used], self.rows.base
        np.subtract(base[self.left[new]], base[self.right[new]], out=squares, dtype=np.float64)
        np.square(squares, out=squares)
        self._slot[new] = np.arange(first, used)
        self._used, self._last = used, (np.empty(0), np.empty(0))
