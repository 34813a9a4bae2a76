"""Basu, Bilenko & Mooney 2003, 4: constraints and a learned metric, apart and together.

Pairs of training rows against pairwise F on the test fold, the whole set clustered (maths.md 7).
The paper does not say which numbers of constraints it took, nor how many starts; one start here.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from ..estimators import MKMeans, MPCKMeans, PCKMeans
from .protocol import Experiment, Fit, Method, Task, fitted, stored

__all__ = ["EXPERIMENTS", "k_means"]


def k_means(task: Task) -> Fit:
    """Plain k-means, from one k-means++ start."""
    model = KMeans(task.n_clusters, n_init=1, random_state=task.seed).fit(task.X)
    others = None if task.others is None else model.predict(task.others).astype(np.int64)
    labels = model.labels_.astype(np.int64)
    return Fit(labels, others, objective=float(model.inertia_), iterations=int(model.n_iter_))


def _m(task: Task) -> Fit:
    return fitted(MKMeans(task.n_clusters, n_init=1, random_state=task.seed), task)


def _pc(task: Task) -> Fit:
    return fitted(PCKMeans(task.n_clusters, init="largest", n_init=1, random_state=task.seed), task)


def _mpc(task: Task) -> Fit:
    return fitted(MPCKMeans(task.n_clusters, n_init=1, random_state=task.seed), task)


def _mpc_2003(task: Task) -> Fit:
    model = MPCKMeans(
        task.n_clusters, penalty="mpc2003", init="largest", n_init=1, random_state=task.seed
    )
    return fitted(model, task)


_IRIS, _WINE = stored("iris", name="Iris"), stored("wine", name="Wine")
_SAMPLE = "a new sample of 20% of the rows in every run"

EXPERIMENTS = (
    Experiment(
        name="basu2003",
        title="Constraints and a learned metric, apart and together",
        paper="Basu, Bilenko & Mooney 2003",
        data=(
            _IRIS,
            _WINE,
            stored("digits-389", name="Digits-389", sample=0.2, note=_SAMPLE),
            stored("letter-ijl", name="Letter-IJL", sample=0.2, note=_SAMPLE),
        ),
        methods=(
            Method("K-Means", k_means, ignores_constraints=True),
            Method("M-KMeans", _m),
            Method("PC-KMeans", _pc),
            Method("MPC-KMeans", _mpc),
            Method("MPC-KMeans 2003", _mpc_2003),
        ),
        constraints=(0, 10, 20, 50, 100, 200, 400),
        folds=10,
        runs=50,
        seed=2003,
        notes=(
            "Features as they come, unit weights, 50 runs of 10 folds, as in the paper; about ten "
            "minutes on two cores. MPC-KMeans is the library's, with the penalty of 2004; "
            "MPC-KMeans 2003 has the penalty and the initialisation as printed."
        ),
        quick={"data": (_IRIS, _WINE), "constraints": (0, 20, 100), "runs": 2, "folds_run": 3},
    ),
)
