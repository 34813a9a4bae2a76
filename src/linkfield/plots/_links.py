"""Constraints as lines between rows: which are kept, which are broken, which are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, PartialLabels, violated_pairs

__all__ = ["LINKS", "Links", "draw_links", "links_of"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Kinds of lines: name, must-link or not, kept or not, dashes, width.
LINKS = (
    ("must-link", True, True, "solid", 0.9),
    ("cannot-link", False, True, (0, (4, 3)), 0.8),
    ("violated must-link", True, False, "solid", 1.4),
    ("violated cannot-link", False, False, (0, (4, 3)), 1.4),
)


#: Pairs of labels that are drawn one by one; classes that are parted from each other.
MOST_ENTAILED, MOST_CLASSES = 60, 20


@dataclass(frozen=True)
class Links:
    """Pairs of rows.

    Parameters
    ----------
    ends : int array (m, 2)
    must, kept : bool arrays (m,)
    weight : float array (m,)
    n_given : int
        How many constraints there are in all.
    """

    ends: IntArray
    must: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    weight: FloatArray
    n_given: int

    def taken(self, which: Any) -> Links:
        """Return some of the pairs."""
        parts = (self.ends[which], self.must[which], self.kept[which], self.weight[which])
        return Links(*parts, self.n_given)

    def rows(self) -> IntArray:
        """Return the rows at the ends, ascending."""
        return np.unique(self.ends)


def links_of(
    constraints: Constraints, labels: IntArray, most: int, rng: np.random.Generator
) -> Links:
    """Return the constraints as pairs, at most ``most``: the broken ones first.

    Labels that entail more than ``MOST_ENTAILED`` pairs are shown by representatives: every
    labelled row with one row of its class, and these rows of every two classes with each other.
    """
    known = constraints.labels
    if known.n_must_link + known.n_cannot_link <= MOST_ENTAILED:
        table = constraints.pairs()
    else:
        told = constraints.pairs(labels=False)
        broken = violated_pairs(constraints, labels, 0)
        # The last of them stand for the labels; their must-links are in the stars as well.
        apart = broken[(broken["kind"] == "cannot")]
        table = np.unique(np.concatenate([told, apart, _stars(known, labels, told.dtype)]))
    must = table["kind"] == "must"
    ends = np.column_stack([table["a"], table["b"]]).reshape(-1, 2)
    kept = (labels[ends[:, 0]] == labels[ends[:, 1]]) == must
    n_given = constraints.n_must_link + constraints.n_cannot_link
    links = Links(ends, must, kept, table["weight"].astype(np.float64), n_given)
    if len(table) <= most:
        return links
    order = rng.permutation(len(table))
    return links.taken(np.sort(order[np.argsort(kept[order], kind="stable")][:most]))


def _stars(known: PartialLabels, labels: IntArray, dtype: Any) -> NDArray[np.void]:
    """Join labelled rows to the first one of their class in its main cluster; part these."""
    n_clusters = int(labels.max(initial=0)) + 1
    cluster = labels[known.rows]
    n_classes = len(known.classes)
    counts = np.bincount(known.codes * n_clusters + cluster, minlength=n_classes * n_clusters)
    inside = cluster == counts.reshape(n_classes, n_clusters).argmax(axis=1)[known.codes]
    leader = np.empty(n_classes, dtype=np.int64)
    leader[known.codes[inside][::-1]] = known.rows[inside][::-1]
    first, second = np.triu_indices(n_classes if n_classes <= MOST_CLASSES else 0, k=1)
    a = np.r_[known.rows, leader[first]]
    b = np.r_[leader[known.codes], leader[second]]
    table = np.empty(len(a), dtype=dtype)
    table["a"], table["b"] = np.minimum(a, b), np.maximum(a, b)
    table["kind"] = np.repeat(["must", "cannot"], [len(known.rows), len(first)])
    table["weight"] = known.weight
    return table[a != b]


def draw_links(axis: Any, plane: FloatArray, links: Links, look: Any, **style: Any) -> None:
    """Draw pairs between points, ``links.ends`` being their numbers; broken ones in red, crossed.

    One collection of lines a kind, in the order of ``LINKS``; kinds without a pair are left out.
    """
    from matplotlib.collections import LineCollection

    segments = plane[links.ends].reshape(-1, 2, 2)
    for name, must, kept, dashes, width in LINKS:
        chosen = (links.must == must) & (links.kept == kept)
        if not chosen.any():
            continue
        colour = look.bad if not kept else look.ink if must else look.neutral
        options = {
            "colors": colour,
            "linestyles": [dashes],
            "linewidths": width,
            "alpha": 0.95 if not kept else 0.55,
            "label": name,
            "zorder": 2 if kept else 4,
        }
        axis.add_collection(LineCollection(list(segments[chosen]), **{**options, **style}))
        if not kept:
            middle = segments[chosen].mean(axis=1)
            axis.scatter(*middle.T, marker="x", s=16, color=colour, linewidths=1.1, zorder=5)
