"""Models and rows as the compiled passes take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import Compiled, Rows
from .._threads import spread
from ..distortions import Distortion, Metric, SquaredEuclidean
from ..estimation import Model

__all__ = ["by_label", "centre_terms", "lengths_of", "no_rows", "row_weights"]

FloatArray = NDArray[np.float64]

#: Stands for all rows, in their order.
no_rows = np.empty(0, dtype=np.int64)


def by_label(psi: NDArray[Any], compiled: Compiled | None, dtype: Any) -> NDArray[Any]:
    """Return centres label by feature, or the other way round where the passes want that."""
    if compiled is None or not compiled.transposed:
        return np.ascontiguousarray(psi, dtype)
    from .._kernels.centres import transpose
    from .._kernels.gathered import WIDTH

    K, d = psi.shape
    out = np.zeros((d, K + -K % WIDTH), dtype)
    spread(lambda a, b: transpose(psi, a, b, out), len(out), 4096)
    return out


def lengths_of(distortion: Distortion, metric: Metric, dtype: Any) -> NDArray[Any]:
    """Return the weights that scale a row to length 1; none for measures that do not."""
    if distortion.bregman:
        return np.empty(0, dtype)
    return metric.theta.astype(dtype)


def centre_terms(
    distortion: Distortion,
    model: Model,
    offsets: FloatArray,
    compiled: Compiled,
    dtype: Any,
    reach: FloatArray | None = None,
) -> Any:
    """Return the terms of g_h − ⟨x, ψ_h⟩, and of ‖x‖² where f(x) is that.

    ``reach`` is the greatest distance of any row from zero, feature by feature, if it is known.
    """
    from .._kernels.layout import Terms

    g, psi = distortion.centre_terms(model.centres, model.metric)
    size = np.abs(g) + np.abs(offsets)
    epsilon = float(np.finfo(dtype).eps)
    diagonal = isinstance(distortion, SquaredEuclidean) and not model.metric.full
    theta = model.metric.theta if diagonal or not distortion.bregman else np.empty(0)
    return Terms(
        by_label(psi, compiled, dtype),
        (g + offsets).astype(dtype),
        size.astype(dtype),
        # Sparse rows are never compared with a single centre.
        np.ascontiguousarray(model.centres[:0] if compiled.transposed else model.centres, dtype),
        theta.astype(dtype),
        not distortion.bregman,
        float(size.max()),
        epsilon,
        4.0 * (psi.shape[1] + 8) * epsilon,
        -1.0 if reach is None else float(theta @ reach**2) if len(theta) else 0.0,
    )


def row_weights(
    rows: Rows, distortion: Distortion, metric: Metric
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return f(x) and the factor of φ̃(x), empty for 1."""
    scale = distortion.row_scale(rows, metric)
    offset = distortion.row_offset(rows, metric).astype(rows.dtype, copy=False)
    return offset, np.empty(0, rows.dtype) if scale is None else scale
