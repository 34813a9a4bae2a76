"""The program as a whole: one line for a mistake, its exit codes."""

import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from linkfield.cli import main

PROGRAM = [sys.executable, "-c", "from linkfield.cli import main; main(prog_name='linkfield')"]


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "rows.csv", "-k", "0"],
        ["fit", "rows.csv", "--clusters", "many"],
        ["fit", "rows.csv", "--sed", "1"],
        ["fit", "rows.csv", "-e", "nothing"],
        ["plot", "moon", "folder"],
        ["completion", "tcsh"],
        ["bench", "--rounds", "0"],
        ["demo", "--data", "nothing"],
        ["moon"],
    ],
)
def test_wrong_options_take_one_line(words):
    result = CliRunner().invoke(main, words, prog_name="linkfield")
    assert result.exit_code == 2 and result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ") and "--help" in line


def test_a_command_without_anything_shows_its_help():
    result = CliRunner().invoke(main, ["fit"], prog_name="linkfield")
    assert result.exit_code == 2 and "Usage: linkfield fit" in result.stderr


def test_a_program_that_is_stopped_says_so():
    with subprocess.Popen(
        [*PROGRAM, "demo", "--draws", "100"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        program.stdout.readline()  # it has begun
        time.sleep(1.0)
        program.send_signal(signal.SIGINT)
        _, told = program.communicate(timeout=60)
    assert program.returncode == 130
    assert told.decode().strip().splitlines()[-1] == "stopped"


def test_a_demo_needs_a_place_for_its_picture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    result = CliRunner().invoke(main, ["demo"], prog_name="linkfield")
    assert result.exit_code == 2 and "cannot write to" in result.stderr
    gone = CliRunner().invoke(main, ["demo", "--out", "nowhere/picture.png"])
    assert gone.exit_code == 2 and "does not exist" in gone.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "moon"], "metric must be one of"),
        (["--distortion", "moon"], "distortion must be one of"),
        (["--weight", "-1"], "--weight must be positive"),
        (["--starts", "0"], "--starts must be"),
        (["--set", "tol=abc"], "tol must be"),
        (["-e", "mixture", "--set", "strength=-3"], "strength must be"),
        (["-c", "missing.csv"], "there is no file missing.csv"),
    ],
)
def test_options_are_checked_before_a_file_is_read(words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["fit", "nothing-there.csv", "-k", "2", *words])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert said in line and "linkfield." not in line
    assert not list(tmp_path.iterdir())
