"""``linkfield experiment`` as a user runs it."""

import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

from linkfield import experiments
from linkfield.cli import main


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINKFIELD_DATA", raising=False)
    return lambda *args: CliRunner().invoke(main, ["experiment", *args])


def test_list_names_every_experiment(command):
    result = command("list")
    assert result.exit_code == 0
    for name in experiments.names():
        assert any(line.startswith(name) for line in result.stdout.splitlines())


def test_run_writes_results_and_says_where(command, tmp_path):
    result = command("run", "bilenko2004", "--quick", "--out", "here")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() == "here/bilenko2004.csv"
    said = result.stderr.splitlines()
    assert said[0] == "bilenko2004: 0 of 36 cells" and said[-1] == "bilenko2004: 36 of 36 cells"
    assert 3 <= len(said) <= 12
    assert {p.name for p in (tmp_path / "here").iterdir()} == {
        "bilenko2004.csv",
        "bilenko2004.json",
    }
    again = command("run", "bilenko2004", "--quick", "--out", "here")
    assert again.stderr.splitlines() == ["bilenko2004: 36 of 36 cells"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["run", "bosu2003"], ["no experiment 'bosu2003'", "basu2003", "'all'"]),
        (["run", "bilenko2004"], ["protein.csv.gz", "--data", "LINKFIELD_DATA"]),
        (["run", "basu2003", "--data", "nowhere"], ["nowhere does not exist", "--data"]),
        (["run", "basu2003", "--quick", "--out", "file/below"], ["cannot write", "--out"]),
        (["report", "--out", "nowhere"], ["nowhere does not exist", "--out"]),
    ],
)
def test_mistakes_give_exit_code_2_and_one_line(command, tmp_path, args, words):
    (tmp_path / "file").write_text("")
    result = command(*args)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def test_stopping_says_how_to_go_on(command, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", stopped, raising=False)
    result = command("run", "basu2003")
    assert result.exit_code == 130
    assert "the same command goes on" in result.stderr


def test_all_runs_every_experiment_with_the_options(command, monkeypatch, tmp_path):
    seen = []

    def noted(name, out, **options):
        seen.append((name, options))
        return out / name

    monkeypatch.setattr(experiments, "run", noted, raising=False)
    args = ["run", "all", "--runs", "3", "--workers", "2", "--quick", "--data", str(tmp_path)]
    assert command(*args).exit_code == 0
    assert [name for name, _ in seen] == list(experiments.names())
    for _, options in seen:
        assert options.pop("progress") is not None
        assert options == {"runs": 3, "workers": 2, "quick": True, "data_dir": tmp_path}


def test_a_fit_that_fails_is_no_mistake_of_the_user(command, monkeypatch):
    def failed(*args, **options):
        error = ValueError("a fit failed")
        error.add_note("at some cell")
        raise error

    monkeypatch.setattr(experiments, "run", failed, raising=False)
    result = command("run", "basu2003")
    assert result.exit_code == 1 and isinstance(result.exception, ValueError)


def test_report_is_written_by_its_module(command, tmp_path, monkeypatch):
    module = ModuleType("linkfield.experiments.report")
    module.write_report = lambda out: out / "report.html"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (tmp_path / "results").mkdir()
    result = command("report")
    assert result.exit_code == 0
    assert result.stdout.strip() == "results/report.html"


def test_help_has_examples():
    for args in ([], ["list"], ["run"], ["report"]):
        result = CliRunner().invoke(main, ["experiment", *args, "--help"])
        assert result.exit_code == 0
        assert "Example:" in result.output


def test_all_leaves_out_what_has_no_data(command, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "names", lambda: ("basu2004", "bilenko2004"))
    result = command("run", "all", "--quick")
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == ["results/bilenko2004.csv"]
    assert result.stderr.startswith("basu2004: left out; 20newsgroups.jsonl.gz is needed")
    alone = command("run", "basu2004", "--quick")
    assert alone.exit_code == 2 and "is needed" in alone.stderr
