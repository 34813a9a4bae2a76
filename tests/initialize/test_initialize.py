"""Initial centres follow from the data and the knowledge, not from how the rows are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linkfield._rows import as_rows
from linkfield.constraints import Closure, Constraints
from linkfield.distortions import (
    Correlation,
    Cosine,
    HMRFPenalty,
    IDivergence,
    ItakuraSaito,
    KullbackLeibler,
    Logistic,
    SquaredEuclidean,
    start_metric,
)
from linkfield.estimation import Wishart
from linkfield.estimators._recipe import Recipe
from linkfield.estimators._setup import Setup
from linkfield.inference import ICM
from linkfield.initialize import (
    Neighbourhoods,
    SeedingData,
    add_centres,
    canonical_keys,
    plus_plus,
    weighted_farthest_first,
)
from linkfield.initialize.order import Draws, draw

Array = np.ndarray
seeds = st.integers(0, 2**32 - 1)
MEASURES = [
    SquaredEuclidean(),
    Cosine(),
    Correlation(),
    IDivergence(),
    KullbackLeibler(),
    ItakuraSaito(),
    Logistic(),
]
every_measure = pytest.mark.parametrize("distortion", MEASURES, ids=lambda d: d.name)
every_filler = pytest.mark.parametrize("filler", ["kmeans++", "random", "perturb"])


def setup(
    X: Any,
    constraints: Constraints | None = None,
    *,
    K: int = 3,
    distortion: Any = None,
    weight: Array | None = None,
    metric: str = "identity",
) -> Setup:
    recipe = Recipe(
        n_clusters=K,
        distortion=distortion or SquaredEuclidean(),
        metric=start_metric(metric, X.shape[1], K),
        penalty=HMRFPenalty(),
        prior=Wishart(),
        logdet_weight=1.0,
        inference=ICM(),
        constraint_weight=1.0,
        label_weight=1.0,
        closure="auto",
    )
    v = np.ones(X.shape[0]) if weight is None else weight
    return Setup.of(recipe, X, v, constraints or Constraints(), None)


def centres(ready: Setup, init: Any, seed: int = 0) -> Array:
    """Return the starting centres in the data's own coordinates."""
    return ready.start(init, np.random.default_rng(seed)).centres + ready.offset


def mean_seeding(X: Array) -> SeedingData:
    """Return seeding data of plain means, the rows in their own order."""

    def centres_of(member: Any) -> Array:
        return np.asarray((member @ X) / np.asarray(member.sum(axis=1)).reshape(-1, 1))

    D = SquaredEuclidean()
    metric = start_metric("identity", X.shape[1], 1)
    return SeedingData(D, D.rows(X), np.ones(len(X)), metric, np.arange(len(X)), centres_of)


# ---------------------------------------------------------------------------
# weighted farthest-first


def naive_farthest_first(
    distance: Array, share: Array, middle: Array, first: Array, size: Array, k: int
) -> list[int]:
    every = range(len(size))
    chosen = [min(every, key=lambda p: (-size[p], -middle[p], first[p]))]
    while len(chosen) < k:
        left = [p for p in every if p not in chosen]
        score = {p: min(share[p] * share[q] * distance[p, q] for q in chosen) for p in left}
        best = max(score.values())
        tied = [p for p in left if score[p] >= best - 1e-12 * abs(best)]
        chosen.append(min(tied, key=lambda p: (-middle[p], first[p])))
    return chosen


@given(seed=seeds)
def test_farthest_first_is_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    points = rng.integers(-2, 3, size=(n, 2)).astype(float)  # whole numbers: many ties
    distance = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    size = rng.integers(1, 4, size=n).astype(float)
    share = size / size.sum()
    middle, first = (points**2).sum(axis=1), rng.permutation(n)
    k = int(rng.integers(1, n + 1))
    found = weighted_farthest_first(lambda p: distance[p], share, middle, first, size, k)
    assert found.tolist() == naive_farthest_first(distance, share, middle, first, size, k)
    assert len(set(found.tolist())) == k


@pytest.mark.filterwarnings("ignore::linkfield.exceptions.ConstraintWarning")  # 3 classes, K = 2
@pytest.mark.parametrize(("weight", "wanted"), [("product", [0.0, 2.0]), ("sqrt", [0.0, -3.0])])
def test_farthest_first_by_the_example(weight: str, wanted: list[float]) -> None:
    """maths.md 3: centroids 2, 0, -3 of sizes 4, 9, 1; the two weightings differ."""
    X = np.r_[np.full(4, 2.0), np.zeros(9), np.full(1, -3.0)][:, None]
    known = Constraints.from_labels(np.repeat([0, 1, 2], [4, 9, 1]))
    found = Neighbourhoods(select="wff", weight=weight)(
        mean_seeding(X), known, 2, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found[:, 0], wanted)
    found = centres(setup(X, known, K=2), Neighbourhoods(select="wff", weight=weight))
    np.testing.assert_allclose(found[:, 0], wanted, atol=1e-12)


def test_ties_go_to_the_outer_neighbourhood_then_to_the_first_row() -> None:
    # Sizes are all 2. Centres 0, 1, 1, 4 around a middle of 1.5: 4 is the outermost.
    X = np.repeat([0.0, 1.0, 1.0, 4.0], 2)[:, None]
    known = Constraints([(0, 1), (2, 3), (4, 5), (6, 7)])
    found = Neighbourhoods(select="wff")(mean_seeding(X), known, 3, np.random.default_rng(0))
    np.testing.assert_array_equal(found[:, 0], [4.0, 0.0, 1.0])
    same = np.zeros(3)
    chosen = weighted_farthest_first(
        lambda p: same, np.ones(3), same, np.array([5, 3, 4]), np.ones(3), 3
    )
    assert chosen.tolist() == [1, 2, 0]


def test_largest_takes_the_largest() -> None:
    X = np.arange(9.0)[:, None]
    known = Constraints([(0, 1), (2, 3), (3, 4), (5, 6), (6, 7), (7, 8)])
    found = Neighbourhoods(select="largest")(mean_seeding(X), known, 2, np.random.default_rng(0))
    np.testing.assert_array_equal(found[:, 0], [6.5, 3.0])


@given(seed=seeds)
def test_all_neighbourhoods_are_taken_when_there_are_just_enough(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(9, 2))
    known = Constraints([(0, 1), (2, 3), (3, 4), (5, 6)])
    wanted = {tuple(np.round(X[s].mean(axis=0), 9)) for s in ([0, 1], [2, 3, 4], [5, 6])}
    for select in ("wff", "largest"):
        found = centres(setup(X, known), Neighbourhoods(select=select), seed)
        assert {tuple(row) for row in np.round(found, 9)} == wanted


def test_greedy_takes_every_class_of_the_labels() -> None:
    """Classes differ, so each has a centre; must-links alone only offer theirs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.full(30, -1)
    y[:4], y[4:8] = 0, 1
    known = Constraints.from_labels(y) | Constraints([(10, 11), (12, 13), (14, 15)])
    for seed in range(5):
        found = centres(setup(X, known, K=4), Neighbourhoods(), seed)
        assert found.shape == (4, 2)
        for part in (X[:4], X[4:8]):
            assert (np.abs(found - part.mean(axis=0)).max(axis=1) < 1e-9).any()


def test_greedy_prefers_what_explains_the_data() -> None:
    """Four tight neighbourhoods, two of them in one cluster: the third cluster is found."""
    rng = np.random.default_rng(1)
    where = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    y = np.repeat([0, 1, 2], 20)
    X = where[y] + 0.1 * rng.normal(size=(60, 2))
    known = Constraints([(0, 1), (2, 3), (20, 21), (22, 23)])  # nothing about the third
    for seed in range(5):
        found = centres(setup(X, known), Neighbourhoods(), seed)
        nearest = ((found[:, None] - where[None]) ** 2).sum(axis=2).argmin(axis=1)
        assert sorted(nearest) == [0, 1, 2]


# ---------------------------------------------------------------------------
# fewer neighbourhoods than clusters


def test_a_row_apart_from_every_neighbourhood_is_the_next_centre() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    known = Constraints(
        [(0, 1), (2, 3)], [(5, 0), (5, 2), (4, 1), (4, 3), (6, 0)]
    )  # 4 and 5 are apart from both neighbourhoods, 6 from one
    found = Neighbourhoods(select="wff")(mean_seeding(X), known, 3, rng)
    np.testing.assert_allclose(found, [X[:2].mean(axis=0), X[2:4].mean(axis=0), X[4]])
    found = Neighbourhoods(select="wff")(mean_seeding(X), known, 4, rng)
    np.testing.assert_allclose(found[2], X[4])
    assert (found[3] == X).all(axis=1).any()


def test_a_row_apart_from_some_neighbourhoods_is_no_centre() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    known = Constraints([(0, 1), (2, 3)], [(6, 0)])
    drawn = {
        tuple(
            Neighbourhoods(select="wff")(mean_seeding(X), known, 3, np.random.default_rng(seed))[2]
        )
        for seed in range(20)
    }
    assert len(drawn) > 1


def test_rows_without_weight_make_no_centre() -> None:
    X = np.arange(8.0)[:, None]
    weight = np.ones(8)
    weight[[0, 1, 5]] = 0.0
    known = Constraints([(0, 1), (2, 3)], [(5, 2), (6, 2)])
    found = centres(setup(X, known, K=2, weight=weight), "farthest-first")
    np.testing.assert_allclose(found[:, 0], [2.5, 6.0])


@every_measure
@every_filler
@pytest.mark.parametrize("seed", range(4))
def test_fillers_make_centres_of_the_domain(distortion: Any, filler: str, seed: int) -> None:
    """K centres, finite distances, and centres as the measure wants them."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.02, 0.98, (20, 4))
    X[:, 0] = np.where(rng.random(20) < 0.9, 0.98, 0.9)
    known = Constraints([(0, 1), (1, 2)]) if seed % 2 else Constraints()
    ready = setup(X, known, K=4, distortion=distortion)
    start = ready.start(Neighbourhoods(filler=filler), rng)
    M = start.centres
    assert M.shape == (4, 4) and np.isfinite(M).all()
    table = distortion.table(ready.problem.engine.rows, M, start.metric)
    assert np.isfinite(table).all()
    np.testing.assert_allclose(distortion.prepared_centres(M), M, atol=1e-9)
    assert len(np.unique(np.round(M, 12), axis=0)) == 4


@pytest.mark.parametrize("seed", range(4))
def test_perturbed_rates_stay_between_zero_and_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((40, 30)) < 0.03, 0.0, 1.0)  # nearly all ones
    mild = Logistic(smoothing_strength=0.01, smoothing_floor=0.001)
    M = centres(setup(X, distortion=mild), Neighbourhoods(filler="perturb"), seed)
    assert (M > 0).all() and (M < 1).all()


@every_filler
def test_fillers_keep_the_centres_that_are_known(filler: str) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    known = Constraints([(0, 1), (2, 3), (3, 4)])
    found = centres(setup(X, known, K=5), Neighbourhoods(select="wff", filler=filler))
    np.testing.assert_allclose(found[:2], [X[2:5].mean(axis=0), X[:2].mean(axis=0)])


def test_random_filler_takes_distinct_rows() -> None:
    X = np.arange(6.0)[:, None]
    for seed in range(5):
        found = centres(setup(X, K=6), "random", seed)
        np.testing.assert_allclose(np.sort(found[:, 0]), X[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"select": "smallest"}, "select must be one of .*got 'smallest'"),
        ({"weight": "sum"}, "weight must be one of .*got 'sum'"),
        ({"filler": "k-means++"}, "filler must be one of .*got 'k-means"),
    ],
)
def test_unknown_options_are_refused(bad: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Neighbourhoods(**bad)(mean_seeding(np.eye(3)), Constraints(), 2, np.random.default_rng(0))


# ---------------------------------------------------------------------------
# k-means++ sees values, not places


def positive_data(rng: np.random.Generator, n: int, d: int) -> Array:
    return rng.uniform(0.05, 0.95, (n, d))


@every_measure
@given(seed=seeds)
def test_permuted_rows_give_the_same_centres(distortion: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = positive_data(rng, 25, 3)
    order = rng.permutation(25)
    first = centres(setup(X, distortion=distortion), "k-means++", seed)
    other = centres(setup(X[order], distortion=distortion), "k-means++", seed)
    np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-12)


@every_measure
@given(seed=seeds)
def test_repeated_rows_and_weights_give_the_same_centres(distortion: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, times = positive_data(rng, 20, 3), rng.integers(0, 4, size=20)
    times[:4] = 1
    weighted = centres(
        setup(X, distortion=distortion, weight=times.astype(float)), "k-means++", seed
    )
    repeated = centres(setup(np.repeat(X, times, axis=0), distortion=distortion), "k-means++", seed)
    np.testing.assert_allclose(repeated, weighted, rtol=1e-9, atol=1e-12)


@every_measure
@given(seed=seeds)
def test_sparse_and_dense_rows_give_the_same_centres(distortion: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = positive_data(rng, 25, 4)
    if distortion.name != "itakura-saito":
        X[rng.random(X.shape) < 0.3] = 0.0
        X[:, 0] = rng.uniform(0.2, 0.9, 25)
    first = centres(setup(X, distortion=distortion), "k-means++", seed)
    other = centres(setup(sparse.csr_array(X), distortion=distortion), "k-means++", seed)
    np.testing.assert_allclose(other, first, rtol=1e-8, atol=1e-11)


@pytest.mark.filterwarnings("ignore::linkfield.exceptions.ConstraintWarning")
@pytest.mark.parametrize("init", ["neighbourhoods", "farthest-first"])
@pytest.mark.parametrize("seed", range(12))
def test_permuted_rows_with_constraints(seed: int, init: str) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    must, cannot = rng.permutation(25)[:12].reshape(6, 2), rng.permutation(25)[:4].reshape(2, 2)
    new = rng.permutation(25)  # row i moves to new[i]
    moved = np.empty_like(X)
    moved[new] = X
    for K in (2, 3, 8):
        first = centres(setup(X, Constraints(must, cannot), K=K), init, seed)
        other = centres(setup(moved, Constraints(new[must], new[cannot]), K=K), init, seed)
        np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-12)


def test_two_rows_that_matter_to_each_other_only() -> None:
    """Either of them leaves the same potential: rounding must not decide which is taken."""
    far = np.array([[1000.0, 26.0], [1020.0, -18.0]])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.normal(size=(50, 2)), far + rng.normal(size=(2, 2))])
        order = rng.permutation(52)
        first, other = (centres(setup(rows), "k-means++", seed) for rows in (X, X[order]))
        np.testing.assert_allclose(other, first, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["identity", "diagonal", "full", "full-per-cluster"])
def test_centres_are_rows_spread_out(metric: str) -> None:
    rng = np.random.default_rng(0)
    where = 10.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X = where[np.repeat(np.arange(4), 25)] + 0.1 * rng.normal(size=(100, 2))
    for seed in range(10):
        found = centres(setup(X, K=4, metric=metric), "k-means++", seed)
        assert all((np.abs(X - c).max(axis=1) < 1e-9).any() for c in found)
        assert len({int(((where - c) ** 2).sum(axis=1).argmin()) for c in found}) == 4


def test_more_centres_than_different_rows() -> None:
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    found = centres(setup(X, K=4), "k-means++")
    assert found.shape == (4, 1)
    assert set(np.round(found[:, 0], 12)) == {0.0, 1.0}


def test_rows_without_weight_are_never_drawn() -> None:
    X = np.arange(10.0)[:, None]
    weight = np.where(np.arange(10) < 5, 1.0, 0.0)
    for seed in range(10):
        found = centres(setup(X, K=5, weight=weight), "k-means++", seed)
        np.testing.assert_allclose(np.sort(found[:, 0]), np.arange(5.0), atol=1e-9)


def test_rows_without_direction_are_no_cosine_centres() -> None:
    """A zero row is at distance 1 from everything; as a centre it would attract nothing."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 3))
    X[:12] = rng.normal(size=(12, 3))
    for seed in range(10):
        found = centres(setup(X, distortion=Cosine()), "k-means++", seed)
        assert (np.abs(found).max(axis=1) > 0).all()


def test_given_centres_come_first() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    data = mean_seeding(X)
    given = np.array([[5.0, 5.0], [6.0, 6.0]])
    found = add_centres(data, 4, np.random.default_rng(0), given)
    assert found.shape == (4, 2)
    np.testing.assert_array_equal(found[:2], given)


# ---------------------------------------------------------------------------
# candidates that are drawn ahead


def test_candidates_drawn_ahead_follow_the_potential_of_their_step() -> None:
    X, rng = np.arange(5.0)[:, None], np.random.default_rng(0)
    data, draws = mean_seeding(X), Draws(np.arange(5))
    then, now = np.array([4.0, 1.0, 2.0, 3.0, 6.0]), np.array([4.0, 0.5, 2.0, 0.0, 1.5])
    seen, renewed = np.zeros(5), 0
    for _ in range(4_000):
        ahead = plus_plus._Ahead(data, draws, rng, 2, room=2)
        for potential in (then, now):
            which = ahead.take(potential.__getitem__, draws.sums(potential), 8)
        rows = ahead.rows[which]
        renewed += which[0] == 0
        np.add.at(seen, rows, 1)
    wanted = seen.sum() * now / now.sum()
    assert seen[3] == 0 and renewed < 2_000  # most were drawn while others were still possible
    error = ((seen - wanted) ** 2)[wanted > 0] / wanted[wanted > 0]
    assert error.sum() < 18.5  # chi-square, three degrees of freedom, p = 0.0003


@pytest.mark.parametrize(
    ("K", "room", "reads"), [(2, 16, 2), (12, 32, 9), (12, 10, 10), (12, 8, 11), (12, 5, 12)]
)
def test_rows_that_are_read_once_for_several_steps_give_the_same_centres(
    monkeypatch: pytest.MonkeyPatch, K: int, room: int, reads: int
) -> None:
    """Four candidates compete for the next of twelve centres."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) + 6.0 * rng.integers(0, 3, (400, 1))
    weight, offers = rng.integers(1, 4, 400).astype(float), []
    plain = [centres(setup(X, K=K, weight=weight), "k-means++", seed) for seed in range(8)]
    monkeypatch.setattr(plus_plus, "LARGE", 0)
    monkeypatch.setattr(plus_plus, "MUCH", 4 * 400 * room)
    offer = SeedingData.offer
    monkeypatch.setattr(
        SeedingData, "offer", lambda *args: (offers.append(len(args[1])), offer(*args))[1]
    )
    kept = [centres(setup(X, K=K, weight=weight), "k-means++", seed) for seed in range(8)]
    np.testing.assert_allclose(kept, plain, rtol=1e-12, atol=1e-12)
    assert len(offers) <= 8 * reads  # of eight fits; they would be 8 K


def test_the_starts_of_a_fit_gather_neighbourhoods_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    known = Constraints(must_link=rng.permutation(60)[:40].reshape(-1, 2))
    alone = [centres(setup(X, known), "neighbourhoods", seed) for seed in range(4)]
    gathered, gather = [], Closure.neighbourhoods
    monkeypatch.setattr(
        Closure, "neighbourhoods", lambda self: (gathered.append(self), gather(self))[1]
    )
    ready = setup(X, known)
    np.testing.assert_array_equal(
        [centres(ready, "neighbourhoods", seed) for seed in range(4)], alone
    )
    assert len(gathered) == 1


# ---------------------------------------------------------------------------
# order and draws


@given(seed=seeds)
def test_keys_follow_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.6)
    order = rng.permutation(30)
    keys = canonical_keys(as_rows(X))
    np.testing.assert_allclose(canonical_keys(as_rows(X[order])), keys[order], atol=1e-13)
    np.testing.assert_allclose(canonical_keys(as_rows(sparse.csr_array(X))), keys, atol=1e-13)
    single = canonical_keys(as_rows(X.astype(np.float32)))
    np.testing.assert_allclose(single, keys, atol=1e-5)
    assert len(np.unique(np.round(keys, 12))) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("d", [1, 5, 17, 64])
def test_equal_rows_have_equal_keys(d: int, storage: Any) -> None:
    """To the bit, wherever they stand: constraints are put into the order of the keys."""
    rng = np.random.default_rng(d)
    X = np.tile(rng.normal(size=d), (7, 1))
    assert len(np.unique(canonical_keys(as_rows(storage(X))))) == 1


@given(seed=seeds)
def test_draws_follow_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, size=8).astype(float)
    weight[0] = 1.0
    order = rng.permutation(8)
    stretch = np.repeat(order, weight[order].astype(int))
    total = len(stretch)
    middle = (np.arange(total) + 0.5) / total
    np.testing.assert_array_equal(draw(weight, order, middle), stretch)
    ends = draw(weight, order, np.array([0.0, np.nextafter(1.0, 0.0)]))
    assert ends.tolist() == [stretch[0], stretch[-1]]
