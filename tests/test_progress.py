"""Watching a fit changes nothing, and tells the truth."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from linkfield import ConstrainedGaussianMixture, Constraints, HMRFKMeans, MKMeans, SeededKMeans
from linkfield.constraints import violated_pairs
from linkfield.constraints.violations import violation_counter
from linkfield.estimators.progress import watching
from linkfield.inference import MeanField

X, y = load_iris(return_X_y=True)
NOISY = Constraints.from_labels(y, n_pairs=80, noise=0.3, random_state=3)
FEW = Constraints.from_labels(y, n_pairs=8, random_state=3)

HARD = {"constraint_weight": 0.05, "closure": False}
MODELS = {
    "auto": HMRFKMeans(3, **HARD, random_state=1),
    "several": HMRFKMeans(3, metric="diagonal", n_init=3, **HARD, random_state=1),
    "soft": HMRFKMeans(
        3, metric="identity", assignment="soft", inference=MeanField(temperature=1.0), **HARD,
        random_state=1,
    ),
    "blind": MKMeans(3, **HARD, random_state=1),
    "seeded": SeededKMeans(3, random_state=1),
    "mixture": ConstrainedGaussianMixture(3, n_init=2, random_state=1),
}  # fmt: skip


def fitted(model):
    # Many pairs make cycles of groups, which mixtures warn of.
    mixture = isinstance(model, ConstrainedGaussianMixture)
    return model.fit(X, constraints=FEW if mixture else NOISY)


def watched(model):
    steps = []
    with watching(steps.append):
        fitted(model)
    return steps


@pytest.mark.parametrize("name", MODELS)
def test_a_watched_fit_is_the_same(name):
    model = MODELS[name]
    alone = fitted(model)
    labels, objective = alone.labels_.copy(), alone.objective_
    steps = watched(model)
    assert np.array_equal(model.labels_, labels)
    assert model.objective_ == objective
    assert {step.estimator for step in steps} == {type(model).__name__}


@pytest.mark.parametrize("name", ["several", "soft", "mixture"])
def test_every_iteration_of_every_start_is_told(name):
    model = MODELS[name]
    steps = watched(model)
    runs = steps[0].runs
    assert {step.run for step in steps} == set(range(1, runs + 1))
    sign = 1 if name == "mixture" else -1
    ends = []
    for run in range(1, runs + 1):
        own = [step for step in steps if step.run == run]
        assert [step.iteration for step in own] == list(range(1, len(own) + 1))
        assert all(step.max_iter == model.max_iter and step.stage == "fit" for step in own)
        values = np.array([step.objective for step in own])
        assert (sign * np.diff(values) >= -1e-9 * np.abs(values[:-1])).all()
        ends.append(len(own))
    assert model.n_iter_ in ends
    assert len(model.objective_trace_) in ends


def test_violations_are_those_of_the_labels():
    steps = watched(MODELS["several"])
    last = [s for s in steps if s.objective == min(s.objective for s in steps)][-1]
    # The closing assignment may still mend a few.
    assert last.violations >= len(MODELS["several"].violations_) > 0
    assert all(step.violations is None for step in watched(MODELS["mixture"]))


def test_the_choice_of_a_metric_is_a_stage_of_its_own():
    steps = watched(MODELS["auto"])
    stages = [step.stage for step in steps]
    choosing = [step for step in steps if step.stage == "choosing the metric"]
    assert stages == ["choosing the metric"] * len(choosing) + ["fit"] * (
        len(stages) - len(choosing)
    )
    assert [step.run for step in choosing] == list(range(1, choosing[0].runs + 1))
    assert all(step.iteration == 0 and np.isnan(step.objective) for step in choosing)


def test_the_choice_of_a_strength_is_a_stage_of_its_own():
    model = ConstrainedGaussianMixture(2, strength="auto", max_iter=5, tol=0.1, random_state=0)
    labels = np.where(np.arange(60) % 2, y[40:100], -1)
    steps = []
    with watching(steps.append):
        model.fit(X[40:100], partial_labels=labels)
    assert {step.stage for step in steps} == {"choosing the strength", "fit"}
    assert max(s.run for s in steps if s.stage != "fit") <= steps[0].runs


def test_nobody_is_called_outside():
    steps = []
    with watching(steps.append):
        pass
    MODELS["seeded"].fit(X, constraints=NOISY)
    assert steps == []


def test_an_error_of_the_watcher_ends_the_fit():
    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watching(stop):
        MODELS["seeded"].fit(X, constraints=NOISY)


@pytest.mark.parametrize("seed", range(8))
def test_counting_is_listing(seed):
    rng = np.random.default_rng(seed)
    partial = np.where(rng.random(150) < 0.2, y, -1)
    known = NOISY | Constraints.from_labels(partial)
    if seed % 2:  # rows of two names
        known = known | Constraints.from_labels(np.where(rng.random(150) < 0.1, 1, -1))
    labels = rng.integers(0, 4, 150)
    assert violation_counter(known)(labels) == len(violated_pairs(known, labels)) > 0
