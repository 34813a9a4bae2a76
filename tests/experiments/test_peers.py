"""The comparison with other packages: jobs for another python, and what may go wrong there."""

import sys

import numpy as np
import pytest
from made_up_results import rows_of

from linkfield import Constraints
from linkfield.experiments import _peers, run
from linkfield.experiments.peers import experiment, shared_sets
from linkfield.experiments.protocol import Task

#: What the real package's classes take and give, with every way to fail.
STAND_IN = """
import time
import numpy as np

class EmptyClustersException(Exception):
    pass

class PCKMeans:
    def __init__(self, n_clusters):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, ml=[], cl=[]):
        assert type(X) is np.ndarray and all(len(pair) == 2 for pair in ml + cl)
        print("the package may print")
        self.labels_ = np.random.randint(0, self.n_clusters, len(X))
        self.labels_[:2] = len(ml), len(cl)
        return self

class COPKMeans(PCKMeans):
    calls = 0
    def fit(self, X, y=None, ml=[], cl=[]):
        COPKMeans.calls += 1
        if COPKMeans.calls % 3:
            raise EmptyClustersException
        return PCKMeans.fit(self, X, y, ml, cl)

class Failing(PCKMeans):
    def fit(self, X, y=None, ml=[], cl=[]):
        raise KeyError("what the package says")

class MPCKMeans(PCKMeans):
    def fit(self, X, y=None, ml=[], cl=[]):
        if len(X) == 4:
            time.sleep(60)
        return PCKMeans.fit(self, X, y, ml, cl)
"""


@pytest.fixture
def python(tmp_path):
    """A python that finds a stand-in for the package of 2018."""
    if sys.platform == "win32":
        pytest.skip("the stand-in for another python is a shell script")
    package = tmp_path / "active_semi_clustering" / "semi_supervised"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "pairwise_constraints.py").write_text(STAND_IN, "utf-8")
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{tmp_path}" exec "{sys.executable}" "$@"\n', "utf-8")
    script.chmod(0o755)
    yield str(script)
    _peers.close_workers()


def task(n=6, d=2, seed=1):
    X = np.arange(n * d, dtype=np.float32).reshape(n, d)
    return Task(X, 3, Constraints([(0, 1), (2, 3)], [(0, 2)]), seed)


def test_labels_come_back_from_the_other_python(python):
    method = _peers.PeerMethod("PCKMeans", python)
    first, again, other = (method(task(seed=seed)) for seed in (1, 1, 2))
    assert first.labels[:2].tolist() == [2, 1]  # must-links and cannot-links
    assert len(first.labels) == 6 and first.extra["seconds"] < 5
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.labels, other.labels)


def test_one_worker_serves_all_jobs_and_starts_are_repeated_where_a_cluster_is_lost(python):
    for _ in range(2):
        assert _peers.PeerMethod("COPKMeans", python)(task()).labels is not None
    assert len(_peers._WORKERS) == 1


def test_errors_and_late_fits_are_cells_without_labels(python):
    failed = _peers.PeerMethod("Failing", python)(task())
    assert failed.labels is None and failed.extra == {"no_answer": 1}
    slow = _peers.PeerMethod("MPCKMeans", python, most_features=2, limit=0.5)
    late = slow(task(n=4))
    assert late.labels is None and late.extra == {"no_answer": 2}
    assert slow(task(n=5)).labels is not None  # a new worker goes on
    assert slow(task(d=3)).extra == {"no_answer": 3}


def test_a_python_without_the_package_is_named():
    with pytest.raises(ValueError, match=r"LINKFIELD_PEER_PYTHON.*No module.*unset it"):
        _peers.PeerMethod("PCKMeans", sys.executable)(task())
    with pytest.raises(ValueError, match="LINKFIELD_PEER_PYTHON"):
        _peers.PeerMethod("PCKMeans", "no-such-python-here")(task())
    assert not _peers._WORKERS


def test_quick_run_without_the_package_and_with_it(python, tmp_path):
    alone = experiment()
    assert "LINKFIELD_PEER_PYTHON is not set" in alone.parameters()["notes"]
    path = run(alone, tmp_path, quick=True)
    rows = rows_of(path)
    assert {r["method"] for r in rows} == {"k-means", "k-means (10 starts)", "HMRFKMeans"}
    assert all(r["ari"] > 0.5 and r["no_answer"] is None for r in rows)
    run(experiment(python), tmp_path, quick=True)
    more = rows_of(path)
    assert {r["method"] for r in more} - {r["method"] for r in rows} == {
        "PCKMeans (2018)", "COPKMeans (2018)", "MPCKMeans (2018)",
    }  # fmt: skip
    assert [r for r in more if "2018" not in r["method"]] == rows  # those were not run again


def test_sets_are_all_shared_ones():
    used = {name for source in shared_sets() for name in source.needs}
    assert len(used) == len(shared_sets()) == 19
    for source in shared_sets():
        assert (source.distortion == "cosine") == (
            source.name == "banking77" or "news" in source.name or "genre" in source.name
        )
