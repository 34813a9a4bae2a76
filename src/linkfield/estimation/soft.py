"""The M-step for rows that belong to clusters by probability (maths.md 4.5).

A row of weight v with the probabilities q enters the sums of every cluster h with the weight v q_h.
A pair is broken by a probability, too: 1 − q_i·q_j for a must-link, q_i·q_j for a cannot-link.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from .._rows import Rows, pieces
from ..distortions import Distortion, Metric
from .statistics import Statistics

__all__ = ["broken_shares", "entropies", "soft_slopes", "soft_statistics", "softmax"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def softmax(costs: NDArray[Any], temperature: float) -> FloatArray:
    """Return q_ih ∝ exp(−costs_ih/T), which minimises ⟨q, costs⟩ − T H(q)."""
    shifted = np.asarray(costs, np.float64)
    shifted = shifted - shifted.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # T as small as you like
        q = np.exp(-(shifted / temperature))
    return np.asarray(q / q.sum(axis=1, keepdims=True))


def entropies(q: FloatArray) -> FloatArray:
    """Return H(q_i) = −Σ_h q_ih ln q_ih."""
    return np.asarray(entr(q).sum(axis=1))


def soft_statistics(
    distortion: Distortion, rows: Rows, weight: FloatArray, q: FloatArray, metric: Metric
) -> Statistics:
    """Return the statistics of rows that belong to every cluster by q."""
    W = weight[:, None] * q
    scale = distortion.row_scale(rows, metric)
    share = W if scale is None else W * scale[:, None]
    moment = metric.scatter(rows, W) if metric.per_cluster else None
    return Statistics((weight > 0) @ q, W.sum(axis=0), rows.sums(share.T), moment)


def soft_slopes(
    measure: Any, rows: Rows, weight: FloatArray, q: FloatArray, M: FloatArray, metric: Metric
) -> tuple[FloatArray, FloatArray]:
    """Return what the gradient of a directional measure needs of the rows.

    Σ_i v q_ih cos(x_i, μ_h) of every cluster and Σ_ih v q_ih cos(x_i, μ_h) x̂_i², as
    :meth:`linkfield.distortions.Cosine.slopes` has them for labels.
    """
    scale = np.asarray(measure.row_scale(rows, metric), np.float64)
    cosine = rows.dot(metric.apply(measure.unit(M, metric))) * scale[:, None]
    share = weight[:, None] * q * cosine
    return share.sum(axis=0), rows.square_sums((share.sum(axis=1) * scale**2)[None, :])[0]


def broken_shares(
    pairs: IntArray,
    must: NDArray[np.bool_],
    joined: NDArray[np.bool_],
    q: FloatArray,
    per_cluster: bool,
) -> FloatArray:
    """Return the probability that every pair is broken.

    With one metric a cluster it is split into what counts under each, (m, K): half of a broken
    must-link under the label of either end, all of a broken cannot-link under the common one. The
    ends of ``joined`` pairs have one label between them: they always agree.
    """
    if per_cluster:
        return _split_shares(pairs, must, joined, q)
    agree = np.empty(len(pairs))
    for piece in pieces(len(pairs), max(256, 4_000_000 // q.shape[1])):
        left, right = pairs[piece].T
        agree[piece] = np.einsum("eh,eh->e", q[left], q[right])
    agree = np.where(joined, 1.0, np.minimum(agree, 1.0))
    return np.where(must, 1.0 - agree, agree)


def _split_shares(
    pairs: IntArray, must: NDArray[np.bool_], joined: NDArray[np.bool_], q: FloatArray
) -> FloatArray:
    a, b = q[pairs[:, 0]], q[pairs[:, 1]]
    agree = np.where(joined[:, None], a, a * b)
    differ = np.where(joined[:, None], 0.0, 0.5 * (a * (1.0 - b) + b * (1.0 - a)))
    return np.where(must[:, None], differ, agree)
