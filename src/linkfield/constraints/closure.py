"""What constraints entail: components, and which components are apart (maths.md 1.2, 1.3).

Rows that must-links join form a component; a cannot-link between two rows puts their components
apart. Everything here is linear in the number of given pairs: the entailed pairs are counted,
never listed, unless they are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from ._normal import IntArray, places, stable_order, unique_rows, with_smaller_first
from .labels import PartialLabels
from .pairs import PAIR_BUDGET, Constraints, check_budget

__all__ = ["Closure", "between", "must_components", "within"]

#: Up to so many links are joined one by one, and up to so many by a few steps of numpy.
FEW, SOME = 60, 5_000


def must_components(n_nodes: int, must: IntArray) -> IntArray:
    """Return the component number of every node, numbered by their first node.

    Iterative, so a chain of a million must-links is no harder than any other graph.
    """
    if len(must) <= FEW:
        return _numbered(_led_by_hand(n_nodes, must))
    if len(must) <= SOME and n_nodes <= 10 * SOME:
        return _numbered(_led_by_steps(n_nodes, must))
    graph = coo_array((np.ones(len(must), np.int8), (must[:, 0], must[:, 1])), (n_nodes, n_nodes))
    count, component = connected_components(graph.tocsr(), directed=False)
    first = np.empty(count, dtype=np.int64)
    first[component[::-1]] = np.arange(n_nodes)[::-1]  # what is written last stays
    return _numbered(first[component])


def _numbered(lead: IntArray) -> IntArray:
    """Number components that are led by their first nodes."""
    return (np.cumsum(lead == np.arange(len(lead))) - 1)[lead]


def _led_by_hand(n_nodes: int, must: IntArray) -> IntArray:
    """Return the first node of every node's component, where other ways would take longer."""
    root: dict[int, int] = {}
    for a, b in must.tolist():
        while a in root:
            a = root[a]
        while b in root:
            b = root[b]
        if a != b:
            root[max(a, b)] = min(a, b)
    lead = np.arange(n_nodes)
    for node in sorted(root):  # the lead of a smaller node is known when it is asked for
        lead[node] = lead[root[node]]
    return lead


def _led_by_steps(n_nodes: int, must: IntArray) -> IntArray:
    """Do the same where building a sparse matrix would take longer.

    Of two leads that a link joins the larger follows the smaller, all at once. In two steps a lead
    has followed another or has got followers, so the number of steps grows with the logarithm.
    """
    lead, (a, b) = np.arange(n_nodes), np.ascontiguousarray(must.T)
    while True:
        one, other = lead[a], lead[b]
        if np.array_equal(one, other):
            return lead
        np.minimum.at(lead, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(lead[lead], lead):
            lead = lead[lead]


@dataclass(frozen=True)
class Closure:
    """The components of the must-link graph and the graph of cannot-links between them.

    Attributes
    ----------
    constraints : Constraints
    rows : int array (n_tied,)
        The rows that occur in constraints.
    component : int array (n_tied,)
        The component of each of them.
    class_component : int array (n_classes,)
        The component in which each class of the given labels lies.
    apart : int array (n_edges, 2)
        Pairs of different components with a cannot-link between them, each once.
    contradictory : bool array (n_components,)
        Components that hold both ends of a cannot-link.
    """

    constraints: Constraints
    rows: IntArray
    component: IntArray
    class_component: IntArray
    apart: IntArray
    contradictory: NDArray[np.bool_]

    @classmethod
    def of(cls, constraints: Constraints) -> Closure:
        """Compute the closure of constraints."""
        labels, is_must = constraints.labels, constraints._must
        rows = constraints.tied_rows()
        n_rows, n_classes = len(rows), len(labels.classes)
        ends = places(rows, constraints._pairs)
        # A class is a node of its own, joined to its rows: a star instead of a clique.
        star = np.column_stack([np.searchsorted(rows, labels.rows), n_rows + labels.codes])
        component = must_components(n_rows + n_classes, np.concatenate([ends[is_must], star]))
        cannot = component[ends[~is_must]]
        between = component[n_rows + _all_pairs(n_classes)]
        edges = with_smaller_first(np.concatenate([cannot, between]))
        inside = edges[:, 0] == edges[:, 1]
        contradictory = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
        contradictory[edges[inside, 0]] = True
        apart, _ = unique_rows(edges[~inside])
        return cls(constraints, rows, component[:n_rows], component[n_rows:], apart, contradictory)

    @property
    def n_components(self) -> int:
        """Number of components, single rows included."""
        return len(self.contradictory)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows in each component."""
        return np.bincount(self.component, minlength=self.n_components).astype(np.int64)

    @cached_property
    def graph(self) -> csr_array:
        """The components' cannot-link graph as a symmetric sparse matrix."""
        both = np.concatenate([self.apart, self.apart[:, ::-1]])
        shape = (self.n_components, self.n_components)
        return csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=shape)

    @property
    def n_must_link(self) -> int:
        """Number of must-links in the augmented set."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def n_cannot_link(self) -> int:
        """Number of cannot-links in the augmented set."""
        return int((self.sizes[self.apart[:, 0]] * self.sizes[self.apart[:, 1]]).sum())

    @cached_property
    def _members(self) -> tuple[IntArray, IntArray]:
        order = stable_order(self.component)
        starts = np.r_[0, np.cumsum(self.sizes)]
        return order, starts

    def members(self, component: int) -> IntArray:
        """Return the rows of one component."""
        order, starts = self._members
        return self.rows[order[starts[component] : starts[component + 1]]]

    def neighbourhoods(self) -> list[IntArray]:
        """Return the components of two rows or more, and every class's, largest first.

        Contradictory components count too: they still say what the user thinks belongs together
        (maths.md 1.3), and initialisation can use that.
        """
        chosen = self.sizes >= 2
        chosen[self.class_component] = True
        numbers = np.flatnonzero(chosen)
        numbers = numbers[np.argsort(-self.sizes[numbers], kind="stable")]
        return [self.members(int(k)) for k in numbers]

    def pairs(self, max_pairs: int = PAIR_BUDGET, *, source: str | None = None) -> Constraints:
        """Write the augmented set of Basu et al. out; refused above ``max_pairs``.

        A given pair keeps its weight, an entailed one has weight 1, and ``source``. Contradictory
        components entail nothing: their pairs stay as given.
        """
        trusted = ~self.contradictory
        order, starts = self._members
        cliques = np.flatnonzero(trusted & (self.sizes > 1))
        products = self.apart[trusted[self.apart].all(axis=1)]
        n_pairs = (self.sizes[cliques] * (self.sizes[cliques] - 1) // 2).sum()
        n_pairs += self.sizes[products].prod(axis=1).sum()
        check_budget(int(n_pairs), "the closure has", max_pairs)
        must = within(order, starts, cliques)
        cannot = between(order, starts, products)
        given = self.constraints.pairs()
        ends = np.concatenate(
            [np.column_stack([given["a"], given["b"]]), self.rows[must], self.rows[cannot]]
        )
        is_must = np.r_[given["kind"] == "must", np.repeat([True, False], [len(must), len(cannot)])]
        weight = np.r_[given["weight"], np.ones(len(must) + len(cannot))]
        sources = np.full(len(ends), source, dtype=object)
        sources[: len(given)] = None
        sources[: len(self.constraints._source)] = self.constraints._source
        # The given pair stands first, and it is the one that is kept.
        key = np.column_stack([with_smaller_first(ends), is_must])
        _, first = unique_rows(key)
        return self.constraints._with(
            pairs=ends[first],
            must=is_must[first],
            weight=weight[first],
            source=sources[first],
            labels=PartialLabels.empty(),
        )

    def clusters_suffice(self, n_clusters: int) -> tuple[str, IntArray | None]:
        """Say whether ``n_clusters`` can keep every cannot-link: cheap answers only.

        Returns
        -------
        status : {"feasible", "infeasible", "unknown"}
        core : int array or None
            Components that are mutually apart and more than ``n_clusters``; None where it is
            a contradiction inside a component that no number of clusters can keep.
        """
        from .colouring import dsatur, greedy_clique

        core = self._core(n_clusters)
        part = self.graph[core][:, core] if len(core) else None
        clique = core[:0] if part is None else core[greedy_clique(part)]
        if len(clique) > n_clusters:
            return "infeasible", clique
        if self.contradictory.any():
            return "infeasible", None
        if part is None or dsatur(part, n_clusters) is not None:
            return "feasible", None
        return "unknown", None

    def _core(self, k: int) -> IntArray:
        """Return the components that are left when those apart from fewer than k others go.

        Whoever goes finds one of k clusters free when the others have theirs, so only the rest
        (the k-core of the graph) can be a problem.
        """
        edges, core = self.apart, np.arange(0)
        n = len(self.contradictory)
        while len(edges):
            degree = np.bincount(edges.ravel(), minlength=n)
            core = np.flatnonzero(degree >= k)
            stays = (degree >= k)[edges].all(axis=1)
            if stays.all():
                return core
            edges = edges[stays]
        return core[:0]


def _all_pairs(n: int) -> IntArray:
    """Return all pairs of 0..n-1, refusing where there would be too many to hold."""
    check_budget(n * (n - 1) // 2, f"{n} different classes in the labels put apart")
    return np.column_stack(np.triu_indices(n, k=1)).astype(np.int64)


def between(order: IntArray, starts: IntArray, edges: IntArray) -> IntArray:
    """Return all pairs of members for every pair of sets in ``edges``.

    Set k holds ``order[starts[k]:starts[k + 1]]``.
    """
    left, right = edges[:, 0], edges[:, 1]
    n_left, n_right = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
    count = n_left * n_right
    edge = np.repeat(np.arange(len(edges)), count)
    k = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    a = order[starts[left][edge] + k // n_right[edge]]
    b = order[starts[right][edge] + k % n_right[edge]]
    return np.column_stack([a, b])


def within(order: IntArray, starts: IntArray, sets: IntArray) -> IntArray:
    """Return all pairs of different members of every set in ``sets``, each once."""
    pairs = between(order, starts, np.column_stack([sets, sets]))
    return pairs[pairs[:, 0] < pairs[:, 1]]
