"""Solve the program of a field, cut by cut and batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._structure import by_group
from ..field import PottsField
from ._highs import Solver, seconds_left
from ._program import Program, exact_sums, program_of, trivial_bounds
from ._reduce import Reduced
from .cuts import find_cuts

__all__ = ["Relaxation", "Relaxed", "relax", "relax_all"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Relaxation:
    """A solution of a program.

    Attributes
    ----------
    shares : float array (n, K)
    bounds : float array (components,)
        Certified lower bounds.
    trace : list of float
        Their sum after every round.
    solved : bool
        Whether the last program was solved to its end.
    solver : Solver
    prices : float array
        Those that prove the last bounds.
    """

    shares: FloatArray
    bounds: FloatArray
    trace: list[float]
    solved: bool
    solver: Solver
    prices: FloatArray


def relax(
    program: Program,
    edges: IntArray,
    cut_rounds: int,
    deadline: float,
    cut_deadline: float = np.inf,
) -> Relaxation:
    """Solve a program, add the cuts its solution breaks, and so on for some rounds.

    No round of cuts begins after ``cut_deadline``, and none goes on for longer.
    """
    solver, n = Solver(program), len(program.column)
    prices = np.zeros(len(program.lower) - n)
    bounds = program.bounds(prices)
    x, trace, solved = np.zeros(len(program.cost)), [], False
    for turn in range(cut_rounds + 1):
        answer = solver.solve(min(deadline, cut_deadline) if turn else deadline)
        solved = answer.solved
        if answer.prices is not None:
            proven = program.bounds(answer.prices)
            prices = answer.prices if proven.sum() >= bounds.sum() else prices
            bounds = np.maximum(bounds, proven)
        if answer.x is not None and (solved or not turn):
            x = answer.x  # a run cut short leaves worse shares than the round before
        trace.append(float(bounds.sum()))
        if not solved or turn == cut_rounds or seconds_left(cut_deadline) <= 0:
            break
        cuts = find_cuts(program, edges, x)
        if not len(cuts.least):
            break
        solver.add_rows(*cuts.rows(program))
        prices = np.r_[prices, np.zeros(len(cuts.least))]
    return Relaxation(program.shares(x), bounds, trace, solved, solver, prices)


@dataclass(frozen=True)
class Relaxed:
    """The relaxation of a whole field.

    Attributes
    ----------
    shares : float array (open nodes, K)
    bounds : float array (components,)
    trace : float array (rounds,)
        The sum of the bounds after every round of cuts.
    solved : bool
    """

    shares: FloatArray
    bounds: FloatArray
    trace: FloatArray
    solved: bool


def relax_all(
    left: Reduced, component: IntArray, batch: int, cut_rounds: int, deadline: float
) -> Relaxed:
    """Relax what is open of a field; ``component`` numbers all its nodes for the bounds."""
    count = int(component.max(initial=-1)) + 1
    bounds = exact_sums(component, left.constant, count)
    shares = left.allowed / left.allowed.sum(axis=1, keepdims=True)
    traces, solved = [[float(bounds.sum())]], True
    for nodes, part in _batches(left, batch):
        known, home = np.unique(component[left.nodes[nodes]], return_inverse=True)
        allowed = left.allowed[nodes]
        proven = trivial_bounds(part, allowed, home, len(known))
        if seconds_left(deadline) > 0:
            program = program_of(part, allowed, home, len(known))
            answer = relax(program, part.edges, cut_rounds, deadline)
            shares[nodes], solved = answer.shares, solved and answer.solved
            proven = np.maximum(proven, answer.bounds)
            traces.append(answer.trace)
        else:
            solved = False
            traces.append([float(proven.sum())])
        bounds[known] += proven
    rounds = max(len(trace) for trace in traces)
    padded = [np.r_[trace, np.full(rounds - len(trace), trace[-1])] for trace in traces]
    return Relaxed(shares, bounds, np.sum(padded, axis=0), solved)


def _batches(left: Reduced, batch: int) -> Iterator[tuple[IntArray, PottsField]]:
    """Yield nodes and fields: large components alone, small ones together.

    Batches have about ``batch`` columns: one call of the solver for each small component takes
    ten times as long, and large programs of many components slow the simplex method down.
    """
    field, component = left.field, left.field.connected
    count = int(component.max(initial=-1)) + 1
    columns = np.bincount(component, left.allowed.sum(axis=1), minlength=count)
    at_edge = component[field.edges[:, 0]]
    columns += field.n_labels * np.bincount(at_edge, minlength=count)
    small = columns < batch
    group = (np.cumsum(np.where(small, columns, 0.0)) // batch).astype(np.int64)
    group[~small] = count + np.arange(int((~small).sum()))
    _, group = np.unique(group, return_inverse=True)
    n_groups = int(group.max(initial=-1)) + 1
    node_start, nodes = by_group(group[component], n_groups)
    edge_start, edges = by_group(group[at_edge], n_groups)
    place = np.empty(field.n_nodes, dtype=np.int64)
    place[nodes] = np.arange(len(nodes)) - node_start[group[component[nodes]]]
    for g in range(n_groups):
        mine = nodes[node_start[g] : node_start[g + 1]]
        inner = edges[edge_start[g] : edge_start[g + 1]]
        costs = field.agree_cost[inner], field.differ_cost[inner]
        yield mine, PottsField(field.unary[mine], place[field.edges[inner]], *costs)
