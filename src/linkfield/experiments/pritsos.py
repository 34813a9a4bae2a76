"""Pritsos & Stamatatos: texts of web genres by the cosine, and an objective that always falls.

The paper gives no experiment, but asks (its 2.4) why its "global objective", eq. 26, falls and then
rises, and whether the missing prior on the metric is the cause. Here are the two corpora that its
authors use elsewhere, with pairs from one half of the texts and scores on the other, and:

- ``rises`` and ``rises_equation_26``: in how many steps of the fit J rose, which none should, with
  a prior and without; and in how many of ten iterations eq. 26 did;
- ``objective_after_1`` to ``_10``, ``equation_26_after_1`` to ``_10``: J and eq. 26 after each of
  ten iterations of one start, relative to the first; a fit that ends earlier keeps its last value.
  The sums over h in eq. 26 run over all clusters, not the row's own: its constraint terms do not
  depend on the labels at all, and its distances grow as the centres come apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints
from ..estimators import HMRFKMeans
from .data import TextForm
from .protocol import Experiment, Fit, Method, Source, Task, fitted, stored

__all__ = ["EXPERIMENTS", "count_rises", "global_objective"]

_STEPS = 10

#: A rise by less, relative to the value, is rounding.
_ROUNDING = 1e-10
_TRACES = tuple(
    f"{name}_after_{t}" for name in ("objective", "equation_26") for t in range(1, _STEPS + 1)
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class _Cosine:
    """HMRF-KMeans by the cosine, with one metric and prior or another."""

    metric: str
    prior: str | None

    def __call__(self, task: Task) -> Fit:
        model = self._model(task)
        begin = time.perf_counter()
        fit = fitted(model, task)
        seconds = round(time.perf_counter() - begin, 6)
        history = model.history_["objective"]
        j, g = self._descent(task)
        rises = {"rises": count_rises(history), "rises_equation_26": count_rises(g)}
        traces = dict(zip(_TRACES, [*j.tolist(), *g.tolist()], strict=True))
        return replace(fit, extra={"seconds": seconds, **rises, **traces})

    def _model(self, task: Task, **options: Any) -> HMRFKMeans:
        return HMRFKMeans(
            task.n_clusters,
            distortion="cosine",
            metric=self.metric,
            metric_prior=self.prior,
            random_state=task.seed,
            **options,
        )

    def _descent(self, task: Task) -> tuple[FloatArray, FloatArray]:
        """Return J and eq. 26 after every iteration of one start, relative to the first.

        Each is the end of a fit of so many iterations, which are those of the same fit.
        """
        found = []
        for number in range(1, _STEPS + 1):
            model = self._model(task, n_init=1, max_iter=number)
            model.fit(task.X, constraints=task.constraints)
            found.append((model.objective_, global_objective(model, task.X, task.constraints)))
            if model.converged_:
                break
        found += found[-1:] * (_STEPS - len(found))
        j, g = np.array(found).T
        return 1 + (j - j[0]) / abs(j[0]), g / g[0]


def count_rises(values: FloatArray) -> int:
    """Return how many values are above the one before, by more than rounding."""
    return int(np.count_nonzero(np.diff(values) > _ROUNDING * np.abs(values[:-1])))


def global_objective(model: HMRFKMeans, X: Any, constraints: Constraints) -> float:
    """Return eq. 26 of the paper, but for the prior.

    Σ_h Σ_i D(x_i, μ_h) + Σ_h Σ_ML D(x_i, x_j) [h ≠ l_j] + Σ_h Σ_CL (1 − D(x_i, x_j)) [h = l_j],
    where the brackets add up to K − 1 and to 1 whatever the labels are.
    """
    from sklearn.preprocessing import normalize

    pairs = constraints.pairs()
    scale = np.sqrt(np.broadcast_to(model.metric_, (X.shape[1],)))
    rows = normalize(X.multiply(scale).tocsr())
    distance = 1 - np.asarray(rows[pairs["a"]].multiply(rows[pairs["b"]]).sum(axis=1)).ravel()
    must = pairs["kind"] == "must"
    spread = float(np.sum(model.transform(X)))
    tied = (model.n_clusters - 1) * distance[must].sum() + (1 - distance[~must]).sum()
    return spread + float(tied)


def _texts(name: str) -> Source:
    return stored(
        name,
        distortion="cosine",
        text=TextForm(min_df=20, max_df=0.5),
        note="TF-IDF of the about 4,000 words in 20 texts at least and half of them at most",
    )


_DATA = (_texts("genre7"), _texts("genre_ki04"))

EXPERIMENTS = (
    Experiment(
        name="pritsos",
        title="Web genres by the cosine; the objective falls in every step",
        paper="Pritsos & Stamatatos",
        data=_DATA,
        methods=(
            Method("fixed", _Cosine("identity", None), warm_up=False),
            Method("no prior", _Cosine("diagonal", None), warm_up=False),
            Method("learned", _Cosine("diagonal", "wishart"), warm_up=False),
            Method("Rayleigh", _Cosine("diagonal", "rayleigh"), warm_up=False),
        ),
        constraints=(0, 50, 200, 500, 1000, 2000),
        folds=2,
        folds_run=1,
        runs=10,
        seed=2002,
        extra=("rises", "rises_equation_26", *_TRACES),
        notes=(
            "The paper has no experiment: corpora, vocabulary (words in 20 texts at least and in "
            "half of them at most, without stop words) and numbers of pairs are our choice. "
            "A weight a word is learned without a prior ('no prior'), with the library's own "
            "('learned') and with the paper's ('Rayleigh'). "
            "`rises` counts the steps of a fit in which the objective rose; columns after_t are "
            "J and eq. 26 (without the prior) after iteration t of one start, relative to the "
            "first."
        ),
        quick={"data": _DATA[:1], "constraints": (0, 200), "runs": 1},
    ),
)
