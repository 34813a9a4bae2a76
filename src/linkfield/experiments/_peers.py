"""The package active-semi-supervised-clustering of 2018, at work in an environment of its own."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._peer_worker import LATE
from .protocol import Fit, Task

__all__ = ["ENVIRONMENT", "LIMIT", "NO_ANSWER", "PeerMethod", "close_workers", "peer_python"]

#: The variable that names the python of an environment that has the package.
ENVIRONMENT = "LINKFIELD_PEER_PYTHON"

#: A fit is stopped after so many seconds.
LIMIT = 60.0

#: What the column ``no_answer`` says of a cell without labels.
NO_ANSWER = {"error": 1.0, "stopped": 2.0, "not tried": 3.0}

_SCRIPT = Path(__file__).with_name("_peer_worker.py")


def peer_python() -> str | None:
    """Return the python that has the package, if there is one."""
    return os.environ.get(ENVIRONMENT) or None


class _Worker:
    """One process of the other environment, which fits one job after the other."""

    def __init__(self, python: str) -> None:
        # Neither packages of this environment, nor more threads than other methods have.
        inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        try:
            self._process = subprocess.Popen(
                [python, "-W", "ignore", str(_SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=inherited | one,
            )
        except OSError as error:
            raise ValueError(f"{ENVIRONMENT}: {error}; {_REMEDY}") from None
        hello = self._line()
        if "ready" not in hello:
            self.close()
            raise ValueError(f"{ENVIRONMENT}={python}: {hello.get('missing', 'it ended')}; "
                             f"{_REMEDY}")  # fmt: skip

    def answer(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return what comes of a job: labels and seconds, or an error, or nothing if it is late."""
        assert self._process.stdin is not None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "job.npz"
            np.savez(path, **job)
            self._process.stdin.write(f"{path}\n")
            self._process.stdin.flush()
            return self._line()

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found: dict[str, Any] = json.loads(line) if line else {}
        return found

    def close(self) -> int:
        """End the process and return its exit code."""
        self._process.communicate()
        return self._process.wait()


_REMEDY = "name a python that has active-semi-supervised-clustering installed, or unset it"

#: The workers of this process by their python.
_WORKERS: dict[str, _Worker] = {}


@atexit.register
def close_workers() -> None:
    """End all workers of this process; they wait for jobs otherwise."""
    while _WORKERS:
        _WORKERS.popitem()[1].close()


@dataclass(frozen=True)
class PeerMethod:
    """A method of the package, with its defaults.

    Parameters
    ----------
    name : str
        Its class.
    python : str
    most_features : int, optional
        Wider rows are not tried.
    limit : float
        Seconds that a fit may take.
    """

    name: str
    python: str
    most_features: int | None = None
    limit: float = LIMIT

    def __call__(self, task: Task) -> Fit:
        """Fit in the other environment."""
        if self.most_features is not None and task.X.shape[1] > self.most_features:
            return Fit(None, extra={"no_answer": NO_ANSWER["not tried"]})
        pairs = task.constraints.pairs()
        ends = np.column_stack([pairs["a"], pairs["b"]]).astype(np.int64)
        must = pairs["kind"] == "must"
        found = self._answer({
            "X": task.X.toarray() if sparse.issparse(task.X) else np.asarray(task.X),
            "must": ends[must],
            "cannot": ends[~must],
            "n_clusters": task.n_clusters,
            "seed": task.seed,
            "method": self.name,
            "limit": self.limit,
        })  # fmt: skip
        if "labels" in found:
            labels = np.array(found["labels"], dtype=np.int64)
            return Fit(labels, extra={"seconds": round(found["seconds"], 6)})
        return Fit(None, extra={"no_answer": NO_ANSWER["error" if found else "stopped"]})

    def _answer(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of the worker, which is begun if need be; nothing if it is late."""
        if self.python not in _WORKERS:
            _WORKERS[self.python] = _Worker(self.python)
        found = _WORKERS[self.python].answer(job)
        if not found:
            code = _WORKERS.pop(self.python).close()
            if code != LATE:
                raise RuntimeError(f"the worker of {self.name} ended with code {code}")
        return found
