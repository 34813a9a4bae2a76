"""Bilenko & Basu 2004, 4: how the tied rows are labelled, by greedy or by global inference.

Pairs of one half of the rows against pairwise F on the other half, all of them clustered, with a
weight a feature learned (maths.md 7). ``energy`` is the objective after the first assignment:
there every method faces the same centres, metric and links, so that it tells them apart by nothing
but inference. ``objective`` is that of the whole fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..estimators import HMRFKMeans
from ..inference import ICM
from .protocol import Experiment, Fit, Method, Task, fitted, stored

__all__ = ["EXPERIMENTS"]


@dataclass(frozen=True)
class _By:
    """The same estimator with one inference or another."""

    inference: Any

    def __call__(self, task: Task) -> Fit:
        model = HMRFKMeans(
            task.n_clusters,
            metric="diagonal",
            inference=self.inference,
            init="farthest-first",
            n_init=1,
            random_state=task.seed,
        )
        fit = fitted(model, task)
        assigned = model.history_["objective"][model.history_["step"] == "assign"]
        return replace(fit, energy=float(assigned[0]))


_IRIS = stored("iris", name="Iris")

EXPERIMENTS = (
    Experiment(
        name="bilenko2004",
        title="Greedy and global inference in the assignment",
        paper="Bilenko & Basu 2004",
        data=(
            _IRIS,
            stored("protein", name="Protein"),
            stored(
                "letter-ijl",
                name="Letter-IJL",
                sample=0.1,
                note="a new sample of 10% of the rows in every run",
            ),
        ),
        methods=(
            Method("ICM (single rows)", _By(ICM(component_moves=False, swap_moves=False))),
            Method("ICM", _By("icm")),
            Method("BP", _By("bp")),
            Method("LP", _By("lp")),
            Method("mean field", _By("mean-field")),
            Method("auto", _By("auto")),
        ),
        constraints=(0, 10, 20, 50, 100, 200, 400),
        folds=2,
        runs=100,
        seed=2000,
        notes=(
            "Unit weights and 2 folds, as in the paper; 100 runs for its 10, about ten minutes on "
            "two cores. 'ICM (single rows)' is its greedy method; the library's ICM also moves "
            "whole components. The energy is the objective after the first assignment, where all "
            "methods face the same field."
        ),
        quick={"data": (_IRIS,), "constraints": (0, 20, 100), "runs": 1},
    ),
)
