"""Single precision only ever saves work: double-precision data get the labels they would get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkfield.engine.layout
from linkfield import HMRFKMeans
from linkfield._kernels.rough import nearest_centres
from linkfield._kernels.tiles import room_for
from linkfield._rows import pieces
from linkfield.distortions import METRICS, Cosine, SquaredEuclidean
from linkfield.engine import ArrayEngine, Assignment
from linkfield.engine.layout import centre_terms, offered
from linkfield.estimation import Model

Array = np.ndarray
pytestmark = pytest.mark.usefixtures("long_passes")
seeds = st.integers(0, 2**32 - 1)
K, N = 6, 700
every_distortion = pytest.mark.parametrize(
    "distortion", [SquaredEuclidean(), Cosine()], ids=["euclidean", "cosine"]
)
#: Plain rows; rows on a grid, so that many are as near to two centres; numbers of all sizes.
SHAPES = ["plain", "grid", "uneven", "large", "small"]


class Blocks(ArrayEngine):
    """The same engine with small blocks."""

    def blocks(self, result: int = 0) -> list[slice]:
        return list(pieces(len(self.rows), 180))


def make(shape: str, rng: np.random.Generator, d: int) -> Array:
    if shape == "grid":
        return rng.integers(-2, 3, (N, d)).astype(float)
    X = rng.normal(size=(N, d)) + rng.integers(0, 3, (N, 1))
    scale = {"uneven": 10.0 ** rng.uniform(-6, 6, d), "large": 1e12, "small": 1e-21}
    return X * scale.get(shape, 1.0)


def reach_of(rows: Any) -> Array:
    return np.abs(rows.range()).max(axis=0)


def engines(distortion: Any, X: Array, rng: np.random.Generator) -> tuple[Blocks, Blocks]:
    """Return an engine that knows the range of its data, and one that does not."""
    rows, weight, free = distortion.rows(X), rng.uniform(0.1, 2.0, N), rng.random(N) < 0.7
    return tuple(  # type: ignore[return-value]
        Blocks(rows, weight, free, distortion, K, reach=reach) for reach in (reach_of(rows), None)
    )


def model_for(distortion: Any, X: Array, rng: np.random.Generator, d: int) -> Model:
    """Return a model whose centres are rows, one of them twice, under some weights."""
    M = X[rng.choice(N, K)].copy()
    M[-1] = M[0]
    return Model(distortion.prepared_centres(M), METRICS["diagonal"](rng.uniform(0.3, 3.0, d)))


@every_distortion
@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=12)
@given(seed=seeds, d=st.integers(1, 40))
def test_labels_are_the_same_to_the_bit(distortion: Any, shape: str, seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X = make(shape, rng, d)
    known, unknown = engines(distortion, X, rng)
    start = np.where(known.free, -1, rng.integers(0, K, N))
    rough, exact = (Assignment(engine, start.copy()) for engine in (known, unknown))
    tied = known.rows.take(known.tied).float64()
    for step in range(4):
        model = model_for(
            distortion, known.rows.dense(), np.random.default_rng(seed + step // 2), d
        )
        for standing in (rough, exact):
            standing.bounds.on = True
            standing.assign(model, np.zeros(K), keep_bounds=True)
        np.testing.assert_array_equal(rough.labels, exact.labels)
        np.testing.assert_array_equal(rough.cheapest, exact.cheapest)
        table = known.weight[known.tied, None] * distortion.table(tied, model.centres, model.metric)
        least, second = np.sort(table, axis=1)[:, :2].T
        size = np.abs(table).max()
        assert (rough.margin <= second - least + 1e-11 * size).all()
        assert (rough.margin >= 0).all()


@pytest.mark.parametrize("shape", SHAPES)
@settings(max_examples=20)
@given(seed=seeds, d=st.integers(1, 300))
def test_rough_costs_are_off_by_no_more_than_is_said(shape: str, seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    distortion = SquaredEuclidean()
    rows = distortion.rows(make(shape, rng, d))
    X, reach = rows.dense(), reach_of(rows)
    terms = centre_terms(
        distortion, model_for(distortion, X, rng, d), rng.uniform(0, 1, K), rows.compiled,
        np.float64, reach,
    )  # fmt: skip
    assert terms.rough.dtype == terms.rough_g.dtype == np.float32 and len(terms.rough) == K
    one = np.float32
    found = np.zeros((N, K), one)
    for m in range(d):  # rounded after every step, as a machine without fused steps would
        found += X[:, m, None].astype(one) * terms.rough[:, m].astype(one)
    found = terms.rough_g - found
    wide = np.longdouble
    wanted = terms.g.astype(wide) - X.astype(wide) @ terms.psi.T.astype(wide)
    assert np.abs(found - wanted).max() <= terms.off
    if shape == "plain":  # and not by so much that it says nothing
        assert terms.off < 1e-4 * (d + 8) * np.abs(wanted).max()


def test_few_rows_stay_in_doubt() -> None:
    """Else nothing would be saved, and no label be wrong."""
    rng = np.random.default_rng(0)
    distortion = SquaredEuclidean()
    rows = distortion.rows(rng.normal(size=(N, 16)))
    model = Model(rng.normal(size=(K, 16)), METRICS["diagonal"](np.ones(16)))
    args = (np.zeros(K), rows.compiled, np.float64, reach_of(rows))
    terms = centre_terms(distortion, model, *args)
    best, second, room = np.empty(1024), np.empty(1024), np.empty(room_for(K))
    label, doubts = np.empty(1024, np.int32), np.empty(1024, np.int64)
    chunk = rows.dense()
    for use, few in ((True, 0.02 * N), (False, 0)):
        count = nearest_centres(
            terms, terms.rough, use, chunk, N, room, best, second, label, doubts
        )
        assert count <= few
        np.testing.assert_array_equal(label[:N], (terms.g - chunk @ terms.psi.T).argmin(axis=1))


def test_single_precision_is_not_tried_on_numbers_that_it_does_not_have() -> None:
    rng = np.random.default_rng(0)
    for scale, tried in ((1e3, K), (1e16, 0), (1e150, 0)):
        X = scale * rng.normal(size=(N, 3))
        known, unknown = engines(SquaredEuclidean(), X, rng)
        model = model_for(SquaredEuclidean(), known.rows.dense(), rng, 3)
        terms = centre_terms(
            known.distortion, model, np.zeros(K), known.rows.compiled, np.float64, known.reach
        )
        assert len(terms.rough) == tried
        assert (known.nearest(model, np.zeros(K)) == unknown.nearest(model, np.zeros(K))).all()


def test_one_row_far_away_makes_all_rough_costs_uncertain_and_no_label_wrong() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    X[0] = 1e9
    known, unknown = engines(SquaredEuclidean(), X, rng)
    model = Model(known.rows.dense()[1 : 1 + K].copy(), METRICS["diagonal"](np.ones(4)))
    labels = known.nearest(model, np.zeros(K))
    np.testing.assert_array_equal(labels, unknown.nearest(model, np.zeros(K)))
    assert len(np.unique(labels[known.free])) == K


@every_distortion
@pytest.mark.parametrize("shape", SHAPES)
def test_candidates_for_centres_are_compared_exactly(
    distortion: Any, shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Σ v min(nearest, D) is, and so is every D below the nearest."""
    monkeypatch.setattr(linkfield.engine.layout, "WIDE", 1)
    rng = np.random.default_rng(0)
    known, unknown = engines(distortion, make(shape, rng, 20), rng)
    metric = METRICS["diagonal"](rng.uniform(0.3, 3.0, 20))
    points = model_for(distortion, known.rows.dense(), rng, 20).centres
    assert (
        len(offered(distortion, points, metric, known.rows.compiled, np.float64, None).exact) == 0
    )
    args = (distortion, points, metric, known.rows.compiled, np.float64, known.reach)
    assert len(offered(*args).exact) == K and offered(*args).psi.dtype == np.float32
    offsets, nearest = known.row_offsets(metric), np.full(N, np.inf)
    for some in (points[:1], points[1:3], points[3:]):
        found = [np.empty((len(some), N), np.float32) for _ in range(2)]
        left = [
            engine.offer(some, metric, offsets, nearest, into)
            for engine, into in zip((known, unknown), found, strict=True)
        ]
        np.testing.assert_allclose(left[0], left[1], rtol=1e-6)
        lower = [np.minimum(nearest, into) for into in found]
        size = np.float32(offsets[0].max()) if distortion.bregman else 1.0
        np.testing.assert_allclose(lower[0], lower[1], rtol=2e-7, atol=1e-13 * size)
        nearest = lower[1].min(axis=0).astype(float)


def test_a_fit_is_the_same_with_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 150)) + rng.integers(0, 4, (4_000, 1))
    fits = []
    for known in (True, False):
        if not known:
            monkeypatch.setattr(linkfield.engine.layout, "HUGE", 0.0)
        fits.append(HMRFKMeans(5, metric="diagonal", n_init=1, random_state=0).fit(X))
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert fits[0].objective_ == fits[1].objective_
