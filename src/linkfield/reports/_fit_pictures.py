"""The pictures of a fit's report, in the colours of the page."""

from __future__ import annotations

from typing import Any

from ..plots import (
    Display,
    FeatureWeightsDisplay,
    FieldDisplay,
    ObjectiveDisplay,
    PartitionDisplay,
    SatisfactionDisplay,
    SilhouetteDisplay,
    as_svg,
)
from ..plots.reading import Fitted, feature_weights
from ._fit_clusters import Measured
from ._words import count
from .document import Block, Figure

__all__ = ["Pictures"]


class Pictures:
    """Draws one picture after another."""

    def __init__(
        self, found: Fitted, ids: Any, names: list[str], values: Measured, before: Any
    ) -> None:
        self.found, self.ids, self.names = found, ids, names
        self.values, self.before = values, before

    def partition(self) -> Figure:
        """Rows in the plane."""
        found = self.found
        display = PartitionDisplay.from_estimator(
            found.model, found.X, constraints=found.constraints, before=self.before, draw=False
        )
        told = "The rows in two dimensions, coloured by cluster"
        if found.constraints.n_must_link + found.constraints.n_cannot_link:
            told += ", with constraints; violated ones are red and crossed"
        beside = "; on the left the clusters from before" if self.before is not None else ""
        return _figure("partition", f"{told}{beside}.", display)

    def silhouettes(self) -> Figure:
        """How well rows sit in their clusters."""
        told = (
            "Silhouettes: near 1 a row is well inside its cluster, near 0 between two, below 0 it "
            "is nearer to another."
        )
        return _figure("silhouettes", told, SilhouetteDisplay(self.values.silhouettes))

    def weights(self) -> Figure:
        """What the metric makes of the features."""
        weights, what = feature_weights(self.found.model)
        display = FeatureWeightsDisplay(
            weights, self.names, variance=self.values.variance, what=what
        )
        return _figure("weights", "What each feature counts for in all distances.", display)

    def objective(self) -> Figure:
        """How the fit went."""
        display = ObjectiveDisplay.from_estimator(self.found.model, draw=False)
        return _figure("objective", f"{display.name} over the iterations.", display)

    def of_constraints(self) -> list[Block]:
        """What is kept, and the largest component of the field."""
        found = self.found
        n = found.constraints.n_must_link + found.constraints.n_cannot_link
        if not n:
            return []
        kept = SatisfactionDisplay.from_labels(found.labels, found.constraints, draw=False)
        field = FieldDisplay.from_estimator(
            found.model, found.X, constraints=found.constraints, draw=False
        )
        told = f"The largest component of {count(n, 'constraint')}: rows tied to each other."
        return [
            _figure("satisfaction", "Constraints kept and violated.", kept),
            _figure("field", told, field),
        ]


def _figure(name: str, caption: str, display: Display) -> Figure:
    return Figure(name, caption[:1].upper() + caption[1:], as_svg(display, name))
