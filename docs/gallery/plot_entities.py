"""
Entities from several sources, at most one record each
======================================================

Three catalogues describe the same things, each of them every thing at most once. So two records
of one catalogue are never the same thing: they are cannot-links. This knowledge is free, and it
repairs most of what k-means confuses.
"""

# %%
# Sixty things with six measured properties. The first catalogue is complete, the others lack
# some things; all measurements have errors.
import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from linkfield import Constraints, HMRFKMeans
from linkfield.evaluation import pairwise_f_score
from linkfield.plots import PALETTE

rng = np.random.default_rng(0)
n_things = 60
things = rng.normal(0, 1, (n_things, 6))
records, source, thing = [], [], []
for s in range(3):
    for e in range(n_things):
        if s == 0 or rng.random() < 0.8:
            records.append(things[e] + rng.normal(0, 0.35, 6))
            source.append(s)
            thing.append(e)
X, source, thing = np.array(records), np.array(source), np.array(thing)
print(len(X), "records of", n_things, "things")

# %%
# All pairs within a source: 3,900 for 150 records. Hard ones, since there are no exceptions.
pairs = [
    np.column_stack([rows[a], rows[b]])
    for rows in (np.flatnonzero(source == s) for s in range(3))
    for a, b in [np.triu_indices(len(rows), k=1)]
]
once = Constraints(cannot_link=np.concatenate(pairs), cannot_link_weight=np.inf)
print(once)

# %%
# The complete catalogue gives the first centres. Both fits know it; only the second knows the
# constraints.
start = X[source == 0]
plain = KMeans(n_things, init=start, n_init=1).fit(X)
before = time.perf_counter()
model = HMRFKMeans(n_things, metric="identity", init=start, n_init=1, random_state=0).fit(
    X, constraints=once
)
seconds = time.perf_counter() - before


def doubles(labels):
    """Count clusters that hold several records of one source."""
    cells = np.bincount(labels * 3 + source, minlength=3 * n_things)
    return int((cells.reshape(-1, 3) > 1).any(axis=1).sum())


for name, labels in ("k-means", plain.labels_), ("at most one a source", model.labels_):
    f = pairwise_f_score(thing, labels)
    print(f"{name:22s} pairwise F {f:.2f}, {doubles(labels)} clusters with doubles")
assert doubles(model.labels_) == 0
assert pairwise_f_score(thing, model.labels_) > pairwise_f_score(thing, plain.labels_) + 0.05

# %%
# Pairs grow with the square of the records. Where there are many, only records that could be
# confused need a cannot-link: those in one *block*, by a rough key. Here two records share a
# block if a random direction puts them into the same quarter, for any of three directions.
keys = np.argsort(np.argsort(X @ rng.normal(size=(6, 3)), axis=0), axis=0) * 4 // len(X)
every = np.concatenate(pairs)
together = (keys[every[:, 0]] == keys[every[:, 1]]).any(axis=1)
blocked = Constraints(cannot_link=every[together], cannot_link_weight=np.inf)
quick = HMRFKMeans(n_things, metric="identity", init=start, n_init=1, random_state=0).fit(
    X, constraints=blocked
)
print(f"{together.mean():.0%} of the pairs, {doubles(quick.labels_)} clusters with doubles")

# %%
# Sizes of the clusters: no cluster has more than three records now.
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for shift, labels, name, k in (
    (-0.2, plain.labels_, "k-means", 0),
    (0.2, model.labels_, "at most one a source", 1),
):
    size = np.bincount(np.bincount(labels, minlength=n_things), minlength=8)
    ax.bar(np.arange(len(size)) + shift, size, width=0.4, color=PALETTE[k][0], label=name)
ax.set_xlabel("records in a cluster")
ax.set_ylabel("clusters")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
assert np.bincount(model.labels_, minlength=n_things).max() <= 3
