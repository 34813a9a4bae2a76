"""What one package does with the jobs of ``peers``; runs in that package's own environment.

``python -m benchmarks.peer_probe PACKAGE TASK FOLDER`` prints one JSON object a line as soon as it
knows something, so that what was found before a time limit is kept. TASK is "features" (small jobs,
tried one after the other), "iterations" (faiss beside lloyd) or the name of a method, which is
fitted to the data in FOLDER (X, must, cannot; no classes) once a seed.
"""

import json
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def without_linkfield():
    """Let ``linkfield.bench`` be imported where linkfield's own dependencies are not installed."""
    if find_spec("numba") is None or find_spec("linkfield") is None:
        package = ModuleType("linkfield")
        package.__path__ = [str(ROOT / "src" / "linkfield")]
        sys.modules["linkfield"] = package


BEFORE = np.geterr()
without_linkfield()

from linkfield.bench.peers import FITS, method, say  # noqa: E402


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


def faiss_iterations(sizes, rounds):
    """Say the time an iteration of faiss as a ratio to lloyd, in turn, for some sizes."""
    from linkfield.bench.data import Dense, start_centres
    from linkfield.bench.fits import counted, faiss_iterations, lloyd
    from linkfield.bench.measure import compare, iteration

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
        features(package, stored["X"])
        kept = np.geterr() == BEFORE
        say(**{"numpy's error state after import": "kept" if kept else "changed"})
    elif task == "iterations":
        faiss_iterations(json.loads(sys.argv[4]), int(sys.argv[5]))
    else:
        method(package, task, stored)


if __name__ == "__main__":
    main()
