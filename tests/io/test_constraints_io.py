"""Constraints in files: what is written is read, what is broken is named, nothing is lost."""

from __future__ import annotations

import builtins
import gzip
import json
import os
import stat
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkfield import Constraints
from linkfield.io import read_constraints, write_constraints
from linkfield.io import tables as module
from linkfield.io.constraint_lines import read_constraint_lines

INF = float("inf")
N = 8
TEXT = [".csv", ".tsv", ".jsonl", ".ndjson", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".ndjson.gz"]
TABLES = [".csv", ".tsv", ".csv.gz"]
every_ending = pytest.mark.parametrize("ending", [*TEXT, ".parquet"])
law = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

row = st.integers(0, N - 1)
ends = st.tuples(row, row).filter(lambda p: p[0] != p[1])
weight = st.floats(min_value=0, exclude_min=True) | st.sampled_from([1.0, INF, 0.1, 5e-324])
# Lone surrogates are no text that UTF-8 can hold.
word = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(str.strip)
some_ids = st.lists(word, min_size=N, max_size=N, unique=True)


@st.composite
def drawn(draw, ids=None, with_source=True):
    """Constraints with weights and sources, by position or by id."""
    said = draw(st.lists(st.tuples(ends, st.sampled_from(["must", "cannot"]), weight), max_size=8))
    names = range(N) if ids is None else ids
    source = st.none() | word
    frame = pd.DataFrame(
        {
            "a": pd.Series([names[p[0]] for p, _, _ in said], dtype=object),
            "b": pd.Series([names[p[1]] for p, _, _ in said], dtype=object),
            "kind": [kind for _, kind, _ in said],
            "weight": [w for *_, w in said],
        }
    )
    c = Constraints.from_frame(frame, sample_id=ids)
    if not with_source:
        return c
    sources = draw(st.lists(source, min_size=len(c._pairs), max_size=len(c._pairs)))
    return c._with(source=np.array([*sources, None], dtype=object)[:-1])


def same(one, two):
    return one == two and one._source.tolist() == two._source.tolist()


def put(folder, name, text):
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


# -- there and back --------------------------------------------------------------------------------


@every_ending
@law
@given(c=drawn())
def test_positions_weights_and_sources_come_back(tmp_path, ending, c):
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    assert same(read_constraints(path), c)


@every_ending
@law
@given(data=st.data())
def test_ids_weights_and_sources_come_back(tmp_path, ending, data):
    ids = data.draw(some_ids)
    c = data.draw(drawn(ids))
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    assert same(read_constraints(path, sample_id=ids), c)
    # The order of the rows may be another one: ids find their rows.
    assert read_constraints(path, sample_id=ids[::-1]) == c.align(ids[::-1])


@every_ending
@law
@given(data=st.data())
def test_integer_ids_come_back(tmp_path, ending, data):
    number = st.integers(-(2**62), 2**62)
    ids = data.draw(st.lists(number, min_size=N, max_size=N, unique=True))
    c = data.draw(drawn(ids))
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    assert same(read_constraints(path, sample_id=ids), c)


@every_ending
def test_ids_are_found_without_sample_id(tmp_path, ending):
    c = Constraints([("x", "y")], [("y", "007")], cannot_link_weight=INF)
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    assert read_constraints(path) == c


@every_ending
def test_no_constraints_come_back_as_none(tmp_path, ending):
    path = tmp_path / f"pairs{ending}"
    write_constraints(Constraints(), path)
    assert read_constraints(path) == Constraints()


@every_ending
def test_what_labels_entail_is_written_out(tmp_path, ending):
    c = Constraints.from_labels([0, 0, 1, -1]) | Constraints([(3, 4)])
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    back = read_constraints(path)
    assert sorted(back.pairs().tolist()) == sorted(c.pairs().tolist())
    assert sorted(back._source.tolist(), key=str) == [None, "labels", "labels", "labels"]


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson.gz"])
def test_json_keeps_numbers_and_text_apart(tmp_path, ending):
    ids = [1, "1", "x", -5]
    c = Constraints([(1, "1")], [("x", -5)], sample_id=ids)
    path = tmp_path / f"pairs{ending}"
    write_constraints(c, path)
    assert read_constraints(path, sample_id=ids) == c


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_pairs_given_twice_merge_as_asked(tmp_path, ending):
    path = tmp_path / f"pairs{ending}"
    columns = {
        "a": [0, 1, 0],
        "b": [1, 0, 1],
        "kind": ["must"] * 3,
        "weight": [2.0, 3.0, 1.0],
        "source": ["ann", "bob", "ann"],
    }
    frame = pd.DataFrame(columns)
    if ending == ".csv":
        frame.to_csv(path, index=False)
    elif ending == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    for merge, expected in (("max", 3.0), ("sum", 6.0)):
        c = read_constraints(path, merge=merge)
        assert c == Constraints([(0, 1)], must_link_weight=expected)
        assert c._source.tolist() == ["ann;bob"]


@pytest.mark.parametrize("ending", TEXT)
def test_equal_constraints_give_equal_bytes(tmp_path, ending):
    paths = [tmp_path / f"{name}{ending}" for name in ("one", "two")]
    for path in paths:
        write_constraints(Constraints([(0, 1)], [(1, 2)]), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_what_a_csv_file_looks_like(tmp_path):
    path = tmp_path / "pairs.csv"
    write_constraints(Constraints([(1, 0)], [(1, 2)], cannot_link_weight=INF), path)
    assert path.read_text() == "a,b,kind,weight\n0,1,must,1.0\n1,2,cannot,inf\n"


def test_what_a_json_file_looks_like(tmp_path):
    path = tmp_path / "pairs.jsonl"
    write_constraints(Constraints([("ä", "b")], must_link_weight=INF), path)
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert line == '{"a": "ä", "b": "b", "kind": "must", "weight": "inf"}'


def test_a_parquet_file_is_any_tool_s_table(tmp_path):
    path = tmp_path / "pairs.parquet"
    write_constraints(Constraints([(0, 1)], [(1, 2)]), path)
    assert Constraints.from_frame(pd.read_parquet(path)) == Constraints([(0, 1)], [(1, 2)])
    pd.DataFrame({"a": [5], "b": [6], "kind": ["must"], "weight": [INF]}).to_parquet(path)
    assert read_constraints(path) == Constraints([(5, 6)], must_link_weight=INF)


def test_paths_may_be_text(tmp_path):
    path = str(tmp_path / "pairs.CSV")
    write_constraints(Constraints([(0, 1)]), path)
    assert read_constraints(path) == Constraints([(0, 1)])


# -- reading text ----------------------------------------------------------------------------------


def read_csv(folder, text, **options):
    return read_constraints(put(folder, "pairs.csv", text), **options)


def test_whole_numbers_are_positions(tmp_path):
    c = read_csv(tmp_path, "a,b,kind\n3,12,must\n 12, 0,cannot\n")
    assert c == Constraints([(3, 12)], [(12, 0)]) and c.sample_id is None


@pytest.mark.parametrize("other", ["x", "007", "+7", "7.0", "1e3", "٣", "9" * 5000])
def test_one_value_that_is_no_whole_number_makes_all_of_them_text(tmp_path, other):
    c = read_csv(tmp_path, f"a,b,kind\n3,12,must\n12,{other},cannot\n")
    assert c == Constraints([("3", "12")], [("12", other)])


def test_numbers_stay_text_where_ids_are_text(tmp_path):
    c = read_csv(tmp_path, "a,b,kind\n3,12,must\n", sample_id=["12", "3"])
    assert c == Constraints([("3", "12")], sample_id=["12", "3"])


def test_numbers_are_ids_where_ids_are_numbers(tmp_path):
    c = read_csv(tmp_path, "a,b,kind\n30,10,must\n", sample_id=np.array([10, 20, 30]))
    assert c.pairs().tolist() == [(0, 2, "must", 1.0)]


def test_columns_in_any_order_others_ignored_blank_lines_skipped(tmp_path):
    text = "note, kind ,b,a,weight\r\n\r\nhm,Must-Link,1,0,2\r\n\r\n,cannot,2,1, inf \r\n"
    assert read_csv(tmp_path, text) == Constraints(
        [(0, 1)], [(1, 2)], must_link_weight=2.0, cannot_link_weight=INF
    )


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    assert read_csv(tmp_path, "\ufeffa,b,kind\n0,1,must\n") == Constraints([(0, 1)])
    line = '\ufeff{"a": 0, "b": 1, "kind": "must"}'
    assert read_constraints(put(tmp_path, "pairs.jsonl", line)) == Constraints([(0, 1)])


def test_quotes_hold_commas_quotes_and_line_ends(tmp_path):
    c = read_csv(tmp_path, 'a,b,kind\n"x,1","y ""z""\nw",must\n')
    assert c == Constraints([("x,1", 'y "z"\nw')])


def test_json_lines_may_leave_weight_and_source_out(tmp_path):
    lines = [
        '{"a": 0, "b": 1, "kind": "must", "more": []}',
        "",
        '{"kind": "cannot", "a": 2, "b": 1, "weight": 3}',
    ]
    c = read_constraints(put(tmp_path, "pairs.jsonl", "\n".join(lines)))
    assert c == Constraints([(0, 1)], [(1, 2)], cannot_link_weight=3.0)


def test_json_knows_infinity_as_text_and_as_python_writes_it(tmp_path):
    for value in ('"inf"', "Infinity"):
        text = f'{{"a": 0, "b": 1, "kind": "must", "weight": {value}}}'
        c = read_constraints(put(tmp_path, "pairs.jsonl", text))
        assert c == Constraints([(0, 1)], must_link_weight=INF)


def test_text_needs_no_frame_library(tmp_path, monkeypatch):
    for name in ("pandas", "polars", "pyarrow", "narwhals"):
        monkeypatch.setitem(sys.modules, name, None)
    for ending in TEXT:
        path = tmp_path / f"pairs{ending}"
        write_constraints(Constraints([("x", "y")]), path)
        assert read_constraints(path) == Constraints([("x", "y")])


# -- broken files ----------------------------------------------------------------------------------


def refused(path, match, error=ValueError, **options):
    with pytest.raises(error, match=match) as caught:
        read_constraints(path, **options)
    message = str(caught.value)
    assert "\n" not in message and path.name in message


@pytest.mark.parametrize("name", ["pairs.txt", "pairs", "pairs.gz", "pairs.parquet.gz", ".csv"])
def test_an_unknown_ending_is_refused(tmp_path, name):
    refused(
        put(tmp_path, name, "a,b,kind\n"), r"cannot tell the format .*use \.csv, \.tsv, \.jsonl"
    )
    with pytest.raises(ValueError, match=r"cannot tell the format"):
        write_constraints(Constraints(), tmp_path / name)


@every_ending
def test_a_file_that_is_not_there(tmp_path, ending):
    refused(tmp_path / f"no{ending}", r"there is no file .*; check the path", FileNotFoundError)


@pytest.mark.parametrize("ending", [*TEXT, ".parquet"])
def test_an_empty_file_is_refused(tmp_path, ending):
    path = tmp_path / f"pairs{ending}"
    for data in {b"", gzip.compress(b"") if ending.endswith(".gz") else b""}:
        path.write_bytes(data)
        refused(path, r"is empty; it needs the columns a, b, kind")


def test_a_file_of_blank_lines_has_no_header(tmp_path):
    refused(put(tmp_path, "pairs.csv", "\n\n"), r"is empty; it needs the columns a, b, kind")


@pytest.mark.parametrize("ending", TABLES)
def test_a_missing_column_is_refused(tmp_path, ending):
    tab = "\t" if "tsv" in ending else ","
    path = put(tmp_path, f"pairs{ending}", tab.join(["a", "c", "weight"]) + "\n")
    refused(path, r", line 1: the header lacks the column 'b', 'kind'; .*it has 'a', 'c', 'weight'")


def test_a_missing_key_is_refused(tmp_path):
    text = '{"a": 0, "b": 1, "kind": "must"}\n{"a": 0, "kind": "must"}\n'
    refused(put(tmp_path, "pairs.jsonl", text), r", line 2: lacks the key 'b'; it needs a, b, kind")


def test_a_missing_column_of_parquet_is_refused(tmp_path):
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"a": [0], "b": [1]}), path)
    refused(path, r"lacks the column 'kind'; it needs a, b, kind")


def test_a_column_twice_is_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", "a,b,kind,a\n0,1,must,2\n")
    refused(path, r", line 1: the header has the column 'a' twice; rename one")


def test_a_bad_kind_is_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", "a,b,kind\n0,1,must\n\n1,2,perhaps\n")
    refused(path, r", line 4: kind must be 'must' or 'cannot'; found 'perhaps'")
    path = put(tmp_path, "pairs.jsonl", '{"a": 0, "b": 1, "kind": null}')
    refused(path, r", line 1: kind must be 'must' or 'cannot'; found None")


def test_a_bad_kind_of_parquet_is_refused(tmp_path):
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"a": [0], "b": [1], "kind": ["hm"]}), path)
    refused(path, r"kind must be 'must' or 'cannot'; found 'hm'")


@pytest.mark.parametrize("value", ["much", "", "0", "-1", "nan", "-inf", "1,5"])
def test_a_bad_weight_is_refused(tmp_path, value):
    path = put(tmp_path, "pairs.csv", f'a,b,kind,weight\n0,1,must,1\n1,2,must,"{value}"\n')
    refused(path, rf", line 3: weight must be a positive number or inf; found '{value}'")


@pytest.mark.parametrize("value", ["null", "true", "[1]", "NaN", "0", '"x"', "-2.5"])
def test_a_bad_weight_in_json_is_refused(tmp_path, value):
    text = f'{{"a": 0, "b": 1, "kind": "must", "weight": {value}}}'
    path = put(tmp_path, "pairs.jsonl", text)
    refused(path, r", line 1: weight must be a positive number or inf; found")


def test_a_weight_beyond_all_numbers_is_refused(tmp_path):
    text = f'{{"a": 0, "b": 1, "kind": "must", "weight": {"9" * 400}}}'
    refused(put(tmp_path, "pairs.jsonl", text), r", line 1: weight must be a positive number")


@pytest.mark.parametrize("line", ['{"a": 0,', "a,b,kind", "{'a': 0}", '{"a": ' + "9" * 5000 + "}"])
def test_a_broken_json_line_is_refused(tmp_path, line):
    text = f'{{"a": 0, "b": 1, "kind": "must"}}\n{line}\n'
    refused(
        put(tmp_path, "pairs.jsonl", text), r", line 2: not JSON \(.*\); write one object a line"
    )


@pytest.mark.parametrize("line", ["[0, 1]", "3", "null", '"x"'])
def test_a_json_line_that_is_no_object_is_refused(tmp_path, line):
    refused(put(tmp_path, "pairs.jsonl", line), r", line 1: a JSON \w+; write one object a line")


@pytest.mark.parametrize("line", ["0,1", "0,1,must,1,2", "0"])
def test_a_ragged_line_is_refused(tmp_path, line):
    n = line.count(",") + 1
    path = put(tmp_path, "pairs.csv", f"a,b,kind,weight\n0,1,must,1\n{line}\n")
    refused(path, rf", line 3: {n} values where the header has 4 columns; put text")


@pytest.mark.parametrize("line", [",1,must", "0,  ,must"])
def test_an_empty_end_is_refused(tmp_path, line):
    path = put(tmp_path, "pairs.csv", f"a,b,kind\n0,1,must\n{line}\n")
    refused(path, r", line 3: [ab] is empty; give a row position or an id")


@pytest.mark.parametrize("value", ["1.5", "null", "true", "[1]"])
def test_an_end_that_is_neither_number_nor_text_is_refused(tmp_path, value):
    path = put(tmp_path, "pairs.jsonl", f'{{"a": 0, "b": {value}, "kind": "must"}}')
    refused(path, r", line 1: b must be a whole number or text; found")


def test_a_source_that_is_a_list_is_refused(tmp_path):
    text = '{"a": 0, "b": 1, "kind": "must", "source": ["x"]}'
    refused(put(tmp_path, "pairs.jsonl", text), r", line 1: source must be text or a number")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_bad_pairs_are_refused_with_the_name_of_the_file(tmp_path, ending):
    path = tmp_path / f"pairs{ending}"
    pair = {"a": [-3], "b": [1], "kind": ["must"]}
    if ending == ".parquet":
        pq.write_table(pa.table(pair), path)
    elif ending == ".csv":
        path.write_text("a,b,kind\n-3,1,must\n")
    else:
        path.write_text(json.dumps({k: v[0] for k, v in pair.items()}))
    refused(path, r": must_link has a negative row position in the pair \(-3, 1\)")
    refused(path, r": constraints name ids that sample_id does not have: -3", sample_id=[1, 2])
    refused(path, r": merge must be 'max' or 'sum', got 'min'", merge="min", sample_id=[-3, 1])


def test_a_cannot_link_with_itself_is_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", "a,b,kind\n3,3,cannot\n")
    refused(path, r": cannot_link holds the row 3 with itself")


def test_ids_that_are_not_distinct_are_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", "a,b,kind\n")
    with pytest.raises(ValueError, match=r"sample_id must name every row once; 'x' occurs"):
        read_constraints(path, sample_id=["x", "x"])


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", "a,b,kind\nä,b,must\n".encode("latin-1"))
    refused(path, r"is not UTF-8 text \(.*\); save it as UTF-8")


def test_a_field_without_end_is_refused(tmp_path):
    path = put(tmp_path, "pairs.csv", 'a,b,kind\n"' + "x" * 200_000)
    refused(path, r", line 2: unexpected end of data; check the quotes")


@pytest.mark.parametrize("keep", [5, -12])
def test_half_a_gzip_file_is_refused(tmp_path, keep):
    whole = gzip.compress(b"a,b,kind\n" + b"".join(b"%d,0,must\n" % k for k in range(1, 200)))
    path = tmp_path / "pairs.csv.gz"
    path.write_bytes(whole[:keep])
    refused(path, r"is not a whole gzip file")


def test_a_file_that_is_only_called_gzip_is_refused(tmp_path):
    path = tmp_path / "pairs.csv.gz"
    path.write_text("a,b,kind\n")
    refused(path, r"is not a whole gzip file \(Not a gzipped file")


def test_a_file_that_is_only_called_parquet_is_refused(tmp_path):
    refused(put(tmp_path, "pairs.parquet", "a,b,kind\n0,1,must\n"), r"is not a Parquet file")


# -- writing safely --------------------------------------------------------------------------------


def failing_after(monkeypatch, n_bytes):
    """Let the disk be full after some bytes."""
    original = module._packing

    def full(raw, packed):
        write = raw.write

        class Full:
            def __getattr__(self, name):
                return getattr(raw, name)

            def write(self, data):
                write(bytes(data)[:n_bytes])
                raise OSError("no space left")

        return original(Full(), packed)

    monkeypatch.setattr(module, "_packing", full)


@pytest.mark.parametrize("old", [None, "a,b,kind\n7,8,must\n"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".csv.gz"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, ending, old):
    path = tmp_path / f"pairs{ending}"
    if old:
        path.write_text(old)
    failing_after(monkeypatch, 10)
    with pytest.raises(OSError, match="no space left"):
        write_constraints(Constraints([(0, 1)] * 5, [(1, 2)]), path)
    assert [p.name for p in tmp_path.iterdir()] == ([path.name] if old else [])
    assert not old or path.read_text() == old


@pytest.mark.parametrize("writer", ["_write_csv", "_write_json", "_write_parquet"])
def test_a_writer_that_fails_leaves_the_old_file(tmp_path, monkeypatch, writer):
    path = tmp_path / f"pairs.{ {'csv': 'csv', 'json': 'jsonl'}.get(writer[7:], 'parquet') }"
    write_constraints(Constraints([(7, 8)]), path)

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, writer, fail)
    with pytest.raises(KeyboardInterrupt):
        write_constraints(Constraints([(0, 1)]), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert read_constraints(path) == Constraints([(7, 8)])


def test_an_id_that_utf_8_cannot_hold_leaves_the_old_file(tmp_path):
    path = put(tmp_path, "pairs.csv", "old")
    with pytest.raises(ValueError, match="surrogates not allowed"):
        write_constraints(Constraints([("\ud800", "x")]), path)
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_a_new_file_replaces_the_old_one_whole(tmp_path):
    path = tmp_path / "pairs.csv"
    write_constraints(Constraints([(i, i + 1) for i in range(100)]), path)
    write_constraints(Constraints([(0, 1)]), path)
    assert read_constraints(path) == Constraints([(0, 1)])
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.name != "posix", reason="file modes and links")
def test_modes_and_links_are_kept(tmp_path):
    path, link = tmp_path / "pairs.csv", tmp_path / "link.csv"
    write_constraints(Constraints([(0, 1)]), path)
    path.chmod(0o640)
    link.symlink_to(path)
    write_constraints(Constraints([(1, 2)]), link)
    assert link.is_symlink() and read_constraints(path) == Constraints([(1, 2)])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; make it first"):
        write_constraints(Constraints(), tmp_path / "nowhere" / "pairs.csv")


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("other", [1.5, None, b"x", True])
def test_ids_that_would_come_back_as_something_else_are_refused(tmp_path, ending, other):
    c = Constraints([("x", other)], sample_id=["x", other])
    with pytest.raises(ValueError, match=r"ids must be whole numbers or text; found"):
        write_constraints(c, tmp_path / f"pairs{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_numbers_and_text_do_not_go_into_one_column(tmp_path, ending):
    c = Constraints([(1, "x")], sample_id=[1, "x"])
    with pytest.raises(ValueError, match=r"some ids are numbers and some text; write a \.jsonl"):
        write_constraints(c, tmp_path / f"pairs{ending}")


@pytest.mark.parametrize("blank", ["", " "])
def test_blank_ids_are_refused(tmp_path, blank):
    with pytest.raises(ValueError, match=r"an id is empty or blank"):
        write_constraints(Constraints([("x", blank)]), tmp_path / "pairs.csv")


def test_too_many_entailed_pairs_are_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"the labels entail 7,998,000 pairs"):
        write_constraints(Constraints.from_labels(np.zeros(4000, int)), tmp_path / "pairs.csv")
    assert list(tmp_path.iterdir()) == []


def test_parquet_without_pyarrow_names_the_remedy(tmp_path, monkeypatch):
    path = tmp_path / "pairs.parquet"
    write_constraints(Constraints([(0, 1)]), path)
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "pyarrow":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for action in (lambda: read_constraints(path), lambda: write_constraints(Constraints(), path)):
        with pytest.raises(ImportError, match=r"need pyarrow: pip install 'linkfield\[io\]'"):
            action()
    monkeypatch.undo()
    assert read_constraints(path) == Constraints([(0, 1)])


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "jsonl"])
def test_lines_with_and_without_weights_are_read_back(ending, tmp_path):
    pairs = [
        {"a": 0, "b": 1, "kind": "must"},
        {"a": 1, "b": 2, "kind": "cannot", "weight": 2.5},
        {"a": 2, "b": 3, "kind": "must", "weight": "inf"},
    ]
    file = tmp_path / "given.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in pairs))
    lines = read_constraint_lines(file)
    out = tmp_path / f"out.{ending}"
    lines.write(np.ones(3, dtype=bool), out)
    assert read_constraints(out) == lines.constraints == read_constraints(file)
