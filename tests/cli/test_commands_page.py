"""The commands on the page "Command line" do what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from cli_files import write_csv, write_iris, write_texts
from click.testing import CliRunner

from linkfield.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def commands():
    """Return (arguments, lines shown) of every console block."""
    text = PAGE.read_text(encoding="utf-8")
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.S | re.M):
        first, *shown = block.splitlines()
        assert first.startswith("$ linkfield ")
        yield shlex.split(first)[2:], shown


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_iris(tmp_path)
    write_texts(tmp_path / "notes.jsonl")
    chain = [("f001", "f060", "must"), ("f060", "f120", "must"), ("f001", "f120", "cannot")]
    write_csv(tmp_path / "contradictory.csv", ("a", "b", "kind"), chain)


def test_the_commands_of_the_page(files):
    found = list(commands())
    assert len(found) >= 7
    for arguments, shown in found:
        result = CliRunner().invoke(main, arguments)
        failed = any(line.startswith("Error: ") for line in shown)
        assert result.exit_code == (2 if failed else 0), (arguments, result.output)
        said = iter([line.rstrip() for line in result.output.splitlines()])
        for line in shown:  # in this order, with others between them
            assert line == "..." or line.rstrip() in said, (arguments, line, result.output)


@pytest.mark.parametrize("name", sorted(main.later))
def test_every_help_has_an_example(name):
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0
    assert f"Example: linkfield {name}" in result.output


def test_the_page_names_every_option_of_a_fit():
    text = PAGE.read_text(encoding="utf-8")
    from linkfield.cli.fit import fit

    for parameter in fit.params:
        long = [name for name in parameter.opts if name.startswith("--")]
        assert all(name in text for name in long), long
