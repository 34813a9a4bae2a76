"""Where a mixture starts: units of the data, first components."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from .._rows import DenseRows, pieces
from ..constraints import Constraints
from ..engine.mixture import MixtureEngine
from ..engine.plain_mixture import label_sums
from ..estimation.component_sums import ScatterPrior
from ..estimation.gaussians import Gaussians
from ._setup import Setup
from .named import PCKMeans

__all__ = ["Given", "Units", "first_components"]

FloatArray = NDArray[np.float64]

#: Rows that are read at once.
PIECE = 65_536

STARTS = ("kmeans", "k-means++", "random", "random_from_data")


@dataclass(frozen=True)
class Units:
    """x = (row − offset)·scale is centred and of order one, so that products keep their digits.

    Scales are powers of two: they round nothing.
    """

    offset: FloatArray
    scale: FloatArray
    variance: FloatArray
    """Of the rows as they are."""

    @classmethod
    def of(cls, X: NDArray[Any], isotropic: bool) -> Units:
        """Return the units of data; one scale for all features if ``isotropic``."""
        n, d = X.shape
        total = np.zeros(d)
        for piece in pieces(n, PIECE):
            total += X[piece].sum(axis=0, dtype=np.float64)
        offset = (total / n).astype(X.dtype).astype(np.float64)
        square, rest = np.zeros(d), np.zeros(d)
        for piece in pieces(n, PIECE):
            Y = X[piece].astype(np.float64) - offset
            rest += Y.sum(axis=0)
            square += np.einsum("nd,nd->d", Y, Y)
        variance = np.maximum(square / n - (rest / n) ** 2, 0.0)
        size = np.full(d, variance.mean()) if isotropic else variance
        good = np.isfinite(size) & (size > 0)
        power = np.round(0.5 * np.log2(np.where(good, size, 1.0)))
        return cls(offset, np.exp2(-power), variance)

    @property
    def log_volume(self) -> float:
        """What a log density in these units has too little."""
        return float(np.log(self.scale).sum())

    def inward(self, gaussians: Gaussians) -> Gaussians:
        """Return components of the data in these units."""
        return gaussians.rescaled(self.scale, -self.offset * self.scale)

    def outward(self, gaussians: Gaussians) -> Gaussians:
        """Return components in these units in those of the data."""
        return gaussians.rescaled(1.0 / self.scale, self.offset)

    def rows(self, X: NDArray[Any]) -> DenseRows:
        """Return the rows, centred where they are used."""
        return DenseRows(X, self.offset.astype(X.dtype))


@dataclass(frozen=True)
class Given:
    """Parameters to start from that the user gave, in the units of the data."""

    weights: Any = None
    means: Any = None
    precisions: Any = None

    @property
    def complete(self) -> bool:
        """Whether nothing is left to find."""
        return self.weights is not None and self.means is not None and self.precisions is not None

    def checked(self, kind: type[Gaussians], K: int, d: int, units: Units) -> dict[str, FloatArray]:
        """Return what was given, checked, in the inner units."""
        found: dict[str, FloatArray] = {}
        if self.weights is not None:
            weights = np.asarray(self.weights, dtype=np.float64)
            fits = weights.shape == (K,) and np.isfinite(weights).all()
            if not fits or (weights < 0).any() or abs(weights.sum() - 1.0) > 1e-6:
                raise ValueError(
                    f"weights_init must be {K} numbers of at least 0 that add up to 1, got "
                    f"{self.weights!r}"
                )
            found["weights"] = weights / weights.sum()
        if self.means is not None:
            means = np.asarray(self.means, dtype=np.float64)
            if means.shape != (K, d) or not np.isfinite(means).all():
                raise ValueError(
                    f"means_init must have the shape (n_components, n_features) = ({K}, {d}) and "
                    f"no NaN; got shape {means.shape}"
                )
            found["means"] = (means - units.offset) * units.scale
        if self.precisions is not None:
            C = kind.covariances_of(self.precisions, K, d)
            plain = kind(np.ones(K) / K, np.zeros((K, d)), C)
            found["covariances"] = units.inward(plain).covariances
        return found


def first_components(
    engine: MixtureEngine,
    X: NDArray[Any],
    units: Units,
    prior: ScatterPrior,
    init: str,
    given: Given,
    rng: np.random.Generator,
) -> Gaussians:
    """Return the components to set out from, in the inner units (maths.md 6.6)."""
    kind, K, d = engine.kind, engine.n_components, X.shape[1]
    parts = given.checked(kind, K, d, units)
    if given.complete:
        return kind(parts["weights"], parts["means"], parts["covariances"])
    found = _found(engine, X, units, prior, init, rng)
    return kind(
        parts.get("weights", found.weights),
        parts.get("means", found.means),
        parts.get("covariances", found.covariances),
    )


def _found(
    engine: MixtureEngine,
    X: NDArray[Any],
    units: Units,
    prior: ScatterPrior,
    init: str,
    rng: np.random.Generator,
) -> Gaussians:
    kind, K = engine.kind, engine.n_components
    whole = _whole(engine, prior)
    equal = np.full(K, 1.0 / K)
    if init == "kmeans":
        labels, means = _k_means(X, units, K, rng)
        start = kind.shared(equal, means, whole)
        sums = label_sums(engine.plain, start, labels)
        found = start.stepped(sums, 0.0, prior)
        # Clusters of equal rows have no spread of their own, without a prior and a floor.
        return start if found is None else found
    if init == "k-means++":
        means = _k_means_plus_plus(X, units, K, rng)
    else:
        means = engine.plain.taken(np.sort(rng.choice(len(X), K, replace=False)))
    return kind.shared(equal, means, whole if kind.kind == "tied" else whole / K)


def _whole(engine: MixtureEngine, prior: ScatterPrior) -> FloatArray:
    """Return the covariance of all rows; features without any spread get a little."""
    from ..estimation.gaussians import DiagonalGaussians, FullGaussians

    n, d = engine.rows.shape
    full = engine.kind.features == "full"
    kind = FullGaussians if full else DiagonalGaussians
    one = kind.shared(np.ones(1), np.zeros((1, d)), np.eye(d))
    sums = label_sums(engine.plain, one, np.zeros(n, dtype=np.int64))
    mean = sums.first[0] / n
    second = sums.second[0] / n
    C = second - np.outer(mean, mean) if full else np.diag(second - mean**2)
    least = np.maximum(prior.floor, 1e-9 * max(float(np.diag(C).mean()), 1e-300))
    return np.asarray(C + np.diag(least))


def _k_means(
    X: NDArray[Any], units: Units, K: int, rng: np.random.Generator
) -> tuple[NDArray[Any], FloatArray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = PCKMeans(K, init="k-means++", random_state=rng).fit(X)
    return model.labels_, (np.asarray(model.cluster_centers_) - units.offset) * units.scale


def _k_means_plus_plus(
    X: NDArray[Any], units: Units, K: int, rng: np.random.Generator
) -> FloatArray:
    recipe = PCKMeans(K)._recipe(X.shape[1])
    setup = Setup.of(recipe, X, np.ones(len(X)), Constraints(), None)
    centres = setup.start("k-means++", rng).centres + setup.offset
    return (centres - units.offset) * units.scale
