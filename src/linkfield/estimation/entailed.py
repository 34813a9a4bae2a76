"""The metric's derivative over entailed links, from sums by block (maths.md 1.4 and 1.5).

All violated entailed pairs together need, with c_e the coefficient of pair e: C_i = Σ_{e∋i} c_e,
and Σ_e c_e (x_i x_jᵀ + x_j x_iᵀ) as Σ_r Q_r R_r R_rᵀ over a few rows R made of block sums, because
xyᵀ + yxᵀ = (x+y)(x+y)ᵀ − xxᵀ − yyᵀ. Everything has one column a metric, added up if it is shared.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import DenseRows, Rows
from ..distortions import Distortion, Metric
from ..field import EntailedLinks

__all__ = ["entailed_gradient"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class _Cross:
    """Rows R with coefficients Q whose outer products add up to the cross terms."""

    rows: list[FloatArray] = field(default_factory=list)
    coefficients: list[FloatArray] = field(default_factory=list)

    def add(self, x: FloatArray, y: FloatArray, c: float, column: int, width: int) -> None:
        """Add c (xyᵀ + yxᵀ) for matching rows of x and y."""
        for part, sign in ((x + y, c), (x, -c), (y, -c)):
            Q = np.zeros((len(part), width))
            Q[:, column] = sign
            self.rows.append(part)
            self.coefficients.append(Q)


def entailed_gradient(
    links: EntailedLinks,
    rows: Rows,
    labels: IntArray,
    distortion: Distortion,
    metric: Metric,
    top_slope: FloatArray,
) -> FloatArray:
    """Return ∂/∂θ of the entailed cost for the ``hmrf`` penalty, labels fixed."""
    K = len(metric.theta) if metric.per_cluster else int(labels.max(initial=0)) + 1
    if distortion.bregman:
        scale, unit = None, rows
    else:
        scale = np.asarray(distortion.row_scale(rows, metric), np.float64)
        unit = rows.scaled(scale, None)
    own = np.zeros((len(rows), K))  # C_i, or Σ_{e∋i} c_e cos_e for a directional measure
    cross, counts = _Cross(), np.zeros(K)
    for h in range(K):
        counts[h] = _one_label(links, unit, labels, h, scale is None, metric, own, cross)
    R = DenseRows(np.concatenate(cross.rows))
    Q = np.concatenate(cross.coefficients)
    if not metric.per_cluster:
        own, Q, counts = own.sum(axis=1), Q.sum(axis=1), counts.sum()
    w = links.weight
    top = (
        counts.reshape((-1,) + (1,) * top_slope.ndim) * top_slope
        if metric.per_cluster
        else (counts * top_slope)
    )
    if scale is None:
        return w * (metric.scatter(rows, own) - metric.scatter(R, Q) + top)
    return w * (0.5 * metric.scatter(unit, own) - 0.5 * metric.scatter(R, Q) + top)


def _one_label(
    links: EntailedLinks,
    rows: Rows,
    labels: IntArray,
    h: int,
    squared: bool,
    metric: Metric,
    own: FloatArray,
    cross: _Cross,
) -> float:
    """Add what violated pairs contribute under label h; return the number of violated cannots."""
    G, n, K = links.n_blocks, len(links.block), own.shape[1]
    inside = np.flatnonzero(links.block >= 0)
    mine = inside[labels[inside] == h]
    p_all, p = links.block[inside], links.block[mine]
    n_all = np.bincount(p_all, minlength=G).astype(float)
    n_h = np.bincount(p, minlength=G).astype(float)
    s_all, s = rows.sums(_select(p_all, inside, (G, n))), rows.sums(_select(p, mine, (G, n)))
    # Must-links between members with label h and the others: half under this metric.
    cross.add(s, s_all - s, 0.5, h, K)
    others = inside[labels[inside] != h]
    q = links.block[others]
    # Cannot-links: blocks apart, and single rows apart from blocks.
    a, b = links.block_pairs.T
    n_bar, s_bar = np.zeros(G), np.zeros_like(s)
    for left, right in ((a, b), (b, a)):
        np.add.at(n_bar, left, n_h[right])
        np.add.at(s_bar, left, s[right])
    r, g = links.node_blocks[labels[links.node_blocks[:, 0]] == h].T
    n_out = np.bincount(g, minlength=G).astype(float)
    s_out = rows.take(r).sums(_select(g, np.arange(len(r)), (G, len(r))))
    cross.add(s, s_bar, -0.5, h, K)  # each pair of blocks is met from both sides
    cross.add(s, s_out, -1.0, h, K)
    if squared:
        own[mine, h] += 0.5 * (n_all - n_h)[p] - n_bar[p] - n_out[p]
        own[others, h] += 0.5 * n_h[q]
        np.add.at(own[:, h], r, -n_h[g])
    else:
        own[mine, h] += _dots(rows, mine, 0.5 * (s_all - s)[p] - s_bar[p] - s_out[p], metric)
        own[others, h] += _dots(rows, others, 0.5 * s[q], metric)
        np.add.at(own[:, h], r, -_dots(rows, r, s[g], metric))
    return float(n_h @ n_bar / 2.0 + n_h @ n_out)


def _dots(rows: Rows, index: IntArray, vectors: FloatArray, metric: Metric) -> FloatArray:
    """Return ⟨x_i, vector_i⟩_A for some rows."""
    return np.einsum("ij,ij->i", rows.take(index).dense(), metric.apply(vectors))


def _select(group: IntArray, index: IntArray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(index)), (group, index)), shape=shape)
