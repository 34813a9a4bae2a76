"""What a fit chooses for itself: the kind of metric, and the number of starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import Constraints
from ..distortions import as_distortion
from ._metric_choice import CHOICE_DTYPE, MetricChoice, chosen_metric, usual_metric
from ._setup import Setup

__all__ = ["Choosing"]

#: A run of so many rows x features x clusters is quick enough to be made several times.
QUICK = 20_000_000


class Choosing:
    """The choices of :class:`HMRFKMeans`, a mixin."""

    if TYPE_CHECKING:
        distortion: Any
        init: Any
        metric: str
        n_clusters: int
        n_init: Any
        metric_kind_: str
        metric_choice_: Any

        def _warm(self) -> bool: ...

    #: Starts where there are constraints and runs are quick.
    _several = 5

    def _choice(
        self, X: Any, known: Constraints, weight: Any, rng: np.random.Generator
    ) -> MetricChoice:
        """Return the kind of metric to learn; a warm fit stays with its own."""
        none = np.empty(0, CHOICE_DTYPE)
        if self.metric != "auto":
            return MetricChoice(self.metric, none)
        if self._warm():
            return MetricChoice(self.metric_kind_, getattr(self, "metric_choice_", none))
        distortion = as_distortion(self.distortion)
        # Weights of features served texts and embeddings as well as a fixed cosine, or better.
        if distortion.name != "euclidean" or not _says_anything(known):
            return MetricChoice(usual_metric(distortion), none)
        return chosen_metric(self, X, known, weight, rng)

    def _store_choice(self, choice: MetricChoice) -> None:
        self.metric_kind_ = choice.metric
        if self.metric == "auto":
            self.metric_choice_ = choice.table
        elif hasattr(self, "metric_choice_"):
            del self.metric_choice_

    def _starts(self, setup: Setup) -> int:
        """Return the number of starts."""
        if self._warm() or (not isinstance(self.init, str) and not hasattr(self.init, "fill")):
            return 1  # the start is given: further runs would repeat the first
        if self.n_init != "auto":
            return int(self.n_init)
        rows = setup.problem.engine.rows
        quick = len(rows) * rows.shape[1] * self.n_clusters <= QUICK
        told = _says_anything(setup.constraints) or setup.absolute is not None
        return self._several if quick and told else 1


def _says_anything(known: Constraints) -> bool:
    return known.n_must_link + known.n_cannot_link > 0
