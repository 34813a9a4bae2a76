"""The metric's derivative over entailed links, from sums by block (maths.md 1.4 and 1.5).

All violated entailed pairs together need, with c_e the coefficient of pair e: C_i = Σ_{e∋i} c_e,
and Σ_e c_e (x_i x_jᵀ + x_j x_iᵀ) as Σ_r Q_r R_r R_rᵀ over a few rows R made of block sums, because
xyᵀ + yxᵀ = (x+y)(x+y)ᵀ − xxᵀ − yyᵀ. Everything has one column a metric, added up if it is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._blocksums import BlockGroups
from .._rows import DenseRows, Rows
from ..distortions import Distortion, Metric
from ..field import EntailedLinks

__all__ = ["entailed_gradient"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    groups = BlockGroups.of_labels(links.block, labels, K)
    if groups.quiet(links.block_pairs, links.node_blocks, labels):
        return np.zeros_like(metric.theta)
    scale, unit = None, rows
    if not distortion.bregman:
        scale = np.asarray(distortion.row_scale(rows, metric), np.float64)
        unit = rows.scaled(scale, None)
    parts = _Parts(links, unit, labels, groups)
    own = parts.own(scale is None, metric)
    R, Q, column = parts.cross()
    counts = parts.violated_cannots()
    w = links.weight
    if metric.per_cluster:
        own, Q = own, _by_column(Q, column, K)
        by_cluster = np.bincount(groups.label, counts, K).reshape((-1,) + (1,) * top_slope.ndim)
        top = by_cluster * top_slope
    else:
        own, top = own.sum(axis=1), counts.sum() * top_slope
    factor = 1.0 if scale is None else 0.5
    scatter = metric.scatter(unit, own) - metric.scatter(DenseRows(R), Q)
    return np.asarray(w * (factor * scatter + top))


@dataclass(frozen=True)
class _Parts:
    """Sums by block and label, and what violated pairs make of them.

    A must-link between members with different labels counts half under either label; a
    cannot-link counts, negatively, under the label that its ends share.
    """

    links: EntailedLinks
    rows: Rows
    labels: IntArray
    groups: BlockGroups

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray]:
        """Numbers and sums of rows of every group."""
        groups = self.groups
        n = np.asarray(np.bincount(groups.of, minlength=groups.n_groups), np.float64)
        return n, groups.rows(self.rows)

    @cached_property
    def others(self) -> tuple[FloatArray, FloatArray]:
        """The same of the rest of each group's block."""
        n, s = self.sums
        at = self.groups.block
        return self.groups.by_block(n)[at] - n, self.groups.by_block(s)[at] - s

    @cached_property
    def barred(self) -> tuple[FloatArray, FloatArray]:
        """The same of everything that is apart from a group and shares its label."""
        (n, s), groups, links = self.sums, self.groups, self.links
        n_bar, s_bar = np.zeros_like(n), np.zeros_like(s)
        p, q = groups.shared(links.block_pairs)
        for left, right in ((p, q), (q, p)):
            np.add.at(n_bar, left, n[right])
            np.add.at(s_bar, left, s[right])
        r, g = groups.beside(links.node_blocks, self.labels)
        np.add.at(n_bar, g, 1.0)
        np.add.at(s_bar, g, self.rows.take(r).dense())
        return n_bar, s_bar

    def own(self, squared: bool, metric: Metric) -> FloatArray:
        """Return C_i under every label, or Σ_{e∋i} c_e cos_e for a directional measure."""
        groups, labels = self.groups, self.labels
        K = groups.index.shape[1]
        own = np.zeros((len(self.rows), K))
        nodes, of = groups.nodes, groups.of
        (n, s), (n_rest, s_rest), (n_bar, s_bar) = self.sums, self.others, self.barred
        r, g = groups.beside(self.links.node_blocks, labels)
        if squared:
            own[nodes, labels[nodes]] += (0.5 * n_rest - n_bar)[of]
            np.add.at(own, (r, labels[r]), -n[g])
        else:
            own[nodes, labels[nodes]] += _dots(self.rows, nodes, (0.5 * s_rest - s_bar)[of], metric)
            np.add.at(own, (r, labels[r]), -_dots(self.rows, r, s[g], metric))
        self._add_other_labels(own, squared, metric)
        return own

    def _add_other_labels(self, own: FloatArray, squared: bool, metric: Metric) -> None:
        """Add, for a broken must-link, the half that counts under the label of the other end."""
        groups, (n, s) = self.groups, self.sums
        nodes = groups.nodes
        block = groups.block[groups.of]
        for h in range(own.shape[1]):
            group = groups.index[block, h]
            met = (group >= 0) & (self.labels[nodes] != h)
            if not met.any():
                continue
            i, g = nodes[met], group[met]
            own[i, h] += 0.5 * (n[g] if squared else _dots(self.rows, i, s[g], metric))

    def cross(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return rows R with coefficients Q, and labels, with Σ Q RRᵀ = Σ_e c_e (xyᵀ + yxᵀ)."""
        (_, s), (_, s_rest), (_, s_bar) = self.sums, self.others, self.barred
        p, q = self.groups.shared(self.links.block_pairs)
        # Barred sums meet a pair of blocks from both sides, a node and a block only from one.
        pairs = np.zeros_like(s)
        for left, right in ((p, q), (q, p)):
            np.add.at(pairs, left, s[right])
        rows, coefficients = [], []
        for x, y, c in ((s, s_rest, 0.5), (s, pairs, -0.5), (s, s_bar - pairs, -1.0)):
            for part, sign in ((x + y, c), (x, -c), (y, -c)):
                rows.append(part)
                coefficients.append(np.full(len(part), sign))
        return np.concatenate(rows), np.concatenate(coefficients), np.tile(self.groups.label, 9)

    def violated_cannots(self) -> FloatArray:
        """Return how many cannot-links each group breaks, those between blocks half."""
        n, (n_bar, _) = self.sums[0], self.barred
        _, g = self.groups.beside(self.links.node_blocks, self.labels)
        outer = np.asarray(np.bincount(g, minlength=len(n)), np.float64)
        return n * (0.5 * (n_bar - outer) + outer)


def _by_column(Q: FloatArray, column: IntArray, K: int) -> FloatArray:
    out = np.zeros((len(Q), K))
    out[np.arange(len(Q)), column] = Q
    return out


def _dots(rows: Rows, index: IntArray, vectors: FloatArray, metric: Metric) -> FloatArray:
    """Return ⟨x_i, vector_i⟩_A for some rows."""
    return np.einsum("ij,ij->i", rows.take(index).dense(), metric.apply(vectors))
