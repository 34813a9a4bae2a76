"""The free energy of a field whose nodes have probabilities instead of labels (maths.md 4.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..field import PottsField
from . import _mean_field_kernels as kernels
from .explicit import explicit

__all__ = ["FreeEnergy", "one_hot"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: A hard edge costs this many times the temperature more than everything else together.
HARD = 1e6


@dataclass(frozen=True)
class FreeEnergy:
    """F(q) = Σ_i ⟨q_i, U_i⟩ + Σ_e E_q[cost of e] − Σ_i τ_i H(q_i), laid out for compiled loops.

    Without edges its least value is −Σ τ_i log Σ_h exp(−U_ih/τ_i). On labels (each q_i one of them
    for certain) F is the energy of the field.

    Attributes
    ----------
    unary : float array (n, K)
        ``inf`` forbids a label: it never gets any probability.
    agree, differ : float arrays (m, 1 or K)
    heat : float array (n,)
        τ_i, the temperature times the weight of the node's entropy.
    costs : float array (n, K)
        The unary costs and ½ differ of every edge, where that depends on the label.
    gap : float array (m, 1 or K)
        agree − differ.
    """

    unary: FloatArray
    agree: FloatArray
    differ: FloatArray
    heat: FloatArray
    costs: FloatArray
    gap: FloatArray
    left: IntArray
    right: IntArray
    pointer: IntArray
    neighbour: IntArray
    edge: IntArray
    visit: IntArray
    component: IntArray

    @classmethod
    def of(cls, field: PottsField, heat: FloatArray) -> FreeEnergy:
        """Lay a field out; entailed links are written out, refused where they are too many."""
        plain = _plain(field, HARD * float(heat.max(initial=0.0)))
        agree, differ = (
            c[:, None] if c.ndim == 1 else c for c in (plain.agree_cost, plain.differ_cost)
        )
        unary, graph = field.unary, plain.structure
        with np.errstate(over="ignore"):
            total = np.abs(agree).sum() + np.abs(differ).sum() + np.ptp(plain.unary, axis=1).sum()
        if not np.isfinite(total):
            raise ValueError("the costs add up to more than a number can hold; scale them down")
        costs = unary.copy()
        if agree.shape[1] > 1:
            for ends in graph.ends:
                np.add.at(costs, ends, 0.5 * differ)
        # 0 divided by 0 is not a number; a node without heat takes its cheapest label.
        heat = np.maximum(heat, np.finfo(float).tiny)
        arrays = (unary, agree, differ, heat, costs, agree - differ, *graph.ends, *graph.adjacency,
                  field.structure.visit, graph.connected)  # fmt: skip
        return cls(*(_writeable(array) for array in arrays))

    @property
    def coupled(self) -> bool:
        """Whether there is any edge."""
        return len(self.gap) > 0

    def at(self, factor: FloatArray) -> FreeEnergy:
        """Return the same with the nodes' heat times a factor each."""
        return replace(self, heat=self.heat * factor)

    def spread(self) -> FloatArray:
        """Return how far apart the costs of a node's labels can be, its edges included."""
        most = np.where(np.isinf(self.costs), -np.inf, self.costs).max(axis=1)
        own = most - self.costs.min(axis=1)
        each = np.abs(self.gap).max(axis=1, initial=0.0)
        for ends in (self.left, self.right):
            own += np.bincount(ends, each, minlength=len(own))
        return np.asarray(own)

    def alone(self) -> FloatArray:
        """Return what every node would be on its own: the softmax of its unary costs."""
        shifted = self.unary - self.unary.min(axis=1, keepdims=True)
        with np.errstate(over="ignore"):
            q = np.exp(-(shifted / self.heat[:, None]))
        return np.asarray(q / q.sum(axis=1, keepdims=True))

    def values(self, q: FloatArray) -> FloatArray:
        """Return F of every component."""
        out = np.zeros(int(self.component.max(initial=-1)) + 1)
        kernels.free_energies(
            self.unary, self.left, self.right, self.agree, self.differ, self.heat, q,
            self.component, out,
        )  # fmt: skip
        return out

    def sweep(self, q: FloatArray, waiting: NDArray[np.bool_], tol: float) -> float:
        """Minimise F in the q of one waiting node after the other; return the largest change."""
        return float(
            kernels.sweep(
                self.costs, self.gap, self.pointer, self.neighbour, self.edge, self.visit,
                self.heat, q, waiting, tol,
            )
        )  # fmt: skip

    def descend(self, q: FloatArray, sweeps: int, tol: float) -> Iterator[bool]:
        """Sweep, yielding each time whether no node would change by more than ``tol`` any more.

        A sweep looks at nodes whose neighbours changed; when there are none left, at all of them.
        """
        everyone, waiting = True, np.ones(len(q), dtype=bool)
        for _ in range(sweeps):
            settled = self.sweep(q, waiting, tol) <= tol
            yield settled and everyone
            if settled and everyone:
                return
            everyone = settled
            if everyone:
                waiting[:] = True

    def better(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return, for every component, that of two which has the lower F (ties: the first)."""
        mine = (self.values(second) < self.values(first))[self.component]
        return np.where(mine[:, None], second, first)


def one_hot(labels: IntArray, n_labels: int) -> FloatArray:
    """Return probabilities that are certain of labels."""
    q = np.zeros((len(labels), n_labels))
    q[np.arange(len(labels)), labels] = 1.0
    return q


def _plain(field: PottsField, extra: float) -> PottsField:
    """Return a field of finite costs without tables; hard edges cost ``extra`` on top."""
    finite = field.finite
    if finite is not field:
        agree = finite.agree_cost + np.where(np.isinf(field.agree_cost), extra, 0.0)
        differ = finite.differ_cost + np.where(np.isinf(field.differ_cost), extra, 0.0)
        finite = finite.with_costs(field.unary, agree, differ, field.entailed)
    forbidden = np.isinf(field.unary)
    if finite.entailed is not None:
        return explicit(finite)
    if not forbidden.any():
        return finite
    return finite.with_unary(np.where(forbidden, field.unary.min(axis=1)[:, None], field.unary))


def _writeable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of the one kind that the loops are compiled for."""
    return np.require(array, requirements=["C", "W"])
