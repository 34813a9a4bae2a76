"""Beyond the papers: what the defaults of HMRFKMeans rest on.

The metrics that can be learned, one start or five, and the metric that held-out constraints choose
(maths.md 2.7), with pairs from a random half of the rows and scores on the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..estimators import HMRFKMeans
from ._shared import PlainKMeans
from .peers import shared_sets
from .protocol import Experiment, Fit, Method, Task, fitted

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class _Learning:
    """One kind of metric, and so many starts."""

    metric: str
    n_init: int = 5

    def __call__(self, task: Task) -> Fit:
        model = HMRFKMeans(
            task.n_clusters, metric=self.metric, n_init=self.n_init, random_state=task.seed
        )
        return fitted(model, task)


#: Sets that squared distances suit: only these have a full metric to choose.
_DATA = tuple(source for source in shared_sets() if source.distortion == "euclidean")

EXPERIMENTS = (
    Experiment(
        name="defaults",
        title="The metric and the number of starts",
        paper="none",
        data=_DATA,
        methods=(
            Method("k-means", PlainKMeans(), ignores_constraints=True),
            Method("identity", _Learning("identity")),
            Method("diagonal (one start)", _Learning("diagonal", 1)),
            Method("diagonal", _Learning("diagonal")),
            Method("full (one start)", _Learning("full", 1)),
            Method("full", _Learning("full")),
            Method("auto", _Learning("auto")),
        ),
        constraints=(20, 50, 200, 500),
        folds=2,
        folds_run=1,
        runs=20,
        seed=2026,
        notes=(
            "Pairs from a random half of the rows, scores on the other half; all are clustered. "
            "Five starts, where nothing else is said; 'auto' is the default."
        ),
        quick={"data": _DATA[:1], "constraints": (50,), "runs": 1},
    ),
)
