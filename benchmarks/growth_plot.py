"""The picture of ``growth``: time above, memory below, one column for everything that grows."""

import numpy as np

COLOURS = {"linkfield": "#0072b2", "lloyd": "#d55e00"}
NAMES = {"linkfield": "linkfield, metric learned", "lloyd": "scikit-learn KMeans (lloyd)"}
LABELS = {
    "rows": "rows n",
    "features": "features d",
    "clusters": "clusters K",
    "pairs": "must- and cannot-links",
    "labelled rows": "labelled rows",
}


def draw(curves, path):
    """Draw the curves into a PNG file."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (max(4.1 * len(curves), 8.2) + 0.6, 7.4)
    figure, panels = plt.subplots(2, len(curves), figsize=size, squeeze=False, sharex="col")
    notes = []
    for found, (above, below) in zip(curves, panels.T, strict=True):
        notes.append((above, times(above, found)))
        memory(below, found)
    match_rows(panels)
    panels[0, 0].set_ylabel("time (seconds)")
    panels[1, 0].set_ylabel("peak memory beyond the data (MB)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    title = "Numbers at the ends of curves: fitted exponents over all points"
    figure.legend(
        handles, labels, loc="lower center", ncols=5 if len(curves) > 2 else 2, frameon=False,
        title=title, title_fontsize=9, fontsize=9,
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.08 if len(curves) > 2 else 0.13, 1, 1))
    for panel, ends in notes:  # where they stand is known only now
        write_notes(panel, ends)
    figure.savefig(path, dpi=130, format="png")
    plt.close(figure)


def times(panel, found):
    """Draw time an iteration and of a whole fit; return what to write at the ends of the curves."""
    notes = []
    x = np.array(found.axis.values, float)
    for part, style, what in (("iteration", "-", "an iteration"), ("fit", "--", "a whole fit")):
        for name, colour in COLOURS.items():
            y = np.array(found.points[part, name], float)
            filled = colour if part == "iteration" else "white"
            panel.plot(
                x, np.where(y > 0, y, np.nan), style, color=colour, marker="o", markersize=5,
                markerfacecolor=filled, label=f"{NAMES[name]}: {what}",
            )  # fmt: skip
            slope, good = found.exponent((part, name)), np.flatnonzero(y > 0)
            if len(good) and not np.isnan(slope):
                notes.append(((x[good[-1]], y[good[-1]]), slope, colour))
    guide(panel, x, found)
    panel.set_title(f"growth in {found.axis.name}\n({found.axis.fixed})", fontsize=10)
    both_logarithmic(panel)
    return notes


def write_notes(panel, notes):
    """Write exponents to the right of the ends of curves, apart from each other."""
    points = 72 / panel.figure.dpi
    height = [panel.transData.transform(end)[1] * points for end, _, _ in notes]
    for (end, slope, colour), moved in zip(notes, apart(height) - height, strict=True):
        panel.annotate(
            f"{slope:.2f}".replace("-0.00", "0.00"), end, xytext=(6, moved), fontsize=8,
            textcoords="offset points", va="center", color=colour,
        )  # fmt: skip


def apart(heights, least=9.0):
    """Return the heights, those of neighbours moved until ``least`` is between any two of them."""
    order = np.argsort(heights, kind="stable")
    moved = np.array(heights, float)[order]
    for _ in range(50):
        missing = np.maximum(least - np.diff(moved), 0.0) / 2
        moved[1:] += missing
        moved[:-1] -= missing
    out = np.empty_like(moved)
    out[order] = moved
    return out


def guide(panel, x, found):
    """Draw a thin line of slope 1 below linkfield's curve, as far down as that goes."""
    values = np.array(found.points["iteration", "linkfield"], float)
    values = np.where(values > 0, values, np.nan)
    if np.isnan(values).all():
        return
    line = 0.5 * np.nanmin(values / x) * x
    ends = np.array([max(x[0], x[-1] * 0.5 * np.nanmin(values) / line[-1]), x[-1]])
    panel.plot(ends, line[-1] * ends / x[-1], ":", color="0.6", linewidth=1.2, label="slope 1")


def memory(panel, found):
    """Draw peak memory; what cannot be told from nothing is drawn at 0.1 MB."""
    x = np.array(found.axis.values, float)
    for name, colour in COLOURS.items():
        y = np.maximum(found.points["memory", name], 0.1)
        panel.plot(x, y, "-", color=colour, marker="s", markersize=5)
    if not np.isfinite(found.points["memory", "linkfield"]).any():
        panel.text(0.5, 0.5, "not measured", transform=panel.transAxes, ha="center", color="0.5")
    panel.set_xlabel(LABELS[found.axis.name])
    both_logarithmic(panel)


def both_logarithmic(panel):
    """Set scales, grid and room for the notes at the right."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.margins(x=0.12)
    panel.grid(True, which="major", color="0.9")
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def match_rows(panels):
    """Give all panels of a row the same limits, so that columns can be compared."""
    for row in panels:
        limits = np.array([panel.get_ylim() for panel in row])
        for panel in row:
            panel.set_ylim(limits[:, 0].min() / 1.2, limits[:, 1].max() * 1.2)
