"""Graphs as arrays of pairs of nodes: what chains and repairs share."""

from __future__ import annotations

import operator

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import csgraph

from ._normal import FloatArray, IntArray

__all__ = ["as_node_pairs", "components", "grouped", "orient", "sums", "symmetric", "walk"]

BoolArray = npt.NDArray[np.bool_]


def as_node_pairs(values: npt.ArrayLike, n_nodes: int, name: str) -> IntArray:
    """Validate an (m, 2) array of node numbers."""
    table = np.asarray(values)
    if table.size == 0:
        table = np.empty((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):
        raise ValueError(f"{name} must be integers of shape (m, 2), got {table.shape}")
    if len(table) and (table.min() < 0 or table.max() >= operator.index(n_nodes)):
        raise ValueError(f"{name} must name nodes from 0 to {n_nodes - 1}")
    return table.astype(np.int64)


def symmetric(n_nodes: int, ends: IntArray, data: FloatArray | None = None) -> sparse.csr_array:
    """Return the graph with both directions of every pair."""
    both = np.concatenate((ends, ends[:, ::-1]))
    values = np.ones(len(both)) if data is None else np.concatenate((data, data))
    return sparse.csr_array((values, (both[:, 0], both[:, 1])), shape=(n_nodes, n_nodes))


def components(n_nodes: int, ends: IntArray) -> IntArray:
    """Return the component number of every node."""
    graph = sparse.csr_array(
        (np.ones(len(ends), dtype=bool), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes)
    )
    label: IntArray = csgraph.connected_components(graph, directed=False)[1].astype(np.int64)
    return label


def sums(label: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Return the sum of the values of each label; bincount forgets the type when it is empty."""
    return np.bincount(label, weights=values, minlength=n_groups).astype(np.float64)


def grouped(label: IntArray, n_groups: int | None = None) -> tuple[IntArray, IntArray]:
    """Return indices sorted by label and where each label starts."""
    counts = np.bincount(label, minlength=n_groups or 0)
    return np.argsort(label, kind="stable"), np.concatenate(([0], np.cumsum(counts)))


def orient(pairs: IntArray, n_nodes: int) -> tuple[IntArray, IntArray, BoolArray]:
    """Return (source, target, swapped): the source is the end that more pairs share."""
    uses = np.bincount(pairs.ravel(), minlength=n_nodes)
    flip = uses[pairs[:, 0]] < uses[pairs[:, 1]]
    return np.where(flip, pairs[:, 1], pairs[:, 0]), np.where(flip, pairs[:, 0], pairs[:, 1]), flip


def walk(before: npt.NDArray[np.int32], source: int, target: int) -> list[int]:
    """Follow the predecessors from ``target`` back to ``source``."""
    path = [target]
    while path[-1] != source:
        path.append(int(before[path[-1]]))
    return path
