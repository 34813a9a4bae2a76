"""Trees are solved exactly, by dynamic programming from the leaves to the root (maths.md 4.6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..field import PottsField
from ._message_layout import Layout

__all__ = ["Forest", "solve_forest", "tree_components"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Forest:
    """The best labels of the trees of a field.

    Attributes
    ----------
    labels : int array (n,)
        -1 for the nodes of other components.
    energies : float array (n_components,)
        The least energy of each tree, in the numbering of ``field.connected``; -inf for other
        components, which is a lower bound at least.
    solved : bool array (n_components,)
        Which components are trees that were solved.
    """

    labels: IntArray
    energies: FloatArray
    solved: BoolArray


def tree_components(field: PottsField) -> BoolArray:
    """Return which components of a field of plain edges have no cycle."""
    return Layout(field).trees


def solve_forest(field: PottsField, components: ArrayLike | None = None) -> Forest:
    """Label trees at their least energy, all at once, in O((n + m) K).

    From the leaves to the root, every node hears from each child what the child's subtree costs
    at best, given the node's label: m(h') = min_h B(h) + V(h, h'), B = U + Σ m. Then labels are
    read off from the root to the leaves. Components are independent, and nothing recurses.

    Parameters
    ----------
    field : PottsField
        Of finite costs and plain edges: see :func:`linkfield.inference.explicit.explicit`.
    components : bool array (n_components,), optional
        The components to solve, in the numbering of ``field.connected``; all trees by default.
        A chosen component with a cycle is refused.

    Examples
    --------
    >>> from linkfield.inference import PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> forest = solve_forest(field)
    >>> forest.labels, forest.energies
    (array([0, 0]), array([0.4]))
    """
    layout = Layout(field)
    chosen = layout.trees if components is None else _checked(layout, components)
    return solved_trees(layout, chosen)[0]


def solved_trees(layout: Layout, chosen: BoolArray) -> tuple[Forest, FloatArray]:
    """Solve the chosen trees; also return duals (maths.md 4.7) that prove them optimal."""
    from ._message_kernels import solve_trees

    field = layout.field
    labels = np.full(field.n_nodes, -1, dtype=np.int64)
    duals, reach = layout.new_messages(), field.unary.copy()
    solve_trees(layout.edges, layout.nodes_of(chosen), layout.walk[1], reach, duals, labels)
    return Forest(labels, _energies(layout, labels, chosen), chosen), duals


def _checked(layout: Layout, components: ArrayLike) -> BoolArray:
    chosen = np.asarray(components)
    if chosen.shape != (layout.n_components,) or chosen.dtype != bool:
        raise ValueError(
            f"components must be a boolean array of shape ({layout.n_components},), one entry a "
            f"component of field.connected; got {chosen.dtype} {chosen.shape}"
        )
    cyclic = np.flatnonzero(chosen & ~layout.trees)
    if len(cyclic):
        raise ValueError(
            f"component {cyclic[0]} has a cycle; choose among tree_components(field) only"
        )
    return chosen


def _energies(layout: Layout, labels: IntArray, solved: BoolArray) -> FloatArray:
    """Return the energy of the solved components, added up from the definition."""
    field, some = layout.field, np.maximum(labels, 0)
    unary = field.unary[np.arange(field.n_nodes), some]
    return np.where(solved, layout.by_component(unary, field.edge_costs(some)), -np.inf)
