"""Data that the papers draw by chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constraints import Groups

__all__ = ["FourGaussians", "four_gaussians"]

#: Rows of each of the four Gaussians, and where these are: top right, then counter-clockwise.
EACH, MEANS = 150, ((1.5, 6.0), (-1.5, 6.0), (-1.5, -6.0), (1.5, -6.0))


class FourGaussians(NamedTuple):
    """Rows, which side of the vertical axis their Gaussian is on, and pairs of rows as groups."""

    X: NDArray[np.float64]
    side: NDArray[np.int64]
    groups: Groups


def four_gaussians(
    share: float = 0.15, *, noisy: bool = True, random_state: int | None = None
) -> FourGaussians:
    """Draw the synthetic data of Law, Topchy & Jain 2005, 3.1.

    Four Gaussians of unit covariance at (±1.5, ±6), 150 rows each. Two clusters of them are a top
    and a bottom one, so far as the rows go; the groups ask for a left and a right one.

    Parameters
    ----------
    share : float, default=0.15
        How many of the rows are in a group, up to 0.5.
    noisy : bool, default=True
        A group joins a top row with a bottom row of its side. Its strength τ is drawn from
        [0.6, 1], and if noisy its second row is any row with probability 1 − τ.
    random_state : int, optional
    """
    if not 0 <= share <= 0.5:
        raise ValueError(f"share must lie between 0 and 0.5, got {share!r}")
    rng = np.random.default_rng(random_state)
    X = np.repeat(np.array(MEANS), EACH, axis=0) + rng.normal(size=(4 * EACH, 2))
    side, top = np.repeat([1, 0, 0, 1], EACH), np.repeat([True, True, False, False], EACH)
    free = np.ones(len(X), dtype=bool)
    members, strength = [], []
    for _ in range(round(share * len(X) / 2)):
        tau = rng.uniform(0.6, 1.0)
        first = rng.choice(np.flatnonzero(free & top))
        free[first] = False
        partners = free & ~top & (side == side[first])
        second = rng.choice(np.flatnonzero(free if noisy and rng.random() > tau else partners))
        free[second] = False
        members.append([int(first), int(second)])
        strength.append(tau)
    return FourGaussians(X, side, Groups(members, strength=strength))
