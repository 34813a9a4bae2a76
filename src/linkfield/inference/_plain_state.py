"""A labelling in progress of a field of plain edges, whose costs may be worked out as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from . import _edge_kernels as kernels
from ._chain_kernels import missing_in_chains, swap
from ._component_kernels import missing_members, sweep_components
from ._relabel_kernels import rename
from .on_demand import Costs, CostsOnDemand
from .relabel import wanting

__all__ = ["PlainState", "plain"]

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]

#: Nodes that are inserted at a time where costs are worked out on demand.
INSERTED = 32_768


class PlainState:
    """A labelling in progress; :meth:`restart` begins it.

    Inside, nodes are numbered in the order in which they are visited.
    """

    def __init__(self, source: PottsField | CostsOnDemand) -> None:
        self.source, structure = source, source.structure
        self.visit, self.rank, self.graph = structure.visit, structure.rank, structure.visited
        self.parts = parts = self.graph.compact(source.must)
        n, m = structure.n_nodes, len(parts.edge)
        if isinstance(source, PottsField):
            gap = source.agree_cost - source.differ_cost
            table, place = plain(source.unary)[0], self.visit.astype(np.int32)
            cheapest, margin = source.cheapest[self.visit].astype(np.int32), np.zeros(n)
            noise = np.zeros(n) if source.noise is None else source.noise[self.visit]
            self.sign, gap = np.sign(gap).astype(np.int8), gap[parts.edge]
        else:
            table, place = np.empty((0, source.n_labels)), np.empty(n, dtype=np.int32)
            cheapest, margin = np.empty(n, dtype=np.int32), np.empty(n)
            noise, gap = np.zeros(n), np.zeros(m)
            self.sign = np.where(source.must, -1, 1).astype(np.int8)
        self.field = kernels.PlainField(
            table, place, cheapest, margin, noise, parts.pointer, parts.neighbour,
            self.sign[parts.edge], gap,
        )  # fmt: skip
        self.work = kernels.Work(
            np.empty(n, dtype=np.int32), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool),
            np.ones(n, dtype=bool), np.zeros(len(parts.starts) - 1, dtype=bool), parts.starts,
            parts.members, parts.group, parts.component, np.empty(n, dtype=np.int32),
        )  # fmt: skip

    def restart(self, start: IntArray | None) -> None:
        """Begin with labels, or with none yet, and with the present costs of the source."""
        self.used, self.named = 0, np.empty(0, dtype=np.int32)
        self.work.labels[:] = -1 if start is None else start[self.visit]
        self.work.waiting[:] = False
        self.work.needed[:] = False
        self.work.stale[:] = False
        if isinstance(self.source, CostsOnDemand):
            self._renew(self.source.costs)
        if start is not None:
            self._begin()

    def _renew(self, costs: Costs) -> None:
        """Forget all costs but those that are given."""
        f = self.field
        np.take(costs.cheapest, self.visit, out=f.cheapest, mode="clip")
        np.take(costs.margin, self.visit, out=f.margin, mode="clip")
        f.place[:] = -1
        np.greater_equal(self.parts.group, 0, out=self.work.notable)
        if costs.nodes is None or costs.table is None or costs.noise is None:
            return
        self.field, self.used = f._replace(table=costs.table), len(costs.nodes)
        nodes = self.rank[costs.nodes].astype(np.int32)
        f.place[nodes], f.noise[nodes] = np.arange(self.used), costs.noise
        self.work.notable[nodes] = True
        self._link(costs, nodes, keep=True)

    def _link(self, costs: Costs, nodes: Int32Array, keep: bool = False) -> None:
        """Ask for the costs of the links of some nodes."""
        at = kernels.slots(self.field.pointer, nodes)
        self.field.gap[at] = costs.gaps(self.parts.edge[at], keep)

    @property
    def needed(self) -> Int32Array:
        """The nodes whose costs were needed."""
        return self.visit[self.work.needed].astype(np.int32)

    @property
    def labels(self) -> IntArray:
        """The label of every node."""
        labels = np.empty(len(self.visit), dtype=np.int64)
        labels[self.visit] = self.work.labels
        return labels

    def _begin(self) -> None:
        kernels.begin(self.field, self.work, self.parts.left, self.parts.right, self.sign)
        self.know(kernels.missing(self.field, self.work))

    def know(self, nodes: Int32Array) -> None:
        """Ask for the costs of nodes that have none yet, and of their links."""
        if len(nodes) == 0 or isinstance(self.source, PottsField):
            return
        costs = self.source.costs
        first, self.used = self.used, self.used + len(nodes)
        table = self.field.table
        if self.used > len(table):
            grown = np.empty((min(len(self.visit), max(1024, 2 * self.used)), table.shape[1]))
            grown[:first] = table[:first]
            self.field = self.field._replace(table=grown)
        noise = np.zeros(len(nodes))
        costs.unary(self.visit[nodes], self.field.table[first : self.used], noise)
        self.field.noise[nodes] = noise
        self.field.place[nodes] = np.arange(first, self.used)
        self.work.notable[nodes] = True
        self._link(costs, nodes)

    def insert(self, order: IntArray) -> None:
        nodes, labels = order.astype(np.int32), self.work.labels
        if isinstance(self.source, PottsField):
            kernels.insert(self.field, labels, nodes)
        else:
            for first in range(0, len(nodes), INSERTED):
                some = nodes[first : first + INSERTED]
                self.know(some)
                kernels.insert(self.field, labels, some)
                self.field.place[some], self.used = -1, 0  # not needed any more
        self._begin()

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        state, limit = np.zeros(5, dtype=np.int64), more * len(self.visit)
        while not kernels.sweep(self.field, self.work, start, limit, state):
            self.know(kernels.missing(self.field, self.work))
        # Whoever found no place in the queue still waits, for the next sweep.
        return int(state[kernels.MOVES]), not self.work.waiting.any()

    def sweep_components(self) -> int:
        moves = at = 0
        while at < len(self.work.stale):
            self.know(missing_members(self.field, self.work, at))
            more, at = sweep_components(self.field, self.work, at)
            moves += more
        return int(moves)

    def rename(self) -> bool:
        pointer, node, number = self.graph.connected_groups
        labels, f = self.work.labels, self.field
        if len(self.named) and np.array_equal(labels, self.named):
            return False  # they have their best names already
        costs = (f.table, f.place, f.cheapest, f.margin)
        wanted = wanting(*costs, labels, self.named, pointer, node, number)
        self.named = labels.copy()
        if not wanted.any():
            return False
        mine = node[kernels.slots(pointer, np.flatnonzero(wanted))].astype(np.int32)
        if len(mine) < len(labels) // 8:  # a large component seldom has to be renamed twice
            self.work.needed[mine] = True
        self.know(mine[f.place[mine] < 0])
        f = self.field
        rename(f.table, f.place, f.noise, labels, pointer, node, wanted)
        changed = np.unique(number[mine[self.named[mine] != labels[mine]]])
        self.named = labels.copy()
        awake = node[kernels.slots(pointer, changed)]
        self.work.waiting[awake] = True
        group = self.work.group[awake]
        self.work.stale[group[group >= 0]] = True
        return len(changed) > 0

    def swap(self) -> int:
        n = len(self.visit)
        chain, mark = np.empty(n, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
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
        f, (left, right) = self.source, self.source.structure.ends
        assert isinstance(f, PottsField)
        args = plain(f.unary, left, right, f.agree_cost, f.differ_cost, self.labels)
        return float(kernels.energy(*args))


def plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]
