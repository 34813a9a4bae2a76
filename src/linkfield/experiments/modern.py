"""Beyond the papers: sentence embeddings, images and cells, up to 2,000 pairs, some of them wrong.

Pairs are drawn from a random half of the rows, the other half is scored, all rows are clustered.
"""

from __future__ import annotations

from ..estimators import HMRFKMeans, PCKMeans
from ._shared import Components, PlainKMeans, default_fit
from .protocol import Experiment, Fit, Method, Task, fitted, stored

__all__ = ["EXPERIMENTS"]


def _pc(task: Task) -> Fit:
    model = PCKMeans(task.n_clusters, distortion=task.distortion, random_state=task.seed)
    return fitted(model, task)


def _noisy(task: Task) -> Fit:
    """As the guide advises for pairs that may be wrong: light weights, nothing entailed."""
    model = HMRFKMeans(
        task.n_clusters,
        distortion=task.distortion,
        constraint_weight=0.01,
        closure=False,
        random_state=task.seed,
    )
    return fitted(model, task)


_CELLS = stored("pbmc68k", note="700 cells, 50 principal components as published")

EXPERIMENTS = (
    Experiment(
        name="modern",
        title="Embeddings, images and cells with many pairs, some of them wrong",
        paper="none",
        data=(
            stored(
                "banking77",
                distortion="cosine",
                sample=3000,
                note="a new sample of 3,000 of the 13,083 rows in every run",
            ),
            stored(
                "mnist",
                prepare=Components(50, standardise=False),
                note="all 10,000 rows, 50 principal components",
            ),
            _CELLS,
        ),
        methods=(
            Method("k-means", PlainKMeans(), ignores_constraints=True),
            Method("HMRFKMeans", default_fit),
            Method("PCKMeans", _pc),
            Method("HMRFKMeans (noisy)", _noisy),
        ),
        constraints=(0, 50, 200, 500, 1000, 2000),
        noise=(0.0, 0.05, 0.1, 0.2),
        folds=2,
        folds_run=1,
        runs=10,
        seed=2026,
        notes=(
            "Pairs from a random half of the rows, scores on the other half. banking77 by the "
            "cosine, the others by squared Euclidean distance. HMRFKMeans and PCKMeans have their "
            "defaults; 'noisy' has constraint_weight=0.01 and closure=False, k-means is "
            "scikit-learn's with its defaults."
        ),
        quick={"data": (_CELLS,), "constraints": (0, 200, 2000), "noise": (0.0, 0.1), "runs": 1},
    ),
)
