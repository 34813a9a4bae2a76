"""pandas, polars and scipy: whatever holds the numbers, the fit is the same."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import linkfield as lf
from linkfield import Constraints
from linkfield.io import read_data

X, Y = load_iris(return_X_y=True)
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
IDS = [f"flower-{i}" for i in range(150)]
PAIRS = Constraints.from_labels(Y, n_pairs=60, random_state=0, sample_id=IDS)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dok"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_of_every_kind(form, kind):
    make = getattr(sparse, f"{form}_{kind}")
    model = lf.HMRFKMeans(3, metric="diagonal", random_state=0, n_init=1)
    reference = model.fit(sparse.csr_array(X), constraints=PAIRS, sample_id=IDS)
    labels, distances = reference.labels_.copy(), reference.transform(sparse.csr_array(X))
    given = make(X)
    before = given.toarray()
    model.fit(given, constraints=PAIRS, sample_id=IDS)
    assert_array_equal(model.labels_, labels)
    assert_array_equal(model.transform(given), distances)
    assert_array_equal(model.predict(X), model.predict(given))
    assert_array_equal(given.toarray(), before)
    assert given.format == form


def frames():
    columns = dict(zip(NAMES, X.T, strict=True))
    return {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_ids_labels_and_weights_as_columns(library):
    """Everything that comes beside X may be a column of a frame."""
    frame = frames()[library]
    series = pd.Series if library == "pandas" else pl.Series
    partial = np.where(np.arange(150) % 5 == 0, Y, -1)
    weight = np.linspace(0.5, 2.0, 150)
    plain = lf.HMRFKMeans(3, metric="diagonal", random_state=0).fit(
        X, constraints=PAIRS, sample_id=IDS, partial_labels=partial, sample_weight=weight
    )
    given = lf.HMRFKMeans(3, metric="diagonal", random_state=0).fit(
        frame,
        constraints=PAIRS,
        sample_id=series(IDS),
        partial_labels=series(partial),
        sample_weight=series(weight),
    )
    assert_array_equal(given.labels_, plain.labels_)
    assert_array_equal(given.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_missing_labels_of_a_frame(library):
    values = [int(v) if i % 5 == 0 else None for i, v in enumerate(Y)]
    column = pd.Series(values, dtype="Int64") if library == "pandas" else pl.Series(values)
    told = lf.PCKMeans(3, random_state=0).fit(X, partial_labels=column)
    plain = lf.PCKMeans(3, random_state=0).fit(
        X, partial_labels=[-1 if v is None else v for v in values]
    )
    assert_array_equal(told.labels_, plain.labels_)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_from_a_frame_through_a_file_to_clusters(library, ending, tmp_path):
    frame = frames()[library]
    file = tmp_path / f"iris.{ending}"
    if library == "pandas":
        frame.insert(0, "id", IDS)
        if ending == "csv":
            frame.to_csv(file, index=False)
        elif ending == "parquet":
            frame.to_parquet(file)
        else:
            frame.to_json(file, orient="records", lines=True, double_precision=15)
    else:
        frame.insert_column(0, pl.Series("id", IDS))
        write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}
        getattr(frame, write[ending])(file)
    data = read_data(file, id_column="id")
    model = lf.HMRFKMeans(3, random_state=0)
    labels = model.fit_predict(data.X, constraints=PAIRS, sample_id=data.sample_id)
    plain = lf.HMRFKMeans(3, random_state=0).fit_predict(X, constraints=PAIRS, sample_id=IDS)
    assert_array_equal(labels, plain)


def test_a_mixed_frame_prepared_and_carried_away(tmp_path):
    """Numbers, categories and text in one pipeline, saved and loaded."""
    frame = pd.DataFrame(X, columns=NAMES).assign(
        colour=np.array(["red", "blue", "white"])[Y],
        note=np.array(["small and round", "long leaf", "long and wide leaf"])[Y],
    )
    prepare = ColumnTransformer(
        [
            ("numbers", StandardScaler(), NAMES),
            ("colour", OneHotEncoder(), ["colour"]),
            ("note", TfidfVectorizer(), "note"),
        ]
    )
    pipe = make_pipeline(prepare, lf.HMRFKMeans(3, metric="diagonal", random_state=0))
    pipe.fit(frame, hmrfkmeans__constraints=PAIRS, hmrfkmeans__sample_id=IDS)
    lf.save(pipe, tmp_path / "pipe.skops", about={"columns": list(frame)})
    again = lf.load(tmp_path / "pipe.skops")
    assert_array_equal(again.predict_proba(frame), pipe.predict_proba(frame))
    assert_array_equal(again.predict(frame[::-1]), pipe.predict(frame)[::-1])
