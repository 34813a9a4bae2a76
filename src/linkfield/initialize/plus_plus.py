"""k-means++ for any distortion, greedy over a few candidates (Arthur & Vassilvitskii 2007)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._rows import DenseRows, pieces
from .order import Draws

if TYPE_CHECKING:
    from .neighbourhoods import SeedingData

__all__ = ["add_centres", "most_offered"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Points, D of all rows to each of them, and Σ v min D that each of them leaves.
Offer = tuple[FloatArray, Sequence[NDArray[np.float32]] | NDArray[np.float32], FloatArray]

#: Candidates are drawn for so many steps at a time, at most.
STEPS = 8

#: Rows of so many bytes are read once for as many of them as there is room for distances: this
#: share of what the rows take, between so few and so many bytes.
LARGE, SHARE, LITTLE, MUCH = 24_000_000, 0.4, 32_000_000, 512_000_000


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
    trials = _trials(n_centres)
    draws, drawn = Draws(data.order), data.drawable
    room = trials if len(ready) > 0 else _room(data, trials)
    ahead = _Ahead(data, draws, rng, trials, room)
    nearest = np.full(len(data.rows), np.inf)
    sums = plain = draws.sums(drawn)
    if len(centres) == 0 and len(ready) == 0:
        centres = data.points(draws(drawn.__getitem__, plain, rng.random(1)))
    for part in pieces(len(centres), trials):
        for row in data.offer(centres[part], nearest)[0]:
            sums = draws.lowered(nearest, row, drawn)
    ready.move_away_from(centres)
    while len(centres) < n_centres:
        # Where every row is a centre already, or none is chosen yet: take rows as they come.
        spread_out = len(centres) > 0 and sums.sum() > 0
        others = ready.promising(trials)
        if spread_out:
            which = ahead.take(lambda rows: drawn[rows] * nearest[rows], sums, len(centres))
            points, found, left = ahead.offered(which, nearest, others)
        else:
            rows = draws(drawn.__getitem__, plain, rng.random(trials))
            points, found, left = ahead.offer(rows, nearest, others)
        # Two rows that matter to each other only leave the same sum: take the first drawn.
        best = int(np.flatnonzero(left <= left.min() * (1 + 1e-9))[0])
        centres = np.concatenate([centres, points[best : best + 1]])
        if len(centres) < n_centres:
            sums = draws.lowered(nearest, found[best], drawn)
            ready.move_away_from(points[best : best + 1])
    return centres[:n_centres]


def _trials(n_centres: int) -> int:
    """Return how many rows compete to be the next centre (Arthur & Vassilvitskii 2007)."""
    return 2 + int(np.log(max(n_centres, 1)))


def most_offered(n_centres: int) -> int:
    """Return how many points are offered at once at most."""
    return STEPS * _trials(n_centres)


def _room(data: SeedingData, trials: int) -> int:
    """Return to how many candidates distances are kept at a time."""
    n, d = data.rows.shape
    size = n * d * data.rows.dtype.itemsize
    if not isinstance(data.rows, DenseRows) or size < LARGE:
        return trials
    room = min(max(int(SHARE * size), LITTLE), MUCH)
    return min(room // (4 * n), trials * STEPS)


class _Ahead:
    """Candidates for several steps, drawn at once, so that large data are read once for them all.

    A candidate is drawn by its potential v D. When its step comes D may have fallen; it is taken
    with probability D now / D then, and those that are taken are draws by the potential of now
    (rejection sampling). The next of m centres lowers D by about a share of 1 / m, so one draws
    ahead for no more than m / 2 steps. Who is drawn does not depend on when rows are read: there
    may be ``room`` for distances to some of the candidates only.
    """

    def __init__(
        self, data: SeedingData, draws: Draws, rng: np.random.Generator, trials: int, room: int
    ) -> None:
        self.data, self.draws, self.rng = data, draws, rng
        self.trials, self.room, self.next = trials, room, 0
        self.rows, self.then = np.empty(0, dtype=np.int64), np.empty(0)
        self.first, self.points = 0, np.empty((0, 0))
        self.found = np.empty((0, 0), dtype=np.float32)

    def take(
        self, potential: Callable[[IntArray], FloatArray], sums: FloatArray, n_centres: int
    ) -> IntArray:
        """Return which candidates are those of the next step.

        ``sums`` are those of the potential, by bucket.
        """
        which = self._still(potential)
        if len(which) < self.trials:  # how many are left says nothing about who they are
            steps = min(STEPS, max(1, n_centres // 2))
            self.rows = self.draws(potential, sums, self.rng.random(self.trials * steps))
            self.then = potential(self.rows)
            self.first, self.found = 0, self.found[:0]
            which = np.arange(self.trials)
        self.next = int(which[-1]) + 1
        return which

    def _still(self, potential: Callable[[IntArray], FloatArray]) -> IntArray:
        """Return the next candidates that are still to be had, as many as a step tries at most."""
        rows, then = self.rows[self.next :], self.then[self.next :]
        taken = self.rng.random(len(rows)) * then < potential(rows)
        return self.next + np.flatnonzero(taken)[: self.trials]

    def offered(self, which: IntArray, nearest: FloatArray, others: FloatArray) -> Offer:
        """Offer some candidates, and other points."""
        if which[-1] >= self.first + len(self.found):
            if which[-1] >= which[0] + self.room or self.room < 2 * self.trials:
                self.found = self.found[:0]  # its room is taken
                return self.offer(self.rows[which], nearest, others)
            self._look_ahead(int(which[0]), nearest)
        which = which - self.first
        left = self.draws.remainders(nearest, self.found, which, self.data.weight)
        return self.points[which], [self.found[k] for k in which], left

    def _look_ahead(self, first: int, nearest: FloatArray) -> None:
        """Find the distances to as many candidates as there is room for."""
        self.first, self.points = first, self.data.points(self.rows[first : first + self.room])
        self.found, _ = self.data.offer(self.points, nearest)

    def offer(self, rows: IntArray, nearest: FloatArray, others: FloatArray) -> Offer:
        """Offer some rows, and other points."""
        points = np.concatenate([self.data.points(rows), others])
        return points, *self.data.offer(points, nearest)


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
