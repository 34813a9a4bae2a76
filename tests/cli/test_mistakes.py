"""What users do wrong: exit code 2 and one helpful line, and nothing left behind."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from cli_files import HEADER, iris_lines, write_csv, write_iris
from click.testing import CliRunner

import linkfield
from linkfield.cli import _fitting, main
from linkfield.cli._mistakes import mistakes, on_purpose

QUICK = ["--no-report", "--metric", "diagonal", "--starts", "1"]
IRIS = ["fit", "iris.csv", "--id-column", "flower"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    return tmp_path


def changed(folder, name, row, column, value):
    """Write iris.csv with one cell changed."""
    lines = [list(line) for line in iris_lines()]
    lines[row][HEADER.index(column)] = value
    write_csv(folder / name, HEADER, lines)


def prepare(folder):
    """Write all the files that are wrong in some way."""
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "words.csv").write_text("name,town\nx,y\nz,w\n")
    changed(folder, "text.csv", 7, "petal_width", "wide")
    changed(folder, "gap.csv", 20, "sepal_width", "")
    changed(folder, "nan.csv", 20, "sepal_width", "NaN")
    changed(folder, "twice.csv", 20, "flower", "f003")
    pairs = ("a", "b", "kind")
    write_csv(folder / "unknown.csv", pairs, [("f001", "f002", "must"), ("f001", "x9", "must")])
    write_csv(folder / "kinds.csv", pairs, [("f001", "f002", "maybe")])
    write_csv(folder / "columns.csv", ("a", "b"), [("f001", "f002")])
    write_csv(folder / "far.csv", pairs, [(3, 150, "must")])
    chain = [("f001", "f060", "must"), ("f060", "f120", "must"), ("f001", "f120", "cannot")]
    write_csv(folder / "contradictory.csv", pairs, chain)
    apart = [(f"f{a:03d}", f"f{b:03d}", "cannot") for a in range(4) for b in range(a)]
    write_csv(folder / "apart.csv", pairs, apart)
    (folder / "folder").mkdir()
    (folder / "model.skops").write_bytes(b"PK\x03\x04 this is no model")
    (folder / "pickle.skops").write_bytes(b"\x80\x04N.")


MISTAKES = {
    "missing file": (["fit", "nothing.csv", "-k", "3"], ["nothing.csv", "check the path"]),
    "a folder": (["fit", "folder", "-k", "3"], ["folder"]),
    "unknown ending": (["fit", "iris.xlsx", "-k", "3"], ["iris.xlsx", ".csv"]),
    "empty file": (["fit", "empty.csv", "-k", "3"], ["empty.csv", "empty"]),
    "header only": (["fit", "header.csv", "-k", "3"], ["header.csv", "no rows"]),
    "no numbers": (["fit", "words.csv", "-k", "2"], ["words.csv", "no column of numbers"]),
    "unknown column": (["fit", "iris.csv", "-k", "3", "--columns", "petal_len,sepal_width"],
                       ["'petal_len'", "'petal_length'"]),
    "unknown id column": (["fit", "iris.csv", "-k", "3", "--id-column", "Flower"], ["'flower'"]),
    "unknown label column": ([*IRIS, "--label-column", "species"], ["'species'", "'known'"]),
    "text where numbers are needed": (["fit", "text.csv", "-k", "3"],
                                      ["line 9", "'petal_width'", "'wide'"]),
    "an empty cell": (["fit", "gap.csv", "-k", "3"], ["line 22", "'sepal_width'"]),
    "NaN": (["fit", "nan.csv", "-k", "3"], ["line 22", "'sepal_width'"]),
    "an id twice": (["fit", "twice.csv", "--id-column", "flower", "-k", "3"], ["f003"]),
    "no number of clusters": (IRIS, ["--clusters", "--label-column"]),
    "K too large": ([*IRIS, "-k", "151"], ["--clusters 151", "150"]),
    "unknown ids": ([*IRIS, "-k", "3", "-c", "unknown.csv"], ["unknown.csv", "'x9'"]),
    "unknown kind": ([*IRIS, "-k", "3", "-c", "kinds.csv"], ["line 2", "'maybe'"]),
    "columns of constraints": ([*IRIS, "-k", "3", "-c", "columns.csv"], ["columns.csv", "'kind'"]),
    "missing constraints": ([*IRIS, "-k", "3", "-c", "none.csv"], ["none.csv"]),
    "a row too far": (["fit", "iris.csv", "-k", "3", "-c", "far.csv"],
                      ["far.csv", "150", "--id-column"]),
    "ids without a column": (["fit", "iris.csv", "-k", "3", "-c", "pairs.csv"],
                             ["pairs.csv", "--id-column"]),
    "contradictory constraints": (
        [*IRIS, "-k", "3", "-c", "contradictory.csv"],
        ["f001-f060-f120 must, f001-f120 cannot", "constraints repair", "--closure false",
         "--allow-contradictions"]),
    "hard constraints that need more clusters": (
        [*IRIS, "-k", "3", "-c", "apart.csv", "-e", "cop"], ["f000", "f003", "3 clusters"]),
    "output is a file": ([*IRIS, "-k", "3", "--out", "iris.csv"], ["--out iris.csv", "a folder"]),
    "output below a file": ([*IRIS, "-k", "3", "--out", "iris.csv/out"], ["iris.csv", "--out"]),
    "output cannot be written": ([*IRIS, "-k", "3", "--out", "/proc/none/out"],
                                 ["/proc", "--out"]),
    "unknown parameter": ([*IRIS, "-k", "3", "--set", "tolerance=1"], ["'tolerance'", "tol"]),
    "a value that makes no sense": ([*IRIS, "-k", "3", "--set", "tol=-1"], ["tol", "-1"]),
    "no threads": ([*IRIS, "-k", "3", "--jobs", "0"], ["--jobs 0", "1 or more"]),
    "no seed": ([*IRIS, "-k", "3", "--set", "random_state=abc"], ["random_state=abc", "whole"]),
    "a negative seed": ([*IRIS, "-k", "3", "--set", "random_state=-1"], ["random_state=-1"]),
    "unknown metric": ([*IRIS, "-k", "3", "--metric", "foo"], ["'foo'", "'auto'", "'diagonal'"]),
    "no parameter of this estimator": ([*IRIS, "-k", "3", "-e", "pck", "--metric", "full"],
                                       ["--metric", "'pck'"]),
    "unknown distortion": ([*IRIS, "-k", "3", "--distortion", "manhattan"], ["manhattan"]),
    "negative numbers for a divergence": (
        ["fit", "iris.npy", "-k", "3", "--distortion", "i-divergence"], ["Negative"]),
    "two kinds of columns": ([*IRIS, "-k", "3", "--text-column", "site", "--columns", "known"],
                             ["--text-column", "--columns"]),
    "groups without a mixture": ([*IRIS, "-k", "3", "--groups", "pairs.csv"], ["mixture"]),
    "corrupted model": (["predict", "model.skops", "iris.csv"], ["model.skops", "damaged"]),
    "a pickle": (["predict", "pickle.skops", "iris.csv"], ["pickle"]),
    "no model": (["predict", "folder", "iris.csv"], ["folder", "model.skops"]),
    "missing model": (["predict", "none.skops", "iris.csv"], ["none.skops"]),
    "labels that are none": (["evaluate", "iris.csv", "truth.csv"], ["iris.csv", "'id'"]),
    "no labels": (["evaluate", "folder", "truth.csv"], ["folder", "labels.csv"]),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_helpful_line(here, name):
    prepare(here)
    np.save(here / "iris.npy", np.random.default_rng(0).normal(size=(50, 3)))
    before = sorted(os.listdir())
    command, words = MISTAKES[name]
    options = ["--quiet"] if command[0] != "evaluate" else []
    result = CliRunner().invoke(main, [*command, *options])
    assert result.exit_code == 2, (result.output, result.exception)
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("Error: "), result.stderr
    for word in words:
        assert word in lines[0]
    assert result.stdout == ""
    assert sorted(os.listdir()) == before


def test_a_real_process_says_the_same(here):
    prepare(here)
    code = "from linkfield.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(Path(linkfield.__file__).parents[1])}
    for name in ("contradictory constraints", "corrupted model"):
        command, words = MISTAKES[name]
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert all(word in done.stderr.splitlines()[-1] for word in words)


def process(*args, **how):
    """Run ``python -m linkfield``."""
    environment = {**os.environ, "PYTHONPATH": str(Path(linkfield.__file__).parents[1])}
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
    return subprocess.run(
        [sys.executable, "-m", "linkfield", *args], text=True, check=False, env=environment, **how
    )


def test_python_m_is_the_command(here):
    done = process("--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:1] == ["linkfield,"]
    assert process("--help").stdout.startswith("Usage: linkfield ")


def test_contradictions_can_be_allowed(here):
    prepare(here)
    for remedy in (["--allow-contradictions"], ["--closure", "false"]):
        command = [*IRIS, "-k", "3", "-c", "contradictory.csv", *QUICK, *remedy]
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, result.output


def test_labels_contradict_pairs_in_words(here):
    # f000 and f096 are setosa and versicolor by their labels.
    write_csv(here / "join.csv", ("a", "b", "kind"), [("f000", "f096", "must")])
    result = CliRunner().invoke(main, [*IRIS, "--label-column", "known", "-c", "join.csv", "-q"])
    assert result.exit_code == 2
    assert "f000-f096" in result.stderr and "setosa" in result.stderr


# ------------------------------------------------------------------- full disk


def full(*args, **kwargs):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["write_result", "write_report", "write_record"])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_what_was_there(here, monkeypatch, where, earlier):
    if earlier:
        assert CliRunner().invoke(main, [*IRIS, "-k", "2", *QUICK]).exit_code == 0
        old = Path("linkfield-out/labels.csv").read_bytes()
    before = sorted(os.listdir())
    monkeypatch.setattr(_fitting, where, full)
    quick = [option for option in QUICK if option != "--no-report"]
    result = CliRunner().invoke(main, [*IRIS, "-k", "3", *quick, "--quiet"])
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert "disk is full" in result.stderr and "--out" in result.stderr
    assert sorted(os.listdir()) == before
    if earlier:
        assert Path("linkfield-out/labels.csv").read_bytes() == old


LIMITED = """
import resource, sys
from linkfield.cli import main, _fitting
write = _fitting.write_result
def limited(result):
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))  # labels.csv is larger
    write(result)
_fitting.write_result = limited
main()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of processes are Unix's")
def test_files_that_do_not_fit_leave_nothing_behind(here):
    before = sorted(os.listdir())
    environment = {**os.environ, "PYTHONPATH": str(Path(linkfield.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), *IRIS, "-k", "3", *QUICK, "-q"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1 and "disk is full" in done.stderr
    assert sorted(os.listdir()) == before


# ------------------------------------------------------------------------ bugs


@pytest.mark.parametrize(
    "bug",
    [
        lambda *a, **k: np.ones(3) + np.ones(4),
        lambda *a, **k: {}["missing"],
        lambda *a, **k: int("seven"),
        lambda *a, **k: None.labels_,
    ],
)
def test_a_bug_is_not_disguised(here, monkeypatch, bug):
    monkeypatch.setattr(linkfield.HMRFKMeans, "fit", bug)
    result = CliRunner().invoke(main, [*IRIS, "-k", "3", "-q"])
    assert result.exit_code == 1
    assert not isinstance(result.exception, SystemExit)
    assert "linkfield-out" not in os.listdir()


def test_only_errors_that_are_meant_for_users_are_on_purpose():
    with pytest.raises(ValueError) as told:  # noqa: PT011
        linkfield.HMRFKMeans(5).fit([[0.0], [1.0]])
    assert on_purpose(told.value)
    with pytest.raises(ValueError) as checked:  # noqa: PT011
        linkfield.HMRFKMeans(1).fit([[np.nan], [1.0]])
    assert on_purpose(checked.value)
    with pytest.raises(ValueError, match="broadcast") as bug:  # numpy's, inside linkfield
        linkfield.Constraints(must_link=[(0, 1)]).check_rows(np.ones(3))
    assert not on_purpose(bug.value)
    with pytest.raises(ValueError, match="broadcast"), mistakes():
        np.ones(3) + np.ones(4)


# ---------------------------------------------------------------------- stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_stdout_that_is_full_is_one_line(here):
    assert CliRunner().invoke(main, [*IRIS, "-k", "3", *QUICK]).exit_code == 0
    for command in (["predict", "linkfield-out", "iris.csv"], ["--help"]):
        with open("/dev/full", "w") as stdout:
            done = process(*command, stdout=stdout)
        assert done.returncode == 2, done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith("Error: ") and "cannot be printed" in last
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
