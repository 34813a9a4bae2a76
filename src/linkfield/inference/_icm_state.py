"""A labelling in progress: a field laid out for the compiled loops of ICM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._rows import CSRRows
from ..field import PottsField
from . import _icm_kernels as kernels

__all__ = ["State", "components"]

IntArray = NDArray[np.int64]


@dataclass
class State:
    """A labelling in progress, with the tables that go with it."""

    graph: kernels.Graph
    links: kernels.Links
    tables: kernels.Tables
    labels: IntArray

    @classmethod
    def of(cls, field: PottsField, start: IntArray | None) -> State:
        """Prepare a field; nodes have no label yet unless ``start`` gives them one."""
        links = _links(field)
        tables = _empty_tables(links, field.n_labels)
        labels = np.full(field.n_nodes, -1, dtype=np.int64)
        state = cls(_graph(field), links, tables, labels)
        if start is not None:
            given = _plain(np.asarray(start, dtype=np.int64))[0]
            kernels.place_all(state.links, state.tables, state.labels, given)
        return state

    def insert(self, order: IntArray) -> None:
        """Label the nodes one after the other, those without a label ignored."""
        kernels.insert(self.graph, self.links, self.tables, self.labels, order)

    def sweep(self, order: IntArray) -> int:
        """Visit every node once; return how many moved."""
        return int(kernels.sweep(self.graph, self.links, self.tables, self.labels, order))

    def sweep_components(self, groups: kernels.Groups) -> int:
        """Visit every movable component once; return how many moved."""
        args = (self.graph, self.links, self.tables, self.labels, groups)
        return int(kernels.sweep_components(*args))


def _graph(field: PottsField) -> kernels.Graph:
    m, n = len(field.edges), field.n_nodes
    ends = np.concatenate([field.edges[:, 0], field.edges[:, 1]])
    other = np.concatenate([field.edges[:, 1], field.edges[:, 0]])
    pointer, order = _by_node(ends, n)
    costs = [c[:, None] if c.ndim == 1 else c for c in (field.agree_cost, field.differ_cost)]
    width = max(c.shape[1] for c in costs)
    agree, differ = (np.ascontiguousarray(np.broadcast_to(c, (m, width))) for c in costs)
    edge = np.tile(np.arange(m), 2)[order]
    return kernels.Graph(*_plain(field.unary, pointer, other[order], edge, agree, differ))


def _plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]


def _by_node(ends: IntArray, n: int) -> tuple[IntArray, IntArray]:
    pointer = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(ends, minlength=n), out=pointer[1:])
    return pointer, np.argsort(ends, kind="stable")


def _links(field: PottsField) -> kernels.Links:
    links, n = field.entailed, field.n_nodes
    none = np.empty(0, np.int64)
    if links is None:
        zero, flat = np.zeros(n), np.zeros((1, n))
        empty = np.zeros(n + 1, np.int64)
        block = np.full(n, -1, np.int64)
        return kernels.Links(
            block, 0.0, zero, flat, flat, np.zeros(1), np.zeros((1, n, 0)),
            none, none, np.empty(0), np.zeros(1, np.int64), none, empty, none,
        )  # fmt: skip
    both = np.concatenate([links.block_pairs, links.block_pairs[:, ::-1]])
    block_pointer, order = _by_node(both[:, 0], links.n_blocks)
    node_pointer, node_order = _by_node(links.node_blocks[:, 0], n)
    first = links.z[0]
    z = np.zeros((len(links.z), n, 0))
    pointer, index, value = none, none, np.empty(0)
    if isinstance(first, CSRRows) and len(links.z) == 1:
        pointer, index = first.X.indptr.astype(np.int64), first.X.indices.astype(np.int64)
        value = first.X.data.astype(np.float64)
        squares = first.X.multiply(first.X).sum(axis=1)[None, :]
    else:
        z = np.ascontiguousarray([part.dense() for part in links.z], dtype=np.float64)
        squares = np.einsum("kni,kni->kn", z, z)
    own = 2.0 * links.size * links.b - np.asarray(squares)
    block, *rest = _plain(
        links.block, links.size, links.b, own, links.top, z, pointer, index, value,
        block_pointer, both[order][:, 1], node_pointer, links.node_blocks[node_order][:, 1],
    )  # fmt: skip
    return kernels.Links(block, float(links.weight), *rest)


def _empty_tables(links: kernels.Links, n_labels: int) -> kernels.Tables:
    G = len(links.block_pointer) - 1
    width = links.z.shape[2]
    if len(links.z_pointer):
        width = int(links.z_index.max(initial=-1)) + 1
    kinds = len(links.b)
    sums = [
        (np.zeros((G, k)), np.zeros((G, k)), np.zeros((G, k, width)))
        for k in (n_labels, n_labels, kinds)
    ]
    return kernels.Tables(*sums[0], *sums[1], *sums[2])


def components(field: PottsField) -> kernels.Groups:
    """Return the must-link components of two nodes or more that can move as a whole.

    A component that holds two blocks, or a node that is apart from its own block, contradicts
    itself; its nodes move one by one only.
    """
    component = field.together
    n = int(component.max(initial=-1)) + 1
    block = np.full(n, -1, dtype=np.int64)
    movable = np.bincount(component, minlength=n) >= 2
    links = field.entailed
    if links is not None:
        member = np.flatnonzero(links.block >= 0)
        pairs = np.unique(np.column_stack([component[member], links.block[member]]), axis=0)
        block[pairs[:, 0]] = pairs[:, 1]
        movable &= np.bincount(pairs[:, 0], minlength=n) <= 1
        home = np.full(links.n_blocks, -1, dtype=np.int64)
        home[pairs[:, 1]] = pairs[:, 0]
        r, g = links.node_blocks.T
        movable[component[r][component[r] == home[g]]] = False
    keep = np.flatnonzero(movable[component])
    order = keep[np.argsort(component[keep], kind="stable")]
    numbers, counts = np.unique(component[order], return_counts=True)
    pointer = np.r_[0, np.cumsum(counts)].astype(np.int64)
    return kernels.Groups(*_plain(pointer, order, component, block[numbers]))
