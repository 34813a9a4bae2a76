"""Beyond the papers: what the defaults of HMRFKMeans rest on.

The metrics that can be learned, one start or five, and the metric that held-out constraints choose
(maths.md 2.7); then the default with one part of it changed. Pairs come from a random half of the
rows, scores from the other half.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..estimation import Wishart
from ..estimators import HMRFKMeans
from ..inference import ICM
from ._shared import PlainKMeans
from .peers import shared_sets
from .protocol import Experiment, Fit, Method, Task, fitted

__all__ = ["EXPERIMENTS"]

#: The weights of constraints, one after the other, of a fit that begins with weak ones.
_WEIGHTS = (0.01, 0.1, 1.0)


@dataclass(frozen=True)
class _Learning:
    """One kind of metric, so many starts, and further parameters."""

    metric: str
    n_init: int = 5
    options: Mapping[str, Any] = field(default_factory=dict)

    def model(self, task: Task) -> HMRFKMeans:
        return HMRFKMeans(
            task.n_clusters,
            metric=self.metric,
            n_init=self.n_init,
            random_state=task.seed,
            **self.options,
        )

    def __call__(self, task: Task) -> Fit:
        return fitted(self.model(task), task)


class _Shrunk(_Learning):
    """A prior of a tenth of the rows' weight, half of whose scale is the same for all features."""

    def model(self, task: Task) -> HMRFKMeans:
        prior = Wishart(strength=0.1 * task.X.shape[0], ridge=1.0)
        return super().model(task).set_params(metric_prior=prior)


class _Annealed(_Learning):
    """Weak constraints first: each fit sets out from the one before."""

    def __call__(self, task: Task) -> Fit:
        model = self.model(task).set_params(warm_start=True)
        for weight in _WEIGHTS[:-1]:
            model.set_params(constraint_weight=weight).fit(task.X, constraints=task.constraints)
        return fitted(model.set_params(constraint_weight=_WEIGHTS[-1]), task)


_SINGLE = ICM(component_moves=False, swap_moves=False)

#: Sets that squared distances suit: only these have a full metric to choose.
_DATA = tuple(source for source in shared_sets() if source.distortion == "euclidean")

EXPERIMENTS = (
    Experiment(
        name="defaults",
        title="What the defaults rest on",
        paper="none",
        data=_DATA,
        methods=(
            Method("k-means", PlainKMeans(), ignores_constraints=True),
            Method("identity", _Learning("identity")),
            Method("diagonal (one start)", _Learning("diagonal", 1)),
            Method("diagonal", _Learning("diagonal")),
            Method("full (one start)", _Learning("full", 1)),
            Method("full", _Learning("full")),
            Method("full (shrunk)", _Shrunk("full")),
            Method("auto", _Learning("auto")),
            Method("auto (one start)", _Learning("auto", 1)),
            Method("auto (k-means++)", _Learning("auto", options={"init": "k-means++"})),
            Method("auto (single moves)", _Learning("auto", options={"inference": _SINGLE})),
            Method("auto (annealed)", _Annealed("auto")),
        ),
        constraints=(20, 50, 200, 500),
        folds=2,
        folds_run=1,
        runs=20,
        seed=2026,
        notes=(
            "Pairs from a random half of the rows, scores on the other half; all are clustered. "
            "Five starts, where nothing else is said; 'auto' is the default. 'shrunk': a prior of "
            "a tenth of the data's weight draws the full metric towards one that treats all "
            "features alike. Of the default, with one part changed: one start; starts by "
            "k-means++, without the constraints; single rows moved by ICM, no components; "
            "constraint weights of 0.01, 0.1 and 1, each fit setting out from the one before."
        ),
        quick={"data": _DATA[:1], "constraints": (50,), "runs": 1},
    ),
)
