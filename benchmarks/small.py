"""What a small fit takes: warm, first in a process, and first of all (nothing compiled yet)."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from linkfield import Constraints, HMRFKMeans
from linkfield.bench.tables import seconds, table

from .tables import finished

#: Makes a first fit in a new process and prints what it took, the imports apart.
FIRST = """
import time
from sklearn.datasets import load_iris
from linkfield import Constraints, HMRFKMeans
X, y = load_iris(return_X_y=True)
known = Constraints.from_labels(y, n_pairs=30, random_state=0)
start = time.perf_counter()
HMRFKMeans(3, random_state=0).fit(X, constraints=known)
print(time.perf_counter() - start)
"""


def warm_fits(rounds):
    """Return the median times of fits of iris, all made in turn after an uncounted one."""
    X, y = load_iris(return_X_y=True)
    known = Constraints.from_labels(y, n_pairs=30, random_state=0)
    run = {
        "linkfield, 0 pairs": lambda: HMRFKMeans(3, random_state=0).fit(X),
        "linkfield, 30 pairs, one run": lambda: HMRFKMeans(
            3, metric="diagonal", n_init=1, random_state=0
        ).fit(X, constraints=known),
        "linkfield, 30 pairs, all defaults": lambda: HMRFKMeans(3, random_state=0).fit(
            X, constraints=known
        ),
        "scikit-learn KMeans": lambda: KMeans(3, n_init=1, random_state=0).fit(X),
    }
    times = {name: [] for name in run}
    for _ in range(rounds + 1):
        for name, fit in run.items():
            start = time.perf_counter()
            fit()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def first_fits():
    """Return the time of a first fit with an empty cache of compiled code, and with a full one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", FIRST]
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        return [
            float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
            for _ in range(2)
        ]


def report(settings):
    """Return the report as Markdown."""
    rows = [[name, seconds(took)] for name, took in warm_fits(4 * settings.rounds).items()]
    if not settings.quick:
        empty, full = first_fits()
        rows.append(["linkfield, 30 pairs: the very first fit, compiling", seconds(empty)])
        rows.append(["linkfield, 30 pairs: first fit in a process, from the cache", seconds(full)])
    return finished("Small fits", [table(["fit of iris (150 x 4, K 3)", "time"], rows)], settings)
