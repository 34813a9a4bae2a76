"""``linkfield plot`` as a user runs it, on what ``linkfield fit`` wrote."""

from __future__ import annotations

import csv
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_wine

import linkfield
from linkfield.cli import main
from linkfield.cli._fitted import opened
from linkfield.cli.plot import KINDS

WINE = load_wine()
DRAWN = [kind for kind in KINDS if kind != "curves"]


def run(*args):
    return CliRunner().invoke(main, [str(a) for a in args])


def write(path: Path, header, lines) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(lines)


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with data, pairs, and what a fit made of them."""
    folder = tmp_path_factory.mktemp("plot")
    rng = np.random.default_rng(0)
    names = [f"bottle {i}" for i in range(178)]
    known = [WINE.target_names[c] if rng.random() < 0.1 else "" for c in WINE.target]
    lines = [[n, *x, k, t] for n, x, k, t in zip(names, WINE.data, known, WINE.target, strict=True)]
    header = ["bottle", *WINE.feature_names, "known", "true class"]
    write(folder / "wine.csv", header, lines)
    ends = rng.permutation(178)[:80].reshape(-1, 2)
    pairs = [
        [names[a], names[b], "must" if WINE.target[a] == WINE.target[b] else "cannot", source]
        for (a, b), source in zip(ends, ["Ada", "Bo"] * 20, strict=True)
    ]
    pairs += [[names[0], names[177], "must", "Cy"]]  # a wrong one
    write(folder / "pairs.csv", ["a", "b", "kind", "source"], pairs)
    result = run("fit", folder / "wine.csv", "--id-column", "bottle", "--label-column", "known",
                 "--exclude", "true class", "-c", folder / "pairs.csv", "-o", folder / "out",
                 "--allow-contradictions", "--no-report", "-q")  # fmt: skip
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("kind", DRAWN)
def test_every_picture(made, tmp_path, kind):
    result = run("plot", kind, made / "out", "--out", tmp_path / "x.png", "--dpi", 40)
    assert result.exit_code == 0, result.output
    assert result.output.strip() == str(tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["x.png"]


def test_themes_forms_and_options(made, tmp_path):
    result = run("plot", "partition", made / "out", "--out", tmp_path / "x.svg", "--before",
                 "plain", "--truth", "true class", "--projection", "pca", "--theme", "dark",
                 "--quiet", "--max-rows", 50)  # fmt: skip
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "x.svg").read_text()
    for words in ("before", "class 2", "of 178 rows", "#17191c"):
        assert words in text
    result = run(
        "plot", "satisfaction", made / "out", "--out", tmp_path / "s.svg", "--by", "source"
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "s.svg").read_text()
    for words in ("Ada", "Bo", "Cy", "labels"):
        assert words in text
    result = run("plot", "field", made / "out", "--out", tmp_path / "f.svg", "--row", "bottle 177")
    assert result.exit_code == 0, result.output
    result = run("plot", "weights", made / "out", "--out", tmp_path / "w.pdf", "--features", 3)
    assert result.exit_code == 0, result.output
    result = run("plot", "weights", made / "out", "--out", tmp_path / "w.svg", "--plain")
    assert "proline" in (tmp_path / "w.svg").read_text()


def test_what_is_read_back_is_what_was_fitted(made):
    saved = opened(made / "out", None, None)
    known = saved.known
    pairs = linkfield.read_constraints(made / "pairs.csv", sample_id=saved.ids)
    np.testing.assert_array_equal(known.pairs(labels=False), pairs.pairs())
    with (made / "wine.csv").open() as file:
        told = {line["bottle"]: line["known"] for line in csv.DictReader(file) if line["known"]}
    classes = {saved.ids[r]: known.labels.classes[c]
               for r, c in zip(known.labels.rows, known.labels.codes, strict=True)}  # fmt: skip
    assert classes == told
    model, X = saved.step, saved.X
    assert X.shape == (178, 13) and saved.feature_names == list(WINE.feature_names)
    nearest = model.transform(X).argmin(axis=1)
    free = np.setdiff1d(np.arange(178), known.tied_rows())
    np.testing.assert_array_equal(nearest[free], model.labels_[free])


def test_other_labels_beside(made, tmp_path):
    shutil.copytree(made / "out", tmp_path / "copy")
    file = tmp_path / "copy" / "labels.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")  # in another order
    args = ("plot", "partition", made / "out", "--out", tmp_path / "x.png", "--dpi", 40)
    assert run(*args, "--before", tmp_path / "copy").exit_code == 0
    file.write_text("\n".join(lines[:100]) + "\n")
    result = run(*args, "--before", file)
    assert result.exit_code == 2 and "says nothing of the row 'bottle 99'" in result.output


def test_models_alone_moved_data_and_changed_data(made, tmp_path):
    model = tmp_path / "model.skops"
    shutil.copy(made / "out" / "model.skops", model)
    out = ("--out", tmp_path / "x.png", "--dpi", 40)
    assert run("plot", "objective", model, *out).exit_code == 0
    assert run("plot", "weights", model, *out).exit_code == 0  # weights need no rows
    result = run("plot", "silhouettes", model, *out)
    assert result.exit_code == 2 and "say --data FILE" in result.output
    result = run("plot", "silhouettes", model, "--data", made / "wine.csv", *out)
    assert result.exit_code == 0, result.output
    result = run("plot", "satisfaction", model, *out)
    assert result.exit_code == 2 and "say --constraints FILE" in result.output
    result = run(
        "plot", "field", model, "--data", made / "wine.csv", "-c", made / "pairs.csv", *out
    )
    assert result.exit_code == 0, result.output
    moved = tmp_path / "moved"
    shutil.copytree(made, moved)
    record = moved / "out" / "run.json"
    record.write_text(record.read_text().replace(str(made / "wine.csv"), "wine.csv"))
    assert run("plot", "silhouettes", moved / "out", *out).exit_code == 0
    with (moved / "wine.csv").open("a") as file:
        file.write("\n")
    result = run("plot", "silhouettes", moved / "out", *out)
    assert result.exit_code == 2 and "has changed since the fit" in result.output
    (moved / "wine.csv").unlink()
    result = run("plot", "silhouettes", moved / "out", *out)
    assert result.exit_code == 2 and "is not there; say --data FILE" in result.output


def test_curves(tmp_path):
    lines = [[m, x, r, 0.1 * x + r] for m in ("one", "two") for x in (0, 5) for r in range(3)]
    write(tmp_path / "r.csv", ["method", "constraints", "run", "nmi"], lines)
    result = run("plot", "curves", tmp_path / "r.csv", "--score", "nmi", "-o", tmp_path / "c.svg")
    assert result.exit_code == 0, result.output
    assert "one" in (tmp_path / "c.svg").read_text()
    result = run("plot", "curves", tmp_path / "r.csv", "--score", "moon", "-o", tmp_path / "c.svg")
    assert result.exit_code == 2 and "no column 'moon'" in result.output
    result = run("plot", "curves", tmp_path / "no.csv", "--score", "nmi")
    assert result.exit_code == 2 and "no.csv" in result.output


@pytest.mark.parametrize(
    ("kind", "extra", "words"),
    [
        ("partition", ["--out", "x.gif"], "ends in .png, .svg or .pdf"),
        ("partition", ["--out", "nowhere/x.png"], "there is no folder nowhere"),
        ("partition", ["--data", "nowhere.csv"], "nowhere.csv"),
        ("partition", ["--data", "{pairs}"], "no column 'bottle'"),
        ("partition", ["--truth", "moon"], "no column 'moon'"),
        ("partition", ["-c", "{wine}"], "lacks the column"),
        ("satisfaction", ["-c", "nowhere.csv"], "nowhere.csv"),
        ("field", ["--row", "moon"], "no row has the id 'moon'"),
        ("partition", ["--before", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_mistakes_give_exit_code_2_and_one_line(made, tmp_path, monkeypatch, kind, extra, words):
    monkeypatch.chdir(tmp_path)
    places = {"pairs": made / "pairs.csv", "wine": made / "wine.csv"}
    result = run("plot", kind, made / "out", *(arg.format(**places) for arg in extra))
    assert result.exit_code == 2, result.output
    assert words in result.output and len(result.output.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_sources_that_are_none(made, tmp_path):
    for source, words in ((tmp_path / "no", "does not exist"), (tmp_path, "holds no model.skops"),
                          (made / "wine.csv", "no model of linkfield")):  # fmt: skip
        result = run("plot", "objective", source)
        assert result.exit_code == 2 and words in result.output


def test_rows_without_ids_are_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 8]
    np.save(tmp_path / "X.npy", X)
    write(tmp_path / "p.csv", ["a", "b", "kind"], [[0, 1, "must"], [0, 30, "cannot"]])
    result = run("fit", tmp_path / "X.npy", "-k", 2, "-c", tmp_path / "p.csv", "-o",
                 tmp_path / "out", "--no-report", "-q")  # fmt: skip
    assert result.exit_code == 0, result.output
    out = ("--out", tmp_path / "x.svg")
    result = run("plot", "field", tmp_path / "out", "--row", "30", *out)
    assert result.exit_code == 0, result.output
    result = run("plot", "field", tmp_path / "out", "--row", "x", *out)
    assert result.exit_code == 2 and "rows are 0, 1, 2" in result.output
    result = run("plot", "field", tmp_path / "out", "--row", "7", *out)
    assert result.exit_code == 2 and "no constraint speaks of that row" in result.output


def test_without_matplotlib_the_remedy_is_named(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("plot", "objective", made / "out", "--out", tmp_path / "x.png")
    assert result.exit_code == 2 and "pip install 'linkfield[plot]'" in result.output


def test_every_help_has_an_example():
    for args in (["plot"], *(["plot", kind] for kind in KINDS)):
        result = run(*args, "--help")
        assert result.exit_code == 0 and "Example: linkfield plot" in result.output
