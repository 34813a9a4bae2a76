"""What other packages do with the same small jobs, each tried in an environment of its own.

``python -m benchmarks peers`` makes throw-away environments, installs the newest release of every
peer beside current numpy and scikit-learn, runs the probes below and prints one table. A cell says
what happened, not what a manual promises.
"""

import json
import subprocess
import sys
import tempfile
import textwrap
import venv
from pathlib import Path

#: Name in the table, what pip installs (None: the running environment), how to make an estimator.
PEERS = {
    "linkfield": (None, "linkfield"),
    "scikit-learn KMeans": (None, "sklearn"),
    "active-semi-supervised-clustering": ("active-semi-supervised-clustering metric-learn", "assc"),
    "k-means-constrained": ("k-means-constrained scikit-learn", "kmc"),
}

PROBE = textwrap.dedent(
    """
    import json, sys, time, warnings
    import numpy as np
    warnings.simplefilter("ignore")
    before = np.geterr()
    which = sys.argv[1]
    if which == "linkfield":
        from linkfield import Constraints, PCKMeans, MPCKMeans
        def make(kind, K):
            return {"soft": PCKMeans, "metric": MPCKMeans}[kind](K, random_state=0)
        def fit(model, X, must, cannot):
            return model.fit(X, constraints=Constraints(must, cannot))
    elif which == "assc":
        from active_semi_clustering.semi_supervised.pairwise_constraints import PCKMeans, MPCKMeans
        def make(kind, K):
            return {"soft": PCKMeans, "metric": MPCKMeans}[kind](n_clusters=K)
        def fit(model, X, must, cannot):
            return model.fit(X, ml=[tuple(p) for p in must], cl=[tuple(p) for p in cannot])
    elif which == "kmc":
        from k_means_constrained import KMeansConstrained
        def make(kind, K):
            return KMeansConstrained(K, random_state=0)
        def fit(model, X, must, cannot):
            if len(must) + len(cannot):
                raise NotImplementedError("no pairs")
            return model.fit(X)
    else:
        from sklearn.cluster import KMeans
        def make(kind, K):
            return KMeans(K, n_init=1, random_state=0)
        def fit(model, X, must, cannot):
            if len(must) + len(cannot):
                raise NotImplementedError("no pairs")
            return model.fit(X)

    found = {}
    def probe(name, function):
        try:
            found[name] = function()
        except BaseException as error:
            found[name] = "no" if str(error) == "no pairs" else type(error).__name__

    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 3000)
    X = rng.normal(size=(3000, 16)) + 2.0 * rng.normal(size=(10, 16))[y]
    pairs = rng.integers(0, 3000, size=(1000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    small, few = X[:200], np.array([(0, 1), (2, 3)])

    def pairs_work():
        fit(make("soft", 3), small, few, [(0, 2)])
        return "yes"
    def predicts():
        return "yes" if len(fit(make("soft", 3), small, [], []).predict(X[:7])) == 7 else "no"
    def sparse_rows():
        from scipy.sparse import csr_matrix
        fit(make("soft", 3), csr_matrix(np.maximum(small, 0)), [], [])
        return "yes"
    def cloned():
        from sklearn.base import clone
        clone(make("soft", 3))
        return "yes"
    def chain():
        n = 3000
        fit(make("soft", 3), X, np.column_stack([np.arange(n - 1), np.arange(1, n)]), [])
        return "yes"
    def reports():
        fit(make("soft", 2), small, few, [(0, 2)])  # are pairs taken at all?
        model = fit(make("soft", 2), small, [], [(0, 1), (1, 2), (0, 2)])  # one must break
        table = getattr(model, "violations_", None)
        return "no" if table is None else f"yes ({len(table)} listed)"
    def seconds(kind):
        def run():
            fit(make(kind, 10), X[:400], pairs[(pairs < 400).all(1) & same[:len(pairs)]], [])
            start = time.perf_counter()
            fit(make(kind, 10), X, pairs[same], pairs[~same])
            return round(time.perf_counter() - start, 2)
        return run

    probe("must- and cannot-links", pairs_work)
    probe("predict for new rows", predicts)
    probe("sparse rows", sparse_rows)
    probe("scikit-learn's clone", cloned)
    probe("must-link chain of 3,000", chain)
    probe("tells which constraints it broke", reports)
    found["numpy's error state after import"] = "kept" if np.geterr() == before else "changed"
    print(json.dumps(found), flush=True)
    for name, kind in (("1,000 pairs, 3,000 x 16: PCKMeans, s", "soft"),
                       ("the same with a metric: MPCKMeans, s", "metric")):
        if found["must- and cannot-links"] == "yes":
            probe(name, seconds(kind))
            print(json.dumps(found), flush=True)
    """
)


def python_of(folder, packages):
    """Make an environment and return its python; the running one where nothing is installed."""
    if packages is None:
        return sys.executable, None
    venv.create(folder, with_pip=True)
    python = str(Path(folder) / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages.split()],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return python, None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def probed(python, which, limit):
    """Run the probes; on the time limit keep what was found by then."""
    command = [python, "-c", PROBE, which]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
        lines, late = done.stdout.splitlines(), False
    except subprocess.TimeoutExpired as error:
        lines, late = (error.stdout or b"").decode().splitlines(), True
    found = json.loads(lines[-1]) if lines else {}
    return found, late


def report(limit=120):
    """Return the table as Markdown."""
    results, notes = {}, []
    for name, (packages, which) in PEERS.items():
        with tempfile.TemporaryDirectory() as folder:
            python, problem = python_of(folder, packages)
            if problem is not None:
                notes.append(f"{name} did not install: {problem}")
                continue
            results[name], late = probed(python, which, limit)
            if late:
                notes.append(f"{name}: stopped after {limit} s")
    rows = list(results["linkfield"])
    lines = ["| | " + " | ".join(results) + " |", "|---|" + "---|" * len(results)]
    for row in rows:
        missing = f"> {limit}" if row.endswith(", s") else "-"
        cells = [
            str(found.get(row, missing if found.get(rows[0]) == "yes" else "-"))
            for found in results.values()
        ]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines + [""] + [f"- {note}" for note in notes])
