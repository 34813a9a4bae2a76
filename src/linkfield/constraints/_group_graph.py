"""Which groups hang together, through rows they share or by being apart (maths.md 6.7, 6.8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ._normal import IntArray
from .closure import must_components

if TYPE_CHECKING:
    from ._group_table import GroupTable

__all__ = ["Connected"]


@dataclass(frozen=True, eq=False)
class Connected:
    """The components of the graph of groups and rows, with the links between apart groups.

    A membership of confidence 0 and an apart link of certainty 0 say nothing and are no edges.

    Attributes
    ----------
    component : int array (n_groups,)
        The component of every group, numbered in the order of their first group.
    forest : bool array (n_components,)
        Whether a component has no loop: messages along its edges are then exact (F9, F10).
    n_edges : int array (n_components,)
        Memberships and apart links of each component.
    """

    component: IntArray
    forest: NDArray[np.bool_]
    n_edges: IntArray

    @classmethod
    def of(cls, groups: GroupTable) -> Connected:
        """Find the components."""
        n_groups = groups.n_groups
        rows, at = np.unique(groups.row, return_inverse=True)
        ties = np.column_stack([groups.group, n_groups + at])[groups.confidence > 0]
        edges = np.concatenate([ties, groups.apart[groups.apart_certainty > 0]])
        node = must_components(n_groups + len(rows), edges)
        # Groups are the first nodes, so rows that nothing ties stand behind all components.
        component = node[:n_groups]
        n = int(component.max(initial=-1)) + 1
        n_edges = np.bincount(node[edges[:, 0]], minlength=n).astype(np.int64)
        n_nodes = np.bincount(node, minlength=n)[:n]
        return cls(component, n_edges == n_nodes - 1, n_edges)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.forest)

    @property
    def is_forest(self) -> bool:
        """Whether no component has a loop."""
        return bool(self.forest.all())

    @cached_property
    def sizes(self) -> IntArray:
        """Number of groups of each component."""
        return np.bincount(self.component, minlength=self.n_components).astype(np.int64)

    def groups(self, component: int) -> IntArray:
        """Return the groups of one component."""
        return np.flatnonzero(self.component == component)
