"""Contradictions explained, and mended at the least cost (maths.md 1.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._normal import IntArray
from .closure import Closure
from .labels import PartialLabels
from .multicut import cheapest_repair, shortest_chains
from .pairs import Constraints

__all__ = ["Conflict", "Repaired", "find_conflicts", "repair"]


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
    """

    chain: tuple[Any, ...]
    cannot: tuple[Any, Any]
    weight: float

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
        component = np.r_[self.closure.component, self.closure.class_component]
        return np.flatnonzero(component[self.cannot[:, 0]] == component[self.cannot[:, 1]])


def find_conflicts(constraints: Constraints) -> list[Conflict]:
    """Return every contradiction with its shortest chain, shortest chains first."""
    graph = _Graph.of(constraints)
    inside = graph.conflicting()
    if len(inside) == 0:
        return []
    chains = shortest_chains(graph.n_nodes, graph.must, graph.cannot[inside])
    found = []
    for k, chain in zip(inside, chains, strict=True):
        assert chain is not None
        a, b = graph.names(graph.cannot[k])
        found.append(Conflict(graph.names(chain), (a, b), float(graph.cannot_weight[k])))
    return sorted(found, key=lambda c: len(c.chain))


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
