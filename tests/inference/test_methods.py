"""Laws that every inference method obeys, on hundreds of small fields, against brute force."""

import numpy as np
import pytest
from fields import energies, entailed_field, every_labelling, forest_field, optimum, tiny_field

from linkfield import Constraints, HMRFKMeans
from linkfield.inference import (
    ICM,
    Auto,
    BeliefPropagation,
    Exact,
    LinearProgram,
    MeanField,
    PottsField,
    as_inference,
    certified,
    lower_bound,
)
from linkfield.inference.explicit import explicit, parts

METHODS = {
    "icm": ICM(),
    "bp": BeliefPropagation(),
    "bp-random": BeliefPropagation(schedule="random"),
    "lp": LinearProgram(),
    "mean-field": MeanField(),
    "mean-field-annealed": MeanField(anneal=5),
    "exact": Exact(),
    "auto": Auto(),
}
every_method = pytest.mark.parametrize("name", METHODS)
FIELDS = 500


def tolerance(field, least):
    """Rounding: of the costs, which may be huge, rather than of their sum."""
    costs = [c[np.isfinite(c)] for c in (field.unary, field.agree_cost, field.differ_cost)]
    size = max((float(np.abs(c).max(initial=0.0)) for c in costs), default=0.0)
    return 1e-8 * (1.0 + abs(least)) + 1e-11 * size


def field_of(seed):
    return tiny_field(seed, wide=seed % 5 == 0, hard=seed % 7 == 0)


@every_method
def test_energies_and_bounds_enclose_the_optimum(name):
    for seed in range(FIELDS):
        field = field_of(seed)
        least = optimum(field)
        answer = METHODS[name].solve(field, random_state=seed)
        assert answer.labels.shape == (field.n_nodes,)
        assert answer.energy == pytest.approx(field.energy(answer.labels), rel=1e-12, abs=1e-12)
        assert not np.isnan(answer.energy)
        assert not np.isnan(answer.lower_bound)
        if not np.isfinite(least):
            continue  # no labelling keeps every hard constraint
        off = tolerance(field, least)
        assert answer.lower_bound <= least + off
        assert answer.energy >= least - off
        if answer.component_bounds is not None:
            assert answer.component_bounds.sum() <= least + off
        if answer.marginals is not None:
            np.testing.assert_allclose(answer.marginals.sum(axis=1), 1.0, atol=1e-6)
        if name == "exact":
            assert answer.energy == pytest.approx(least, abs=off)
            assert answer.lower_bound == pytest.approx(least, abs=off)
        if answer.integral:
            assert answer.energy == pytest.approx(least, abs=off)


def test_dual_bounds_enclose_the_optimum():
    for seed in range(FIELDS):
        field = field_of(seed)
        least = optimum(field)
        bound = lower_bound(field)
        assert np.isfinite(bound.value)
        assert (np.diff(bound.trace) >= 0).all()
        if np.isfinite(least):
            assert bound.value <= least


@every_method
def test_a_start_is_never_made_worse(name):
    for seed in range(0, FIELDS, 5):
        field = field_of(seed)
        start = np.random.default_rng(seed).integers(0, field.n_labels, field.n_nodes)
        kept = start.copy()
        answer = METHODS[name].solve(field, start, random_state=seed)
        icm = ICM().solve(field, start, random_state=seed)
        np.testing.assert_array_equal(start, kept)
        if np.isfinite(icm.energy):
            off = tolerance(field, icm.energy)
            assert answer.energy <= field.energy(start) + off
            if name in ("auto", "exact"):
                assert answer.energy <= icm.energy + off


@pytest.mark.parametrize("name", ["bp", "lp", "exact", "auto"])
def test_forests_are_solved_exactly(name):
    for seed in range(100):
        field = forest_field(seed, wide=seed % 3 == 0)
        answer = METHODS[name].solve(field, random_state=seed)
        least = optimum(field)
        assert answer.energy == pytest.approx(least, abs=1e-9)
        if name != "lp":
            assert answer.optimal
        assert certified(answer, field).optimal


@pytest.mark.parametrize("name", ["bp", "lp", "exact", "auto"])
def test_components_one_by_one_give_the_same(name):
    for seed in range(0, FIELDS, 10):
        field = explicit(tiny_field(seed))
        whole = METHODS[name].solve(field, random_state=0)
        alone = [METHODS[name].solve(part, random_state=0) for _, part in parts(field)]
        off = tolerance(field, whole.energy)
        if name != "lp":  # its rounding draws other numbers
            assert sum(a.energy for a in alone) == pytest.approx(whole.energy, abs=off)
        assert sum(a.lower_bound for a in alone) == pytest.approx(whole.lower_bound, abs=off)


@every_method
def test_entailed_links_are_seen(name):
    for seed in range(20):
        field = entailed_field(seed)
        labellings = every_labelling(field)
        least = min(field.energy(labels) for labels in labellings)
        answer = METHODS[name].solve(field, random_state=seed)
        assert answer.energy == pytest.approx(field.energy(answer.labels))
        assert answer.energy >= least - 1e-9
        assert answer.lower_bound <= least + 1e-9
        if name == "exact":
            assert answer.energy == pytest.approx(least)


@every_method
def test_degenerate_fields(name):
    method = METHODS[name]
    empty = method.solve(PottsField(np.empty((0, 3)), (), (), ()), random_state=0)
    assert empty.labels.shape == (0,)
    assert empty.energy == 0.0
    one = method.solve(PottsField([[2.0], [3.0]], [(0, 1)], 1.0, 5.0), random_state=0)
    assert one.labels.tolist() == [0, 0]
    assert one.energy == 6.0
    loose = method.solve(PottsField([[2.0, 1.0], [np.inf, 3.0]], (), (), ()), random_state=0)
    assert loose.labels.tolist() == [1, 1]
    negative = PottsField([[0.0, 0.0], [0.0, 0.5]], [(0, 1)], [-1.0], [-2.0])
    assert method.solve(negative, random_state=0).energy == pytest.approx(-2.0)


@every_method
def test_forbidden_labels_are_kept_out(name):
    unary = np.array([[0.0, np.inf, 5.0], [np.inf, 0.0, 5.0], [1.0, 1.0, np.inf]])
    field = PottsField(unary, [(0, 1), (1, 2)], 0.0, [1.0, np.inf])
    answer = METHODS[name].solve(field, random_state=0)
    assert answer.energy == optimum(field)


@every_method
@pytest.mark.parametrize("start", [[0], [0, 5], [0.5, 1.0], [-1, 0]])
def test_bad_starts_are_refused(name, start):
    field = PottsField(np.zeros((2, 2)), [(0, 1)], 0.0, 1.0)
    with pytest.raises(ValueError, match="start must give each of the 2 nodes a label"):
        METHODS[name].solve(field, start)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"inference must be one of .*'auto'.*'lp'"):
        as_inference("simplex")


def test_bad_fields_are_refused():
    with pytest.raises(ValueError, match="NaN"):
        PottsField([[np.nan, 0.0]], (), (), ())
    with pytest.raises(ValueError, match="forbids every label of node 0"):
        PottsField([[np.inf, np.inf]], (), (), ())
    with pytest.raises(ValueError, match="joins a node with itself"):
        PottsField([[0.0], [0.0]], [(1, 1)], 0.0, 1.0)
    with pytest.raises(ValueError, match="edges must join nodes"):
        PottsField([[0.0], [0.0]], [(0, 2)], 0.0, 1.0)


# ---------------------------------------------------------------------------
# inside a fit


def blobs(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(3, 4)[y], y


@pytest.mark.parametrize("name", ["icm", "bp", "lp", "mean-field", "exact", "auto"])
@pytest.mark.parametrize("metric", ["diagonal", "full", "diagonal-per-cluster"])
def test_the_objective_never_rises_in_a_fit(name, metric):
    for seed in range(3):
        X, y = blobs(seed)
        known = Constraints.from_labels(y, n_pairs=40, noise=0.1, random_state=seed)
        model = HMRFKMeans(
            3, metric=metric, inference=name, constraint_weight=0.1, closure=False,
            random_state=seed, certify=seed == 0,
        ).fit(X, constraints=known)  # fmt: skip
        J = model.history_["objective"]
        assert (np.diff(J) <= 1e-9 * (1 + np.abs(J[:-1]))).all()
        assert model.lower_bound_ <= model.objective_
        if seed == 0:
            record = model.certificate_
            assert (record["gap"] >= 0).all()
            np.testing.assert_allclose(
                record["gap"], record["energy"] - record["lower_bound"], atol=1e-9
            )
            assert np.isfinite(model.lower_bound_)


def test_a_certified_bound_holds_for_every_labelling():
    """Tiny: try all labellings of the rows under the final centres and metric."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 2))
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (4, 5), (1, 4)])
    model = HMRFKMeans(2, certify=True, constraint_weight=0.3, closure=False, random_state=0)
    model.fit(X, constraints=known)
    D = model.transform(X)
    problem, metric = model._setup.problem, model._model.metric
    field = problem.objective.pairs.field(np.zeros((6, 2)), metric)
    base = PottsField(np.zeros((6, 2)), field.edges, field.agree_cost, field.differ_cost)
    whole = PottsField(D, problem.tied[base.edges], base.agree_cost, base.differ_cost)
    values = energies(whole, every_labelling(whole))
    mine = whole.energy(model.labels_)
    assert model.lower_bound_ - model.objective_ <= values.min() - mine + 1e-9
    assert values.min() - mine <= 1e-9


def test_soft_fits_have_no_certificate():
    X, _ = blobs(0)
    model = HMRFKMeans(3, assignment="soft", inference=MeanField(), certify=True)
    with pytest.raises(ValueError, match="certify=True"):
        model.fit(X)
