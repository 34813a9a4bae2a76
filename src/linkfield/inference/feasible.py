"""A labelling that keeps every hard constraint, or the proof that there is none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..constraints.colouring import colour
from ..field import PottsField

__all__ = ["InfeasibleFieldError", "feasible_labels"]

IntArray = NDArray[np.int64]


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

    Nodes that no hard edge touches keep ``labels``; the others are coloured, cheap labels first.
    """
    hard = field.agree_cost if field.agree_cost.ndim == 1 else field.agree_cost.max(axis=1)
    edges = field.edges[np.isinf(hard)]
    touched = np.unique(edges)
    at = np.searchsorted(touched, edges)
    both = np.concatenate([at, at[:, ::-1]])
    shape = (len(touched), len(touched))
    graph = sparse.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)
    graph.data[:] = 1.0  # an edge given twice is still one edge
    unary = field.unary[touched]
    allowed = np.isfinite(unary)
    answer = colour(
        graph,
        field.n_labels,
        allowed=None if allowed.all() else allowed,
        cost=np.where(allowed, unary, np.nanmax(np.where(allowed, unary, np.nan))),
    )
    if answer.colours is None:
        core = None if answer.core is None else touched[answer.core]
        raise InfeasibleFieldError(core if answer.status == "infeasible" else None)
    out = labels.copy()
    out[touched] = answer.colours
    return out
