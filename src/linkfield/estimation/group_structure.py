"""Groups as flat arrays, and which of them have to be solved together (maths.md 6.7, 6.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ..exceptions import ContradictionError

__all__ = [
    "MOST_CONFIGURATIONS",
    "MOST_SUBSET_GROUPS",
    "GroupArrays",
    "Merged",
    "Parts",
    "merged",
    "parts_of",
    "thinned",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Components with cycles are solved by enumeration if they have no more configurations of labels.
MOST_CONFIGURATIONS = 100_000

#: Groups that only cannot-links join are solved by subsets up to this number: 3ⁿ steps a label.
MOST_SUBSET_GROUPS = 9


class GroupArrays(NamedTuple):
    """Memberships of rows in groups, and pairs of groups that are apart.

    Attributes
    ----------
    group, row : int array (m,)
        Membership e says that ``row[e]`` belongs to ``group[e]``.
    confidence : float array (m,)
        γ, the probability of that; those of one row add up to at most 1.
    strength : float array (m,)
        τ, or β once it has been scaled: how strongly the membership is to be enforced.
    apart : int array (e, 2)
        Pairs of groups with different labels.
    apart_certainty : float array (e,)
        χ.
    n_groups : int
    """

    group: IntArray
    row: IntArray
    confidence: FloatArray
    strength: FloatArray
    apart: IntArray
    apart_certainty: FloatArray
    n_groups: int

    def movable(self) -> BoolArray:
        """Say which memberships can turn out right or wrong: neither certain ones nor mute ones."""
        return (self.confidence > 0) & (self.confidence < 1) & ~self.mute()

    def mute(self) -> BoolArray:
        """Say which memberships say nothing: a single row in the group, and no group apart."""
        size = np.bincount(self.group[self.confidence > 0], minlength=self.n_groups)
        linked = np.zeros(self.n_groups, dtype=bool)
        linked[self.apart[self.apart_certainty > 0].ravel()] = True
        return ((size <= 1) & ~linked)[self.group]

    def enforced(self, total: float) -> FloatArray:
        """Return β = total·τ/Στ for the memberships that can move, 0 for others (maths.md 6.5)."""
        weight = np.where(self.movable(), self.strength, 0.0)
        sum_ = float(weight.sum())
        return weight * (total / sum_) if sum_ > 0 else np.zeros_like(weight)


class Merged(NamedTuple):
    """Groups that share a row joined into one, every membership certain."""

    arrays: GroupArrays
    group_of: IntArray
    """The new group of every old one."""


def merged(arrays: GroupArrays) -> Merged:
    """Read all memberships as certain: groups that share a row have one label between them.

    This is the chunklet model (Shental et al. 2003; maths.md 6.4, "hard"). Memberships of
    confidence 0 are left out; groups that are apart are so for certain.
    """
    said = arrays.confidence > 0
    group, row = arrays.group[said], arrays.row[said]
    n, n_rows = arrays.n_groups, int(arrays.row.max(initial=-1)) + 1
    tie = sparse.coo_array((np.ones(len(group)), (group, n + row)), shape=(n + n_rows, n + n_rows))
    # Groups are the first nodes, so their components come first in the numbering, too.
    _, node = connected_components(tie, directed=False)
    names, group_of = np.unique(node[:n], return_inverse=True)
    pairs = np.unique(np.column_stack([group_of[group], row]), axis=0)
    links = np.sort(group_of[arrays.apart[arrays.apart_certainty > 0]].reshape(-1, 2), axis=1)
    own = np.flatnonzero(links[:, 0] == links[:, 1])
    if len(own):
        a, b = arrays.apart[arrays.apart_certainty > 0][own[0]]
        raise ContradictionError(
            f"the groups {a} and {b} are apart, but rows that they share tie them together; with "
            "enforcement='hard' nothing can satisfy both. Take enforcement='posterior' or 'soft', "
            "or drop one of them"
        )
    links = np.unique(links, axis=0)
    one = np.ones(len(pairs))
    certain = GroupArrays(
        pairs[:, 0], pairs[:, 1], one, one, links, np.ones(len(links)), len(names)
    )
    return Merged(certain, group_of.astype(np.int64))


@dataclass(frozen=True)
class Parts:
    """How the groups are to be solved.

    Attributes
    ----------
    shared : bool array (m,)
        Memberships of rows that are in several groups.
    alone : bool array (n_groups,)
        Groups that neither a shared row nor a cannot-link joins with another.
    components : list of int array
        The others, by component.
    """

    shared: BoolArray
    alone: BoolArray
    components: list[IntArray]


def parts_of(arrays: GroupArrays) -> Parts:
    """Find the components of groups; all confidences and certainties are above 0."""
    times = np.bincount(arrays.row, minlength=1)
    shared = times[arrays.row] > 1
    n = arrays.n_groups
    rows, at = np.unique(arrays.row[shared], return_inverse=True)
    ends = np.concatenate([np.column_stack([arrays.group[shared], n + at]), arrays.apart])
    size = n + len(rows)
    graph = sparse.coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size))
    _, node = connected_components(graph, directed=False)
    component = node[:n]
    linked = np.zeros(n, dtype=bool)
    linked[arrays.group[shared]] = True
    linked[arrays.apart.ravel()] = True
    order = np.flatnonzero(linked)
    order = order[np.argsort(component[order], kind="stable")]
    cuts = np.flatnonzero(np.diff(component[order])) + 1
    components = [part for part in np.split(order, cuts) if len(part)]
    return Parts(shared, ~linked, components)


def thinned(arrays: GroupArrays, groups: IntArray) -> tuple[BoolArray, BoolArray]:
    """Say which memberships and cannot-links of a component to keep, so that no cycle is left.

    Edges come back in the order of their certainty, those that would close a cycle stay out: what
    is kept is a spanning forest of the greatest total certainty.
    """
    mine = np.zeros(arrays.n_groups, dtype=bool)
    mine[groups] = True
    e = np.flatnonzero(mine[arrays.group])
    a = np.flatnonzero(mine[arrays.apart].all(axis=1))
    n = arrays.n_groups
    left = np.r_[arrays.group[e], arrays.apart[a, 0]]
    right = np.r_[n + arrays.row[e], arrays.apart[a, 1]]
    certainty = np.r_[arrays.confidence[e], arrays.apart_certainty[a]]
    parent: dict[int, int] = {}

    def root(x: int) -> int:
        while parent.setdefault(x, x) != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    keep = np.zeros(len(left), dtype=bool)
    for k in np.argsort(-certainty, kind="stable").tolist():
        one, two = root(int(left[k])), root(int(right[k]))
        if one != two:
            parent[one] = two
            keep[k] = True
    members, links = np.ones(len(arrays.group), dtype=bool), np.ones(len(arrays.apart), dtype=bool)
    members[e], links[a] = keep[: len(e)], keep[len(e) :]
    return members, links
