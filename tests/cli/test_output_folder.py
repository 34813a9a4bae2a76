"""What ``linkfield fit`` may replace, and what not."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli_files import write_iris
from click.testing import CliRunner
from sklearn.datasets import load_iris

from linkfield.cli import _fitting, main

FIT = ["fit", "iris.csv", "--id-column", "flower", "-k", "3", "--metric", "diagonal", "--starts",
       "1"]  # fmt: skip
QUICK = [*FIT, "--no-report"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    return tmp_path


def run(*args, expect=0):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == expect, (result.output, result.exception)
    return result


def record(folder="linkfield-out"):
    return json.loads(Path(folder, "run.json").read_text())


def contents(folder="."):
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.is_file()}


# ------------------------------------------------------------ files of the user's


@pytest.mark.parametrize("name", ["labels.csv", "run.json", "constraints.csv"])
def test_files_of_the_user_with_our_names_are_not_replaced(here, name):
    Path(name).write_text("mine")
    before = contents()
    result = run(*QUICK, "-c", "pairs.csv", "-o", ".", "--force", "-q", expect=2)
    assert name in result.stderr and "--out" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert contents() == before


def test_a_clash_is_told_before_the_work(here, monkeypatch):
    Path("labels.csv").write_text("mine")
    monkeypatch.setattr(_fitting, "read_knowledge", lambda *a: 1 / 0)
    run(*QUICK, "-o", ".", "--force", expect=2)


def test_a_clash_that_only_the_ids_bring_about_is_told_in_time(here):
    ids = [k if k % 2 else f"x{k}" for k in range(20)]
    lines = [{"id": i, "u": float(k % 4), "v": float(k // 10)} for k, i in enumerate(ids)]
    Path("mixed.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("p.jsonl").write_text('{"a": "x0", "b": 1, "kind": "must"}\n')
    Path("out").mkdir()
    Path("out/constraints.jsonl").write_text("mine")
    run("fit", "mixed.jsonl", "--id-column", "id", "-k", "2", "-c", "p.jsonl", "-o", "out",
        "--force", "--no-report", expect=2)  # fmt: skip
    assert contents("out") == {"constraints.jsonl": b"mine"}


def test_files_that_are_read_are_not_replaced(here):
    Path("constraints.csv").write_text(Path("pairs.csv").read_text())
    before = contents()
    result = run(*QUICK, "-c", "constraints.csv", "-o", ".", "--force", expect=2)
    assert "constraints.csv is read" in result.stderr
    assert contents() == before
    run(*QUICK, "-c", "pairs.csv")
    kept = contents("linkfield-out")
    run(*QUICK, "-c", "linkfield-out/constraints.csv", expect=2)
    assert contents("linkfield-out") == kept


@pytest.mark.parametrize("extra", [[], ["notes.txt"]])
def test_files_that_the_user_added_to_an_output_stay(here, extra):
    run(*QUICK)
    for name in ["constraints.csv", *extra]:
        Path("linkfield-out", name).write_text("mine")
    run(*QUICK, "--seed", "4")
    assert Path("linkfield-out/constraints.csv").read_text() == "mine"
    assert record()["seeds"] == {"random_state": 4}
    run(*QUICK, "-c", "pairs.csv", expect=2)
    assert Path("linkfield-out/constraints.csv").read_text() == "mine"


def test_an_output_is_replaced_in_the_folder_where_one_is(here):
    run(*QUICK, "-c", "pairs.csv", "-o", ".", "--force")
    assert Path("constraints.csv").exists()
    run(*QUICK, "-o", ".")
    assert not Path("constraints.csv").exists()
    assert Path("pairs.csv").exists() and "labels.csv" in record(".")["files"]


# -------------------------------------------------------------- numbers too large


def test_values_too_large_for_distances_are_refused(here):
    Path("huge.csv").write_text("x,y\n1e300,0\n-1e300,0\n1e308,2\n2,1\n")
    Path("large.csv").write_text("x,y\n1e200,0\n-1e200,0\n1e200,2\n2,1\n-3e200,7\n")
    for options in (
        ["huge.csv", "--scale", "none"], ["huge.csv"], ["huge.csv", "--scale", "standard"],
        ["huge.csv", "--scale", "none", "--distortion", "cosine"],
        ["large.csv", "--scale", "none", "-e", "mixture"],
    ):  # fmt: skip
        result = run("fit", "-k", "2", "-q", *options, expect=2)
        assert "too large" in result.stderr and len(result.stderr.splitlines()) == 1
        assert "linkfield-out" not in os.listdir()


def test_a_report_that_fails_does_not_cost_the_fit(here, monkeypatch):
    def broken(*args, **kwargs):
        Path(args[0]).write_text("half")
        raise ZeroDivisionError("no such angle")

    monkeypatch.setattr("linkfield.reports.write_fit_report", broken)
    result = run(*FIT)
    assert "ZeroDivisionError: no such angle" in result.stderr
    assert "report.html" not in os.listdir("linkfield-out")
    assert "report.html" not in record()["files"]
    assert any("no such angle" in note for note in record()["warnings"])


# ------------------------------------------------------------------------ record


def test_the_record_has_the_seed_of_the_fit(here):
    run(*QUICK, "--set", "random_state=5")
    assert record()["seeds"] == {"random_state": 5}
    assert record()["parameters"]["random_state"] == 5


def test_the_note_on_labels_that_are_not_used_names_them_as_they_are(here):
    X, y = load_iris(return_X_y=True)
    np.savez("iris.npz", X=X, labels=y)
    result = run("fit", "iris.npz", "-k", "3", "--no-report")
    assert "--label-column labels" in result.stderr
    run("fit", "iris.npz", "--label-column", "labels", "--no-report")
    assert record()["input"]["labelled_rows"] == 150
