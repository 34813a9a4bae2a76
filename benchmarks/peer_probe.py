"""What one package does with the jobs of ``peers``; runs in that package's own environment.

``python -m benchmarks.peer_probe PACKAGE TASK FOLDER`` prints one JSON object a line as soon as it
knows something, so that what was found before a time limit is kept. TASK is "features" (small jobs,
tried one after the other), "iterations" (faiss beside lloyd) or the name of a method, which is
fitted to the data in FOLDER (X, must, cannot; no classes) once a seed.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SEEDS, K = range(3), 10


def fit_linkfield(method, X, must, cannot, seed, n_clusters=K):
    import linkfield

    model = getattr(linkfield, method)(n_clusters, random_state=seed)
    return model.fit(X, constraints=linkfield.Constraints(must, cannot))


def fit_2018(method, X, must, cannot, seed, n_clusters=K):
    from active_semi_clustering.semi_supervised import pairwise_constraints as package

    np.random.seed(seed)  # noqa: NPY002 - the package draws from numpy's global state
    model = getattr(package, method)(n_clusters=n_clusters)
    return model.fit(X, ml=[tuple(p) for p in must], cl=[tuple(p) for p in cannot])


def fit_constrained(method, X, must, cannot, seed, n_clusters=K):
    from k_means_constrained import KMeansConstrained

    size = X.shape[0] // (2 * n_clusters) if n_clusters == K else None  # its constraints are sizes
    return KMeansConstrained(n_clusters, size_min=size, n_init=1, random_state=seed).fit(X)


def fit_sklearn(method, X, must, cannot, seed, n_clusters=K):
    from sklearn.cluster import KMeans

    return KMeans(n_clusters, n_init=1, random_state=seed).fit(X)


def fit_metric_learn(method, X, must, cannot, seed, n_clusters=K):
    import metric_learn

    pairs = np.concatenate([must, cannot])
    truth = np.repeat([1, -1], [len(must), len(cannot)])
    learner = getattr(metric_learn, method.split()[0])(preprocessor=X, random_state=seed)
    return fit_sklearn("KMeans", learner.fit(pairs, truth).transform(X), (), (), seed, n_clusters)


def fit_faiss(method, X, must, cannot, seed, n_clusters=K):
    import faiss

    X = np.ascontiguousarray(X, dtype=np.float32)
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(X)}
    run = faiss.Kmeans(X.shape[1], n_clusters, niter=25, seed=seed + 1, **limits)
    run.train(X)
    run.labels_ = run.index.search(X, 1)[1].ravel()
    return run


#: How each package fits, the method that its features are tried with, whether it takes pairs.
FITS = {
    "linkfield": (fit_linkfield, "PCKMeans", True),
    "scikit-learn": (fit_sklearn, "KMeans", False),
    "active-semi-supervised-clustering": (fit_2018, "PCKMeans", True),
    "k-means-constrained": (fit_constrained, "KMeansConstrained", False),
    "metric-learn": (fit_metric_learn, "ITML + KMeans", True),
    "faiss-cpu": (fit_faiss, "Kmeans", False),
}


def say(**found):
    """Print what was found."""
    print(json.dumps(found), flush=True)


def small_jobs(fit, method, X):
    """Return {question: call that answers it}; a call that returns no text means yes."""
    small, few = X[:200], np.array([(0, 1), (2, 3)])

    def run(rows, must=few[:0], cannot=few[:0], n_clusters=3):
        return fit(method, rows, must, cannot, 0, n_clusters)

    def sparse():
        from scipy.sparse import csr_matrix

        run(csr_matrix(np.maximum(small, 0)))

    def cloned():
        from sklearn.base import clone

        clone(run(small))

    def reports():
        model = run(small, few[:0], np.array([(0, 1), (1, 2), (0, 2)]), 2)  # one must break
        return "yes" if hasattr(model, "violations_") else "no"

    chain = np.column_stack([np.arange(len(X) - 1), np.arange(1, len(X))])
    return {
        "must- and cannot-links": lambda: run(small, few, np.array([(0, 2)])),
        "predict for new rows": lambda: run(small).predict(X[:7]),
        "sparse rows": sparse,
        "scikit-learn's clone": cloned,
        f"must-link chain of {len(X):,}": lambda: run(X, chain),
        "tells which constraints it broke": reports,
    }


def features(package, X):
    """Try small jobs; a cell is the answer or the error that came instead."""
    fit, method, takes_pairs = FITS[package]
    for name, job in small_jobs(fit, method, X).items():
        if not takes_pairs and name.startswith(("must", "tells")):
            say(**{name: "no" if name == "must- and cannot-links" else "-"})
            continue
        try:
            answer = job()
            say(**{name: answer if isinstance(answer, str) else "yes"})
        except Exception as error:
            say(**{name: type(error).__name__})


def method(package, name, stored):
    """Fit once a seed after a small warm-up; say seconds and labels."""
    fit, X, must, cannot = FITS[package][0], stored["X"], stored["must"], stored["cannot"]
    fit(name, X[:400], *(pairs[(pairs < 400).all(axis=1)] for pairs in (must, cannot)), 0, 3)
    for seed in SEEDS:
        if package == "linkfield":  # milliseconds: once more, so that this size is warm too
            fit(name, X, must, cannot, seed)
        start = time.perf_counter()
        model = fit(name, X, must, cannot, seed)
        spent = time.perf_counter() - start
        say(seed=seed, seconds=spent, labels=np.asarray(model.labels_).tolist())


def faiss_iterations(sizes, rounds):
    """Say the time an iteration of faiss as a ratio to lloyd, in turn, for some sizes."""
    from .data import Dense, start_centres
    from .fits import counted, faiss_iterations, lloyd
    from .measure import compare, iteration

    for size in sizes:
        data = Dense(*size)
        X, _ = data.make()
        centres = start_centres(X, data.K)
        run = {
            "lloyd": counted(lloyd, X, data.K, centres),
            "faiss": lambda m, X=X, K=data.K, C=centres: faiss_iterations(X, K, C, m),
        }
        times = compare(run, rounds, iteration)
        say(data=str(data), lloyd=times.seconds("lloyd").median,
            ratio=str(times.ratio("faiss", "lloyd")))  # fmt: skip


def main():
    package, task, folder = sys.argv[1:4]
    warnings.simplefilter("ignore")
    with np.load(Path(folder) / "data.npz") as stored:
        stored = dict(stored)
    if task == "features":
        before = np.geterr()
        features(package, stored["X"])
        kept = np.geterr() == before
        say(**{"numpy's error state after import": "kept" if kept else "changed"})
    elif task == "iterations":
        faiss_iterations(json.loads(sys.argv[4]), int(sys.argv[5]))
    else:
        method(package, task, stored)


if __name__ == "__main__":
    main()
