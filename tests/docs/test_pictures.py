"""The hand-drawn pictures of docs/model.md are those that their script draws."""

import runpy
from pathlib import Path

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def test_pictures_of_the_model_are_current():
    pictures = runpy.run_path(str(IMAGES / "draw_model.py"))["PICTURES"]
    assert len(pictures) == 4
    for name, draw in pictures.items():
        kept = (IMAGES / name).read_text(encoding="utf-8")
        assert kept == draw(), f"{name}: run python docs/images/draw_model.py"
