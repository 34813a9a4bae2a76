"""What an estimator's parameters mean, and which of them go together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..distortions import DISTORTIONS, METRICS, Distortion, Metric, Penalty
from ..estimation import MetricPrior
from ..inference import Inference, MeanField

__all__ = ["Recipe", "check_recipe", "checked_metric"]


@dataclass(frozen=True)
class Recipe:
    """What an estimator's parameters mean, with every name resolved.

    ``use_pairs`` says where constraints count besides the initialisation: "all", "metric"
    (M-KMeans) or "none" (KMeans-I). ``assignment`` is "hard" or "soft".
    """

    n_clusters: int
    distortion: Distortion
    metric: Metric
    penalty: Penalty
    prior: MetricPrior
    logdet_weight: float
    inference: Inference
    constraint_weight: float
    label_weight: float
    closure: bool | str
    use_pairs: str = "all"
    assignment: str = "hard"
    certify: bool = False

    @property
    def soft(self) -> bool:
        """Whether rows belong to clusters by probability."""
        return self.assignment == "soft"


def check_recipe(recipe: Recipe) -> None:
    """Refuse combinations that the model does not have, with the reason."""
    distortion, metric, penalty = recipe.distortion, recipe.metric, recipe.penalty
    _check_assignment(recipe)
    checked_metric(metric.kind, distortion)
    if metric.per_cluster and not penalty.per_cluster:
        raise ValueError(
            f"penalty={penalty.name!r} is defined for one shared metric only (its thresholds "
            "compare distances across clusters); take penalty='hmrf' or 'potts'"
        )
    scale = recipe.prior.rayleigh_scale()
    if metric.learned and scale is not None and metric.kind != "diagonal":
        raise ValueError(
            "the Rayleigh prior is a density of feature weights; take metric='diagonal', or "
            "metric_prior='wishart'"
        )
    if not 0 <= recipe.logdet_weight < np.inf:
        raise ValueError(f"logdet_weight must be 0 or more, got {recipe.logdet_weight!r}")
    strength = recipe.prior.strength_for(metric, 1.0)
    unbounded = recipe.logdet_weight == 0 and strength == 0 and scale is None
    if metric.learned and distortion.bregman and unbounded:
        raise ValueError(
            "without logdet_weight and without a metric_prior the best metric is zero: the "
            "objective shrinks with it. Give logdet_weight > 0 or a prior"
        )
    if metric.per_cluster and strength == 0:
        raise ValueError(
            f"metric={metric.kind!r} needs a metric_prior: a cluster of one row has no spread, and "
            "its metric would grow without end"
        )
    if not recipe.constraint_weight > 0:
        raise ValueError(f"constraint_weight must be positive, got {recipe.constraint_weight!r}")


def _check_assignment(recipe: Recipe) -> None:
    if recipe.assignment not in ("hard", "soft"):
        raise ValueError(f"assignment must be 'hard' or 'soft', got {recipe.assignment!r}")
    if not recipe.soft:
        return
    if recipe.certify:
        raise ValueError(
            "certify=True bounds what labels cost; assignment='soft' has none. Leave one of them"
        )
    if not isinstance(recipe.inference, MeanField):
        raise ValueError(
            "assignment='soft' needs a temperature, which the mean field has: pass "
            "inference=linkfield.inference.MeanField(temperature=...)"
        )
    recipe.inference.check()


def checked_metric(kind: str, distortion: Distortion) -> type[Metric]:
    """Return the kind of metric, refused where the distortion cannot learn it."""
    if kind not in METRICS:
        hint = " (a distance is chosen by distortion=)" if kind in DISTORTIONS else ""
        known = ["auto", *sorted(METRICS)]
        raise ValueError(f"metric must be one of {known}, got {kind!r}{hint}")
    if kind not in distortion.metrics:
        raise ValueError(
            f"distortion {distortion.name!r} cannot learn metric={kind!r}: "
            f"{_why_not(distortion, METRICS[kind])}; it offers {', '.join(distortion.metrics)}"
        )
    return METRICS[kind]


def _why_not(distortion: Distortion, metric: type[Metric]) -> str:
    if distortion.metrics == ("identity",):
        return "it has no parameters to learn"
    if not distortion.bregman:
        return "only feature weights are defined for a directional measure"
    if metric.full:
        return "its generator acts feature by feature, so a matrix does not act on it"
    return "one metric a cluster is defined for the squared Euclidean distance"
