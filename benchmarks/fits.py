"""The fits that are timed: linkfield beside scikit-learn and faiss, set up alike.

One start, ``tol=0``. Every function returns the fitted model (faiss: its iterations), so that a
caller reads ``n_iter_`` from it. linkfield and faiss are imported where they are used: either may
be absent from a peer's environment.
"""

import numpy as np
from sklearn.cluster import KMeans

from .mixture_fits import linkfield_mixture, scikit_mixture


def knowledge(y, pairs=0, labelled=0, seed=0):
    """Return what a fit is told: pairs of rows drawn at random, or labels of random rows."""
    told = {}
    if pairs:
        from linkfield import Constraints

        told["constraints"] = Constraints.from_labels(y, n_pairs=pairs, random_state=seed)
    if labelled:
        rows = np.random.default_rng(seed).choice(len(y), labelled, replace=False)
        told["partial_labels"] = np.full(len(y), -1)
        told["partial_labels"][rows] = y[rows]
    return told


def linkfield(X, K, told=None, **params):
    """Fit HMRFKMeans: squared Euclidean distance, a weight a feature learned."""
    from linkfield import HMRFKMeans

    model = HMRFKMeans(K, n_init=1, tol=0, **{"metric": "diagonal", **params})
    return model.fit(X, **(told or {}))


def lloyd(X, K, told=None, **params):
    """Fit scikit-learn's KMeans; it takes no knowledge."""
    params.pop("n_jobs", None)  # its threads are set by the environment alone
    return KMeans(K, n_init=1, tol=0, **params).fit(X)


def elkan(X, K, told=None, **params):
    """Fit scikit-learn's KMeans by Elkan's algorithm."""
    return lloyd(X, K, algorithm="elkan", **params)


def faiss_module():
    """Return faiss, or None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def faiss_iterations(X, K, centres, max_iter):
    """Run faiss's k-means on all rows (it would draw 256 a centre) and count its iterations."""
    run = faiss_module().Kmeans(
        X.shape[1], K, niter=max_iter, seed=1,
        min_points_per_centroid=1, max_points_per_centroid=len(X),
    )  # fmt: skip
    run.train(X, init_centroids=centres)
    return len(run.iteration_stats)


FITS = {
    "linkfield": linkfield,
    "lloyd": lloyd,
    "elkan": elkan,
    "mixture": linkfield_mixture,
    "scikit mixture": scikit_mixture,
}


def counted(fit, X, K, centres, told=None):
    """Return ``max_iter -> iterations made`` from given centres, to be timed by differences."""

    def run(max_iter):
        model = fit(X, K, told, init=centres, max_iter=max_iter, random_state=0)
        return model.n_iter_

    return run
