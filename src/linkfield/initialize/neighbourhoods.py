"""Initial centres from what the user knows (maths.md 3; Basu et al. 2003, 2004)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._params import Parameters
from .._rows import DenseRows, Rows
from ..constraints import Closure, Constraints
from ..distortions import Distortion, Metric
from .plus_plus import add_centres

__all__ = ["Neighbourhoods", "SeedingData", "weighted_farthest_first"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class SeedingData:
    """The data as initialisers see it."""

    distortion: Distortion
    rows: Rows
    weight: FloatArray
    metric: Metric
    order: IntArray
    centres_of: Callable[[Any], FloatArray]
    """Makes one centre of each row of a (k, n) matrix of memberships."""
    points_of: Callable[[IntArray], FloatArray] | None = None
    """Makes centres of single rows."""
    distances: Callable[[FloatArray, FloatArray], tuple[NDArray[np.float32], FloatArray]] | None = (
        None
    )
    """A pass of the engine: see :meth:`offer`."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What several starts from the same data share."""

    @property
    def shared(self) -> Metric:
        """One metric for all centres: the first cluster's where each has its own."""
        return self.metric.single()

    @property
    def rank(self) -> IntArray:
        """The place of every row in the canonical order: "first" never depends on storage."""
        rank = np.empty(len(self.order), dtype=np.int64)
        rank[self.order] = np.arange(len(self.order))
        return rank

    @property
    def drawable(self) -> FloatArray:
        """The weights by which rows may become centres: one without direction may not."""
        if self.distortion.bregman:
            return self.weight
        scale = self.distortion.row_scale(self.rows, self.shared)
        assert scale is not None
        drawn = self.weight * (scale > 0)
        return drawn if drawn.any() else self.weight

    def neighbourhoods(self, constraints: Constraints) -> tuple[list[IntArray], FloatArray]:
        """Return the neighbourhoods that have any weight, largest first, and their centres."""
        if self.kept.get("constraints") is not constraints:
            rank, found = self.rank, constraints.closure().neighbourhoods()
            sets = [s for s in found if self.weight[s].sum() > 0]
            sets.sort(key=lambda s: (-len(s), rank[s].min()))
            centres = self.centres_of(_membership(sets, self.weight))
            self.kept.update(constraints=constraints, neighbourhoods=(sets, centres))
        known: tuple[list[IntArray], FloatArray] = self.kept["neighbourhoods"]
        return known

    def points(self, index: IntArray) -> FloatArray:
        """Make centres of single rows."""
        if self.points_of is not None:
            return self.points_of(index)
        k = len(index)
        shape = (k, len(self.rows))
        return self.centres_of(sparse.csr_array((np.ones(k), (np.arange(k), index)), shape=shape))

    def offer(
        self, points: FloatArray, nearest: FloatArray
    ) -> tuple[NDArray[np.float32], FloatArray]:
        """Return D of all rows to some points (k, n), and Σ v min(nearest, D) for each of them."""
        if self.distances is not None:
            return self.distances(points, nearest)
        found = self.distortion.table(self.rows, points, self.shared).T.astype(np.float32)
        return found, np.minimum(nearest, found) @ self.weight


@dataclass
class Neighbourhoods(Parameters):
    """Centres of the neighbourhoods that must-links and labels make.

    Parameters
    ----------
    select : {"greedy", "wff", "largest"}, default="greedy"
        Which to take. "greedy" takes every class of given labels and lets the other
        neighbourhoods compete with points drawn as in k-means++ for the least Σ v min D, because
        several small ones may well belong to one cluster. "wff" is weighted farthest-first (2004)
        and "largest" the K largest (2003); both take all where there are fewer than K, then a
        row that is apart from every one of them, then what the filler gives.
    weight : {"product", "sqrt"}, default="product"
        How weighted farthest-first weighs a distance by the neighbourhoods' shares.
    filler : {"kmeans++", "random", "perturb"}, default="kmeans++"
        Where the centres come from that no neighbourhood gives: k-means++ given those that are
        there, distinct random rows, or the global centre plus 0.1 standard deviations of noise.
    """

    select: str = "greedy"
    weight: str = "product"
    filler: str = "kmeans++"

    def __call__(
        self, data: SeedingData, constraints: Constraints, n_clusters: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return ``n_clusters`` centres."""
        for name, allowed in (
            ("select", ("greedy", "wff", "largest")),
            ("weight", ("product", "sqrt")),
            ("filler", ("kmeans++", "random", "perturb")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {allowed}; got {getattr(self, name)!r}")
        closure, (sets, centres) = constraints.closure(), data.neighbourhoods(constraints)
        classes = _classes_first(closure, sets)
        if self.select == "greedy" and self.filler == "kmeans++" and classes.sum() < n_clusters:
            return self._greedy(data, sets, centres, classes, n_clusters, rng)
        if len(sets) == n_clusters:
            return centres
        if len(sets) > n_clusters:
            return centres[self._chosen(data, sets, centres, n_clusters)]
        extra = _apart_from_all(closure, sets, data.weight, data.rank)
        if extra is not None and len(sets) < n_clusters:
            centres = np.concatenate([centres, data.points(np.array([extra]))])
        return self.fill(data, centres, n_clusters, rng)

    def _greedy(
        self,
        data: SeedingData,
        sets: list[IntArray],
        centres: FloatArray,
        classes: NDArray[np.bool_],
        n_clusters: int,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Take every class of the labels (they differ), then whatever explains most."""
        size = np.array([len(s) for s in sets], dtype=np.float64)
        return add_centres(
            data, n_clusters, rng, centres[classes], centres[~classes], size[~classes]
        )

    def _chosen(
        self, data: SeedingData, sets: list[IntArray], centres: FloatArray, k: int
    ) -> IntArray:
        size = np.array([len(s) for s in sets], dtype=np.float64)
        if self.select == "largest":
            return np.arange(k)  # neighbourhoods come largest first
        everything = sparse.csr_array(np.ones((1, len(data.rows))))
        middle = data.centres_of(everything.multiply(data.weight[None, :]).tocsr())
        share = size / size.sum()
        if self.weight == "sqrt":
            share = np.sqrt(share)
        all_rows = DenseRows(np.concatenate([centres, middle]))
        n = len(centres)

        def phi(i: IntArray, j: IntArray) -> FloatArray:
            return data.distortion.pair(all_rows, i, j, data.shared)

        from_middle = phi(np.arange(n), np.full(n, n))
        first = np.array([data.rank[s].min() for s in sets])
        return weighted_farthest_first(
            lambda p: phi(np.arange(n), np.full(n, p)), share, from_middle, first, size, k
        )

    def fill(
        self, data: SeedingData, centres: FloatArray, n_clusters: int, rng: np.random.Generator
    ) -> FloatArray:
        """Add centres until there are enough."""
        missing = n_clusters - len(centres)
        if missing == 0:
            return centres
        if self.filler == "kmeans++":
            return add_centres(data, n_clusters, rng, centres)
        if self.filler == "random":
            alive = data.order[data.weight[data.order] > 0]
            more = data.points(rng.choice(alive, size=missing, replace=len(alive) < missing))
        else:
            more = _perturbed(data, missing, rng)
        return np.concatenate([centres, more])


def weighted_farthest_first(
    distances_from: Callable[[int], FloatArray],
    share: FloatArray,
    from_middle: FloatArray,
    first_row: IntArray,
    size: FloatArray,
    k: int,
) -> IntArray:
    """Choose k neighbourhoods, each next one far from those chosen, large ones preferred.

    argmax over unvisited p of min_{q visited} ω_p ω_q φ(c_p, c_q) (Basu et al. 2004, 3.3); ties go
    to the larger distance from the global centre, then to the first row.
    """
    chosen = [int(np.lexsort((first_row, -from_middle, -size))[0])]
    least = share * share[chosen[0]] * distances_from(chosen[0])
    while len(chosen) < k:
        score = least.copy()
        score[chosen] = -np.inf
        tied = np.flatnonzero(score >= score.max() - 1e-12 * abs(score.max()))
        pick = tied[np.lexsort((first_row[tied], -from_middle[tied]))[0]]
        chosen.append(int(pick))
        least = np.minimum(least, share * share[pick] * distances_from(int(pick)))
    return np.array(chosen)


def _classes_first(closure: Closure, sets: list[IntArray]) -> NDArray[np.bool_]:
    """Say which neighbourhoods hold a class of the given labels."""
    home = closure.component[np.searchsorted(closure.rows, [s[0] for s in sets])]
    return np.isin(home, closure.class_component)


def _membership(sets: list[IntArray], weight: FloatArray) -> sparse.csr_array:
    """Return a (k, n) matrix of the rows of each set, by their weights."""
    rows = np.concatenate(sets) if sets else np.empty(0, np.int64)
    pointer = np.cumsum([0, *(len(s) for s in sets)])
    return sparse.csr_array((weight[rows], rows, pointer), shape=(len(sets), len(weight)))


def _apart_from_all(
    closure: Closure, sets: list[IntArray], weight: FloatArray, rank: IntArray
) -> int | None:
    """Return the first row outside all neighbourhoods that is apart from every one of them."""
    if not sets:
        return None
    home = closure.component[np.searchsorted(closure.rows, [s[0] for s in sets])]
    reach = closure.graph[:, home].sum(axis=1)
    apart = np.asarray(reach).ravel() >= len(sets)
    apart[home] = False
    found = closure.rows[apart[closure.component] & (weight[closure.rows] > 0)]
    return int(found[rank[found].argmin()]) if len(found) else None


def _perturbed(data: SeedingData, k: int, rng: np.random.Generator) -> FloatArray:
    """Return the global centre plus 0.1 standard deviations of Gaussian noise a feature."""
    share = (data.weight / data.weight.sum())[None, :]
    mean = data.rows.sums(share)[0]
    std = np.sqrt(np.maximum(data.rows.square_sums(share)[0] - mean**2, 0.0))
    middle = data.centres_of(sparse.csr_array(data.weight[None, :]))
    moved = middle + 0.1 * std * rng.normal(size=(k, len(std)))
    low = data.rows.range()[0]
    # A divergence's centres must not leave the data's range on the side of zero, rates not 1.
    moved = np.where(low >= 0, np.maximum(moved, 0.5 * np.abs(middle)), moved)
    if data.distortion.name == "logistic":
        moved = np.minimum(moved, 1.0 - 0.5 * (1.0 - middle))
    return data.distortion.prepared_centres(moved)
