"""What solves every component of groups, and what has to be left out of those that nothing does."""

from __future__ import annotations

import warnings
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..exceptions import ConstraintWarning
from ._group_enumeration import EnumerationSolver
from ._group_forest import ForestSolver, is_forest
from ._group_solver import GroupSolver
from ._group_subsets import SubsetSolver
from .group_structure import (
    MOST_CONFIGURATIONS,
    MOST_SUBSET_GROUPS,
    GroupArrays,
    parts_of,
    thinned,
)

__all__ = ["said_once", "solvable"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
S = TypeVar("S", bound=GroupSolver)


def chosen(
    arrays: GroupArrays, members: IntArray, apart: IntArray, certainty: FloatArray
) -> GroupArrays:
    """Return some of the memberships, with these cannot-links."""
    return GroupArrays(
        arrays.group[members],
        arrays.row[members],
        arrays.confidence[members],
        arrays.strength[members],
        apart,
        certainty,
        arrays.n_groups,
    )


def said_once(arrays: GroupArrays, members: IntArray) -> GroupArrays:
    """Return some memberships, and every cannot-link once: the factors 1 − χ of a pair multiply."""
    links = arrays.apart_certainty > 0
    pairs = np.sort(arrays.apart[links].reshape(-1, 2), axis=1)
    pairs, at = np.unique(pairs, axis=0, return_inverse=True)
    keep = np.ones(len(pairs))
    np.multiply.at(keep, at.reshape(-1), 1.0 - arrays.apart_certainty[links])
    return chosen(arrays, members, pairs, 1.0 - keep)


def solvable(
    arrays: GroupArrays, K: int
) -> tuple[GroupArrays, NDArray[np.bool_], list[GroupSolver]]:
    """Find what solves every component of groups; thin out those that nothing can."""
    members = np.ones(len(arrays.group), dtype=bool)
    links = np.ones(len(arrays.apart), dtype=bool)
    parts = parts_of(arrays)
    for groups in parts.components:
        if _kind(arrays, parts.shared, groups, K) is None:
            keep_members, keep_links = thinned(arrays, groups)
            members &= keep_members
            links &= keep_links
    if not (members.all() and links.all()):
        _warn_thinned(int((~members).sum()), int((~links).sum()))
        left = (arrays.apart[links], arrays.apart_certainty[links])
        arrays = chosen(arrays, np.flatnonzero(members), *left)
        parts = parts_of(arrays)
    solvers: list[GroupSolver] = []
    forest = []
    for groups in parts.components:
        kind = _kind(arrays, parts.shared, groups, K)
        if kind is ForestSolver:
            forest.append(groups)
        else:
            assert kind is not None
            solvers.append(_made(kind, arrays, parts.shared, groups))
    if forest:
        solvers.append(_made(ForestSolver, arrays, parts.shared, np.concatenate(forest)))
    return arrays, members, solvers


def _kind(
    arrays: GroupArrays, shared: NDArray[np.bool_], groups: IntArray, K: int
) -> type[GroupSolver] | None:
    """Return what solves a component exactly, None where nothing does."""
    solver = _made(ForestSolver, arrays, shared, groups)
    if is_forest(solver.edge_group, solver.edge_factor, len(groups)):
        return ForestSolver
    if K ** min(len(groups), 64) <= MOST_CONFIGURATIONS:
        return EnumerationSolver
    if len(solver.members) == 0 and len(groups) <= MOST_SUBSET_GROUPS:
        return SubsetSolver
    return None


def _made(kind: type[S], arrays: GroupArrays, shared: NDArray[np.bool_], groups: IntArray) -> S:
    place = np.full(arrays.n_groups, -1, dtype=np.int64)
    place[groups] = np.arange(len(groups))
    members = np.flatnonzero(shared & (place[arrays.group] >= 0))
    rows, row_at = np.unique(arrays.row[members], return_inverse=True)
    mine = (place[arrays.apart] >= 0).all(axis=1)
    return kind(
        groups,
        members,
        place[arrays.group[members]],
        rows,
        row_at.astype(np.int64),
        place[arrays.apart[mine]],
        arrays.apart_certainty[mine],
    )


def _warn_thinned(n_members: int, n_links: int) -> None:
    warnings.warn(
        f"some groups overlap in cycles too large to be solved exactly: the least certain "
        f"{n_members} memberships and {n_links} pairs of groups apart that close these cycles "
        "are left out. Join groups that say the same, or give every row to one group",
        ConstraintWarning,
        stacklevel=5,
    )
