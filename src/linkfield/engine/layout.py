"""Models and rows as the compiled passes take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import Compiled, Rows
from .._threads import spread
from ..distortions import Distortion, Metric, SquaredEuclidean
from ..estimation import Model

__all__ = ["by_label", "centre_terms", "lengths_of", "no_rows", "offered", "row_weights"]

FloatArray = NDArray[np.float64]

#: Stands for all rows, in their order.
no_rows = np.empty(0, dtype=np.int64)

#: Single precision is not tried on larger numbers.
HUGE = 1e30

#: Features that one thread lays out at a time.
FEATURES = 4096

#: Distances to candidates for centres are worked out in it from so many features on: a search for
#: those that have to be worked out again must pay.
WIDE = 128


def by_label(psi: NDArray[Any], compiled: Compiled | None, dtype: Any) -> NDArray[Any]:
    """Return centres label by feature, or the other way round where the passes want that."""
    if compiled is None or not compiled.transposed:
        return np.ascontiguousarray(psi, dtype)
    from .._kernels.centres import transpose

    out = _room_by_feature(len(psi), psi.shape[1], dtype)
    spread(lambda a, b: transpose(psi, a, b, out), len(out), FEATURES)
    return out


def _room_by_feature(K: int, d: int, dtype: Any) -> NDArray[Any]:
    """Return a table of (d, K) whose rows are whole registers."""
    from .._kernels.gathered import WIDTH

    return np.empty((d, K + -K % WIDTH), dtype)


def _square_terms(M: FloatArray, theta: FloatArray, dtype: Any) -> tuple[FloatArray, NDArray[Any]]:
    """Return g = Σ a μ² and ψ = 2 a μ, feature by label, in one pass over the centres."""
    from .._kernels.centres import weighted

    psi = _room_by_feature(len(M), M.shape[1], dtype)

    def part(first: int, last: int) -> FloatArray:
        g = np.zeros(len(M))
        weighted(M, theta, first, last, psi, g)
        return g

    return np.sum(spread(part, len(psi), FEATURES), axis=0), psi


def lengths_of(distortion: Distortion, metric: Metric, dtype: Any) -> NDArray[Any]:
    """Return the weights that scale a row to length 1; none for measures that do not."""
    if distortion.bregman:
        return np.empty(0, dtype)
    return metric.theta.astype(dtype)


def _rough(
    psi: FloatArray, g: FloatArray, compiled: Compiled, dtype: Any, reach: FloatArray | None
) -> tuple[NDArray[np.float32] | None, float]:
    """Return ψ in single precision and how far costs g − ⟨x, ψ⟩ are off with it.

    None for data that are no more precise, or sparse; empty where nothing is known of the data, or
    their squares are no numbers of single precision.
    """
    if dtype == np.float32 or compiled.transposed:
        return None, 0.0
    none = np.empty((0, psi.shape[1]), np.float32)
    if reach is None:
        return none, 0.0
    size, d = np.abs(psi), psi.shape[1]
    largest = float((size @ reach + np.abs(g)).max(initial=0.0))
    if not max(largest, float(reach.max()), float(size.max(initial=0.0))) < HUGE:
        return none, 0.0
    single = np.finfo(np.float32)
    # Numbers, products and sums are rounded, by half of eps each; next to zero by less than tiny.
    next_to_zero = float(single.tiny) * (d + float(reach.sum() + size.sum(axis=1).max(initial=0.0)))
    return psi.astype(np.float32), float(single.eps) * (d + 8) * largest + next_to_zero


def offered(
    distortion: Distortion,
    points: FloatArray,
    metric: Metric,
    compiled: Compiled,
    dtype: Any,
    reach: FloatArray | None,
) -> Any:
    """Return points as the compiled passes compare rows with them."""
    from .._kernels.layout import Offered

    g, psi = distortion.centre_terms(points, metric)
    exact = by_label(psi, compiled, dtype)
    rough, off = _rough(psi, g, compiled, dtype, reach) if psi.shape[1] >= WIDE else (None, 0.0)
    if rough is None or len(rough) == 0:
        return Offered(exact, g.astype(dtype), exact[:0], 0.0)
    return Offered(rough, g.astype(dtype), exact, off)


def centre_terms(
    distortion: Distortion,
    model: Model,
    offsets: FloatArray,
    compiled: Compiled,
    dtype: Any,
    reach: FloatArray | None = None,
    rough: bool = True,
) -> Any:
    """Return the terms of g_h − ⟨x, ψ_h⟩, and of ‖x‖² where f(x) is that.

    ``reach`` is the greatest distance of any row from zero, feature by feature, if it is known;
    ``rough`` says whether to have terms of single precision, too.
    """
    from .._kernels.layout import Terms

    M, metric = model.centres, model.metric
    diagonal = isinstance(distortion, SquaredEuclidean) and not metric.full
    theta = metric.theta if diagonal or not distortion.bregman else np.empty(0)
    epsilon = float(np.finfo(dtype).eps)
    single: NDArray[np.float32] | None = None
    off = 0.0
    if diagonal and compiled.transposed:
        g, exact = _square_terms(M, theta, dtype)
    else:
        g, psi = distortion.centre_terms(M, metric)
        exact = by_label(psi, compiled, dtype)
        single, off = _rough(psi, g + offsets, compiled, dtype, reach if rough else None)
    size = np.abs(g) + np.abs(offsets)
    g = g + offsets
    return Terms(
        exact,
        g.astype(dtype),
        size.astype(dtype),
        # Sparse rows are never compared with a single centre.
        np.ascontiguousarray(M[:0] if compiled.transposed else M, dtype),
        theta.astype(dtype),
        not distortion.bregman,
        float(size.max()),
        epsilon,
        4.0 * (M.shape[1] + 8) * epsilon,
        -1.0 if reach is None else float(theta @ reach**2) if len(theta) else 0.0,
        single,
        None if single is None else g[: len(single)].astype(np.float32),
        off,
    )


def row_weights(
    rows: Rows, distortion: Distortion, metric: Metric
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return f(x) and the factor of φ̃(x), empty for 1."""
    scale = distortion.row_scale(rows, metric)
    offset = distortion.row_offset(rows, metric).astype(rows.dtype, copy=False)
    return offset, np.empty(0, rows.dtype) if scale is None else scale
