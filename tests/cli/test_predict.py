"""``linkfield predict`` as a user runs it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from cli_files import HEADER, iris_lines, read_table, write_csv, write_iris, write_texts
from click.testing import CliRunner
from sklearn.datasets import load_iris

import linkfield
from linkfield.cli import main

FIT = ["fit", "iris.csv", "--id-column", "flower", "--label-column", "known", "--no-report",
       "--metric", "diagonal", "--starts", "1", "--quiet"]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    return tmp_path


def run(*args, expect=0):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == expect, result.output
    return result


@pytest.mark.parametrize("scale", ["none", "standard"])
def test_new_rows_find_their_clusters(here, scale):
    run(*FIT, "--scale", scale)
    # Columns in another order, others among them, no labels.
    order = ["petal_width", "site", "flower", "sepal_length", "petal_length", "sepal_width"]
    at = [HEADER.index(name) for name in order]
    lines = [[line[k] for k in at] for line in iris_lines()[::3]]
    write_csv(here / "new.csv", order, lines)
    result = run("predict", "linkfield-out", "new.csv", "--out", "new-labels.csv")
    assert "50 rows" in result.stdout
    model = linkfield.load("linkfield-out/model.skops")
    X = load_iris(as_frame=True).data.iloc[::3]
    X.columns = HEADER[1:5]
    found = read_table(here / "new-labels.csv")
    assert [line["id"] for line in found] == [f"f{k:03d}" for k in range(0, 150, 3)]
    assert [int(line["cluster"]) for line in found] == model.predict(X).tolist()
    chance = model.predict_proba(X).max(axis=1)
    assert np.allclose([float(line["probability"]) for line in found], chance, rtol=1e-5)
    away = model.transform(X).min(axis=1)
    assert np.allclose([float(line["distance"]) for line in found], away, rtol=1e-5)
    names = {
        line["cluster"]: line["label"] for line in read_table(Path("linkfield-out/labels.csv"))
    }
    assert all(line["label"] == names[line["cluster"]] for line in found)


def test_blocks_do_not_show(here, monkeypatch):
    run(*FIT)
    run("predict", "linkfield-out", "iris.csv", "--out", "whole.csv")
    monkeypatch.setattr("linkfield.cli._labels.ROWS", 7)
    run("predict", "linkfield-out", "iris.csv", "--out", "parts.csv")
    assert Path("whole.csv").read_bytes() == Path("parts.csv").read_bytes()


def test_texts(here):
    write_texts(here / "notes.jsonl")
    run("fit", "notes.jsonl", "--text-column", "body", "--id-column", "key", "-k", "2",
        "--no-report", "-q")  # fmt: skip
    run("predict", "linkfield-out", "notes.jsonl")
    fitted = [line["cluster"] for line in read_table(Path("linkfield-out/labels.csv"))]
    assert [line["cluster"] for line in read_table(Path("labels.csv"))] == fitted


def test_json_and_silence(here):
    run(*FIT)
    result = run("predict", "linkfield-out/model.skops", "iris.csv", "--json", "--quiet")
    told = json.loads(result.stdout)
    assert told["rows"] == sum(c["rows"] for c in told["clusters"]) == 150
    assert result.stderr == ""
    assert run("predict", "linkfield-out", "iris.csv", "-q").output == ""


def test_models_that_python_saved(here):
    X = load_iris().data
    model = linkfield.PCKMeans(3, random_state=0).fit(X)
    linkfield.save(model, "mine.skops")
    np.save("iris.npy", X)
    run("predict", "mine.skops", "iris.npy", "--out", "mine.tsv")
    lines = Path("mine.tsv").read_text().splitlines()
    assert lines[0] == "id\tcluster\tprobability\tdistance"
    assert [int(line.split("\t")[1]) for line in lines[1:]] == model.predict(X).tolist()


def one_line(*args):
    result = run(*args, "--quiet", expect=2)
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and result.stdout == ""
    return lines[0]


def test_other_columns_are_named(here):
    run(*FIT)
    lines = [line[:3] for line in iris_lines()]
    write_csv(here / "narrow.csv", HEADER[:3], lines)
    assert "'petal_length'" in one_line("predict", "linkfield-out", "narrow.csv")
    write_csv(here / "no-ids.csv", HEADER[1:], [line[1:] for line in iris_lines()])
    assert "'flower'" in one_line("predict", "linkfield-out", "no-ids.csv")
    run("predict", "linkfield-out", "no-ids.csv", "--no-ids")
    assert read_table(here / "labels.csv")[7]["id"] == "7"


def test_another_width_is_refused(here):
    X = load_iris().data
    np.save("iris.npy", X)
    np.save("narrow.npy", X[:, :3])
    run("fit", "iris.npy", "-k", "3", "--no-report", "--metric", "diagonal", "-q")
    line = one_line("predict", "linkfield-out", "narrow.npy")
    assert "4 columns" in line and "3" in line
    assert not Path("labels.csv").exists()


def test_files_of_others_are_left_alone(here):
    run(*FIT)
    Path("labels.csv").write_text("id,species\n1,rose\n")
    assert "--force" in one_line("predict", "linkfield-out", "iris.csv")
    assert Path("labels.csv").read_text() == "id,species\n1,rose\n"
    run("predict", "linkfield-out", "iris.csv", "--force")
    run("predict", "linkfield-out", "iris.csv")  # its own table is replaced
    assert ".csv or .tsv" in one_line("predict", "linkfield-out", "iris.csv", "-o", "x.txt")
    assert "no folder" in one_line("predict", "linkfield-out", "iris.csv", "-o", "no/x.csv")


def test_a_full_disk_leaves_nothing_behind(here, monkeypatch):
    import errno

    run(*FIT)

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("linkfield.cli._labels.write_labels", full)
    before = sorted(os.listdir())
    assert "disk is full" in one_line("predict", "linkfield-out", "iris.csv")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("cut", [10, 1000, -30])
def test_damaged_models_are_refused(here, cut):
    run(*FIT)
    file = Path("linkfield-out/model.skops")
    file.write_bytes(file.read_bytes()[:cut])
    assert "model.skops" in one_line("predict", "linkfield-out", "iris.csv")
