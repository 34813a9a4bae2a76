"""Where the runs of a mixture set out from (maths.md 6.6)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..constraints import Constraints
from ..engine.mixture import MixtureEngine
from ..engine.plain_mixture import PlainMixtureEngine, label_sums
from ..estimation.component_sums import ScatterPrior
from ..estimation.gaussians import DiagonalGaussians, FullGaussians, Gaussians
from ..estimation.group_structure import GroupArrays
from ._mixture_units import Units
from ._setup import Setup
from .named import PCKMeans

__all__ = ["STARTS", "Starts"]

FloatArray = NDArray[np.float64]

STARTS = ("kmeans", "k-means++", "random", "random_from_data")

#: Numbers in the table of rows that the start from groups works on; more rows are sampled.
SAMPLE = 1_000_000


@dataclass(frozen=True)
class Starts:
    """First components of one problem, in the inner units.

    Attributes
    ----------
    engine : MixtureEngine
    X : array
        The rows as they are.
    units : Units
    prior : ScatterPrior
    groups : GroupArrays or None
        Rows are numbered among the engine's grouped ones.
    """

    engine: MixtureEngine
    X: NDArray[Any]
    units: Units
    prior: ScatterPrior
    groups: GroupArrays | None = None

    def components(self, init: str, rng: np.random.Generator) -> Gaussians:
        """Return the components to set out from."""
        if init == "kmeans":
            labels, centres = _k_means(self.X, self._K, rng)
            means = (centres - self.units.offset) * self.units.scale
            return self._of_clusters(self.engine.plain, labels, means)
        if init == "groups":
            return self._by_groups(rng)
        if init == "k-means++":
            means = self._k_means_plus_plus(rng)
        else:
            some = np.sort(rng.choice(len(self.X), self._K, replace=False))
            means = self.engine.plain.taken(some)
        kind, C = self.engine.kind, self._whole()
        return kind.shared(self._equal, means, C if kind.kind == "tied" else C / self._K)

    @property
    def _K(self) -> int:
        return self.engine.n_components

    @property
    def _equal(self) -> FloatArray:
        return np.full(self._K, 1.0 / self._K)

    def _of_clusters(
        self, plain: PlainMixtureEngine, labels: NDArray[Any], means: FloatArray
    ) -> Gaussians:
        """Return the components that clusters of rows are."""
        start = self.engine.kind.shared(self._equal, means, self._whole())
        found = start.stepped(label_sums(plain, start, labels), 0.0, self.prior)
        # Clusters of equal rows have no spread of their own, without a prior and a floor.
        return start if found is None else found

    def _by_groups(self, rng: np.random.Generator) -> Gaussians:
        """Return the clusters of k-means where every direction is as long as groups are wide.

        Directions in which groups are tight beside all rows are those that tell clusters apart
        (relevant components, Shental et al. 2002). So k-means can find clusters that the groups
        ask for, even if others lie farther apart in the data.
        """
        n, d = self.X.shape
        size = max(SAMPLE // d, 20 * self._K)
        some = slice(None) if n <= size else np.sort(rng.choice(n, size, replace=False))
        rows = self.units.rows(self.X[some])
        plain = PlainMixtureEngine(rows, np.empty(0, np.int64), self.engine.scale)
        there, back = _whitening(self._within())
        labels, centres = _k_means(plain.taken(slice(None)) @ there, self._K, rng)
        return self._of_clusters(plain, labels, centres @ back)

    def _within(self) -> FloatArray:
        """Return the covariance of rows about their group, shrunk to that of all rows.

        Confidences are weights, relative to the greatest; the covariance of all rows counts like
        d further rows.
        """
        given, C, d = self.groups, self._whole(), self.X.shape[1]
        if given is None:
            return C
        rows = self.engine.plain.taken(self.engine.grouped)[given.row]
        weight = given.confidence / given.confidence.max(initial=1e-300)
        total = np.bincount(given.group, weight, given.n_groups)
        share = weight / np.maximum(total, 1e-300)[given.group]
        centre = np.zeros((given.n_groups, d))
        np.add.at(centre, given.group, share[:, None] * rows)
        apart = rows - centre[given.group]
        freedom = float((weight * (1.0 - share)).sum())
        scatter = apart.T @ (weight[:, None] * apart)
        within = (scatter + d * C) / (freedom + d)
        return within if self.engine.kind.features == "full" else np.diag(np.diag(within))

    def _whole(self) -> FloatArray:
        """Return the covariance of all rows; features without any spread get a little."""
        n, d = self.X.shape
        full = self.engine.kind.features == "full"
        kind = FullGaussians if full else DiagonalGaussians
        one = kind.shared(np.ones(1), np.zeros((1, d)), np.eye(d))
        sums = label_sums(self.engine.plain, one, np.zeros(n, dtype=np.int64))
        mean = sums.first[0] / n
        second = sums.second[0] / n
        C = second - np.outer(mean, mean) if full else np.diag(second - mean**2)
        least = np.maximum(self.prior.floor, 1e-9 * max(float(np.diag(C).mean()), 1e-300))
        return np.asarray(C + np.diag(least))

    def _k_means_plus_plus(self, rng: np.random.Generator) -> FloatArray:
        recipe = PCKMeans(self._K)._recipe(self.X.shape[1])
        setup = Setup.of(recipe, self.X, np.ones(len(self.X)), Constraints(), None)
        centres = setup.start("k-means++", rng).centres + setup.offset
        return (centres - self.units.offset) * self.units.scale


def _whitening(C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return W with Wᵀ C W = 1, and its inverse."""
    values, vectors = np.linalg.eigh(C)
    length = np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    return np.asarray(vectors / length), np.asarray(length[:, None] * vectors.T)


def _k_means(X: NDArray[Any], K: int, rng: np.random.Generator) -> tuple[NDArray[Any], FloatArray]:
    """Return the labels and the centres of one run of k-means."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PCKMeans(K, init="k-means++", random_state=rng).fit(X)
    return model.labels_, np.asarray(model.cluster_centers_)
