"""The table of clusters: size, silhouette, typical rows, what sets each apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..plots.reading import (
    Fitted,
    Silhouettes,
    cluster_means,
    column_moments,
    own_distances,
    silhouettes_of,
)
from ._words import name_of, one_line
from .document import Block, Table

__all__ = ["Measured", "cluster_blocks", "measured"]

FloatArray = NDArray[np.float64]

#: Rows that stand for a cluster; features that set it apart; clusters that are listed.
EXAMPLES, APART, MOST_CLUSTERS = 5, 4, 100


class Measured:
    """What several parts of a report need, measured once."""

    def __init__(self, found: Fitted) -> None:
        self.mean, self.variance = column_moments(found.X)
        self.silhouettes: Silhouettes = silhouettes_of(found)


def measured(found: Fitted) -> Measured:
    """Measure a fit."""
    return Measured(found)


def cluster_blocks(
    found: Fitted, values: Measured, ids: Any, names: list[str], called: Any = None
) -> list[Block]:
    """List the clusters, the largest first; ``called`` are their own names, if they have any."""
    sizes = values.silhouettes.sizes
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0][:MOST_CLUSTERS]
    examples = _examples(found, order)
    apart = _apart(found, values, names)
    means = values.silhouettes.means()
    header = ["cluster", "rows", "share", "mean silhouette", "nearest to its centre",
              "set apart by"]  # fmt: skip
    rows = []
    for h in order.tolist():
        name = f"{h}"
        if called is not None and h < len(called) and called[h] not in (None, "", h):
            name = f"{h}: {one_line(called[h], 60)}"
        rows.append(
            [
                name,
                f"{sizes[h]:,}",
                f"{sizes[h] / len(found.labels):.1%}",
                f"{means[h]:.2f}" if np.isfinite(means[h]) else "–",
                ", ".join(name_of(i, ids) for i in examples[h]),
                apart[h],
            ]
        )
    there = int((sizes > 0).sum())
    more = f"The {len(order)} largest of {there} clusters. " if there > len(order) else ""
    sample = len(values.silhouettes.rows)
    told = f" on a sample of {sample:,} rows" if sample < len(found.labels) else ""
    footer = (
        f"{more}Silhouettes{told}, distances of rows under: {values.silhouettes.words}. Set apart: "
        "the features whose mean in the cluster is farthest from that of all rows, in standard "
        "deviations of all rows."
    )
    return [Table(header, rows, footer, words=frozenset({4, 5}))]


def _examples(found: Fitted, clusters: Any) -> dict[int, list[int]]:
    """Return the rows nearest to the centre of each cluster."""
    distance = own_distances(found)
    out = {}
    for h in clusters.tolist():
        mine = np.flatnonzero(found.labels == h)
        if len(mine) > EXAMPLES:
            mine = mine[np.argpartition(distance[mine], EXAMPLES)[:EXAMPLES]]
        out[h] = mine[np.argsort(distance[mine], kind="stable")].tolist()
    return out


def _apart(found: Fitted, values: Measured, names: list[str]) -> list[str]:
    """Name the features in which each cluster differs most from all rows."""
    spread = np.sqrt(values.variance)
    shift = cluster_means(found.X, found.labels, found.n_clusters) - values.mean
    z = np.divide(
        shift, spread, out=np.zeros_like(shift), where=spread > 1e-12 * np.abs(values.mean)
    )
    texts = []
    for line in np.nan_to_num(z):
        order = np.argsort(-np.abs(line), kind="stable")[:APART]
        told = [
            f"{one_line(names[j], 40)} {_signed(line[j])}" for j in order if abs(line[j]) >= 0.2
        ]
        texts.append(", ".join(told) or "nothing much")
    return texts


def _signed(x: float) -> str:
    return f"{'+' if x > 0 else '−'}{abs(x):.1f}"
