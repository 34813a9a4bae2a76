"""A problem as the initialisers see it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..distortions import Metric
from ..estimation import Model, Statistics
from ..initialize import Neighbourhoods, SeedingData, most_offered
from ._problem import Problem

__all__ = ["named_init", "seeding_data"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def seeding_data(
    problem: Problem, metric: Metric, smoothing: float, order: IntArray, kept: dict[str, Any]
) -> SeedingData:
    """Return rows and passes for an initialiser; ``order`` is the canonical order of the rows.

    ``kept`` is what the starts of one fit share.
    """
    engine, objective = problem.engine, problem.objective
    shared = metric.single()
    offsets = engine.row_offsets(shared)
    # Room for as many as are ever offered at once; what is not written to takes no memory.
    buffer = np.empty((most_offered(engine.n_clusters), len(engine.rows)), dtype=np.float32)

    def centres_of(member: Any) -> FloatArray:
        member = member.tocsr()
        used, column = np.unique(member.indices, return_inverse=True)
        rows = engine.rows.take(used)
        weight = member @ np.ones(member.shape[1])
        scale = engine.distortion.row_scale(rows, shared)
        value = member.data if scale is None else member.data * scale[column]
        small = sparse.csr_array((value, column, member.indptr), (len(weight), len(used)))
        model = Model(np.zeros((len(weight), rows.shape[1])), shared, smoothing)
        return objective.centres(Statistics(weight, weight, rows.sums(small)), model)

    def points_of(index: IntArray) -> FloatArray:
        rows, one = engine.rows.take(index), np.ones(len(index))
        scale = engine.distortion.row_scale(rows, shared)
        sums = np.asarray(rows.dense(), np.float64)
        sums = sums if scale is None else sums * scale[:, None]
        model = Model(np.zeros_like(sums), shared, smoothing)
        return objective.centres(Statistics(one, one, sums), model)

    def distances(
        points: FloatArray, nearest: FloatArray
    ) -> tuple[NDArray[np.float32], FloatArray]:
        found = buffer[: len(points)]
        return found, engine.offer(points, shared, offsets, nearest, found)

    return SeedingData(
        engine.distortion, engine.rows, engine.weight, metric, order, centres_of, points_of,
        distances, kept,
    )  # fmt: skip


def named_init(name: str) -> Neighbourhoods:
    """Return the initialiser of a name."""
    named = {
        "neighbourhoods": Neighbourhoods(),
        "farthest-first": Neighbourhoods(select="wff"),
        "largest": Neighbourhoods(select="largest"),
        "k-means++": Neighbourhoods(),
        "random": Neighbourhoods(filler="random"),
    }
    if name not in named:
        raise ValueError(
            f"init must be one of {sorted(named)}, an array of centres, or a "
            f"linkfield.initialize.Neighbourhoods; got {name!r}"
        )
    return named[name]
