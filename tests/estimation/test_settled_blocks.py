"""Where sums say that blocks stay, no row, no block and no exchange of labels gains."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield import Constraints, HMRFKMeans
from linkfield.distortions import METRICS, SquaredEuclidean, start_metric
from linkfield.estimation import Model, SettledBlocks
from linkfield.estimators._problem import Problem

Array = np.ndarray
G, K, D = 3, 4, 2
seeds = st.integers(0, 2**32 - 1)


def random_blocks(rng: np.random.Generator) -> tuple[Array, Array, Array, Array, Model, float]:
    """Return rows, weights, blocks, their labels, a model, and the weight of links."""
    block = np.concatenate([np.arange(G), rng.integers(0, G, int(rng.integers(0, 20)))])
    X = 2.0 * rng.normal(size=(G, D))[block] + rng.uniform(0.1, 1.0) * rng.normal(
        size=(len(block), D)
    )
    home = rng.permutation(K)[:G]
    centres = 3.0 * rng.normal(size=(K, D))
    means = np.array([X[block == p].mean(axis=0) for p in range(G)])
    centres[home] = means + rng.choice([0.0, 0.3, 1.0]) * rng.normal(size=(G, D))
    kind = rng.choice(["identity", "diagonal"])
    metric = start_metric("identity", D, K)
    if kind == "diagonal":
        metric = METRICS["diagonal"](rng.uniform(0.2, 3.0, D))
    weight = rng.choice([0.0, 0.5, 1.0, 2.0], len(X)) if rng.random() < 0.5 else np.ones(len(X))
    return X, weight, block, home, Model(centres, metric), float(rng.choice([0.05, 0.5, 1.0, 3.0]))


def energy(case: tuple[Array, Array, Array, Array, Model, float], labels: Array) -> float:
    """Return what a labelling costs, pair by pair; all blocks are apart."""
    X, weight, block, _, model, w = case
    a = model.metric.theta
    total = float((weight * ((X - model.centres[labels]) ** 2 @ a)).sum())
    top = float(a @ (X.max(axis=0) - X.min(axis=0)) ** 2)
    i, j = np.triu_indices(len(X), k=1)
    phi, alike = (X[i] - X[j]) ** 2 @ a, labels[i] == labels[j]
    price = np.where(block[i] == block[j], phi * ~alike, (top - phi) * alike)
    return total + w * float(price.sum())


def neighbours(block: Array, home: Array) -> Any:
    """Yield labellings that differ by one row, by one block, or by the names of the labels."""
    labels = home[block]
    for k in range(K):
        for i in range(len(block)):
            other = labels.copy()
            other[i] = k
            yield other
        for p in range(G):
            yield np.where(block == p, k, labels)
    for names in permutations(range(K)):
        yield np.array(names)[labels]


def said(case: tuple[Array, Array, Array, Array, Model, float], sparsely: bool = False) -> bool:
    """Return what is said of random blocks."""
    X, weight, block, home, model, w = case
    rows = SquaredEuclidean().rows(sparse.csr_array(X) if sparsely else X)
    return SettledBlocks.of(rows, weight, block, w).stay(home, model)


@settings(max_examples=150)
@given(seed=seeds)
def test_nothing_gains_where_blocks_are_said_to_stay(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = random_blocks(rng)
    block, home = case[2:4]
    if said(case, sparsely=rng.random() < 0.5):
        now = energy(case, home[block])
        least = min(energy(case, labels) for labels in neighbours(block, home))
        assert least >= now - 1e-9 * (1.0 + abs(now))


def test_both_answers_are_given() -> None:
    answers = [said(random_blocks(np.random.default_rng(seed))) for seed in range(300)]
    assert 0.1 < np.mean(answers) < 0.9


@settings(max_examples=60)
@given(seed=seeds)
def test_the_bound_on_single_rows_is_attained(seed: int) -> None:
    """A row where it gains most by leaving: just enough scatter holds it, a little less does not.

    It stands at e = v c / (n w − v), its mirror image keeps the mean at 0, and four rows at ±s give
    the scatter. It alone is heavy.
    """
    rng = np.random.default_rng(seed)
    w, c, n = rng.uniform(0.2, 5.0), rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 4.0), 6
    v = rng.uniform(0.05, 0.3) * n * w
    e = v * c / (n * w - v)
    least = v * c**2 * n / (n * w - v)  # W
    for factor, stays in ((1.001, True), (0.999, False)):
        spread = factor * least - 2 * e**2
        if spread < 0:
            continue
        s = np.sqrt(spread / 4.0)
        X = np.array([e, -e, s, -s, s, -s])[:, None]
        weight = np.array([v, *[0.1 * v] * 5])
        sums = SettledBlocks.of(SquaredEuclidean().rows(X), weight, np.zeros(n, int), w)
        # Whether the block stays as a whole is not what is asked here.
        sums = replace(sums, weighted_mean=np.array([[-c]]))
        model = Model(np.array([[-c], [e]]), start_metric("identity", 1, 2))
        assert sums.stay(np.array([0]), model) is stays
        gain = v * (e + c) ** 2 - w * float(((X - e) ** 2).sum())  # the other centre is at the row
        assert (gain <= 0) == stays


def test_a_block_goes_by_its_weighted_mean() -> None:
    X = np.array([[0.0], [0.1], [-0.1], [4.0]])
    model = Model(np.array([[1.0], [3.0]]), start_metric("identity", 1, 2))
    for weight, label in (([1.0, 1.0, 1.0, 1.0], 0), ([0.1, 0.1, 0.1, 9.0], 1)):
        sums = SettledBlocks.of(
            SquaredEuclidean().rows(X), np.array(weight), np.zeros(4, int), 50.0
        )
        assert [sums.stay(np.array([h]), model) for h in (0, 1)] == [label == 0, label == 1]


@given(seed=seeds)
def test_sums_are_numpys(seed: int) -> None:
    X, weight, block, _, _, w = random_blocks(np.random.default_rng(seed))
    for data in (X, sparse.csr_array(X)):
        sums = SettledBlocks.of(SquaredEuclidean().rows(data), weight, block, w)
        for p in range(G):
            mine, v = X[block == p], weight[block == p]
            assert (sums.size[p], sums.heaviest[p], sums.link_weight) == (len(mine), v.max(), w)
            mean = mine.mean(axis=0)
            np.testing.assert_allclose(sums.mean[p], mean, atol=1e-12)
            heavy = mine.T @ v / v.sum() if v.any() else mean
            np.testing.assert_allclose(sums.weighted_mean[p], heavy, atol=1e-12)
            scatter = ((mine - mean) ** 2).sum(axis=0)
            assert (sums.scatter[p] <= scatter).all()
            np.testing.assert_allclose(sums.scatter[p], scatter, atol=1e-8 * (1 + (X**2).sum()))


def test_rounding_is_no_scatter() -> None:
    """Equal rows far from zero have none, so each would leave for a centre that is nearer."""
    said = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.repeat(1e7 * rng.normal(size=(1, D)), 30, axis=0)
        sums = SettledBlocks.of(
            SquaredEuclidean().rows(sparse.csr_array(X)), np.ones(30), np.zeros(30, int), 1.0
        )
        model = Model(np.array([X[0] + 1e-4, X[0] + 1.0]), start_metric("identity", D, 2))
        said.append(sums.stay(np.array([0]), model))
    assert not any(said)


def test_pieces_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, weight, block, _, _, w = random_blocks(rng)
    rows = SquaredEuclidean().rows(X)
    whole = SettledBlocks.of(rows, weight, block, w)
    monkeypatch.setattr("linkfield.estimation.settled_blocks.AT_A_TIME", 3 * D)
    parts = SettledBlocks.of(rows, weight, block, w)
    for name in ("size", "heaviest", "mean", "weighted_mean", "scatter"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-12)


def told(rng: np.random.Generator, dtype: str) -> tuple[Array, dict[str, Any]]:
    """Return rows of three classes that overlap, and labels of two hundred of them, some wrong."""
    y = rng.integers(0, 3, 600)
    X = (rng.normal(size=(600, 4)) + 1.5 * rng.normal(size=(3, 4))[y]).astype(dtype)
    labels = np.full(600, -1)
    rows = rng.choice(600, 200, replace=False)
    labels[rows] = np.where(rng.random(200) < rng.choice([0.0, 0.1]), rng.integers(0, 3), y[rows])
    fit = {"partial_labels": labels}
    if rng.random() < 0.5:
        fit["sample_weight"] = rng.uniform(0.2, 2.0, 600)
    return X, fit


@pytest.mark.parametrize("metric", ["identity", "diagonal"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@settings(max_examples=12)
@given(seed=seeds)
def test_fits_are_the_same_without(metric: str, dtype: str, seed: int) -> None:
    """Those of later starts as well, in clusters that no label speaks of."""
    rng = np.random.default_rng(seed)
    X, fit = told(rng, dtype)
    params: dict[str, Any] = {"metric": metric, "constraint_weight": rng.choice([0.01, 1.0])}
    if rng.random() < 0.5:
        params.update(init="k-means++", n_init=3)
    K = int(rng.integers(3, 7))
    model = HMRFKMeans(K, random_state=0, **params).fit(X, **fit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Problem, "stays", lambda *_: False)
        other = HMRFKMeans(K, random_state=0, **params).fit(X, **fit)
    np.testing.assert_array_equal(model.labels_, other.labels_)
    assert model.objective_ == other.objective_
    np.testing.assert_array_equal(model.objective_trace_, other.objective_trace_)


@pytest.mark.parametrize(
    "params",
    [
        {"penalty": "potts"},
        {"metric": "full"},
        {"metric": "diagonal-per-cluster"},
        {"distortion": "cosine"},
        {"inference": "auto"},
        {"certify": True},
        {"label_reading": "absolute"},
        {},
    ],
    ids=lambda params: next(iter(params), "as it should be"),
)
def test_what_sums_do_not_know_of_is_looked_at(
    params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, fit = told(np.random.default_rng(1), "float64")
    said = []
    stays = Problem.stays
    monkeypatch.setattr(Problem, "stays", lambda *args: said.append(stays(*args)) or said[-1])
    HMRFKMeans(3, random_state=0, n_init=1, **{"metric": "diagonal", **params}).fit(X, **fit)
    assert any(said) == (not params)


@pytest.mark.parametrize("reading", ["absolute", "relational"])
def test_blocks_whose_labels_cost_something_are_looked_at(
    reading: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains of must-links make blocks, too; labels of their members may be absolute."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)) + np.repeat([[0.0], [1.0]], 200, axis=0)
    chains = [(i, i + 1) for i in range(399) if i != 199]
    labels = np.full(400, -1)
    labels[[5, 210]] = 0, 1
    said = []
    stays = Problem.stays
    monkeypatch.setattr(Problem, "stays", lambda *args: said.append(stays(*args)) or said[-1])
    known = Constraints(must_link=chains, cannot_link=[(0, 200)])
    model = HMRFKMeans(2, metric="diagonal", random_state=0, n_init=1, label_reading=reading)
    model.fit(X, constraints=known, partial_labels=labels)
    assert said and any(said) == (reading == "relational")


def test_labelled_rows_are_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 2_000)
    X = rng.normal(size=(2_000, 5)) + rng.normal(size=(3, 5))[y]
    labels = np.where(rng.random(2_000) < 0.2, y, -1)
    made = []
    field = Problem.field
    monkeypatch.setattr(Problem, "field", lambda *args: made.append(0) or field(*args))
    model = HMRFKMeans(3, metric="diagonal", n_init=1, random_state=0)
    model.fit(X, partial_labels=labels)
    assert model.n_iter_ > 4 and len(made) == 1
    pairs = Constraints(must_link=np.flatnonzero(labels < 0)[:2][None])
    made.clear()
    model.fit(X, partial_labels=labels, constraints=pairs)  # not blocks alone
    assert len(made) == model.n_iter_ + 1
