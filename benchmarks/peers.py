"""Other packages at the same jobs, each in an environment of its own.

``python -m benchmarks peers`` makes throw-away environments, installs the newest release of every
peer with pip and runs ``peer_probe`` in each. Three tables: what every package can do (a cell says
what happened, not what a manual promises); time and adjusted Rand index of a fit with 1,000 pairs,
scored on the rows that no pair touches (the best of five starts by linkfield's default, and one
start, as the others make); faiss beside scikit-learn, an iteration. What does not
install, or falls, is listed with its error. A quick run tries the running environment only.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from linkfield.bench.measure import Watch, progress
from linkfield.bench.peers import Score, answers_of, write_data
from linkfield.bench.tables import seconds, table

from .tables import finished, judged

ROOT = Path(__file__).resolve().parents[1]

OWN = ("PCKMeans", "MPCKMeans")

#: What pip installs for a peer (None: the running environment), and its methods, each with the
#: method of linkfield that it stands beside and the bar: linkfield so many times faster.
PEERS = {
    "linkfield": (None, dict.fromkeys(f"{m}{s}" for m in OWN for s in ("", ", one start"))),
    "scikit-learn": (None, {"KMeans": None}),
    "active-semi-supervised-clustering": (
        ["active-semi-supervised-clustering", "metric-learn"],
        {"PCKMeans": ("PCKMeans", 100), "MPCKMeans": ("MPCKMeans", 1000)},
    ),
    "k-means-constrained": (["k-means-constrained", "scikit-learn"], {"KMeansConstrained": None}),
    # metric-learn 0.7.0 calls what scikit-learn 1.8 removed.
    "metric-learn": (
        ["metric-learn", "scikit-learn<1.8"],
        {"ITML + KMeans": ("MPCKMeans", None)},
    ),
    "faiss-cpu": (["faiss-cpu", "scikit-learn"], {"Kmeans": None}),
}

#: Packages whose features are compared.
ESTIMATORS = list(PEERS)[:4]

#: Rows and pairs, of a full and of a quick run.
SIZES = {False: (3_000, 1_000), True: (400, 100)}

FAISS_SIZES = [(100_000, 32, 20), (1_000_000, 16, 50), (100_000, 384, 100)]


@dataclass
class Found:
    """What a peer did."""

    version: str = ""
    features: dict = field(default_factory=dict)
    fits: dict = field(default_factory=dict)
    iterations: list = field(default_factory=list)
    notes: list = field(default_factory=list)


def python_of(folder, packages):
    """Make an environment; return its python and, if pip failed, the error."""
    if packages is None:
        return sys.executable, None
    venv.create(folder, with_pip=True)
    python = str(Path(folder) / "bin" / "python")
    command = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return python, None
    lines = done.stderr.strip().splitlines() or ["no message"]
    return python, next((line for line in lines if line.startswith("ERROR")), lines[-1])


def version_of(python, package):
    """Return the version that is installed in an environment."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "?"


def probe(python, arguments, limit):
    """Run a probe; return the objects it printed and what stopped it, if anything."""
    command = [python, "-W", "ignore", "-m", "benchmarks.peer_probe", *arguments]
    env = os.environ if python == sys.executable else clean_environment()
    return answers_of(command, limit, cwd=ROOT, env=env)


def clean_environment():
    """Return the environment without paths that would lead to packages of the running python."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}


def tried(name, folder, settings):
    """Install one peer and run all its probes."""
    packages, methods = PEERS[name]
    found = Found()
    with tempfile.TemporaryDirectory() as place:
        progress(f"peers: installing {name}" if packages else f"peers: {name}")
        python, problem = python_of(place, packages)
        if problem is not None:
            found.notes.append(f"{name} did not install: {problem}")
            return found
        found.version = version_of(python, name)
        if name in ESTIMATORS:
            answers, error = probe(python, [name, "features", folder], settings.limit)
            found.features = {k: v for answer in answers for k, v in answer.items()}
            found.notes += [f"{name}, features: {error}"] if error else []
        for method in methods:
            progress(f"peers: {name} {method}")
            found.fits[method], error = probe(python, [name, method, folder], settings.limit)
            if error == "late":
                done = len(found.fits[method])
                error = f"stopped after {settings.limit:g} s, {done} fits done"
            found.notes += [f"{name} {method}: {error}"] if error else []
        if name == "faiss-cpu":
            sizes = [json.dumps(FAISS_SIZES), str(settings.rounds)]
            arguments = [name, "iterations", folder, *sizes]
            found.iterations, error = probe(python, arguments, settings.limit)
            found.notes += [f"{name}, iterations: {error}"] if error else []
    return found


def features_table(results):
    """Return what every package can do."""
    shown = {name: results[name] for name in ESTIMATORS if name in results}
    rows = [
        [row, *(found.features.get(row, "-") for found in shown.values())]
        for row in results["linkfield"].features
    ]
    head = ["", *(f"{name} {found.version}" for name, found in shown.items())]
    return f"## What happens when it is tried\n\n{table(head, rows)}"


def comparison(score, own, bar, late, quiet, settings):
    """Return how many times faster linkfield is, and its Rand index beside the peer's."""
    time = settings.limit if late else score.seconds
    if np.isnan(time):
        return "-", "-"
    factor, sign = time / own.seconds, "> " if late else ""
    text = f"{sign}{factor:,.3g} x"
    faster = judged(text, factor, bar, settings, f"{bar} x", least=True, quiet=quiet)
    if np.isnan(score.rand):
        return faster, f"{own.rand:.3f}"
    equal = None if bar is None else round(score.rand, 3)
    rand = judged(f"{own.rand:.3f}", round(own.rand, 3), equal, settings, least=True)
    return faster, rand


def fits_table(results, y, outside, watch, settings):
    """Return times and adjusted Rand indices of all methods."""
    own = {m: Score.of(a, y, outside) for m, a in results["linkfield"].fits.items()}
    rows = []
    for name, found in results.items():
        for method, answers in found.fits.items():
            late = not answers and any(f"{name} {method}: stopped" in n for n in found.notes)
            score = Score.of(answers, y, outside)
            beside = PEERS[name][1][method]
            faster, rand = "-", "-"
            if beside is not None:
                mine = own[beside[0]]
                faster, rand = comparison(score, mine, beside[1], late, watch.quiet, settings)
            took = f"> {settings.limit:g} s" if late else "error"
            took = took if np.isnan(score.seconds) else seconds(score.seconds)
            index = "-" if np.isnan(score.rand) else f"{score.rand:.3f}"
            rows.append([f"{name} {found.version}", method, took, index, faster, rand])
    head = ["package", "method", "a fit", "ARI off the constraints", "linkfield is faster by"]
    pairs = SIZES[settings.quick][1]
    intro = (
        f"## A fit\n\n{len(y):,} x 16, K 10, {pairs:,} pairs (scikit-learn, k-means-constrained "
        "and faiss take none). Median time and mean adjusted Rand index of 3 seeds, defaults, "
        f"scored on the {len(outside):,} rows that no pair touches. linkfield's PCKMeans stands "
        "beside PCKMeans, its MPCKMeans beside what learns a metric. Other work took "
        f"{watch} of the machine meanwhile."
    )
    return intro + "\n\n" + table([*head, "linkfield's ARI"], rows)


def faiss_table(found):
    """Return faiss beside lloyd."""
    rows = [[a["data"], seconds(a["lloyd"]), a["ratio"]] for a in found.iterations]
    head = ["data", "lloyd, an iteration", "faiss-cpu, ratio"]
    return f"## faiss, an iteration\n\n{table(head, rows)}"


def report(settings):
    """Return all tables as Markdown."""
    with tempfile.TemporaryDirectory() as folder, Watch() as watch:
        y, outside = write_data(folder, *SIZES[settings.quick])
        names = [n for n in PEERS if PEERS[n][0] is None or not settings.quick]
        results = {name: tried(name, folder, settings) for name in names}
    parts = [features_table(results), fits_table(results, y, outside, watch, settings)]
    if any(found.iterations for found in results.values()):
        parts.append(faiss_table(results["faiss-cpu"]))
    notes = [note for found in results.values() for note in found.notes]
    if notes:
        parts.append("## Notes\n\n" + "\n".join(f"- {note}" for note in notes))
    return finished("Peers", parts, settings)
