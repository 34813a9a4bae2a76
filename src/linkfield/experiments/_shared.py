"""Methods and ways to make features that several experiments share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators import HMRFKMeans
from .protocol import Fit, Task, fitted

__all__ = ["Components", "PlainKMeans", "default_fit", "scaled"]


@dataclass(frozen=True)
class PlainKMeans:
    """scikit-learn's k-means with its defaults, or with so many starts."""

    n_init: int | str = "auto"

    def __call__(self, task: Task) -> Fit:
        """Cluster the rows; what is known about them is not used."""
        from sklearn.cluster import KMeans

        model = KMeans(task.n_clusters, n_init=self.n_init, random_state=task.seed).fit(task.X)
        labels = model.labels_.astype(np.int64)
        return Fit(labels, objective=float(model.inertia_), iterations=int(model.n_iter_))


def default_fit(task: Task) -> Fit:
    """Fit linkfield's default: nothing is set but the measure, for texts and embeddings."""
    measure: dict[str, Any] = (
        {} if task.distortion == "euclidean" else {"distortion": task.distortion}
    )
    return fitted(HMRFKMeans(task.n_clusters, random_state=task.seed, **measure), task)


def scaled(X: Any) -> Any:
    """Return features of mean 0 and variance 1."""
    from sklearn.preprocessing import StandardScaler

    return StandardScaler().fit_transform(X)


@dataclass(frozen=True)
class Components:
    """Principal components of standardised features; they see no label."""

    number: int
    standardise: bool = True

    def __call__(self, X: Any) -> Any:
        """Return the components of the rows."""
        from sklearn.decomposition import PCA

        return PCA(self.number, svd_solver="full").fit_transform(
            scaled(X) if self.standardise else X
        )
