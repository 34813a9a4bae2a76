"""k-means++ for any distortion, greedy over a few candidates (Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, pieces
from .order import Draws

if TYPE_CHECKING:
    from .neighbourhoods import SeedingData

__all__ = ["add_centres"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def add_centres(
    data: SeedingData,
    n_centres: int,
    rng: np.random.Generator,
    given: FloatArray | None = None,
    pool: FloatArray | None = None,
    pool_size: FloatArray | None = None,
) -> FloatArray:
    """Add centres to the given ones until there are ``n_centres``.

    Candidates are 2 + ln K data points drawn with probability ∝ v min_h D(x, c_h) and, from a
    pool of ready-made centres, as many with the largest size · min_h D(c, c_h); the one that
    leaves the least Σ v min D wins.

    Parameters
    ----------
    data : SeedingData
    n_centres : int
    rng : Generator
    given : array (k, d), optional
    pool : array (p, d), optional
        Centres of neighbourhoods, and in ``pool_size`` their numbers of rows.
    """
    d = data.rows.shape[1]
    centres = np.empty((0, d)) if given is None else given
    ready = _Pool(data, np.empty((0, d)) if pool is None else pool, pool_size)
    trials = 2 + int(np.log(max(n_centres, 1)))
    draws, drawn = Draws(data.order), data.drawable
    nearest = np.full(len(data.rows), np.inf)
    sums = plain = draws.sums(drawn)
    if len(centres) == 0 and len(ready) == 0:
        centres = data.points(draws(drawn, plain, rng.random(1)))
    for part in pieces(len(centres), trials):
        found, _ = data.offer(centres[part], nearest)
        for row in found:
            sums = draws.lowered(nearest, row, drawn)
    ready.move_away_from(centres)
    while len(centres) < n_centres:
        # Where every row is a centre already, or none is chosen yet: take rows as they come.
        spread_out = len(centres) > 0 and sums.sum() > 0
        potential = drawn * nearest if spread_out else drawn
        points = data.points(draws(potential, sums if spread_out else plain, rng.random(trials)))
        points = np.concatenate([points, ready.promising(trials)])
        found, left = data.offer(points, nearest)
        # Two rows that matter to each other only leave the same sum: take the first drawn.
        best = int(np.flatnonzero(left <= left.min() * (1 + 1e-9))[0])
        centres = np.concatenate([centres, points[best : best + 1]])
        sums = draws.lowered(nearest, found[best], drawn)
        ready.move_away_from(points[best : best + 1])
    return centres[:n_centres]


class _Pool:
    """Ready-made centres, and how far each is from those that were chosen."""

    def __init__(self, data: SeedingData, centres: FloatArray, size: FloatArray | None) -> None:
        self.data, self.centres = data, centres
        self.size = np.ones(len(centres)) if size is None else size.astype(np.float64)
        self.far: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.centres)

    def move_away_from(self, chosen: FloatArray) -> None:
        """Take chosen centres into account."""
        if len(self) == 0 or len(chosen) == 0:
            return
        table = self.data.distortion.table(DenseRows(self.centres), chosen, self.data.shared)
        least = table.min(axis=1)
        self.far = least if self.far is None else np.minimum(self.far, least)

    def promising(self, k: int) -> FloatArray:
        """Return the k centres with the largest size times distance to those chosen."""
        worth = self.size if self.far is None else self.size * self.far
        return self.centres[np.argsort(-worth, kind="stable")[:k]]
