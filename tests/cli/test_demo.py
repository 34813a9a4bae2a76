"""The demo as a user runs it."""

import sys

import pytest
from click.testing import CliRunner

from linkfield.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(main, ["demo", "--width", "100", *args])


def figures(output, name):
    line = next(line for line in output.splitlines() if f"│ {name} " in line)
    return [cell.strip() for cell in line.split("│")[2:5]]


def test_demo_shows_gain_weights_and_a_picture(run, tmp_path):
    result = run("--data", "wine", "--draws", "3")
    assert result.exit_code == 0, result.output
    plain = float(figures(result.output, "k-means")[0])
    for n in (20, 50, 100):
        nmi, f_score, violated = figures(result.output, f"linkfield, {n} constraints")
        assert float(nmi) > plain
        assert 0 < float(f_score) <= 1
        assert float(violated) <= n
    assert "proline" in result.output
    picture = (tmp_path / "linkfield-demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["linkfield-demo.png"]


def test_demo_on_other_data_and_another_file(run, tmp_path):
    result = run("--data", "iris", "--draws", "1", "--out", "two.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "two.png").exists()


def test_mistakes_give_exit_code_2_and_a_remedy(run):
    result = run("--out", "nowhere/at/all.png")
    assert result.exit_code == 2
    assert "does not exist" in result.output
    assert run("--data", "moon").exit_code == 2


def test_without_matplotlib_there_is_no_picture_but_a_hint(run, tmp_path, monkeypatch):
    module = sys.modules["linkfield.cli.demo"]  # the package's attribute is the command
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    result = run("--draws", "1")
    assert result.exit_code == 0
    assert "linkfield[plot]" in result.output
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example():
    for args in (["--help"], ["demo", "--help"]):
        result = CliRunner().invoke(main, args)
        assert result.exit_code == 0
        assert "Example:" in result.output
