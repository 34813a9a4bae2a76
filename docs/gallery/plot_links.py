"""
Must-links and cannot-links in the plane
========================================

The same rows can be cut in two ways, and only the user knows which one is meant. Four pairs
that belong together and two that do not turn a left and a right cluster into an upper and a
lower one.
"""

# %%
# Four heaps. The gap between left and right is wider than that between above and below.
import matplotlib.pyplot as plt
import numpy as np

from linkfield import Constraints, HMRFKMeans
from linkfield.plots import FeatureWeightsDisplay, ObjectiveDisplay, PartitionDisplay

rng = np.random.default_rng(5)
heaps = [(-1.4, 1.0), (1.4, 1.0), (-1.4, -1.0), (1.4, -1.0)]
X = np.concatenate([rng.normal(middle, 0.35, (30, 2)) for middle in heaps])
level = np.repeat([0, 0, 1, 1], 30)

# %%
# Rows 0 to 59 are above, 60 to 119 below; in each the first half is on the left.
known = Constraints(
    must_link=[(0, 31), (10, 40), (65, 95), (70, 104)],
    cannot_link=[(5, 75), (36, 99)],
)
plain = HMRFKMeans(2, metric="identity", random_state=0).fit(X)
model = HMRFKMeans(2, metric="diagonal", random_state=0).fit(X, constraints=known)

display = PartitionDisplay.from_estimator(
    model, X, before=plain.labels_, projection="pca", titles=("rows alone", "rows and six pairs")
)

# %%
# All 120 rows follow the six pairs, not just the twelve rows that they name.
agree = max(np.mean(model.labels_ == level), np.mean(model.labels_ != level))
print(f"{agree:.0%} of the rows are on their level")
assert agree > 0.98

# %%
# The metric carries the knowledge to the other rows: the horizontal feature, which holds
# must-linked rows apart, has lost its weight.
fig, ax = plt.subplots(figsize=(5, 2.2), layout="constrained")
FeatureWeightsDisplay.from_estimator(model, feature_names=["horizontal", "vertical"], ax=ax)
assert model.metric_[1] > 5 * model.metric_[0]

# %%
# How the fit went: the objective falls in every sub-step, or stays.
ObjectiveDisplay.from_estimator(model)
steps = model.history_["objective"]
assert np.all(np.diff(steps) <= 1e-9 * np.abs(steps[1:]))
