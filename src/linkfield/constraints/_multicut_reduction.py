"""Contraction of a multicut problem to the pairs that a cheapest cut may need.

Every step takes pairs, their weights and which nodes are terminals, and returns the pairs and
weights that are left and, for each input pair, the number of the one that it became (-1: none).
"""

from __future__ import annotations

import numpy as np

from ._graphs import BoolArray, components, sums
from ._normal import FloatArray, IntArray

__all__ = ["merge_parallel", "reduce"]


def reduce(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Contract what no cheapest cut needs; return ends, weights and the owner of each input pair.

    Parallel pairs have to be removed together (weights add), of the pairs along a chain whose
    inner nodes are no terminals only the cheapest is ever removed, and dead ends separate
    nothing. Removing an owner means removing all input pairs that it owns; -1 is no owner.
    """
    owner = np.arange(len(ends))
    size = -1
    while size != len(ends):
        size = len(ends)
        for step in (merge_parallel, _rake, _compress):
            ends, weight, moved = step(ends, weight, terminal)
            owner = np.append(moved, -1)[owner]
    return ends, weight, owner


def merge_parallel(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Merge pairs with the same ends, drop loops; the result is sorted."""
    moved = np.full(len(ends), -1)
    proper = np.flatnonzero(ends[:, 0] != ends[:, 1])
    low, high = ends[proper].min(axis=1), ends[proper].max(axis=1)
    key, inverse = np.unique(low * len(terminal) + high, return_inverse=True)
    moved[proper] = inverse
    merged = sums(inverse, weight[proper], len(key))
    return np.column_stack(np.divmod(key, max(len(terminal), 1))), merged, moved


def _rake(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Drop pairs that lead to a dead end."""
    degree = np.bincount(ends.ravel(), minlength=len(terminal))
    keep = ~((degree == 1) & ~terminal)[ends].any(axis=1)
    return ends[keep], weight[keep], np.where(keep, np.cumsum(keep) - 1, -1)


def _compress(
    ends: IntArray, weight: FloatArray, terminal: BoolArray
) -> tuple[IntArray, FloatArray, IntArray]:
    """Replace each chain through nodes of degree two by its cheapest pair."""
    inner = ((np.bincount(ends.ravel(), minlength=len(terminal)) == 2) & ~terminal)[ends]
    along, plain = np.flatnonzero(inner.any(axis=1)), np.flatnonzero(~inner.any(axis=1))
    label = components(len(terminal), ends[inner.all(axis=1)])
    chain = label[np.where(inner[along, 0], ends[along, 0], ends[along, 1])]
    order = np.lexsort((weight[along], chain))
    _, first = np.unique(chain[order], return_index=True)
    cheapest = along[order[first]]
    # Exactly two pairs of a chain have an outer end: in a component with two terminals a chain
    # cannot close on itself without one.
    border = ~inner[along].all(axis=1)
    outer = np.where(inner[along, 0], ends[along, 1], ends[along, 0])[border]
    outer = outer[np.argsort(chain[border], kind="stable")].reshape(-1, 2)
    moved = np.full(len(ends), -1)
    moved[plain] = np.arange(len(plain))
    moved[cheapest] = len(plain) + np.arange(len(cheapest))
    kept = np.concatenate((plain, cheapest))
    return np.concatenate((ends[plain], outer)), weight[kept], moved
