"""The labelling problem of the E-step, and the one function that scores any answer to it.

A field has nodes (the tied rows), a cost for every node and label, and for every edge a cost if
its ends agree and a cost if they differ. Links that blocks of nodes entail may stand beside the
edges as tables instead of pairs (maths.md 1.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._blocksums import BlockGroups
from ._rows import Rows
from ._structure import Structure
from .constraints.closure import between, within
from .constraints.pairs import PAIR_BUDGET, check_budget

__all__ = ["EntailedLinks", "PottsField", "edge_costs"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class EntailedLinks:
    """Links between all members of blocks, by their sums.

    The members of a block belong together: a pair of them with different labels costs
    ``weight``·φ. The members of two blocks that are apart, or a node and a block that are apart,
    cost ``weight``·(top − φ) where their labels agree. φ(i, j) = b_i + b_j − ⟨z_i, z_j⟩; with one
    metric a cluster there are K sets of b, z and top (maths.md 1.4, 1.5, B04 form).

    Attributes
    ----------
    block : int array (n,)
        Block of each node, -1 for none.
    block_pairs : int array (e, 2)
    node_blocks : int array (r, 2)
    weight : float
    size : float array (n,)
        How many rows a node stands for; its b and z are sums over them.
    b : float array (1 or K, n)
    z : list of 1 or K Rows
    top : float array (1 or K,)
    """

    block: IntArray
    block_pairs: IntArray
    node_blocks: IntArray
    weight: float
    size: FloatArray
    b: FloatArray
    z: list[Rows]
    top: FloatArray

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.block.max(initial=-1)) + 1

    def energy(self, labels: IntArray, n_labels: int) -> float:
        """Return the cost of all entailed links (maths.md 1.2 and 1.5)."""
        groups = BlockGroups.of_labels(self.block, labels, n_labels)
        if groups.quiet(self.block_pairs, self.node_blocks, labels):
            return 0.0
        total = 0.0
        for k in range(len(self.z)):
            n, B, s = groups.sum(self.size), groups.sum(self.b[k]), groups.rows(self.z[k])
            # With one metric a cluster a label counts under its own metric only.
            mine = np.ones(groups.n_groups, bool) if len(self.z) == 1 else groups.label == k
            total += self._together(groups, n, B, s, mine)
            total += self._apart(groups, labels, n, B, s, mine, k)
        return self.weight * total

    def _together(
        self, groups: BlockGroups, n: FloatArray, B: FloatArray, s: FloatArray, mine: Any
    ) -> float:
        """Return Σ φ over pairs inside blocks with different labels, half for each label."""
        at = groups.block[mine]
        n_all, B_all, s_all = (groups.by_block(part) for part in (n, B, s))
        n, B, s = n[mine], B[mine], s[mine]
        cross = n_all[at] * B + n * B_all[at] - np.einsum("gi,gi->g", s, s_all[at])
        own = 2.0 * n * B - np.einsum("gi,gi->g", s, s)
        return 0.5 * float((cross - own).sum())

    def _apart(
        self,
        groups: BlockGroups,
        labels: IntArray,
        n: FloatArray,
        B: FloatArray,
        s: FloatArray,
        mine: Any,
        k: int,
    ) -> float:
        """Return Σ (top − φ) over pairs that are apart and share a label."""
        p, q = groups.shared(self.block_pairs)
        p, q = p[mine[p]], q[mine[p]]
        phi = n[q] * B[p] + n[p] * B[q] - np.einsum("gi,gi->g", s[p], s[q])
        total = float((self.top[k] * n[p] * n[q] - phi).sum())
        r, g = groups.beside(self.node_blocks, labels)
        r, g = r[mine[g]], g[mine[g]]
        z = self.z[k].take(r).dense()
        phi = n[g] * self.b[k][r] + self.size[r] * B[g] - np.einsum("ri,ri->r", z, s[g])
        return total + float((self.top[k] * self.size[r] * n[g] - phi).sum())

    def ceiling(self) -> float:
        """Return a number that the entailed cost of no labelling exceeds."""
        sizes = np.zeros(self.n_blocks)
        member = self.block >= 0
        np.add.at(sizes, self.block[member], self.size[member])
        p, q = self.block_pairs.T
        r, g = self.node_blocks.T
        apart = (sizes[p] * sizes[q]).sum() + (self.size[r] * sizes[g]).sum()
        together = sum(float((2 * sizes.max(initial=0.0) * b[member]).sum()) for b in self.b)
        return self.weight * (float(np.abs(self.top).max(initial=0.0)) * apart + together)


@dataclass(frozen=True)
class PottsField:
    """n nodes, K labels, m edges.

    En(L) = Σ_i U_{i,l_i} + Σ_e [agree_e if l_i = l_j else differ_e]           (maths.md 4)

    Parameters
    ----------
    unary : array (n, K)
        Cost of giving a node a label; ``inf`` forbids it.
    edges : int array (m, 2)
    agree_cost, differ_cost : array (m,) or (m, K)
        Cost of an edge whose ends have the same label, or different ones. With a column a label
        the costs are agree[h] where both ends are h, and ½(differ[h] + differ[h']) where they are
        h ≠ h' (one metric a cluster). ``inf`` makes a hard constraint.
    entailed : EntailedLinks, optional
        Links kept by block.
    noise : array (n,), optional
        How far a node's unary costs may be off (single precision); moves that gain less are not
        worth taking.
    visit : int array (n,), optional
        The order in which to look at the nodes; their own by default.

    Examples
    --------
    >>> from linkfield.inference import PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> float(field.energy([0, 1])), float(field.energy([0, 0]))
    (2.0, 0.4)
    """

    unary: FloatArray
    edges: IntArray
    agree_cost: FloatArray
    differ_cost: FloatArray
    entailed: EntailedLinks | None = None
    noise: FloatArray | None = None

    def __init__(
        self,
        unary: ArrayLike,
        edges: Any,
        agree_cost: ArrayLike,
        differ_cost: ArrayLike,
        entailed: EntailedLinks | None = None,
        noise: FloatArray | None = None,
        visit: IntArray | None = None,
    ) -> None:
        U = np.ascontiguousarray(unary, dtype=np.float64)
        E = np.asarray(edges)
        E = np.empty((0, 2), np.int64) if E.size == 0 else E
        _check_unary(U)
        _check_edges(E, len(U))
        costs = [
            _cost(cost, len(E), U.shape[1], name)
            for cost, name in ((agree_cost, "agree_cost"), (differ_cost, "differ_cost"))
        ]
        if costs[0].ndim != costs[1].ndim:
            costs = [_as_width(cost, 2, U.shape[1]) for cost in costs]
        self._set(U, E.astype(np.int64), costs[0], costs[1], entailed, noise)
        if visit is not None:
            structure = Structure.of(self.n_nodes, self.edges, entailed, visit)
            self.__dict__["structure"] = structure

    def _set(self, *values: Any) -> None:
        names = ("unary", "edges", "agree_cost", "differ_cost", "entailed", "noise")
        for name, value in zip(names, values, strict=True):
            object.__setattr__(self, name, value)

    def with_costs(
        self,
        unary: FloatArray,
        agree_cost: FloatArray,
        differ_cost: FloatArray,
        entailed: EntailedLinks | None = None,
        noise: FloatArray | None = None,
        cheapest: IntArray | None = None,
    ) -> PottsField:
        """Return a field on the same links with other costs, which are taken as they are.

        ``cheapest`` is the label of every node's least unary cost, if it is known.
        """
        new = object.__new__(PottsField)
        new._set(unary, self.edges, agree_cost, differ_cost, entailed, noise)
        new.__dict__["structure"] = self.structure
        if cheapest is not None:
            new.__dict__["cheapest"] = cheapest
        return new

    @cached_property
    def structure(self) -> Structure:
        """Adjacency and components: what does not depend on the costs."""
        return Structure.of(self.n_nodes, self.edges, self.entailed)

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return self.unary.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.unary.shape[1]

    @cached_property
    def cheapest(self) -> IntArray:
        """The label of the least unary cost of every node."""
        return self.unary.argmin(axis=1)

    def energy(self, labels: ArrayLike) -> float:
        """Return En(L): the referee of every inference method."""
        L = np.asarray(labels, dtype=np.int64)
        if L.shape != (self.n_nodes,):
            raise ValueError(f"labels must have shape ({self.n_nodes},), got {L.shape}")
        if L.size and (L.min() < 0 or L.max() >= self.n_labels):
            raise ValueError(f"labels must lie in 0..{self.n_labels - 1}")
        total = float(self.unary[np.arange(len(L)), L].sum()) + float(self.edge_costs(L).sum())
        if self.entailed is not None:
            total += self.entailed.energy(L, self.n_labels)
        return total

    def edge_costs(self, labels: IntArray) -> FloatArray:
        """Return what every edge costs under a labelling."""
        return edge_costs(self.edges, self.agree_cost, self.differ_cost, labels)

    @cached_property
    def finite(self) -> PottsField:
        """The same field with every hard cost replaced by a large one (maths.md 1.1).

        The cost 1 + Σ_i (max U_i − min U_i) + Σ finite costs makes each violation of a hard
        constraint dearer than any labelling that keeps them all.
        """
        agree, differ = self.agree_cost, self.differ_cost
        if np.isfinite(agree).all() and np.isfinite(differ).all():
            return self
        low = np.min(self.unary, axis=1)
        high = np.max(np.where(np.isfinite(self.unary), self.unary, low[:, None]), axis=1)
        large = 1.0 + float((high - low).sum())
        large += sum(float(np.abs(c[np.isfinite(c)]).sum()) for c in (agree, differ))
        large += 0.0 if self.entailed is None else self.entailed.ceiling()
        return self.with_costs(
            self.unary,
            np.where(np.isinf(agree), large, agree),
            # Two columns share a differing edge, so one of them alone must be large enough.
            np.where(np.isinf(differ), large * differ.ndim, differ),
            self.entailed,
            self.noise,
            self.cheapest,
        )

    @property
    def must(self) -> NDArray[np.bool_]:
        """Which edges only ask their ends to agree."""
        apart, differ = self.agree_cost, self.differ_cost
        if differ.ndim == 2:
            apart, differ = apart.max(axis=1), differ.max(axis=1)
        return (differ > 0) & (apart <= 0)

    @property
    def together(self) -> IntArray:
        """The component of each node in the graph of must-links, entailed ones included."""
        return self.structure.together(self.must)

    @property
    def connected(self) -> IntArray:
        """The component of each node in the graph of all links: independent problems (1.5)."""
        return self.structure.connected

    def written_out(self, budget: int = PAIR_BUDGET) -> PottsField:
        """Return the same field with all entailed links as edges; refused above ``budget``."""
        links = self.entailed
        if links is None:
            return self
        member = np.flatnonzero(links.block >= 0)
        order = member[np.argsort(links.block[member], kind="stable")]
        sizes = np.bincount(links.block[member], minlength=links.n_blocks)
        starts = np.r_[0, np.cumsum(sizes)]
        p, q = links.block_pairs.T
        count = int((sizes * (sizes - 1) // 2).sum() + (sizes[p] * sizes[q]).sum())
        count += int(sizes[links.node_blocks[:, 1]].sum())
        check_budget(count, "the blocks entail", budget)
        must = within(order, starts, np.arange(links.n_blocks))
        outer = [
            np.column_stack([np.full(sizes[g], r), order[starts[g] : starts[g + 1]]])
            for r, g in links.node_blocks
        ]
        cannot = np.concatenate([between(order, starts, links.block_pairs), *outer])
        phi_must, phi_cannot = (_pair_terms(links, pairs) for pairs in (must, cannot))
        zeros = np.zeros_like(phi_must), np.zeros_like(phi_cannot)
        rows = links.size[cannot].prod(axis=1)[:, None]  # pairs of rows that two nodes stand for
        agree = np.concatenate([zeros[0], links.weight * (links.top * rows - phi_cannot)])
        differ = np.concatenate([links.weight * phi_must, zeros[1]])
        width = max(self.agree_cost.ndim, 1 + (agree.shape[1] > 1))
        mine = [_as_width(c, width, self.n_labels) for c in (self.agree_cost, self.differ_cost)]
        more = [_as_width(c, width, self.n_labels) for c in (agree, differ)]
        edges = np.concatenate([self.edges, must, cannot])
        costs = [np.concatenate([a, b]) for a, b in zip(mine, more, strict=True)]
        return PottsField(self.unary, edges, costs[0], costs[1])

    def with_unary(self, unary: FloatArray) -> PottsField:
        """Return the field with other unary costs."""
        return self.with_costs(unary, self.agree_cost, self.differ_cost, self.entailed, self.noise)


def edge_costs(
    edges: IntArray, agree: FloatArray, differ: FloatArray, labels: IntArray
) -> FloatArray:
    """Return what every edge costs under a labelling."""
    left, right = labels[edges[:, 0]], labels[edges[:, 1]]
    if agree.ndim == 1:
        return np.where(left == right, agree, differ)
    e = np.arange(len(left))
    apart = 0.5 * (differ[e, left] + differ[e, right])
    return np.where(left == right, agree[e, left], apart)


def _pair_terms(links: EntailedLinks, pairs: IntArray) -> FloatArray:
    """Return Σ φ over the pairs of rows that pairs of nodes stand for, a column a metric."""
    i, j = pairs.T
    n_i, n_j = links.size[i], links.size[j]
    columns = [
        n_j * b[i] + n_i * b[j] - z.product(i, j).dot(np.ones((1, z.shape[1])))[:, 0]
        for b, z in zip(links.b, links.z, strict=True)
    ]
    return np.column_stack(columns)


def _as_width(cost: FloatArray, ndim: int, n_labels: int) -> FloatArray:
    if ndim == 1:
        return cost if cost.ndim == 1 else cost[:, 0]
    column = cost[:, None] if cost.ndim == 1 else cost
    return np.broadcast_to(column, (len(column), n_labels)).copy()


def _check_unary(U: FloatArray) -> None:
    if U.ndim != 2 or U.shape[1] < 1:
        raise ValueError(f"unary must have shape (n_nodes, n_labels); got {U.shape}")
    if np.isnan(U).any() or np.isneginf(U).any():
        raise ValueError("unary holds NaN or -inf; costs are numbers, or inf to forbid a label")
    blocked = np.flatnonzero(np.isinf(U).all(axis=1))
    if len(blocked):
        raise ValueError(f"unary forbids every label of node {blocked[0]}; allow at least one")


def _check_edges(E: NDArray[Any], n: int) -> None:
    if E.ndim != 2 or E.shape[1] != 2 or E.dtype.kind not in "iu":
        raise ValueError(f"edges must be integers of shape (n_edges, 2); got {E.dtype} {E.shape}")
    if E.size and (E.min() < 0 or E.max() >= n):
        raise ValueError(f"edges must join nodes 0..{n - 1}; found {E.min()} to {E.max()}")
    if (E[:, 0] == E[:, 1]).any():
        raise ValueError("an edge joins a node with itself; remove it")


def _cost(cost: ArrayLike, m: int, K: int, name: str) -> FloatArray:
    array = np.asarray(cost, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(m, float(array))
    if array.size == 0 and m == 0:
        array = np.zeros(0)
    if array.shape not in ((m,), (m, K)):
        raise ValueError(f"{name} must have shape ({m},) or ({m}, {K}); got {array.shape}")
    if np.isnan(array).any() or np.isneginf(array).any():
        raise ValueError(f"{name} holds NaN or -inf; costs are numbers, or inf for a hard edge")
    return array
