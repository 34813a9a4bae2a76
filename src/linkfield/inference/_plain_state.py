"""A labelling in progress of a field of plain edges, whose costs may be worked out as needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._threads import share
from ..field import PottsField
from . import _component_kernels as components
from . import _edge_kernels as kernels
from . import _frame_kernels as frame
from ._chain_kernels import missing_in_chains, swap
from ._plain_field import PlainField, Work
from ._relabel_kernels import rename, restive
from .on_demand import Costs, CostsOnDemand

__all__ = ["PlainState", "plain"]

IntArray = NDArray[np.int64]
Numbers = NDArray[np.uint32]

#: Nodes that are inserted at a time where costs are worked out on demand.
INSERTED = 32_768

#: So many nodes are worth waking threads for, so many components that are asked whether there is
#: hope, and so many whose members' costs and links are looked at.
MANY, MANY_HOPES, MANY_COMPONENTS = 1_200, 3_000, 500

#: So often gaps are known by bounds on their change, until all are forgotten.
EPOCHS = 256


class PlainState:
    """A labelling in progress; :meth:`restart` begins it."""

    def __init__(self, source: PottsField | CostsOnDemand) -> None:
        self.source, self.graph = source, source.structure
        self.visit, self.rank = self.graph.visit, self.graph.rank
        self.parts = parts = self.graph.compact(source.must)
        n, m = self.graph.n_nodes, len(parts.edge)
        if isinstance(source, PottsField):
            gap = source.agree_cost - source.differ_cost
            table, place = plain(source.unary)[0], np.arange(n, dtype=np.int32)
            noise = np.zeros(n) if source.noise is None else plain(source.noise)[0]
            cheapest, margin = source.cheapest.astype(np.int32), kernels.margins(table, noise)
            sign, gap = np.sign(gap).astype(np.int8), gap[parts.edge]
            since = np.zeros(n, dtype=np.int32)
        else:
            table, place = np.empty((0, source.n_labels)), np.empty(n, dtype=np.int32)
            cheapest, margin = source.costs.cheapest, source.costs.margin
            noise, gap = np.zeros(n), np.zeros(m)
            sign = np.where(source.must, -1, 1).astype(np.int8)
            since = np.full(n, -1, dtype=np.int32)
        self.field = PlainField(
            table, place, cheapest, margin, noise, parts.pointer, parts.neighbour, sign[parts.edge],
            gap, since, np.ones(1), np.ones(1),
        )  # fmt: skip
        waiting, needed, moved, queued, listed, held, doubtful = np.zeros((7, n), dtype=bool)
        stale = np.zeros(len(parts.starts) - 1, dtype=bool)
        self.work = Work(
            np.empty(n, dtype=np.int32), waiting, needed, moved, queued, listed, held, doubtful,
            stale, parts.starts, parts.members, parts.group, parts.component,
            np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32),
        )  # fmt: skip
        self.edges = (parts.left, parts.right, sign)
        self.broken = self._first = self.moved = np.empty(0, dtype=np.uint32)
        self._known = np.empty(0, dtype=np.int64)

    def restart(self, start: IntArray | None) -> None:
        """Begin with labels, or with none yet, and with the present costs of the source."""
        self.used, self.named = 0, np.empty(0, dtype=np.int32)
        labels = self.work.labels
        if start is None:
            labels[:] = -1
        elif start is not self._known:  # they are not those that were found last
            labels[:] = start
            self.broken = frame.broken(*self.edges, labels)
        self.work.needed[:] = self.work.moved[:] = False
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
        self.broken = frame.broken_among(_numbers(self.work.doubtful), *args)
        if start is None:
            start, self.moved = self.labels, np.arange(len(labels), dtype=np.uint32)
        else:
            self.moved, new = frame.taken_over(_numbers(self.work.moved), labels, start)
            start = new if len(self.moved) else start
        self._known = start
        return start

    def _renew(self, costs: Costs) -> None:
        """Forget all costs but those that are given, and what is known of the links."""
        f = self.field
        if costs.drift is None or len(f.most) == EPOCHS:
            f.since[:] = -1
            f = f._replace(least=np.ones(1), most=np.ones(1))
        elif costs.drift != (1.0, 1.0):  # else links still cost what they did
            least, most = np.ones((2, len(f.most) + 1))
            least[:-1], most[:-1] = f.least * costs.drift[0], f.most * costs.drift[1]
            f = f._replace(least=least, most=most)
        self.field = f = f._replace(cheapest=costs.cheapest, margin=costs.margin)
        if costs.nodes is None or costs.table is None or costs.noise is None:
            f.place[:] = -1
            return
        self.field, self.used = f._replace(table=costs.table), len(costs.nodes)
        frame.know_again(self.field, costs.nodes, costs.noise)

    @property
    def needed(self) -> NDArray[np.int32]:
        """The nodes whose costs were needed, in order."""
        return np.flatnonzero(self.work.needed).astype(np.int32)

    @property
    def labels(self) -> IntArray:
        """The label of every node."""
        return self.work.labels.astype(np.int64)

    def _begin(self) -> None:
        """Let wait who is not content, the ends of broken edges among them, and components."""
        self._first = frame.begin(self.field, self.work, self.broken, *self.edges[:2])

    def know(self, contested: Numbers) -> None:
        """Ask for what is missing of the costs of contested nodes, of their links if they may move.

        Those of known costs may: that is why they are contested.
        """
        if isinstance(self.source, PottsField):
            return
        new = self.field.place[contested] < 0
        if new.any():
            some, moving = contested[new], ~new
            self.know_labels(some)
            moving[new] = self._found(kernels.resist, some)
            contested = contested[moving]
        self.know_links(contested)

    def know_links(self, nodes: Numbers) -> None:
        """Ask for what the links of some nodes cost, where that is not known of the present."""
        if len(nodes) == 0 or isinstance(self.source, PottsField):
            return
        f, present = self.field, len(self.field.most) - 1
        nodes = nodes[f.since[nodes] != present]
        if len(nodes) == 0:
            return
        at = kernels.slots(f.pointer, nodes)
        f.gap[at] = self.source.costs.gaps(self.parts.edge[at])
        f.since[nodes] = present

    def know_labels(self, nodes: Numbers) -> None:
        """Ask for what labels cost some nodes, where that is not known."""
        if len(nodes) == 0 or isinstance(self.source, PottsField):
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
        self.source.costs.unary(nodes.astype(np.int64), table, noise)
        self.field.noise[nodes] = noise
        self.field.place[nodes] = np.arange(first, self.used)

    def insert(self, order: IntArray) -> None:
        nodes, labels = self.visit[order].astype(np.uint32), self.work.labels
        if isinstance(self.source, PottsField):
            frame.insert(self.field, labels, nodes)
        else:
            for first in range(0, len(nodes), INSERTED):
                some = nodes[first : first + INSERTED]
                self.know_labels(some)
                self.know_links(some)
                frame.insert(self.field, labels, some)
                self.field.place[some], self.used = -1, 0  # not needed any more
        self.broken = frame.broken(*self.edges, labels)
        self._begin()

    def sweep(self, start: int, more: int) -> tuple[int, bool]:
        # Wherever it starts, the same nodes go.
        nodes = self._first if len(self._first) else _numbers(self.work.waiting)
        self._first = nodes[:0]
        if len(nodes) == 0:
            return 0, True
        moves, contested = self._let_go(nodes)
        for _ in range(more + 1):
            if len(contested) == 0:
                break
            self.know(contested)
            decided, nodes = kernels.decide(self.field, self.work, self.rank, contested)
            others, contested = self._let_go(nodes)
            moves += decided + others
        return moves, len(contested) == 0

    def _let_go(self, nodes: Numbers) -> tuple[int, Numbers]:
        """Let some nodes go who can; return how many moved, and who is contested."""
        if len(nodes) == 0:
            return 0, nodes
        if len(nodes) < MANY:
            moves, contested = kernels.let_go(self.field, self.work, self.rank, nodes)
            return int(moves), contested
        found = np.empty(len(nodes), dtype=np.int8)
        self._look(kernels.look, nodes, found)
        moves, left = kernels.go(self.field, self.work, self.rank, nodes, found)
        return int(moves), left[self._found(kernels.resist, left)]

    def _look(self, kernel: Any, some: Numbers, *found: NDArray[Any], many: int = MANY) -> None:
        """Look at nodes or components, which changes no label, on all threads if they are many."""

        def look(first: int, last: int) -> None:
            kernel(self.field, self.work, some, first, last, *found)

        if len(some) >= many:
            share(look, len(some))
        elif len(some):
            look(0, len(some))

    def sweep_components(self) -> int:
        some = _numbers(self.work.stale)
        self.work.stale[some] = False
        some = some[self._found(components.hopeful, some, MANY_HOPES)]
        if len(some) == 0:
            return 0
        members = self._members(some)
        self.work.needed[members] = True
        self.know_labels(members)
        some = some[self._found(components.loose, some, MANY_COMPONENTS)]
        if len(some) == 0:
            return 0
        self.know_links(self._members(some))
        wish, gain = np.empty(len(some), dtype=np.int32), np.empty(len(some))
        self._look(components.wishes, some, wish, gain, many=MANY_COMPONENTS)
        return int(components.move(self.field, self.work, some, wish, gain))

    def _found(self, kernel: Any, some: Numbers, many: int = MANY) -> NDArray[np.bool_]:
        """Return of which nodes or components a look finds what it asks for."""
        found = np.empty(len(some), dtype=bool)
        self._look(kernel, some, found, many=many)
        return found

    def _members(self, some: Numbers) -> Numbers:
        """Return the nodes of some components."""
        return self.work.members[kernels.slots(self.work.starts, some)]

    def rename(self) -> bool:
        pointer, node, number = self.graph.connected_groups
        labels, f = self.work.labels, self.field
        unhappy = np.flatnonzero(labels != f.cheapest)
        if len(unhappy) == 0 or (len(self.named) and np.array_equal(labels, self.named)):
            return False  # they have their best names already
        costs = (f.table, f.place, f.cheapest, f.margin)
        wanted = restive(*costs, labels, self.named, pointer, node, number, unhappy)
        self.named = labels.copy()
        if not wanted.any():
            return False
        mine = node[kernels.slots(pointer, np.flatnonzero(wanted))].astype(np.uint32)
        if len(mine) < len(labels) // 8:  # a large component seldom has to be renamed twice
            self.work.needed[mine] = True
        self.know_labels(mine)
        f = self.field
        changed = rename(f.table, f.place, f.noise, labels, pointer, node, wanted)
        if len(changed) == 0:
            return False
        self.named = labels.copy()
        awake = node[kernels.slots(pointer, changed)]
        self.work.waiting[awake] = self.work.moved[awake] = True
        group = self.work.group[awake]
        self.work.stale[group[group >= 0]] = True
        return True

    def swap(self) -> int:
        n = len(self.visit)
        if np.array_equal(self.work.labels, self.field.cheapest):
            return 0
        chain, mark = np.empty(n, dtype=np.uint32), np.zeros(n + 1, dtype=np.int64)
        seen = np.zeros(n, dtype=np.int64)
        self.know_labels(missing_in_chains(self.field, self.work, self.visit, chain, mark))
        moves = at = 0
        while at < n:
            args = (self.work, self.visit, at, chain, mark, seen)
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


def _numbers(which: NDArray[np.bool_]) -> Numbers:
    """Return the numbers of those that are marked, in order."""
    return which.nonzero()[0].astype(np.uint32)


def plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]
