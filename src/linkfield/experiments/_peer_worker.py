"""Fits of the package active-semi-supervised-clustering (2018), for ``peers``.

Run by the python of an environment that has the package: this file imports nothing of linkfield. A
line of input names an archive (X, must, cannot, n_clusters, seed, method, limit); the answer is a
line of JSON, ``{"labels": [...], "seconds": t}`` or ``{"error": "..."}``. A fit that takes more
than ``limit`` seconds ends the process with code 3. It ends as well when there is no more input.
"""

import json
import os
import sys
import threading
import time
from importlib import import_module
from typing import Any

import numpy as np

#: The package gives up when a cluster runs empty, whatever the data; other starts may fare better.
STARTS = 3

LATE = 3


def fitted(package: Any, job: dict[str, Any]) -> dict[str, Any]:
    """Return the labels of one fit, or the error that it ended with."""
    X = np.asarray(job["X"], dtype=np.float64)
    links = {"ml": job["must"].tolist(), "cl": job["cannot"].tolist()}
    error = ""
    begin = time.perf_counter()
    for start in range(STARTS):
        np.random.seed((int(job["seed"]) + start) % 2**32)  # noqa: NPY002 - its only source
        try:
            model = getattr(package, str(job["method"]))(n_clusters=int(job["n_clusters"]))
            labels = model.fit(X, **links).labels_.tolist()
            return {"labels": labels, "seconds": time.perf_counter() - begin}
        except Exception as failure:  # whatever it is, the cell has no answer
            error = f"{type(failure).__name__}: {failure}"
            if type(failure).__name__ != "EmptyClustersException":
                break
    return {"error": error}


def main() -> None:
    """Answer one line after the other."""
    answer, sys.stdout = sys.stdout, sys.stderr  # what the package prints is no answer
    sys.setrecursionlimit(100_000)  # it walks along must-links by recursion
    try:
        package = import_module("active_semi_clustering.semi_supervised.pairwise_constraints")
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answer, flush=True)
        return
    print(json.dumps({"ready": True}), file=answer, flush=True)
    for line in sys.stdin:
        with np.load(line.rstrip("\n")) as archive:
            job = dict(archive)
        clock = threading.Timer(float(job["limit"]), os._exit, (LATE,))
        clock.daemon = True
        clock.start()
        found = fitted(package, job)
        clock.cancel()
        print(json.dumps(found), file=answer, flush=True)


if __name__ == "__main__":
    main()
