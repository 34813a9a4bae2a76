"""Compiled loops over tables of centres (clusters by features), which sparse data make large."""

from __future__ import annotations

import numpy as np

from .compiling import compiled, inner

__all__ = ["dispersion", "shifts", "transpose", "weighted"]

#: Labels and features of a tile: lines of memory are read and written whole.
HIGH, WIDE = 16, 512


@inner
def dispersion(weight, M, sums, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ_h n_h μ² − 2 s μ for the features from ``first`` to ``last``."""
    total = out[first:last]
    total[:] = 0.0
    for h in range(M.shape[0]):
        v, centre, mine = weight[h], M[h][first:last], sums[h][first:last]
        for m in range(total.shape[0]):
            total[m] += centre[m] * (v * centre[m] - 2.0 * mine[m])


@inner
def shifts(M, moved, theta, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ θ (μ' − μ)² of the clusters from ``first`` to ``last``."""
    for h in range(first, last):
        total = 0.0
        for m in range(theta.shape[0]):
            gap = moved[h, m] - M[h, m]
            total += theta[m] * gap * gap
        out[h] = total


@inner
def _turn(tile, out, low, h, width, height):  # type: ignore[no-untyped-def]
    """Copy a tile, label by feature, to where it stands feature by label."""
    for m in range(width):
        line = out[low + m][h : h + height]
        for k in range(height):
            line[k] = tile[k, m]


@compiled
def transpose(table, first, last, out):  # type: ignore[no-untyped-def]
    """Write features ``first`` to ``last`` of a (K, d) table into one of (d, K), tile by tile.

    Places behind the last label become 0.
    """
    _tiled(table, np.empty(0), first, last, out, np.empty(0))


@compiled
def weighted(M, theta, first, last, out, g):  # type: ignore[no-untyped-def]
    """Write 2 θ μ of features ``first`` to ``last`` into a table of (d, K), and add up Σ θ μ².

    Places behind the last label become 0.
    """
    _tiled(M, theta, first, last, out, g)


@compiled
def _tiled(M, theta, first, last, out, g):  # type: ignore[no-untyped-def]
    """Do either: without ``theta`` the table is copied as it is."""
    K, tile = M.shape[0], np.empty((HIGH, WIDE), out.dtype)
    for low in range(first, last, WIDE):
        width = min(WIDE, last - low)
        for h in range(0, K, HIGH):
            height = min(HIGH, K - h)
            for k in range(height):
                centre, line = M[h + k][low : low + width], tile[k]
                if theta.shape[0] == 0:
                    for m in range(width):
                        line[m] = centre[m]
                else:
                    g[h + k] += _weigh(centre, theta[low : low + width], line)
            _turn(tile, out, low, h, width, height)
        out[low : low + width, K:] = 0


@inner
def _weigh(centre, theta, out):  # type: ignore[no-untyped-def]
    """Set 2 θ μ, and return Σ θ μ²."""
    total = 0.0
    for m in range(theta.shape[0]):
        product = theta[m] * centre[m]
        total += product * centre[m]
        out[m] = 2.0 * product
    return total
