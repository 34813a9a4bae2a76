"""
Do my constraints help?
=======================

Constraints can make a clustering worse: some may be wrong, or speak of something that the
features do not show. :func:`linkfield.constraints_help` finds out without labels. It hides some
of the constraints, fits with the others and with none, and lets the hidden ones judge.
"""

# %%
# Two features; the classes differ in the first one only.
import matplotlib.pyplot as plt
import numpy as np

from linkfield import Constraints, HMRFKMeans, constraints_help
from linkfield.plots import PALETTE

rng = np.random.default_rng(0)
group = np.repeat([0, 1], 100)
X = np.column_stack([group + rng.normal(0, 0.3, 200), rng.normal(0, 1.0, 200)])
model = HMRFKMeans(n_clusters=2, metric="diagonal", closure=False, n_init=1, random_state=0)

# %%
# Three users. The first knows the classes. The second confuses a quarter of the pairs. The
# third sorts rows by something that is not in the data at all.
unrelated = rng.permutation(group)
users = {
    "knows": Constraints.from_labels(group, n_pairs=120, random_state=0),
    "errs in 25%": Constraints.from_labels(group, n_pairs=120, noise=0.25, random_state=0),
    "unrelated": Constraints.from_labels(unrelated, n_pairs=120, random_state=0),
}
found = {}
for name, known in users.items():
    found[name] = constraints_help(model, X, known, n_repeats=2, random_state=0)
    print(f"{name}: {found[name].verdict}")

# %%
# The whole report of the first:
print(found["knows"])
assert found["knows"].verdict == "they help"
assert found["unrelated"].verdict != "they help"

# %%
# What decides is the balanced share of hidden constraints that is kept: one half is what a
# clustering reaches that knows nothing. The bar is the difference between fits with and without
# constraints, with its 95% interval.
fig, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for k, each in enumerate(found.values()):
    balanced = each.measures[-1]
    assert balanced["measure"] == "balanced"
    ax.plot([balanced["low"], balanced["high"]], [k, k], lw=5, color=PALETTE[0][0], alpha=0.35)
    ax.plot(balanced["difference"], k, "o", color=PALETTE[0][0])
ax.axvline(0, color="#6e6e6e", lw=1)
ax.set_yticks(range(3), list(found))
ax.invert_yaxis()
ax.set_xlabel("hidden constraints kept: with constraints less without")
ax.spines[["top", "right"]].set_visible(False)
