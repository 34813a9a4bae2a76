"""``linkfield fit`` as a user runs it."""

import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from cli_files import HEADER, TEXTS, iris_lines, read_table, write_csv, write_iris, write_texts
from click.testing import CliRunner
from rich.console import Console
from sklearn import preprocessing
from sklearn.datasets import load_iris, load_wine

import linkfield
from linkfield.cli import _preparation, _progress, main
from linkfield.estimators.progress import watching

IRIS = ["--id-column", "flower", "--label-column", "known"]
QUICK = ["--no-report", "--metric", "diagonal", "--starts", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    return tmp_path


def fit(*args, expect=0):
    result = CliRunner().invoke(main, ["fit", *args])
    assert result.exit_code == expect, result.output
    return result


def run_json(folder="linkfield-out"):
    return json.loads(Path(folder, "run.json").read_text())


# ------------------------------------------------------------------- results


def test_a_file_becomes_a_folder_of_results(here):
    result = fit("iris.csv", *IRIS, "-c", "pairs.csv")
    out = here / "linkfield-out"
    assert sorted(p.name for p in out.iterdir()) == [
        "constraints.csv", "known_labels.csv", "labels.csv", "model.skops", "report.html",
        "run.json", "violations.csv",
    ]  # fmt: skip
    labels = read_table(out / "labels.csv")
    assert [line["id"] for line in labels] == [f"f{k:03d}" for k in range(150)]
    # The clusters are those of the same fit in Python.
    X, y = load_iris(return_X_y=True)
    data = linkfield.io.read_data("iris.csv", id_column="flower", label_column="known")
    assert np.array_equal(data.X, X)
    known = linkfield.read_constraints("pairs.csv", sample_id=data.sample_id)
    model = linkfield.HMRFKMeans(3, random_state=0).fit(
        X, constraints=known, partial_labels=data.labels, sample_id=data.sample_id
    )
    assert [int(line["cluster"]) for line in labels] == model.labels_.tolist()
    at = np.arange(150)
    chance = [float(line["probability"]) for line in labels]
    assert np.allclose(chance, model.predict_proba(X)[at, model.labels_], rtol=1e-5)
    away = [float(line["distance"]) for line in labels]
    assert np.allclose(away, model.transform(X)[at, model.labels_], rtol=1e-5)
    species = load_iris().target_names[y]
    assert np.mean([line["label"] == s for line, s in zip(labels, species, strict=True)]) > 0.9
    for word in ("setosa", "must-links", "linkfield-out"):
        assert word in result.stdout
    assert "reading iris.csv" in result.stderr and "site" in result.stderr


def test_the_record_says_what_was_done(here):
    fit("iris.csv", *IRIS, "-c", "pairs.csv", *QUICK, "--seed", "7", "--set", "tol=0.01")
    run = run_json()
    content = (here / "iris.csv").read_bytes()
    assert run["input"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert run["input"]["bytes"] == len(content)
    assert (run["input"]["rows"], run["input"]["columns"]) == (150, 4)
    assert run["input"]["labelled_rows"] == 19
    assert run["seeds"] == {"random_state": 7}
    assert run["parameters"]["tol"] == 0.01
    assert run["parameters"]["metric"] == run["result"]["metric"] == "diagonal"
    assert run["versions"]["numpy"] == np.__version__
    assert set(run["seconds"]) >= {"read", "fit", "write"}
    assert sum(cluster["rows"] for cluster in run["result"]["clusters"]) == 150
    assert sorted(run["files"]) == sorted(p.name for p in Path("linkfield-out").iterdir())


def test_the_same_command_gives_the_same_files(here):
    for out in ("one", "two"):
        fit("iris.csv", *IRIS, *QUICK, "--out", out, "--jobs", "1" if out == "one" else "2")
    for name in ("labels.csv", "violations.csv"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()


def test_violations_carry_ids_costs_and_clusters(here):
    wrong = [("f000", "f001", "cannot"), ("f000", "f100", "must"), ("f002", "f003", "must")]
    write_csv(here / "wrong.csv", ("a", "b", "kind"), wrong)
    fit("iris.csv", "--id-column", "flower", "-k", "3", "-c", "wrong.csv", *QUICK,
        "--weight", "0.001", "--closure", "false")  # fmt: skip
    lines = read_table(here / "linkfield-out" / "violations.csv")
    clusters = {
        line["id"]: line["cluster"] for line in read_table(here / "linkfield-out" / "labels.csv")
    }
    assert {(line["a"], line["b"]) for line in lines} == {("f000", "f001"), ("f000", "f100")}
    for line in lines:
        assert float(line["cost"]) > 0
        assert line["cluster_a"] == clusters[line["a"]]
        assert line["cluster_b"] == clusters[line["b"]]
        assert (line["cluster_a"] == line["cluster_b"]) == (line["kind"] == "cannot")
    assert run_json()["result"]["violations"] == 2


def test_rows_without_ids_go_by_position(here):
    X, _ = load_iris(return_X_y=True)
    np.save(here / "iris.npy", X)
    write_csv(here / "by-position.csv", ("a", "b", "kind"), [(0, 1, "must"), (0, 149, "cannot")])
    fit("iris.npy", "-k", "3", "-c", "by-position.csv", *QUICK)
    lines = read_table(here / "linkfield-out" / "labels.csv")
    assert [line["id"] for line in lines] == [str(k) for k in range(150)]
    assert "label" not in lines[0]


@pytest.mark.parametrize("estimator", ["seeded", "constrained"])
def test_classes_name_the_clusters_that_they_are_bound_to(here, estimator):
    fit("iris.csv", *IRIS, "-e", estimator, "--no-report")
    lines = read_table(here / "linkfield-out" / "labels.csv")
    assert {line["cluster"]: line["label"] for line in lines} == {
        "0": "setosa", "1": "versicolor", "2": "virginica",
    }  # fmt: skip


def test_texts(here):
    write_texts(here / "notes.jsonl")
    fit("notes.jsonl", "--text-column", "body", "--id-column", "key", "-k", "2", "--no-report")
    lines = read_table(here / "linkfield-out" / "labels.csv")
    kinds = {(line["id"].split("-")[0], line["cluster"]) for line in lines}
    assert len(kinds) == 2 == len({cluster for _, cluster in kinds})
    assert run_json()["parameters"]["distortion"] == "cosine"
    # The model takes texts, words that it has never seen included.
    model = linkfield.load("linkfield-out/model.skops")
    mine = model.predict(["sail to the harbour", "an oven full of bread"])
    assert mine.tolist() == [int(dict(kinds)[kind]) for kind in TEXTS]


def test_texts_with_fewer_directions(here):
    write_texts(here / "notes.jsonl")
    fit("notes.jsonl", "--text-column", "body", "-k", "2", "--svd", "3", "-e", "mixture",
        "--set", "covariance_type=diag", "--no-report")  # fmt: skip
    assert run_json()["preparation"]["steps"] == ["TfidfVectorizer", "TruncatedSVD"]
    lines = read_table(here / "linkfield-out" / "labels.csv")
    assert len({line["cluster"] for line in lines[:5]}) == 1


def test_embeddings(here):
    X = load_iris().data
    vectors = [json.dumps(row.tolist()) for row in X]
    write_csv(here / "vectors.csv", ("name", "vector"), list(zip(range(150), vectors, strict=True)))
    fit("vectors.csv", "--embedding-column", "vector", "--id-column", "name", "-k", "2", *QUICK)
    assert run_json()["parameters"]["distortion"] == "cosine"
    model = linkfield.load("linkfield-out/model.skops")
    labels = [int(line["cluster"]) for line in read_table(Path("linkfield-out/labels.csv"))]
    assert model.predict(X).tolist() == labels


def test_mixtures_and_groups(here):
    lines = [("teacher", f"f{k:03d}", "x" if k < 50 else "y") for k in range(0, 100, 10)]
    write_csv(here / "groups.csv", ("teacher", "row", "label"), lines)
    fit("iris.csv", "--id-column", "flower", "-k", "3", "-e", "mixture", "--groups", "groups.csv",
        "--no-report", "--set", "covariance_type=tied")  # fmt: skip
    lines = read_table(here / "linkfield-out" / "labels.csv")
    X, _ = load_iris(return_X_y=True)
    model = linkfield.load("linkfield-out/model.skops").steps[-1][1]
    away = X[3] - model.means_[model.labels_[3]]
    assert float(lines[3]["distance"]) == pytest.approx(away @ model.precisions_ @ away, rel=1e-5)
    assert read_table(here / "linkfield-out" / "groups.csv")[0]["row"] == "f000"


def test_labels_of_svmlight_files_are_used_only_if_asked_for(here):
    from sklearn.datasets import dump_svmlight_file

    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, np.where(np.arange(150) % 5, -1, y), str(here / "iris.svm"))
    result = fit("iris.svm", "-k", "3", *QUICK)
    assert run_json()["input"]["labelled_rows"] == 0
    assert "--label-column" in result.stderr
    fit("iris.svm", "--label-column", "label", *QUICK)
    assert run_json()["input"]["labelled_rows"] == 30
    assert len(run_json()["result"]["clusters"]) == 3


def test_parameters_by_name(here):
    fit("iris.csv", *IRIS, *QUICK, "--inference", "bp", "--set", "inference__damping=0.25")
    model = linkfield.load("linkfield-out/model.skops").steps[-1][1]
    assert model.inference.damping == 0.25


def test_a_column_of_ids_that_nobody_declared_is_noticed(here):
    lines = [(k, *row) for k, row in enumerate(load_iris().data.tolist())]
    write_csv(here / "plain.csv", ("id", "a", "b", "c", "d"), lines)
    result = fit("plain.csv", "-k", "3", *QUICK)
    assert "--id-column id" in result.stderr
    assert any("--id-column id" in note for note in run_json()["warnings"])


def test_the_library_warns_in_one_line(here):
    write_csv(here / "same.csv", ("a", "b"), [(1, 2)] * 20 + [(3, 4)] * 20)
    result = fit("same.csv", "-k", "4", "--no-report")
    notes = [line for line in result.stderr.splitlines() if line.startswith("note: ")]
    assert len(notes) == 1 and "distinct clusters" in notes[0]
    assert "Warning" not in result.stderr
    assert len(run_json()["warnings"]) == 1


# ------------------------------------------------------------------- scaling


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("scale", "scaler"),
    [
        ("standard", preprocessing.StandardScaler()),
        ("robust", preprocessing.RobustScaler()),
        ("minmax", preprocessing.MinMaxScaler()),
        ("unit", preprocessing.Normalizer()),
    ],
)
def test_scaling_in_blocks_is_scaling_at_once(scale, scaler, dtype, monkeypatch):
    monkeypatch.setattr(_preparation, "BLOCK", 100)
    X = load_wine().data.astype(dtype)
    expected = scaler.fit_transform(X.copy())
    memory = X.ctypes.data
    found = _preparation.prepared_numbers(X, scale, None, units_differ=False)
    assert found.X.ctypes.data == memory  # in place
    assert np.allclose(found.X, expected, rtol=1e-4 if dtype == np.float32 else 1e-10)
    assert found.X.dtype == dtype


def test_scaling_is_chosen_by_the_spread_of_the_columns(here):
    wine = load_wine(as_frame=True).frame.drop(columns="target")
    wine.to_csv(here / "wine.csv", index=False)
    fit("wine.csv", "-k", "3", *QUICK)
    assert run_json()["preparation"]["scale"] == "standard"
    fit("wine.csv", "-k", "3", *QUICK, "--distortion", "i-divergence", "--metric", "identity")
    assert run_json()["preparation"]["scale"] == "none"
    np.save(here / "wine.npy", wine.to_numpy())
    fit("wine.npy", "-k", "3", *QUICK)  # an array says nothing of units
    assert run_json()["preparation"]["scale"] == "none"
    fit("iris.csv", *IRIS, *QUICK)
    assert run_json()["preparation"]["scale"] == "none"


def test_the_scaler_travels_with_the_model(here):
    wine = load_wine(as_frame=True).frame.drop(columns="target")
    wine.to_csv(here / "wine.csv", index=False)
    fit("wine.csv", "-k", "3", *QUICK, "--dtype", "float64")
    model = linkfield.load("linkfield-out/model.skops")
    before = wine.to_numpy().copy()
    labels = [int(line["cluster"]) for line in read_table(Path("linkfield-out/labels.csv"))]
    assert model.predict(wine).tolist() == labels  # a frame, whose columns are checked
    assert np.array_equal(wine.to_numpy(), before)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(wine[wine.columns[::-1]])


# -------------------------------------------------------------------- output


def test_json_is_the_record_and_nothing_else(here):
    result = fit("iris.csv", *IRIS, *QUICK, "--json")
    assert json.loads(result.stdout) == run_json()
    assert result.stderr != ""


def test_quiet_is_silent(here):
    result = fit("iris.csv", *IRIS, *QUICK, "--quiet")
    assert result.output == ""
    assert fit("iris.csv", *IRIS, *QUICK, "--quiet", "--json").stderr == ""


def test_progress_is_few_lines_when_piped(here):
    result = fit("iris.csv", *IRIS, "-c", "pairs.csv", "--no-report")
    assert len(result.stderr.splitlines()) < 15


def test_a_bar_on_a_terminal_shows_objective_and_violations():
    screen = StringIO()
    bar = _progress.teller(False, Console(file=screen, force_terminal=True, width=100))
    model = linkfield.HMRFKMeans(3, random_state=0)
    y = load_iris().target
    known = linkfield.Constraints.from_labels(y, n_pairs=60, noise=0.4, random_state=0)
    with bar.stage("fit", "fitting [a] file"), watching(bar):
        model.set_params(closure=False, constraint_weight=0.01, tol=0).fit(
            load_iris().data, constraints=known
        )
    shown = screen.getvalue()
    assert "fitting [a] file" in shown
    assert re.search(r"objective -?\d.*, \d+ violated", shown)
    assert bar.seconds["fit"] > 0


def test_names_with_brackets_are_shown_as_they_are(here):
    lines = [(*line[:-1], f"[bold]{line[-1]}" if line[-1] else "") for line in iris_lines()]
    write_csv(here / "odd.csv", HEADER, lines)
    result = fit("odd.csv", *IRIS, *QUICK, "--out", "[red]out")
    assert "[bold]setosa" in result.stdout and "[red]out/" in result.stdout


def test_an_earlier_output_is_replaced_and_files_of_the_user_stay(here):
    fit("iris.csv", *IRIS, *QUICK, "-c", "pairs.csv")
    assert Path("linkfield-out/constraints.csv").exists()
    fit("iris.csv", *IRIS, *QUICK)
    assert not Path("linkfield-out/constraints.csv").exists()
    Path("linkfield-out/notes.txt").write_text("mine")
    fit("iris.csv", *IRIS, *QUICK, "-c", "pairs.csv", "--seed", "3")
    assert Path("linkfield-out/notes.txt").read_text() == "mine"
    assert run_json()["seeds"] == {"random_state": 3}
    fit("iris.csv", *IRIS, *QUICK)
    assert not Path("linkfield-out/constraints.csv").exists()
    assert sorted(os.listdir()) == ["iris.csv", "linkfield-out", "pairs.csv", "truth.csv"]


def test_a_folder_of_others_is_left_alone(here):
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years")
    result = fit("iris.csv", *IRIS, *QUICK, "--out", "mine", expect=2)
    assert "--force" in result.stderr
    assert os.listdir("mine") == ["thesis.txt"]
    fit("iris.csv", *IRIS, *QUICK, "--out", "mine", "--force")
    assert Path("mine/thesis.txt").read_text() == "years"
    assert run_json("mine")["program"] == "linkfield fit"


def test_folders_above_are_made(here):
    fit("iris.csv", *IRIS, *QUICK, "--out", "a/b/c")
    assert run_json("a/b/c")["files"]
    fit("iris.csv", "-k", "999", "--out", "x/y/z", expect=2)
    assert not Path("x").exists()


def test_what_was_there_stays_if_a_fit_fails(here):
    fit("iris.csv", *IRIS, *QUICK)
    before = Path("linkfield-out/labels.csv").read_bytes()
    fit("iris.csv", "-k", "999", expect=2)
    assert Path("linkfield-out/labels.csv").read_bytes() == before
    assert sorted(os.listdir()) == ["iris.csv", "linkfield-out", "pairs.csv", "truth.csv"]


# ----------------------------------------------------------------- interrupts


def test_ctrl_c_leaves_nothing_behind(here, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(linkfield.HMRFKMeans, "fit", interrupted)
    result = fit("iris.csv", *IRIS, expect=130)
    assert result.stderr.splitlines()[-1] == "stopped; nothing was written"
    assert "linkfield-out" not in os.listdir()
    assert not [name for name in os.listdir() if name.startswith(".")]


SCRIPT = """
import os, signal
from linkfield.cli import main, _fitting
write = _fitting.write_result
def slowly(result):
    write(result)
    os.kill(os.getpid(), signal.SIGTERM)
_fitting.write_result = slowly
main()
"""


def test_a_terminated_process_leaves_nothing_behind(here):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), "fit", "iris.csv", *IRIS, *QUICK],
        capture_output=True, text=True, check=False, env=_environment(),
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert sorted(os.listdir()) == ["iris.csv", "pairs.csv", "truth.csv"]


def _environment():
    source = str(Path(linkfield.__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": source}


def test_columns_are_named_and_one_that_counts_the_rows_is_noticed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{10_000 + i},{i % 7},{i * 0.5},some words" for i in range(30)]
    (tmp_path / "rows.csv").write_text("\n".join(["customer,age,income,remark", *lines]))
    said = CliRunner().invoke(main, ["fit", "rows.csv", "-k", "2", "--no-report"])
    assert said.exit_code == 0, said.output
    assert "  30 rows of 3 columns: customer, age, income" in said.stderr
    assert "  left out, since they hold no numbers: remark" in said.stderr
    assert "say --id-column customer" in said.stderr
    record = json.loads((tmp_path / "linkfield-out" / "run.json").read_text())
    assert record["input"]["column_names"] == ["customer", "age", "income"]
    texts = ["fit", "rows.csv", "-k", "2", "--no-report", "--text-column", "remark", "-o", "texts"]
    said = CliRunner().invoke(main, texts)
    assert "left out, since others were chosen: customer, age, income" in said.stderr
