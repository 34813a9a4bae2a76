"""What a field's edges say whatever they cost: adjacency and components, found once a fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .constraints._normal import unique_rows

__all__ = ["Compact", "Structure", "by_group"]

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
Numbers = NDArray[np.uint32]


class Compact(NamedTuple):
    """A graph for loops that look at few nodes of many: in 32 bits, more of it fits into a cache.

    ``left`` and ``right`` are the ends of every edge, ``pointer``, ``neighbour`` and ``edge`` the
    adjacency, the rest is as :meth:`Structure.movable` has it. Numbers of nodes and edges have no
    sign: compiled loops need not ask whether they count from the end.
    """

    left: Numbers
    right: Numbers
    pointer: Numbers
    neighbour: Numbers
    edge: Numbers
    starts: Numbers
    members: Numbers
    component: Int32Array
    group: Int32Array


def by_group(group: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
    """Return where each group's entries start in the second array, and the entries by group."""
    from ._kernels.graphs import grouped

    pointer, order = grouped(np.ascontiguousarray(group, dtype=np.int64), n_groups)
    return pointer, order


@dataclass(frozen=True)
class Structure:
    """The graph of a field.

    Attributes
    ----------
    n_nodes : int
    edges : int array (m, 2)
    block, block_pairs, node_blocks : int arrays
        As in :class:`linkfield.field.EntailedLinks`; all -1 and empty without entailed links.
    order : int array (n_nodes,) or None
        The order in which to look at the nodes, None for their own.
    """

    n_nodes: int
    edges: IntArray
    block: IntArray
    block_pairs: IntArray
    node_blocks: IntArray
    order: IntArray | None = None
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(
        cls, n_nodes: int, edges: IntArray, links: Any, order: IntArray | None = None
    ) -> Structure:
        """Take the graph of edges and entailed links (or None)."""
        if links is None:
            none = np.empty((0, 2), dtype=np.int64)
            return cls(n_nodes, edges, np.full(n_nodes, -1), none, none, order)
        return cls(n_nodes, edges, links.block, links.block_pairs, links.node_blocks, order)

    @cached_property
    def visit(self) -> IntArray:
        """The nodes in the order in which to look at them."""
        return np.arange(self.n_nodes) if self.order is None else self.order

    @cached_property
    def rank(self) -> IntArray:
        """When every node is looked at."""
        rank = np.empty(self.n_nodes, dtype=np.int64)
        rank[self.visit] = np.arange(self.n_nodes)
        return rank

    @cached_property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max(initial=-1)) + 1

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        """The two ends of every edge."""
        return np.ascontiguousarray(self.edges[:, 0]), np.ascontiguousarray(self.edges[:, 1])

    @cached_property
    def adjacency(self) -> tuple[IntArray, IntArray, IntArray]:
        """Where the neighbours of every node start, the neighbours, and the edges to them."""
        m = len(self.edges)
        pointer, order = by_group(self.edges.T.ravel(), self.n_nodes)
        other = self.edges[:, ::-1].T.ravel()
        return pointer, other[order], np.tile(np.arange(m), 2)[order]

    @cached_property
    def connected(self) -> IntArray:
        """The component of each node in the graph of all links: independent problems (1.5)."""
        apart = self.n_nodes + self.block_pairs, self.node_blocks + np.array([0, self.n_nodes])
        return self._components(self.edges, *(apart if self.n_blocks else ()))

    @cached_property
    def connected_groups(self) -> tuple[IntArray, IntArray, IntArray]:
        """The connected components of two nodes or more.

        As starts, nodes, and the number of every node's component (-1: it is alone).
        """
        component = self.connected
        size = np.bincount(component)
        number = np.where(size > 1, np.cumsum(size > 1) - 1, -1)[component]
        keep = np.flatnonzero(number >= 0)
        pointer, order = by_group(number[keep], int((size > 1).sum()))
        return pointer, keep[order], number

    def together(self, must: NDArray[np.bool_]) -> IntArray:
        """Return the component of each node in the graph of must-links, entailed ones included."""
        if "must" not in self._known or not np.array_equal(self._known["must"], must):
            self._known.clear()
            self._known.update(must=must, together=self._components(self.edges[must]))
        return np.asarray(self._known["together"])

    def compact(self, must: NDArray[np.bool_]) -> Compact:
        """Return the graph for sweeps over plain edges."""
        self.together(must)
        if "compact" not in self._known:
            starts, members, *names = self.movable(must)[:4]
            numbers = (*self.ends, *self.adjacency, starts, members)
            arrays: list[Any] = [array.astype(np.uint32) for array in numbers]
            arrays += [array.astype(np.int32) for array in names]
            self._known["compact"] = Compact(*arrays)
        found: Compact = self._known["compact"]
        return found

    def movable(self, must: NDArray[np.bool_]) -> tuple[IntArray, ...]:
        """Return the must-link components of two nodes or more that can move as a whole.

        As starts, nodes, the component of every node, its number among the movable ones (-1:
        none), and the block of every movable one. A component that holds two blocks, or a node
        that is apart from its own block, contradicts itself; its nodes move one by one only.
        """
        component = self.together(must)
        if "movable" not in self._known:
            self._known["movable"] = self._movable(component)
        found: tuple[IntArray, ...] = self._known["movable"]
        return found

    def _movable(self, component: IntArray) -> tuple[IntArray, ...]:
        n = int(component.max(initial=-1)) + 1
        block = np.full(n, -1, dtype=np.int64)
        free = np.bincount(component, minlength=n) >= 2
        member = np.flatnonzero(self.block >= 0)
        if len(member):
            pairs, _ = unique_rows(np.column_stack([component[member], self.block[member]]))
            block[pairs[:, 0]] = pairs[:, 1]
            free &= np.bincount(pairs[:, 0], minlength=n) <= 1
            home = np.full(self.n_blocks, -1, dtype=np.int64)
            home[pairs[:, 1]] = pairs[:, 0]
            r, g = self.node_blocks.T
            free[component[r][component[r] == home[g]]] = False
        keep = np.flatnonzero(free[component])
        # Components in the order in which their first nodes are looked at.
        first = np.full(n, self.n_nodes)
        np.minimum.at(first, component, self.rank)
        chosen = np.flatnonzero(free)
        chosen = chosen[np.argsort(first[chosen])]
        of = np.full(n, -1, dtype=np.int64)
        of[chosen] = np.arange(len(chosen))
        number = of[component]
        pointer, order = by_group(number[keep], len(chosen))
        return pointer, keep[order], component, number, block[chosen]

    def _components(self, *links: IntArray) -> IntArray:
        """Return the component of each node; members of a block are in one."""
        from ._kernels.graphs import components

        if self.n_blocks:  # each is joined to a node that stands for its block
            member = np.flatnonzero(self.block >= 0)
            hubs = np.column_stack([member, self.n_nodes + self.block[member]])
            links = (*links, hubs)
        joined = links[0] if len(links) == 1 else np.concatenate(links)
        found = components(self.n_nodes + self.n_blocks, np.ascontiguousarray(joined))
        return np.asarray(found[: self.n_nodes])
