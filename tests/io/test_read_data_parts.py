"""Parts of a file: ids and labels alone, columns by their exact names, a part of a sparse table."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from linkfield.io import _csv_data, read_data
from linkfield.io.tables import csv_rows


@pytest.fixture(params=["pyarrow", "python"])
def way(request, monkeypatch):
    """Read CSV files with pyarrow, and as if it were not installed."""
    if request.param == "python":
        monkeypatch.setattr(_csv_data, "find_spec", lambda name: None)


# ------------------------------------------------------- ids and labels alone


def holed(file):
    """Write a table with numbers for ids and labels, and nothing else that can be clustered."""
    columns = {
        "x": [1.5, None, np.inf],
        "n": [12, 10, 11],
        "k": [1, 0, None],
        "word": ["a", "b", "c"],
        "list": [[1], [2, 3], []],
    }
    frame = pd.DataFrame(columns).astype({"k": "Int64"})
    if file.suffix == ".csv":
        frame.to_csv(file, index=False)
    elif file.suffix == ".jsonl":
        frame.to_json(file, orient="records", lines=True)
    else:
        frame.to_parquet(file, index=False)
    return file


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_ids_and_labels_alone_from_tables(ending, tmp_path, way):
    file = holed(tmp_path / f"x.{ending}")
    data = read_data(file, columns=(), id_column="n", label_column="k")
    assert data.X is None and data.feature_names is None and data.texts is None
    assert data.sample_id.tolist() == [12, 10, 11]
    assert data.labels.tolist() == [1, 0, None]
    assert data.n_rows == 3
    only = read_data(file, columns=[], label_column="word")
    assert only.labels.tolist() == ["a", "b", "c"] and only.sample_id is None and only.n_rows == 3
    assert read_data(file, columns=(), text_column="word").texts == ["a", "b", "c"]
    nothing = read_data(file, columns=())
    assert nothing.n_rows == 3 and nothing.X is None


def test_ids_and_labels_alone_from_arrays(tmp_path):
    table = np.array([[np.nan, 7, 1], [np.inf, 8, -1]])
    np.save(tmp_path / "x.npy", table)
    data = read_data(tmp_path / "x.npy", columns=(), id_column=1, label_column="2")
    assert (
        data.X is None and data.sample_id.tolist() == [7, 8] and data.labels.tolist() == [1, None]
    )
    assert read_data(tmp_path / "x.npy", columns=()).n_rows == 2
    np.save(tmp_path / "text.npy", np.array([["a", "u"], ["b", "v"]]))
    data = read_data(tmp_path / "text.npy", columns=(), id_column=0, label_column=1)
    assert data.sample_id.tolist() == ["a", "b"] and data.labels.tolist() == ["u", "v"]


def test_ids_and_labels_alone_from_archives(tmp_path):
    file = tmp_path / "x.npz"
    odd = np.array([["a"], ["b"]])  # no numbers: not read at all
    np.savez(file, X=odd, sample_id=[5, 6], kind=["u", "v"], labels=["p", "q"])
    data = read_data(file, columns=(), label_column="kind")
    assert data.X is None and data.n_rows == 2
    assert data.sample_id.tolist() == [5, 6] and data.labels.tolist() == ["u", "v"]
    assert read_data(file, columns=()).labels.tolist() == ["p", "q"]
    np.savez(file, X=[[np.nan, 3], [1, 4]], labels=[0, 1], feature_names=["x", "n"])
    data = read_data(file, columns=(), id_column="n")
    assert data.X is None and data.sample_id.tolist() == [3, 4] and data.labels.tolist() == [0, 1]
    np.savez(file, X=np.ones((2, 1)), sample_id=[1, 2], labels=[1, 2, 3])
    with pytest.raises(ValueError, match="2 ids and 3 labels"):
        read_data(file, columns=())
    np.savez(file, X=np.ones((2, 1)), labels=[[1, 2], [3, 4]])
    with pytest.raises(ValueError, match="one value a row"):
        read_data(file, columns=())


def test_labels_alone_from_svmlight(tmp_path):
    file = tmp_path / "x.svm"
    file.write_text("3 1:nan\n-1 2:inf\n")
    data = read_data(file, columns=())
    assert data.X is None and data.labels.tolist() == [3, None] and data.n_rows == 2
    file.write_text("3 1:4 2:8\n-1 2:9\n")
    assert read_data(file, label_column="1").labels.tolist() == [8, 9]


# ---------------------------------------------- long cells and late columns


def test_cells_of_any_length(tmp_path, way):
    file = tmp_path / "x.csv"
    text = "ab " * 100_000
    file.write_text(f"t,x,y\n{text},1,a\nb,2,b\n")
    before = csv.field_size_limit()
    assert read_data(file, text_column="t").texts == [text, "b"]
    assert read_data(file, label_column="y").X.tolist() == [[1], [2]]
    assert csv.field_size_limit() == before
    # One file is read through while another is open.
    rows = [csv_rows(file, io.StringIO(file.read_text()), ",") for _ in range(2)]
    next(rows[0]), next(rows[1])
    assert len(list(rows[0])) == 2
    assert len(list(rows[1])) == 2
    assert csv.field_size_limit() == before


def test_columns_that_only_late_lines_have(tmp_path):
    file = tmp_path / "x.jsonl"
    lines = [{"x": 1.0, "gene_1": 2.0}] * 1200 + [
        {"x": 1.0, "gene_1": 2.0, "gene_2": 3.0, "note": "a"}
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = read_data(file)
    assert data.feature_names == ["x", "gene_1"] and data.left_out == ["gene_2", "note"]
    assert data.n_rows == 1201
    assert read_data(file, exclude=["gene_*"]).left_out == ["note"]
    late = read_data(file, label_column="note")
    assert late.feature_names == ["x", "gene_1"] and late.left_out == ["gene_2"]
    assert read_data(file, columns=["x"]).left_out == []
    with pytest.raises(ValueError, match=r"1,200 empty or NaN cells .* 'gene_2'"):
        read_data(file, columns=["gene_*"])


# ---------------------------------------------------------------- exact names


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_exact_names_are_no_patterns(ending, tmp_path, way):
    frame = pd.DataFrame({"is1": [1.0, 2.0], "y": [3.0, 4.0], "id": ["a", "b"]})
    file = tmp_path / f"x.{ending}"
    if ending == "csv":
        frame.to_csv(file, index=False)
    elif ending == "jsonl":
        frame.to_json(file, orient="records", lines=True)
    else:
        frame.to_parquet(file, index=False)
    assert read_data(file, columns=["is?", "y"]).feature_names == ["is1", "y"]
    for asked in ({"columns": ["is?", "y"]}, {"exclude": ["is*"]}, {"id_column": "i?"}):
        with pytest.raises(ValueError, match="no column 'i"):
            read_data(file, exact=True, **asked)
    assert read_data(file, columns=["y", "is1"], exact=True).X.tolist() == [[3, 1], [4, 2]]


def test_exact_names_of_arrays(tmp_path):
    np.savez(tmp_path / "x.npz", X=[[1.0, 2.0]], feature_names=["a1", "b"])
    with pytest.raises(ValueError, match="no column 'a"):
        read_data(tmp_path / "x.npz", columns=["a?"], exact=True)
    np.save(tmp_path / "x.npy", np.array([[1.0, 2.0]]))
    assert read_data(tmp_path / "x.npy", columns=["1"], exact=True).X.tolist() == [[2]]
    assert isinstance(read_data(tmp_path / "x.npy", exact=True).X, np.memmap)


# --------------------------------------------------------- svmlight, in parts


def test_svmlight_files_that_lack_columns(tmp_path):
    file = tmp_path / "x.svm"
    file.write_text("1 0:5 2:7\n0 1:6\n")
    whole = read_data(file)
    assert whole.zero_based is True and whole.X.shape == (2, 3)
    file.write_text("1 1:5\n0 1:6\n")  # neither the first column nor the last
    part = read_data(file, n_features=3, zero_based=True)
    assert_array_equal(part.X.toarray(), [[0, 5, 0], [0, 6, 0]])
    assert part.zero_based is True
    alone = read_data(file)
    assert alone.zero_based is False
    assert_array_equal(alone.X.toarray(), [[5], [6]])
    assert_array_equal(
        read_data(file, n_features=2, zero_based=False).X.toarray(), [[5, 0], [6, 0]]
    )
    file.write_text("1\n0\n")
    for base in (True, False):
        assert_array_equal(
            read_data(file, n_features=2, zero_based=base).X.toarray(), np.zeros((2, 2))
        )


def test_svmlight_files_that_do_not_fit(tmp_path):
    file = tmp_path / "x.svm"
    file.write_text("1 0:5 3:7\n")
    with pytest.raises(ValueError, match=r"x\.svm has a column 0, .* count from 1"):
        read_data(file, zero_based=False)
    with pytest.raises(ValueError, match=r"x\.svm has a column 3, .* after 2"):
        read_data(file, n_features=3)
    file.write_text("1 1:5 4:7\n")
    with pytest.raises(ValueError, match=r"x\.svm has a column 4, .* after 3"):
        read_data(file, n_features=3)
    with pytest.raises(ValueError, match="at least 1"):
        read_data(file, n_features=0)


def test_other_files_ignore_what_svmlight_needs(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    pq.write_table(pa.table({"a": [1.0]}), tmp_path / "x.parquet")
    for name, width in (("x.npy", 3), ("x.parquet", 1)):
        data = read_data(tmp_path / name, n_features=7, zero_based=True)
        assert data.X.shape[1] == width and data.zero_based is None
