"""The page "Constraints in practice": its shell examples run, its figures are the results'."""

import csv
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkfield.cli import main

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "constraints.md"
RESULTS = ROOT / "results" / "weights.csv"


def examples(text):
    """Yield (command, output) of all shell examples, in order."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def test_shell_examples_say_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, n_run = 0, 0
    for command, output in examples(PAGE.read_text(encoding="utf-8")):
        name, *args = shlex.split(command)
        if name == "cat" and not Path(args[0]).exists():
            Path(args[0]).write_text(output)
        elif name == "cat":
            assert Path(args[0]).read_text() == output
        elif name == "echo":
            assert output.strip() == str(code)
        else:
            assert name == "linkfield"
            result = CliRunner().invoke(main, args)
            code, n_run = result.exit_code, n_run + 1
            assert result.stdout == output, command
            assert result.stderr == ""
    assert n_run >= 5


@pytest.mark.skipif(not RESULTS.exists(), reason="the results are no part of the distribution")
def test_figures_are_those_of_the_results():
    with RESULTS.open() as stream:
        fits = list(csv.DictReader(stream))
    rows = re.findall(r"^\| (\S+) \| (none|a tenth) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    methods = ["k-means", "weight 1 (closure)"]
    methods += [f"weight {w} (pairs only)" for w in ("1", "0.1", "0.01")]
    assert len(rows) == 12
    for data, wrong, cells in rows:
        noise = {"none": 0.0, "a tenth": 0.1}[wrong]
        for method, cell in zip(methods, cells.split(" | "), strict=True):
            found = [
                float(fit["ari"])
                for fit in fits
                if (fit["data"], fit["method"]) == (data, method) and float(fit["noise"]) == noise
            ]
            assert float(cell) == pytest.approx(sum(found) / len(found), abs=0.0051), (data, method)
