"""What can be said of an estimator's parameters before there is any data."""

from __future__ import annotations

from typing import Any

from ..distortions import as_distortion
from ._inputs import check_parameters
from ._metric_choice import usual_metric
from ._mixture_checks import check_mixture
from ._recipe import check_recipe
from .hmrf import HMRFKMeans

__all__ = ["check_options"]


def check_options(model: Any) -> None:
    """Raise what ``fit`` would raise about the parameters alone.

    Parameters
    ----------
    model : HMRFKMeans, one of its special cases, or ConstrainedGaussianMixture
    """
    if not isinstance(model, HMRFKMeans):
        check_mixture(model)
        return
    check_parameters(model)
    chosen = usual_metric(as_distortion(model.distortion)) if model.metric == "auto" else None
    check_recipe(model._recipe(2, chosen))
