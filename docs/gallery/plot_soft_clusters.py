"""
Soft clusters and probabilities
===============================

A hard label says nothing about doubt. With ``assignment="soft"`` every row has a probability for every cluster, and
constraints change these probabilities, not just the labels.
"""

# %%
# Two heaps that overlap, and two rows between them of which we know that they are apart.
import matplotlib.pyplot as plt
import numpy as np
from linkfield import Constraints, HMRFKMeans
from linkfield.inference import MeanField

rng = np.random.default_rng(1)
X = np.concatenate([rng.normal((-1.2, 0), 0.8, (60, 2)), rng.normal((1.2, 0), 0.8, (60, 2))])
between = np.array([[-0.05, -0.6], [0.05, 0.6]])
X = np.concatenate([X, between])
apart = Constraints(cannot_link=[(120, 121)])

# %%
# Temperature 2 makes the model with a learned squared Euclidean metric the Gaussian mixture with equal weights.
soft = HMRFKMeans(
    2, metric="diagonal", assignment="soft", inference=MeanField(temperature=2.0), random_state=0
)
alone = soft.fit(X).marginals_
told = soft.fit(X, constraints=apart).marginals_
print("the two rows between, without and with the cannot-link:")
print(np.c_[alone[120:], told[120:]].round(2))

# %%
# Without the link both are about half in each cluster. With it each leans to its side, in opposite directions.
assert np.all(np.abs(alone[120:, 0] - 0.5) < 0.25)
assert (told[120, 0] - 0.5) * (told[121, 0] - 0.5) < 0

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, q, title in zip(axes, (alone, told), ("no constraints", "one cannot-link"), strict=True):
    own = q[:, int(np.argmax(q[0]))]  # probability of the left cluster
    points = ax.scatter(*X.T, c=own, cmap="PuOr", vmin=0, vmax=1, s=26, edgecolors="#888888", lw=0.4)
    ax.plot(*between.T, ls=(0, (4, 3)), color="#444444", lw=1.2, zorder=0)
    ax.scatter(*between.T, s=90, facecolors="none", edgecolors="#202124")
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
fig.colorbar(points, ax=axes, label="probability of the left cluster")

# %%
# A hard fit has probabilities, too: ``predict_proba`` goes by position alone, for old rows and new ones.
hard = HMRFKMeans(2, metric="diagonal", random_state=0).fit(X, constraints=apart)
new = np.array([[-2.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
print(hard.predict_proba(new).round(2))
assert np.allclose(hard.predict_proba(new).sum(axis=1), 1.0)
