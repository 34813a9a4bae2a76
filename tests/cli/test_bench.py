"""``linkfield bench`` as a user runs it; times are never asserted, only what is made of them."""

import json

import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from linkfield.bench import measure
from linkfield.cli import main

ROWS = "\n".join(",".join(map(str, row)) for row in load_iris().data)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measure, "FLOOR", 0.0)
    return lambda *args: CliRunner().invoke(main, ["bench", "--rounds", "2", *args])


@pytest.fixture
def flowers(tmp_path):
    lines = ROWS.splitlines()
    kinds = load_iris().target
    text = [f"{line},kind{k},f{i}" for i, (line, k) in enumerate(zip(lines, kinds, strict=True))]
    (tmp_path / "flowers.csv").write_text("\n".join(["a,b,c,d,kind,name", *text]))
    return "flowers.csv"


def holds(line, part, base):
    """The ratio is the quotient of the medians that are reported.

    It may lie outside the ratios of single rounds, of which there are few here.
    """
    if line[part] is None or base[part] is None:
        assert line[f"{part}_ratio"] is None
        return
    ratio = line[f"{part}_ratio"]
    assert ratio["median"] == pytest.approx(line[part]["median"] / base[part]["median"])
    if ratio["low"] is None:  # every round lost one of the two in noise
        assert ratio["high"] is None
        return
    assert ratio["low"] <= ratio["high"]
    assert line[part]["low"] <= line[part]["median"] <= line[part]["high"]


def test_the_figures_belong_together(run, tmp_path):
    result = run("--size", "tiny", "--json", "--out", "bench.md")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["rounds"] == 2 and found["machine"]["cores"] >= 1
    assert {"python", "numpy", "scikit-learn"} <= set(found["machine"]["versions"])
    assert len(found["results"]) == 2 and found["results"][1]["data"].startswith("CSR")
    for part in found["results"]:
        names = [line["candidate"] for line in part["lines"]]
        assert names[:3] == ["scikit-learn lloyd", "scikit-learn elkan", "linkfield, no pairs"]
        assert any(name.endswith("pairs") and "no pairs" not in name for name in names)
        for line in part["lines"]:
            holds(line, "iteration", part["lines"][0])
            holds(line, "fit", part["lines"][0])
            assert line["fit"]["median"] > 0
    text = (tmp_path / "bench.md").read_text()
    assert text.count("| scikit-learn lloyd |") == 2 and "How to read it" in text
    assert "Machine:" in text
    assert any(line.startswith("... ") for line in result.stderr.splitlines())


def test_rows_of_ones_own_and_the_table(run, flowers):
    result = run("--data", flowers, "--label-column", "kind", "--id-column", "name", "-q")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].strip() == "flowers.csv: 150 x 4, K 3, float64"
    table = [line for line in lines if line.startswith(("scikit-learn", "linkfield"))]
    assert len(table) == 4 and max(map(len, table)) <= 80
    assert "linkfield, 750 pairs" in result.stdout  # five a row at most
    assert result.stderr == ""


def test_without_classes_the_number_of_clusters_must_be_said(run, flowers):
    args = ["--data", flowers, "--exclude", "kind", "--exclude", "name"]
    assert "--clusters" in run(*args).stderr
    assert run(*args, "-k", "3", "-q").exit_code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--data", "nowhere.csv", "-k", "2"], ["no file nowhere.csv"]),
        (["-k", "2"], ["--data"]),
        (["--data", "flowers.csv", "-k", "151"], ["150 rows"]),
        (["--data", "flowers.csv", "--label-column", "knd"], ["did you mean 'kind'"]),
        (["--out", "nowhere/bench.md"], ["no folder nowhere"]),
        (["--out", "."], ["is a folder"]),
    ],
)
def test_mistakes_give_exit_code_2_and_one_line(run, flowers, args, words):
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def test_help_has_an_example_and_no_size_of_tests():
    result = CliRunner().invoke(main, ["bench", "--help"])
    assert "Example: linkfield bench" in result.output
    assert "[small|medium|large]" in result.output
