"""Learning curves: mean and 95% interval over runs against the number of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..evaluation.intervals import interval
from ._columns import columns_of
from ._display import Display, Layout
from ._theme import MARKERS, PALETTE, Theme, dress, literal

__all__ = ["Curve", "LearningCurveDisplay", "Panel", "Style", "styles_of"]

FloatArray = NDArray[np.float64]

DASHES = ("-", "--", "-.", ":")


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


def styles_of(
    methods: Iterable[str], *, known: Mapping[str, int] | None = None
) -> dict[str, Style]:
    """Give every method its look: ``known`` ones a fixed colour, k-means grey.

    The others take the colours in alphabetical order, first each colour once, then again with
    other dashes.
    """
    fixed, styles, others = known or {}, {}, 0
    for method in sorted(set(methods)):
        if method in fixed:
            colour, dashes = fixed[method], "--" if method.endswith("tied") else "-"
            if colour < 0 and dashes == "-":
                dashes = ":"
        elif method.lower().startswith(("k-means", "kmeans")):
            colour, dashes = -1, ":"
        else:
            colour, dashes = others % len(PALETTE), DASHES[others // len(PALETTE) % len(DASHES)]
            others += 1
        styles[method] = Style(colour, MARKERS[colour % len(PALETTE)], dashes)
    return styles


class LearningCurveDisplay(Display):
    """Mean and 95% interval of a score over runs, against the number of constraints.

    Make one with :meth:`from_results`.

    Parameters
    ----------
    panels : sequence of Panel
    styles : dict of str to Style, optional
    ylabel, xlabel : str
    log : bool, default=False
        Whether the vertical axis is logarithmic, where all values are positive.
    """

    def __init__(
        self,
        panels: Sequence[Panel],
        styles: dict[str, Style] | None = None,
        *,
        ylabel: str = "score",
        xlabel: str = "constraints",
        log: bool = False,
    ) -> None:
        if not panels:
            raise ValueError("there is nothing to draw: no panel has a curve")
        self.panels = tuple(panels)
        methods = {curve.method for panel in panels for curve in panel.curves}
        self.styles = styles if styles is not None else styles_of(methods)
        self.ylabel, self.xlabel, self.log = ylabel, xlabel, log

    @classmethod
    def from_results(
        cls,
        results: Any,
        *,
        score: str,
        x: str = "constraints",
        method: str = "method",
        panels: Sequence[str] = ("data", "noise"),
        run: str | None = "run",
        log: bool = False,
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Average a table of results and draw it.

        Parameters
        ----------
        results : data frame, dict of columns, structured array, or path of a CSV file
            One line for every measurement, as ``linkfield experiment run`` writes them.
        score : str
            The column to be averaged; lines without a value are left out.
        x, method : str
            Columns of the horizontal axis and of the curves' names. Without a column ``method``
            there is one curve.
        panels : sequence of str, default=("data", "noise")
            A panel for every combination of values of these columns, as far as they are there.
        run : str or None, default="run"
            Lines of one run (its folds) are averaged first: they share rows, and the interval is
            one of the mean over runs. Without such a column every line is a run.
        log : bool, default=False
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        table = columns_of(results)
        for name in (score, x):
            if name not in table:
                raise ValueError(f"no column {name!r}; there are {', '.join(sorted(table))}")
        found = _panels(table, score, x, method, _parts(table, panels), run)
        if not found:
            raise ValueError(f"the column {score!r} has no value in it; choose another score")
        display = cls(found, ylabel=score.replace("_", " "), xlabel=x, log=log)
        return display.plot(ax, theme=theme) if draw else display

    def _layout(self) -> Layout:
        """Up to three panels in a row if they do not say."""
        n = len(self.panels)
        columns = self.panels[0].beside or (2 if n == 4 else min(3, n))
        rows = -(-n // columns)
        return Layout(rows, columns, 3.6 * columns + 0.8, 2.75 * rows + 0.7)

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        panels, columns = self.panels, self._layout().columns
        for axis in axes[len(panels) :]:
            axis.set_visible(False)
        for axis, panel in zip(axes, panels, strict=False):
            for curve in panel.curves:
                _draw_curve(axis, curve, self.styles[curve.method], look, style)
            axis.set_title(literal(panel.title), fontsize=10, color=look.ink)
            _scale(axis, panel, self.log)
            dress(axis, look)
        for axis in axes[::columns]:
            axis.set_ylabel(literal(self.ylabel), fontsize=9, color=look.ink)
        for axis in axes[max(0, len(panels) - columns) : len(panels)]:
            axis.set_xlabel(literal(self.xlabel), fontsize=9, color=look.ink)
        self._legend(look, fontsize=9)


def _parts(table: dict[str, NDArray[Any]], columns: Sequence[str]) -> NDArray[np.object_]:
    """Return the title of every line's panel: the first column's value, others by name."""
    titles = np.full(len(next(iter(table.values()))), "", dtype=object)
    for i, name in enumerate(c for c in columns if c in table):
        values = _names(table[name], len(titles), "")
        if len(set(values.tolist())) > 1 or (i == 0 and columns[0] == name):
            value = values if i == 0 else f", {name} " + values
            titles = titles + value
    return titles


def _panels(
    table: dict[str, NDArray[Any]], score: str, x: str, method: str,
    parts: NDArray[np.object_], run: str | None,
) -> tuple[Panel, ...]:  # fmt: skip
    """Average the lines of each run, then the runs."""
    values = _numbers(table[score], score)
    n = len(values)
    counts = _numbers(table[x], x)
    methods = _names(table.get(method), n, score)
    runs = np.arange(n) if run is None or run not in table else np.asarray(table[run])
    there = np.isfinite(values) & np.isfinite(counts)
    panels = []
    for part in dict.fromkeys(parts[there].tolist()):
        curves = []
        for name in dict.fromkeys(methods[there & (parts == part)].tolist()):
            mine = there & (parts == part) & (methods == name)
            curves.append(_averaged(name, counts[mine], values[mine], runs[mine]))
        panels.append(Panel(str(part), tuple(curves)))
    return tuple(panels)


def _averaged(name: str, counts: FloatArray, values: FloatArray, runs: NDArray[Any]) -> Curve:
    where = np.unique(counts)
    spans = []
    for count in where:
        at = counts == count
        _, which = np.unique(runs[at], return_inverse=True)
        spans.append(interval(np.bincount(which, values[at]) / np.bincount(which)))
    mean = np.array([span.mean for span in spans], np.float64)
    half = np.nan_to_num([span.half_width for span in spans])
    return Curve(name, where, mean, mean - half, mean + half)


def _numbers(column: NDArray[Any], name: str) -> FloatArray:
    try:
        if column.dtype.kind in "OU":
            column = np.array([np.nan if v in (None, "") else v for v in column.tolist()])
        return np.asarray(column, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the column {name!r} must hold numbers") from None


def _names(column: NDArray[Any] | None, n: int, otherwise: str) -> NDArray[np.object_]:
    if column is None:
        return np.full(n, otherwise, dtype=object)
    return np.array([str(v) for v in column.tolist()], dtype=object)


def _draw_curve(axis: Any, curve: Curve, look: Style, theme: Theme, style: dict[str, Any]) -> None:
    there = np.isfinite(curve.mean)
    x, mean = curve.counts[there], curve.mean[there]
    colour = theme.colours[look.colour] if look.colour >= 0 else theme.neutral
    line = {
        "color": colour,
        "linestyle": look.dashes,
        "marker": look.marker,
        "markersize": 4,
        "linewidth": 1.6,
        "label": literal(curve.method),
    }
    axis.plot(x, mean, **{**line, **style})
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
        if last > first or counts[0] <= 0:
            axis.set_xlim(left, last * (last / first) ** 0.05)
    place = axis.get_xaxis_transform().transform(np.column_stack([counts, 0 * counts]))[:, 0]
    ticks = [float(counts[0])]
    before = place[0]
    for count, x in zip(counts[1:], place[1:], strict=True):
        if count == counts[-1] or (x - before > 26 and place[-1] - x > 26):
            ticks.append(float(count))
            before = x
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xticks([], minor=True)
