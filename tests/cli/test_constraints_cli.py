"""``linkfield constraints`` as a user runs it."""

import csv
import errno
import json
import os

import numpy as np
import pytest
from click.testing import CliRunner

from linkfield import Constraints, read_constraints, write_constraints
from linkfield.cli import main

PAIRS = """a,b,kind,weight,source,note
ann,bob,must,1,kim,same phone
bob,cid,must,2,kim,
ann,cid,cannot,0.5,lee,"[red]different[/red], towns"
dan,eve,cannot,1,lee,
eve,fay,cannot,1,lee,
dan,fay,cannot,1,kim,
"""
ROWS = "id,text,kind\np1,hello,a\np2,,a\np3,1.5,b\np4,nan,b\np5,x,\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    (tmp_path / "rows.csv").write_text(ROWS)
    return lambda *args: CliRunner().invoke(main, ["constraints", *args])


def table(path):
    with path.open() as stream:
        return list(csv.DictReader(stream))


# ----------------------------------------------------------------------- check


def test_check_explains_in_the_users_own_ids(run):
    result = run("check", "pairs.csv", "--clusters", "2")
    assert result.exit_code == 1
    said = result.stdout
    assert "ann-bob-cid must, ann-cid cannot" in said
    assert "bob  cid  must    weight 2    said by kim" in said
    assert "drop 1 pair, total weight 0.5 (no cheaper way exists)" in said
    assert "2 clusters are impossible: dan, eve and fay are mutually apart" in said
    assert "the rest needs 3 clusters" in said
    assert "linkfield constraints repair pairs.csv" in said
    assert all(len(line) <= 100 for line in said.splitlines())
    assert result.stderr == ""


def test_check_in_json_says_the_same(run):
    result = run("check", "pairs.csv", "-k", "3", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["n_conflicts"] == 1 and not found["fine"]
    assert found["conflicts"][0]["chain"] == ["ann", "bob", "cid"]
    assert found["conflicts"][0]["text"] == "ann-bob-cid must, ann-cid cannot"
    assert found["dropped"] == [
        {"a": "ann", "b": "cid", "kind": "cannot", "weight": 0.5, "source": "lee"}
    ]
    assert found["cost"] == 0.5 and found["proven"]
    assert found["clusters"]["status"] == "feasible" and found["clusters"]["enough"] == 3


def test_exit_codes_tell_fine_from_contradictory_and_impossible(run, tmp_path):
    write_constraints(Constraints(cannot_link=[(0, 1)]), tmp_path / "fine.jsonl")
    for args, code in ((["-k", "2"], 0), ([], 0), (["-k", "1"], 1)):
        quiet = run("check", "fine.jsonl", *args, "--quiet")
        assert (quiet.exit_code, quiet.output) == (code, "")
    assert run("check", "pairs.csv", "-q").exit_code == 1


def test_hard_pairs_that_contradict_each_other(run, tmp_path):
    (tmp_path / "hard.csv").write_text("a,b,kind,weight\n1,2,must,inf\n1,2,cannot,inf\n")
    result = run("check", "hard.csv")
    assert result.exit_code == 1
    assert "hard ones among them" in result.stdout
    assert json.loads(run("check", "hard.csv", "--json").stdout)["cost"] == "inf"


def test_many_contradictions_are_counted_and_some_are_shown(run, tmp_path):
    y = np.repeat([0, 1], 20)
    write_constraints(
        Constraints.from_labels(y, n_pairs=200, noise=0.2, random_state=0), tmp_path / "many.csv"
    )
    said = run("check", "many.csv", "--show", "2").stdout
    assert "more; --show says how many are listed" in said
    total = json.loads(run("check", "many.csv", "--json", "--show", "1").stdout)
    assert len(total["conflicts"]) == 1 < total["n_conflicts"]
    assert len(total["dropped"]) == total["cost"]


def test_ids_are_held_against_the_data(run, tmp_path):
    (tmp_path / "ids.csv").write_text("a,b,kind\np1,p2,must\np2,p4,cannot\n")
    fine = run("check", "ids.csv", "--data", "rows.csv", "--id-column", "id", "-k", "2")
    assert fine.exit_code == 0, fine.output
    (tmp_path / "places.csv").write_text("a,b,kind\n0,4,must\n")
    assert run("check", "places.csv", "--data", "rows.csv").exit_code == 0
    np.save(tmp_path / "five.npy", np.zeros((5, 2)))
    assert run("check", "places.csv", "--data", "five.npy").exit_code == 0


# ---------------------------------------------------------------------- repair


def test_repair_keeps_all_columns_and_the_order(run, tmp_path):
    result = run("repair", "pairs.csv", "--out", "mended.csv", "--dropped", "dropped.csv")
    assert result.exit_code == 0, result.output
    assert "left out 1 pair, total weight 0.5" in result.stdout
    assert "mended.csv: 5 lines kept" in result.stdout
    lines = table(tmp_path / "pairs.csv")
    assert table(tmp_path / "mended.csv") == lines[:2] + lines[3:]
    assert table(tmp_path / "dropped.csv") == [lines[2]]
    assert run("check", "mended.csv", "-q").exit_code == 0


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "csv.gz", "parquet"])
def test_repair_equals_the_librarys_in_every_format(run, tmp_path, ending):
    y = np.repeat([0, 1, 2], 15)
    drawn = Constraints.from_labels(y, n_pairs=150, noise=0.1, random_state=1)
    write_constraints(drawn, tmp_path / f"in.{ending}")
    result = run("repair", f"in.{ending}", "--out", f"out.{ending}", "--dropped", "gone.jsonl")
    assert result.exit_code == 0, result.output
    mended = drawn.repair()
    assert read_constraints(tmp_path / f"out.{ending}") == mended.constraints
    assert read_constraints(tmp_path / "gone.jsonl") == mended.dropped


def test_a_pair_on_several_lines_goes_with_all_of_them(run, tmp_path):
    (tmp_path / "twice.csv").write_text(
        "a,b,kind\n1,2,must\n2,1,must\n1,2,cannot\n2,1,cannot\n1,2,cannot\n3,3,must\n"
    )
    result = run("repair", "twice.csv", "--out", "out.csv", "--merge", "sum", "--json")
    answer = json.loads(result.stdout)
    assert (answer["n_kept"], answer["n_dropped"], answer["cost"]) == (4, 1, 2.0)
    kinds = [line["kind"] for line in table(tmp_path / "out.csv")]
    assert kinds == ["cannot", "cannot", "cannot", "must"]


def test_repair_writes_both_files_or_none(run, tmp_path, monkeypatch):
    before = sorted(p.name for p in tmp_path.iterdir())
    for out in ("no/folder/o.csv", "o.xlsx"):
        result = run("repair", "pairs.csv", "--out", out, "--dropped", "left.csv")
        assert result.exit_code == 2 and out.split("/")[0] in result.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == before
    from linkfield.io import constraint_lines

    write = constraint_lines.write_table

    def fails(columns, file):
        if file.name == "o.csv":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(columns, file)

    monkeypatch.setattr(constraint_lines, "write_table", fails)
    result = run("repair", "pairs.csv", "--out", "o.csv", "--dropped", "left.csv")
    assert result.exit_code == 2 and "disk is full" in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_nothing_to_repair_copies_the_file_and_says_so(run, tmp_path):
    (tmp_path / "fine.csv").write_text("a,b,kind,who\nx,y,must,me\n")
    result = run("repair", "fine.csv", "--out", "copy.csv")
    assert result.exit_code == 0 and "nothing was left out" in result.stdout
    assert (tmp_path / "copy.csv").read_text() == (tmp_path / "fine.csv").read_text()


# ----------------------------------------------------------------------- close


def test_close_writes_the_closure_and_marks_what_is_entailed(run, tmp_path):
    (tmp_path / "in.csv").write_text(
        "a,b,kind,weight,source\na,b,must,3,me\nb,c,must,1,\nc,d,cannot,1,\n"
    )
    result = run("close", "in.csv", "--out", "out.csv")
    assert result.exit_code == 0, result.output
    assert "3 pairs as given, 3 entailed (3 must-links, 3 cannot-links)" in result.stdout
    known = read_constraints(tmp_path / "in.csv")
    lines = table(tmp_path / "out.csv")
    assert len(lines) == known.closure().n_must_link + known.closure().n_cannot_link
    entailed = {(v["a"], v["b"], v["kind"]) for v in lines if v["source"] == "entailed"}
    assert entailed == {("a", "c", "must"), ("a", "d", "cannot"), ("b", "d", "cannot")}
    assert [v["weight"] for v in lines if (v["a"], v["b"]) == ("a", "b")] == ["3.0"]
    again = json.loads(run("close", "out.csv", "--out", "again.csv", "--json").stdout)
    assert again["n_entailed"] == 0


def test_close_refuses_more_than_the_limit_and_says_how_many(run, tmp_path):
    chain = Constraints(must_link=[(i, i + 1) for i in range(99)])
    write_constraints(chain, tmp_path / "chain.csv")
    result = run("close", "chain.csv", "--out", "out.csv", "--limit", "1000")
    assert result.exit_code == 2
    assert "entails 4,950 pairs, more than --limit 1,000" in result.stderr
    assert not (tmp_path / "out.csv").exists()
    assert run("close", "chain.csv", "--out", "out.csv", "--limit", "4950").exit_code == 0


# ---------------------------------------------------------------------- sample


def test_sample_draws_what_the_library_draws(run, tmp_path):
    args = ["--label-column", "kind", "--id-column", "id", "--pairs", "5", "--seed", "3"]
    result = run("sample", "rows.csv", *args, "--noise", "0.5", "--out", "drawn.csv")
    assert result.exit_code == 0, result.output
    ids = ["p1", "p2", "p3", "p4", "p5"]
    labels = ["a", "a", "b", "b", None]
    wanted = Constraints.from_labels(labels, n_pairs=5, noise=0.5, random_state=3, sample_id=ids)
    assert read_constraints(tmp_path / "drawn.csv", sample_id=ids) == wanted
    told = run("sample", "rows.csv", *args, "--out", "clean.csv", "--json")
    assert json.loads(told.stdout)["n_must_link"] <= 2
    for line in table(tmp_path / "clean.csv"):
        same = labels[ids.index(line["a"])] == labels[ids.index(line["b"])]
        assert line["kind"] == ("must" if same else "cannot")


def test_sample_takes_labels_from_svmlight_and_row_numbers(run, tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:0.5\n2 1:0.1\n1 2:3\n")
    result = run("sample", "rows.svm", "--pairs", "3", "--out", "drawn.csv")
    assert result.exit_code == 0, result.output
    assert read_constraints(tmp_path / "drawn.csv") == Constraints([(0, 2)], [(0, 1), (1, 2)])


# -------------------------------------------------------------------- mistakes

CHECK = ["check", "ids.csv", "--data", "rows.csv", "--id-column", "id"]
SAMPLE = ["sample", "rows.csv", "--label-column", "kind", "--pairs", "3", "--out"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["check", "nowhere.csv"], ["no file nowhere.csv"]),
        (["check", "empty.csv"], ["empty.csv is empty", "a, b, kind"]),
        (["check", "rows.csv"], ["lacks the column 'a', 'b'"]),
        (["check", "pairs.doc"], ["ending"]),
        (["check", "folder.csv"], ["folder.csv"]),
        (["check", "bad.csv"], ["bad.csv, line 2", "'must' or 'cannot'"]),
        (CHECK, ["rows that the data does not have: 'zoe'", "--id-column id"]),
        ([*CHECK[:4], "--id-column", "Id"], ["no column 'Id'", "'id'"]),
        (CHECK[:4], ["by ids ('p1', 'zoe', ...)", "--id-column"]),
        (["check", "pairs.csv", "--id-column", "id"], ["--data"]),
        ([*CHECK, "-k", "9"], ["--clusters 9 is more than the 5 rows"]),
        (["check", "far.csv", "--data", "rows.csv"], ["row 7", "5 rows"]),
        (["repair", "pairs.csv", "--out", "nowhere/x.csv"], ["no folder nowhere"]),
        (["repair", "pairs.csv", "--out", "x.doc"], ["ending"]),
        (["repair", "pairs.csv", "--out", "x.csv", "--dropped", "x.csv"], ["same file"]),
        (["close", "pairs.csv", "--out", "x.csv"], ["ann-bob-cid must", "constraints repair"]),
        ([*SAMPLE, "nowhere/x.csv"], ["no folder nowhere"]),
        (["sample", "rows.csv", "--pairs", "3", "--out", "x.csv"], ["--label-column"]),
        (["sample", "rows.csv", "--label-column", "knd", "--pairs", "3", "--out", "x.csv"],
         ["did you mean 'kind'"]),
        (["sample", "rows.csv", "--label-column", "kind", "--pairs", "99", "--out", "x.csv"],
         ["--pairs 99", "6 pairs of the 4 labelled rows"]),
    ],
)  # fmt: skip
def test_mistakes_give_exit_code_2_and_one_line(run, tmp_path, args, words):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "bad.csv").write_text("a,b,kind\n1,2,perhaps\n")
    (tmp_path / "ids.csv").write_text("a,b,kind\np1,zoe,must\n")
    (tmp_path / "far.csv").write_text("a,b,kind\n0,7,must\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_full_disk_leaves_nothing_behind(run, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linkfield.io.tables._write_csv", full)
    for args in (["repair", "pairs.csv", "--out", "x.csv"], [*SAMPLE, "x.csv"]):
        result = run(*args)
        assert result.exit_code == 2
        assert "disk is full" in result.stderr and len(result.stderr.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pairs.csv", "rows.csv"]


def test_help_has_examples(run):
    for args in ([], ["check"], ["repair"], ["close"], ["sample"]):
        result = run(*args, "--help")
        assert result.exit_code == 0 and "Example: linkfield constraints" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["sample", "rows.csv", "--label-column", "kind", "--pairs", "2", "--out", "rows.csv"],
        ["close", "pairs.csv", "--out", "rows.csv"],
        ["repair", "pairs.csv", "--out", "pairs.csv"],
        ["repair", "pairs.csv", "--out", "new.csv", "--dropped", "rows.csv"],
    ],
)
def test_nothing_is_written_over_unasked(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("x,kind\n1,a\n2,a\n3,b\n")
    (tmp_path / "pairs.csv").write_text("a,b,kind\n0,1,must\n1,2,cannot\n")
    before = {p.name: p.read_text() for p in tmp_path.iterdir()}
    result = CliRunner().invoke(main, ["constraints", *words])
    assert result.exit_code == 2 and "--force" in result.stderr
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == before
    assert CliRunner().invoke(main, ["constraints", *words, "--force"]).exit_code == 0
