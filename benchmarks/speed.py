"""What constraints cost: time of a whole fit as a ratio to scikit-learn's KMeans, in one run."""

import time
from functools import partial

import numpy as np
from sklearn.cluster import KMeans

from linkfield import Constraints, HMRFKMeans, PCKMeans

CASES = [(10_000, 16, 10), (100_000, 16, 10)]


def timed(cls, K, X, told, repeats=3):
    """Return the median time of a fit, divided by its iterations."""
    times = []
    for seed in range(repeats):
        model = cls(n_clusters=K, random_state=seed, max_iter=20, tol=0)
        start = time.perf_counter()
        model.fit(X, **told)
        times.append((time.perf_counter() - start) / model.n_iter_)
    return float(np.median(times))


def report():
    """Return a Markdown table of times an iteration, initialisation included."""
    lines = ["time an iteration, initialisation included, as a ratio to scikit-learn's KMeans", ""]
    lines += ["| rows x features, clusters | pairs | KMeans | PCKMeans | HMRFKMeans diagonal |"]
    lines += ["|---|---|---|---|---|"]
    rng = np.random.default_rng(0)
    for n, d, K in CASES:
        y = rng.integers(0, K, n)
        X = rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(K, d))[y]
        for n_pairs in (0, 1_000, 10_000):
            known = Constraints.from_labels(y, n_pairs=n_pairs, random_state=0)

            told = {"constraints": known}
            timed(HMRFKMeans, K, X, told, repeats=1)  # compile before the clock counts
            base = timed(partial(KMeans, n_init=1), K, X, {})
            pck, hmrf = (timed(cls, K, X, told) for cls in (PCKMeans, HMRFKMeans))
            lines.append(
                f"| {n:,} x {d}, {K} | {n_pairs:,} | {1e3 * base:.1f} ms | {pck / base:.2f} | "
                f"{hmrf / base:.2f} |"
            )
    return "\n".join(lines)
