"""Programs handed to HiGHS (Huangfu & Hall 2018): the one place that knows its interface."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ._program import Program

__all__ = ["Answer", "Found", "Solver", "seconds_left"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: What HiGHS lets the solution of a program be off by (its own default is 1e-7), and in a search,
#: where its bound can be trusted only up to that.
TOLERANCE, SEARCH_TOLERANCE = 1e-9, 1e-10


@dataclass(frozen=True)
class Answer:
    """Column values, prices of the rows after the first n, and whether the run came to its end."""

    x: FloatArray | None
    prices: FloatArray | None
    solved: bool


@dataclass(frozen=True)
class Found:
    """The best whole solution, a bound with an allowance for tolerances, and how it ended."""

    x: FloatArray | None
    bound: float
    solved: bool
    nodes: int


class Solver:
    """A program inside HiGHS; rows can be added and the program solved again from where it was."""

    def __init__(self, program: Program) -> None:
        highspy = _highspy()
        self.program = program
        self.n_nodes = len(program.column)
        sizes = np.abs(program.cost[program.cost != 0])
        # Tolerances are absolute, so costs are counted in units of their median.
        self.unit = float(np.median(sizes)) if len(sizes) else 1.0
        self.highs = highspy.Highs()
        # Presolving costs more than it saves here, and a run cut short would leave no prices.
        self._set(output_flag=False, solver="simplex", parallel="off", presolve="off")
        self._set(primal_feasibility_tolerance=TOLERANCE, dual_feasibility_tolerance=TOLERANCE)
        self._pass(highspy.kHighsInf)

    def _set(self, **options: Any) -> None:
        for name, value in options.items():
            self.highs.setOptionValue(name, value)

    def _pass(self, infinity: float) -> None:
        p = self.program
        n_rows, n_columns = p.rows.shape
        upper = np.full(n_rows, infinity)
        upper[: self.n_nodes] = 1.0
        self.highs.passModel(
            n_columns, n_rows, p.rows.nnz, 2, 1, 0.0, p.cost / self.unit,
            np.zeros(n_columns), np.full(n_columns, infinity), p.lower, upper,
            p.rows.indptr.astype(np.int32), p.rows.indices.astype(np.int32), p.rows.data,
            np.zeros(n_columns, np.int32),
        )  # fmt: skip

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray) -> None:
        """Add rows·x ≥ lower to the program."""
        self.program.add_rows(rows, lower)
        no_limit = np.full(len(lower), np.inf)
        start, index = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
        self.highs.addRows(len(lower), lower, no_limit, rows.nnz, start, index, rows.data)

    def solve(self, deadline: float) -> Answer:
        """Solve by the dual simplex method, from the last basis if there is one."""
        highspy = _highspy()
        if not self._run(deadline):
            return Answer(None, None, False)
        solved = self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        found = self.highs.getSolution()
        x = _numbers(found.col_value) if found.value_valid else None
        prices = _numbers(found.row_dual) if found.dual_valid else None
        if prices is not None:
            prices = prices[self.n_nodes :] * self.unit
        return Answer(x, prices, solved and x is not None)

    def search(
        self, labels: IntArray, zero: NDArray[np.bool_], max_nodes: int | None, deadline: float
    ) -> Found:
        """Look for the best whole shares by branch and bound, from a labelling that is known.

        Columns marked ``zero`` are fixed at 0. Only shares need to be whole: the other columns
        then are by themselves.
        """
        highspy = _highspy()
        program, highs = self.program, self.highs
        columns = program.column[program.allowed].astype(np.int32)
        fixed = np.flatnonzero(zero).astype(np.int32)
        nothing = np.zeros(len(fixed))
        highs.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.ones(len(columns)))
        highs.changeColsBounds(len(fixed), fixed, nothing, nothing)
        highs.changeColsCost(len(fixed), fixed, nothing)
        whole = np.full(len(columns), highspy.HighsVarType.kInteger.value, dtype=np.uint8)
        highs.changeColsIntegrality(len(columns), columns, whole)
        self._set(solver="choose", presolve="on", mip_rel_gap=0.0, mip_abs_gap=SEARCH_TOLERANCE)
        for kind in ("mip", "primal", "dual"):
            self._set(**{f"{kind}_feasibility_tolerance": SEARCH_TOLERANCE})
        if max_nodes is not None:
            self._set(mip_max_nodes=max_nodes)
        given = np.arange(program.column.shape[1]) == labels[:, None]
        highs.setSolution(len(columns), columns, given[program.allowed].astype(float))
        if not self._run(deadline):
            return Found(None, -np.inf, False, 0)
        info, solution = highs.getInfo(), highs.getSolution()
        x = _numbers(solution.col_value) if solution.value_valid else None
        solved = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        bound = info.mip_dual_bound if abs(info.mip_dual_bound) < highspy.kHighsInf else -np.inf
        # It calls equal what differs by its tolerances.
        bound = (bound - 10 * SEARCH_TOLERANCE) * self.unit + float(program.base.sum())
        return Found(x, bound, solved and x is not None, max(info.mip_node_count, 0))

    def _run(self, deadline: float) -> bool:
        left = seconds_left(deadline)
        if left <= 0:
            return False
        self._set(time_limit=self.highs.getRunTime() + left)  # it counts all runs together
        self.highs.run()
        return True


def _numbers(values: Any) -> FloatArray | None:
    """Return an array, None if it holds what is no number."""
    array = np.array(values, dtype=np.float64)
    return array if np.isfinite(array).all() else None


def _highspy() -> Any:
    """Load HiGHS only when it is needed."""
    return import_module("highspy")


def seconds_left(deadline: float) -> float:
    """Return how many seconds there are until a point in time of ``time.monotonic``."""
    return deadline - time.monotonic()
