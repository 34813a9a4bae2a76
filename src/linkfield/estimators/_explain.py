"""Why a row is where it is, and what a clustering breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, Ties, readable, violated_pairs
from ..distortions import Metric
from ..estimation import PairTerms
from ..inference.feasible import InfeasibleFieldError
from ._setup import Setup

__all__ = ["Explanation", "explained", "impossible", "said_gap", "violation_table"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Explanation:
    """What a row costs under every cluster, and why.

    Attributes
    ----------
    row : int
    label : int
    distance : float array (K,)
        The row's distortion to every centre, label offsets included.
    constraints : list of (str, float array (K,))
        What each of its constraints adds under every cluster, all other rows as they are.
    total : float array (K,)
    """

    row: int
    label: int
    distance: FloatArray
    constraints: list[tuple[str, FloatArray]]
    total: FloatArray

    def __str__(self) -> str:
        K = len(self.total)
        lines = [f"row {self.row} is in cluster {self.label}"]
        width = max([len("distance"), *(len(name) for name, _ in self.constraints)])
        header = "".join(f"{h:>12}" for h in range(K))
        lines.append(f"{'cluster':<{width}}{header}")
        for name, values in [("distance", self.distance), *self.constraints, ("total", self.total)]:
            lines.append(f"{name:<{width}}" + "".join(f"{v:>12.5g}" for v in values))
        return "\n".join(lines)


def _explain_ties(
    terms: PairTerms | None, metric: Metric, labels: IntArray, at: int, names: Any, K: int
) -> list[tuple[str, FloatArray]]:
    """Return what every constraint of one tied row adds under every cluster.

    ``labels`` are those of the tied rows, ``at`` the row's number among them.
    """
    if terms is None:
        return []
    ties, found = terms.ties, []
    agree, differ = terms.costs(metric)
    for e in np.flatnonzero((ties.pairs == at).any(axis=1)):
        a, b = ties.pairs[e]
        other = int(b if a == at else a)
        kind = "must" if ties.must[e] else "cannot"
        found.append((f"{kind} {names(other)}", _pair_row(agree[e], differ[e], labels[other], K)))
    together = _together(ties, at)
    if len(together):
        found.append((f"must-links with {len(together)} rows joined by hard ones",
                      np.where(np.arange(K) == labels[at], 0.0, np.inf)))  # fmt: skip
    blocks = _block_rows(terms, metric, labels, at, K)
    return found + blocks


def _pair_row(agree: Any, differ: Any, other: int, K: int) -> FloatArray:
    """Return the cost of one pair under every label of one end."""
    agree, differ = np.broadcast_to(agree, (K,)), np.broadcast_to(differ, (K,))
    return np.where(np.arange(K) == other, agree, 0.5 * (differ + differ[other]))


def _together(ties: Ties, at: int) -> IntArray:
    mates = np.flatnonzero(ties.node == ties.node[at])
    return mates[mates != at]


def _block_rows(
    terms: PairTerms, metric: Metric, labels: IntArray, at: int, K: int
) -> list[tuple[str, FloatArray]]:
    """Return what the entailed links of a row's block add, all together."""
    links = terms.links(metric)
    if links is None or (links.block[at] < 0 and not (links.node_blocks[:, 0] == at).any()):
        return []
    added = np.empty(K)
    for h in range(K):
        trial = labels.copy()
        trial[at] = h
        added[h] = links.energy(trial, K)
    return [("entailed links", added - added.min())]


def _given_costs(
    terms: PairTerms,
    metric: Metric,
    table: NDArray[np.void],
    labels: IntArray,
    factor: float,
) -> FloatArray:
    """Return what each pair of a table costs under labels of the tied rows."""
    ties = terms.ties
    pairs = np.searchsorted(ties.rows, np.column_stack([table["a"], table["b"]]))
    weight = table["weight"] * factor
    own = Ties(
        ties.rows, np.arange(ties.n_rows), pairs, table["kind"] == "must", weight,
        np.full(ties.n_rows, -1), np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), 1.0,
    )  # fmt: skip
    alone = PairTerms(
        own, terms.data, terms.distortion, terms.penalty, terms.bound, terms.top(metric)
    )
    return alone.pair_costs(labels, metric)


def violation_table(
    constraints: Constraints,
    labels: IntArray,
    terms: PairTerms | None,
    metric: Metric,
    factor: float,
) -> NDArray[np.void]:
    """Return the violated pairs with the fields a, b, kind, weight, cost."""
    table = violated_pairs(constraints, labels)
    ids = constraints.sample_id
    kind = np.int64 if ids is None else object
    dtype = [("a", kind), ("b", kind), ("kind", "U6"), ("weight", float), ("cost", float)]
    out = np.empty(len(table), dtype=dtype)
    for name in ("a", "b"):
        out[name] = table[name] if ids is None else ids[table[name]]
    out["kind"], out["weight"] = table["kind"], table["weight"]
    out["cost"] = 0.0
    if terms is not None and len(table):
        out["cost"] = _given_costs(terms, metric, table, labels[terms.ties.rows], factor)
    return out


def explained(
    setup: Setup, metric: Any, labels: IntArray, i: int, K: int
) -> list[tuple[str, FloatArray]]:
    """Return the parts that constraints and absolute labels add to a row's cost."""
    problem = setup.problem
    at = int(np.searchsorted(problem.tied, i))
    if at == len(problem.tied) or problem.tied[at] != i:
        return []

    def name(tied: int) -> Any:
        return setup.constraints._named(problem.tied[[tied]])[0]

    found = _explain_ties(problem.objective.pairs, metric, labels[problem.tied], at, name, K)
    if problem.label_costs is None or not problem.label_costs[at].any():
        return found
    return [*found, ("its label", problem.label_costs[at])]


def said_gap(gap: float) -> str:
    """Say how good an assignment is known to be, if that is known."""
    return f", assignment within {gap:.3g} of the best" if np.isfinite(gap) else ""


def impossible(setup: Setup, error: InfeasibleFieldError) -> str:
    """Say which constraints cannot be kept together."""
    K = setup.recipe.n_clusters
    if error.core is None:
        return (
            f"no assignment to {K} clusters that keeps all hard constraints was found within the "
            "search limit; give more clusters, or finite weights"
        )
    problem = setup.problem
    first = np.full(problem.node.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, problem.node, problem.tied)
    concerned = np.isin(problem.node, error.core)
    if problem.label_costs is not None and np.isinf(problem.label_costs[concerned]).any():
        names = setup.constraints._named(problem.tied[concerned])
        return (
            f"labels and hard constraints contradict each other among the rows "
            f"{readable(names, 12)}: a must-link joins rows that their labels put into different "
            "clusters, or a cannot-link parts rows of one. Correct them, or give finite weights"
        )
    names = setup.constraints._named(np.sort(first[error.core]))
    return (
        f"the hard cannot-links among the rows {readable(names, 12)} (with the rows that "
        f"must-links join to them) need more than {K} clusters; give more clusters, or give some "
        "of these constraints a finite weight"
    )
