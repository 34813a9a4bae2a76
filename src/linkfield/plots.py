"""What people would rather look at than read. Needs matplotlib: pip install 'linkfield[plot]'."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from .constraints import Constraints
from .io.files import replacing

__all__ = ["before_after", "main_plane", "matched_labels"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Okabe and Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")


def main_plane(X: Any, weights: FloatArray | None = None) -> FloatArray:
    """Project rows on the two directions of largest spread under feature weights (PCA)."""
    Z = np.asarray(X, np.float64)
    Z = Z - Z.mean(axis=0)
    if weights is not None:
        Z = Z * np.sqrt(weights)
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    plane = U[:, :2] * s[:2]
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    return plane


def matched_labels(labels: Any, reference: Any) -> IntArray:
    """Rename clusters so that they agree with a reference as far as possible."""
    labels, reference = np.asarray(labels, np.int64), np.asarray(reference, np.int64)
    n = int(max(labels.max(initial=0), reference.max(initial=0))) + 1
    table = np.bincount(labels * n + reference, minlength=n * n).reshape(n, n)
    rows, columns = linear_sum_assignment(-table)
    name = np.empty(n, dtype=np.int64)
    name[rows] = columns
    return name[labels]


def before_after(
    X: Any,
    before: Any,
    after: Any,
    constraints: Constraints,
    path: str | os.PathLike[str],
    *,
    weights: FloatArray | None = None,
    titles: tuple[str, str] = ("before", "after"),
    truth: Any = None,
) -> Path:
    """Draw two clusterings of the same rows side by side, with the constraints on the second.

    Parameters
    ----------
    X : array (n, d)
    before, after : int arrays (n,)
    constraints : Constraints
        Must-links are drawn solid, cannot-links dotted, violated ones red.
    path : path-like
        Where the picture goes; a file there is replaced only by a whole one.
    weights : array (d,), optional
        Feature weights of the plane that both pictures are drawn in.
    titles : pair of str
    truth : int array (n,), optional
        True classes, drawn as the shape of the points; colours are clusters.
    """
    from matplotlib.figure import Figure

    plane = main_plane(X, weights)
    after = matched_labels(after, before)
    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, labels, title in zip(axes, (before, after), titles, strict=True):
        _scatter(axis, plane, np.asarray(labels), truth)
        axis.set_title(title)
        axis.set_xlabel(
            "first main direction" + (", learned metric" if weights is not None else "")
        )
    axes[0].set_ylabel("second main direction")
    _links(axes[1], plane, constraints, after)
    handles, names = axes[1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=8, frameon=False)
    target = Path(path)
    with replacing(target) as file:
        figure.savefig(file, dpi=130, format=target.suffix.lstrip(".") or "png")
    return target


def _scatter(axis: Any, plane: FloatArray, labels: IntArray, truth: Any) -> None:
    """Draw the rows: colours are clusters, shapes true classes (or clusters again)."""
    shape = labels if truth is None else np.asarray(truth)
    style = {"s": 22, "edgecolors": "white", "linewidths": 0.4, "zorder": 3}
    for h in np.unique(labels):
        for c in np.unique(shape[labels == h]):
            mine = (labels == h) & (shape == c)
            look = {"color": COLOURS[h % len(COLOURS)], "marker": MARKERS[c % len(MARKERS)]}
            axis.scatter(*plane[mine].T, **style, **look)
        marker = MARKERS[h % len(MARKERS)] if truth is None else "o"
        axis.scatter([], [], color=COLOURS[h % len(COLOURS)], marker=marker, label=f"cluster {h}")
    for c in np.unique(shape) if truth is not None else ():
        marker = MARKERS[c % len(MARKERS)]
        axis.scatter([], [], color="#777777", marker=marker, label=f"class {c}")
    axis.set_xticks([])
    axis.set_yticks([])


def _links(axis: Any, plane: FloatArray, constraints: Constraints, labels: IntArray) -> None:
    from matplotlib.collections import LineCollection

    table = constraints.pairs()
    together = labels[table["a"]] == labels[table["b"]]
    must = table["kind"] == "must"
    segments = np.stack([plane[table["a"]], plane[table["b"]]], axis=1)
    kinds = (
        (must & together, "#444444", "solid", "must-link"),
        (~must & ~together, "#888888", "dotted", "cannot-link"),
        (must & ~together, "#D00000", "solid", "violated must-link"),
        (~must & together, "#D00000", "dotted", "violated cannot-link"),
    )
    for chosen, colour, style, name in kinds:
        if chosen.any():
            lines = LineCollection(
                list(segments[chosen]),
                colors=colour,
                linestyles=style,
                linewidths=0.7,
                alpha=0.6 if style == "solid" else 0.3,
                label=name,
                zorder=2,
            )
            axis.add_collection(lines)
