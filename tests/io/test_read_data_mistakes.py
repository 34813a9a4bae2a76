"""Every mistake in a file gives one line that names the file, the place and the remedy."""

import gzip
import json
import pickle
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from linkfield.io import _csv_data, read_data


@pytest.fixture(autouse=True, params=["pyarrow", "python"])
def way(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(_csv_data, "find_spec", lambda name: None)


def said(file, error=ValueError, **options):
    """Return the message, which is one line and names the file."""
    with pytest.raises(error) as caught:
        read_data(file, **options)
    message = str(caught.value)
    assert "\n" not in message and file.name in message
    return message


def put(tmp_path, name, content):
    file = tmp_path / name
    if isinstance(content, str):
        content = content.encode()
    file.write_bytes(content)
    return file


ENDINGS = ["csv", "tsv", "jsonl", "svm", "parquet", "npy", "npz"]


@pytest.mark.parametrize("ending", [*ENDINGS, "csv.gz"])
def test_there_is_no_file(ending, tmp_path):
    message = said(tmp_path / f"x.{ending}", FileNotFoundError)
    assert "there is no file" in message and "check the path" in message


def test_a_folder(tmp_path):
    (tmp_path / "x.csv").mkdir()
    assert "is a folder" in said(tmp_path / "x.csv", IsADirectoryError)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_file(ending, tmp_path):
    assert "is empty" in said(put(tmp_path, f"x.{ending}", ""))


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "svm"])
def test_blank_lines_only(ending, tmp_path):
    message = said(put(tmp_path, f"x.{ending}", "\n\n\n"))
    assert "is empty" in message or "has no rows" in message


def test_a_header_only(tmp_path):
    assert "has a header but no rows" in said(put(tmp_path, "x.csv", "x,y\n"))
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "x.parquet")
    assert "has no rows" in said(tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", np.empty((0, 3)))
    assert "has no rows" in said(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.parquet.gz", "x.npy.gz", "x.json", "x.h5ad"])
def test_endings_that_mean_nothing(name, tmp_path):
    assert "cannot tell the format" in said(put(tmp_path, name, "x\n1\n"))


def test_something_other_than_the_ending_says(tmp_path):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "x.parquet")
    np.save(tmp_path / "x.npy", np.ones((2, 2)))
    np.savez(tmp_path / "x.npz", np.ones((2, 2)))
    contents = {
        "name it .parquet": (tmp_path / "x.parquet").read_bytes(),
        "name it .npy": (tmp_path / "x.npy").read_bytes(),
        "name arrays .npz": (tmp_path / "x.npz").read_bytes(),
        "add .gz": gzip.compress(b"x\n1\n"),
        "save it as UTF-8": "x\n1\n".encode("utf-16"),
        "could run code": pickle.dumps([1], protocol=4),
    }
    for remedy, content in contents.items():
        assert remedy in said(put(tmp_path, "y.csv", content))
    for ending in ("parquet", "npy", "npz"):
        said(put(tmp_path, f"y.{ending}", "x,y\n1,2\n"))
    assert "binary data" in said(put(tmp_path, "y.csv", bytes(range(256)) * 4))
    for ending in ("csv.gz", "jsonl.gz", "svm.gz"):
        assert "not a whole gzip file" in said(put(tmp_path, f"y.{ending}", "x,y\n1,2\n"))


@pytest.mark.parametrize("ending", ["csv.gz", "tsv.gz", "jsonl.gz", "svm.gz"])
def test_cut_off_gzip(ending, tmp_path):
    text = "x\n" + "1\n" * 5000 if ending[0] in "ct" else "1 1:2\n" * 5000
    text = '{"x": 1}\n' * 5000 if ending[0] == "j" else text
    file = put(tmp_path, f"x.{ending}", gzip.compress(text.encode())[:-20])
    assert "not a whole gzip file" in said(file)


@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_cut_off_arrays_and_tables(keep, tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3))
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    pq.write_table(pa.table({"x": X[:, 0]}), tmp_path / "x.parquet")
    for name in ("x.npy", "x.npz", "s.npz", "x.parquet"):
        content = (tmp_path / name).read_bytes()
        assert "write it again" in said(put(tmp_path, name, content[: int(keep * len(content))]))


def test_damaged_in_the_middle(tmp_path):
    X = np.random.default_rng(0).normal(size=(500, 3))
    np.savez(tmp_path / "x.npz", X)
    pq.write_table(pa.table({"x": X[:, 0]}), tmp_path / "x.parquet", write_page_checksum=True)
    for name in ("x.npz", "x.parquet"):
        content = bytearray((tmp_path / name).read_bytes())
        content[60:160] = b"\xff" * 100
        assert "write it again" in said(put(tmp_path, name, bytes(content)))


def test_pickled_objects_are_refused(tmp_path):
    array = np.array([{"a": 1}, None], dtype=object)
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    assert "Python objects" in said(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", X=array)
    assert "Python objects" in said(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", X=np.ones((2, 2)), labels=array)
    assert "Python objects" in said(tmp_path / "y.npz")


# ------------------------------------------------------------------ columns


def test_unknown_columns_name_the_nearest(tmp_path):
    file = put(tmp_path, "x.csv", "length,width,Name\n1,2,a\n")
    for options in (
        {"columns": ["lenght"]},
        {"exclude": ["lenght"]},
        {"id_column": "lenght"},
        {"label_column": "lenght"},
        {"text_column": "lenght"},
        {"embedding_column": "lenght"},
    ):
        message = said(file, **options)
        assert "no column 'lenght'; did you mean 'length'?" in message
        assert "It has 'length', 'width', 'Name'" in message
    assert "did you mean 'Name'" in said(file, id_column="name")
    assert "did you mean" not in said(file, columns=["zzz"])
    assert "no column 7" in said(file, columns=[7])
    json_file = put(tmp_path, "x.jsonl", '{"length": 1}\n')
    assert "did you mean 'length'" in said(json_file, columns=["lenght"])
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    assert "no column '5'" in said(tmp_path / "x.npy", columns=[5])


def test_no_column_of_numbers(tmp_path):
    file = put(tmp_path, "x.csv", "name,text\na,b\n")
    assert "no column of numbers" in said(file) and "text column" in said(file)
    assert "no columns are left" in said(file, columns=["name"], exclude=["name"])


def test_parts_that_exclude_each_other(tmp_path):
    file = put(tmp_path, "x.csv", "x,y\n1,2\n")
    assert "cannot be among columns" in said(file, columns=["x", "y"], label_column="y")
    with pytest.raises(ValueError, match="columns or embedding_column"):
        read_data(file, columns=["x"], embedding_column="y")
    with pytest.raises(ValueError, match="dtype must be"):
        read_data(file, dtype=int)
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    assert "no text" in said(tmp_path / "x.npy", text_column="0")


def test_a_column_twice(tmp_path):
    file = put(tmp_path, "x.csv", "x,y,x\n1,2,3\n")
    assert "the column 'x' twice" in said(file)
    assert read_data(file, columns=["y"]).X.tolist() == [[2]]


def test_no_header(tmp_path):
    assert "header line" in said(put(tmp_path, "x.csv", "1.5,2\n3,4\n"))
    numbered = put(tmp_path, "y.csv", "0,1\n3,4\n")
    assert read_data(numbered).feature_names == ["0", "1"]


# -------------------------------------------------------------------- cells


def test_text_where_numbers_are_needed(tmp_path):
    file = put(tmp_path, "x.csv", "x,y\n1,2\n\n3,oops\n4,5\n")
    message = said(file)
    assert "line 4: column 'y' needs numbers; found 'oops'" in message and "exclude" in message
    text = put(tmp_path, "t.csv", "x,y\n1,a\n2,b\n")
    assert read_data(text).left_out == ["y"]
    assert "line 2: column 'y' needs numbers; found 'a'" in said(text, columns=["x", "y"])
    lines = put(tmp_path, "x.jsonl", '{"x": 1}\n{"x": "2"}\n{"x": 3}\n')
    assert "line 2: column 'x' needs numbers; found '2'" in said(lines)
    pq.write_table(pa.table({"x": [1.0], "t": ["a"]}), tmp_path / "x.parquet")
    assert "column 't' holds string" in said(tmp_path / "x.parquet", columns=["t"])


def test_decimal_commas(tmp_path):
    file = put(tmp_path, "x.csv", "x;y\n1;2\n3;4,5\n4;5\n")
    assert "line 3: column 'y' needs numbers; found '4,5'; write decimals with a point" in said(
        file
    )


@pytest.mark.parametrize("cell", ["", " ", "NaN", "NA", "null", "?"])
def test_empty_cells(cell, tmp_path):
    rows = "".join(f"1,{cell if i % 3 == 2 else i},2\n" for i in range(9))
    message = said(put(tmp_path, "x.csv", "x,y,z\n" + rows))
    assert "3 empty or NaN cells" in message
    assert "the first in line 4, column 'y'" in message
    assert "fill them in, drop these rows, or exclude the column 'y'" in message


def test_empty_cells_of_several_columns(tmp_path):
    message = said(put(tmp_path, "x.csv", "x,y\n1,2\n1,\n,\n"))
    assert "3 empty or NaN cells where numbers are needed in 2 columns" in message
    assert "line 3, column 'y'" in message and "the columns 'x', 'y'" in message


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_in_every_format(bad, tmp_path):
    X = np.ones((6, 3))
    X[4, 1] = X[5, 1] = bad
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    pq.write_table(pa.table(dict(zip("abc", X.T, strict=True))), tmp_path / "x.parquet")
    put(tmp_path, "x.csv", "a,b,c\n" + "".join(",".join(map(str, r)) + "\n" for r in X))
    lines = [json.dumps(dict(zip("abc", r, strict=True))) for r in X.tolist()]
    put(tmp_path, "x.jsonl", "\n".join(lines))
    put(tmp_path, "x.svm", "".join(f"0 0:{a} 1:{b} 2:{c}\n" for a, b, c in X))
    what = "2 empty or NaN cells" if np.isnan(bad) else "2 infinite numbers"
    for name in ("x.npy", "x.npz", "s.npz", "x.parquet", "x.csv", "x.jsonl", "x.svm"):
        message = said(tmp_path / name)
        assert what in message
        place, column = "row 4", "'b'" if name == "x.parquet" else "'1'"
        if name in ("x.csv", "x.jsonl"):
            place, column = ("line 6" if name == "x.csv" else "line 5"), "'b'"
        assert f"the first in {place}, column {column}" in message


def test_too_large_for_float32(tmp_path):
    file = put(tmp_path, "x.csv", "x\n1\n1e300\n")
    assert "infinite number" in said(file, dtype=np.float32)
    assert read_data(file).X.max() == 1e300


def test_numbers_too_large_for_json(tmp_path):
    file = put(tmp_path, "x.jsonl", '{"x": 1}\n{"x": 1' + "0" * 400 + "}\n")
    assert "1 infinite number where numbers are needed, the first in line 2" in said(file)


# ------------------------------------------------------- ids, lines, vectors


def test_ids(tmp_path):
    file = put(tmp_path, "x.csv", "i,x\na,1\nb,2\na,3\n")
    assert "the id 'a' occurs more than once (rows 0 and 2" in said(file, id_column="i")
    file = put(tmp_path, "x.csv", "i,x\na,1\n ,2\nc,3\n")
    assert "the id of row 1 (counting from 0) is empty" in said(file, id_column="i")
    file = put(tmp_path, "x.jsonl", '{"i": 1.5, "x": 1}\n')
    assert "ids must be whole numbers or text; found 1.5" in said(file, id_column="i")
    file = put(tmp_path, "x.jsonl", '{"i": [1], "x": 1}\n')
    assert "ids must be whole numbers or text" in said(file, id_column="i")
    file = put(tmp_path, "x.jsonl", '{"i": 1, "x": 1}\n{"x": 2}\n')
    assert "row 1" in said(file, id_column="i")
    np.savez(tmp_path / "x.npz", X=np.ones((2, 2)), sample_id=["a", "a"])
    assert "the id 'a' occurs more than once" in said(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("1,2,3", "3 values where the header has 2 columns"),
        ("1", "1 values where the header has 2 columns"),
        ('1,"a"b', "check the quotes"),
    ],
)
def test_ragged_lines(line, what, tmp_path):
    file = put(tmp_path, "x.csv", f"x,y\n1,2\n{line}\n1,2\n")
    assert f"line 3: {what}" in said(file).replace("',' expected after '\"'; ", "")


def test_not_utf8(tmp_path):
    file = put(tmp_path, "x.csv", b"gr\xf6\xdfe,x\n1,2\n")
    assert "line 1: the header is not UTF-8 text; save the file as UTF-8" in said(file)
    file = put(tmp_path, "y.csv", b"i,x\na,1\ncaf\xe9,2\n")
    assert "line 3: the column 'i' is not UTF-8" in said(file, id_column="i")
    assert "not UTF-8" in said(put(tmp_path, "x.jsonl", b'{"a": "\xe9"}\n'))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"x": 1}\n{"x": \n', "line 2: not JSON"),
        ('{"x": 1}\n[1]\n', "line 2: a JSON list; write one object a line"),
        ('{"x": 1}\n' + "[" * 100_000 + "\n", "line 2: not JSON"),
        ('[{"x": 1}, {"x": 2}]\n', "line 1: a JSON list"),
    ],
)
def test_bad_json(text, what, tmp_path):
    assert what in said(put(tmp_path, "x.jsonl", text))


@pytest.mark.parametrize("cell", ['"[1, 2"', '"[1, ""a""]"', "", "abc", "[]", '"[1, null]"'])
def test_bad_vectors(cell, tmp_path):
    file = put(tmp_path, "x.csv", f't,e\na,"[1, 2]"\nb,{cell}\n')
    message = said(file, embedding_column="e")
    if "null" in cell:
        assert "1 empty or NaN cell where" in message and "line 3, column 'e[1]'" in message
        assert message.endswith("fill them in, or drop these rows")  # a part of it has no name
    else:
        assert "line 3, column 'e'" in message and "is no list of numbers" in message


def test_vectors_of_two_lengths(tmp_path):
    file = put(tmp_path, "x.csv", "t,e\na,1 2\nb,1 2 3\n")
    assert "line 3, column 'e': 3 numbers where the rows before have 2" in said(
        file, embedding_column="e"
    )
    pq.write_table(pa.table({"e": [[1.0, 2.0], [1.0]]}), tmp_path / "x.parquet")
    assert "row 1, column 'e': 1 numbers" in said(tmp_path / "x.parquet", embedding_column="e")
    pq.write_table(pa.table({"e": [[1.0, 2.0], None]}), tmp_path / "x.parquet")
    assert "row 1, column 'e': None" in said(tmp_path / "x.parquet", embedding_column="e")
    pq.write_table(pa.table({"e": [[1.0, 2.0], [1.0, None]]}), tmp_path / "x.parquet")
    assert "row 1, column 'e[1]'" in said(tmp_path / "x.parquet", embedding_column="e")


@pytest.mark.parametrize("line", ["x 1:2", "1 1:a", "1 2:1 1:1", "1 1", "1 1:2:3"])
def test_bad_svmlight(line, tmp_path):
    message = said(put(tmp_path, "x.svm", f"1 1:2\n# a comment\n{line}\n"))
    assert "line 3" in message and "label column:value" in message


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("a", 1)], []], type=pa.map_(pa.string(), pa.int64())),
    ],
)
def test_labels_that_are_no_single_values(column, tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0], "k": column}), tmp_path / "x.parquet")
    message = said(tmp_path / "x.parquet", label_column="k")
    assert "column 'k' holds" in message and "where labels are needed" in message


def test_names_of_arrays_that_occur_twice(tmp_path):
    file = tmp_path / "x.npz"
    np.savez(file, X=np.ones((2, 3)), feature_names=["a", "b", "a"])
    assert "the column 'a' twice" in said(file)
    assert read_data(file, columns=["b"]).feature_names == ["b"]


def test_arrays_of_other_shapes(tmp_path):
    for array, what in (
        (np.ones(3), "reshape(-1, 1)"),
        (np.ones((2, 2, 2)), "shape (2, 2, 2)"),
        (np.ones((2, 2), complex), "complex128"),
        (np.array([["a"]]), "where numbers are needed"),
        (np.zeros(2, [("a", float)]), "named fields"),
    ):
        np.save(tmp_path / "x.npy", array)
        assert what in said(tmp_path / "x.npy")
    np.savez(tmp_path / "x.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    assert "call the one with the data X" in said(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", X=np.ones((2, 2)), labels=[1, 2, 3])
    assert "one value a row" in said(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    said(tmp_path / "x.npz")


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    import builtins

    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "x.parquet")
    real = builtins.__import__

    def hidden(name, *args, **kwargs):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", hidden)
    with pytest.raises(ImportError, match=r"pip install 'linkfield\[io\]'"):
        read_data(tmp_path / "x.parquet")
