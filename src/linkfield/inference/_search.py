"""Search for the best labels of a field, component by component, with what is proven of them."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._structure import by_group
from ..field import PottsField
from ._highs import seconds_left
from ._program import Program, exact_sums, program_of, trivial_bounds
from ._reduce import Reduced
from ._relaxation import relax
from .belief_propagation import BeliefPropagation
from .icm import ICM
from .rounding import best_rounding, better_of, component_energies, subfield
from .trees import solve_forest

__all__ = ["Search"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Rounds of cuts before branching, and the share of a component's time they may take.
CUT_ROUNDS, CUT_TIME = 10, 0.5

#: Iterations of belief propagation: what it does not find in so many it rarely finds at all.
PASSES = 30

#: How many labellings are tried between two looks at the clock.
CHUNK = 2e7


class Search:
    """The components of a reduced field, the best labels so far and what is proven of them."""

    def __init__(
        self,
        part: PottsField,
        allowed: BoolArray,
        rng: np.random.Generator,
        deadline: float = np.inf,
    ) -> None:
        self.part, self.allowed = part, allowed
        self.rng, self.deadline = rng, deadline
        self.component = part.connected
        self.count = int(self.component.max(initial=-1)) + 1
        self.start, self.members = by_group(self.component, self.count)
        self.bounds = trivial_bounds(part, allowed, self.component, self.count)
        self.proven = np.zeros(self.count, dtype=bool)
        self.labels = np.empty(0, dtype=np.int64)
        self.n_nodes = 0

    def begin(self, start: IntArray | None) -> None:
        """Set out from the labels of ICM, where there is a start the better of two."""
        self.labels = ICM().solve(self.part, None, self.rng).labels
        if start is not None:
            other = ICM().solve(self.part, start, self.rng).labels
            self.labels = better_of(self.part, self.component, other, self.labels)

    def propagate(self, budget: float = np.inf) -> IntArray:
        """Let belief propagation improve what is not proven; return the components it did.

        Not done where a pass over its messages would touch more than ``budget`` numbers.
        """
        nodes = np.flatnonzero(~self.proven[self.component])
        none = np.empty(0, dtype=np.int64)
        if len(nodes) == 0 or seconds_left(self.deadline) <= 0:
            return none
        rest = subfield(self.part, nodes)
        if len(rest.edges) * rest.n_labels > budget:
            return none
        found, before = self.labels.copy(), self.labels
        found[nodes] = BeliefPropagation(max_iter=PASSES).solve(rest).labels
        self.labels = better_of(self.part, self.component, before, found)
        return np.unique(self.component[before != self.labels])

    def solve_trees(self) -> IntArray:
        """Find the best labels of components without cycles; return their numbers."""
        forest = solve_forest(self.part)
        mine = forest.solved[self.component]
        self.labels[mine] = forest.labels[mine]
        return self._prove(np.flatnonzero(forest.solved))

    def try_all(self, limit: int) -> IntArray:
        """Find the best labels of components of few labellings; return their numbers."""
        sizes = np.zeros(self.count)
        np.add.at(sizes, self.component, np.log(self.allowed.sum(axis=1)))
        few = ~self.proven & (sizes <= np.log(max(limit, 1)) + 1e-9)
        order = np.argsort(sizes, kind="stable")
        chosen = order[few[order]]
        chunk = (np.cumsum(np.exp(sizes[chosen])) // CHUNK).astype(np.int64)
        done = np.empty(0, dtype=np.int64)
        for mine in np.split(chosen, np.flatnonzero(np.diff(chunk)) + 1):
            if not len(mine) or seconds_left(self.deadline) <= 0:
                break
            _try_all(self.part, self.allowed, self.labels, (mine, self.start, self.members))
            done = np.r_[done, mine]
        return self._prove(done)

    def branch_and_bound(self, max_nodes: int | None, limit: int) -> None:
        """Search the other components, small ones first, each with its share of the time."""
        edges = np.bincount(self.component[self.part.edges[:, 0]], minlength=self.count)
        work = np.diff(self.start) + edges
        order = np.argsort(np.diff(self.start), kind="stable")
        large = order[~self.proven[order]]
        for k, c in enumerate(large):
            share = work[c] / work[large[k:]].sum()
            deadline = time.monotonic() + share * seconds_left(self.deadline)
            self._search_one(int(c), max_nodes, limit, deadline)

    def put_into(self, left: Reduced, component: IntArray) -> tuple[IntArray, FloatArray]:
        """Return the labels of the whole field that was reduced, and bounds by its components."""
        labels = left.labels.copy()
        labels[left.nodes] = self.labels
        bounds = exact_sums(component, left.constant, int(component.max(initial=-1)) + 1)
        first = np.unique(self.component, return_index=True)[1]
        np.add.at(bounds, component[left.nodes[first]], self.bounds)
        return labels, bounds

    def _prove(self, components: IntArray) -> IntArray:
        """Note that the labels of some components are the best."""
        energy = component_energies(self.part, self.labels, self.component, self.count)
        self.proven[components] = True
        self.bounds[components] = energy[components]
        return components

    def _search_one(self, c: int, max_nodes: int | None, limit: int, deadline: float) -> None:
        """Find the best labels of one component, or a bound if time is up."""
        if seconds_left(deadline) <= 0:
            return
        nodes = self.members[self.start[c] : self.start[c + 1]]
        one = Component(subfield(self.part, nodes), self.allowed[nodes], self.labels[nodes])
        proven = one.by_program(max_nodes, limit, self.rng, deadline)
        self.labels[nodes], self.proven[c] = one.labels, proven
        self.bounds[c] = max(self.bounds[c], one.bound)
        self.n_nodes += one.n_nodes


@dataclass
class Component:
    """One component, its best labels so far and a bound on its energy."""

    part: PottsField
    allowed: BoolArray
    labels: IntArray
    bound: float = -np.inf
    n_nodes: int = 0

    def by_program(
        self, max_nodes: int | None, limit: int, rng: np.random.Generator, deadline: float
    ) -> bool:
        """Relax, drop what prices rule out, and branch; return whether the labels are proven."""
        one = np.zeros(self.part.n_nodes, dtype=np.int64)
        program = program_of(self.part, self.allowed, one, 1)
        half = time.monotonic() + CUT_TIME * seconds_left(deadline)
        relaxed = relax(program, self.part.edges, CUT_ROUNDS, deadline, half)
        self.bound = float(relaxed.bounds[0])
        self._improve(best_rounding(self.part, relaxed.shares, 10, True, rng))
        if self._closed() or seconds_left(deadline) <= 0:
            return self._closed()
        margin = 1e-9 * (1.0 + abs(self._energy()))
        gap = self._energy() - float(program.bounds(relaxed.prices)[0]) + margin
        zero = program.ruled_out(relaxed.prices, gap)
        left = self._left(program, zero)
        if np.log(left.sum(axis=1)).sum() <= np.log(max(limit, 1)):
            everyone = np.array([0]), np.array([0, len(one)]), np.arange(len(one))
            _try_all(self.part, left, self.labels, everyone)
            self.bound = self._energy()
            return True
        found = relaxed.solver.search(self.labels, zero, max_nodes, deadline)
        self.n_nodes += found.nodes
        if found.x is not None:
            self._improve(program.shares(found.x).argmax(axis=1))
        self.bound = min(max(self.bound, found.bound), self._energy())
        return found.solved or self._closed()

    def _left(self, program: Program, zero: BoolArray) -> BoolArray:
        """Return the labels that are not ruled out; those at hand stay, and leave ``zero``."""
        left = self.allowed.copy()
        left[self.allowed] = ~zero[program.column[self.allowed]]
        left |= self.allowed & (np.arange(left.shape[1]) == self.labels[:, None])
        zero[program.column[left]] = False
        return left

    def _energy(self) -> float:
        return self.part.energy(self.labels)

    def _improve(self, labels: IntArray) -> None:
        if self.part.energy(labels) < self._energy():
            self.labels = labels

    def _closed(self) -> bool:
        return self._energy() - self.bound <= 1e-10 * (1.0 + abs(self._energy()))


def _try_all(
    part: PottsField,
    allowed: BoolArray,
    labels: IntArray,
    components: tuple[IntArray, IntArray, IntArray],
) -> None:
    """Put the best labels of components into ``labels``: (which, starts, members)."""
    from ._exact_kernels import search_all

    agree, differ = (
        np.ascontiguousarray(c[:, None] if c.ndim == 1 else c)
        for c in (part.agree_cost, part.differ_cost)
    )
    graph = (*part.structure.adjacency, agree, differ)
    search_all(*components, part.unary, allowed, graph, labels)
