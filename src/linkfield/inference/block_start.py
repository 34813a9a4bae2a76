"""A first labelling of fields made of blocks alone: each block goes where it costs least."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._blocksums import BlockGroups
from ..field import PottsField

__all__ = ["block_labels"]

IntArray = NDArray[np.int64]


def block_labels(field: PottsField, rng: np.random.Generator) -> IntArray | None:
    """Label whole blocks one after the other, those that have a label counting for the next.

    For labelled rows this is what inserting node by node comes to, at the price of the blocks
    instead of the rows. None where anything else than blocks ties the nodes.
    """
    links = field.entailed
    if links is None or len(links.z) > 1 or len(field.edges) or len(links.node_blocks):
        return None
    if (links.block < 0).any():
        return None
    one = np.zeros(field.n_nodes, dtype=np.int64)
    groups = BlockGroups.of_labels(links.block, one, 1)
    n, B, s = groups.sum(links.size), groups.sum(links.b[0]), groups.rows(links.z[0])
    unary = np.zeros((links.n_blocks, field.n_labels))
    np.add.at(unary, links.block, field.unary)
    apart: list[list[int]] = [[] for _ in range(links.n_blocks)]
    for p, q in links.block_pairs.tolist():
        apart[p].append(q)
        apart[q].append(p)
    rank = np.empty(field.n_nodes, dtype=np.int64)
    rank[field.structure.visit] = np.arange(field.n_nodes)
    first = np.full(links.n_blocks, field.n_nodes)
    np.minimum.at(first, links.block, rank)
    label = np.full(links.n_blocks, -1, dtype=np.int64)
    for p in np.argsort(first)[rng.permutation(links.n_blocks)]:
        cost = unary[p].copy()
        q = np.array([k for k in apart[p] if label[k] >= 0], dtype=np.int64)
        phi = n[q] * B[p] + n[p] * B[q] - s[q] @ s[p]
        np.add.at(cost, label[q], links.weight * (links.top[0] * n[p] * n[q] - phi))
        label[p] = int(cost.argmin())
    return label[links.block]
