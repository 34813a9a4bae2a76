"""Cluster sizes, and how well rows sit in their clusters under the learned metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._random import as_generator
from ._coordinates import MOST_DENSE, learned_coordinates, sampled_rows
from ._display import Display, Layout
from ._fitted import Fitted, read_fitted
from ._theme import Theme, dress

__all__ = ["SilhouetteDisplay", "Silhouettes", "silhouettes_of"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Clusters that are shown at most, the largest ones.
MOST_CLUSTERS = 40


@dataclass(frozen=True)
class Silhouettes:
    """Silhouettes of a sample of rows.

    Parameters
    ----------
    rows : int array (m,)
        The positions of the rows in the sample.
    values : float array (m,)
        nan where they are not defined: one cluster only.
    labels : int array (m,)
    sizes : int array (K,)
        Of all rows.
    words : str
        What the distances are.
    """

    rows: IntArray
    values: FloatArray
    labels: IntArray
    sizes: IntArray
    words: str

    def means(self) -> FloatArray:
        """Return the mean of every cluster, nan where the sample has none of it."""
        K = len(self.sizes)
        count = np.bincount(self.labels, minlength=K)
        total = np.bincount(self.labels, self.values, minlength=K)
        return np.divide(total, count, out=np.full(K, np.nan), where=count > 0)


def silhouettes_of(found: Fitted, *, max_rows: int = 2000, random_state: Any = 0) -> Silhouettes:
    """Measure silhouettes under the learned metric on a sample of rows.

    Distances are Euclidean between rows in coordinates of the learned metric: exact for squared
    Euclidean distance and directional measures, near for other divergences (their second
    derivative is constant there), under the mean metric where every cluster has its own.
    """
    from sklearn.metrics import silhouette_samples

    if max_rows < 2:
        raise ValueError(f"max_rows must be at least 2, got {max_rows}")
    rng = as_generator(random_state)
    if sparse.issparse(found.X):
        max_rows = max(2, min(max_rows, MOST_DENSE // max(1, found.X.shape[1])))
    rows = sampled_rows(len(found.labels), max_rows, rng, groups=found.labels)
    labels = found.labels[rows]
    Z, words = learned_coordinates(found.model, found.X[rows], labels)
    different = len(np.unique(labels))
    if different < 2:
        values = np.full(len(rows), np.nan)
    elif different == len(rows):
        values = np.zeros(len(rows))  # the convention for clusters of one row
    else:
        values = np.asarray(silhouette_samples(Z, labels), np.float64)
    sizes = np.bincount(found.labels, minlength=found.n_clusters).astype(np.int64)
    return Silhouettes(rows, values, labels, sizes, words)


class SilhouetteDisplay(Display):
    """Silhouettes by cluster, the largest values first, with the clusters' sizes.

    s = (b − a) / max(a, b): a is a row's mean distance to its own cluster, b that to the nearest
    other one (Rousseeuw 1987). 1 is well inside, 0 between two clusters, below 0 nearer to another.

    Parameters
    ----------
    silhouettes : Silhouettes
    """

    def __init__(self, silhouettes: Silhouettes) -> None:
        self.silhouettes = silhouettes
        order = np.argsort(-silhouettes.sizes, kind="stable")[:MOST_CLUSTERS]
        #: The clusters that are shown.
        self.clusters = np.sort(order[silhouettes.sizes[order] > 0])

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        max_rows: int = 2000,
        random_state: Any = 0,
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw the silhouettes of a fitted model's clusters.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        X : array, sparse matrix or data frame
            The rows of the fit.
        max_rows : int, default=2000
            Larger data is measured on a random sample, every cluster in proportion.
        random_state : int, Generator or None, default=0
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        found = read_fitted(model, X)
        measured = silhouettes_of(found, max_rows=max_rows, random_state=random_state)
        display = cls(measured)
        return display.plot(ax, theme=theme) if draw else display

    def _layout(self) -> Layout:
        return Layout(1, 1, 6.4, float(np.clip(1.4 + 0.5 * len(self.clusters), 2.6, 12.0)))

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        axis, found = axes[0], self.silhouettes
        means = found.means()
        ticks, names = [], []
        for place, h in enumerate(self.clusters):
            values = np.sort(found.values[found.labels == h])[::-1]
            y = place + np.linspace(-0.38, 0.38, max(2, len(values)))
            shown = np.resize(values, max(2, len(values))) if len(values) else np.zeros(2)
            if np.isfinite(shown).all():
                fill = {"facecolor": look.colour(h), "hatch": look.hatch(h), "linewidth": 0,
                        "edgecolor": look.paper}  # fmt: skip
                axis.fill_betweenx(y, 0.0, shown, **{**fill, **style})
            ticks.append(place)
            names.append(self._name(int(h), float(means[h])))
        self._lines(axis, look)
        dress(axis, look, grid="x")
        axis.set_yticks(ticks, names)
        axis.set_ylim(len(ticks) - 0.4, -0.6)
        lowest = float(np.nanmin(found.values, initial=0.0))
        axis.set_xlim(min(-0.05, lowest * 1.05), 1.0)
        axis.set_xlabel(self._about(), color=look.ink)

    def _lines(self, axis: Any, look: Theme) -> None:
        """Draw 0 and the mean over all rows that were measured."""
        axis.axvline(0.0, color=look.ink, linewidth=0.8)
        values = self.silhouettes.values
        if np.isfinite(values).any():
            mean = float(np.nanmean(values))
            axis.axvline(mean, color=look.ink, linewidth=1.0, linestyle=(0, (4, 3)))
            axis.set_title(f"mean silhouette {mean:.2f} (dashed)", color=look.ink)
        else:
            axis.set_title("one cluster: no silhouettes", color=look.ink)

    def _name(self, h: int, mean: float) -> str:
        size = int(self.silhouettes.sizes[h])
        told = f", mean {mean:.2f}" if np.isfinite(mean) else ""
        return f"cluster {h}\n{size:,} row{'s' * (size != 1)}{told}"

    def _about(self) -> str:
        found = self.silhouettes
        n, parts = int(found.sizes.sum()), [f"silhouette ({found.words})"]
        if len(found.rows) < n:
            parts.append(f"measured on {len(found.rows):,} of {n:,} rows")
        there = int((found.sizes > 0).sum())
        if len(self.clusters) < there:
            parts.append(f"the {len(self.clusters)} largest of {there} clusters")
        return "\n".join(parts)
