"""Contradictions explained, and mended at the least cost (maths.md 1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from ._graphs import symmetric
from ._normal import IntArray
from .closure import Closure
from .labels import PartialLabels
from .multicut import cheapest_repair, shortest_chains
from .pairs import Constraints

__all__ = [
    "Conflict",
    "Link",
    "Repaired",
    "count_conflicts",
    "find_conflicts",
    "links_of",
    "repair",
]

#: So many must-links may be walked over, all searches together, when only some conflicts are
#: asked for.
_WORK = 50_000_000

#: So many conflicts are looked at for a chain of two must-links.
_LOOKED_AT = 20_000


@dataclass(frozen=True)
class Link:
    """One pair, as its user named it.

    Attributes
    ----------
    a, b : id or row position
        The two rows; where a label ties a row to its class, ``b`` is ``label 'x'``.
    kind : {"must", "cannot"}
    weight : float
    source : object
        Who said so, or None.
    """

    a: Any
    b: Any
    kind: str
    weight: float
    source: Any = None

    def __str__(self) -> str:
        return f"{self.a}-{self.b} {self.kind}"


@dataclass(frozen=True)
class Conflict:
    """A cannot-link whose two ends must-links tie together.

    Attributes
    ----------
    chain : tuple
        The rows (ids where there are any) of a shortest chain of must-links from one end to the
        other; where two rows of the chain are joined by a common label, the label stands between
        them as ``label 'x'``.
    cannot : tuple
        The two ends; two labels where rows of different classes are tied together.
    weight : float
        Weight of the cannot-link.
    links : tuple of Link
        The must-links of the chain, one by one, and at the end the cannot-link, with weights and
        sources.
    """

    chain: tuple[Any, ...]
    cannot: tuple[Any, Any]
    weight: float
    links: tuple[Link, ...] = ()

    def __str__(self) -> str:
        chain = "-".join(str(v) for v in self.chain)
        return f"{chain} must, {self.cannot[0]}-{self.cannot[1]} cannot"


@dataclass(frozen=True)
class Repaired:
    """A consistent subset of some constraints.

    Attributes
    ----------
    constraints : Constraints
        What is kept.
    dropped : Constraints
        What was dropped.
    cost : float
        Total weight of what was dropped.
    proven : bool
        Whether no cheaper repair exists.
    """

    constraints: Constraints
    dropped: Constraints
    cost: float
    proven: bool


@dataclass(frozen=True)
class _Graph:
    """Constraints as a graph whose nodes are tied rows and, after them, the labels' classes."""

    closure: Closure
    must: IntArray
    must_weight: np.ndarray[Any, np.dtype[np.float64]]
    cannot: IntArray
    cannot_weight: np.ndarray[Any, np.dtype[np.float64]]
    n_given_must: int
    n_given_cannot: int

    @classmethod
    def of(cls, constraints: Constraints) -> _Graph:
        closure = constraints.closure()
        table, labels, rows = constraints.pairs(labels=False), constraints.labels, closure.rows
        ends = np.searchsorted(rows, np.column_stack([table["a"], table["b"]]))
        must = table["kind"] == "must"
        star = np.column_stack([np.searchsorted(rows, labels.rows), len(rows) + labels.codes])
        # Only classes that ended up in one component can contradict each other.
        a, b = np.triu_indices(len(labels.classes), k=1)
        same = closure.class_component[a] == closure.class_component[b]
        classes = np.column_stack([a[same], b[same]]) + len(rows)
        return cls(
            closure,
            np.concatenate([ends[must], star]),
            np.r_[table["weight"][must], np.full(len(star), labels.weight)],
            np.concatenate([ends[~must], classes]),
            np.r_[table["weight"][~must], np.full(len(classes), labels.weight)],
            int(must.sum()),
            int((~must).sum()),
        )

    @property
    def n_nodes(self) -> int:
        return len(self.closure.rows) + len(self.closure.class_component)

    def names(self, nodes: Sequence[int] | IntArray) -> tuple[Any, ...]:
        rows, constraints = self.closure.rows, self.closure.constraints
        return tuple(
            constraints._named(rows[[n]])[0]
            if n < len(rows)
            else f"label {constraints.labels.classes[n - len(rows)]!r}"
            for n in nodes
        )

    def conflicting(self) -> IntArray:
        """Return the numbers of the cannot-links that lie inside a component."""
        component = self.component
        return np.flatnonzero(component[self.cannot[:, 0]] == component[self.cannot[:, 1]])

    @cached_property
    def component(self) -> IntArray:
        """The component of every node."""
        return np.r_[self.closure.component, self.closure.class_component]

    @cached_property
    def _must_keys(self) -> IntArray:
        """The given must-links as numbers, in ascending order, as ``Constraints`` keeps them."""
        return self.must[: self.n_given_must] @ np.array([self.n_nodes, 1])

    def link(self, a: int, b: int) -> Link:
        """Return the must-link between two nodes that are neighbours in a chain."""
        ends, given = sorted((a, b)), self.closure.constraints
        names = self.names((a, b))
        k = int(np.searchsorted(self._must_keys, ends[0] * self.n_nodes + ends[1]))
        if k < self.n_given_must and self.must[k].tolist() == ends:
            return Link(*names, "must", float(self.must_weight[k]), given._source[k])
        return Link(*names, "must", given.labels.weight, "labels")

    def conflict(self, number: int, chain: IntArray) -> Conflict:
        """Return one cannot-link with the chain that contradicts it, in the user's names."""
        a, b = self.names(self.cannot[number])
        weight = float(self.cannot_weight[number])
        given = number < self.n_given_cannot
        source = self.closure.constraints._source[self.n_given_must + number] if given else "labels"
        nodes = chain.tolist()
        steps = [self.link(x, y) for x, y in pairwise(nodes)]
        links = (*steps, Link(a, b, "cannot", weight, source))
        return Conflict(self.names(nodes), (a, b), weight, links)

    def telling(self, inside: IntArray, limit: int) -> IntArray:
        """Return the conflicts worth a search where all of them would take too long.

        Of every component the most telling one comes first: the same pair of both kinds, then a
        chain of two must-links, then the others; heavy cannot-links before light ones.
        """
        ends = self.cannot[inside]
        graph = symmetric(self.n_nodes, self.must)
        graph.data[:] = 1.0
        some = np.unique(np.linspace(0, len(ends) - 1, _LOOKED_AT).astype(np.int64))
        a, b = ends[some].T
        direct = np.asarray(graph[a, b]).ravel() > 0
        common = np.asarray(graph[a].multiply(graph[b]).sum(axis=1)).ravel() > 0
        rank = np.full(len(ends), 2)
        rank[some] = np.where(direct, 0, np.where(common, 1, 2))
        home = self.component[ends[:, 0]]
        order = _in_turn(ends[:, 0], home, rank, -self.cannot_weight[inside])
        size = np.bincount(self.component[self.must[:, 0]], minlength=self.closure.n_components)
        spent = np.cumsum(size[home[order]])
        return inside[order[: max(limit, int(np.searchsorted(spent, _WORK)))]]


def count_conflicts(constraints: Constraints) -> int:
    """Return the number of contradictions, without looking for their chains."""
    return len(_Graph.of(constraints).conflicting())


def find_conflicts(constraints: Constraints, limit: int | None = None) -> list[Conflict]:
    """Return contradictions with their shortest chains, shortest chains first.

    With ``limit``, that many at most: the shortest of those that can be searched in a moment, and
    of every contradictory component one before there are two.
    """
    graph = _Graph.of(constraints)
    inside = graph.conflicting()
    if len(inside) == 0 or limit == 0:
        return []
    if limit is not None and len(inside) > limit:
        inside = graph.telling(inside, limit)
    chains = shortest_chains(graph.n_nodes, graph.must, graph.cannot[inside])
    length = np.array([len(chain) if chain is not None else 0 for chain in chains])
    order = np.argsort(length, kind="stable")
    if limit is not None:
        ends = graph.cannot[inside]
        order = _in_turn(ends[:, 0], graph.component[ends[:, 0]], length)[:limit]
        order = order[np.argsort(length[order], kind="stable")]
    found = []
    for k in order.tolist():
        chain = chains[k]
        assert chain is not None
        found.append(graph.conflict(int(inside[k]), chain))
    return found


def _in_turn(row: IntArray, component: IntArray, *keys: Any) -> IntArray:
    """Return an order by some keys in which no component and no row comes first all the time.

    The first of every component stand before all others; what is alike by the keys is ordered by
    how often its row has had a turn.
    """
    order = np.lexsort((_turns(row), *keys[::-1]))
    first = _turns(component[order]) == 0
    return np.r_[order[first], order[~first]]


def _turns(values: IntArray) -> IntArray:
    """Return for every value how often it has occurred before."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    turn = np.empty(len(values), dtype=np.int64)
    turn[order] = np.arange(len(values)) - np.searchsorted(ranked, ranked)
    return turn


def links_of(constraints: Constraints) -> list[Link]:
    """Return the given pairs one by one, in the names of their user."""
    columns = constraints._columns()
    sources = columns.get("source", [None] * len(columns["a"]))
    named = (columns["a"], columns["b"], columns["kind"], columns["weight"], sources)
    return [Link(*values) for values in zip(*named, strict=True)]


def repair(constraints: Constraints, strategy: str, *, time_limit: float) -> Repaired:
    """Drop the cheapest set of pairs and labels that leaves no contradiction."""
    if strategy != "cheapest":
        raise ValueError(f"strategy must be 'cheapest', got {strategy!r}")
    graph = _Graph.of(constraints)
    inside = graph.conflicting()
    fixed = inside >= graph.n_given_cannot  # that two classes differ is not up for repair
    mended = cheapest_repair(
        graph.n_nodes,
        graph.must,
        graph.must_weight,
        graph.cannot[inside],
        graph.cannot_weight[inside],
        fixed_cannot=fixed,
        time_limit=time_limit,
    )
    drop = np.zeros(graph.n_given_must + graph.n_given_cannot, dtype=bool)
    drop[: graph.n_given_must] = mended.drop_must[: graph.n_given_must]
    drop[graph.n_given_must + inside[mended.drop_cannot]] = True
    drop_label = mended.drop_must[graph.n_given_must :]
    return Repaired(
        _selected(constraints, ~drop, ~drop_label),
        _selected(constraints, drop, drop_label),
        mended.cost,
        mended.proven,
    )


def _selected(constraints: Constraints, pairs: Any, entries: Any) -> Constraints:
    labels = constraints.labels
    kept = PartialLabels(labels.rows[entries], labels.codes[entries], labels.classes, labels.weight)
    return constraints._with(
        pairs=constraints._pairs[pairs],
        must=constraints._must[pairs],
        weight=constraints._weight[pairs],
        source=constraints._source[pairs],
        labels=kept.tidied(),
    )
