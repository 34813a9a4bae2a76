"""A labelling in progress: a field laid out for the compiled loops of ICM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .._rows import CSRRows
from .._structure import by_group
from ..field import PottsField
from . import _icm_kernels as kernels
from ._plain_state import PlainState, plain
from .relabel import renamed

__all__ = ["State", "state_of"]

IntArray = NDArray[np.int64]


class State(Protocol):
    """A labelling in progress."""

    @property
    def labels(self) -> IntArray:
        """The label of every node."""

    def insert(self, order: IntArray) -> None:
        """Label the nodes one after the other, those without a label ignored.

        ``order`` counts the nodes in the order of visits, as ``start`` of a sweep does.
        """

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        """Visit every waiting node, from ``start`` on if order matters; the woken ``more`` times.

        Returns how many moved, and whether nobody waits any more.
        """

    def sweep_components(self) -> int:
        """Visit every movable component once; return how many moved."""

    def rename(self) -> bool:
        """Rename labels where that gains; return whether anything did."""

    def swap(self) -> int:
        """Swap two labels along chains of linked nodes where that gains; return how many."""

    def energy(self) -> float:
        """Return the energy of the labels."""


def state_of(field: PottsField, start: IntArray | None) -> State:
    """Prepare a field; nodes have no label yet unless ``start`` gives them one."""
    if field.entailed is None and field.agree_cost.ndim == 1:
        state = PlainState(field)
        state.restart(start)
        return state
    return TableState.of(field, start)


@dataclass
class TableState:
    """A labelling of any field, with the tables of entailed links that go with it."""

    field: PottsField
    graph: kernels.Graph
    links: kernels.Links
    tables: kernels.Tables
    labels: IntArray
    waiting: kernels.Waiting

    @classmethod
    def of(cls, field: PottsField, start: IntArray | None) -> TableState:
        """Prepare a field; nodes have no label yet unless ``start`` gives them one."""
        links = _links(field)
        labels = np.full(field.n_nodes, -1, dtype=np.int64)
        nobody = np.zeros(len(links.block_pointer) - 1, dtype=bool)
        waiting = kernels.Waiting(np.ones(field.n_nodes, dtype=bool), nobody)
        tables = _empty_tables(links, field.n_labels)
        state = cls(field, _graph(field), links, tables, labels, waiting)
        if start is not None:
            given = plain(np.asarray(start, dtype=np.int64))[0]
            kernels.place_all(state.links, state.tables, state.labels, given)
            state.let_wait()
        return state

    def let_wait(self) -> None:
        """Let everyone wait for a look whom it could move."""
        self.waiting.node[:] = True
        cheapest = plain(self.field.cheapest)[0]
        kernels.at_home(self.graph, self.links, self.tables, cheapest, self.waiting.node)

    def insert(self, order: IntArray) -> None:
        order = self.field.structure.visit[order]
        kernels.insert(self.graph, self.links, self.tables, self.labels, order)

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        visit = self.field.structure.visit
        args = (self.graph, self.links, self.tables, self.labels, self.waiting, visit, start)
        moves = int(kernels.sweep(*args))
        return moves, moves == 0

    def sweep_components(self) -> int:
        pointer, node, component, _, block = self.field.structure.movable(self.field.must)
        groups = kernels.Groups(*plain(pointer, node, component, block))
        args = (self.graph, self.links, self.tables, self.labels, groups, self.waiting)
        return int(kernels.sweep_components(*args))

    def rename(self) -> bool:
        better = renamed(self.field, self.labels)
        if better is None:
            return False
        self.tables = _empty_tables(self.links, self.field.n_labels)
        kernels.place_all(self.links, self.tables, self.labels, better)
        self.let_wait()
        return True

    def swap(self) -> int:
        return 0  # links that cost another label more would change with it

    def energy(self) -> float:
        return self.field.energy(self.labels)


def _graph(field: PottsField) -> kernels.Graph:
    costs = [c[:, None] if c.ndim == 1 else c for c in (field.agree_cost, field.differ_cost)]
    width = max(c.shape[1] for c in costs)
    shape = (len(field.edges), width)
    agree, differ = (np.ascontiguousarray(np.broadcast_to(c, shape)) for c in costs)
    noise = np.zeros(field.n_nodes) if field.noise is None else field.noise
    return kernels.Graph(*plain(field.unary, noise, *field.structure.adjacency, agree, differ))


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
    block_pointer, order = by_group(both[:, 0], links.n_blocks)
    node_pointer, node_order = by_group(links.node_blocks[:, 0], n)
    first = links.z[0]
    z = np.zeros((len(links.z), n, 0))
    pointer, index, value = none, none, np.empty(0)
    if isinstance(first, CSRRows) and len(links.z) == 1:
        pointer, index = first.X.indptr.astype(np.int64), first.X.indices.astype(np.int64)
        value = first.X.data.astype(np.float64)
        squares = first.X.multiply(first.X).sum(axis=1)[None, :]
    else:
        dense = [np.ascontiguousarray(part.dense(), dtype=np.float64) for part in links.z]
        z = dense[0][None] if len(dense) == 1 else np.stack(dense)
        squares = np.einsum("kni,kni->kn", z, z)
    own = 2.0 * links.size * links.b - np.asarray(squares)
    block, *rest = plain(
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
