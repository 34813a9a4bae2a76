"""What every distortion answers: D(x, μ) = f(x) + g(μ) − ⟨φ̃(x), ψ(μ)⟩ (maths.md B1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._params import Parameters
from .._rows import Rows, as_rows
from .bounds import Bound
from .metrics import Metric

__all__ = ["Distortion", "Drift", "Smoothing"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Smoothing:
    """Centres drawn towards a prior vector u₀: strength ζ, annealed to a floor (maths.md E2)."""

    strength: float
    decay: float
    floor: float
    prior: FloatArray

    def annealed(self, strength: float) -> float:
        """Return the next strength; it never grows, which keeps the objective falling."""
        return max(self.floor, self.decay * strength)


@dataclass(frozen=True)
class Drift:
    """How far distances can have moved from one model to the next.

    A distance d to centre h, in the sense of a metric (the triangle inequality holds), is now
    between ``shrink``·d − shift_h and ``grow``·d + shift_h.
    """

    grow: float
    shrink: float
    shift: FloatArray


@dataclass
class Distortion(Parameters, ABC):
    """A measure D_θ(x, μ) between a row and a centre.

    Subclasses give f, g and ψ; φ̃(x) is the row itself times :meth:`row_scale`, so that the table
    of all distances is one product with the data, dense or sparse.
    """

    name: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]] = ("identity",)
    #: Bregman divergences have J linear in θ and the arithmetic mean as centre.
    bregman: ClassVar[bool] = True
    #: The penalty of a pair is b_i + b_j − ⟨z_i, z_j⟩: entailed links need no pairs (maths.md 1.4).
    tables: ClassVar[bool] = False
    default_bound: ClassVar[str] = "diameter"

    def check(self, X: Any) -> None:
        """Raise if the data lies outside the measure's domain."""

    def rows(self, X: Any) -> Rows:
        """Return data as the rows that the formulas speak of."""
        return as_rows(X)

    def prepared_centres(self, M: FloatArray) -> FloatArray:
        """Return centres as the formulas want them."""
        return M

    def smoothing(self, rows: Rows, weight: FloatArray) -> Smoothing | None:
        """Return how centres are smoothed, None if they are not."""
        return None

    @abstractmethod
    def row_offset(self, rows: Rows, metric: Metric) -> NDArray[Any]:
        """Return f(x): (n,), or (n, K) with one metric a cluster."""

    def row_scale(self, rows: Rows, metric: Metric) -> NDArray[Any] | None:
        """Return the factor that makes φ̃(x) of x, None for 1."""
        return None

    @abstractmethod
    def centre_terms(self, M: FloatArray, metric: Metric) -> tuple[FloatArray, FloatArray]:
        """Return g(μ_h), of shape (K,), and ψ(μ_h), of shape (K, d)."""

    def table(self, rows: Rows, M: FloatArray, metric: Metric) -> NDArray[Any]:
        """Return D(x_i, μ_h) for all rows and centres, never negative."""
        f = self.row_offset(rows, metric)
        product = self.products(rows, M, metric)
        return np.maximum((f[:, None] if f.ndim == 1 else f) + product, 0)

    def products(self, rows: Rows, M: FloatArray, metric: Metric) -> NDArray[Any]:
        """Return g(μ_h) − ⟨φ̃(x_i), ψ(μ_h)⟩: the table without its row offsets."""
        g, psi = self.centre_terms(M, metric)
        product = rows.dot(psi)
        scale = self.row_scale(rows, metric)
        if scale is not None:
            product = product * scale[:, None]
        return np.asarray(g.astype(product.dtype) - product)

    @abstractmethod
    def centres(
        self, sums: FloatArray, weight: FloatArray, old: FloatArray, metric: Metric
    ) -> FloatArray:
        """Return the minimising centres from Σ v φ̃(x) and Σ v of every cluster (maths.md E1)."""

    def drift(
        self, before: tuple[FloatArray, Metric], after: tuple[FloatArray, Metric]
    ) -> Drift | None:
        """Return how far distances moved from one (centres, metric) to the next.

        None where nothing is known of it. The distance meant is √D for squared Euclidean and
        √(2D) for directional measures.
        """
        return None

    def can_drift(self, metric: Metric) -> bool:
        """Say whether :meth:`drift` may know anything under such a metric."""
        return False

    @abstractmethod
    def pair(self, rows: Rows, i: Any, j: Any, metric: Metric) -> FloatArray:
        """Return the symmetric pair penalty φ: (m,), or (m, K) with one metric a cluster."""

    def pair_gradient(
        self, rows: Rows, i: Any, j: Any, c: FloatArray, metric: Metric
    ) -> FloatArray:
        """Return Σ_e c_e ∂φ_e/∂θ."""
        raise NotImplementedError(f"{self.name} has no metric to learn")

    def bound(self, kind: str | float, rows: Rows, metric: Metric) -> Bound:
        """Return φmax(θ) ≥ φ_θ on all pairs of rows (maths.md 2.2)."""
        raise NotImplementedError

    def embedding(self, rows: Rows, metric: Metric) -> tuple[FloatArray, list[Rows]]:
        """Return b (one row a metric) and z with φ(x_i, x_j) = b_i + b_j − ⟨z_i, z_j⟩."""
        raise NotImplementedError(f"the pair penalty of {self.name} has no tables")
