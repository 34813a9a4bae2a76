"""A labelling in progress of a field of plain edges, whose costs may be worked out as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from . import _edge_kernels as kernels
from ._chain_kernels import missing_in_chains, swap
from ._component_kernels import missing_members, sweep_components
from ._plain_field import PlainField, Work
from ._relabel_kernels import rename, restive
from .on_demand import Costs, CostsOnDemand

__all__ = ["PlainState", "plain"]

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]

#: Nodes that are inserted at a time where costs are worked out on demand.
INSERTED = 32_768

#: The links of fewer nodes are sooner priced than thought about.
FEW = 256

#: So often gaps are known by bounds on their change, until all are forgotten.
EPOCHS = 256


class PlainState:
    """A labelling in progress; :meth:`restart` begins it.

    Inside, nodes are numbered in the order in which they are visited.
    """

    def __init__(self, source: PottsField | CostsOnDemand) -> None:
        self.source, structure = source, source.structure
        self.visit, self.rank, self.graph = structure.visit, structure.rank, structure.visited
        self._visit = self.visit.astype(np.int32)
        self.parts = parts = self.graph.compact(source.must)
        n, m = structure.n_nodes, len(parts.edge)
        if isinstance(source, PottsField):
            gap = source.agree_cost - source.differ_cost
            table, place = plain(source.unary)[0], self.visit.astype(np.int32)
            cheapest, margin = source.cheapest[self.visit].astype(np.int32), np.zeros(n)
            noise = np.zeros(n) if source.noise is None else source.noise[self.visit]
            sign, gap = np.sign(gap).astype(np.int8), gap[parts.edge]
            since = np.zeros(n, dtype=np.int32)
        else:
            table, place = np.empty((0, source.n_labels)), np.empty(n, dtype=np.int32)
            cheapest, margin = np.empty(n, dtype=np.int32), np.empty(n)
            noise, gap = np.zeros(n), np.zeros(m)
            sign = np.where(source.must, -1, 1).astype(np.int8)
            since = np.full(n, -1, dtype=np.int32)
        self.field = PlainField(
            table, place, cheapest, margin, noise, parts.pointer, parts.neighbour, sign[parts.edge],
            gap, since, np.ones(1), np.ones(1),
        )  # fmt: skip
        self.work = Work(
            np.empty(n, dtype=np.int32), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool),
            np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(n, dtype=bool),
            np.ones(n, dtype=bool), np.zeros(len(parts.starts) - 1, dtype=bool), parts.starts,
            parts.members, parts.group, parts.component, np.empty(n, dtype=np.int32),
            np.empty(n, dtype=np.int32),
        )  # fmt: skip
        self.edges = (parts.left, parts.right, sign)
        self.broken = np.empty(0, dtype=np.int32)
        self._before, self._known = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)

    def restart(self, start: IntArray | None) -> None:
        """Begin with labels, or with none yet, and with the present costs of the source."""
        self.used, self.named = 0, np.empty(0, dtype=np.int32)
        labels = self.work.labels
        if start is None:
            labels[:] = -1
        elif start is not self._known:  # they are not those that were found last
            labels[:] = start[self.visit]
            self.broken = kernels.broken(*self.edges, labels)
        self._before = labels.copy()
        for flags in (self.work.needed, self.work.sure, self.work.touched):
            flags[:] = False
        if isinstance(self.source, CostsOnDemand):
            self._renew(self.source.costs)
        if start is not None:
            self._begin()

    def finish(self, start: IntArray | None) -> IntArray:
        """Return the labels that were found, ``start`` itself if nothing has moved.

        They are known again if the next start is this very array.
        """
        f, parts, labels = self.field, self.parts, self.work.labels
        args = (f.pointer, f.neighbour, parts.edge, f.sign, labels)
        self.broken = kernels.broken_among(self.work.doubtful, *args)
        moved = np.flatnonzero(labels != self._before)
        if start is None:
            start = self.labels
        elif len(moved):
            start = start.copy()
            start[self.visit[moved]] = labels[moved]
        self._known = start
        return start

    def _renew(self, costs: Costs) -> None:
        """Forget all costs but those that are given, and what is known of the links."""
        f = self.field
        if costs.drift is None or len(f.most) == EPOCHS:
            f.since[:] = -1
            f = f._replace(least=np.ones(1), most=np.ones(1))
        elif costs.drift != (1.0, 1.0):  # else links still cost what they did
            least, most = (
                np.append(bounds * change, 1.0)
                for bounds, change in zip((f.least, f.most), costs.drift, strict=True)
            )
            f = f._replace(least=least, most=most)
        self.field = f
        kernels.renew(f, self.work, self._visit, costs.cheapest, costs.margin)
        if costs.nodes is None or costs.table is None or costs.noise is None:
            return
        self.field, self.used = f._replace(table=costs.table), len(costs.nodes)
        nodes = self.rank[costs.nodes]
        f.place[nodes], f.noise[nodes] = np.arange(self.used), costs.noise
        self.work.notable[nodes] = True

    @property
    def needed(self) -> Int32Array:
        """The nodes whose costs were needed, in order."""
        return np.sort(self._visit[self.work.needed])

    @property
    def labels(self) -> IntArray:
        """The label of every node."""
        labels = np.empty(len(self.visit), dtype=np.int64)
        labels[self.visit] = self.work.labels
        return labels

    def _begin(self) -> None:
        self.ask(kernels.begin(self.field, self.work, self.broken, *self.edges[:2]))

    def ask(self, nodes: Int32Array) -> None:
        """Ask for what a look at some nodes may have to know."""
        nodes = kernels.missing(self.field, self.work, nodes)
        if self.know(nodes):
            self.know(kernels.missing(self.field, self.work, nodes))

    def know(self, nodes: Int32Array) -> bool:
        """Ask for what is missing of the costs of some nodes and of their links.

        Those who knew nothing of their labels may do with old costs of their links, unless they
        are few: returns whether there were many of them.
        """
        if len(nodes) == 0 or isinstance(self.source, PottsField):
            return False
        since, known = self.field.since[nodes], self.field.place[nodes] >= 0
        self.know_labels(nodes)
        at_once = len(nodes) < FEW or bool(known.all())
        asked = since != len(self.field.most) - 1
        self.know_links(nodes[asked if at_once else asked & (known | (since < 0))])
        return not at_once

    def know_links(self, nodes: Int32Array) -> None:
        """Ask for what the links of some nodes cost at present."""
        if len(nodes) == 0:
            return
        assert isinstance(self.source, CostsOnDemand)
        f, at = self.field, kernels.slots(self.field.pointer, nodes)
        f.gap[at] = self.source.costs.gaps(self.parts.edge[at])
        f.since[nodes] = len(f.most) - 1

    def know_labels(self, nodes: Int32Array) -> None:
        """Ask for what labels cost some nodes, where that is not known."""
        if isinstance(self.source, PottsField):
            return
        nodes = nodes[self.field.place[nodes] < 0]
        if len(nodes) == 0:
            return
        first, self.used = self.used, self.used + len(nodes)
        table = self.field.table
        if self.used > len(table):
            grown = np.empty((min(len(self.visit), max(1024, 2 * self.used)), table.shape[1]))
            grown[:first] = table[:first]
            self.field = self.field._replace(table=grown)
        noise = np.zeros(len(nodes))
        table = self.field.table[first : self.used]
        self.source.costs.unary(self.visit[nodes], table, noise)
        self.field.noise[nodes] = noise
        self.field.place[nodes] = np.arange(first, self.used)
        self.work.notable[nodes] = True

    def insert(self, order: IntArray) -> None:
        nodes, labels = order.astype(np.int32), self.work.labels
        if isinstance(self.source, PottsField):
            kernels.insert(self.field, labels, nodes)
        else:
            for first in range(0, len(nodes), INSERTED):
                some = nodes[first : first + INSERTED]
                self.know_labels(some)
                self.know_links(some)
                kernels.insert(self.field, labels, some)
                self.field.place[some], self.used = -1, 0  # not needed any more
        self.broken = kernels.broken(*self.edges, labels)
        self._begin()

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        state, limit = np.zeros(6, dtype=np.int64), more * len(self.visit)
        while not kernels.sweep(self.field, self.work, start, limit, state):
            self.ask(self._touched(state))
        self._touched(state)
        # Whoever found no place in the queue still waits, for the next sweep.
        return int(state[kernels.MOVES]), not self.work.waiting.any()

    def _touched(self, state: IntArray) -> Int32Array:
        """Return the nodes that a sweep has listed, and clear the list."""
        nodes = self.work.list[: state[kernels.LISTED]].copy()
        self.work.touched[nodes], state[kernels.LISTED] = False, 0
        return nodes

    def sweep_components(self) -> int:
        moves, at, number = 0, 0, len(self.work.stale)
        self._ask_members(0, number)
        while at < number:
            more, at = sweep_components(self.field, self.work, at)
            moves += more
            if at < number:
                self._ask_members(at, at + 1)
        return int(moves)

    def _ask_members(self, first: int, last: int) -> None:
        """Ask for what some components have to know: what labels cost, then what links do."""
        if self.know(missing_members(self.field, self.work, first, last)):
            self.know(missing_members(self.field, self.work, first, last))

    def rename(self) -> bool:
        pointer, node, number = self.graph.connected_groups
        labels, f = self.work.labels, self.field
        if len(self.named) and np.array_equal(labels, self.named):
            return False  # they have their best names already
        costs = (f.table, f.place, f.cheapest, f.margin)
        wanted = restive(*costs, labels, self.named, pointer, node, number)
        self.named = labels.copy()
        if not wanted.any():
            return False
        mine = node[kernels.slots(pointer, np.flatnonzero(wanted))].astype(np.int32)
        if len(mine) < len(labels) // 8:  # a large component seldom has to be renamed twice
            self.work.needed[mine] = True
        self.know_labels(mine)
        f = self.field
        changed = rename(f.table, f.place, f.noise, labels, pointer, node, wanted)
        if len(changed) == 0:
            return False
        self.named = labels.copy()
        awake = node[kernels.slots(pointer, changed)]
        self.work.waiting[awake] = True
        group = self.work.group[awake]
        self.work.stale[group[group >= 0]] = True
        return True

    def swap(self) -> int:
        n = len(self.visit)
        chain, mark = np.empty(n, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
        seen = np.zeros(n, dtype=np.int64)
        self.know_labels(missing_in_chains(self.field, self.work, chain, mark))
        moves = at = 0
        while at < n:
            args = (self.work, at, chain, mark, seen)
            more, at, reach = swap(self.field, *args)
            self.know_labels(chain[:reach])
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
