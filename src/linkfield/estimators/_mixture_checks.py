"""The parameters of a mixture, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimation.component_sums import CovariancePrior
from ..estimation.gaussians import GAUSSIANS
from ._mixture_start import STARTS

__all__ = ["check_mixture"]


def check_mixture(model: Any) -> None:
    """Raise if a parameter makes no sense; the message names those that do."""
    choices = (
        ("enforcement", ("none", "soft", "hard", "posterior")),
        ("mixing", ("free", "equal")),
        ("covariance_type", tuple(GAUSSIANS)),
        ("init_params", STARTS),
    )
    for name, allowed in choices:
        if getattr(model, name) not in allowed:
            raise ValueError(f"{name} must be one of {allowed}, got {getattr(model, name)!r}")
    for name, least in (("n_components", 1), ("max_iter", 1), ("n_init", 1), ("verbose", 0)):
        value = getattr(model, name)
        if isinstance(value, bool) and name != "verbose":
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        if not isinstance(value, int | np.integer):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
    for name in ("tol", "reg_covar"):
        if not _number(getattr(model, name)):
            raise ValueError(f"{name} must be a number >= 0, got {getattr(model, name)!r}")
    if not (isinstance(model.strength, str) and model.strength == "auto") and not _number(
        model.strength
    ):
        raise ValueError(f"strength must be a number >= 0 or 'auto', got {model.strength!r}")
    prior = model.covariance_prior
    if prior is not None and not isinstance(prior, CovariancePrior) and not _number(prior):
        raise ValueError(
            "covariance_prior must be None, a number >= 0 or a "
            f"linkfield.estimation.CovariancePrior, got {prior!r}"
        )


def _number(value: Any) -> bool:
    """Whether this is a finite number of at least 0."""
    plain = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return plain and bool(np.isfinite(value)) and value >= 0
