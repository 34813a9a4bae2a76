"""
Soft clusters and probabilities
===============================

A hard label says nothing about doubt. With ``assignment="soft"`` every row has a probability
for every cluster, and constraints change these probabilities, not just the labels.
"""

# %%
# Two heaps that overlap, and two rows between them, of which somebody says that they are
# probably apart: the weight is low. At the default of 1 the link would count nearly as a hard
# one.
import matplotlib.pyplot as plt
import numpy as np

from linkfield import Constraints, HMRFKMeans
from linkfield.inference import MeanField

rng = np.random.default_rng(1)
X = np.concatenate([rng.normal((-1.2, 0), 0.8, (60, 2)), rng.normal((1.2, 0), 0.8, (60, 2))])
between = np.array([[-0.15, -0.6], [0.15, 0.6]])
X = np.concatenate([X, between])
apart = Constraints(cannot_link=[(120, 121)], cannot_link_weight=0.03)

# %%
# Temperature 2 makes the model with a learned squared Euclidean metric the Gaussian mixture
# with equal weights.
soft = HMRFKMeans(
    2, metric="diagonal", assignment="soft", inference=MeanField(temperature=2.0), random_state=0
)


def left(marginals):
    """Return the probability of the cluster that the first row, on the left, is in."""
    return marginals[:, int(np.argmax(marginals[0]))]


alone = left(soft.fit(X).marginals_)
told = left(soft.fit(X, constraints=apart).marginals_)
print(f"without the link: {alone[120]:.2f} and {alone[121]:.2f}")
print(f"with the link:    {told[120]:.2f} and {told[121]:.2f}")

# %%
# The link drives the two rows apart, each to its side, but it does not decide.
assert told[120] > alone[120]
assert told[121] < alone[121]

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, q, title in zip(axes, (alone, told), ("no constraints", "one cannot-link"), strict=True):
    points = ax.scatter(*X.T, c=q, cmap="PuOr", vmin=0, vmax=1, s=26, edgecolors="#888888", lw=0.4)
    ax.plot(*between.T, ls=(0, (4, 3)), color="#444444", lw=1.2, zorder=0)
    ax.scatter(*between.T, s=90, facecolors="none", edgecolors="#202124")
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
fig.colorbar(points, ax=axes, label="probability of the left cluster")

# %%
# A hard fit has probabilities, too: ``predict_proba`` goes by position alone, for old rows and
# new ones.
hard = HMRFKMeans(2, metric="diagonal", random_state=0).fit(X, constraints=apart)
new = np.array([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
print(hard.predict_proba(new).round(2))
assert np.allclose(hard.predict_proba(new).sum(axis=1), 1.0)
