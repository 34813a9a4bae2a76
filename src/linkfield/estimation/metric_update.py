"""Which metric step goes with which measure, and how the objective is followed through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distortions import Metric
from .metric_step import closed_form, multiplicative_step, safe_step
from .objective import Model, Objective
from .statistics import Statistics

__all__ = ["update_directional", "update_linear"]

FloatArray = NDArray[np.float64]


def update_linear(
    objective: Objective, stats: Statistics, model: Model, tied_labels: NDArray[Any]
) -> Metric:
    """Metric step of the Bregman measures: closed form, then the safe step.

    While labels and centres stay, the data part is ⟨θ, S⟩ and so is the pair part where the
    penalty is linear in θ; otherwise its energy is computed for every trial.
    """
    metric, weight = model.metric, stats.weight
    regulariser, pairs = objective.regulariser, objective.pairs
    S = objective.linear_gradient(stats, model, tied_labels)
    candidate = closed_form(metric, S, weight, regulariser)
    if not np.isfinite(candidate.theta).all():
        return metric
    rest = S
    if pairs is not None and not pairs.linear:
        rest = S - pairs.gradient(tied_labels, metric)

    def value(trial: Metric) -> float:
        total = trial.inner(rest) + objective.regularised(trial, weight)
        if pairs is not None and not pairs.linear:
            total += pairs.energy(tied_labels, trial)
        return total

    slope = float(
        np.sum((S + regulariser.gradient(metric, weight)) * (candidate.theta - metric.theta))
    )
    return safe_step(metric, candidate, value, slope=slope)


def update_directional(
    objective: Objective,
    model: Model,
    stats: Statistics,
    tied_labels: NDArray[Any],
    data_gradient: Callable[[Metric], FloatArray],
    statistics: Callable[[Metric], Statistics],
    step: float,
) -> tuple[Metric, Statistics, float]:
    """Metric step of cosine and correlation, whose rows are rescaled by every new metric.

    ``stats`` are those of the present metric; ``data_gradient`` and ``statistics`` each make one
    pass over the data. Returns the metric, the statistics under it, and the step to try first
    next time.
    """
    metric, pairs, regulariser = model.metric, objective.pairs, objective.regulariser
    seen: dict[int, tuple[Metric, Statistics]] = {id(metric): (metric, stats)}

    def value(trial: Metric) -> float:
        if id(trial) not in seen:  # keeps the trial alive, so its id stays its own
            seen[id(trial)] = (trial, statistics(trial))
        return objective.fixed_labels(seen[id(trial)][1], model.with_(metric=trial), tied_labels)

    gradient = data_gradient(metric)
    if pairs is not None:
        gradient = gradient + pairs.gradient(tied_labels, metric)
    # A prior fixes the scale of the weights; without one it is free, and set to Σa = d.
    free = not regulariser.active
    if not free:
        gradient = gradient + regulariser.gradient(metric, np.zeros(len(model.centres)))
    new, step = multiplicative_step(metric, gradient, value, step, rescale=free)
    return new, seen[id(new)][1], step
