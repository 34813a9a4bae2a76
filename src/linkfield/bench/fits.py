"""The fits that are timed: linkfield beside scikit-learn and faiss, set up alike.

One start, ``tol=0``. Every function returns the fitted model (faiss: its iterations), so that a
caller reads ``n_iter_`` from it. linkfield and faiss are imported where they are used: either may
be absent from a peer's environment.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

__all__ = [
    "Told",
    "counted",
    "elkan",
    "faiss_iterations",
    "faiss_module",
    "knowledge",
    "linkfield",
    "lloyd",
]

#: What a fit is told about its rows, by the name of the argument.
Told = dict[str, Any]


def knowledge(y: NDArray[Any], pairs: int = 0, labelled: int = 0, seed: int = 0) -> Told:
    """Return what a fit is told: pairs of rows drawn at random, or labels of random rows."""
    told: Told = {}
    if pairs:
        from ..constraints import Constraints

        told["constraints"] = Constraints.from_labels(y, n_pairs=pairs, random_state=seed)
    if labelled:
        rows = np.random.default_rng(seed).choice(len(y), labelled, replace=False)
        told["partial_labels"] = np.full(len(y), -1)
        told["partial_labels"][rows] = y[rows]
    return told


def linkfield(X: Any, K: int, told: Told | None = None, **params: Any) -> Any:
    """Fit HMRFKMeans: squared Euclidean distance, a weight a feature learned."""
    from ..estimators import HMRFKMeans

    model = HMRFKMeans(K, n_init=1, tol=0, **{"metric": "diagonal", **params})
    return model.fit(X, **(told or {}))


def lloyd(X: Any, K: int, told: Told | None = None, **params: Any) -> Any:
    """Fit scikit-learn's KMeans; it takes no knowledge."""
    params.pop("n_jobs", None)  # its threads are set by the environment alone
    return KMeans(K, n_init=1, tol=0, **params).fit(X)


def elkan(X: Any, K: int, told: Told | None = None, **params: Any) -> Any:
    """Fit scikit-learn's KMeans by Elkan's algorithm."""
    return lloyd(X, K, algorithm="elkan", **params)


def faiss_module() -> Any:
    """Return faiss, or None where it is not installed."""
    try:
        return import_module("faiss")
    except ImportError:
        return None


def faiss_iterations(X: Any, K: int, centres: NDArray[Any], max_iter: int) -> int:
    """Run faiss's k-means on all rows (it would draw 256 a centre) and count its iterations."""
    run = faiss_module().Kmeans(
        X.shape[1], K, niter=max_iter, seed=1,
        min_points_per_centroid=1, max_points_per_centroid=len(X),
    )  # fmt: skip
    run.train(X, init_centroids=centres)
    return len(run.iteration_stats)


def counted(
    fit: Callable[..., Any], X: Any, K: int, centres: NDArray[Any], told: Told | None = None
) -> Callable[[int], int]:
    """Return ``max_iter -> iterations made`` from given centres, to be timed by differences."""

    def run(max_iter: int) -> int:
        model = fit(X, K, told, init=centres, max_iter=max_iter, random_state=0)
        return int(model.n_iter_)

    return run
