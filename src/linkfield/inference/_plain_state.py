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
from . import _sweep_kernels as sweeps
from ._chain_kernels import missing_in_chains, swap
from ._plain_field import PlainField, Work
from ._relabel_kernels import rename, restive
from .on_demand import Costs, CostsOnDemand

__all__ = ["PlainState", "plain"]

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
Numbers = NDArray[np.uint32]

#: Nodes that are inserted at a time where costs are worked out on demand.
INSERTED = 32_768

#: From so many nodes or components on, looks at them are made on all threads.
MANY = 6_000

#: So often gaps are known by bounds on their change, until all are forgotten.
EPOCHS = 256

NOBODY = np.empty(0, dtype=np.int32)

NO_GAPS, NO_LOOKS = np.empty(0), np.empty(0, dtype=np.int8)

#: What a sweep is told at its start.
NOTHING = sweeps.Answer(0, NO_GAPS, NO_LOOKS)

#: The looks that a sweep asks for.
LOOKS: dict[int, Any] = {
    sweeps.LOOKS: kernels.look,
    sweeps.HOPES: components.hopeful,
    sweeps.HOLDS: components.loose,
}


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
            table, place = np.empty((0, source.n_labels)), np.full(n, -1, dtype=np.int32)
            cheapest, margin = source.costs.cheapest, source.costs.margin
            noise, gap = np.empty(0), np.zeros(m)
            sign = np.where(source.must, -1, 1).astype(np.int8)
            since = np.full(n, -1, dtype=np.int32)
        self.field = PlainField(
            table, place, cheapest, margin, noise, parts.pointer, parts.neighbour, sign[parts.edge],
            gap, since, np.ones(1), np.ones(1),
        )  # fmt: skip
        # Room for whole eights, which loops take at a time; what is behind the nodes stays unset.
        marks = np.zeros((7, _eights(n)), dtype=bool)
        waiting, needed, moved, queued, listed, held, doubtful = marks
        stale = np.zeros(_eights(len(parts.starts) - 1), dtype=bool)
        self.work = Work(
            np.empty(n, dtype=np.int32), waiting, needed, moved, queued, listed, held, doubtful,
            stale, parts.starts, parts.members, parts.group, parts.component,
            np.empty(n, dtype=np.uint32), np.empty(n, dtype=np.uint32),
        )  # fmt: skip
        self.edges = (parts.left, parts.right, sign)
        self.broken = self._first = self.moved = np.empty(0, dtype=np.uint32)
        self.needed, self.given = NOBODY, np.arange(len(table), dtype=np.int32)
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
        if isinstance(self.source, CostsOnDemand):
            self._renew(self.source.costs, start is None)
        if start is not None:
            self._begin()

    def finish(self, start: IntArray | None) -> IntArray:
        """Return the labels that were found, ``start`` itself if nothing has moved.

        They are known again if the next start is this very array.
        """
        everyone = start is None
        start = self.labels if start is None else start
        end = frame.end(self.field, self.work, self.parts.edge, *plain(start))
        self.broken, self.moved, needed, found = end
        self.needed = needed.astype(np.int32)
        if everyone:
            self.moved = np.arange(len(start), dtype=np.uint32)
        self._known = found if len(end[1]) else start
        return self._known

    def _renew(self, costs: Costs, fresh: bool) -> None:
        """Forget all costs but those that are given, and what is known of the links."""
        f = self.field
        if costs.drift is None or len(f.most) == EPOCHS:
            f.since[:] = -1
            f = f._replace(least=np.ones(1), most=np.ones(1))
        elif costs.drift != (1.0, 1.0):  # else links still cost what they did
            least, most = np.ones((2, len(f.most) + 1))
            least[:-1], most[:-1] = f.least * costs.drift[0], f.most * costs.drift[1]
            f = f._replace(least=least, most=most)
        f, self.given = f._replace(cheapest=costs.cheapest, margin=costs.margin), NOBODY
        if fresh:  # a first labelling asks for the costs of all nodes, part by part
            f.place[:] = -1
        elif costs.nodes is not None and costs.table is not None and costs.noise is not None:
            f, self.given = f._replace(table=costs.table, noise=costs.noise), costs.nodes
        self.field, self.used = f, len(self.given)

    @property
    def labels(self) -> IntArray:
        """The label of every node."""
        return self.work.labels.astype(np.int64)

    def _begin(self) -> None:
        """Let wait who is not content, the ends of broken edges among them, and components."""
        given, (left, right, _) = self.given, self.edges
        self._first = frame.begin(self.field, self.work, given, self.broken, left, right)

    def ask_for_labels(self, nodes: Numbers) -> int:
        """Ask for what labels cost some nodes; return from where on that stands in the table."""
        assert isinstance(self.source, CostsOnDemand)
        first, self.used = self.used, self.used + len(nodes)
        f = self.field
        if self.used > min(len(f.table), len(f.noise)):
            room = min(len(self.visit), max(1024, 2 * self.used))
            table, noise = np.empty((room, f.table.shape[1])), np.empty(room)
            table[:first], noise[:first] = f.table[:first], f.noise[:first]
            self.field = f = f._replace(table=table, noise=noise)
        rows = slice(first, self.used)
        self.source.costs.unary(nodes.astype(np.int64), f.table[rows], f.noise[rows])
        return first

    def know_labels(self, nodes: Numbers) -> None:
        """Ask for what labels cost some nodes, where that is not known."""
        if len(nodes):
            nodes = nodes[self.field.place[nodes] < 0]
        if len(nodes):
            first = self.ask_for_labels(nodes)
            self.field.place[nodes] = np.arange(first, self.used)

    def know_links(self, nodes: Numbers) -> None:
        """Ask for what the links of some nodes cost at present."""
        assert isinstance(self.source, CostsOnDemand)
        f = self.field
        at = kernels.slots(f.pointer, nodes)
        f.gap[at] = self.source.costs.gaps(self.parts.edge[at])
        f.since[nodes] = len(f.most) - 1

    def _answer(self, stage: int, some: Numbers, asked: Numbers, edges: Numbers) -> sweeps.Answer:
        """Return what a sweep has stopped to ask for."""
        if stage == sweeps.LABELS:
            return sweeps.Answer(self.ask_for_labels(asked), NO_GAPS, NO_LOOKS)
        if stage == sweeps.LINKS:
            assert isinstance(self.source, CostsOnDemand)
            return sweeps.Answer(0, self.source.costs.gaps(edges), NO_LOOKS)
        found = np.empty(len(some), dtype=np.int8)
        share(lambda a, b: LOOKS[stage](self.field, self.work, some, a, b, found), len(some))
        return sweeps.Answer(0, NO_GAPS, found)

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
        stage, moves, rounds, asked, answer = sweeps.START, 0, more + 1, nodes[:0], NOTHING
        while stage != sweeps.DONE:
            stage, moved, rounds, nodes, asked, edges = sweeps.sweep(
                self.field, self.work, self.rank, self.parts.edge, stage, rounds, nodes, asked,
                answer, MANY,
            )  # fmt: skip
            moves += moved
            if stage != sweeps.DONE:
                answer = self._answer(stage, nodes, asked, edges)
        return moves, len(nodes) == 0

    def sweep_components(self) -> int:
        stage, moves, answer = sweeps.START, 0, NOTHING
        some = asked = self.moved[:0]
        while stage != sweeps.DONE:
            stage, moves, some, asked, edges = sweeps.sweep_components(
                self.field, self.work, self.parts.edge, stage, some, asked, answer, MANY
            )
            if stage != sweeps.DONE:
                answer = self._answer(stage, some, asked, edges)
        return int(moves)

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
        if (self.field.place < 0).any():
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


def _eights(n: int) -> int:
    """Return the least multiple of eight that is no less."""
    return -(-n // 8) * 8


def _numbers(which: NDArray[np.bool_]) -> Numbers:
    """Return the numbers of those that are marked, in order."""
    return which.nonzero()[0].astype(np.uint32)


def plain(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]
