"""How time and memory grow with rows, features, clusters and knowledge, beside scikit-learn.

Every point is measured like those of ``speed``: candidates in turn, an iteration by differences, a
whole fit with 22 iterations. An exponent is the slope of a straight line through the points by
least squares, both scales logarithmic; time per iteration that is linear with a fixed cost gives
less than 1, so the slope between the points of the last decade stands beside it. For pairs and
labelled rows, the part that comes on top of a fit without them has an exponent of its own: it is
taken over the points where it is more than ``VISIBLE`` of that fit, below which it drowns in noise.
Whole fits with labels begin in another way, most often sooner, so nothing is subtracted from them.
"""

from dataclasses import dataclass, field

import numpy as np

from linkfield.bench import fits
from linkfield.bench.data import Dense, short, start_centres
from linkfield.bench.measure import Spread, compare, iteration, progress, repeated
from linkfield.bench.tables import OTHERS, seconds, table

from . import growth_plot
from .memory import MB, peak_memory
from .tables import finished, judged, save

BAR, VISIBLE, MAX_ITER = 1.1, 0.05, 22


@dataclass(frozen=True)
class Axis:
    """What grows: its name, values, the data of a value, and the exponent allowed.

    ``knowledge`` names what the values are numbers of, if that is what a fit is told.
    """

    name: str
    values: tuple
    data: callable
    fixed: str
    knowledge: str | None = None
    bar: float | None = None

    def told(self, value):
        """Return how much of which knowledge a fit has."""
        return {} if self.knowledge is None else {self.knowledge: value}

    @property
    def parts_on_top(self):
        """The times from which those without knowledge can be subtracted."""
        return {"pairs": ("iteration", "fit"), "labelled": ("iteration",)}.get(self.knowledge, ())


@dataclass
class Curve:
    """Medians over the values of an axis; nan where a measurement was refused."""

    axis: Axis
    points: dict = field(default_factory=dict)
    watches: list = field(default_factory=list)

    @property
    def quiet(self):
        """Whether the machine was left alone at all points."""
        return all(watch.quiet for watch in self.watches)

    def add(self, name, value):
        self.points.setdefault(name, []).append(value)

    def exponent(self, name, last=False):
        """Return the slope in logarithms, of all points or those of the last decade."""
        x, y = np.array(self.axis.values, float), np.array(self.points[name], float)
        with np.errstate(invalid="ignore"):
            good = (y > 0) & (x >= (0.099 * x.max() if last else 0))
        if good.sum() < 2:
            return np.nan
        return float(np.polyfit(np.log10(x[good]), np.log10(y[good]), 1)[0])


def axes(quick):
    """Return the five axes."""
    n, m = (2_000, 2_000) if quick else (1_000_000, 100_000)
    return [
        Axis("rows", (500, 1_000, 2_000) if quick
             else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
             lambda v: Dense(v, 16, 10), "d 16, K 10", bar=BAR),
        Axis("features", (4, 8, 16) if quick else (4, 16, 64, 256, 1024),
             lambda v: Dense(m // 5, v, 20), f"{short(m // 5)} rows, K 20"),
        Axis("clusters", (5, 10, 20) if quick else (5, 15, 50, 150, 500),
             lambda v: Dense(m, 16, v), f"{short(m)} rows, d 16"),
        Axis("pairs", (50, 200, 800) if quick
             else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
             lambda v: Dense(n, 16, 10), f"{short(n)} rows, d 16, K 10", "pairs", BAR),
        Axis("labelled rows", (50, 200, 800) if quick
             else (1_000, 3_000, 10_000, 30_000, 100_000, 300_000),
             lambda v: Dense(n, 16, 10), f"{short(n)} rows, d 16, K 10", "labelled", BAR),
    ]  # fmt: skip


def candidates(amount, y):
    """Return {name: (told, fit)}; with knowledge also the fit without it."""
    told = fits.knowledge(y, **amount)
    found = {"linkfield": (told, fits.linkfield), "lloyd": ({}, fits.lloyd)}
    return {**found, "without": ({}, fits.linkfield)} if amount else found


def timed(data, amount, rounds):
    """Return the times of an iteration and of a whole fit that is told so much."""
    X, y = data.make()
    centres = start_centres(X, data.K)
    runs = candidates(amount, y)
    steps = {
        name: fits.counted(fit, X, data.K, centres, told) for name, (told, fit) in runs.items()
    }
    whole = {
        name: lambda fit=fit, told=told: fit(X, data.K, told, max_iter=MAX_ITER, random_state=0)
        for name, (told, fit) in runs.items()
    }
    return compare(steps, rounds, iteration), compare(whole, rounds, repeated)


def extra(times):
    """Return what knowledge adds to a time, or nan where that is lost in the noise."""
    if not {"linkfield", "without"} <= set(times.rounds):
        return np.nan
    more = np.subtract(times.rounds["linkfield"], times.rounds["without"])
    added, base = Spread.of(more).median, times.seconds("without").median
    return added if added > VISIBLE * base else np.nan


def curve(axis, settings):
    """Measure one axis."""
    found = Curve(axis)
    for value in axis.values:
        data, amount = axis.data(value), axis.told(value)
        progress(f"growth in {axis.name}: {value:,}")
        times = dict(zip(("iteration", "fit"), timed(data, amount, settings.rounds), strict=True))
        for part, measured in times.items():
            for name in ("linkfield", "lloyd"):
                known = name in measured.rounds
                found.add((part, name), measured.seconds(name).median if known else np.nan)
            if part in axis.parts_on_top:
                found.add((part, "extra"), extra(measured))
        found.watches.append(max((t.watch for t in times.values()), key=lambda w: w.others))
        for name in ("linkfield", "lloyd"):
            if settings.quick and (axis.name != "rows" or value == axis.values[1]):
                found.add(("memory", name), np.nan)
                continue
            told = amount if name == "linkfield" else {}
            peak = peak_memory(data, name, **told, max_iter=3)
            found.add(("memory", name), peak.extra / MB)
    return found


def shown(value, write):
    """Return a figure, or a dash for nan."""
    return "-" if np.isnan(value) else write(value)


def points_table(found):
    """Return the measurements of one axis as Markdown."""
    axis, names = found.axis, ("linkfield", "lloyd")
    head = [axis.name, *(f"{part}, {name}" for part in ("iteration", "fit") for name in names)]
    keys = [(part, name) for part in ("iteration", "fit") for name in names]
    head += [f"{part}, what {axis.name} add" for part in axis.parts_on_top]
    keys += [(part, "extra") for part in axis.parts_on_top]
    head += [*(f"extra peak memory, {name}" for name in names), OTHERS]
    rows = []
    for i, value in enumerate(axis.values):
        cells = [shown(found.points[key][i], seconds) for key in keys]
        cells += [shown(found.points["memory", name][i], "{:.1f} MB".format) for name in names]
        rows.append([f"{value:,}", *cells, found.watches[i]])
    return f"## Growth in {axis.name} ({axis.fixed})\n\n{table(head, rows)}"


def exponents_table(curves, settings):
    """Return the fitted exponents as Markdown."""
    rows = []
    for found in curves:
        for part, what in (("iteration", "an iteration"), ("fit", "a whole fit")):
            for name in ("linkfield", "extra"):
                if (part, name) not in found.points:
                    continue
                slope = found.exponent((part, name))
                about = what if name == "linkfield" else f"{what}, what they add"
                said = shown(slope, "{:.2f}".format)
                if not np.isnan(slope):
                    said = judged(said, slope, found.axis.bar, settings, quiet=found.quiet)
                last = shown(found.exponent((part, name), last=True), "{:.2f}".format)
                peer = shown(found.exponent((part, "lloyd")), "{:.2f}".format)
                rows.append([found.axis.name, about, said, last, peer if name != "extra" else "-"])
    head = ["growing", "time of", "exponent", "in the last decade", "scikit-learn's"]
    return f"## Exponents\n\n{table(head, rows)}"


def report(settings):
    """Return all tables as Markdown; the picture goes to the folder of ``--out``."""
    wanted = [axis for axis in axes(settings.quick) if settings.wants(f"growth: {axis.name}")]
    curves = [curve(axis, settings) for axis in wanted]
    if not curves:
        return finished("Growth", ["Nothing matches."], settings)
    parts = [exponents_table(curves, settings), *map(points_table, curves)]
    if settings.out is not None:
        name = "growth.png"
        save(settings.out / name, lambda path: growth_plot.draw(curves, path))
        parts.insert(0, f"![Time and memory against size, both scales logarithmic]({name})")
    return finished("Growth", parts, settings)
