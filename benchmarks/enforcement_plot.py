"""Four enforcements on one data set: the clusters that each finds."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

COLOURS = ("#0072b2", "#d55e00")
TITLES = {
    "none": "no constraints",
    "soft": "soft: pairs are evidence",
    "hard": "hard: every pair holds",
    "posterior": "posterior enforcement",
}


def draw(data, models, path):
    """Draw the pairs, then the clusters of {enforcement: model}, into a PNG file."""
    figure, axes = plt.subplots(
        1, 1 + len(models), figsize=(10.5, 4.8), sharex=True, sharey=True, layout="constrained"
    )
    X, first = data.X, axes[0]
    first.scatter(*X.T, s=5, color="#aaaaaa", linewidths=0)
    for pair in data.groups.members():
        right = len(np.unique(data.side[pair])) == 1
        first.plot(*X[pair].T, color="black" if right else "#cc3311", linewidth=0.7)
    first.set_title(f"{data.groups.n_groups} pairs, wrong ones red", fontsize=9)
    for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
        labels = model.predict(X)
        # One colour for the left or the top cluster, whatever its number.
        order = np.argsort([m[0] - 0.5 * m[1] for m in model.means_])
        for colour, j in zip(COLOURS, order, strict=True):
            axis.scatter(*X[labels == j].T, s=5, color=colour, linewidths=0)
            _ellipse(axis, model.means_[j], model.covariances_[j], colour)
        axis.set_title(TITLES[name], fontsize=9)
    for axis in axes:
        axis.set_aspect("equal")
        axis.tick_params(labelsize=8)
    figure.savefig(path, dpi=110, format="png")
    plt.close(figure)


def _ellipse(axis, mean, covariance, colour):
    """Draw the line of two standard deviations."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    long, short = 4.0 * np.sqrt(values[::-1])
    axis.add_patch(Ellipse(mean, long, short, angle=angle, fill=False, color=colour, linewidth=1.5))
