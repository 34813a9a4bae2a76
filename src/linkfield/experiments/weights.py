"""Beyond the papers: how much the weight of constraints matters, where some are wrong.

Every factor on the weights (``constraint_weight``), with what the pairs entail and without
(``closure``), at 200 pairs from a random half of the rows; the other half is scored.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..estimators import HMRFKMeans
from ._shared import PlainKMeans, scaled
from .protocol import Experiment, Fit, Method, Task, fitted, stored

__all__ = ["EXPERIMENTS", "WEIGHTS"]

WEIGHTS = (0.001, 0.01, 0.1, 1.0, 10.0)


@dataclass(frozen=True)
class _Weighted:
    """The default but for weight and closure."""

    weight: float
    closure: bool | str

    def __call__(self, task: Task) -> Fit:
        model = HMRFKMeans(
            task.n_clusters,
            constraint_weight=self.weight,
            closure=self.closure,
            random_state=task.seed,
        )
        return fitted(model, task)


_IRIS = stored("iris")
_WINE = stored("wine", prepare=scaled, note="standardised")

EXPERIMENTS = (
    Experiment(
        name="weights",
        title="Sensitivity to the weight of constraints, clean and noisy",
        paper="none",
        data=(
            _IRIS,
            _WINE,
            stored("wdbc", prepare=scaled, note="standardised"),
            stored("derm", prepare=scaled, note="standardised"),
            stored("letter-ijl", sample=0.2, note="a new sample of 20% of the rows in every run"),
            stored("digits-389", sample=0.2, note="a new sample of 20% of the rows in every run"),
        ),
        methods=(
            Method("k-means", PlainKMeans(), ignores_constraints=True),
            *(
                Method(f"weight {weight:g} ({word})", _Weighted(weight, closure))
                for closure, word in (("auto", "closure"), (False, "pairs only"))
                for weight in WEIGHTS
            ),
        ),
        constraints=(200,),
        noise=(0.0, 0.1),
        folds=2,
        runs=20,
        seed=2027,
        notes=(
            "200 pairs from a random half of the rows, each wrong with probability noise; scores "
            "on the other half. 'closure' is closure='auto', 'pairs only' closure=False."
        ),
        quick={"data": (_IRIS, _WINE), "runs": 1},
    ),
)
