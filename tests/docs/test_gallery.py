"""Every example of the gallery runs without a warning; what it claims, it asserts itself."""

import ast
import runpy
import sys
from pathlib import Path

import matplotlib
import pytest

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))


@pytest.fixture
def figures():
    """Figures that are drawn but not shown, closed afterwards."""
    with matplotlib.rc_context():
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.close("all")
        yield plt
        plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, figures, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert figures.get_fignums(), "an example shows a picture"
    for number in figures.get_fignums():
        figures.figure(number).canvas.draw()  # a figure that cannot be drawn fails here
    assert not list(tmp_path.iterdir()), "an example leaves no files behind"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_asserts_what_it_claims(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def test_order_lists_every_example(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS))
    try:
        from _gallery_order import ORDER
    finally:
        sys.modules.pop("_gallery_order", None)
    assert sorted(ORDER) == [path.name for path in EXAMPLES]
    assert len(EXAMPLES) >= 8
