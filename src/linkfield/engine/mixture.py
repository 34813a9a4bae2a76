"""The pass over rows of a Gaussian mixture: by features where that is fast and safe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .._rows import DenseRows, pieces
from ..estimation.component_sums import ComponentSums, unpacked
from ..estimation.gaussians import Gaussians
from .gaussian import GaussianEngine
from .plain_mixture import TABLE, MixtureExpectation, PlainMixtureEngine

__all__ = ["MixtureEngine"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Where the terms of a log density exceed this, products of features lose too many digits: of
#: sixteen, eight are left.
SAFE_TERMS = 1e8

#: A pass of fewer products is over before compiled code is loaded.
WORTH_COMPILING = 300_000


@dataclass(frozen=True)
class MixtureEngine:
    """All rows of a data set, as the E-step of a mixture of any kind sees them.

    A Gaussian is an exponential family: log densities are products of features with natural
    parameters, sums are products of responsibilities with the same features. Components that are
    tiny beside the spread of the rows are evaluated from differences instead.

    Attributes
    ----------
    rows : DenseRows
        float32 or float64, in memory or mapped, with the offset that is taken off.
    grouped : int array
        Positions of the rows that a constraint speaks of, rising.
    scale : float array (d,)
        What every feature is multiplied by, such that x = (row − offset)·scale is of order one.
    kind : type of Gaussians
    n_components : int
    """

    rows: DenseRows
    grouped: IntArray
    scale: FloatArray
    kind: type[Gaussians]
    n_components: int

    @cached_property
    def plain(self) -> PlainMixtureEngine:
        """The pass by differences."""
        return PlainMixtureEngine(self.rows, self.grouped, self.scale)

    @cached_property
    def _fast(self) -> Any:
        """The compiled pass by features."""
        return GaussianEngine(
            self.rows,
            grouped=self.grouped,
            kind=self.kind.features,
            n_components=self.n_components,
            scale=self.scale,
        )

    def _by_features(self, gaussians: Gaussians) -> bool:
        """Whether products of features are worth it, and keep enough digits."""
        n, d = self.rows.shape
        width = d * d if self.kind.features == "full" else d
        if n * self.n_components * width < WORTH_COMPILING:
            return False
        return float(_terms(gaussians).max()) < SAFE_TERMS

    def expectation(self, gaussians: Gaussians) -> MixtureExpectation:
        """Return what all rows add up to under the components."""
        if not self._by_features(gaussians):
            return self.plain.expectation(gaussians)
        found = self._fast.expectation(*gaussians.natural())
        sums = self._sums(found.weight, found.weight, found.first, found.second)
        return MixtureExpectation(float(found.log_likelihood), sums, found.log_joint)

    def grouped_sums(self, gaussians: Gaussians, r: FloatArray, draws: FloatArray) -> ComponentSums:
        """Return the sums of the grouped rows for responsibilities r (n_grouped, K)."""
        if not self._by_features(gaussians):
            return self.plain.grouped_sums(gaussians, r, draws)
        return self._sums(draws, *self._fast.add_grouped(r))

    def _sums(
        self, draws: FloatArray, weight: FloatArray, first: FloatArray, second: FloatArray
    ) -> ComponentSums:
        d = self.rows.shape[1]
        full = self.kind.features == "full"
        moments = unpacked(second, d) if full else second
        return ComponentSums(draws, weight, first, moments, self._origin)

    @cached_property
    def _origin(self) -> FloatArray:
        return np.zeros((self.n_components, self.rows.shape[1]))

    def most_likely(self, gaussians: Gaussians) -> tuple[IntArray, FloatArray]:
        """Return argmax_j π_j q_j(x) and log p(x) of all rows."""
        n, d = self.rows.shape
        if self._by_features(gaussians):
            label, density = self._fast.most_likely(*gaussians.natural())
            return label, density
        label, density = np.empty(n, np.int64), np.empty(n)
        for piece in pieces(n, max(64, TABLE // max(self.n_components, d))):
            table = gaussians.log_joint(self.plain.taken(piece))
            label[piece] = table.argmax(axis=1)
            density[piece] = logsumexp(table, axis=1)
        return label, density


def _terms(gaussians: Gaussians) -> FloatArray:
    """Return tr C_j⁻¹: how large the terms of a log density are for rows of unit variance."""
    return gaussians.traces(np.eye(gaussians.means.shape[1]))
