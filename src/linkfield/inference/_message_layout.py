"""An explicit field as the compiled loops over messages read it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField

if TYPE_CHECKING:
    from ._message_kernels import Edges

__all__ = ["Layout"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class Layout:
    """A field of finite costs and plain edges, laid out edge by edge.

    Attributes
    ----------
    field : PottsField
    component : int array (n,)
        As ``field.connected``.
    edge_component : int array (m,)
    n_components : int
    """

    def __init__(self, field: PottsField) -> None:
        finite = all(
            np.isfinite(c).all() for c in (field.unary, field.agree_cost, field.differ_cost)
        )
        if field.entailed is not None or not finite:
            raise ValueError(
                "this needs a field of finite costs and edges only; pass explicit(field), from "
                "linkfield.inference.explicit"
            )
        self.field = field
        self.component: IntArray = field.connected
        self.edge_component: IntArray = self.component[field.edges[:, 0]]
        self.n_components = int(self.component.max(initial=-1)) + 1

    @cached_property
    def edges(self) -> Edges:
        """The costs as compiled loops take them."""
        from ._message_kernels import Edges

        f = self.field
        agree, half = (_columns(c) for c in (f.agree_cost, 0.5 * f.differ_cost))
        return Edges(*writeable(f.unary, *f.structure.ends, agree, half))

    @cached_property
    def adjacency(self) -> tuple[IntArray, IntArray, IntArray]:
        """As :attr:`linkfield._structure.Structure.adjacency`."""
        pointer, neighbour, edge = writeable(*self.field.structure.adjacency)
        return pointer, neighbour, edge

    @cached_property
    def walk(self) -> tuple[IntArray, IntArray]:
        """The nodes, component by component from the first outwards, and their edges back."""
        from ._order_kernels import breadth_first

        order, back = breadth_first(*self.adjacency)
        return order, back

    @cached_property
    def trees(self) -> BoolArray:
        """Which components have no cycle: one edge less than nodes."""
        nodes = np.bincount(self.component, minlength=self.n_components)
        edges = np.bincount(self.edge_component, minlength=self.n_components)
        return edges == nodes - 1

    def new_messages(self) -> FloatArray:
        """Return messages that say nothing, (m, 2, K): into the left and the right end."""
        return np.zeros((len(self.field.edges), 2, self.field.n_labels))

    def nodes_of(self, chosen: BoolArray) -> IntArray:
        """Return the nodes of the chosen components, in the order of the walk."""
        order = self.walk[0]
        return order[chosen[self.component[order]]]

    def edges_of(self, chosen: BoolArray) -> IntArray:
        """Return the edges of the chosen components, the first that the walk meets first."""
        place = np.empty(self.field.n_nodes, dtype=np.int64)
        place[self.walk[0]] = np.arange(self.field.n_nodes)
        inner = np.flatnonzero(chosen[self.edge_component])
        late = place[self.field.edges[inner]].max(axis=1, initial=0)
        return inner[np.argsort(late, kind="stable")]

    def by_component(self, of_nodes: FloatArray, of_edges: FloatArray) -> FloatArray:
        """Add up numbers of nodes and edges by component."""
        total = np.zeros(self.n_components)
        np.add.at(total, self.component, of_nodes)
        np.add.at(total, self.edge_component, of_edges)
        return total

    def regrouped(self, values: FloatArray, component: IntArray) -> FloatArray:
        """Add up numbers of components by coarser components, given node by node.

        Those of a field with entailed links are coarser where the links are not written out.
        """
        count = int(component.max(initial=-1)) + 1
        if count == self.n_components:
            return values
        total = np.zeros(count)
        np.add.at(total, component[np.unique(self.component, return_index=True)[1]], values)
        return total


def _columns(cost: FloatArray) -> FloatArray:
    return cost[:, None] if cost.ndim == 1 else cost


def writeable(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return contiguous, writeable arrays: any other kind would be compiled for again."""
    return [np.require(array, requirements=["C", "W"]) for array in arrays]
