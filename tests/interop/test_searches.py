"""scikit-learn's searches and cross-validation, with constraints by id."""

import numpy as np
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import linkfield as lf
from linkfield import Constraints

X, Y = load_iris(return_X_y=True)
IDS = np.array([f"flower-{i}" for i in range(150)])
FOLDS = KFold(3, shuffle=True, random_state=0)
PAIRS = Constraints.from_labels(Y, n_pairs=80, random_state=0, sample_id=IDS)


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def agreement(model, X, y):
    return adjusted_rand_score(y, model.predict(X))


def routed(**options):
    model = lf.HMRFKMeans(3, metric="diagonal", random_state=0, n_init=1, **options)
    return model.set_fit_request(constraints=True, sample_id=True)


def test_a_search_over_a_whole_pipeline_and_its_winner_saved(tmp_path):
    pipe = make_pipeline(StandardScaler(), routed())
    search = GridSearchCV(
        pipe,
        {"standardscaler__with_std": [True, False], "hmrfkmeans__constraint_weight": [0.1, 10.0]},
        cv=FOLDS,
        scoring=agreement,
    )
    search.fit(X, Y, constraints=PAIRS, sample_id=IDS)
    assert len(search.cv_results_["params"]) == 4 and search.best_score_ > 0.5
    lf.save(search.best_estimator_, tmp_path / "best.skops", about=search.best_params_)
    again = lf.load(tmp_path / "best.skops")
    assert again[-1].get_metadata_routing().fit.requests == {
        "constraints": True, "sample_id": True, "partial_labels": None, "sample_weight": None,
    }  # fmt: skip
    again.fit(X, constraints=PAIRS, sample_id=IDS)
    assert_array_equal(again.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert lf.io.read_about(tmp_path / "best.skops") == search.best_params_


def test_a_random_search_over_objects():
    from linkfield.inference import ICM, BeliefPropagation

    search = RandomizedSearchCV(
        routed(),
        {"inference": [ICM(), BeliefPropagation()], "n_clusters": [2, 3, 4]},
        n_iter=3,
        cv=FOLDS,
        scoring=agreement,
        random_state=0,
    )
    search.fit(X, Y, constraints=PAIRS, sample_id=IDS)
    assert search.best_params_["n_clusters"] == 3


def test_cross_validation_sees_only_the_pairs_of_its_rows():
    params = {"constraints": PAIRS, "sample_id": IDS}
    found = cross_validate(
        routed(), X, Y, cv=FOLDS, scoring=agreement, params=params, return_estimator=True
    )
    assert (found["test_score"] > 0.3).all()
    for model in found["estimator"]:
        assert len(model.labels_) == 100
        assert set(model.violations_["a"]) <= set(IDS)


def test_predictions_of_held_out_rows():
    params = {"constraints": PAIRS, "sample_id": IDS}
    labels = cross_val_predict(routed(), X, Y, cv=FOLDS, params=params)
    assert labels.shape == (150,) and set(labels) <= {0, 1, 2}


def test_tables_all_the_way_through_a_pipeline():
    frame = pl.DataFrame(X, schema=["a", "b", "c", "d"])
    pipe = make_pipeline(StandardScaler(), routed()).set_output(transform="polars")
    out = pipe.fit(frame, constraints=PAIRS, sample_id=IDS).transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == ["hmrfkmeans0", "hmrfkmeans1", "hmrfkmeans2"]
    assert list(pipe[-1].feature_names_in_) == ["a", "b", "c", "d"]
