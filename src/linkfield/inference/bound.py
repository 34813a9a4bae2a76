"""How low the energy of a field can be at best: a bound that certifies labellings.

Whatever the dual variables δ, no labelling costs less than (maths.md 4.7)

    LB = Σ_i min_h [U_i(h) + Σ_{e∋i} δ_ei(h)] + Σ_e min_{h,h'} [V_e(h, h') − δ_ei(h) − δ_ej(h')].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from ._message_layout import Layout
from .base import InferenceResult
from .explicit import explicit
from .trees import solved_trees

__all__ = ["LowerBound", "certified", "lower_bound"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: A component is given up after this many iterations in a row that gain next to nothing: news
#: may have to travel before the bound rises again.
PATIENCE = 5


@dataclass(frozen=True)
class LowerBound:
    """A number that the energy of no labelling lies below.

    Attributes
    ----------
    value : float
        The sum of ``by_component``.
    by_component : float array (n_components,)
        A bound for each component of ``field.connected``.
    trace : float array (n_iter,)
        The bound after every iteration; it never falls.
    n_iter : int
        0 where every component is a tree, whose bound is its least energy.
    converged : bool
        Whether the bound stopped rising, or reached the target, before ``max_iter``.
    """

    value: float
    by_component: FloatArray
    trace: FloatArray
    n_iter: int
    converged: bool


def lower_bound(
    field: PottsField, *, max_iter: int = 200, tol: float = 1e-9, target: float | None = None
) -> LowerBound:
    """Bound the least energy of a field from below (MPLP; Globerson & Jaakkola 2007).

    Each iteration gives one edge after the other its best δ, there and back along a walk through
    the graph, in O(mK). The bound never falls; it tends to a value not above that of the linear
    program, so a gap may remain. Trees are solved exactly instead. The value is computed from the
    final δ alone, less a few units in the last place of everything that it adds up, so it holds
    in spite of rounding (of the costs as they are given: those that closure adds up from tables
    have rounding of their own).

    Where entailed links would make too many edges to write out they are left out: they cost
    nothing at best, so the bound holds, if further below.

    Parameters
    ----------
    field : PottsField
    max_iter : int, default=200
    tol : float, default=1e-9
        A component is finished when 5 iterations in a row each raise its bound by less than
        ``tol·(1 + |bound|)``.
    target : float, optional
        The energy of a labelling: stop once the bound is within ``1e-9·(1 + |target|)`` of it.

    Examples
    --------
    >>> from linkfield.inference import PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> round(lower_bound(field).value, 9)
    0.4
    """
    if not max_iter >= 0:
        raise ValueError(f"max_iter must be at least 0; got {max_iter!r}")
    if not tol >= 0:
        raise ValueError(f"tol must be a number from 0 on; got {tol!r}")
    if target is not None and math.isnan(target):
        raise ValueError("target must be an energy, not NaN; leave it out if there is none")
    ascent = _Ascent(Layout(_written_or_without(field)), tol)
    trace: list[float] = []
    reached = _reached(ascent.bounds, target)
    while ascent.busy.any() and not reached and len(trace) < max_iter:
        ascent.iterate(backwards=len(trace) % 2 == 1)
        trace.append(_sum_down(ascent.bounds))
        reached = _reached(ascent.bounds, target)
    parts = ascent.by_component(field.connected)
    finished = reached or not ascent.busy.any()
    return LowerBound(_sum_down(ascent.bounds), parts, np.array(trace), len(trace), finished)


def _reached(bounds: FloatArray, target: float | None) -> bool:
    return target is not None and _sum_down(bounds) >= target - 1e-9 * (1.0 + abs(target))


def certified(result: InferenceResult, field: PottsField, **options: Any) -> InferenceResult:
    """Return a result with the better of its own lower bound and that of :func:`lower_bound`.

    ``options`` are those of :func:`lower_bound`; its target is the result's energy unless given.
    ``result.optimal`` then tells whether the labelling is proven best.
    """
    bound = lower_bound(field, **{"target": result.energy, **options})
    parts = bound.by_component
    if result.component_bounds is not None:
        parts = np.maximum(parts, result.component_bounds)
    value = max(result.lower_bound, bound.value, _sum_down(parts))
    return replace(result, lower_bound=value, component_bounds=parts)


def _written_or_without(field: PottsField) -> PottsField:
    """Return the explicit field, without its entailed links where they are too many."""
    try:
        return explicit(field)
    except ValueError:
        edges_only = PottsField(field.unary, field.edges, field.agree_cost, field.differ_cost)
        return explicit(edges_only)


class _Ascent:
    """Duals on their way up, and the best bound so far of every component."""

    def __init__(self, layout: Layout, tol: float) -> None:
        self.layout, self.tol = layout, tol
        self.duals = solved_trees(layout, layout.trees)[1]
        self.sums = np.empty_like(layout.field.unary)
        self.sizes = np.empty_like(self.sums)
        self.idle = np.zeros(layout.n_components, dtype=np.int64)
        self.bounds = np.full(layout.n_components, -np.inf)
        self.busy = np.ones(layout.n_components, dtype=bool)
        self._look_at(self.busy)
        self.bounds = self._value()
        self.busy = ~layout.trees
        self._look_at(self.busy)

    def _look_at(self, chosen: BoolArray) -> None:
        self.nodes, self.edges = self.layout.nodes_of(chosen), self.layout.edges_of(chosen)

    def _value(self) -> FloatArray:
        """Return the value of the duals of the components under way, 0 for the others."""
        from ._dual_kernels import ULP, dual_value

        layout, total = self.layout, np.zeros((3, self.layout.n_components))
        dual_value(
            layout.edges, self.duals, self.edges, self.nodes, layout.adjacency[0],
            layout.component, self.sums, self.sizes, total,
        )  # fmt: skip
        return np.asarray(total[0] + total[1] - 4 * ULP * total[2])

    def iterate(self, backwards: bool) -> None:
        """Give every edge under way its best duals once."""
        from ._message_kernels import raise_duals

        order = self.edges[::-1].copy() if backwards else self.edges
        raise_duals(self.layout.edges, self.duals, self.sums, order)
        value = np.where(self.busy, self._value(), -np.inf)
        gained = value > self.bounds + self.tol * (1.0 + np.abs(self.bounds))
        self.idle = np.where(gained, 0, self.idle + 1)
        self.bounds = np.maximum(self.bounds, value)
        finished = self.busy & (self.idle >= PATIENCE)
        if finished.any():  # from now on they are left alone
            self.busy &= ~finished
            self.nodes = self.nodes[self.busy[self.layout.component[self.nodes]]]
            self.edges = self.edges[self.busy[self.layout.edge_component[self.edges]]]

    def by_component(self, component: IntArray) -> FloatArray:
        """Return the bounds by component of the whole field, each made of some of the layout's."""
        parts = self.layout.regrouped(self.bounds, component)
        if parts is self.bounds:
            return parts
        sizes = self.layout.regrouped(np.abs(self.bounds), component)
        return parts - 2.0**-52 * len(self.bounds) * sizes


def _sum_down(values: FloatArray) -> float:
    """Return a sum that is not above the exact one (numpy adds pair by pair)."""
    slack = 2.0**-47 * float(np.abs(values).sum()) if len(values) > 1 else 0.0
    return float(values.sum()) - slack
