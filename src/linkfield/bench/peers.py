"""Other packages at one small job: a fit with pairs, each in a process that may be stopped.

``python -m linkfield.bench.peers PACKAGE METHOD FOLDER`` fits a method to the data in FOLDER (X,
must, cannot; no classes) once a seed, and prints one JSON object a line, so that what was found
before a time limit is kept. Nothing here imports linkfield, unless it is linkfield that is asked
for: a peer's environment need not have it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import Dense

__all__ = ["FITS", "MODULES", "Peer", "Score", "answers_of", "method", "peers", "say", "write_data"]

SEEDS, K = range(3), 10


# ----------------------------------------------------------------------- fits


def fit_linkfield(
    method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K
) -> Any:
    """Fit an estimator of linkfield by its name, behind which ", one start" may stand."""
    linkfield = import_module("linkfield")
    name, _, once = method.partition(", ")
    params = {"n_init": 1} if once else {}
    model = getattr(linkfield, name)(n_clusters, random_state=seed, **params)
    return model.fit(X, constraints=linkfield.Constraints(must, cannot))


def fit_2018(method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K) -> Any:
    """Fit a method of active-semi-supervised-clustering."""
    package = import_module("active_semi_clustering.semi_supervised.pairwise_constraints")
    np.random.seed(seed)  # noqa: NPY002 - the package draws from numpy's global state
    model = getattr(package, method)(n_clusters=n_clusters)
    return model.fit(X, ml=[tuple(p) for p in must], cl=[tuple(p) for p in cannot])


def fit_constrained(
    method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K
) -> Any:
    """Fit k-means-constrained; its constraints are sizes."""
    package = import_module("k_means_constrained")
    size = X.shape[0] // (2 * n_clusters) if n_clusters == K else None
    return package.KMeansConstrained(n_clusters, size_min=size, n_init=1, random_state=seed).fit(X)


def fit_sklearn(method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K) -> Any:
    """Fit scikit-learn's KMeans, which takes no pairs."""
    cluster = import_module("sklearn.cluster")
    return cluster.KMeans(n_clusters, n_init=1, random_state=seed).fit(X)


def fit_metric_learn(
    method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K
) -> Any:
    """Learn a metric from the pairs with metric-learn, then fit KMeans."""
    package = import_module("metric_learn")
    pairs = np.concatenate([must, cannot])
    truth = np.repeat([1, -1], [len(must), len(cannot)])
    learner = getattr(package, method.split()[0])(preprocessor=X, random_state=seed)
    return fit_sklearn("KMeans", learner.fit(pairs, truth).transform(X), (), (), seed, n_clusters)


def fit_faiss(method: str, X: Any, must: Any, cannot: Any, seed: int, n_clusters: int = K) -> Any:
    """Fit the k-means of faiss on all rows."""
    faiss = import_module("faiss")
    X = np.ascontiguousarray(X, dtype=np.float32)
    limits = {"min_points_per_centroid": 1, "max_points_per_centroid": len(X)}
    run = faiss.Kmeans(X.shape[1], n_clusters, niter=25, seed=seed + 1, **limits)
    run.train(X)
    run.labels_ = run.index.search(X, 1)[1].ravel()
    return run


#: How each package fits, the method that its features are tried with, whether it takes pairs.
FITS: dict[str, tuple[Callable[..., Any], str, bool]] = {
    "linkfield": (fit_linkfield, "PCKMeans", True),
    "scikit-learn": (fit_sklearn, "KMeans", False),
    "active-semi-supervised-clustering": (fit_2018, "PCKMeans", True),
    "k-means-constrained": (fit_constrained, "KMeansConstrained", False),
    "metric-learn": (fit_metric_learn, "ITML + KMeans", True),
    "faiss-cpu": (fit_faiss, "Kmeans", False),
}

#: The modules by which peers are known to be installed, and the methods that are timed.
MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "linkfield": ("linkfield", ("PCKMeans", "MPCKMeans")),
    "scikit-learn": ("sklearn", ("KMeans",)),
    "active-semi-supervised-clustering": ("active_semi_clustering", ("PCKMeans", "MPCKMeans")),
    "k-means-constrained": ("k_means_constrained", ("KMeansConstrained",)),
    "metric-learn": ("metric_learn", ("ITML + KMeans",)),
    "faiss-cpu": ("faiss", ("Kmeans",)),
}


# ------------------------------------------------------- in the peer's process


def say(**found: Any) -> None:
    """Print what was found."""
    print(json.dumps(found), flush=True)


def method(package: str, name: str, stored: dict[str, Any]) -> None:
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


# ----------------------------------------------------------------- beside them


def write_data(
    folder: str | Path, n_rows: int, n_pairs: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Write rows and pairs for the peers; return classes and the rows that no pair touches."""
    X, y = Dense(n_rows, 16, K, "float64").make()
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, n_rows, (2 * n_pairs, 2)), axis=1), axis=0)
    pairs = rng.permutation(pairs[pairs[:, 0] != pairs[:, 1]])[:n_pairs]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    np.savez(Path(folder) / "data.npz", X=X, must=pairs[same], cannot=pairs[~same])
    return y, np.setdiff1d(np.arange(n_rows), pairs)


def answers_of(
    command: Sequence[str], limit: float, **options: Any
) -> tuple[list[dict[str, Any]], str | None]:
    """Run a process; return the objects it printed and what stopped it, if anything."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, check=False, **options
        )
        text, error = done.stdout, None
        if done.returncode:
            error = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
    except subprocess.TimeoutExpired as late:
        out: Any = late.stdout or b""  # bytes, whatever ``text`` says
        text, error = out if isinstance(out, str) else out.decode(), "late"
    lines = [line for line in text.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines], error


@dataclass(frozen=True)
class Score:
    """Median seconds and mean adjusted Rand index over the seeds; nan where nothing came."""

    seconds: float
    rand: float

    @classmethod
    def of(cls, answers: list[dict[str, Any]], y: NDArray[Any], outside: NDArray[Any]) -> Score:
        """Summarise the answers of a method, scored on rows outside the constraints."""
        if not answers:
            return cls(np.nan, np.nan)
        rand = import_module("sklearn.metrics").adjusted_rand_score
        found = [rand(y[outside], np.array(a["labels"])[outside]) for a in answers]
        return cls(float(np.median([a["seconds"] for a in answers])), float(np.mean(found)))


@dataclass(frozen=True)
class Peer:
    """What one method of a package took, and what it found; ``note`` says what went wrong."""

    package: str
    method: str
    seconds: float
    rand: float
    note: str = ""


def peers(
    n_rows: int = 3_000,
    n_pairs: int = 1_000,
    limit: float = 60.0,
    progress: Callable[[str], None] = lambda what: None,
) -> tuple[list[Peer], list[str]]:
    """Time the packages that are installed here; return what they did and which are not here.

    Every method has a process of its own and ``limit`` seconds for three fits.
    """
    missing = [name for name, (module, _) in MODULES.items() if find_spec(module) is None]
    here = [name for name in MODULES if name not in missing]
    if len(here) <= 2:  # linkfield and scikit-learn are beside each other already
        return [], missing
    found = []
    with tempfile.TemporaryDirectory() as folder:
        y, outside = write_data(folder, n_rows, n_pairs)
        for package in here:
            for name in MODULES[package][1]:
                progress(f"other packages: {package} {name}")
                command = [sys.executable, "-W", "ignore", "-m", __name__, package, name, folder]
                answers, error = answers_of(command, limit)
                if error == "late":
                    error = f"stopped after {limit:g} s, {len(answers)} fits done"
                score = Score.of(answers, y, outside)
                found.append(Peer(package, name, score.seconds, score.rand, error or ""))
    return found, missing


def main() -> None:
    """Fit what the command line says."""
    package, name, folder = sys.argv[1:4]
    warnings.simplefilter("ignore")
    with np.load(Path(folder) / "data.npz") as stored:
        method(package, name, dict(stored))


if __name__ == "__main__":
    main()
