"""Bregman divergences d_F(x, μ) = F(x) − F(μ) − ⟨x − μ, ∇F(μ)⟩ (Banerjee et al. 2005)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy

from .._rows import DenseRows, Rows, as_rows, pieces
from .base import Distortion, Smoothing
from .bounds import Bound, Constant, Diameter, Linear, Mass
from .euclidean import weighted_means
from .metrics import Metric

__all__ = ["Bregman", "IDivergence", "ItakuraSaito", "KullbackLeibler", "Logistic"]

FloatArray = NDArray[np.float64]
Array = NDArray[Any]


@dataclass
class SeparableBregman(Distortion):
    """F(x) = Σ_m a_m F₁(x_m) with weights a > 0, which can be learned.

    The pair penalty is the Jensen-Bregman one, F(x) + F(y) − 2F((x + y)/2). It grows as either
    coordinate moves away from the other, because F₁ is convex; so the value at the ends of a
    feature's range bounds it, for every F₁ ("box").

    Parameters
    ----------
    smoothing_strength, smoothing_decay, smoothing_floor : float
        ζ, its decay an iteration and its floor (maths.md E2). 0 turns smoothing off.
    """

    smoothing_strength: float = 0.0
    smoothing_decay: float = 0.5
    smoothing_floor: float = 0.0

    metrics = ("identity", "diagonal")
    default_bound = "box"
    needs_smoothing: ClassVar[bool] = False

    @staticmethod
    @abstractmethod
    def F1(x: Array) -> Array:
        """Return F₁ of every entry."""

    @staticmethod
    @abstractmethod
    def dF1(x: Array) -> Array:
        """Return F₁' of every entry."""

    def prior(self, rows: Rows, weight: FloatArray) -> FloatArray:
        """Return u₀: the mean mass of a row, spread evenly over the features."""
        d = rows.shape[1]
        total = float(rows.sums(weight[None, :])[0].sum() / weight.sum())
        return np.full(d, total / d if total > 0 else 1.0 / d)

    def smoothing(self, rows: Rows, weight: FloatArray) -> Smoothing | None:
        strength, floor = self.smoothing_strength, self.smoothing_floor
        if min(strength, floor, self.smoothing_decay) < 0 or self.smoothing_decay > 1:
            raise ValueError("smoothing needs strength >= 0, floor >= 0 and 0 <= decay <= 1")
        if self.needs_smoothing and min(strength, floor) <= 0:
            raise ValueError(
                f"{self.name} needs smoothing_strength > 0 and smoothing_floor > 0: a centre "
                "with a zero would be infinitely far from rows that are not zero there"
            )
        if strength == 0:
            return None
        prior = self.prior(rows, weight)
        return Smoothing(strength, self.smoothing_decay, min(floor, strength), prior)

    def row_offset(self, rows: Rows, metric: Metric) -> Array:
        return np.asarray(rows.map(self.F1).dot(metric.theta[None, :])[:, 0])

    def centre_terms(self, M: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
        slope = self.dF1(M)
        return (M * slope - self.F1(M)) @ metric.theta, metric.theta * slope

    def centres(
        self, sums: FloatArray, weight: FloatArray, old: FloatArray, metric: Metric
    ) -> FloatArray:
        return weighted_means(sums, weight, old)

    def second_moment(self, rows: Rows, weight: FloatArray, metric: Metric) -> FloatArray:
        """Return Σ v F₁(x), feature by feature."""
        return rows.map(self.F1).sums(weight[None, :])[0]

    def dispersion(
        self,
        moment: FloatArray,
        sums: FloatArray,
        weight: FloatArray,
        M: FloatArray,
        metric: Metric,
    ) -> FloatArray:
        """Return S with ⟨a, S⟩ = Σ v D(x, μ)."""
        filled = weight > 0
        M, sums, weight = M[filled], sums[filled], weight[filled, None]
        each = weight * self.F1(M) + (sums - weight * M) * self.dF1(M)
        return moment - each.sum(axis=0)

    def _jensen(self, rows: Rows, i: Any, j: Any) -> Rows:
        """Return the pair penalty feature by feature."""
        a, b = rows.take(i), rows.take(j)
        if isinstance(a, DenseRows) and isinstance(b, DenseRows):
            return DenseRows(self.F1(a.X) + self.F1(b.X) - 2.0 * self.F1((a.X + b.X) / 2.0))
        x, y = sparse.csr_array(a.X), sparse.csr_array(b.X)  # type: ignore[attr-defined]
        middle = as_rows((x + y) / 2.0).map(self.F1).X  # type: ignore[attr-defined]
        return as_rows(a.map(self.F1).X + b.map(self.F1).X - 2.0 * middle)  # type: ignore[attr-defined]

    def pair(self, rows: Rows, i: Any, j: Any, metric: Metric) -> FloatArray:
        out = np.empty(len(i))
        for piece in pieces(len(i), max(256, 4_000_000 // rows.shape[1])):
            out[piece] = self._jensen(rows, i[piece], j[piece]).dot(metric.theta[None, :])[:, 0]
        return np.maximum(out, 0.0)

    def pair_gradient(
        self, rows: Rows, i: Any, j: Any, c: FloatArray, metric: Metric
    ) -> FloatArray:
        total = np.zeros_like(metric.theta)
        for piece in pieces(len(i), max(256, 4_000_000 // rows.shape[1])):
            total += self._jensen(rows, i[piece], j[piece]).sums(c[piece][None, :])[0]
        return total

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        if not isinstance(kind, str):
            return Constant(float(kind))
        if kind == "auto":
            kind = self.default_bound
        if kind == "box":
            low, high = rows.range()
            return Linear(self.F1(low) + self.F1(high) - 2.0 * self.F1((low + high) / 2.0))
        if kind == "diameter":
            return Diameter(rows, self.pair, self.pair_gradient)
        raise ValueError(
            f"bound={kind!r} does not fit {self.name}; take 'auto', 'box', 'diameter' or a number"
        )


@dataclass
class IDivergence(SeparableBregman):
    """D(x, μ) = Σ a [x ln(x/μ) − (x − μ)] on rows ≥ 0: counts, TF-IDF (Basu et al. 2004, eq. 12).

    The pair penalty is D_I to the mean of both, Σ a [x ln(2x/(x+y)) + y ln(2y/(x+y))].
    Smoothing is mandatory: every centre must be positive everywhere.
    """

    smoothing_strength: float = 1.0
    smoothing_floor: float = 1e-3

    name = "i-divergence"
    default_bound = "mass"
    needs_smoothing = True

    def check(self, X: Any) -> None:
        _at_least_zero(X, self.name)

    @staticmethod
    def F1(x: Array) -> Array:
        return np.asarray(xlogy(x, x) - x)

    @staticmethod
    def dF1(x: Array) -> Array:
        return np.asarray(np.log(x))

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        if kind == "mass" or (kind == "auto" and self.default_bound == "mass"):
            return Mass(rows)
        return super().bound(kind, rows, metric)


@dataclass
class KullbackLeibler(IDivergence):
    """The I-divergence of rows scaled to sum to 1: distributions.

    A row must have a positive sum. Centres are distributions too.
    """

    name = "kl"

    def check(self, X: Any) -> None:
        _at_least_zero(X, self.name)
        total = np.asarray(X.sum(axis=1)).ravel()
        if (total <= 0).any():
            row = int(np.flatnonzero(total <= 0)[0])
            raise ValueError(
                f"kl needs rows that can be scaled to sum to 1, but row {row} is all zero; drop "
                "such rows, or use the i-divergence"
            )

    def rows(self, X: Any) -> Rows:
        plain = as_rows(X)
        total = np.asarray(plain.dot(np.ones((1, plain.shape[1])))[:, 0])
        scale = np.where(total > 0, 1.0 / np.where(total > 0, total, 1.0), 0.0)
        scaled = plain.scaled(scale.astype(plain.dtype), None)
        return scaled

    def prepared_centres(self, M: FloatArray) -> FloatArray:
        return np.asarray(M / M.sum(axis=1, keepdims=True))


@dataclass
class ItakuraSaito(SeparableBregman):
    """D(x, μ) = Σ a [x/μ − ln(x/μ) − 1] on rows > 0: spectra, scales."""

    name = "itakura-saito"

    def check(self, X: Any) -> None:
        smallest = X.min()
        if smallest <= 0:
            raise ValueError(
                f"itakura-saito needs values above 0; the smallest is {smallest:g}. Add a small "
                "positive constant, or choose another distortion"
            )

    def rows(self, X: Any) -> Rows:
        return DenseRows(as_rows(X).dense())  # no value is 0, so nothing is sparse

    @staticmethod
    def F1(x: Array) -> Array:
        return np.asarray(-np.log(x))

    @staticmethod
    def dF1(x: Array) -> Array:
        return np.asarray(-1.0 / x)


@dataclass
class Logistic(SeparableBregman):
    """D(x, μ) = Σ a [x ln(x/μ) + (1−x) ln((1−x)/(1−μ))] on 0 ≤ x ≤ 1: bits and rates."""

    smoothing_strength: float = 1.0
    smoothing_floor: float = 1e-3

    name = "logistic"
    needs_smoothing = True

    def check(self, X: Any) -> None:
        low, high = X.min(), X.max()
        if low < 0 or high > 1:
            raise ValueError(
                f"logistic needs values between 0 and 1; found {low:g} to {high:g}. Scale the "
                "columns (MinMaxScaler), or choose another distortion"
            )

    def prior(self, rows: Rows, weight: FloatArray) -> FloatArray:
        return np.full(rows.shape[1], 0.5)

    @staticmethod
    def F1(x: Array) -> Array:
        return np.asarray(xlogy(x, x) + xlogy(1.0 - x, 1.0 - x))

    @staticmethod
    def dF1(x: Array) -> Array:
        return np.asarray(np.log(x) - np.log1p(-x))


@dataclass
class Bregman(Distortion):
    """The user's own Bregman divergence.

    Parameters
    ----------
    F : callable
        Takes rows of shape (n, d) and returns F of each, shape (n,); strictly convex.
    grad : callable
        Takes rows of shape (n, d) and returns ∇F of each, shape (n, d).

    Examples
    --------
    >>> import numpy as np
    >>> from linkfield import HMRFKMeans
    >>> from linkfield.distortions import Bregman
    >>> cosh = Bregman(F=lambda x: np.cosh(x).sum(axis=1), grad=np.sinh)
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> HMRFKMeans(2, distortion=cosh, metric="identity", random_state=0).fit(X).objective_ < 0.02
    True
    """

    F: Callable[[FloatArray], FloatArray]
    grad: Callable[[FloatArray], FloatArray]

    name = "bregman"

    def rows(self, X: Any) -> Rows:
        return DenseRows(np.asarray(as_rows(X).dense(), np.float64))

    def _checked(self, values: Any, shape: tuple[int, ...], what: str) -> FloatArray:
        array = np.asarray(values, np.float64)
        if array.shape != shape or not np.isfinite(array).all():
            raise ValueError(
                f"Bregman: {what} must return finite values of shape {shape}; got shape "
                f"{array.shape}. Does the data lie in its domain?"
            )
        return array

    def _F(self, X: FloatArray) -> FloatArray:
        return self._checked(self.F(X), (len(X),), "F")

    def row_offset(self, rows: Rows, metric: Metric) -> Array:
        return self._F(rows.dense())

    def centre_terms(self, M: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
        slope = self._checked(self.grad(M), M.shape, "grad")
        return (M * slope).sum(axis=1) - self._F(M), slope

    def centres(
        self, sums: FloatArray, weight: FloatArray, old: FloatArray, metric: Metric
    ) -> FloatArray:
        return weighted_means(sums, weight, old)

    def second_moment(self, rows: Rows, weight: FloatArray, metric: Metric) -> FloatArray:
        """Return Σ v F(x), as one number."""
        return np.array([weight @ self._F(rows.dense())])

    def pair(self, rows: Rows, i: Any, j: Any, metric: Metric) -> FloatArray:
        x, y = rows.take(i).dense(), rows.take(j).dense()
        return np.maximum(self._F(x) + self._F(y) - 2.0 * self._F((x + y) / 2.0), 0.0)

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        if not isinstance(kind, str):
            return Constant(float(kind))
        if kind in ("auto", "diameter"):
            # Nothing is learned, so the exact maximum is one number, found once.
            return Constant(Diameter(rows, self.pair, self.pair_gradient).value(metric))
        raise ValueError(f"bound={kind!r} does not fit Bregman; take 'auto' or a number")


def _at_least_zero(X: Any, name: str) -> None:
    smallest = X.min()
    if smallest < 0:
        raise ValueError(
            f"Negative values in data passed to {name}: the smallest is {smallest:g}. Shift or "
            "clip the data, or choose another distortion, such as 'euclidean' or 'cosine'"
        )
