"""Compiled loops over tables of centres (clusters by features), which sparse data make large."""

from __future__ import annotations

from .compiling import inner

__all__ = ["dispersion", "shifts", "transpose"]


TILE = 32


@inner
def dispersion(weight, M, sums, first, last, out):  # type: ignore[no-untyped-def]
    """Set Σ_h n_h μ² − 2 s μ for the features from ``first`` to ``last``."""
    for m in range(first, last):
        out[m] = 0.0
    for h in range(M.shape[0]):
        v = weight[h]
        for m in range(first, last):
            out[m] += M[h, m] * (v * M[h, m] - 2.0 * sums[h, m])


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
def transpose(table, first, last, out):  # type: ignore[no-untyped-def]
    """Write features ``first`` to ``last`` of a (K, d) table into one of (d, K), tile by tile."""
    K = table.shape[0]
    for low in range(first, last, TILE):
        for h in range(0, K, TILE):
            for m in range(low, min(low + TILE, last)):
                for k in range(h, min(h + TILE, K)):
                    out[m, k] = table[k, m]
