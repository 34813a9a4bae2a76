"""Blocks of rows that certainly stay where they are, told by their sums alone (maths.md 4.1).

Let block p have n rows x_i with mean x̄ and scatter W = Σ ‖x_i − x̄‖², all with label h, which
nothing apart from p has; lengths are those of the metric A. To leave its block costs row i

    w Σ_j ‖x_i − x_j‖² = w (n ‖x_i − x̄‖² + W)

and gains at most v_i ‖x_i − μ_h‖². With e = x_i − x̄, c = x̄ − μ_h and n w > v the difference
v ‖e + c‖² − n w ‖e‖² is largest for e = v c / (n w − v). So no row of p gains by leaving if

    w W ≥ v ‖c‖² · n w / (n w − v)

for the largest v. All of p costs Σ v_i ‖x̄_v − μ_k‖² under label k, up to a constant, with x̄_v the
mean weighted by v: it stays as a whole where h is the nearest centre to that, and where all blocks
have what is cheapest for them no exchange of labels gains either. Large blocks made by labels are
like that most of the time; then nobody has to look at their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import DenseRows, Rows, pieces
from ..distortions import SquaredEuclidean
from .objective import Model

__all__ = ["SettledBlocks"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers of dense rows that are summed up at a time.
AT_A_TIME = 2_000_000

#: As rounding may have it, the scatter of a block is less by this share of its squares.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SettledBlocks:
    """Sums of the rows of every block, from which follows whether all stay.

    Attributes
    ----------
    size : float array (G,)
        n, the number of rows.
    heaviest : float array (G,)
        The largest weight v of a row.
    mean, weighted_mean : float arrays (G, d)
        x̄ and x̄_v; a block without weight has its plain mean.
    scatter : float array (G, d)
        Σ (x − x̄)² feature by feature, less what rounding may have added.
    link_weight : float
        w, the weight of an entailed link.
    """

    size: FloatArray
    heaviest: FloatArray
    mean: FloatArray
    weighted_mean: FloatArray
    scatter: FloatArray
    link_weight: float

    @classmethod
    def of(
        cls, rows: Rows, weight: FloatArray, block: IntArray, link_weight: float
    ) -> SettledBlocks:
        """Sum up the rows of every block; each row belongs to one."""
        n, d = rows.shape
        G = int(block.max()) + 1
        size = np.bincount(block, minlength=G).astype(np.float64)
        heaviest = np.zeros(G)
        np.maximum.at(heaviest, block, weight)
        total = np.bincount(block, weight, G)
        first, weighted, square = np.zeros((3, G, d))
        # The sums of sparse rows are larger than a few of the rows: they are made once.
        step = max(1, AT_A_TIME // max(d, 1)) if isinstance(rows, DenseRows) else n
        for piece in pieces(n, step):
            part, mine, v = rows.take(piece).float64(), block[piece], weight[piece]
            at = (mine, np.arange(len(mine)))
            member = sparse.csr_array((np.ones(len(mine)), at), shape=(G, len(mine)))
            first += part.sums(member)
            square += part.square_sums(member)
            weighted += part.sums(sparse.csr_array((v, at), shape=member.shape))
        mean = first / size[:, None]
        known = total > 0
        mean_v = np.where(known[:, None], weighted / np.where(known, total, 1.0)[:, None], mean)
        scatter = (1.0 - ROUNDING) * square - size[:, None] * mean**2
        return cls(size, heaviest, mean, mean_v, scatter, link_weight)

    def stay(self, home: IntArray, model: Model) -> bool:
        """Say whether no block and no row of one gains by leaving its label.

        ``home`` is the label of every block, which nothing apart from it has. The metric of the
        model is one of feature weights that all clusters share.
        """
        M, a = model.centres, model.metric.theta
        distances = SquaredEuclidean().table(DenseRows(self.weighted_mean), M, model.metric)
        if (distances[np.arange(len(home)), home] > distances.min(axis=1)).any():
            return False
        v, off = self.heaviest, (self.mean - M[home]) ** 2 @ a
        hold = self.size * self.link_weight
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = v * off * hold / (hold - v)
        return bool(((hold > v) & (self.link_weight * (self.scatter @ a) >= gain)).all())
