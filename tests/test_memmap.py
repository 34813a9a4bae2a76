"""Data on disk: the same answer as in memory, the file as it was, and no copy of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linkfield import Constraints, HMRFKMeans

N, D, K = 9_000, 6, 4
FIELDS = ("labels_", "objective_", "metric_", "history_", "cluster_centers_")


def data(dtype: Any, offset: float) -> tuple[np.ndarray, Constraints]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, N)
    X = rng.normal(size=(N, D)) + 3.0 * rng.normal(size=(K, D))[y] + offset
    return X.astype(dtype), Constraints.from_labels(y, n_pairs=100, noise=0.1, random_state=0)


def mapped(kind: str, X: np.ndarray, folder: Path) -> tuple[Path, Any]:
    path = folder / "data.npy"
    if kind == "memmap":
        X.tofile(path)
        return path, np.memmap(path, X.dtype, "r", shape=X.shape)
    np.save(path, X)
    return path, np.load(path, mmap_mode="r")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["memmap", "load"])
@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("distortion", ["euclidean", "cosine"])
def test_a_file_is_as_good_as_an_array(
    tmp_path: Path, kind: str, dtype: Any, constrained: bool, distortion: str
) -> None:
    for offset in (0.0, 50.0):  # far from zero, rows are centred as they are read
        X, known = data(dtype, offset)
        path, disk = mapped(kind, X, tmp_path)
        before = path.read_bytes()
        params = {"distortion": distortion, "random_state": 0, "max_iter": 10, "closure": False}
        told = {"constraints": known if constrained else None}
        inside = HMRFKMeans(K, **params).fit(X, **told)
        outside = HMRFKMeans(K, **params).fit(disk, **told)
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(inside, name), getattr(outside, name))
        np.testing.assert_array_equal(inside.predict(X), outside.predict(disk))
        np.testing.assert_array_equal(inside.transform(X), outside.transform(disk))
        assert not disk.flags.writeable
        assert path.read_bytes() == before


def test_the_rows_of_a_file_are_not_copied(tmp_path: Path) -> None:
    X, _ = data(np.float32, 50.0)
    _, disk = mapped("memmap", X, tmp_path)
    model = HMRFKMeans(K, random_state=0).fit(disk)
    rows = model._setup.problem.engine.rows
    assert np.shares_memory(rows.base, disk)
    # The compiled passes read the file under its own address.
    assert rows.compiled.X.ctypes.data == disk.ctypes.data
    assert len(rows.compiled.offset) == D


MEASURE = """
import sys
import threading
import numpy as np
from linkfield import Constraints, HMRFKMeans

def anonymous():
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

known = Constraints(must_link=[(0, 1), (5, 9)], cannot_link=[(0, 5)])
small = np.random.default_rng(0).normal(size=(20_000, 200)).astype(np.float32)
HMRFKMeans(5, random_state=0, max_iter=2).fit(small, constraints=known).predict(small)
del small
disk = np.memmap(sys.argv[1], np.float32, "r", shape=(250_000, 200))
before, peak, done = anonymous(), 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
try:
    model = HMRFKMeans(5, random_state=0, max_iter=2).fit(disk, constraints=known)
    model.predict(disk)
finally:
    done.set()
    watcher.join()
print(peak - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="/proc is missing")
def test_a_large_file_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "large"
    piece = np.random.default_rng(0).normal(size=(25_000, 200)).astype(np.float32)
    with path.open("wb") as file:
        for _ in range(10):
            file.write(piece.tobytes())
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURE, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    path.unlink()
    assert int(done.stdout) < 80_000  # kB; the file has 200 MB
