"""Learning curves: mean and 95% interval over runs against the number of constraints.

Needs matplotlib: pip install 'linkfield[plot]'.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .quantities import Where, cells_of, plain
from .result_table import ResultTable
from .statistics import interval, share_interval

__all__ = [
    "PALETTE",
    "Curve",
    "Panel",
    "Style",
    "as_png",
    "as_svg",
    "need_matplotlib",
    "panels_of",
    "styles_of",
]

FloatArray = NDArray[np.float64]

#: Colours that people with any colour vision can tell apart (Okabe and Ito's, the yellow darkened
#: for white paper), each for a light and for a dark page.
PALETTE = (
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2cc79b"),
    ("#b3568f", "#e094c2"),
    ("#b08a00", "#e8c93a"),
    ("#3a3a8c", "#9a9af0"),
    ("#6b4a2f", "#c9a27e"),
)
#: What no constraint reaches is grey.
NEUTRAL = ("#6e6e6e", "#a8a8a8")
#: Text, and lines behind the curves; replaced by the page's own colours in the HTML file.
INK, GRID = ("#202124", "#e8eaed"), ("#d9dce1", "#3c4045")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")

#: The methods of the papers: the fuller the method, the same the colour across papers.
KNOWN = {
    "K-Means": -1,
    "none": -1,
    "none full": -1,
    "none tied": -1,
    "fixed": -1,
    "MPC-KMeans": 0,
    "KMeans-I-C-D": 0,
    "ICM": 0,
    "posterior": 0,
    "posterior full": 0,
    "posterior tied": 0,
    "learned": 0,
    "PC-KMeans": 1,
    "KMeans-I-C": 1,
    "BP": 1,
    "hard": 1,
    "hard full": 1,
    "hard tied": 1,
    "Rayleigh": 1,
    "M-KMeans": 2,
    "KMeans-I": 2,
    "LP": 2,
    "soft": 2,
    "soft full": 2,
    "soft tied": 2,
    "MPC-KMeans 2003": 3,
    "mean field": 3,
    "auto": 4,
    "ICM, single rows": 5,
}


class Style(NamedTuple):
    """Colour (an index of the palette, -1 for grey), marker and dashes of a method."""

    colour: int
    marker: str
    dashes: str


class Curve(NamedTuple):
    """One method on one data set."""

    method: str
    counts: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True)
class Panel:
    """One data set, at one noise; ``beside`` panels stand in one row (0: as many as fit)."""

    title: str
    curves: tuple[Curve, ...]
    beside: int = 0


def need_matplotlib() -> None:
    """Raise with the remedy if matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(
            "the report's curves need matplotlib: pip install 'linkfield[plot]'"
        ) from None


def styles_of(methods: Iterable[str]) -> dict[str, Style]:
    """Give every method its look, the same in every figure of a report.

    Methods of the papers have fixed colours; others take the colours in alphabetical order, first
    each colour once, then again with other dashes.
    """
    styles, others = {}, 0
    for method in sorted(set(methods)):
        if method in KNOWN:
            colour, dashes = KNOWN[method], "--" if method.endswith("tied") else "-"
            if colour < 0 and dashes == "-":
                dashes = ":"
        elif method.lower().startswith(("k-means", "kmeans")):
            colour, dashes = -1, ":"
        else:
            colour, dashes = others % len(PALETTE), DASHES[others // len(PALETTE) % len(DASHES)]
            others += 1
        styles[method] = Style(colour, MARKERS[colour % len(MARKERS)], dashes)
    return styles


def panels_of(
    results: ResultTable, score: str, data: list[str], methods: list[str]
) -> tuple[Panel, ...]:
    """Average a score over the runs: one panel a data set and noise, one curve a method."""
    noises = results.numbers("noise")
    panels = []
    for name in data:
        for noise in noises:
            where = Where(results, name, score, noise)
            curves = [_curve(where, method) for method in methods]
            curves = [curve for curve in curves if np.isfinite(curve.mean).any()]
            title = name if len(noises) == 1 else f"{name}, {100 * noise:g}% wrong"
            if curves:
                panels.append(Panel(title, tuple(curves), len(noises) if len(noises) > 1 else 0))
    return tuple(panels)


def _curve(where: Where, method: str) -> Curve:
    cells = cells_of(where, method)
    spans = [interval(column) for column in cells.values.T]
    mean = np.array([span.mean for span in spans], np.float64)
    if where.score == "recovered":
        low, high = np.array([share_interval(column) for column in cells.values.T]).reshape(-1, 2).T
    else:
        half = np.nan_to_num([span.half_width for span in spans])
        low, high = mean - half, mean + half
    return Curve(method, cells.counts, mean, low, high)


def as_png(
    panels: tuple[Panel, ...], styles: dict[str, Style], *, ylabel: str, xlabel: str, log: bool
) -> bytes:
    """Draw panels on white."""
    light = [light for light, _ in (*PALETTE, NEUTRAL, INK, GRID)]
    figure = _figure(panels, styles, light, ylabel, xlabel, log)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def as_svg(
    panels: tuple[Panel, ...],
    styles: dict[str, Style],
    *,
    ylabel: str,
    xlabel: str,
    log: bool,
    name: str,
) -> str:
    """Draw panels as SVG whose colours are the page's variables, to be put into a page.

    The variables are ``--curve-0`` to ``--curve-6``, ``--curve-neutral``, ``--ink``, ``--rule``.
    """
    import matplotlib

    # Stand-ins that occur nowhere else, replaced below.
    count = len(PALETTE)
    stand_ins = [f"#fe{i:02x}01" for i in range(count + 3)]
    variables = [f"--curve-{i}" for i in range(count)] + ["--curve-neutral", "--ink", "--rule"]
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure = _figure(panels, styles, stand_ins, ylabel, xlabel, log)
        figure.patch.set_visible(False)
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=nothing)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    # Ids are unique in a page, and a page has many figures.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: (\d+)px [^;\"]*", r"font: \1px inherit", text)
    for colour, variable in zip(stand_ins, variables, strict=True):
        text = text.replace(colour, f"var({variable})")
    width = round(figure.get_figwidth() * 96)
    size = f'width="100%" style="max-width: {width}px"'
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', size, text, count=1)
    return text.strip()


def _figure(
    panels: tuple[Panel, ...],
    styles: dict[str, Style],
    colours: list[str],
    ylabel: str,
    xlabel: str,
    log: bool,
) -> Any:
    """Lay the panels out, up to three in a row if they do not say, with one legend below."""
    from matplotlib.figure import Figure

    columns = panels[0].beside or (2 if len(panels) == 4 else min(3, len(panels)))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.6 * columns + 0.8, 2.75 * rows + 0.7), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    ink, grid = colours[-2:]
    for axis, panel in zip(axes.flat, panels, strict=False):
        for curve in panel.curves:
            style = styles[curve.method]
            colour = colours[style.colour] if style.colour >= 0 else colours[len(PALETTE)]
            _draw(axis, curve, style, colour)
        axis.set_title(panel.title, fontsize=10, color=ink)
        _scale(axis, panel, log)
        axis.grid(True, color=grid, linewidth=0.6)
        axis.set_axisbelow(True)
        axis.set_facecolor("none")
        axis.tick_params(colors=ink, labelsize=8, length=2.5)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color(ink)
    for axis in axes[:, 0]:
        axis.set_ylabel(ylabel, fontsize=9, color=ink)
    for axis in axes.flat[max(0, len(panels) - columns) : len(panels)]:
        axis.set_xlabel(xlabel, fontsize=9, color=ink)
    found = [axis.get_legend_handles_labels() for axis in axes.flat]
    legend = {n: h for handles, names in found for h, n in zip(handles, names, strict=True)}
    figure.legend(
        legend.values(),
        legend.keys(),
        loc="outside lower center",
        ncols=max(1, int(figure.get_figwidth() / (0.65 + 0.075 * max(map(len, legend))))),
        frameon=False,
        fontsize=9,
        labelcolor=ink,
    )
    return figure


def _draw(axis: Any, curve: Curve, style: Style, colour: str) -> None:
    there = np.isfinite(curve.mean)
    x, mean = curve.counts[there], curve.mean[there]
    axis.plot(
        x,
        mean,
        color=colour,
        linestyle=style.dashes,
        marker=style.marker,
        markersize=4,
        linewidth=1.6,
        label=curve.method,
    )
    axis.fill_between(x, curve.low[there], curve.high[there], color=colour, alpha=0.16, lw=0)


def _scale(axis: Any, panel: Panel, log: bool) -> None:
    """Scale x so that 0 and large counts both show: linear up to the first count, then log."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    if log and all((curve.low[np.isfinite(curve.low)] > 0).all() for curve in panel.curves):
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.yaxis.set_minor_formatter(NullFormatter())
    counts = np.unique(np.concatenate([curve.counts for curve in panel.curves]))
    positive = counts[counts > 0]
    if positive.size:
        first, last = float(positive[0]), float(positive[-1])
        axis.set_xscale("symlog", linthresh=first, linscale=0.6)
        left = -0.15 * first if counts[0] <= 0 else first / (last / first) ** 0.05
        axis.set_xlim(left, last * (last / first) ** 0.05)
    place = axis.get_xaxis_transform().transform(np.column_stack([counts, 0 * counts]))[:, 0]
    ticks = [float(counts[0])]
    before = place[0]
    for count, x in zip(counts[1:], place[1:], strict=True):
        if count == counts[-1] or (x - before > 26 and place[-1] - x > 26):
            ticks.append(float(count))
            before = x
    axis.set_xticks(ticks, [plain(tick) for tick in ticks])
    axis.set_xticks([], minor=True)
