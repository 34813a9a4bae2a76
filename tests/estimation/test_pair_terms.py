"""The pair part of the objective equals a sum over written-out pairs, and so does its slope."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linkfield.constraints import Constraints, Ties, tie
from linkfield.distortions import (
    METRICS,
    Bregman,
    Correlation,
    Cosine,
    HMRFPenalty,
    IDivergence,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    Metric,
    MPC2003Penalty,
    PottsPenalty,
    SquaredEuclidean,
    start_metric,
)
from linkfield.estimation import PairTerms, Wishart
from linkfield.estimators._recipe import Recipe, check_recipe
from linkfield.estimators._setup import Setup
from linkfield.inference import ICM

Array = np.ndarray
Pair = tuple[int, int, bool, float]
seeds = st.integers(0, 2**32 - 1)
K = 3

MEASURES = [
    SquaredEuclidean(),
    Cosine(),
    Correlation(),
    IDivergence(),
    KullbackLeibler(),
    ItakuraSaito(),
    Logistic(),
    Bregman(F=lambda X: np.cosh(X).sum(axis=1), grad=np.sinh),
]
PENALTIES = [
    PottsPenalty(),
    HMRFPenalty(),
    MPC2003Penalty(alpha_min=0.2),
    MPC2003Penalty(alpha="adaptive"),
]


def recipe_of(distortion: Any, penalty: Any, kind: str) -> Recipe:
    return Recipe(
        n_clusters=K,
        distortion=distortion,
        metric=start_metric(kind, 3, K),
        penalty=penalty,
        prior=Wishart(),
        logdet_weight=1.0,
        inference=ICM(),
        constraint_weight=1.0,
        label_weight=1.0,
        closure="auto",
    )


def allowed(distortion: Any, penalty: Any, kind: str) -> bool:
    try:
        check_recipe(recipe_of(distortion, penalty, kind))
    except ValueError:
        return False
    return True


def name(distortion: Any, penalty: Any, kind: str) -> str:
    return f"{distortion.name}-{penalty.name}{getattr(penalty, 'alpha', '')}-{kind}"


CASES = [
    pytest.param(d, p, kind, id=name(d, p, kind))
    for d in MEASURES
    for p in PENALTIES
    for kind in METRICS
    if allowed(d, p, kind)
]
TABLES = [
    case
    for case in CASES
    if case.values[1].tables and (not case.values[1].metric_dependent or case.values[0].tables)
]
every_case = pytest.mark.parametrize(("distortion", "penalty", "kind"), CASES)
every_table = pytest.mark.parametrize(("distortion", "penalty", "kind"), TABLES)


def test_the_expected_combinations_are_there() -> None:
    assert len(CASES) == 5 * 4 - 4 + 6 * 2 * 4 + 4
    assert len(TABLES) == 5 * 2 + 2 * 2 * 2 + 4 * 2 + 1


def random_metric(kind: str, d: int, rng: np.random.Generator) -> Metric:
    if kind == "identity":
        return start_metric(kind, d, K)
    if kind == "diagonal":
        return METRICS[kind](rng.uniform(0.2, 3.0, d))
    if kind == "diagonal-per-cluster":
        return METRICS[kind](rng.uniform(0.2, 3.0, (K, d)))
    factors = rng.normal(size=(K, d, d))
    matrices = factors @ np.swapaxes(factors, 1, 2) + 0.3 * np.eye(d)
    return METRICS[kind](matrices if kind == "full-per-cluster" else matrices[0])


def random_rows(distortion: Any, n: int, rng: np.random.Generator, d: int = 3) -> Any:
    X = rng.uniform(0.05, 0.95, size=(n, d))
    if distortion.name in ("euclidean", "cosine", "correlation", "bregman"):
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    return distortion.rows(sparse.csr_array(X) if rng.random() < 0.4 else X)


def ties_of(pairs: list[Pair], n: int, **parts: Any) -> Ties:
    """Return ties of n rows with explicit pairs and, if given, blocks."""
    table = {
        "rows": np.arange(n),
        "node": np.arange(n),
        "pairs": np.array([p[:2] for p in pairs], dtype=np.int64).reshape(-1, 2),
        "must": np.array([p[2] for p in pairs], dtype=bool),
        "weight": np.array([p[3] for p in pairs], dtype=np.float64),
        "block": np.full(n, -1),
        "block_pairs": np.empty((0, 2), np.int64),
        "row_blocks": np.empty((0, 2), np.int64),
        "entailed_weight": 1.0,
    }
    return Ties(**(table | parts))


def random_pairs(n: int, rng: np.random.Generator) -> list[Pair]:
    return [
        (i, j, bool(rng.random() < 0.5), float(rng.uniform(0.2, 2.0)))
        for i, j in combinations(range(n), 2)
        if rng.random() < 0.4
    ] or [(0, 1, True, 1.0)]


def random_blocks(n: int, rng: np.random.Generator) -> tuple[list[Pair], Ties]:
    """Return a closed set of pairs, and ties that hold the same as tables with corrections."""
    n_blocks, w = int(rng.integers(1, 4)), float(rng.uniform(0.5, 2.0))
    block = rng.integers(-1, n_blocks, size=n)
    block[: n_blocks + 2] = np.r_[np.arange(n_blocks), -1, -1]
    apart = [p for p in combinations(range(n_blocks), 2) if rng.random() < 0.7]
    loose = [(int(r), g) for r in np.flatnonzero(block < 0) for g in range(n_blocks)
             if rng.random() < 0.6]  # fmt: skip
    entailed: list[Pair] = []
    for i, j in combinations(range(n), 2):
        p, q = int(block[i]), int(block[j])
        if p >= 0 and p == q:
            entailed.append((i, j, True, w))
        elif (min(p, q), max(p, q)) in apart or (i, q) in loose or (j, p) in loose:
            entailed.append((i, j, False, w))
    full, corrections = [], []
    for i, j, must, weight in entailed:
        given_weight = float(rng.uniform(0.1, 3.0)) if rng.random() < 0.3 else weight
        full.append((i, j, must, given_weight))
        if given_weight != weight:
            corrections.append((i, j, must, given_weight - weight))
    seen = {p[:2] for p in full}
    more = [p for p in random_pairs(n, rng) if p[:2] not in seen]
    ties = ties_of(
        corrections + more,
        n,
        block=block,
        block_pairs=np.array(apart, dtype=np.int64).reshape(-1, 2),
        row_blocks=np.array(loose, dtype=np.int64).reshape(-1, 2),
        entailed_weight=w,
    )
    return full + more, ties


def terms_of(ties: Ties, rows: Any, distortion: Any, penalty: Any, metric: Metric) -> PairTerms:
    """Wire the terms as the estimators do."""
    bound = None
    if penalty.bounded:
        bound = distortion.bound(penalty.bound, rows, metric)
    terms = PairTerms(ties, rows, distortion, penalty, bound)
    if penalty.name == "mpc2003" and penalty.alpha == "fixed":
        terms.alpha = terms.largest(metric)[0]
    return terms


@every_case
@settings(max_examples=10)
@given(seed=seeds)
def test_gaps_are_prices_with_a_sign(distortion: Any, penalty: Any, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(distortion, 8, rng)
    metric = random_metric(kind, rows.shape[1], rng)
    if metric.per_cluster:
        return
    ties = ties_of(random_pairs(8, rng), 8)
    some = rng.integers(0, len(ties.pairs), 9).astype(np.uint32)
    price = terms_of(ties, rows, distortion, penalty, metric).prices(metric)[some]
    gaps = terms_of(ties, rows, distortion, penalty, metric).gaps(metric, some)
    np.testing.assert_allclose(gaps, np.where(ties.must[some], -price, price), rtol=1e-12)


@every_case
@settings(max_examples=10)
@given(seed=seeds)
def test_gaps_drift_no_further_than_said(
    distortion: Any, penalty: Any, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(distortion, 8, rng)
    old, new = (random_metric(kind, rows.shape[1], rng) for _ in range(2))
    terms = terms_of(ties_of(random_pairs(8, rng), 8), rows, distortion, penalty, old)
    known = terms.drift(old, new)
    if distortion.name == "euclidean" and penalty.name != "mpc2003" and kind == "diagonal":
        assert known is not None
    if known is None or new.per_cluster:
        return
    before, after = (terms.gaps(metric, np.arange(len(terms.ties.pairs))) for metric in (old, new))
    size = np.abs(before)
    assert (np.abs(after) <= known[1] * size * (1 + 1e-12) + 1e-12).all()
    assert (np.abs(after) >= known[0] * size * (1 - 1e-12) - 1e-12).all()
    assert (after * before >= 0).all()


def naive_energy(terms: PairTerms, pairs: list[Pair], labels: Array, metric: Metric) -> float:
    """Add up all violated pairs of a written-out list, one by one."""
    penalty, total = terms.penalty, 0.0
    i, j = (np.array([p[k] for p in pairs]) for k in (0, 1))
    phi = terms.distortion.pair(terms.rows, i, j, metric) if pairs else np.zeros(0)
    phi = phi if phi.ndim == 2 else np.repeat(phi[:, None], K, axis=1)
    if terms.bound is not None:
        top = np.broadcast_to(terms.bound.value(metric), K)
    elif terms.alpha is not None:
        top = np.full(K, terms.alpha)
    else:
        must = [e for e, p in enumerate(pairs) if p[2]] or list(range(len(pairs)))
        top = np.full(K, phi[must, 0].max())
    for e, (a, b, must, weight) in enumerate(pairs):
        g, h = labels[a], labels[b]
        if must == (g == h):
            continue
        if penalty.name == "potts":
            cost = 1.0
        elif penalty.name == "hmrf":
            cost = 0.5 * (phi[e, g] + phi[e, h]) if must else top[g] - phi[e, g]
        elif must:
            cost = max(penalty.alpha_min, top[g] - phi[e, g])
        else:
            cost = min(penalty.alpha_min + phi[e, g], max(penalty.alpha_min, top[g]))
        total += weight * cost
    return float(total)


def slope(function: Any, metric: Metric, E: Array, step: float = 1e-6) -> float:
    ends = [function(type(metric)(metric.theta + s * E)) for s in (step, -step)]
    return (ends[0] - ends[1]) / (2 * step)


def direction(metric: Metric, rng: np.random.Generator) -> Array:
    E = rng.normal(size=metric.theta.shape)
    return (E + np.swapaxes(E, -1, -2)) / 2 if metric.full else E


def check(terms: PairTerms, pairs: list[Pair], metric: Metric, rng: np.random.Generator) -> None:
    """Compare energy, gradient and field with the list of pairs."""
    n = terms.ties.n_rows
    labels = rng.integers(0, K, size=n)
    wanted = naive_energy(terms, pairs, labels, metric)
    tolerance = {"rtol": 1e-9, "atol": 1e-9 * (1 + abs(wanted))}
    np.testing.assert_allclose(terms.energy(labels, metric), wanted, **tolerance)
    if metric.learned:
        gradient = terms.gradient(labels, metric)
        assert gradient.shape == metric.theta.shape
        E = direction(metric, rng)
        found = float((gradient * E).sum())
        near = slope(lambda m: naive_energy(terms, pairs, labels, m), metric, E)
        np.testing.assert_allclose(found, near, rtol=1e-5, atol=1e-5 * (1 + abs(wanted)))
        # Going to another metric and back must not leave anything behind.
        terms.energy(labels, type(metric)(metric.theta + 0.01 * np.abs(metric.theta)))
        np.testing.assert_allclose(terms.energy(labels, metric), wanted, **tolerance)
    unary = rng.normal(size=(n, K))
    field = terms.field(unary, metric)
    own = float(unary[np.arange(n), labels].sum())
    np.testing.assert_allclose(field.energy(labels), own + wanted, **tolerance)


# ---------------------------------------------------------------------------
# explicit pairs and tables


@every_case
@settings(max_examples=12)
@given(seed=seeds)
def test_explicit_pairs(distortion: Any, penalty: Any, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    rows, metric = random_rows(distortion, n, rng), random_metric(kind, 3, rng)
    pairs = random_pairs(n, rng)
    check(terms_of(ties_of(pairs, n), rows, distortion, penalty, metric), pairs, metric, rng)


@every_table
@settings(max_examples=12)
@given(seed=seeds)
def test_tables_equal_the_pairs_that_they_stand_for(
    distortion: Any, penalty: Any, kind: str, seed: int
) -> None:
    """maths.md (1.2)-(1.5), corrections of given pairs included."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 12))
    rows, metric = random_rows(distortion, n, rng), random_metric(kind, 3, rng)
    pairs, ties = random_blocks(n, rng)
    terms = terms_of(ties, rows, distortion, penalty, metric)
    check(terms, pairs, metric, rng)
    labels = rng.integers(0, K, size=n)
    out = terms_of(ties_of(pairs, n), rows, distortion, penalty, metric)
    np.testing.assert_allclose(
        terms.gradient(labels, metric), out.gradient(labels, metric), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("distortion", [Cosine(), Correlation()], ids=lambda d: d.name)
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_tables_with_rows_that_have_no_direction(distortion: Any, storage: Any) -> None:
    rng = np.random.default_rng(3)
    pairs, ties = random_blocks(9, rng)
    X = rng.normal(size=(9, 3))
    X[[0, 4, 5]] = 0.0
    metric = random_metric("diagonal", 3, rng)
    terms = terms_of(ties, distortion.rows(storage(X)), distortion, HMRFPenalty(), metric)
    for _ in range(5):
        check(terms, pairs, metric, rng)


@pytest.mark.parametrize("bound", ["lowner", "radius", "diameter", "mass", "box"])
@settings(max_examples=15)
@given(seed=seeds)
def test_other_bounds(bound: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distortion = IDivergence() if bound in ("mass", "box") else SquaredEuclidean()
    rows, metric = random_rows(distortion, 7, rng), random_metric("diagonal", 3, rng)
    penalty = HMRFPenalty(bound=bound)
    pairs = random_pairs(7, rng)
    terms = terms_of(ties_of(pairs, 7), rows, distortion, penalty, metric)
    check(terms, pairs, metric, rng)
    assert terms.linear == (bound in ("lowner", "box"))


@settings(max_examples=15)
@given(seed=seeds)
def test_linear_terms_are_linear(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for kind in ("diagonal", "full", "diagonal-per-cluster", "full-per-cluster"):
        metric = random_metric(kind, 3, rng)
        _, ties = random_blocks(8, rng)
        rows = random_rows(SquaredEuclidean(), 8, rng)
        terms = terms_of(ties, rows, SquaredEuclidean(), HMRFPenalty(), metric)
        assert terms.linear
        labels = rng.integers(0, K, size=8)
        energy = terms.energy(labels, metric)
        inner = metric.inner(terms.gradient(labels, metric))
        np.testing.assert_allclose(energy, inner, rtol=1e-9, atol=1e-9)


def test_a_number_as_bound_is_clipped_pair_by_pair() -> None:
    """φmax given as a number may be smaller than some φ; no table can clip, so there is none."""
    rng = np.random.default_rng(0)
    pairs = random_pairs(9, rng)
    rows, metric = random_rows(SquaredEuclidean(), 9, rng), start_metric("diagonal", 3, K)
    phi = SquaredEuclidean().pair(
        rows, np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]), metric
    )
    number = float(np.median(phi))
    penalty = HMRFPenalty(bound=number)
    terms = terms_of(ties_of(pairs, 9), rows, SquaredEuclidean(), penalty, metric)
    labels = np.zeros(9, np.int64)
    wanted = sum(
        w * max(number - value, 0.0)
        for (_, _, must, w), value in zip(pairs, phi, strict=True)
        if not must
    )
    np.testing.assert_allclose(terms.energy(labels, metric), wanted)
    E = direction(metric, rng)
    near = slope(lambda m: terms.energy(labels, m), metric, E)
    np.testing.assert_allclose((terms.gradient(labels, metric) * E).sum(), near, rtol=1e-5)
    chain = Constraints([(i, i + 1) for i in range(199)])
    for bound, blocks in (("auto", 1), (number, 0)):
        recipe = recipe_of(SquaredEuclidean(), HMRFPenalty(bound=bound), "diagonal")
        setup = Setup.of(recipe, rng.normal(size=(200, 3)), np.ones(200), chain, None)
        found = setup.problem.objective.pairs
        assert found is not None and found.ties.n_blocks == blocks


def test_terms_that_claim_to_be_linear_are() -> None:
    """With a number for φmax, f^C is clipped at 0 as the metric grows: not linear any more."""
    rng = np.random.default_rng(1)
    rows, metric = random_rows(SquaredEuclidean(), 6, rng), start_metric("diagonal", 3, K)
    pairs = [(0, 1, False, 1.0), (2, 3, False, 1.0)]
    far = SquaredEuclidean().pair(rows, np.array([0, 2]), np.array([1, 3]), metric).max()
    terms = terms_of(
        ties_of(pairs, 6), rows, SquaredEuclidean(), HMRFPenalty(bound=1.5 * far), metric
    )
    labels = np.zeros(6, np.int64)
    if terms.linear:
        S = terms.gradient(labels, metric)
        larger = type(metric)(3.0 * metric.theta)
        change = terms.energy(labels, larger) - terms.energy(labels, metric)
        np.testing.assert_allclose(change, (S * (larger.theta - metric.theta)).sum())


# ---------------------------------------------------------------------------
# what `tie` makes of constraints


def closed_pairs(constraints: Constraints) -> tuple[list[Pair], Array]:
    """Write the augmented set out, in numbers of tied rows."""
    table = constraints.closure().pairs().pairs()
    rows = constraints.tied_rows()
    at = {int(r): k for k, r in enumerate(rows)}
    return [
        (at[int(p["a"])], at[int(p["b"])], p["kind"] == "must", float(p["weight"])) for p in table
    ], rows


def large_constraints(weights: bool) -> Constraints:
    """Return two components that are worth tables, a small one, and links between them."""
    must = [(i, i + 1) for i in range(139)] + [(i, i + 1) for i in range(140, 189)]
    must += [(190, 191), (191, 192)]
    cannot = [(0, 140), (3, 190), (190, 150), (193, 5), (193, 194)]
    rng = np.random.default_rng(0)
    return Constraints(
        must,
        cannot,
        must_link_weight=rng.choice([0.25, 1.0, 3.0], len(must)) if weights else 1.0,
        cannot_link_weight=rng.choice([0.5, 1.0, 2.0], len(cannot)) if weights else 1.0,
    )


@pytest.mark.parametrize("weights", [False, True], ids=["unit", "weighted"])
@pytest.mark.parametrize(
    ("distortion", "penalty", "kind"),
    [
        (SquaredEuclidean(), PottsPenalty(), "identity"),
        (SquaredEuclidean(), HMRFPenalty(), "diagonal"),
        (SquaredEuclidean(), HMRFPenalty(), "full-per-cluster"),
        (Cosine(), HMRFPenalty(), "diagonal"),
        (IDivergence(), PottsPenalty(), "diagonal"),
    ],
)
def test_tie_with_tables_equals_tie_without(
    distortion: Any, penalty: Any, kind: str, weights: bool
) -> None:
    constraints = large_constraints(weights)
    pairs, tied = closed_pairs(constraints)
    rng = np.random.default_rng(7)
    rows, metric = random_rows(distortion, len(tied), rng), random_metric(kind, 3, rng)
    forms = [tie(constraints, tables=t, n_clusters=K) for t in (True, False)]
    assert forms[0].n_blocks == 2 and forms[1].n_blocks == 0
    assert len(forms[0].pairs) < 300 < len(forms[1].pairs)
    labels = rng.integers(0, K, size=len(tied))
    found = [terms_of(f, rows, distortion, penalty, metric) for f in forms]
    wanted = naive_energy(found[0], pairs, labels, metric)
    for terms in found:
        np.testing.assert_allclose(terms.energy(labels, metric), wanted, rtol=1e-9)
    gradients = [terms.gradient(labels, metric) for terms in found]
    size = np.abs(gradients[1]).max()
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-7, atol=1e-9 * size)


def test_all_weights_scale_with_the_constraint_weight() -> None:
    constraints = large_constraints(weights=True)
    rng = np.random.default_rng(7)
    rows = random_rows(SquaredEuclidean(), 195, rng)
    metric, labels = random_metric("diagonal", 3, rng), rng.integers(0, K, size=195)
    values = [
        terms_of(
            tie(constraints, n_clusters=K, constraint_weight=w),
            rows, SquaredEuclidean(), HMRFPenalty(), metric,
        ).energy(labels, metric)
        for w in (1.0, 2.5)
    ]  # fmt: skip
    np.testing.assert_allclose(values[1], 2.5 * values[0])


# ---------------------------------------------------------------------------
# contraction (maths.md 1.6)


def assert_same_up_to_a_constant(
    terms: PairTerms, metric: Metric, rng: np.random.Generator, trials: int = 8
) -> None:
    """The field of nodes equals the rows' energy on labels that are constant on every node."""
    ties = terms.ties
    n = ties.n_rows
    unary = rng.normal(size=(n, K))
    field = terms.field(unary, metric)
    assert field.n_nodes == ties.n_nodes
    gaps, size = [], 0.0
    for _ in range(trials):
        nodes = rng.integers(0, K, size=ties.n_nodes)
        labels = nodes[ties.node]
        whole = float(unary[np.arange(n), labels].sum()) + terms.energy(labels, metric)
        gaps.append(field.energy(nodes) - whole)
        size = max(size, abs(whole))
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9 * (1 + size))


def merged_nodes(ties: Ties, groups: list[list[int]]) -> Ties:
    node = np.arange(ties.n_rows)
    for group in groups:
        node[group] = group[0]
    return replace(ties, node=np.unique(node, return_inverse=True)[1])


@pytest.mark.parametrize("kind", list(METRICS))
@settings(max_examples=15)
@given(seed=seeds)
def test_contraction_of_explicit_pairs(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 8
    rows, metric = random_rows(SquaredEuclidean(), n, rng), random_metric(kind, 3, rng)
    groups = [[0, 1, 2], [3, 4]]
    inner = {(i, j) for g in groups for i, j in combinations(g, 2)}
    # Inside a node there are must-links only.
    pairs = [(i, j, must or (i, j) in inner, w) for i, j, must, w in random_pairs(n, rng)]
    ties = merged_nodes(ties_of(pairs, n), groups)
    terms = terms_of(ties, rows, SquaredEuclidean(), HMRFPenalty(), metric)
    assert_same_up_to_a_constant(terms, metric, rng)


@pytest.mark.parametrize("kind", list(METRICS))
def test_a_soft_cannot_link_inside_a_node(kind: str) -> None:
    """It is always violated; with one metric a cluster its cost depends on the cluster."""
    rng = np.random.default_rng(2)
    rows, metric = random_rows(SquaredEuclidean(), 4, rng), random_metric(kind, 3, rng)
    ties = merged_nodes(ties_of([(0, 1, False, 1.0), (1, 2, True, 1.0)], 4), [[0, 1]])
    terms = terms_of(ties, rows, SquaredEuclidean(), HMRFPenalty(), metric)
    assert_same_up_to_a_constant(terms, metric, rng)


@pytest.mark.parametrize("kind", list(METRICS))
@settings(max_examples=15)
@given(seed=seeds)
def test_contraction_of_tables(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 10
    rows, metric = random_rows(SquaredEuclidean(), n, rng), random_metric(kind, 3, rng)
    _, ties = random_blocks(n, rng)
    ties = replace(ties, pairs=ties.pairs[:0], must=ties.must[:0], weight=ties.weight[:0])
    members = [np.flatnonzero(ties.block == g) for g in range(ties.n_blocks)]
    groups = [m[: int(rng.integers(1, len(m) + 1))].tolist() for m in members]
    terms = terms_of(merged_nodes(ties, groups), rows, SquaredEuclidean(), HMRFPenalty(), metric)
    assert_same_up_to_a_constant(terms, metric, rng)


def test_contraction_of_two_rows_that_are_apart_from_a_table() -> None:
    """A node of two loose rows: each of them is apart from the table once."""
    rng = np.random.default_rng(4)
    must = [(i, i + 1) for i in range(159)]
    constraints = Constraints([*must, (160, 161)], [(0, 160)],
                              must_link_weight=[1.0] * 159 + [np.inf])  # fmt: skip
    ties = tie(constraints, n_clusters=K)
    assert ties.n_blocks == 1 and ties.n_nodes == ties.n_rows - 1
    assert ties.row_blocks.tolist() == [[160, 0], [161, 0]]
    rows, metric = random_rows(SquaredEuclidean(), 162, rng), random_metric("diagonal", 3, rng)
    for penalty in (PottsPenalty(), HMRFPenalty()):
        terms = terms_of(ties, rows, SquaredEuclidean(), penalty, metric)
        assert_same_up_to_a_constant(terms, metric, rng)


@pytest.mark.parametrize("closure", [False, "auto"])
def test_contraction_of_a_labelled_and_an_unlabelled_row(closure: bool | str) -> None:
    """Without closure a class is a block, and a hard must-link may lead out of it."""
    rng = np.random.default_rng(5)
    labels = np.r_[np.zeros(100, int), np.ones(100, int), np.full(3, -1)]
    known = Constraints.from_labels(labels)
    constraints = known | Constraints([(0, 200), (150, 201)], must_link_weight=np.inf)
    ties = tie(constraints, closure=closure, n_clusters=K)
    assert ties.n_nodes == ties.n_rows - 2
    n = ties.n_rows
    rows, metric = random_rows(SquaredEuclidean(), n, rng), random_metric("diagonal", 3, rng)
    for penalty in (PottsPenalty(), HMRFPenalty()):
        terms = terms_of(ties, rows, SquaredEuclidean(), penalty, metric)
        assert_same_up_to_a_constant(terms, metric, rng)


def test_contraction_of_rows_of_two_classes() -> None:
    """A hard must-link between two classes contradicts the labels; the cost must still be right."""
    rng = np.random.default_rng(6)
    labels = np.r_[np.zeros(100, int), np.ones(100, int)]
    constraints = Constraints.from_labels(labels) | Constraints([(0, 150)], must_link_weight=np.inf)
    ties = tie(constraints, closure=False, n_clusters=K)
    assert ties.n_nodes == 199
    rows, metric = random_rows(SquaredEuclidean(), 200, rng), random_metric("diagonal", 3, rng)
    for penalty in (PottsPenalty(), HMRFPenalty()):
        terms = terms_of(ties, rows, SquaredEuclidean(), penalty, metric)
        assert_same_up_to_a_constant(terms, metric, rng)


def test_forbidden_labels_of_a_node_are_those_of_all_its_rows() -> None:
    ties = merged_nodes(ties_of([(0, 2, False, 1.0)], 3), [[0, 1]])
    rows, metric = SquaredEuclidean().rows(np.eye(3)), start_metric("identity", 3, K)
    terms = terms_of(ties, rows, SquaredEuclidean(), PottsPenalty(), metric)
    unary = np.array([[1.0, np.inf, 3.0], [0.5, 1.0, 2.0], [0.0, 0.0, np.inf]])
    field = terms.field(unary, metric)
    np.testing.assert_array_equal(field.unary, [[1.5, np.inf, 5.0], [0.0, 0.0, np.inf]])


def test_hard_cannot_links_are_infinite_and_have_no_slope() -> None:
    ties = ties_of([(0, 1, False, np.inf), (1, 2, True, 2.0)], 3)
    rng = np.random.default_rng(0)
    rows, metric = random_rows(SquaredEuclidean(), 3, rng), random_metric("diagonal", 3, rng)
    for penalty in (PottsPenalty(), HMRFPenalty(), MPC2003Penalty()):
        terms = terms_of(ties, rows, SquaredEuclidean(), penalty, metric)
        assert np.isinf(terms.energy(np.array([0, 0, 0]), metric))
        assert np.isfinite(terms.energy(np.array([0, 1, 0]), metric))
        same = terms.gradient(np.array([0, 0, 0]), metric)
        np.testing.assert_array_equal(same, np.zeros(3))


def test_the_order_of_nodes_does_not_change_the_field() -> None:
    rng = np.random.default_rng(8)
    pairs, ties = random_blocks(9, rng)
    rows, metric = random_rows(SquaredEuclidean(), 9, rng), random_metric("diagonal", 3, rng)
    shuffled = ties.ordered(rng.random(9))
    assert sorted(shuffled.node) == list(range(9))
    terms = terms_of(shuffled, rows, SquaredEuclidean(), HMRFPenalty(), metric)
    unary, labels = rng.normal(size=(9, K)), rng.integers(0, K, size=9)
    nodes = np.empty(9, np.int64)
    nodes[shuffled.node] = labels
    own = unary[np.arange(9), labels].sum()
    np.testing.assert_allclose(
        terms.field(unary, metric).energy(nodes), own + naive_energy(terms, pairs, labels, metric)
    )
