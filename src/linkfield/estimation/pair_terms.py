"""The pair part of the objective: costs, energy and derivative for the tied rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._blocksums import BlockGroups
from .._rows import DenseRows, Rows
from .._structure import Structure
from ..distortions import Metric, MPC2003Penalty
from ..field import EntailedLinks, PottsField, edge_costs
from ..inference.on_demand import CostsOnDemand
from .contraction import by_node, contracted
from .entailed import entailed_gradient
from .pair_prices import PairPrices
from .soft import broken_shares

__all__ = ["PairTerms"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class PairTerms(PairPrices):
    """Σ w f(θ) over violated pairs, explicit and entailed.

    Parameters
    ----------
    ties, data, distortion, penalty, bound, alpha
        As in :class:`PairPrices`.
    on_demand : CostsOnDemand or None
        The labelling problem of the fit, where its costs are given as they are asked for.
    """

    on_demand: CostsOnDemand | None = field(default=None, repr=False)
    _field: PottsField | None = field(default=None, repr=False)
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)
    _calm: tuple[IntArray, bool] | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> Rows:
        """The tied rows, copied: entailed links need them side by side."""
        return self.data.take(self.ties.rows)

    @cached_property
    def in_parts(self) -> bool:
        """Whether the field can do without the costs of pairs that nobody looks at."""
        weight = self.ties.weight
        plain = self.one_row_a_node and self.ties.n_blocks == 0
        return plain and self._has_top and not self._hard and bool((weight > 0).all())

    @property
    def _has_top(self) -> bool:
        """Whether the largest penalty is known without looking at every pair."""
        return not isinstance(self.penalty, MPC2003Penalty) or self.alpha is not None

    @cached_property
    def only_blocks(self) -> bool:
        """Whether links inside blocks and between them are all that ties any row."""
        ties = self.ties
        alone = len(ties.pairs) == 0 and len(ties.row_blocks) == 0 and self.one_row_a_node
        return alone and bool((ties.block >= 0).all())

    def quiet(self, labels: IntArray) -> bool:
        """Say whether labels of the tied rows break no entailed link that is kept by block.

        The array of labels must not be changed afterwards: it is known again.
        """
        if self._calm is None or self._calm[0] is not labels:
            ties, K = self.ties, int(labels.max(initial=0)) + 1
            groups = BlockGroups.of_labels(ties.block, labels, K)
            self._calm = labels, groups.quiet(ties.block_pairs, ties.row_blocks, labels)
        return self._calm[1]

    @cached_property
    def structure(self) -> Structure:
        """The graph of the explicit pairs of fields that are given in parts."""
        ties = self.ties
        return Structure.of(ties.n_nodes, ties.pairs, None, ties.visit)

    def links(self, metric: Metric) -> EntailedLinks | None:
        """Return the entailed links that are kept by block, row by row."""
        ties = self.ties
        if ties.n_blocks == 0:
            return None
        cache = self._of(metric)
        if "links" not in cache:
            n = ties.n_rows
            if self.penalty.metric_dependent:
                b, z = self.distortion.embedding(self.rows, metric)
                top = np.atleast_1d(np.asarray(self.top(metric), np.float64))
            else:  # f = 1: φ = 1 between any two rows, and 2 − φ = 1 as well
                b, z = np.full((1, n), 0.5), [DenseRows(np.zeros((n, 0)))]
                top = np.array([2.0])
            cache["links"] = EntailedLinks(
                ties.block, ties.block_pairs, ties.row_blocks, ties.entailed_weight,
                np.ones(n), b, list(z), top,
            )  # fmt: skip
        links: EntailedLinks = cache["links"]
        return links

    @property
    def one_row_a_node(self) -> bool:
        """Whether no hard must-link joins rows."""
        return self.ties.n_nodes == self.ties.n_rows

    def field(
        self,
        unary: FloatArray,
        metric: Metric,
        noise: FloatArray | None = None,
        cheapest: IntArray | None = None,
    ) -> PottsField:
        """Return the labelling problem; rows joined by hard must-links are one node (1.6).

        ``unary`` has a row for every tied row; ``noise`` is how far it may be off, ``cheapest``
        the label of its least.
        """
        ties = self.ties
        agree, differ = self.costs(metric)
        U, ends = unary, ties.pairs
        if not self.one_row_a_node:
            ends = ties.node[ties.pairs]
            inside = ends[:, 0] == ends[:, 1]
            U = contracted(unary, ties.node, ties.n_nodes, ends[inside, 0], agree[inside])
            # With one shared metric a pair inside a node costs the same under every label.
            ends, agree, differ = ends[~inside], agree[~inside], differ[~inside]
            noise = None if noise is None else np.asarray(np.bincount(ties.node, noise), float)
            cheapest = None
        links = self.links(metric)
        if not self.one_row_a_node:
            links = by_node(links, ties.node, ties.n_nodes)
        if self._field is None:
            self._field = PottsField(U, ends, agree, differ, links, visit=ties.visit)
        return self._field.with_costs(U, agree, differ, links, noise, cheapest)

    def pair_costs(self, labels: IntArray, metric: Metric) -> FloatArray:
        """Return what every explicit pair costs under labels of the tied rows."""
        agree, differ = self.costs(metric)
        return edge_costs(self.ties.pairs, agree, differ, labels)

    def violated(self, labels: IntArray) -> IntArray:
        """Return which explicit pairs labels of the tied rows break.

        The array of labels must not be changed afterwards: it is known again at a glance.
        """
        seen = self._seen.get("labels")
        if seen is not labels and (seen is None or not np.array_equal(seen, labels)):
            from .._kernels.pairs import broken

            self._seen = {"labels": labels, "violated": broken(*self._compact_ends, labels)}
        found: IntArray = self._seen["violated"]
        return found

    def violating(self, labels: IntArray, pairs: IntArray) -> None:
        """Take it that labels of the tied rows break these pairs; see :meth:`violated`."""
        self._seen = {"labels": labels, "violated": pairs}

    @cached_property
    def _compact_ends(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]]:
        left, right = np.ascontiguousarray(self.ties.pairs.T, dtype=np.int32)
        return left, right, np.ascontiguousarray(self.ties.must)

    def energy(self, labels: NDArray[Any], metric: Metric) -> float:
        """Return the pair part of J: of labels of the tied rows, or expected of probabilities.

        Neither array must be changed afterwards: both are known again at a glance.
        """
        if labels.ndim == 2:
            e, share = self._expected(labels, metric)
            return float((self.prices(metric)[e] * share).sum())
        if metric.per_cluster:
            total = float(self.pair_costs(labels, metric).sum())
        else:
            total = self._violated_energy(self.violated(labels), metric)
        return total + self._entailed_energy(labels, metric)

    def _violated_energy(self, pairs: IntArray, metric: Metric) -> float:
        if len(pairs) == 0:
            return 0.0
        known = self._of(metric).get("violated")
        if known is None or known[0] is not pairs:
            known = (pairs, float(self.some_prices(pairs, metric).sum()))
            self._of(metric)["violated"] = known
        return float(known[1])

    def _entailed_energy(self, labels: IntArray, metric: Metric) -> float:
        if self.ties.n_blocks == 0 or self.quiet(labels):
            return 0.0
        links = self.links(metric)
        assert links is not None
        known = self._of(metric).get("entailed")
        if known is None or not np.array_equal(known[0], labels):
            n_labels = len(links.z) if len(links.z) > 1 else int(labels.max(initial=0)) + 1
            known = (labels.copy(), links.energy(labels, n_labels))
            self._of(metric)["entailed"] = known
        return float(known[1])

    def gradient(self, labels: NDArray[Any], metric: Metric) -> FloatArray:
        """Return the derivative of the pair part by θ, labels (or probabilities) fixed (2.5).

        They must not be changed afterwards, as with :meth:`energy`.
        """
        if not self.penalty.metric_dependent:
            return np.zeros_like(metric.theta)
        total = self._explicit_gradient(labels, metric)
        if self.ties.n_blocks and not self.quiet(labels):
            links = self.links(metric)
            assert links is not None and self.bound is not None
            top_slope = self.bound.gradient(metric)
            total = total + entailed_gradient(
                links, self.rows, labels, self.distortion, metric, top_slope
            )
        return total

    def _explicit_gradient(self, labels: NDArray[Any], metric: Metric) -> FloatArray:
        ties, top = self.ties, self.top(metric)
        e, share = self._broken(labels, metric)
        if len(e) == 0:
            return np.zeros_like(metric.theta)
        by_phi, by_top = self.penalty.slopes(self.some_phi(e, metric), top, ties.must[e])
        i, j = self._ends(e)
        total = self.distortion.pair_gradient(self.data, i, j, by_phi * share, metric)
        return total + self._top_gradient(by_top * share, metric)

    def _broken(self, labels: NDArray[Any], metric: Metric) -> tuple[IntArray, FloatArray]:
        """Return soft pairs that are broken, and with what weight (under which metric)."""
        weight = self.ties.weight
        if labels.ndim == 2:
            e, share = self._expected(labels, metric)
            return e, share * (weight[e] if share.ndim == 1 else weight[e, None])
        e = self.violated(labels)
        e = e[np.isfinite(weight[e])]
        if not metric.per_cluster:
            return e, weight[e]
        left, right = labels[self.ties.pairs[e]].T
        return e, _cluster_shares(left, right, len(metric.theta)) * weight[e, None]

    def _expected(self, q: FloatArray, metric: Metric) -> tuple[IntArray, FloatArray]:
        """Return the soft pairs, and by which probability each is broken (maths.md 4.5)."""
        ties = self.ties
        assert ties.n_blocks == 0, "probabilities need every link as a pair"
        if self._seen.get("probabilities") is not q:
            e = np.flatnonzero(np.isfinite(ties.weight))
            joined = ties.node[ties.pairs[e, 0]] == ties.node[ties.pairs[e, 1]]
            split = metric.per_cluster and self.penalty.metric_dependent
            share = broken_shares(ties.pairs[e], ties.must[e], joined, q, split)
            self._seen = {"probabilities": q, "expected": (e, share)}
        found: tuple[IntArray, FloatArray] = self._seen["expected"]
        return found

    def _top_gradient(self, by_top: FloatArray, metric: Metric) -> FloatArray:
        """Return Σ_e ∂f_e/∂top · ∂top/∂θ."""
        if self.bound is not None:
            slope, amount = self.bound.gradient(metric), by_top.sum(axis=0)
            if metric.per_cluster:
                return np.asarray(amount.reshape((-1,) + (1,) * slope.ndim) * slope)
            return np.asarray(amount * slope)
        if self.alpha is not None or not by_top.any():
            return np.zeros_like(metric.theta)
        _, at = self.largest(metric)
        i, j = self._ends([at])
        return self.distortion.pair_gradient(self.data, i, j, np.array([by_top.sum()]), metric)


def _cluster_shares(left: IntArray, right: IntArray, K: int) -> FloatArray:
    """Return which cluster's metric a violated pair pays under: half each, or all of one."""
    e = np.arange(len(left))
    share = np.zeros((len(left), K))
    np.add.at(share, (e, left), 0.5)
    np.add.at(share, (e, right), 0.5)
    return share
