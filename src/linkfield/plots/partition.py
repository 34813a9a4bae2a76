"""Clusters in two dimensions, with the constraints between the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._random import as_generator
from ..constraints import Constraints
from ._coordinates import MOST_DENSE, learned_coordinates, plane_of, sampled_rows
from ._display import Display, Layout
from ._fitted import as_codes, read_fitted
from ._links import Links, draw_links, links_of
from ._matching import matched_labels
from ._theme import Theme, dress, shortened

__all__ = ["PartitionDisplay"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Clusters that the legend names; the others are only drawn.
MOST_NAMED = 20


class PartitionDisplay(Display):
    """Rows in the plane, coloured by cluster, with constraints between them.

    Kept must-links are solid, cannot-links dashed; broken ones are red with a cross. With labels
    from before there are two panels of the same rows. Make one with :meth:`from_estimator`.

    Parameters
    ----------
    plane : float array (m, 2)
        The rows that are drawn.
    labels : int array (m,)
        Their clusters.
    before : int array (m,), optional
        Their clusters in another clustering, shown in a first panel.
    truth : int array (m,), optional
        Their true classes: the shape of the points.
    links : Links, optional
        Pairs of the rows that are drawn.
    class_names : list, optional
        What the classes are called.
    words : str
        What the plane is.
    note : str
        What was left out.
    titles : pair of str
        Of the two panels.
    """

    def __init__(
        self,
        plane: FloatArray,
        labels: IntArray,
        *,
        before: IntArray | None = None,
        truth: IntArray | None = None,
        links: Links | None = None,
        class_names: list[Any] | None = None,
        words: str = "",
        note: str = "",
        titles: tuple[str, str] = ("before", "after"),
    ) -> None:
        self.plane, self.labels, self.before = plane, labels, before
        self.truth, self.links = truth, links
        self.class_names, self.words, self.note, self.titles = class_names, words, note, titles

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        constraints: Constraints | None = None,
        sample_id: Any = None,
        before: Any = None,
        truth: Any = None,
        projection: str = "metric",
        max_rows: int = 2000,
        max_links: int = 400,
        random_state: Any = 0,
        titles: tuple[str, str] = ("before", "after"),
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw the clusters of a fitted model.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        X : array, sparse matrix or data frame
            The rows of the fit.
        constraints : Constraints, optional
            By default those of the fit, if the model still has them.
        sample_id : sequence, optional
            The id of every row, if the constraints name rows by id.
        before : labels of shape (n,) or fitted clustering, optional
            Another clustering of the same rows; its clusters are renamed so that they agree with
            the model's as far as possible.
        truth : array of shape (n,), optional
            True classes, drawn as the shape of the points.
        projection : {"metric", "pca"}, default="metric"
            "metric": the two main directions under the learned metric, in which distances are
            what the model makes of them. "pca": those of the rows as they are.
        max_rows : int, default=2000
            Larger data is shown by a random sample, which holds the rows of all constraints that
            are drawn.
        max_links : int, default=400
            Constraints that are drawn at most, the violated ones first.
        random_state : int, Generator or None, default=0
        titles : pair of str
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        if projection not in ("metric", "pca"):
            raise ValueError(f"projection must be 'metric' or 'pca', got {projection!r}")
        found = read_fitted(model, X, constraints=constraints, sample_id=sample_id)
        n, rng = len(found.labels), as_generator(random_state)
        links = links_of(found.constraints, found.labels, max_links, rng)
        if sparse.issparse(found.X):
            max_rows = max(1, min(max_rows, MOST_DENSE // max(1, found.X.shape[1])))
        rows = sampled_rows(n, max_rows, rng, links.rows())
        part, labels = found.X[rows], found.labels[rows]
        if projection == "metric":
            Z, words = learned_coordinates(found.model, part, labels)
        else:
            Z, words = part, "features as they are"
        if before is not None:
            before = matched_labels(as_codes(before, n, "before")[0], found.labels)[rows]
        names = None
        if truth is not None:
            truth, names = as_codes(truth, n, "truth")
            truth = truth[rows]
        shown = Links(np.searchsorted(rows, links.ends), links.must, links.kept, links.weight,
                      links.n_given)  # fmt: skip
        display = cls(
            plane_of(Z, rng), labels, before=before, truth=truth, links=shown, class_names=names,
            words=words, note=_left_out(len(rows), n, len(links.ends), links.n_given),
            titles=titles,
        )  # fmt: skip
        display.rows = rows
        return display.plot(ax, theme=theme) if draw else display

    #: Positions of the rows that are drawn, where the display was made from an estimator.
    rows: IntArray | None = None

    def _layout(self) -> Layout:
        return Layout(1, 1, 6.4, 5.2) if self.before is None else Layout(1, 2, 11.0, 5.2, True)

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        drawn = [self.labels] if self.before is None else [self.before, self.labels]
        for axis, labels in zip(axes, drawn, strict=True):
            self._points(axis, labels, look, style)
            axis.set_xlabel(f"first main direction ({self.words})" if self.words
                            else "first main direction")  # fmt: skip
            dress(axis, look, grid="")
            axis.set_xticks([])
            axis.set_yticks([])
            axis.spines[["left", "bottom"]].set_color(look.grid)
        if self.before is not None:
            for axis, title in zip(axes, self.titles, strict=True):
                axis.set_title(title, color=look.ink)
        axes[0].set_ylabel("second main direction", color=look.ink)
        if self.note:
            axes[-1].set_xlabel(f"{axes[-1].get_xlabel()}\n{self.note}", color=look.ink)
        if self.links is not None:
            draw_links(axes[-1], self.plane, self.links, look)
        self._legend(look)

    def _points(self, axis: Any, labels: IntArray, look: Theme, style: dict[str, Any]) -> None:
        """Draw the rows: colours are clusters, shapes true classes (or clusters again)."""
        shape = labels if self.truth is None else self.truth
        size = float(np.clip(9000 / max(1, len(labels)), 7, 26))
        point = {"s": size, "edgecolors": look.paper, "linewidths": 0.4, "zorder": 3, **style}
        clusters = np.unique(labels)
        for h in clusters:
            for c in np.unique(shape[labels == h]):
                mine = (labels == h) & (shape == c)
                colour, marker = look.colour(h), look.marker(c)
                axis.scatter(*self.plane[mine].T, color=colour, marker=marker, **point)
        for h in clusters[:MOST_NAMED]:
            marker = look.marker(h) if self.truth is None else "o"
            name = f"cluster {h}"
            axis.scatter([], [], color=look.colour(h), marker=marker, s=26, label=name)
        classes = np.unique(shape) if self.truth is not None else np.empty(0, np.int64)
        for c in classes[:MOST_NAMED]:
            name = c if self.class_names is None else self.class_names[c]
            axis.scatter([], [], color=look.neutral, marker=look.marker(c), s=26,
                         label=shortened(f"class {name}"))  # fmt: skip


def _left_out(rows: int, n: int, links: int, n_links: int) -> str:
    """Say what a sample does not show."""
    parts = []
    if rows < n:
        parts.append(f"{rows:,} of {n:,} rows")
    if links < n_links:
        parts.append(f"{links:,} of {n_links:,} constraints")
    return f"shown: {', '.join(parts)}" if parts else ""
