"""The pass over rows of a Gaussian mixture: E-step and the sums of the M-step at once.

Free rows stream: each is given its responsibilities and enters the sums, and nothing of it is
kept. Grouped rows (those that a constraint speaks of) are few; their log densities are handed out,
and their sums are made once somebody has found out their responsibilities (maths.md 6.2, 6.3).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._rows import Rows
from .._threads import run, single_blas, threads
from .blocks import cut_rows
from .gaussian_features import FeatureForm, GaussianRows, Sums, collected
from .gaussian_triangles import TriangleForm

__all__ = ["Expectation", "GaussianEngine"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
T = TypeVar("T")

#: Products of float32 rows are taken in float64 where the terms of a log density, in sum, exceed
#: this for a typical row: the rounding of float32 would then show in its fourth decimal.
SINGLE_TERMS = 2000.0

#: Rows that tell how large a typical row is.
TYPICAL_ROWS = 1024

#: Full covariances go by triangular roots where there are so many features for each component.
#: Making d²/2 features costs the same however few components use them: measured at d = 32 to 384
#: and K = 1 to 40 in both precisions, the roots are up to four times faster above this line and
#: up to four times slower below it; near it both take the same time.
WIDE = 32


@dataclass(frozen=True)
class Expectation:
    """What a pass finds under given parameters.

    Attributes
    ----------
    log_likelihood : float
        Σ log p(x) of the free rows.
    weight : float array (K,)
        Σ r of the free rows.
    first : float array (K, d)
        Σ r x.
    second : float array (K, d(d+1)/2) or (K, d)
        Σ r x_a x_b for a ≤ b, row by row of the upper triangle; diagonal: Σ r x_a².
    log_joint : float array (n_grouped, K)
        log π_j q_j(x) of the grouped rows.
    """

    log_likelihood: float
    weight: FloatArray
    first: FloatArray
    second: FloatArray
    log_joint: FloatArray


@dataclass(frozen=True)
class GaussianEngine:
    """All rows of a data set, as the E-step of a Gaussian mixture sees them.

    Densities and sums are those of x = (row − offset)·scale, where the rows bring the offset. They
    keep their digits if x is centred and its features are of order one, whatever the data were.
    The number of threads never changes a bit of an answer.

    Parameters
    ----------
    rows : DenseRows
        float32 or float64, in memory or mapped.
    weight : float array (n,) or None, default=None
        Sample weights of the free rows; None for 1.
    grouped : int array, default=empty
        Positions of the grouped rows, rising.
    kind : {"full", "diag"}, default="full"
        Second-order features: all products x_a x_b, a ≤ b, or the squares.
    n_components : int, default=1
    scale : float array (d,) or None, default=None
        What every feature is multiplied by, one over its standard deviation for instance.
    n_jobs : int or None, default=None
        Threads; None takes those of the context.
    dtype : numpy dtype or None, default=None
        Precision of the products. None: that of the rows, but float64 where float32 would lose
        too much (components that are small beside the distances between them).
    """

    rows: Rows
    weight: FloatArray | None = None
    grouped: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    kind: str = "full"
    n_components: int = 1
    scale: FloatArray | None = None
    n_jobs: int | None = None
    dtype: Any = None

    def __post_init__(self) -> None:
        if self.kind not in ("full", "diag"):
            raise ValueError(f"kind is 'full' or 'diag', not {self.kind!r}")
        grouped = np.asarray(self.grouped)
        if len(grouped) and (
            np.any(np.diff(grouped) <= 0) or grouped[0] < 0 or grouped[-1] >= len(self.rows)
        ):
            raise ValueError(
                f"grouped holds positions of the {len(self.rows)} rows in rising order, each once; "
                "np.unique makes them so"
            )

    @cached_property
    def _rows(self) -> GaussianRows:
        """The rows for compiled passes."""
        compiled, d = self.rows.compiled, self.rows.shape[1]
        if compiled is None or compiled.transposed:
            raise TypeError("Gaussian passes take dense rows of float32 or float64; convert them")
        offset = compiled.offset if len(compiled.offset) else np.zeros(d)
        scale = np.ones(d) if self.scale is None else self.scale
        weight = np.empty(0) if self.weight is None else self.weight
        return GaussianRows(
            compiled.X,
            np.array(offset, dtype=np.float64),
            np.array(scale, dtype=np.float64),
            np.array(weight, dtype=np.float64),
            np.array(self.grouped, dtype=np.int64),
        )

    @cached_property
    def _typical(self) -> FloatArray:
        """Size of the features of a typical row, as they stand in the quadratic parameters."""
        n, d = self.rows.shape
        some = np.unique(np.linspace(0, n - 1, min(n, TYPICAL_ROWS)).astype(np.int64))
        size = np.sqrt(np.mean(self._rows.take(some, np.float64) ** 2, axis=0))
        a, b = np.triu_indices(d) if self.kind == "full" else (np.arange(d),) * 2
        return size[a] * size[b]

    def _form(
        self, constant: FloatArray, linear: FloatArray, quadratic: FloatArray
    ) -> FeatureForm | TriangleForm:
        """Return the components in the form and the precision that suit them."""
        dtype = np.dtype(self.dtype or self.rows.dtype)
        constant, linear, quadratic = (
            np.asarray(part, dtype=np.float64) for part in (constant, linear, quadratic)
        )
        if self.dtype is None and dtype == np.float32:
            terms = np.max(np.abs(quadratic) @ self._typical)
            dtype = np.dtype(np.float32 if terms <= SINGLE_TERMS else np.float64)
        if self.kind == "full" and linear.shape[1] >= WIDE * self.n_components:
            with single_blas:
                return TriangleForm(constant, linear, quadratic, dtype)
        return FeatureForm(self.kind, constant, linear, quadratic, dtype)

    # ----------------------------------------------------------------- blocks

    @property
    def n_features(self) -> int:
        """Features of first and second order."""
        d = self.rows.shape[1]
        return d + (d * (d + 1) // 2 if self.kind == "full" else d)

    def blocks(self, n: int | None = None) -> tuple[slice, ...]:
        """Cut the rows, or the first n of some rows."""
        numbers = self.n_components * self.n_features
        n = len(self.rows) if n is None else n
        return cut_rows(n, self.rows.shape[1], 2 * numbers, numbers)

    def _map(self, function: Callable[[slice], T], n: int | None = None) -> list[T]:
        """Return the function of every block, in order."""
        context = nullcontext() if self.n_jobs is None else threads(self.n_jobs)
        # BLAS adds up in another order with other numbers of threads, so it gets one always.
        with context, single_blas:
            return run(function, self.blocks(n))

    # ----------------------------------------------------------------- passes

    def expectation(
        self, constant: FloatArray, linear: FloatArray, quadratic: FloatArray
    ) -> Expectation:
        """Return what all rows add up to under the parameters of the components.

        log π_j q_j(x) = constant_j + ⟨linear_j, x⟩ + ⟨quadratic_j, second-order features of x⟩.

        Parameters
        ----------
        constant : float array (K,)
        linear : float array (K, d)
        quadratic : float array (K, d(d+1)/2) or (K, d)
        """
        rows, form = self._rows, self._form(constant, linear, quadratic)
        table = np.empty((len(rows.grouped), self.n_components))
        found = reduce(Sums.plus, self._map(lambda block: form.expectation(rows, block, table)))
        return Expectation(*found, table)

    def add_grouped(self, r: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return Σ r, Σ r x and Σ r·features of the grouped rows, in float64.

        Parameters
        ----------
        r : float array (n_grouped, K)
            Responsibilities; with strong enforcement some may be negative (maths.md F5).
        """
        rows, r = self._rows, np.array(r, dtype=np.float64, order="C")
        if r.shape != (len(rows.grouped), self.n_components):
            raise ValueError(
                f"r has the shape {r.shape}; it takes one row for each of the "
                f"{len(rows.grouped)} grouped rows and {self.n_components} columns"
            )
        parts = self._map(lambda block: collected(rows, self.kind, r, block), len(r))
        return reduce(Sums.plus, parts)[1:]

    def log_joint(
        self, constant: FloatArray, linear: FloatArray, quadratic: FloatArray
    ) -> FloatArray:
        """Return log π_j q_j(x) of all rows, grouped or not: an array (n, K)."""
        rows, form = self._rows, self._form(constant, linear, quadratic)
        table = np.empty((len(self.rows), self.n_components))
        self._map(lambda block: form.log_joint(rows, block, table))
        return table

    def most_likely(
        self, constant: FloatArray, linear: FloatArray, quadratic: FloatArray
    ) -> tuple[IntArray, FloatArray]:
        """Return argmax_j π_j q_j(x) and log p(x) of all rows, without a table of size n x K."""
        rows, form = self._rows, self._form(constant, linear, quadratic)
        label, density = np.empty(len(self.rows), np.int64), np.empty(len(self.rows))
        self._map(lambda block: form.most_likely(rows, block, label, density))
        return label, density
