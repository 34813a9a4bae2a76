"""A labelling that keeps every hard constraint, or the proof that there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..constraints.closure import must_components
from ..constraints.colouring import colour
from ..field import PottsField

__all__ = ["InfeasibleFieldError", "feasible_labels"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class InfeasibleFieldError(ValueError):
    """No labelling keeps every hard edge.

    Attributes
    ----------
    core : int array or None
        Nodes whose hard edges alone are already impossible, where that is proven.
    """

    def __init__(self, core: IntArray | None) -> None:
        super().__init__("no labelling keeps every hard constraint")
        self.core = core


def feasible_labels(field: PottsField, labels: IntArray) -> IntArray:
    """Return labels that keep every hard edge and every forbidden label.

    Hard must-links are contracted, the graph of hard cannot-links is coloured, cheap labels
    first; nodes that no hard edge touches keep their label unless it is forbidden.
    """
    if np.isfinite(field.energy(labels)):
        return labels.copy()
    apart, together = (_hard(cost) for cost in (field.agree_cost, field.differ_cost))
    group = must_components(field.n_nodes, field.edges[together])
    allowed, cost = _by_group(field, group)
    edges = group[field.edges[apart]]
    impossible = np.asarray(~allowed.any(axis=1))
    impossible[edges[edges[:, 0] == edges[:, 1], 0]] = True
    if impossible.any():
        raise InfeasibleFieldError(np.flatnonzero(group == np.flatnonzero(impossible)[0]))
    touched = np.unique(np.concatenate([edges, group[field.edges[together]]]))
    chosen = np.full(len(allowed), -1, dtype=np.int64)
    if len(touched):
        chosen[touched] = _coloured(edges, touched, allowed[touched], cost[touched], group)
    own = np.isfinite(field.unary[np.arange(len(labels)), labels])
    rest = np.where(own, labels, field.unary.argmin(axis=1))
    return np.where(chosen[group] >= 0, chosen[group], rest)


def _hard(cost: FloatArray) -> NDArray[np.bool_]:
    return np.isinf(cost if cost.ndim == 1 else cost.max(axis=1))


def _by_group(field: PottsField, group: IntArray) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which labels every group of nodes may take, and what they cost it."""
    n = len(group)
    shape = (int(group.max()) + 1, n)
    member = sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=shape)
    forbidden = np.isinf(field.unary)
    return (member @ forbidden) == 0, member @ np.where(forbidden, 0.0, field.unary)


def _coloured(
    edges: IntArray,
    touched: IntArray,
    allowed: NDArray[np.bool_],
    cost: FloatArray,
    group: IntArray,
) -> IntArray:
    """Colour the groups that hard edges touch, or raise with the nodes that make it impossible."""
    both = np.searchsorted(touched, np.concatenate([edges, edges[:, ::-1]]))
    shape = (len(touched), len(touched))
    graph = sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)
    graph.data[:] = 1.0  # an edge given twice is still one edge
    lists = None if allowed.all() else allowed
    cost = np.where(allowed, cost, cost.max())
    answer = colour(graph, allowed.shape[1], allowed=lists, cost=cost)
    if answer.colours is None:
        proven = answer.status == "infeasible" and answer.core is not None
        core = np.flatnonzero(np.isin(group, touched[answer.core])) if proven else None
        raise InfeasibleFieldError(core)
    return answer.colours
