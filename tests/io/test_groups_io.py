"""Groups in files: what is written is read, what is broken is named, nothing is lost."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linkfield import Groups, read_groups, write_groups
from linkfield.io import tables

N = 8
TEXT = [".csv", ".tsv", ".jsonl", ".ndjson", ".csv.gz", ".jsonl.gz"]
every_ending = pytest.mark.parametrize("ending", [*TEXT, ".parquet"])
law = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
word = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(
    lambda text: text.strip() not in ("", "-1")
)


@st.composite
def drawn(draw, ids=None):
    """Groups with everything: numbers, names, apart pairs."""
    rows = range(N) if ids is None else ids
    n_groups = draw(st.integers(0, 4))
    lists = st.lists(st.sampled_from(rows), min_size=1, max_size=3, unique=True)
    tied = [(g, r) for g in range(n_groups) for r in draw(lists)]
    many = {"min_size": len(tied), "max_size": len(tied)}
    columns = {
        "group": [g for g, _ in tied],
        "row": [r for _, r in tied],
        "confidence": draw(st.lists(st.floats(0, 0.25), **many)),
        "strength": draw(st.lists(st.floats(0, 1e300), **many)),
        "teacher": draw(st.lists(st.none() | word, **many)),
        "label": draw(st.lists(st.none() | word, **many)),
    }
    pairs = st.tuples(*[st.integers(0, max(n_groups - 1, 0))] * 2).filter(lambda p: p[0] != p[1])
    apart = draw(st.lists(pairs, max_size=3)) if n_groups > 1 else []
    chi = draw(st.lists(st.floats(0, 1), min_size=len(apart), max_size=len(apart)))
    table = pa.table(columns)
    return Groups.from_frame(table, apart=apart, apart_certainty=chi, sample_id=ids)


def put(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refused(path, match, error=ValueError, **options):
    with pytest.raises(error, match=match) as caught:
        read_groups(path, **options)
    message = str(caught.value)
    assert "\n" not in message and message.count(path.name) == 1


# -- there and back --------------------------------------------------------------------------------


@every_ending
@law
@given(g=drawn())
def test_everything_comes_back(tmp_path, ending, g):
    path = tmp_path / f"groups{ending}"
    write_groups(g, path)
    assert read_groups(path) == g


@every_ending
@law
@given(data=st.data())
def test_ids_come_back(tmp_path, ending, data):
    ids = data.draw(st.lists(word, min_size=N, max_size=N, unique=True))
    g = data.draw(drawn(ids))
    path = tmp_path / f"groups{ending}"
    write_groups(g, path)
    assert read_groups(path, sample_id=ids) == g
    assert read_groups(path, sample_id=ids[::-1]) == g.align(ids[::-1])


@every_ending
def test_more_than_ten_groups_keep_their_order(tmp_path, ending):
    g = Groups([[k, k + 1] for k in range(0, 60, 2)], apart=[(9, 10), (2, 25)])
    path = tmp_path / f"groups{ending}"
    write_groups(g, path)
    assert read_groups(path) == g


@every_ending
def test_no_groups_come_back_as_none(tmp_path, ending):
    path = tmp_path / f"groups{ending}"
    write_groups(Groups(), path)
    assert read_groups(path) == Groups()


@every_ending
def test_labels_of_different_kinds_can_be_written(tmp_path, ending):
    table = pd.DataFrame({"teacher": ["a", "a"], "row": [0, 1], "label": [1, "x"]})
    path = tmp_path / f"groups{ending}"
    write_groups(Groups.from_teachers(table), path)
    assert [str(v) for v in read_groups(path).label] == ["1", "x"]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_numbers_stay_numbers_as_labels(tmp_path, ending):
    g = Groups.from_labels([0, 1, 0])
    path = tmp_path / f"groups{ending}"
    write_groups(g, path)
    assert read_groups(path) == g


def test_what_a_csv_file_looks_like(tmp_path):
    path = tmp_path / "groups.csv"
    write_groups(Groups([[0, 1], [5]], apart=[(0, 1)], apart_certainty=0.75), path)
    assert path.read_text() == (
        "group,row,apart,confidence,strength\n0,0,,0.5,1.0\n0,1,,0.5,1.0\n1,5,,0.5,1.0\n0,,1,0.75,\n"
    )


def test_what_a_json_file_looks_like(tmp_path):
    path = tmp_path / "groups.jsonl"
    write_groups(Groups([["ä"], ["b"]], apart=[(0, 1)]), path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"group": 0, "row": "ä", "confidence": 0.5, "strength": 1.0},
        {"group": 1, "row": "b", "confidence": 0.5, "strength": 1.0},
        {"group": 0, "apart": 1, "confidence": 1.0},
    ]


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_table_of_answers_is_read_as_such(tmp_path, ending):
    frame = pd.DataFrame(
        {
            "teacher": ["ann", "bob", "ann", "ann"],
            "row": [0, 1, 2, 3],
            "label": ["x", "x", "y", None],
            "confidence": [0.5, 0.6, 0.7, 0.8],
        }
    )
    path = tmp_path / f"answers{ending}"
    if ending == ".csv":
        frame.to_csv(path, index=False)
    elif ending == ".jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_parquet(path)
    assert read_groups(path, apart=0.9) == Groups.from_teachers(frame, apart=0.9)


def test_names_of_groups_and_blanks(tmp_path):
    text = "row, group ,note,apart\n3,y,hm,\n\n4,x,,\n,x,,y\n"
    g = read_groups(put(tmp_path, "groups.csv", text))
    assert g == Groups([[4], [3]], apart=[(0, 1)])


def test_rows_are_text_where_ids_are_text(tmp_path):
    path = put(tmp_path, "groups.csv", "group,row\n0,3\n0,12\n")
    assert read_groups(path).row.tolist() == [3, 12]
    assert read_groups(path, sample_id=["12", "3"]).row.tolist() == [0, 1]
    assert read_groups(path, sample_id=[12, 3]).row.tolist() == [0, 1]


def test_crowded_rows_can_share(tmp_path):
    path = put(tmp_path, "groups.csv", "group,row\n0,3\n1,3\n2,3\n")
    refused(path, r": the confidences of row 3 in its 3 groups add up to 1\.5")
    assert read_groups(path, overlap="share").confidence.tolist() == [0.25] * 3


# -- broken files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            "group,rwo\n0,1\n",
            r"line 1: the header lacks the column 'row'; it needs group, row \(or",
        ),
        ("group,row,row\n0,1,1\n", r"line 1: the header has the column 'row' twice"),
        ("group,row\n0\n", r"line 2: 1 values where the header has 2 columns"),
        ("group,row\n0,1\n,2\n", r"line 3: group is empty; give its number or name"),
        ("group,row\n0,1\n0,\n", r"line 3: row is empty; give a row position or an id"),
        ("group,row,confidence\n0,1,1.5\n", r"line 2: confidence must be a number from 0 to 1"),
        ("group,row,confidence\n0,1,\n", r"line 2: confidence must be a number .*found ''"),
        ("group,row,confidence\n0,1,nan\n", r"line 2: confidence must be a number from 0 to 1"),
        ("group,row,strength\n0,1,-1\n", r"line 2: strength must be a finite number >= 0"),
        ("group,row,strength\n0,1,inf\n", r"line 2: strength must be a finite number >= 0"),
        ("group,row,apart\n0,1,1\n", r"line 2: has both a row and a group that is apart"),
        ("group,row,apart\n0,1,\n0,,7\n", r": apart names groups that have no rows: 7"),
        ("group,row,apart\n0,1,\n0,,0\n", r": apart puts group 0 apart from itself"),
        ("group,row\n0,1\n0,1\n", r": row 1 of group 0 is there twice"),
        ("teacher,row,label\n,1,x\n", r"line 2: teacher is empty"),
        ("", r"is empty; it needs the columns group, row \(or"),
    ],
)
def test_broken_csv_is_refused(tmp_path, text, match):
    refused(put(tmp_path, "groups.csv", text), match)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('{"group": 0}', r"line 2: lacks the key 'row'; it needs group, row"),
        ('{"teacher": "a", "row": 2, "label": 0}', r"line 2: lacks the key 'group', which other"),
        ('{"group": 0, "row": 1.5}', r"line 2: row must be a whole number or text; found 1\.5"),
        ('{"group": true, "row": 1}', r"line 2: group must be a whole number or text"),
        ('{"group": 0, "row": 2, "label": []}', r"line 2: label must be text or a number"),
        ('{"group": 0, "row": 2, "confidence": true}', r"line 2: confidence must be a number"),
        ("[0, 1]", r"line 2: a JSON list; write one object a line"),
    ],
)
def test_broken_json_is_refused(tmp_path, line, match):
    refused(put(tmp_path, "groups.jsonl", f'{{"group": 0, "row": 1}}\n{line}\n'), match)


def test_broken_parquet_is_refused(tmp_path):
    path = tmp_path / "groups.parquet"
    pq.write_table(pa.table({"group": [0]}), path)
    refused(path, r"lacks the column 'row'; it needs group, row")
    pq.write_table(pa.table({"group": [0], "row": [1], "confidence": [None]}), path)
    refused(path, r"line 1: confidence must be a number from 0 to 1; found None")


def test_files_and_folders_that_are_not_there(tmp_path):
    refused(tmp_path / "no.csv", r"there is no file", FileNotFoundError)
    refused(tmp_path / "no.parquet", r"there is no file", FileNotFoundError)
    refused(tmp_path / "no.txt", r"cannot tell the format")
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; make it first"):
        write_groups(Groups(), tmp_path / "nowhere" / "groups.csv")


def test_unknown_ids_are_refused_with_the_file(tmp_path):
    path = put(tmp_path, "groups.csv", "group,row\n0,x\n")
    refused(path, r": groups name ids that sample_id does not have: 'x'", sample_id=["y"])


# -- writing safely --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "writer"),
    [(".csv", "_write_csv"), (".jsonl", "_write_json"), (".parquet", "_write_parquet")],
)
def test_a_writer_that_fails_leaves_the_old_file(tmp_path, monkeypatch, ending, writer):
    path = tmp_path / f"groups{ending}"
    write_groups(Groups([[7, 8]]), path)

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, writer, stop)
    with pytest.raises(KeyboardInterrupt):
        write_groups(Groups([[0, 1]]), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert read_groups(path) == Groups([[7, 8]])


def test_ids_that_would_come_back_as_something_else_are_refused(tmp_path):
    mixed = Groups([["x", 1]], sample_id=["x", 1])
    with pytest.raises(ValueError, match=r"some ids are numbers and some text; write a \.jsonl"):
        write_groups(mixed, tmp_path / "groups.csv")
    write_groups(mixed, tmp_path / "groups.jsonl")
    assert read_groups(tmp_path / "groups.jsonl", sample_id=["x", 1]) == mixed
    with pytest.raises(ValueError, match=r"ids must be whole numbers or text; found 1\.5"):
        write_groups(Groups([["x", 1.5]], sample_id=["x", 1.5]), tmp_path / "groups.csv")
