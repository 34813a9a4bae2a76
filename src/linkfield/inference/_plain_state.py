"""A labelling in progress of a field of plain edges, whose costs may be worked out as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from . import _edge_kernels as kernels
from ._chain_kernels import missing_in_chains, swap
from ._component_kernels import missing_members, sweep_components
from ._relabel_kernels import rename, restive
from .on_demand import CostsOnDemand

__all__ = ["PlainState", "plain"]

IntArray = NDArray[np.int64]

#: Nodes that are inserted at a time where costs are worked out on demand.
INSERTED = 32_768


def unknown(costs: CostsOnDemand) -> tuple[kernels.PlainField, NDArray[np.int8]]:
    """Return a field none of whose costs is known yet, and the sign of every edge."""
    n = costs.structure.n_nodes
    pointer, neighbour, edge = costs.structure.adjacency
    sign, beside = costs.structure.signs(costs.must)
    room = min(n, max(1024, n // 8))
    arrays = (
        np.empty((room, costs.n_labels)), np.full(n, -1), costs.cheapest, costs.margin,
        np.zeros(n), pointer, neighbour, beside, np.zeros(len(edge)),
    )  # fmt: skip
    return kernels.PlainField(*plain(*arrays)), sign


def known(field: PottsField) -> tuple[kernels.PlainField, NDArray[np.int8]]:
    """Return a field with all its costs, and the sign of every edge."""
    n = field.n_nodes
    pointer, neighbour, edge = field.structure.adjacency
    gap = field.agree_cost - field.differ_cost
    sign = np.sign(gap).astype(np.int8)
    noise = np.zeros(n) if field.noise is None else field.noise
    arrays = (
        field.unary, np.arange(n), field.cheapest, np.zeros(n), noise, pointer, neighbour,
        sign[edge], gap[edge],
    )  # fmt: skip
    return kernels.PlainField(*plain(*arrays)), sign


class PlainState:
    """A labelling of a field of plain edges; no label yet unless ``start`` gives them."""

    def __init__(self, source: PottsField | CostsOnDemand, start: IntArray | None) -> None:
        self.source, self.structure = source, source.structure
        if isinstance(source, PottsField):
            self.field, self.sign = known(source)
        else:
            self.field, self.sign = unknown(source)
        n = self.structure.n_nodes
        self.labels = np.full(n, -1) if start is None else np.array(start, dtype=np.int64)
        self.named, self.used = np.empty(0, dtype=np.int64), 0
        starts, members, component, group, _ = self.structure.movable(source.must)
        self.waiting, stale = np.zeros(n, dtype=bool), np.zeros(len(starts) - 1, dtype=bool)
        visit, queue = self.structure.visit, np.empty(n, dtype=np.int64)
        work = (self.labels, visit, self.waiting, stale, starts, members, group, component, queue)
        self.work = kernels.Work(*plain(*work))
        if start is not None:
            self._begin()

    def _begin(self) -> None:
        kernels.begin(self.field, self.work, *plain(*self.structure.ends, self.sign))
        self.know(kernels.missing(self.field, self.work))

    def know(self, nodes: IntArray) -> None:
        """Ask for the costs of nodes that have none yet, and of their links."""
        source = self.source
        if len(nodes) == 0 or isinstance(source, PottsField):
            return
        first, self.used = self.used, self.used + len(nodes)
        table = self.field.table
        if self.used > len(table):
            grown = np.empty((min(len(self.labels), 2 * self.used), table.shape[1]))
            grown[:first] = table[:first]
            self.field = self.field._replace(table=grown)
        noise = np.zeros(len(nodes))
        source.unary(nodes, self.field.table[first : self.used], noise)
        self.field.noise[nodes] = noise
        self.field.place[nodes] = np.arange(first, self.used)
        at = kernels.slots(self.field.pointer, nodes)
        self.field.gap[at] = source.gaps(self.structure.adjacency[2][at])

    def insert(self, order: IntArray) -> None:
        if isinstance(self.source, PottsField):
            kernels.insert(self.field, self.labels, order)
        else:
            for first in range(0, len(order), INSERTED):
                some = order[first : first + INSERTED]
                self.know(some)
                kernels.insert(self.field, self.labels, some)
                self.field.place[some], self.used = -1, 0  # not needed any more
        self._begin()

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        state, limit = np.zeros(5, dtype=np.int64), more * len(self.labels)
        while not kernels.sweep(self.field, self.work, start, limit, state):
            self.know(kernels.missing(self.field, self.work))
        # Whoever found no place in the queue still waits, for the next sweep.
        return int(state[kernels.MOVES]), not self.waiting.any()

    def sweep_components(self) -> int:
        moves = at = 0
        while at < len(self.work.stale):
            self.know(missing_members(self.field, self.work, at))
            more, at = sweep_components(self.field, self.work, at)
            moves += more
        return int(moves)

    def rename(self) -> bool:
        pointer, node, number = self.structure.connected_groups
        if len(self.named) and np.array_equal(self.labels, self.named):
            return False  # they have their best names already
        f = self.field
        costs = (f.table, f.place, f.cheapest, f.margin)
        wanted = restive(*costs, self.labels, self.named, pointer, node, number)
        mine = node[kernels.slots(pointer, np.flatnonzero(wanted))]
        before = self.labels[mine]
        if len(mine):
            self.know(mine[f.place[mine] < 0])
            f = self.field
            rename(f.table, f.place, f.noise, self.labels, pointer, node, wanted)
        self.named = self.labels.copy()
        changed = np.unique(number[mine[before != self.labels[mine]]])
        awake = node[kernels.slots(pointer, changed)]
        self.waiting[awake] = True
        group = self.work.group[awake]
        self.work.stale[group[group >= 0]] = True
        return len(changed) > 0

    def swap(self) -> int:
        n = len(self.labels)
        chain, mark = np.empty(n, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
        seen = np.zeros(n, dtype=np.int64)
        self.know(missing_in_chains(self.field, self.work, chain, mark))
        moves = at = 0
        while at < n:
            args = (self.work, at, chain, mark, seen)
            more, at, reach = swap(self.field, *args)
            nodes = chain[:reach]
            self.know(nodes[self.field.place[nodes] < 0])
            moves += more
        return int(moves)

    def energy(self) -> float:
        """Return the energy of the labels; only where all costs are known."""
        f, (left, right) = self.source, self.structure.ends
        assert isinstance(f, PottsField)
        args = plain(f.unary, left, right, f.agree_cost, f.differ_cost, self.labels)
        return float(kernels.energy(*args))


def plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]
