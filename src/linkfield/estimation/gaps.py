"""What pairs of dense rows cost, in one compiled loop."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import Compiled
from .._threads import spread
from ..constraints import Ties
from ..distortions import Metric

__all__ = ["square_gaps"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Products that are worth a thread of their own.
ENOUGH = 60_000


def square_gaps(
    rows: Compiled,
    ends: tuple[IntArray, IntArray],
    ties: Ties,
    pairs: NDArray[Any],
    metric: Metric,
    top: float,
) -> FloatArray:
    """Return what some pairs cost where their ends agree, less what they cost otherwise.

    With φ = Σ a (x − y)², f^M = φ and f^C = top − φ; ``ends`` are the rows of all pairs.
    """
    from .._kernels.pairs import dense_gaps

    out, a = np.empty(len(pairs)), metric.theta
    args = (rows.X, *ends, ties.must, ties.weight, pairs, a, top)
    least = max(64, ENOUGH // max(len(a), 1))
    spread(lambda first, last: dense_gaps(*args, first, last, out), len(pairs), least)
    return out
