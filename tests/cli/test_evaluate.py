"""``linkfield evaluate`` as a user runs it."""

import json

import numpy as np
import pytest
from cli_files import read_table, write_csv, write_iris
from click.testing import CliRunner
from sklearn.datasets import load_iris

from linkfield import evaluation, read_constraints
from linkfield.cli import main

FIT = ["fit", "iris.csv", "--id-column", "flower", "--label-column", "known", "--no-report",
       "--metric", "diagonal", "--starts", "1", "--quiet", "-c", "pairs.csv"]  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    assert CliRunner().invoke(main, FIT).exit_code == 0
    return tmp_path


def run(*args, expect=0):
    result = CliRunner().invoke(main, ["evaluate", *args])
    assert result.exit_code == expect, result.output
    return result


def clusters(here):
    return np.array(
        [int(line["cluster"]) for line in read_table(here / "linkfield-out/labels.csv")]
    )


def test_scores_are_those_of_the_library(here):
    y, found = load_iris().target, clusters(here)
    told = json.loads(run("linkfield-out", "truth.csv", "--id-column", "id", "--json").stdout)
    assert told["pairwise_f"] == evaluation.pairwise_f_score(y, found)
    assert told["nmi"] == evaluation.normalized_mutual_info(y, found)
    assert told["ari"] == evaluation.adjusted_rand(y, found)
    assert told["accuracy"] == evaluation.clustering_accuracy(y, found)
    table = told["contingency"]
    assert np.sum(table["table"]) == told["rows"] == 150
    assert table["classes"] == ["setosa", "versicolor", "virginica"]
    ids = np.array([f"f{k:03d}" for k in range(150)], dtype=object)
    kept = evaluation.constraint_satisfaction(read_constraints("pairs.csv", sample_id=ids), found)
    assert told["constraints"]["must_links"] == kept.n_must_link
    assert told["constraints"]["kept"] == kept.overall


def test_rows_that_were_told_can_be_left_out(here):
    y, found = load_iris().target, clusters(here)
    ids = np.array([f"f{k:03d}" for k in range(150)], dtype=object)
    pairs = read_constraints("pairs.csv", sample_id=ids)
    use = np.ones(150, dtype=bool)
    use[pairs.tied_rows()] = False
    use[::8] = False  # whose labels were known
    told = json.loads(
        run(
            "linkfield-out", "truth.csv", "--id-column", "id", "--exclude-constrained", "--json"
        ).stdout
    )
    assert told["rows"] == use.sum() and told["rows_excluded"] == 150 - use.sum()
    assert told["ari"] == evaluation.adjusted_rand(y[use], found[use])


def test_the_table_for_people(here):
    result = run("linkfield-out", "truth.csv", "--id-column", "id")
    for word in ("150 rows", "pairwise F", "adjusted Rand", "setosa", "must-links kept"):
        assert word in result.stdout


def test_a_table_of_labels_will_do_and_rows_without_a_class_do_not_count(here):
    result = run("linkfield-out/labels.csv", "iris.csv", "--id-column", "flower",
                 "--label-column", "known", "--json")  # fmt: skip
    told = json.loads(result.stdout)
    assert (told["rows"], told["rows_without_class"]) == (19, 131)
    assert "constraints" not in told
    told = json.loads(
        run("linkfield-out/labels.csv", "truth.csv", "-c", "pairs.csv", "--json").stdout
    )
    assert told["constraints"]["must_links"] > 0


def test_numbers_and_text_are_the_same_ids(here):
    write_csv(here / "mine.csv", ("id", "cluster"), [(k, k % 2) for k in range(9)])
    (here / "classes.jsonl").write_text(
        "".join(json.dumps({"id": str(k), "label": "ab"[k % 2]}) + "\n" for k in range(9))
    )
    assert json.loads(run("mine.csv", "classes.jsonl", "--json").stdout)["ari"] == 1.0
    write_csv(here / "unnamed.csv", ("label",), [("ab"[k % 2],) for k in range(9)])
    assert json.loads(run("mine.csv", "unnamed.csv", "--no-ids", "--json").stdout)["ari"] == 1.0


def test_mistakes_are_one_line(here):
    write_csv(here / "others.csv", ("id", "label"), [("x", "a"), ("y", "b")])
    for args, word in (
        (("linkfield-out", "others.csv", "--id-column", "id"), "--id-column"),
        (("linkfield-out", "truth.csv", "--id-column", "id", "--label-column", "kind"), "'kind'"),
        (("linkfield-out", "missing.csv"), "missing.csv"),
        (("linkfield-out/labels.csv", "truth.csv", "--exclude-constrained"), "constraints"),
        (("linkfield-out", "truth.csv"), "'flower'"),
    ):
        lines = run(*args, expect=2).stderr.splitlines()
        assert len(lines) == 1 and word in lines[0], lines
