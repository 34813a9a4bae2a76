"""Log densities by the triangular root of every precision matrix, component by component.

With P_j = L Lᵀ and linear_j = L u, log π_j q_j(x) = constant_j + ½|u|² − ½|Lᵀx − u|². It takes
twice the multiplications of the features' product, but makes no features, and its second moments
are summed over those rows only for which a component is responsible at all: in many dimensions
that is few of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import pieces
from .gaussian_features import GaussianRows, Sums, passes

__all__ = ["TriangleForm"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Rows of a chunk.
CHUNK = 1024


class TriangleForm:
    """Components of full covariance by the roots of their precision matrices."""

    def __init__(
        self, constant: FloatArray, linear: FloatArray, quadratic: FloatArray, dtype: Any
    ) -> None:
        K, d = linear.shape
        self.upper = np.triu_indices(d)
        precision = np.zeros((K, d, d))
        precision[:, *self.upper] = -quadratic
        precision += np.swapaxes(precision, 1, 2)
        root = np.linalg.cholesky(precision)
        shift = np.linalg.solve(root, linear[:, :, None])[:, :, 0]
        self.root, self.shift = root.astype(dtype), shift.astype(dtype)
        self.constant = (constant + 0.5 * np.sum(shift**2, axis=1)).astype(dtype)

    def _densities(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the log densities of some rows without the constants, component by row."""
        P, z = np.empty((len(self.root), len(x)), x.dtype), np.empty_like(x)
        for j, (root, shift) in enumerate(zip(self.root, self.shift, strict=True)):
            np.matmul(x, root, out=z)
            z -= shift
            np.einsum("cm,cm->c", z, z, out=P[j])
        P *= -0.5
        return P

    def expectation(self, rows: GaussianRows, block: slice, table: FloatArray) -> Sums:
        """Return the sums of a block's free rows; write the log densities of its grouped rows."""
        K, d = self.shift.shape
        dtype, likelihood = self.root.dtype, 0.0
        tiny = passes().TINY_32 if dtype == np.float32 else passes().TINY_64
        mass, first, second = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        best, total = np.empty(CHUNK, dtype), np.empty(CHUNK, dtype)
        for at in range(block.start, block.stop, CHUNK):
            x = rows.take(slice(at, min(at + CHUNK, block.stop)), dtype)
            R = self._densities(x)
            likelihood += passes().soften(
                self.constant, R, at, len(x), rows.weight, rows.grouped, tiny, best, total, table,
                mass,
            )  # fmt: skip
            first += R @ x
            _add_second(x, R, second)
        return Sums(likelihood, mass, first, second[:, *self.upper])

    def log_joint(self, rows: GaussianRows, block: slice, table: FloatArray) -> None:
        """Write the log densities of a block's rows."""
        for part in self._parts(block):
            x = rows.take(part, self.root.dtype)
            table[part] = (self._densities(x) + self.constant[:, None]).T

    def most_likely(
        self, rows: GaussianRows, block: slice, label: IntArray, density: FloatArray
    ) -> None:
        """Write the likeliest component of a block's rows, and log p(x)."""
        best, total = np.empty((2, CHUNK), self.root.dtype)
        for part in self._parts(block):
            P = self._densities(rows.take(part, self.root.dtype))
            passes().judge(self.constant, P, part.start, P.shape[1], best, total, label, density)

    @staticmethod
    def _parts(block: slice) -> list[slice]:
        first = block.start
        return [
            slice(first + part.start, first + part.stop)
            for part in pieces(block.stop - first, CHUNK)
        ]


def _add_second(x: NDArray[Any], R: NDArray[Any], second: FloatArray) -> None:
    """Add Σ r x xᵀ of every component."""
    for r, table in zip(R, second, strict=True):
        mine = np.flatnonzero(r)
        # A product of a matrix with its own transpose takes half the multiplications.
        part = x[mine] * np.sqrt(r[mine])[:, None]
        table += part.T @ part
