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
from ..constraints import Ties
from ..distortions import (
    Distortion,
    HMRFPenalty,
    Metric,
    MPC2003Penalty,
    Penalty,
    SquaredEuclidean,
)
from ..distortions.bounds import Bound
from ..field import EntailedLinks, PottsField, edge_costs
from ..inference.on_demand import CostsOnDemand
from .contraction import by_node, contracted
from .entailed import entailed_gradient
from .gaps import square_gaps
from .soft import broken_shares

__all__ = ["PairTerms"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class PairTerms:
    """Σ w f(θ) over violated pairs, explicit and entailed.

    Parameters
    ----------
    ties : Ties
    data : Rows
        All rows, tied or not.
    distortion, penalty : Distortion, Penalty
    bound : Bound or None
        φmax, where the penalty uses it.
    alpha : float or None
        α_max of the 2003 penalty if it is fixed.
    on_demand : CostsOnDemand or None
        The labelling problem of the fit, where its costs are given as they are asked for.
    """

    ties: Ties
    data: Rows
    distortion: Distortion
    penalty: Penalty
    bound: Bound | None = None
    alpha: float | None = None
    on_demand: CostsOnDemand | None = field(default=None, repr=False)
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)
    _field: PottsField | None = field(default=None, repr=False)
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)
    _calm: tuple[IntArray, bool] | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> Rows:
        """The tied rows, copied: entailed links need them side by side."""
        return self.data.take(self.ties.rows)

    @property
    def linear(self) -> bool:
        """Whether the pair part is linear in θ while labels stay."""
        if not self.penalty.metric_dependent:
            return True
        bounded = self.penalty.bounded and self.bound is not None and self.bound.linear
        return bounded and self.distortion.bregman

    def _of(self, metric: Metric) -> dict[str, Any]:
        """Return what was computed for this very metric (metrics are immutable)."""
        if self._cache.get("metric") is not metric:
            self._cache = {"metric": metric}
        return self._cache

    def phi(self, metric: Metric) -> FloatArray:
        """Return φ of every explicit pair."""
        cache = self._of(metric)
        if "phi" not in cache:
            everyone = slice(None)
            if self.penalty.metric_dependent:
                cache["phi"] = self.distortion.pair(self.data, *self._ends(everyone), metric)
            else:
                cache["phi"] = np.zeros(len(self.ties.pairs))
        return np.asarray(cache["phi"])

    def some_phi(self, pairs: NDArray[Any], metric: Metric) -> FloatArray:
        """Return φ of some explicit pairs, at the price of those pairs."""
        cache = self._of(metric)
        if "phi" in cache:
            return np.asarray(cache["phi"][pairs])
        if not self.penalty.metric_dependent:
            return np.zeros(len(pairs))
        return self.distortion.pair(self.data, *self._ends(pairs), metric)

    def top(self, metric: Metric) -> Any:
        """Return φmax(θ), or α_max(θ)."""
        cache = self._of(metric)
        if "top" not in cache:
            if self.bound is not None:
                cache["top"] = self.bound.value(metric)
            elif isinstance(self.penalty, MPC2003Penalty):
                cache["top"] = self.alpha if self.alpha is not None else self.largest(metric)[0]
            else:
                cache["top"] = 0.0
        return cache["top"]

    def largest(self, metric: Metric) -> tuple[float, int]:
        """Return the largest φ among the must-links (all pairs if there are none), and where."""
        phi, among = self.phi(metric), self.ties.must
        if not among.any():
            among = np.ones(len(phi), dtype=bool)
        if len(phi) == 0:
            return 0.0, -1
        at = int(np.argmax(np.where(among, phi, -np.inf)))
        return float(phi[at]), at

    def prices(self, metric: Metric) -> FloatArray:
        """Return what it costs to break every explicit pair."""
        cache = self._of(metric)
        if "prices" not in cache:
            cache["prices"] = self._priced(self.phi(metric), metric, slice(None))
        return np.asarray(cache["prices"])

    def some_prices(self, pairs: NDArray[Any], metric: Metric) -> FloatArray:
        """Return what it costs to break some explicit pairs, at the price of those pairs."""
        cache = self._of(metric)
        if "prices" in cache:
            return np.asarray(cache["prices"][pairs])
        return self._priced(self.some_phi(pairs, metric), metric, pairs)

    def _priced(self, phi: FloatArray, metric: Metric, pairs: Any) -> FloatArray:
        top, must, weight = self.top(metric), self.ties.must[pairs], self.ties.weight[pairs]
        if phi.ndim == 2:
            must, weight = must[:, None], weight[:, None]
        price = np.where(must, self.penalty.must(phi, top), self.penalty.cannot(phi, top))
        if self._hard:
            price = np.where(np.isinf(weight), 1.0, price)  # 0 · inf is not a number
        return np.asarray(weight * price)

    @cached_property
    def _hard(self) -> bool:
        return bool(np.isinf(self.ties.weight).any())

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

    def weighs_squares(self, metric: Metric) -> bool:
        """Whether φ(x, y) = Σ a (x − y)² is what a broken must-link costs."""
        squares = type(self.distortion) is SquaredEuclidean and metric.theta.ndim == 1
        return squares and type(self.penalty) is HMRFPenalty

    def gaps(self, metric: Metric, pairs: NDArray[Any]) -> FloatArray:
        """Return what some pairs cost where their ends agree, less what they cost otherwise."""
        rows = self.data.compiled
        if (
            self.weighs_squares(metric)
            and rows is not None
            and not rows.transposed
            and not self._hard
        ):
            top = float(self.top(metric))
            return square_gaps(rows, self._all_ends, self.ties, pairs, metric, top)
        price = self.some_prices(pairs, metric)
        return np.where(self.ties.must[pairs], -price, price)

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

    def drift(self, old: Metric, new: Metric) -> tuple[float, float] | None:
        """Return between which multiples all gaps change from one metric to another.

        A price that is Σ_m a_m c_m with c_m ≥ 0, as Σ a (x − y)² and what the box of the data has
        left above it, changes by no other factors than the weights a do. None if nothing is known.
        """
        if old is new or not self.penalty.metric_dependent:
            return 1.0, 1.0
        if not self.linear or new.full or (old.theta <= 0).any():
            return None
        ratio = new.theta / old.theta
        return float(ratio.min()), float(ratio.max())

    @cached_property
    def structure(self) -> Structure:
        """The graph of the explicit pairs of fields that are given in parts."""
        ties = self.ties
        return Structure.of(ties.n_nodes, ties.pairs, None, ties.visit)

    def costs(self, metric: Metric) -> tuple[FloatArray, FloatArray]:
        """Return what every explicit pair costs where its ends agree, and where they differ."""
        cache = self._of(metric)
        if "costs" not in cache:
            price = self.prices(metric)
            must = self.ties.must if price.ndim == 1 else self.ties.must[:, None]
            cache["costs"] = np.where(must, 0.0, price), np.where(must, price, 0.0)
        return cache["costs"][0], cache["costs"][1]

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

    def _ends(self, pairs: Any) -> tuple[IntArray, IntArray]:
        """Return between which rows of all data some explicit pairs are."""
        left, right = self._all_ends
        return left[pairs], right[pairs]

    @cached_property
    def _all_ends(self) -> tuple[IntArray, IntArray]:
        left, right = self.ties.pairs.T
        return self.ties.rows[left], self.ties.rows[right]

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
