"""Learning curves, themes and files."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from scipy import stats

from linkfield.plots import (
    LearningCurveDisplay,
    ObjectiveDisplay,
    PartitionDisplay,
    as_png,
    as_svg,
    save,
)


def results(rng):
    lines = [
        (data, method, x, run, fold, 0.5 + 0.01 * x * (method == "good") + 0.05 * rng.normal())
        for data in ("A", "B") for method in ("good", "bad") for x in (0, 10, 20)
        for run in range(5) for fold in range(2)
    ]  # fmt: skip
    names = ("data", "method", "constraints", "run", "fold", "nmi")
    return {
        name: np.array(values) for name, values in zip(names, zip(*lines, strict=True), strict=True)
    }


def test_curves_are_means_and_intervals_over_runs(rng):
    table = results(rng)
    display = LearningCurveDisplay.from_results(table, score="nmi")
    assert [panel.title for panel in display.panels] == ["A", "B"]
    (line,) = [x for x in display.axes_[1].lines if x.get_label() == "good"]
    mine = (table["data"] == "B") & (table["method"] == "good")
    for k, x in enumerate((0, 10, 20)):
        at = mine & (table["constraints"] == x)
        runs = np.array([table["nmi"][at & (table["run"] == r)].mean() for r in range(5)])
        assert line.get_ydata()[k] == pytest.approx(runs.mean())
        low, high = stats.t.interval(0.95, 4, runs.mean(), stats.sem(runs))
        curve = display.panels[1].curves[0]
        assert (curve.low[k], curve.high[k]) == pytest.approx((low, high))


def test_results_of_any_kind(rng, tmp_path: Path):
    import pandas as pd
    import polars as pl

    table = results(rng)
    wanted = LearningCurveDisplay.from_results(table, score="nmi").panels[0].curves[0].mean
    pd.DataFrame(table).to_csv(tmp_path / "x.csv", index=False)
    for kind in (pd.DataFrame(table), pl.DataFrame(table), tmp_path / "x.csv",
                 pd.DataFrame(table).to_records(index=False)):  # fmt: skip
        display = LearningCurveDisplay.from_results(kind, score="nmi", draw=False)
        np.testing.assert_allclose(display.panels[0].curves[0].mean, wanted)
    one = LearningCurveDisplay.from_results(
        {"constraints": [0, 1], "nmi": [0.1, None]}, score="nmi"
    )
    assert len(one.panels[0].curves[0].mean) == 1
    with pytest.raises(ValueError, match=r"no column 'ari'; there are constraints"):
        LearningCurveDisplay.from_results(table, score="ari")
    with pytest.raises(ValueError, match="must hold numbers"):
        LearningCurveDisplay.from_results(table, score="method")
    with pytest.raises(ValueError, match="no value in it"):
        LearningCurveDisplay.from_results({"constraints": [0], "nmi": [np.nan]}, score="nmi")
    with pytest.raises(TypeError, match="data frame, a dict of columns"):
        LearningCurveDisplay.from_results(3, score="nmi")
    with pytest.raises(ValueError, match="one length"):
        LearningCurveDisplay.from_results({"constraints": [0, 1], "nmi": [0.1]}, score="nmi")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ValueError, match="no lines under a header"):
        LearningCurveDisplay.from_results(tmp_path / "empty.csv", score="nmi")


def test_noises_have_panels_of_their_own(rng):
    table = results(rng)
    table["noise"] = np.where(table["fold"] == 0, 0.0, 0.2)
    display = LearningCurveDisplay.from_results(table, score="nmi", draw=False)
    titles = [panel.title for panel in display.panels]
    assert titles == ["A, noise 0.0", "A, noise 0.2", "B, noise 0.0", "B, noise 0.2"]


def test_axes_of_the_user_are_drawn_into(wine):
    figure, axes = pyplot.subplots(1, 2)
    display = PartitionDisplay.from_estimator(wine.model, wine.X, before=wine.y, ax=axes)
    assert display.figure_ is figure and list(display.axes_) == list(axes)
    assert axes[1].get_legend() is not None
    assert len(pyplot.get_fignums()) == 1
    display.plot(theme="dark", alpha=0.5)
    assert display.figure_ is not figure
    points = [c for c in display.ax_.collections if c.get_zorder() == 3 and len(c.get_offsets())]
    assert {c.get_alpha() for c in points} == {0.5}


def test_themes(wine):
    light = ObjectiveDisplay.from_estimator(wine.model, theme="light")
    dark = ObjectiveDisplay.from_estimator(wine.model, theme="dark")
    for display, is_dark in ((light, False), (dark, True)):
        paper = sum(display.figure_.get_facecolor()[:3])
        ink = sum(matplotlib.colors.to_rgb(display.ax_.title.get_color()))
        assert (paper < 1.5) == is_dark == (ink > 1.5)
    with pyplot.style.context("dark_background"):
        auto = ObjectiveDisplay.from_estimator(wine.model)
        assert auto.ax_.title.get_color() == "#ffffff"
        assert auto.ax_.lines[-1].get_color() == dark.ax_.lines[-1].get_color()
    with pytest.raises(ValueError, match="theme must be"):
        light.plot(theme="moon")


def test_files_are_whole_and_the_same_every_time(wine, tmp_path: Path):
    display = ObjectiveDisplay.from_estimator(wine.model, draw=False)
    assert not hasattr(display, "figure_")
    for ending, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        first = save(display, tmp_path / f"a.{ending}").read_bytes()
        assert first.startswith(start)
        assert save(display, tmp_path / f"b.{ending}", theme="light").read_bytes() == first
        assert save(display, tmp_path / f"b.{ending}", theme="dark").read_bytes() != first
    assert pyplot.get_fignums() == []
    with pytest.raises(ValueError, match=r"use \.png, \.svg or \.pdf"):
        save(display, tmp_path / "a.gif")
    assert len(list(tmp_path.iterdir())) == 6


def test_svg_takes_the_colours_of_the_page(wine):
    text = as_svg(PartitionDisplay.from_estimator(wine.model, wine.X, draw=False), "one")
    assert text.startswith("<svg") and "://" not in text and "#fe0" not in text
    assert "var(--curve-0)" in text and "var(--ink)" in text and "var(--curve-bad)" in text
    assert 'id="one-' in text


def test_without_matplotlib_the_remedy_is_named(wine, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = ObjectiveDisplay.from_estimator(wine.model, draw=False)
    for act in (display.plot, lambda: as_png(display)):
        with pytest.raises(ImportError, match=r"pip install 'linkfield\[plot\]'"):
            act()
