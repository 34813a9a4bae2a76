"""Loopy belief propagation (maths.md 4.2; Pearl 1988; Bilenko & Basu 2004, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from ._message_layout import Layout
from .base import Inference, InferenceResult, checked_start
from .explicit import explicit
from .polish import polished
from .trees import solved_trees

__all__ = ["BeliefPropagation"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: exp of minus this is zero: how many temperatures a hard constraint must cost at least.
NEVER = 750.0


@dataclass
class BeliefPropagation(Inference):
    """Messages along the edges say what each label of a node would cost its neighbour.

    m_{i→j}(h') = min_h B_{i→j}(h) + V_ij(h, h'),  B_{i→j} = U_i + Σ_{k∈N(i)∖j} m_{k→i}

    (min-sum). Components without a cycle are solved exactly, in two passes from the leaves to the
    root and back; on the others the messages go round until they settle, which they need not.
    Labels are read off the beliefs b_i = U_i + Σ m, the most decided node first, and each label
    replaces its node's messages by the true costs. At a ``temperature`` T > 0 minima become
    −T log Σ exp(−·/T) (sum-product), and ``marginals`` estimates P(l_i = h) under exp(−En/T),
    exactly on trees.

    The result's ``trace`` is the largest change of a message, iteration by iteration; ``n_iter``
    is 0 where all components are trees. Its ``lower_bound`` is the energy on forests at T = 0,
    ``-inf`` otherwise: :func:`linkfield.inference.bound.certified` adds one.

    Parameters
    ----------
    damping : float in [0, 1), optional
        Share of the old message in the new one; by default 0.5. Trees need none and have none.
    schedule : {"flooding", "random"}, default="flooding"
        All messages at once from the old ones, or one edge after the other in random order.
    max_iter : int, default=200
    tol : float, default=1e-6
        A component has settled once no message changes by more than this share of its scale: the
        mean range of its unary costs, or the temperature where that is smaller.
    temperature : float, default=0.0
    polish : bool, default=True
        Descend from the decoded labels by the moves of ICM, and from ``start`` if there is one;
        the better of the two is the answer. Otherwise ``start`` has no effect.

    Examples
    --------
    >>> from linkfield.inference.belief_propagation import BeliefPropagation
    >>> from linkfield.inference import PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> BeliefPropagation().solve(field).labels
    array([0, 0])
    >>> BeliefPropagation(temperature=0.5).solve(field).marginals.round(3)
    array([[0.774, 0.226],
           [0.746, 0.254]])
    """

    damping: float | None = None
    schedule: str = "flooding"
    max_iter: int = 200
    tol: float = 1e-6
    temperature: float = 0.0
    polish: bool = True

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; the random schedule alone draws from ``random_state``."""
        self._check()
        start, rng, T = checked_start(field, start), as_generator(random_state), self.temperature
        # In probabilities a hard constraint must outweigh the number of labellings, too.
        above = T * (NEVER + field.n_nodes * np.log(field.n_labels))
        layout = Layout(explicit(field, above=above))
        exact = layout.trees if T == 0 else np.zeros(layout.n_components, dtype=bool)
        forest, _ = solved_trees(layout, exact)
        traffic = _Traffic(layout, T)
        if T > 0:
            traffic.pass_trees()
        trace, converged = self._iterate(traffic, self._limits(field, layout), rng)
        labels = traffic.decoded(forest.labels, ~exact)
        energy = field.energy(labels)
        if self.polish and not exact.all():
            tries = [polished(field, x) for x in (labels, start) if x is not None]
            labels, energy = min(tries, key=lambda found: found[1])
        bounds = layout.regrouped(forest.energies, field.connected) if T == 0 else None
        return InferenceResult(
            labels,
            energy,
            lower_bound=-np.inf if bounds is None else min(float(bounds.sum()), energy),
            marginals=traffic.marginals() if T > 0 else None,
            n_iter=len(trace),
            converged=converged,
            trace=trace,
            component_bounds=bounds,
        )

    def _check(self) -> None:
        if self.damping is not None and not 0 <= self.damping < 1:
            raise ValueError(f"damping must be None or in [0, 1); got {self.damping!r}")
        if self.schedule not in ("flooding", "random"):
            raise ValueError(f"schedule must be 'flooding' or 'random'; got {self.schedule!r}")
        if not self.max_iter >= 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter!r}")
        if not self.tol >= 0:
            raise ValueError(f"tol must be a number from 0 on; got {self.tol!r}")
        if not 0 <= self.temperature < np.inf:
            raise ValueError(
                f"temperature must be 0 (min-sum) or a positive number; got {self.temperature!r}"
            )

    def _limits(self, field: PottsField, layout: Layout) -> FloatArray:
        """Return for every component the change of a message below which it has settled."""
        high = np.max(
            np.where(np.isinf(field.unary), -np.inf, field.unary), axis=1, initial=-np.inf
        )
        spread = high - field.unary.min(axis=1, initial=np.inf)
        size = np.bincount(layout.component, minlength=layout.n_components)
        scale = np.bincount(layout.component, spread, layout.n_components) / size
        scale[scale == 0] = 1.0
        if self.temperature > 0:  # marginals see a message in units of the temperature
            scale = np.clip(self.temperature, 1e-6 * scale, scale)
        return self.tol * scale

    def _iterate(
        self, traffic: _Traffic, limits: FloatArray, rng: np.random.Generator
    ) -> tuple[FloatArray, bool]:
        """Pass messages on the components with cycles until each has settled."""
        layout, random = traffic.layout, self.schedule == "random"
        rule = (0.5 if self.damping is None else float(self.damping), random)
        busy = ~layout.trees
        nodes, edges = layout.nodes_of(busy), layout.edges_of(busy)
        trace: list[float] = []
        while busy.any() and len(trace) < self.max_iter:
            order = rng.permutation(edges) if random else edges
            change = traffic.run(order, nodes, *rule)
            trace.append(float(change[busy].max()))
            settled = busy & (change <= limits)
            if settled.any():  # from now on they are left alone
                busy &= ~settled
                nodes = nodes[busy[layout.component[nodes]]]
                edges = edges[busy[layout.edge_component[edges]]]
        return np.array(trace), not busy.any()


class _Traffic:
    """Messages under way, and their sums with the unary costs at every node."""

    def __init__(self, layout: Layout, temperature: float) -> None:
        self.layout, self.temperature = layout, float(temperature)
        self.messages = layout.new_messages()
        self.sums = layout.field.unary.copy()

    def run(self, order: IntArray, nodes: IntArray, damping: float, in_place: bool) -> FloatArray:
        """Renew the messages of the edges ``order``; return the largest change by component."""
        from ._message_kernels import gather, pass_messages

        edges, change = self.layout.edges, np.zeros(self.layout.n_components)
        rule = (damping, self.temperature, in_place)
        pass_messages(edges, self.messages, self.sums, order, self.layout.component, rule, change)
        gather(edges, self.messages, order, nodes, self.sums)
        return change

    def pass_trees(self) -> None:
        """Make the messages of all trees final: from the leaves to the roots, and back."""
        trees = self.layout.trees
        nodes = self.layout.nodes_of(trees)
        edges = self.layout.walk[1][nodes]
        edges = edges[edges >= 0]
        for order in (edges[::-1].copy(), edges):
            self.run(order, nodes, 0.0, True)

    def decoded(self, labels: IntArray, chosen: BoolArray) -> IntArray:
        """Label the nodes of the chosen components by their beliefs, in place."""
        from ._order_kernels import decode

        layout, nodes = self.layout, self.layout.nodes_of(chosen)
        decode(layout.edges, self.messages, self.sums.copy(), layout.adjacency, nodes, labels)
        return labels

    def marginals(self) -> FloatArray:
        """Return the beliefs as probabilities."""
        excess = self.sums - self.sums.min(axis=1, keepdims=True, initial=np.inf)
        with np.errstate(over="ignore"):  # what is infinitely unlikely has no share
            shares = np.exp(-excess / self.temperature)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))
