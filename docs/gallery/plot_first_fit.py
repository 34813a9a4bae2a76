"""
A first fit
===========

Iris has three kinds of flowers, two of which overlap. Plain k-means draws the border between
these two in the wrong place. A few pairs that somebody knows, together or apart, move it.
"""

# %%
# Sixty pairs of flowers, of which we are told whether they are of one kind. In your own work
# these would be ``Constraints(must_link=[(3, 8), ...], cannot_link=[...])`` or a file; here
# they are drawn from the true classes.
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from linkfield import Constraints, HMRFKMeans
from linkfield.evaluation import normalized_mutual_info
from linkfield.plots import PartitionDisplay

X, species = load_iris(return_X_y=True)
known = Constraints.from_labels(species, n_pairs=60, random_state=0)
print(known)

# %%
# Two fits. Scores are those of flowers that no pair names, so neither has seen them.
plain = KMeans(n_clusters=3, n_init=10, random_state=0).fit(X)
model = HMRFKMeans(n_clusters=3, random_state=0).fit(X, constraints=known)

without = normalized_mutual_info(species, plain.labels_, exclude=known)
with_pairs = normalized_mutual_info(species, model.labels_, exclude=known)
print(f"k-means {without:.2f}, with 60 pairs {with_pairs:.2f}")
assert with_pairs > without + 0.1

# %%
# Both clusterings in the plane of the learned metric. Shapes are the true kinds. Solid lines
# are must-links, dashed ones cannot-links; a broken one would be red.
PartitionDisplay.from_estimator(
    model, X, before=plain.labels_, truth=species, titles=("k-means", "with 60 pairs")
)

# %%
# What the fit chose and kept: the metric that keeps held-out constraints best, and no broken
# pair.
print(model.metric_kind_, len(model.violations_), "broken")
assert len(model.violations_) == 0
