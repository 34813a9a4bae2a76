"""Inequalities that every labelling keeps and fractional solutions break (maths.md 4.3, D3).

With v_e = 1 for a violated link and 0 for a kept one:

- a cycle with exactly one cannot-link has Σ v ≥ 1, whatever the number of labels;
- where two labels are left, so has every cycle with an odd number of cannot-links;
- of q = tK + r points that are all apart, at least K t(t − 1)/2 + r t pairs share a label.

Without them a program with cannot-links says little: every y with y_ih ≤ ½ pays none of them. Edges
with a cost for each label take part too where they want the same for all labels, since the
inequalities only speak of ends that agree or differ; the others have no v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._structure import by_group
from ._program import CANNOT, MUST, Program

__all__ = ["Cuts", "find_cuts"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Cuts:
    """Σ v over the edges marked in a row of ``edges`` is at least ``least``."""

    edges: sparse.csr_array
    least: FloatArray

    def rows(self, program: Program) -> tuple[sparse.csr_array, FloatArray]:
        """Return the inequalities in the columns of a program: rows and their lower bounds."""
        return sparse.csr_array(self.edges @ program.violation), self.least


def find_cuts(program: Program, edges: IntArray, x: FloatArray) -> Cuts:
    """Return cuts that a solution falls short of."""
    v, n = program.violations(x), len(program.column)
    room = 16 * len(edges) + 1024
    found = [
        _one_cannot(edges, program.kind, v, n, room),
        _odd(edges, program, v, room),
        _cliques(edges, program, v, room),
    ]
    return _together(found, len(edges))


def _adjacency(edges: IntArray, chosen: IntArray, n: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return where the neighbours of every node start, the neighbours, and the edges to them."""
    ends = edges[chosen].T
    pointer, order = by_group(ends.ravel(), n)
    return pointer, ends[::-1].ravel()[order], np.tile(chosen, 2)[order]


def _one_cannot(
    edges: IntArray, kind: IntArray, v: FloatArray, n: int, room: int
) -> tuple[IntArray, IntArray, FloatArray]:
    from ._cut_kernels import one_cannot_cycles

    pointer, neighbour, edge = _adjacency(edges, np.flatnonzero(kind == MUST), n)
    cannot = np.flatnonzero(kind == CANNOT)
    cannot = cannot[np.argsort(edges[cannot, 0], kind="stable")]
    left, right = (np.ascontiguousarray(end) for end in edges[cannot].T)
    links = cannot, left, right, v[cannot]
    found, start = one_cannot_cycles(pointer, neighbour, edge, v[edge], links, room)
    return found, start, np.ones(len(start) - 1)


def _odd(
    edges: IntArray, program: Program, v: FloatArray, room: int
) -> tuple[IntArray, IntArray, FloatArray]:
    """Search cycles of nodes that have the same two labels left."""
    from ._cut_kernels import odd_cycles

    n, kind, allowed = len(program.column), program.kind, program.allowed
    low, high = allowed.argmax(axis=1), allowed.shape[1] - allowed[:, ::-1].argmax(axis=1)
    pair = np.where(allowed.sum(axis=1) == 2, low * (allowed.shape[1] + 1) + high, -1)
    i, j = edges.T
    chosen = np.flatnonzero((pair[i] >= 0) & (pair[i] == pair[j]) & (kind != 0))
    turn = (kind[chosen] == CANNOT).astype(np.int64)
    i, j = i[chosen], j[chosen]
    states = np.concatenate([np.column_stack([2 * i + p, 2 * j + (p ^ turn)]) for p in (0, 1)])
    pointer, neighbour, at = _adjacency(states, np.arange(len(states)), 2 * n)
    edge = np.tile(chosen, 2)[at]
    found, start = odd_cycles(pointer, neighbour, edge, v[edge], room)
    return found, start, np.ones(len(start) - 1)


def _cliques(
    edges: IntArray, program: Program, v: FloatArray, room: int
) -> tuple[IntArray, IntArray, FloatArray]:
    from ._cut_kernels import cliques

    chosen = np.flatnonzero(program.kind == CANNOT)
    pointer, neighbour, edge = _adjacency(edges, chosen, len(program.column))
    found: tuple[IntArray, IntArray, FloatArray] = cliques(
        pointer, neighbour, edge, v, program.allowed, room
    )
    return found


def _together(found: list[tuple[IntArray, IntArray, FloatArray]], m: int) -> Cuts:
    """Return all cuts as one, each only once."""
    sizes = np.concatenate([np.diff(start) for _, start, _ in found])
    edge, least = (np.concatenate([part[k] for part in found]) for k in (0, 2))
    start = np.r_[0, np.cumsum(sizes)]
    seen = {tuple(np.sort(edge[start[c] : start[c + 1]])): c for c in range(len(sizes))}
    keep = np.array(sorted(seen.values()), dtype=np.int64)
    rows = sparse.csr_array((np.ones(len(edge)), edge, start), shape=(len(sizes), m))
    return Cuts(rows[keep], least[keep])
