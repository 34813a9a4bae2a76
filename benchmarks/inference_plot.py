"""Energy and gap against time, method by method, on one field."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def draw(curves, path):
    """Draw {method: [(seconds, energy, bound), ...]} into a PNG file.

    Above: energies come down, bounds come up, and the optimum lies between them. Below: how far
    each energy is above the best bound of all.
    """
    best = max(bound for points in curves.values() for _, _, bound in points)
    energies = [e for points in curves.values() for _, e, _ in points if np.isfinite(e)]
    low, high = min(energies), max(energies)
    floor = best - 0.25 * (high - low)
    figure, (top, below) = plt.subplots(2, 1, figsize=(8, 7.5), sharex=True, layout="constrained")
    for number, (name, points) in enumerate(curves.items()):
        time, energy, bound = np.array(sorted(points), float).T
        style = {"color": f"C{number}", "marker": "o", "markersize": 4}
        if np.isfinite(energy).any():
            top.plot(time, energy, label=name, **style)
            below.plot(time, np.maximum(energy - best, 1e-3), label=name, **style)
        if (bound > floor).any():
            proven = np.where(np.isfinite(bound), bound, np.nan)
            top.plot(time, proven, linestyle=":", label=f"{name}: bound", **style)
    top.set_ylim(floor, high + 0.05 * (high - low))
    top.axhline(best, color="grey", linewidth=0.8)
    top.set_ylabel("energy, and bounds on the least one")
    below.set_ylabel("energy above the best bound")
    below.set_xlabel("seconds")
    below.set_xscale("log")
    below.set_yscale("log")
    top.legend(fontsize=8, loc="upper right", ncols=2)
    for axes in (top, below):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110, format="png")
    plt.close(figure)
