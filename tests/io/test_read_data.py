"""Data from files: every format gives the same rows, whichever way it is read."""

import csv
import gzip
import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris

from linkfield.io import _csv_data, read_data
from linkfield.io._gather import Gather

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]


@pytest.fixture(params=["pyarrow", "python"])
def way(request, monkeypatch):
    """Read CSV files with pyarrow, and as if it were not installed."""
    if request.param == "python":
        monkeypatch.setattr(_csv_data, "find_spec", lambda name: None)
    return request.param


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    kinds = np.array(["setosa", "versicolor", "virginica"])[y]
    ids = [f"flower-{i}" for i in range(len(X))]
    return pd.DataFrame(X, columns=NAMES).assign(id=ids, kind=kinds, note='a, "b"\nc')


def written(frame, file):
    """Write a frame in the format of the ending."""
    form = file.name.removesuffix(".gz").rpartition(".")[2]
    if form in ("csv", "tsv"):
        frame.to_csv(file, index=False, sep="\t" if form == "tsv" else ",")
    elif form == "jsonl":
        frame.to_json(file, orient="records", lines=True, double_precision=15)
    else:
        frame.to_parquet(file, index=False)
    return file


TABLES = ["csv", "tsv", "csv.gz", "tsv.gz", "jsonl", "jsonl.gz", "parquet"]


@pytest.mark.parametrize("ending", TABLES)
def test_every_table_gives_the_same(ending, iris, tmp_path, way):
    file = written(iris, tmp_path / f"iris.{ending}")
    data = read_data(file, id_column="id", label_column="kind")
    assert_array_equal(data.X, iris[NAMES].to_numpy())
    assert data.X.dtype == np.float64 and data.X.flags.c_contiguous
    assert data.feature_names == NAMES
    assert data.sample_id.tolist() == iris["id"].tolist()
    assert data.labels.tolist() == iris["kind"].tolist()
    assert data.left_out == ["note"]
    assert data.texts is None and data.path == file and data.n_rows == 150


@pytest.mark.parametrize("ending", TABLES)
def test_columns_in_the_order_asked_for(ending, iris, tmp_path, way):
    file = written(iris, tmp_path / f"iris.{ending}")
    data = read_data(file, columns=["petal width", "sepal length"], dtype=np.float32)
    assert_array_equal(data.X, iris[["petal width", "sepal length"]].to_numpy(np.float32))
    assert data.X.dtype == np.float32
    assert data.left_out == [] and data.sample_id is None and data.labels is None
    assert read_data(file, exclude=["sepal *", "id", "kind"]).feature_names == NAMES[2:]
    assert read_data(file, columns="petal*").feature_names == NAMES[2:]
    assert read_data(file, columns=[3, 0]).feature_names == [NAMES[3], NAMES[0]]


@pytest.mark.parametrize("ending", TABLES)
def test_text_alone_and_with_numbers(ending, iris, tmp_path, way):
    file = written(iris, tmp_path / f"iris.{ending}")
    alone = read_data(file, text_column="note")
    assert alone.X is None and alone.feature_names is None
    assert alone.texts == ['a, "b"\nc'] * 150 and alone.n_rows == 150
    assert alone.left_out == [*NAMES, "id", "kind"]
    both = read_data(file, text_column="note", columns=NAMES[:2])
    assert both.X.shape == (150, 2) and len(both.texts) == 150


VECTORS = np.array([[0.5, -1.25, 3.0], [1e-3, 2.0, 7.5]])


def embedded(tmp_path, form):
    if form == "parquet list":
        pq.write_table(pa.table({"t": ["a", "b"], "e": VECTORS.tolist()}), tmp_path / "e.parquet")
        return tmp_path / "e.parquet"
    if form == "parquet fixed":
        flat = pa.array(VECTORS.astype(np.float32).ravel(), pa.float32())
        column = pa.FixedSizeListArray.from_arrays(flat, 3)
        pq.write_table(pa.table({"t": ["a", "b"], "e": column}), tmp_path / "e.parquet")
        return tmp_path / "e.parquet"
    if form == "jsonl":
        lines = [json.dumps({"t": t, "e": v}) for t, v in zip("ab", VECTORS.tolist(), strict=True)]
        (tmp_path / "e.jsonl").write_text("\n".join(lines) + "\n")
        return tmp_path / "e.jsonl"
    with (tmp_path / "e.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["t", "e"])
        for t, v in zip("ab", VECTORS.tolist(), strict=True):
            shown = {
                "json": json.dumps(v),
                "spaces": " ".join(map(str, v)),
                "numpy": str(np.array(v)),
            }
            writer.writerow([t, shown[form]])
    return tmp_path / "e.csv"


FORMS = ["parquet list", "parquet fixed", "jsonl", "json", "spaces", "numpy"]


@pytest.mark.parametrize("form", FORMS)
def test_embeddings(form, tmp_path, way):
    data = read_data(embedded(tmp_path, form), embedding_column="e", text_column="t")
    exact = VECTORS.astype(np.float32) if form == "parquet fixed" else VECTORS
    assert_array_equal(data.X, exact)
    assert data.texts == ["a", "b"]
    assert data.feature_names == ["e[0]", "e[1]", "e[2]"]


def test_float32_is_kept_if_asked_for(tmp_path):
    file = embedded(tmp_path, "parquet fixed")
    assert read_data(file, embedding_column="e", dtype=None).X.dtype == np.float32
    np.save(tmp_path / "x.npy", VECTORS.astype(np.float32))
    assert read_data(tmp_path / "x.npy", dtype=None).X.dtype == np.float32
    assert read_data(tmp_path / "x.npy").X.dtype == np.float64


# --------------------------------------------------- the two ways of reading CSV

CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.sampled_from(["+1", " 2.5 ", "1.", ".5", "-0", "1E5", "007", "1e-400", "00.1e+3", "5e-324"]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30), crlf=st.booleans())
def test_both_ways_read_the_same_bits(rows, crlf, tmp_path, monkeypatch):
    end = "\r\n" if crlf else "\n"
    file = tmp_path / "x.csv"
    file.write_text(end.join(["x,y", *(",".join(row) for row in rows)]) + end, newline="")
    with monkeypatch.context() as patch:
        fast = read_data(file)
        patch.setattr(_csv_data, "find_spec", lambda name: None)
        slow = read_data(file)
    assert fast.X.tobytes() == slow.X.tobytes()
    assert_array_equal(fast.X, np.array([[float(v) for v in row] for row in rows]))


TROUBLE = [
    "x,y\n1,2\n3\n",
    "x,y\n1,2\n3,4,5\n",
    "x,y\n1,2\n3,abc\n4,5\n",
    "x,y\n1,2\n3,\n,5\n",
    "x,y\n1,2\n3,inf\n4,5\n",
    "x,y\n1,2\n3,1e999\n4,5\n",
    "x,y\n1,2\n3,1_000\n4,5\n",
    "x,y\n1,2\n3,\u0663\n4,5\n",
    "x;y\n1,5;2\n3;4\n",
    'x,y\n1,"2\n3,4\n',
]


@pytest.mark.parametrize("text", TROUBLE)
def test_both_ways_complain_alike(text, tmp_path, monkeypatch):
    file = tmp_path / "x.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"x\.csv") as fast:
        read_data(file)
    monkeypatch.setattr(_csv_data, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"x\.csv") as slow:
        read_data(file)
    assert str(fast.value) == str(slow.value)
    assert "\n" not in str(fast.value)


def test_pyarrow_is_really_used_for_plain_files(tmp_path, iris, monkeypatch):
    """The slow way would hide a fast one that always gives up."""

    def refuse(*args):
        raise AssertionError("read by Python")

    monkeypatch.setattr(_csv_data, "_by_python", refuse)
    for ending in ("csv", "tsv", "csv.gz"):
        file = written(iris.assign(note='a, "b"'), tmp_path / f"iris.{ending}")
        data = read_data(file, id_column="id", label_column="kind", text_column="note", columns=[0])
        assert data.n_rows == 150
    file = tmp_path / "bom.csv"
    file.write_bytes(b"\xef\xbb\xbfx,y\r\n1,2\r\n3,4")
    assert read_data(file).feature_names == ["x", "y"]


def test_a_quote_that_is_never_closed(tmp_path, way):
    """Beyond the lines that are looked at first, and in a column that is not read."""
    file = tmp_path / "x.csv"
    lines = ["1,a"] * 6000
    file.write_text("\n".join(["x,t", *lines[:3000], '1,"b', *lines[3000:]]))
    with pytest.raises(ValueError, match=r"line 6002: unexpected end of data; check the quotes"):
        read_data(file)


def test_types_do_not_depend_on_the_first_block(tmp_path, way):
    """A column of integers that turns to decimals, or to text, far down in the file."""
    n = 150_000
    values = [str(i) for i in range(n)]
    values[-1] = "0.5"
    file = tmp_path / "x.csv"
    file.write_text("x\n" + "\n".join(values) + "\n")
    assert file.stat().st_size < 2**20 + 2**19
    X = read_data(file).X
    assert_array_equal(X[:, 0], [*range(n - 1), 0.5])
    values[-1] = "half"
    file.write_text("x\n" + "\n".join(values) + "\n")
    with pytest.raises(ValueError, match=rf"line {n + 1}: column 'x' needs numbers; found 'half'"):
        read_data(file)


def test_the_array_grows_in_its_place(tmp_path):
    """Blocks of any size give one array."""
    from linkfield.io._columns import Picked
    from linkfield.io._gather import Block

    rng = np.random.default_rng(0)
    gather = Gather(Path("x"), Picked(("a", "b")), np.float64)
    blocks = [rng.normal(size=(n, 2)) for n in rng.integers(1, 5000, size=40)]
    for X in blocks:
        gather.add(Block(range(len(X)), [X[:, 0], X[:, 1]]))
    assert_array_equal(gather.data(text_only=True).X, np.vstack(blocks))


PEAK = """
import sys
from pathlib import Path
import pyarrow.csv, pyarrow.parquet
from linkfield.io import read_data

def held(name):
    status = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith(name)).split()[1]) * 1024

before = held("VmRSS")
X = read_data(sys.argv[1]).X
print((held("VmHWM") - before) / X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_million_rows_take_little_more_than_their_array(ending, tmp_path):
    X = np.random.default_rng(0).normal(size=(1_000_000, 20)).round(3)
    table = pa.table({f"x{j}": X[:, j] for j in range(20)})
    file = tmp_path / f"big.{ending}"
    pa_csv.write_csv(table, file) if ending == "csv" else pq.write_table(table, file)
    del table
    run = [sys.executable, "-c", PEAK, str(file)]
    ratio = float(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert 1.0 <= ratio < 1.8


def test_wide_tables(tmp_path, way):
    """Thousands of columns, and lines longer than a block of pyarrow."""
    X = np.random.default_rng(0).normal(size=(6, 60_000))
    file = tmp_path / "wide.csv"
    header = ",".join(f"gene{j}" for j in range(X.shape[1]))
    file.write_text(header + "\n" + "\n".join(",".join(map(repr, r)) for r in X.tolist()) + "\n")
    data = read_data(file, exclude=["gene1*"])
    assert data.X.shape == (6, 60_000 - 11_111) and data.left_out == []
    assert_array_equal(data.X[:, -1], X[:, -1])


# ------------------------------------------------------------------- arrays


def test_npy_is_mapped_and_not_copied(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 3))
    np.save(tmp_path / "x.npy", X)
    data = read_data(tmp_path / "x.npy")
    assert isinstance(data.X, np.memmap)
    assert_array_equal(data.X, X)
    assert data.feature_names is None
    some = read_data(tmp_path / "x.npy", columns=[2, 0], label_column=1)
    assert_array_equal(some.X, X[:, [2, 0]])
    assert_array_equal(some.labels.astype(float), X[:, 1])


@pytest.mark.parametrize("kind", [np.int8, np.uint64, np.bool_, np.float16, ">f8"])
def test_npy_of_any_number(kind, tmp_path):
    X = np.array([[1, 0], [0, 1]]).astype(kind)
    np.save(tmp_path / "x.npy", X)
    X2 = read_data(tmp_path / "x.npy").X
    assert X2.dtype == np.float64
    assert_array_equal(X2, X.astype(float))


def test_npz_with_what_stands_beside(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "one.npz", X)
    assert_array_equal(read_data(tmp_path / "one.npz").X, X)
    np.savez(
        tmp_path / "x.npz", X=X, sample_id=["a", "b", "c"], labels=[1, -1, 0], y=[3, 3, -1],
        feature_names=["u", "v"],
    )  # fmt: skip
    data = read_data(tmp_path / "x.npz")
    assert data.sample_id.tolist() == ["a", "b", "c"]
    assert data.labels.tolist() == [1, None, 0]
    assert data.feature_names == ["u", "v"]
    named = read_data(tmp_path / "x.npz", label_column="y", columns=["v"])
    assert named.labels.tolist() == [3, 3, None]
    assert_array_equal(named.X, X[:, [1]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_sparse_npz(form, kind, tmp_path):
    make = getattr(sparse, f"{form}_{kind}")
    X = sparse.random_array((30, 8), density=0.3, rng=np.random.default_rng(0))
    sparse.save_npz(tmp_path / "x.npz", make(X))
    data = read_data(tmp_path / "x.npz")
    assert sparse.issparse(data.X) and data.X.format == "csr"
    assert_array_equal(data.X.toarray(), X.toarray())
    some = read_data(tmp_path / "x.npz", columns=["5", 1], dtype=np.float32)
    assert_array_equal(some.X.toarray(), X.toarray()[:, [5, 1]].astype(np.float32))


@pytest.mark.parametrize("ending", ["svm", "svmlight", "libsvm", "svm.gz"])
def test_svmlight(ending, tmp_path):
    X = sparse.random_array((20, 6), density=0.4, rng=np.random.default_rng(0), format="csr")
    X.data = X.data.round(3)  # scikit-learn writes 16 digits
    y = np.arange(20) % 4 - 1
    dump_svmlight_file(X, y, str(tmp_path / "x.svm"), zero_based=True)
    file = tmp_path / f"x.{ending}"
    content = (tmp_path / "x.svm").read_bytes()
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    data = read_data(file)
    assert_array_equal(data.X.toarray(), X.toarray())
    assert data.labels.tolist() == [None if v == -1 else v for v in y.tolist()]
    dump_svmlight_file(X, np.where(y > 0, 1, -1), str(tmp_path / "two.svm"))
    assert set(read_data(tmp_path / "two.svm").labels) == {-1, 1}


# --------------------------------------------------------- ids, labels, traps


@pytest.mark.parametrize(
    ("cells", "ids"),
    [
        (["3", "1", "2"], [3, 1, 2]),
        (["3", "1", "b"], ["3", "1", "b"]),
        (["007", "1", "2"], ["007", "1", "2"]),
        (["10000000000000000000000", "1", "2"], [10**22, 1, 2]),
    ],
)
def test_ids_are_numbers_if_all_are(cells, ids, tmp_path, way):
    file = tmp_path / "x.csv"
    file.write_text("i,x\n" + "".join(f"{c},1\n" for c in cells))
    assert read_data(file, id_column="i").sample_id.tolist() == ids


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["3", "-1", ""], [3, None, None]),
        (["3.0", "-1.0", "4.0"], [3, None, 4]),
        (["a", " ", "-1"], ["a", None, None]),
        (["a", "3", "1.5"], ["a", "3", "1.5"]),
        (["", "", ""], [None, None, None]),
        (["NA", "a", "null"], [None, "a", None]),
        (["nan", "1", "None"], [None, 1, None]),
        (["?", " N/A ", "na"], [None, None, "na"]),
        (["a", "-1.0", "-10"], ["a", None, "-10"]),
        (["9007199254740993", "9007199254740992", "-1"], [2**53 + 1, 2**53, None]),
        (["9007199254740993.0", "7", "7.0"], [2**53 + 1, 7, 7]),
        (["01", "1", "-1"], ["01", "1", None]),
        (["1e3", "1000", "1"], ["1e3", "1000", "1"]),
    ],
)
def test_labels_of_csv(cells, labels, tmp_path, way):
    file = tmp_path / "x.csv"
    file.write_text("y,x\n" + "".join(f"{c},1\n" for c in cells))
    assert read_data(file, label_column="y").labels.tolist() == labels


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array([3.0, None, float("nan")]), [3, None, None]),
        (pa.array([3, -1, None]), [3, None, None]),
        (pa.array(["a", "", None]), ["a", None, None]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([True, None, False]), [True, None, False]),
        (pa.array(["NA", "b", "-1.0"]), ["NA", "b", None]),  # Parquet has its own missing value
        (pa.array([Decimal("-1"), Decimal("7"), None]), [None, 7, None]),
        (pa.array([Decimal("-1.0"), Decimal("7.5"), None]), [None, Decimal("7.5"), None]),
        (pa.array([2**53, 2**53 + 1, -1]), [2**53, 2**53 + 1, None]),
    ],
)
def test_labels_of_parquet(column, labels, tmp_path):
    pq.write_table(pa.table({"y": column, "x": [1.0, 2.0, 3.0]}), tmp_path / "x.parquet")
    found = read_data(tmp_path / "x.parquet", label_column="y").labels.tolist()
    assert found == labels and [type(v) for v in found] == [type(v) for v in labels]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ("true 1 1.0 false null", ["true", "1", "1.0", "false", None]),
        ("true false true", [True, False, True]),
        ("1 1.0 -1.0 2", [1, 1, None, 2]),
        ('1 "1" 2.0', [1, "1", 2.0]),
        ("9007199254740993 9007199254740992 -1", [2**53 + 1, 2**53, None]),
        ('"NA" "a"', ["NA", "a"]),
    ],
)
def test_labels_of_json(cells, labels, tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text("".join(f'{{"x": 1, "y": {cell}}}\n' for cell in cells.split()))
    found = read_data(file, label_column="y").labels.tolist()
    assert found == labels and [type(v) for v in found] == [type(v) for v in labels]


def test_large_labels_of_svmlight(tmp_path):
    file = tmp_path / "x.svm"
    file.write_text("# numbers\n9007199254740993 1:1\n\n9007199254740992 1:2 # one less\n-1 1:1\n")
    assert read_data(file).labels.tolist() == [2**53 + 1, 2**53, None]


def test_a_label_that_only_later_lines_have(tmp_path):
    lines = [{"x": float(i)} for i in range(1500)]
    lines[1200]["y"] = "late"
    file = tmp_path / "x.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    labels = read_data(file, label_column="y").labels
    assert labels[1200] == "late" and sum(v is not None for v in labels) == 1


def test_an_index_that_pandas_wrote_is_no_feature(tmp_path, way):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=[7, 9])
    frame.to_csv(tmp_path / "x.csv")
    data = read_data(tmp_path / "x.csv")
    assert data.feature_names == ["x"] and data.left_out == [""]
    frame.to_parquet(tmp_path / "x.parquet")
    data = read_data(tmp_path / "x.parquet")
    assert data.feature_names == ["x"] and data.left_out == ["__index_level_0__"]


def test_all_kinds_of_numbers_in_parquet(tmp_path):
    from datetime import date
    from decimal import Decimal

    table = {
        "i": pa.array([1, 2], pa.int8()),
        "u": pa.array([2**63, 0], pa.uint64()),
        "d": pa.array([Decimal("1.5"), Decimal("2.25")]),
        "f": pa.array([0.5, 1.0], pa.float32()),
        "c": pa.array([3, 4]).dictionary_encode(),
        "b": pa.array([True, False]),
        "day": pa.array([date(2020, 1, 1)] * 2),
    }
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    data = read_data(tmp_path / "x.parquet")
    assert_array_equal(data.X, [[1, 2**63, 1.5, 0.5, 3], [2, 0, 2.25, 1, 4]])
    assert data.left_out == ["b", "day"]
    assert_array_equal(read_data(tmp_path / "x.parquet", columns=["b"]).X, [[1], [0]])
    with pytest.raises(ValueError, match=r"column 'day' holds date32"):
        read_data(tmp_path / "x.parquet", columns=["day"])


def test_row_groups_of_any_size(tmp_path):
    X = np.random.default_rng(0).normal(size=(1000, 3))
    for size in (1, 7, 1000):
        pl.DataFrame(X, schema=["a", "b", "c"]).write_parquet(
            tmp_path / "x.parquet", row_group_size=size
        )
        assert_array_equal(read_data(tmp_path / "x.parquet").X, X)


def test_semicolons_and_line_ends(tmp_path, way):
    file = tmp_path / "x.csv"
    file.write_bytes("x;größe\r\n1;2\r\n\r\n3;4".encode())
    data = read_data(file)
    assert data.feature_names == ["x", "größe"]
    assert_array_equal(data.X, [[1, 2], [3, 4]])


def test_bytes_that_are_not_read_may_be_anything(tmp_path, way):
    file = tmp_path / "x.csv"
    file.write_bytes(b"x,t\n1,caf\xe9\n2,b\n")
    assert_array_equal(read_data(file).X, [[1], [2]])
    with pytest.raises(ValueError, match=r"line 2: the column 't' is not UTF-8"):
        read_data(file, text_column="t")
