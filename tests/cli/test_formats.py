"""Every format goes all the way: fit, predict, evaluate, plot, sample."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import read_table, write_csv
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file, load_iris

from linkfield.cli import main
from linkfield.io import read_about

X, Y = load_iris(return_X_y=True)
NAMES = ["sl", "sw", "pl", "pw"]
IDS = np.arange(100, 250)
QUICK = ["--no-report", "--metric", "diagonal", "--starts", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args, expect=0):
    result = CliRunner().invoke(main, list(args))
    assert result.exit_code == expect, (result.output, result.exception)
    return result


def clusters(file="linkfield-out/labels.csv"):
    return [line["cluster"] for line in read_table(Path(file))]


def write(form):
    """Write iris with whole numbers for ids and classes; return the file."""
    file = Path(f"iris.{form}")
    columns = {"id": IDS, **dict(zip(NAMES, X.T, strict=True)), "kind": Y}
    if form == "npz":
        np.savez(file, X=X, id=IDS, kind=Y)
    elif form == "parquet":
        pytest.importorskip("pyarrow")
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), file)
    else:
        rows = list(zip(*(v.tolist() for v in columns.values()), strict=True))
        if form == "csv":
            write_csv(file, list(columns), rows)
        else:
            lines = [json.dumps(dict(zip(columns, row, strict=True))) for row in rows]
            file.write_text("\n".join(lines) + "\n")
    return str(file)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "npz"])
def test_ids_and_classes_that_are_numbers(here, form):
    file = write(form)
    roles = ["--id-column", "id", "--label-column", "kind"]
    run("constraints", "sample", file, *roles, "--pairs", "40", "--out", "pairs.csv")
    pairs = read_table(Path("pairs.csv"))
    kinds = [Y[int(p["a"]) - 100] == Y[int(p["b"]) - 100] for p in pairs]
    assert len(pairs) == 40 and [p["kind"] == "must" for p in pairs] == kinds
    run("constraints", "check", "pairs.csv", "--data", file, "--id-column", "id")
    write_csv(here / "far.csv", ("a", "b", "kind"), [(99, 101, "must")])
    run("constraints", "check", "far.csv", "--data", file, "--id-column", "id", expect=2)
    run("fit", file, *roles, *QUICK)
    told = json.loads(
        run("evaluate", "linkfield-out", file, "--label-column", "kind", "--json").stdout
    )
    assert told["rows"] == told["rows_told"] == 150
    run("predict", "linkfield-out", file)
    assert [line["id"] for line in read_table(Path("labels.csv"))] == list(map(str, IDS))


def test_row_numbers_of_arrays(here):
    np.save("iris.npy", np.c_[X, Y])
    run(
        "constraints", "sample", "iris.npy", "--label-column", "4", "--pairs", "9", "--out", "p.csv"
    )
    run("constraints", "check", "p.csv", "--data", "iris.npy")
    run("fit", "iris.npy", "--label-column", "4", *QUICK)
    told = run("evaluate", "linkfield-out", "iris.npy", "--label-column", "4", "--json").stdout
    assert json.loads(told)["rows"] == 150


# -------------------------------------------------------------------- positions


@pytest.mark.parametrize(
    ("before", "options", "taken"),
    [
        ([], ["--label-column", "4"], [0, 1, 2, 3]),
        ([IDS], ["--id-column", "0", "--label-column", "5"], [1, 2, 3, 4]),
        ([], ["--exclude", "1", "--label-column", "4"], [0, 2, 3]),
    ],
)
def test_arrays_with_labels_are_predicted_and_drawn(here, before, options, taken):
    np.save("iris.npy", np.column_stack([*before, X, Y]))
    run("fit", "iris.npy", *options, *QUICK)
    assert read_about("linkfield-out/model.skops")["columns"] == taken
    run("predict", "linkfield-out", "iris.npy")
    away = [float(line["distance"]) for line in read_table(Path("labels.csv"))]
    fitted = [float(line["distance"]) for line in read_table(Path("linkfield-out/labels.csv"))]
    same = np.array(clusters("labels.csv")) == np.array(clusters())
    assert same.mean() > 0.9
    assert np.allclose(np.array(away)[same], np.array(fitted)[same], rtol=1e-4)
    # New rows have no labels.
    np.save("new.npy", np.column_stack([*before, X]))
    run("predict", "linkfield-out", "new.npy", "--out", "new.csv")
    assert Path("new.csv").read_bytes() == Path("labels.csv").read_bytes()
    run("plot", "weights", "linkfield-out", "--out", "w.svg")


# --------------------------------------------------------------------- svmlight


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("options", [[], ["--exclude", "1"]])
def test_svmlight_files_need_not_fill_all_columns(here, zero_based, options):
    dump_svmlight_file(X, Y, "iris.svm", zero_based=zero_based)
    run("fit", "iris.svm", "-k", "3", *options, *QUICK)
    run("predict", "linkfield-out", "iris.svm", "--out", "all.csv")
    few = X[:40].copy()
    few[:, [0, 3]] = 0.0  # neither the first column nor the last
    dump_svmlight_file(few, Y[:40], "few.svm", zero_based=zero_based)
    run("predict", "linkfield-out", "few.svm", "--out", "few.csv")
    np.save("iris.npy", np.vstack([X, few]))
    run("predict", "linkfield-out", "iris.npy", "--out", "both.csv")
    assert clusters("both.csv")[:150] == clusters("all.csv")
    away = [[line["distance"] for line in read_table(Path(f"{n}.csv"))] for n in ("both", "few")]
    assert np.allclose(np.float64(away[0][150:]), np.float64(away[1]), rtol=1e-4)


# ------------------------------------------------------------------ exact names


def test_columns_of_a_model_are_names_not_patterns(here):
    write_csv(here / "odd.csv", ("is?", "y2"), X[:, :2].tolist())
    write_csv(here / "other.csv", ("is1", "y2"), X[:, :2].tolist())
    run("fit", "odd.csv", "-k", "3", *QUICK)
    result = run("predict", "linkfield-out", "other.csv", expect=2)
    assert "'is?'" in result.stderr
    result = run("plot", "silhouettes", "linkfield-out", "--data", "other.csv", expect=2)
    assert "'is?'" in result.stderr
    run("predict", "linkfield-out", "odd.csv")
    assert clusters("labels.csv") == clusters()


def test_patterns_for_columns_are_resolved_and_those_for_ids_refused(here):
    file = write("csv")
    run("fit", file, "--columns", "p?", "--id-column", "id", "-k", "3", *QUICK)
    assert read_about("linkfield-out/model.skops")["columns"] == ["pl", "pw"]
    run("predict", "linkfield-out", file)
    result = run("fit", file, "--columns", "p?", "--id-column", "i*", "-k", "3", *QUICK, expect=2)
    assert "'i*'" in result.stderr


# ------------------------------------------------------------- classes by chance


def test_a_column_of_classes_that_nobody_declared_is_noticed(here):
    file = write("csv")
    plain = ["fit", file, "--id-column", "id", "-k", "3", *QUICK]
    assert "--exclude kind" in run(*plain).stderr
    result = run("evaluate", "linkfield-out", file, "--label-column", "kind")
    assert "--exclude kind" in result.stderr and "note: " in result.stderr
    result = run("evaluate", "linkfield-out", file, "--label-column", "kind", "--json")
    assert len(json.loads(result.stdout)["warnings"]) == 1
    for more in (["--exclude", "kind"], ["--label-column", "kind"], ["--columns", "sl,kind"]):
        assert "--exclude kind" not in run(*plain, *more).stderr
    run(*plain, "--exclude", "kind")
    result = run("evaluate", "linkfield-out", file, "--label-column", "kind")
    assert result.stderr == "" and "labelled" not in result.stdout


def test_measurements_are_not_taken_for_classes(here):
    rng = np.random.default_rng(0)
    whole, parts = rng.integers(0, 5, 60), rng.normal(size=60)
    for header, lines in (
        (("x", "y"), zip(whole, whole[::-1], strict=True)),
        (("class", "width"), zip(parts, whole, strict=True)),
        (("group", "width"), zip(range(60), parts, strict=True)),
    ):
        write_csv(here / "m.csv", header, [list(map(float, line)) for line in lines])
        assert "holds classes" not in run("fit", "m.csv", "-k", "2", *QUICK).stderr


def test_scores_say_which_rows_the_fit_was_told_of(here):
    known = np.where(np.arange(150) % 5 == 0, Y.astype(str), "")
    lines = [(int(i), *row, k, t) for i, row, k, t in zip(IDS, X.tolist(), known, Y, strict=True)]
    write_csv(here / "part.csv", ("id", *NAMES, "known", "truth"), lines)
    run("fit", "part.csv", "--id-column", "id", "--label-column", "known", "--exclude", "truth",
        *QUICK)  # fmt: skip
    score = ["evaluate", "linkfield-out", "part.csv", "--label-column", "truth"]
    assert "30 were labelled or in constraints" in run(*score).stdout
    assert json.loads(run(*score, "--json").stdout)["rows_told"] == 30
    told = json.loads(run(*score, "--json", "--exclude-constrained").stdout)
    assert (told["rows_told"], told["rows_excluded"]) == (0, 30)


# -------------------------------------------------------------------------- ids


def test_ids_that_a_table_cannot_tell_apart_are_refused(here):
    def rows(ids):
        lines = [{"id": i, "u": k % 3, "v": k / 2} for k, i in enumerate(ids)]
        return "".join(json.dumps(line) + "\n" for line in lines)

    Path("same.jsonl").write_text(rows([7, "7", 8, "x", 9]))
    Path("mixed.jsonl").write_text(rows([7, "y", 8, "x", 9]))
    fit = ["--id-column", "id", "-k", "2", *QUICK]
    result = run("fit", "same.jsonl", *fit, expect=2)
    assert "7 and '7'" in result.stderr and "rename" in result.stderr
    run("fit", "mixed.jsonl", *fit)
    run("predict", "linkfield-out", "mixed.jsonl")
    result = run("predict", "linkfield-out", "same.jsonl", expect=2)
    assert "7 and '7'" in result.stderr


def test_a_missing_row_is_named_as_the_user_knows_it(here):
    file = write("csv")
    run("fit", file, "--id-column", "id", "--exclude", "kind", "-k", "3", *QUICK)
    write_csv(here / "few.csv", ("id", "cluster"), [(int(i), 0) for i in IDS[:50]])
    result = run("plot", "partition", "linkfield-out", "--before", "few.csv", expect=2)
    assert "'150'" in result.stderr and "int64" not in result.stderr
