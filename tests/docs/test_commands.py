"""The commands on the page "Getting started" print what the page shows."""

import doctest
import re
from pathlib import Path

from click.testing import CliRunner

from linkfield.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "getting_started.md"


def commands(text):
    """Return (arguments, lines shown) of every console block."""
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.S | re.M):
        first, *shown = block.splitlines()
        assert first.startswith("$ linkfield ")
        yield first.split()[2:], shown


def test_commands_of_the_page(monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    names: dict = {}
    for example in doctest.DocTestParser().get_examples(text, PAGE.name):
        exec(example.source, names)  # writes the files
    monkeypatch.chdir(names["folder"])
    for arguments, shown in (found := list(commands(text))):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        said = iter([line.rstrip() for line in result.output.splitlines()])
        for line in shown:  # in this order, others between them where the page has "..."
            assert line == "..." or line.rstrip() in said, (line, result.output)
    assert len(found) == 3
