"""The best labelling, or how near to it the search came (maths.md 4.6)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from .._structure import by_group
from ..field import PottsField
from ._highs import seconds_left
from ._program import Program, exact_sums, program_of, trivial_bounds
from ._reduce import narrowed, reduced
from ._relaxation import relax
from .base import Inference, InferenceResult, checked_start
from .explicit import explicit
from .icm import ICM
from .rounding import best_rounding, better_of, component_energies, subfield

__all__ = ["Exact"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Rounds of cuts before branching, and the share of a component's time they may take.
CUT_ROUNDS, CUT_TIME = 10, 0.5

#: How many labellings are tried between two looks at the clock.
CHUNK = 2e7


@dataclass
class Exact(Inference):
    """The labelling of least energy, component by component.

    Labels that cannot be best are left out first. Components with few labellings are searched
    through; the others are relaxed with cuts, labels that the prices rule out are dropped, and
    what is still open goes to the branch and bound of HiGHS, from the best labelling of ICM and
    rounding.

    Where time runs out ``converged`` is False, the labels are the best found so far and
    ``lower_bound`` is still valid. Where HiGHS ended the search it is proven up to its tolerance
    of 1e-10 times the median cost, ten times of which are taken off; everywhere else up to
    rounding. ``n_iter`` counts the nodes of HiGHS.

    Parameters
    ----------
    time_limit : float or None, default=60.0
        Seconds; components come in the order of their size, each with its share of what is left.
    max_nodes : int or None, default=None
        The most nodes of branch and bound in one component.
    enumerate_limit : int, default=200_000
        Components with at most so many labellings are searched through.

    Examples
    --------
    >>> from linkfield.inference import PottsField
    >>> from linkfield.inference.exact import Exact
    >>> field = PottsField([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], [(0, 1), (1, 2)], 0.25, 0.0)
    >>> result = Exact().solve(field)
    >>> result.labels, round(result.energy, 6), result.optimal
    (array([0, 1, 0]), 0.2, True)
    """

    time_limit: float | None = 60.0
    max_nodes: int | None = None
    enumerate_limit: int = 200_000

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` is improved by ICM and then by search."""
        self._check()
        start = checked_start(field, start)
        limit = np.inf if self.time_limit is None else self.time_limit
        deadline = time.monotonic() + limit
        left = reduced(narrowed(explicit(field)))
        rng = as_generator(random_state)
        search = _Search(left.field, left.allowed, self, rng, deadline)
        search.begin(None if start is None else start[left.nodes])
        search.run()
        labels = left.labels.copy()
        labels[left.nodes] = search.labels
        component = field.connected
        bounds = exact_sums(component, left.constant, int(component.max(initial=-1)) + 1)
        first = np.unique(search.component, return_index=True)[1]
        np.add.at(bounds, component[left.nodes[first]], search.bounds)
        energy = field.energy(labels)
        return InferenceResult(
            labels,
            energy,
            lower_bound=min(float(bounds.sum()), energy),
            n_iter=search.n_nodes,
            converged=bool(search.proven.all()),
            component_bounds=bounds,
        )

    def _check(self) -> None:
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(
                "time_limit must be a number of seconds above 0, or None for no limit; "
                f"got {self.time_limit!r}"
            )
        for name in ("max_nodes", "enumerate_limit"):
            value = getattr(self, name)
            if name == "max_nodes" and value is None:
                continue
            if not isinstance(value, int | np.integer) or value < 0:
                raise ValueError(f"{name} must be a whole number of at least 0; got {value!r}")


class _Search:
    """The components of a reduced field, the best labels so far and what is proven of them."""

    def __init__(
        self,
        part: PottsField,
        allowed: BoolArray,
        options: Exact,
        rng: np.random.Generator,
        deadline: float,
    ) -> None:
        self.part, self.allowed, self.options = part, allowed, options
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

    def run(self) -> None:
        """Search all components, small ones first."""
        choices = np.log(self.allowed.sum(axis=1))
        sizes = np.zeros(self.count)
        np.add.at(sizes, self.component, choices)
        few = sizes <= np.log(max(self.options.enumerate_limit, 1)) + 1e-9
        order = np.argsort(sizes, kind="stable")
        self._search_through(order[few[order]], sizes)
        edges = np.bincount(self.component[self.part.edges[:, 0]], minlength=self.count)
        work = np.diff(self.start) + edges
        large = order[~few[order]]
        for k, c in enumerate(large):
            share = work[c] / work[large[k:]].sum()
            self._search_one(int(c), time.monotonic() + share * seconds_left(self.deadline))

    def _search_through(self, chosen: IntArray, sizes: FloatArray) -> None:
        """Find the best labels of components of e^sizes labellings, until time is up."""
        chunk = (np.cumsum(np.exp(sizes[chosen])) // CHUNK).astype(np.int64)
        for mine in np.split(chosen, np.flatnonzero(np.diff(chunk)) + 1):
            if not len(mine) or seconds_left(self.deadline) <= 0:
                break
            _try_all(self.part, self.allowed, self.labels, (mine, self.start, self.members))
            self.proven[mine] = True
        energy = component_energies(self.part, self.labels, self.component, self.count)
        self.bounds[self.proven] = energy[self.proven]

    def _search_one(self, c: int, deadline: float) -> None:
        """Find the best labels of one component, or a bound if time is up."""
        if seconds_left(deadline) <= 0:
            return
        nodes = self.members[self.start[c] : self.start[c + 1]]
        one = _Component(subfield(self.part, nodes), self.allowed[nodes], self.labels[nodes])
        proven = one.by_tree() or one.by_program(self.options, self.rng, deadline)
        self.labels[nodes], self.proven[c] = one.labels, proven
        self.bounds[c] = max(self.bounds[c], one.bound)
        self.n_nodes += one.n_nodes


@dataclass
class _Component:
    """One component, its best labels so far and a bound on its energy."""

    part: PottsField
    allowed: BoolArray
    labels: IntArray
    bound: float = -np.inf
    n_nodes: int = 0

    def by_tree(self) -> bool:
        """Solve a component without cycles; return whether it was one."""
        labels = _by_tree(self.part)
        if labels is None:
            return False
        self._improve(labels)
        self.bound = self._energy()
        return True

    def by_program(self, options: Exact, rng: np.random.Generator, deadline: float) -> bool:
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
        if np.log(left.sum(axis=1)).sum() <= np.log(max(options.enumerate_limit, 1)):
            everyone = np.array([0]), np.array([0, len(one)]), np.arange(len(one))
            _try_all(self.part, left, self.labels, everyone)
            self.bound = self._energy()
            return True
        found = relaxed.solver.search(self.labels, zero, options.max_nodes, deadline)
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


def _by_tree(part: PottsField) -> IntArray | None:
    """Return the best labels of a component without cycles, None where none are found here."""
    return None


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
