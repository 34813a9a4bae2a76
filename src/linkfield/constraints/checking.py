"""What is wrong with constraints, and how many clusters they need: one answer, in one object."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._exact_colouring import Status
from ._normal import IntArray
from .closure import Closure
from .colouring import Colouring, colour, dsatur, greedy_clique
from .conflicts import Conflict, Link, count_conflicts, find_conflicts, links_of
from .pairs import Constraints

__all__ = ["Check", "Clusters", "SourceCount", "check_constraints", "clusters_needed"]

#: Nodes of the search for one number of clusters; see :func:`.colouring.colour`.
_NODES = 200_000


@dataclass(frozen=True)
class Clusters:
    """How many clusters it takes to keep every cannot-link.

    Attributes
    ----------
    at_least : int
        No smaller number suffices: that is proven.
    enough : int
        So many suffice: an assignment was found.
    asked : int or None
        The number that was asked about.
    status : {"feasible", "infeasible", "unknown"} or None
        Whether that number suffices; "unknown" if the time ran out before a proof either way.
    core : tuple of tuples
        Why it does not: groups of rows, each tied together by must-links, that the number asked
        about cannot keep apart. Without a number asked about, groups that are mutually apart and
        show that ``at_least`` clusters are needed, where such are known.
    clique : bool
        Whether the groups of ``core`` are mutually apart, each from each.
    """

    at_least: int
    enough: int
    asked: int | None = None
    status: Status | None = None
    core: tuple[tuple[Any, ...], ...] = ()
    clique: bool = False


@dataclass(frozen=True)
class SourceCount:
    """How many pairs come from one source, and how many of them the cheapest repair drops."""

    source: Any
    n_must_link: int
    n_cannot_link: int
    n_dropped: int


@dataclass(frozen=True)
class Check:
    """Answer of :func:`check_constraints`.

    Attributes
    ----------
    n_must_link, n_cannot_link, n_rows, n_hard : int
        Pairs, rows that occur in them, pairs of infinite weight.
    weights : tuple of float or None
        The least and the greatest finite weight; None if there is none.
    components : list of int
        Sizes of the sets of rows that must-links tie together, largest first.
    sources : list of SourceCount
        One for every source, the largest first; a pair that several gave counts for each.
    n_conflicts, n_contradictory : int
        Cannot-links that contradict must-links, and components that hold such.
    conflicts : list of Conflict
        Some of them with their shortest chains.
    dropped : list of Link
        What the cheapest repair drops.
    cost : float
        The total weight of that.
    proven : bool
        Whether no cheaper repair exists; False if the time ran out.
    clusters : Clusters
        What the rest needs.
    """

    n_must_link: int
    n_cannot_link: int
    n_rows: int
    n_hard: int
    weights: tuple[float, float] | None
    components: list[int]
    sources: list[SourceCount]
    n_conflicts: int
    n_contradictory: int
    conflicts: list[Conflict]
    dropped: list[Link]
    cost: float
    proven: bool
    clusters: Clusters

    @property
    def consistent(self) -> bool:
        """Whether nothing contradicts anything."""
        return self.n_conflicts == 0

    @property
    def fine(self) -> bool:
        """Whether nothing contradicts anything and the number of clusters is not impossible."""
        return self.consistent and self.clusters.status != "infeasible"


def check_constraints(
    constraints: Constraints,
    n_clusters: int | None = None,
    *,
    max_conflicts: int = 10,
    time_limit: float = 30.0,
) -> Check:
    """Look constraints over: what they say, what contradicts what, what would mend it.

    Parameters
    ----------
    constraints : Constraints
    n_clusters : int, optional
        Say also whether so many clusters can satisfy what the cheapest repair leaves.
    max_conflicts : int, default=10
        How many contradictions are explained by their chains.
    time_limit : float, default=30.0
        Seconds for the cheapest repair, and again for the number of clusters. Where they do not
        suffice the answer says so; it is never wrong.

    Returns
    -------
    Check

    Examples
    --------
    >>> from linkfield import Constraints
    >>> from linkfield.constraints import check_constraints
    >>> said = Constraints([("ann", "bob"), ("bob", "cid")], [("ann", "cid"), ("cid", "dan")],
    ...                    cannot_link_weight=[0.5, 1.0])
    >>> found = check_constraints(said, n_clusters=1)
    >>> print(found.conflicts[0])
    ann-bob-cid must, ann-cid cannot
    >>> [str(link) for link in found.dropped], found.cost
    (['ann-cid cannot'], 0.5)
    >>> found.clusters.status, found.clusters.enough
    ('infeasible', 2)
    """
    if n_clusters is not None and n_clusters < 1:
        raise ValueError(f"n_clusters must be at least 1, got {n_clusters}")
    mended = constraints.repair(time_limit=time_limit)
    dropped = links_of(mended.dropped)
    table = constraints.pairs(labels=False)
    finite = table["weight"][np.isfinite(table["weight"])]
    closure = constraints.closure()
    return Check(
        constraints.n_must_link,
        constraints.n_cannot_link,
        len(closure.rows),
        int(np.isinf(table["weight"]).sum()),
        (float(finite.min()), float(finite.max())) if len(finite) else None,
        sorted(closure.sizes[closure.sizes > 1].tolist(), reverse=True),
        _sources(constraints, dropped),
        count_conflicts(constraints),
        int(closure.contradictory.sum()),
        find_conflicts(constraints, max_conflicts),
        dropped,
        mended.cost,
        mended.proven,
        clusters_needed(mended.constraints, n_clusters, time_limit=time_limit),
    )


def _sources(constraints: Constraints, dropped: list[Link]) -> list[SourceCount]:
    """Count the pairs of every source; nothing where no pair has one."""
    counts: dict[Any, list[int]] = {}
    for must, source in zip(constraints._must.tolist(), constraints._source, strict=True):
        for name in _names(source):
            counts.setdefault(name, [0, 0, 0])[0 if must else 1] += 1
    if not counts or set(counts) == {None}:
        return []
    for link in dropped:
        for name in _names(link.source):
            counts.setdefault(name, [0, 0, 0])[2] += 1
    found = [SourceCount(name, *three) for name, three in counts.items()]
    return sorted(found, key=lambda s: (-(s.n_must_link + s.n_cannot_link), str(s.source)))


def _names(source: Any) -> list[Any]:
    """Return the sources of one pair: merged pairs have several, with semicolons between."""
    return list(source.split(";")) if isinstance(source, str) else [source]


def clusters_needed(
    constraints: Constraints, n_clusters: int | None = None, *, time_limit: float = 30.0
) -> Clusters:
    """Return how many clusters keep every cannot-link of consistent constraints.

    Must-link components are the vertices of a graph, cannot-links between them its edges, clusters
    the colours. A clique bounds their number from below, a greedy colouring (DSATUR, Brélaz 1979)
    from above; in between an exact search decides, while the time lasts.

    Parameters
    ----------
    constraints : Constraints
        Without contradictions: ``repair()`` removes them.
    n_clusters : int, optional
        A number to say yes or no to, with a reason if it is no.
    time_limit : float, default=30.0
        Seconds; the exact search for one number gets a share of them.

    Returns
    -------
    Clusters
    """
    closure = constraints.closure()
    if closure.contradictory.any():
        raise ValueError("the constraints contradict each other; repair() them first")
    search = _Search(closure, time.monotonic() + time_limit)
    status: Status | None = None
    core, clique = search.clique, True
    if n_clusters is not None:
        status = search.decide(n_clusters)
        if status == "infeasible" and len(core) > n_clusters:
            core = core[: n_clusters + 1]
        elif status == "infeasible":
            core, clique = search.proof(n_clusters), False
        else:
            core = core[:0]
    while search.at_least < search.enough and search.decide(search.enough - 1) != "unknown":
        pass
    if status is None and len(core) < search.at_least:
        core = core[:0]  # a clique that proves less than is known
    groups = tuple(tuple(constraints._named(closure.members(k))) for k in core.tolist())
    return Clusters(
        search.at_least, search.enough, n_clusters, status, groups, clique and len(groups) > 0
    )


class _Search:
    """Bounds on the number of colours of the components' graph, and what narrows them."""

    def __init__(self, closure: Closure, deadline: float) -> None:
        self.closure, self.deadline = closure, deadline
        self.cores: dict[int, IntArray] = {}
        self.enough = self._peeling()
        # The densest part holds a large clique, and a larger one can only lie in its own core.
        self.clique = self._clique_in(closure._core(self.enough - 1))
        self.clique = max(self.clique, self._clique_in(closure._core(len(self.clique))), key=len)
        self.at_least = max(len(self.clique), 1)
        self.part = closure._core(self.at_least)  # all others find a free cluster afterwards
        self.graph = closure.graph[self.part][:, self.part]
        if len(self.part) == 0:
            self.enough = self.at_least
        elif (greedy := dsatur(self.graph, self.enough)) is not None:
            self.enough = max(self.at_least, int(greedy.max()) + 1)

    def _peeling(self) -> int:
        """Return the degeneracy plus one: with so many clusters everyone finds a free one."""
        degree = np.bincount(self.closure.apart.ravel())
        low, high = 1, int(degree.max(initial=0)) + 1
        while low < high:
            middle = (low + high) // 2
            if len(self.closure._core(middle)):
                low = middle + 1
            else:
                high = middle
        return high

    def _clique_in(self, part: IntArray) -> IntArray:
        """Return a large clique among some components."""
        if len(part) == 0:
            return part
        return part[greedy_clique(self.closure.graph[part][:, part])]

    def decide(self, n_clusters: int) -> Status:
        """Say whether a number of clusters suffices, and narrow the bounds."""
        if n_clusters < self.at_least:
            return "infeasible"
        if n_clusters >= self.enough:
            return "feasible"
        found = self._coloured(n_clusters)
        if found.colours is not None:
            self.enough = max(self.at_least, int(found.colours.max()) + 1)
        elif found.core is not None:
            self.at_least = n_clusters + 1
            self.cores[n_clusters] = self.part[found.core]
        return found.status

    def proof(self, n_clusters: int) -> IntArray:
        """Return components that a number of clusters known to be too small cannot keep apart."""
        return self.cores[n_clusters]

    def _coloured(self, n_clusters: int) -> Colouring:
        left = self.deadline - time.monotonic()
        if left <= 0:
            return Colouring("unknown")
        return colour(self.graph, n_clusters, node_limit=_NODES, time_limit=min(left, 10.0))
