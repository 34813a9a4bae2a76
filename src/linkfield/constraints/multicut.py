"""Chains of must-links that contradict a cannot-link, and the cheapest way to be rid of them.

A cannot-link whose ends lie in one must-link component is a conflict. A repair removes pairs until
no conflict is left; the cheapest one is a minimum multicut whose terminal pairs, the cannot-links,
may themselves be given up at a price.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._graphs import BoolArray, as_node_pairs, components, sums
from ._multicut_reduction import merge_parallel, reduce
from ._multicut_search import Cut, solve_all
from ._normal import FloatArray, IntArray
from .chains import shortest_chain, shortest_chains

__all__ = ["Repair", "cheapest_repair", "shortest_chain", "shortest_chains"]


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """Answer of :func:`cheapest_repair`.

    Attributes
    ----------
    drop_must : ndarray of bool, shape (m,)
        Must-links to remove.
    drop_cannot : ndarray of bool, shape (c,)
        Cannot-links to remove.
    cost : float
        Total weight of the removed pairs; ``inf`` if one of them has infinite weight.
    proven : bool
        Whether no cheaper repair exists; False only after the time limit.
    """

    drop_must: BoolArray
    drop_cannot: BoolArray
    cost: float
    proven: bool


def cheapest_repair(
    n_nodes: int,
    must: npt.ArrayLike,
    must_weight: npt.ArrayLike,
    cannot: npt.ArrayLike,
    cannot_weight: npt.ArrayLike,
    *,
    fixed_cannot: npt.ArrayLike | None = None,
    time_limit: float = 30.0,
) -> Repair:
    """Find the pairs of least total weight whose removal leaves no conflict.

    With x_e = 1 for a removed pair, solve ::

        min sum_e w_e x_e   s.t.   x_ab + sum_{e in P} x_e >= 1

    for every cannot-link ab and every chain P of must-links from a to b (minimum multicut; Garg,
    Vazirani & Yannakakis 1996). The chains are generated as they are violated (implicit hitting
    set), first by the linear relaxation, then by the integer program. Before that, nodes that are
    no end of a conflict are contracted away (rake and compress, Miller & Reif 1985), so that long
    chains and trees cost near-linear time. Connected components are independent problems.

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    must, cannot : array of int, shapes (m, 2) and (c, 2)
        Pairs; repeated pairs are separate pairs, each with its weight.
    must_weight, cannot_weight : array of float, shapes (m,) and (c,)
        Positive. ``inf`` counts as more than all finite weights together: such a pair is removed
        only when no finite repair exists, and then as few of them as possible, whatever that
        means for the others. Weights more than eight orders of magnitude below the largest finite
        one of their component may be told apart only to the precision of the solver.
    fixed_cannot : array of bool, shape (c,), optional
        Cannot-links that may never be removed, even if must-links of infinite weight have to go.
    time_limit : float
        Seconds; after them the unfinished components are repaired greedily, from the solution
        of the last program (reading and reducing the pairs is not interrupted).

    Returns
    -------
    Repair
        Always consistent.

    Raises
    ------
    ValueError
        If a fixed cannot-link joins a node with itself: nothing can satisfy it.
    """
    if not time_limit >= 0:
        raise ValueError(f"time_limit must not be negative, got {time_limit}")
    deadline = time.monotonic() + time_limit
    links, links_weight = _weighted(must, must_weight, n_nodes, "must")
    apart, apart_weight = _weighted(cannot, cannot_weight, n_nodes, "cannot")
    fixed = np.zeros(len(apart), dtype=bool) if fixed_cannot is None else np.asarray(fixed_cannot)
    if fixed.shape != (len(apart),) or fixed.dtype != np.bool_:
        raise ValueError(f"fixed_cannot must be boolean of shape ({len(apart)},)")
    if (fixed & (apart[:, 0] == apart[:, 1])).any():
        raise ValueError("a fixed cannot-link joins a node with itself; remove it or unfix it")
    group, weight, price, limit = _tame_infinity(
        n_nodes, links, links_weight, apart, apart_weight, fixed
    )
    ends, pairs = group[links], group[apart]
    drop_must = np.zeros(len(ends), dtype=bool)
    drop_cannot = pairs[:, 0] == pairs[:, 1]
    label = components(n_nodes, ends)
    conflict = np.flatnonzero((label[pairs[:, 0]] == label[pairs[:, 1]]) & ~drop_cannot)
    touched = np.zeros(n_nodes, dtype=bool)
    touched[label[pairs[conflict, 0]]] = True
    inside = np.flatnonzero(touched[label[ends[:, 0]]])
    terminal = np.zeros(n_nodes, dtype=bool)
    terminal[pairs[conflict]] = True
    short, short_weight, owner = reduce(ends[inside], weight[inside], terminal)
    aims, aims_price, aim = merge_parallel(pairs[conflict], price[conflict], terminal)
    aims_limit = np.ones(len(aims))
    aims_limit[aim[limit[conflict] == 0]] = 0.0
    problem = Cut(n_nodes, short, short_weight, aims, aims_price, aims_limit)
    cut, drop, proven = solve_all(
        problem.restrict(np.arange(len(short)), np.arange(len(aims))), deadline
    )
    drop_must[inside] = np.append(cut, False)[owner]  # owner -1: never worth removing
    drop_cannot[conflict] = drop[aim]
    removed = np.concatenate((links_weight[drop_must], apart_weight[drop_cannot]))
    return Repair(drop_must, drop_cannot, math.fsum(removed.tolist()), proven)


def _weighted(
    values: npt.ArrayLike, weights: npt.ArrayLike, n_nodes: int, name: str
) -> tuple[IntArray, FloatArray]:
    """Validate pairs with their weights."""
    table, weight = as_node_pairs(values, n_nodes, name), np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(table),) or not (weight > 0).all():
        raise ValueError(f"{name}_weight must be positive, one for each of {len(table)} pairs")
    return table, weight


def _tame_infinity(
    n_nodes: int,
    links: IntArray,
    weight: FloatArray,
    apart: IntArray,
    price: FloatArray,
    fixed: BoolArray,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return (group of each node, finite weights, finite prices, upper bounds of cannot-links).

    Infinite pairs need a large number only where they contradict each other. A component of
    infinite must-links without an infinite or fixed cannot-link inside loses none of them in a
    cheapest repair, so it is contracted, and every cannot-link that is not inside a
    contradictory one can be kept for a finite cost.
    """
    rigid = np.isinf(weight)
    stiff = np.isinf(price) | fixed
    label = components(n_nodes, links[rigid])
    inside = stiff & (label[apart[:, 0]] == label[apart[:, 1]])
    broken = np.zeros(n_nodes, dtype=bool)
    broken[label[apart[inside, 0]]] = True
    group = np.where(broken[label], n_nodes + np.arange(n_nodes), label)
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    limit = np.where(fixed | (stiff & ~inside), 0.0, 1.0)
    whole = components(n_nodes, links)
    total = sums(whole[links[~rigid, 0]], weight[~rigid], n_nodes)
    finite = np.isfinite(price)
    for end in (0, 1):  # a cannot-link inside one component is counted twice, which does no harm
        total += sums(whole[apart[finite, end]], price[finite], n_nodes)
    large = np.where(total > 0, 2 * total, 1.0)
    tame_weight = np.where(rigid, large[whole[links[:, 0]]], weight)
    tame_price = np.where(finite, price, large[whole[apart[:, 0]]])
    return group, tame_weight, tame_price, limit
