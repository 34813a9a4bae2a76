"""Rows in coordinates whose plain distance is the one that a model learned."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils.extmath import randomized_svd

from .._random import as_generator

__all__ = ["Coordinates", "learned_coordinates", "metric_of", "plane_of", "sampled_rows"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers of a dense table that may be made of sparse rows.
MOST_DENSE = 20_000_000

#: Numbers of a table that is decomposed exactly.
SMALL = 2_000_000

#: Where a divergence D(x, y) is near to ‖z(x) − z(y)‖² for rows near each other, and what z is
#: called: the coordinate in which its second derivative is constant.
STRAIGHT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "i-divergence": (lambda x: np.sqrt(2.0 * x), "square roots"),
    "kl": (lambda x: np.sqrt(2.0 * x), "square roots of shares"),
    "itakura-saito": (lambda x: np.log(x) / np.sqrt(2.0), "logarithms"),
    "logistic": (lambda x: np.sqrt(2.0) * np.arcsin(np.sqrt(x)), "arcsines of roots"),
}


class Coordinates(NamedTuple):
    """Rows whose plain distance is the learned one, and how they came about, in words."""

    Z: Any
    words: str


def metric_of(model: Any) -> FloatArray:
    """Return the metric that a model learned: (d,), (d, d), (K, d) or (K, d, d).

    That of a mixture is the inverse of its components' covariances.
    """
    if hasattr(model, "metric_"):
        return np.asarray(model.metric_, np.float64)
    precisions = getattr(model, "precisions_", None)
    if precisions is None:
        raise ValueError(f"{type(model).__name__} has no metric_ and no precisions_")
    A = np.asarray(precisions, np.float64)
    if A.ndim == 1:  # spherical
        return np.repeat(A[:, None], model.n_features_in_, axis=1)
    return A


def learned_coordinates(model: Any, X: Any, labels: IntArray) -> Coordinates:
    """Return rows z with ‖z − z'‖² = D(x, x') under the learned metric, or near it.

    Squared Euclidean distances and cosines are exact. Where every cluster has its own metric, z
    follows their mean, by the clusters' sizes (for a mixture: the mean covariance). The other
    divergences are straightened: their second derivative is constant in z.
    """
    name = _measure(model)
    A, words = _one_metric(model, labels)
    Z = X.astype(np.float64) if X.dtype != np.float64 else X
    if name in STRAIGHT:
        straight, called = STRAIGHT[name]
        words = f"{called}, {words}"
        if name == "kl":
            Z = _divided(Z, np.asarray(Z.sum(axis=1), np.float64).ravel())
        if sparse.issparse(Z) and name != "itakura-saito":  # 0 stays 0
            Z = Z.copy()
            Z.data = straight(Z.data)
        else:
            Z = straight(Z.toarray() if sparse.issparse(Z) else Z)
    if name == "correlation":
        Z = Z.toarray() if sparse.issparse(Z) else Z
        Z = Z - Z.mean(axis=1, keepdims=True)
    Z = _times(Z, A)
    if name in ("cosine", "correlation"):
        lengths = np.sqrt(np.asarray(_squares(Z).sum(axis=1), np.float64).ravel())
        Z = _divided(Z, lengths)
        words = f"directions, {words}"
    return Coordinates(Z, words)


def _measure(model: Any) -> str:
    measure = getattr(model, "distortion", "euclidean")
    return str(getattr(measure, "name", measure))


def _one_metric(model: Any, labels: IntArray) -> tuple[FloatArray, str]:
    """Return one metric for all rows, (d,) or (d, d), and its name."""
    A = metric_of(model)
    kind = getattr(model, "metric_kind_", getattr(model, "metric", None))
    if hasattr(model, "metric_"):
        if str(kind) == "identity":
            return A, "plain metric"
        per_cluster = "per-cluster" in str(kind)
        if not per_cluster:
            return A, "learned metric"
        share = np.bincount(labels, minlength=len(A))[: len(A)] / max(1, len(labels))
        return np.tensordot(share, A, axes=1), "mean of the clusters' metrics"
    return _pooled_precision(model), "mean covariance"


def _pooled_precision(model: Any) -> FloatArray:
    """Return the inverse of the mean covariance of a mixture, (d,) or (d, d)."""
    C = np.asarray(model.covariances_, np.float64)
    d = model.n_features_in_
    if model.covariance_type == "tied":
        pooled = C
    elif model.covariance_type == "spherical":
        pooled = np.full(d, float(model.weights_ @ C))
    else:
        pooled = np.tensordot(np.asarray(model.weights_), C, axes=1)
    return np.asarray(1.0 / pooled if pooled.ndim == 1 else np.linalg.inv(pooled), np.float64)


def _times(Z: Any, A: FloatArray) -> Any:
    """Return Z·A^½ in the sense that zᵀz' = xᵀ A x'."""
    if A.ndim == 1:
        root = np.sqrt(A)
        return Z @ sparse.diags_array(root) if sparse.issparse(Z) else Z * root
    values, vectors = linalg.eigh(0.5 * (A + A.T))
    return np.asarray(Z @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def _squares(Z: Any) -> Any:
    return Z.multiply(Z) if sparse.issparse(Z) else Z * Z


def _divided(Z: Any, by: FloatArray) -> Any:
    """Divide rows; those to be divided by 0 become 0."""
    scale = np.where(by > 0, 1.0 / np.where(by > 0, by, 1.0), 0.0)
    return sparse.diags_array(scale) @ Z if sparse.issparse(Z) else Z * scale[:, None]


def plane_of(Z: Any, random_state: Any = None) -> FloatArray:
    """Return rows on their two directions of largest spread: PCA, of sparse rows truncated SVD.

    Where there is one direction only, the second coordinate is drawn at random, so that rows do
    not hide each other.
    """
    rng = as_generator(random_state)
    n, d = Z.shape
    if not sparse.issparse(Z):
        Z = np.asarray(Z, np.float64)
        Z = Z - Z.mean(axis=0) if n else Z
    if d == 1:
        x = np.asarray(Z.toarray() if sparse.issparse(Z) else Z, np.float64)[:, 0]
        spread = float(x.std()) or 1.0
        return np.column_stack([x, rng.uniform(-0.5, 0.5, n) * spread])
    if min(n, d) > 200 or n * d > SMALL:
        seed = int(rng.integers(2**31))
        U, s, _ = randomized_svd(Z, 2, n_iter=7, random_state=seed)
    else:
        U, s, Vt = np.linalg.svd(Z.toarray() if sparse.issparse(Z) else Z, full_matrices=False)
        # The largest weight of a direction is positive, whatever library did the work.
        sign = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
        U, s = (U * np.where(sign == 0, 1.0, sign))[:, :2], s[:2]
    plane = np.asarray(U * s, np.float64)
    return np.column_stack([plane, np.zeros((n, 2 - plane.shape[1]))])


def sampled_rows(
    n: int, most: int, rng: np.random.Generator, always: Any = (), groups: IntArray | None = None
) -> IntArray:
    """Return the positions of at most ``most`` rows, ascending; ``always`` ones are among them.

    With ``groups`` every group has a share of the sample near its own, and one row at least.
    """
    if n <= most:
        return np.arange(n)
    kept = np.unique(np.asarray(always, np.int64))
    left = max(0, most - len(kept))
    if groups is None:
        free = np.setdiff1d(rng.choice(n, min(n, left + len(kept)), replace=False), kept)
        return np.union1d(kept, rng.permutation(free)[:left])
    order = rng.permutation(n)
    order = order[np.argsort(groups[order], kind="stable")]
    size = np.bincount(groups)
    start = np.repeat(np.cumsum(size) - size, size)
    rank = np.arange(n) - start
    quota = np.maximum(1, np.floor(left * size / n)).astype(np.int64)
    return np.union1d(kept, order[rank < quota[groups[order]]])
