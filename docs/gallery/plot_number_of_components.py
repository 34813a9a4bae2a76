"""
Choosing the number of components
=================================

How many clusters are there? For a mixture the likelihood answers, with a fee for every
parameter (BIC). What teachers say counts as well: two heaps that somebody calls by one name
need no two components.
"""

# %%
# Three heaps on a line, the two on the right nearer to each other.
import matplotlib.pyplot as plt
import numpy as np

from linkfield import Groups, select_n_components
from linkfield.plots import PALETTE

rng = np.random.default_rng(2)
heaps = [(-4.0, 0.0), (0.6, 0.0), (4.3, 0.0)]
X = np.concatenate([rng.normal(middle, 0.9, (80, 2)) for middle in heaps])

# %%
# The rows alone.
sizes = range(1, 7)
alone = select_n_components(X, sizes, random_state=0)
print(alone.table[["n_components", "bic"]])

# %%
# Somebody says of thirty rows that the two heaps on the right are one thing.
told = rng.choice(np.arange(80, 240), 30, replace=False)
groups = Groups([told], confidence=0.95)
with_group = select_n_components(X, sizes, groups=groups, random_state=0)
print(f"{alone.n_components} components by rows alone, {with_group.n_components} with the group")
assert alone.n_components == 3
assert with_group.n_components == 2

# %%
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for found, name, colour, marker in (
    (alone, "rows alone", PALETTE[0][0], "o"),
    (with_group, "with one group", PALETTE[1][0], "s"),
):
    bic = found.table["bic"] - found.table["bic"].min()
    ax.plot(found.table["n_components"], bic, marker=marker, color=colour, label=name)
ax.set_xlabel("components")
ax.set_ylabel("BIC less its minimum")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
