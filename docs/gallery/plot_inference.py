"""
Inference methods beside each other
===================================

Tied rows form a field: a cost for every row and cluster, and a cost for every broken pair. To
label it at the least cost is hard in general. Here all methods get the same field, and a bound
says how far from the best each of them is at most.
"""

# %%
# A field full of contradictions: 60 rows, some 150 links drawn at random, 4 labels. Real
# constraints are easier.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from linkfield import Constraints, HMRFKMeans
from linkfield.inference import (
    ICM,
    Auto,
    BeliefPropagation,
    Exact,
    LinearProgram,
    MeanField,
    PottsField,
    lower_bound,
)
from linkfield.plots import PALETTE, ObjectiveDisplay

rng = np.random.default_rng(4)
n, K, m = 60, 4, 150
ends = np.sort(rng.choice(n, (m, 2)), axis=1)
ends = np.unique(ends[ends[:, 0] < ends[:, 1]], axis=0)
must = rng.random(len(ends)) < 0.5
cost = rng.uniform(0.2, 1.0, len(ends))
field = PottsField(
    rng.uniform(0, 1, (n, K)),
    ends,
    agree_cost=np.where(must, 0.0, cost),
    differ_cost=np.where(must, cost, 0.0),
)

# %%
# Every energy that a method reports is that of its labels, and no energy is below a bound.
methods = {
    "ICM": ICM(),
    "auto": Auto(),
    "belief propagation": BeliefPropagation(),
    "mean field": MeanField(),
    "linear program": LinearProgram(),
    "exact, 2 s": Exact(time_limit=2.0),
}
found = {name: method.solve(field, random_state=0) for name, method in methods.items()}
bound = max(lower_bound(field).value, *(result.lower_bound for result in found.values()))
for name, result in found.items():
    assert np.isclose(result.energy, field.energy(result.labels))
    assert result.energy >= bound - 1e-9
    above = result.energy / bound - 1
    print(f"{name:20s} energy {result.energy:.3f}, at most {above:.1%} above the best")

# %%
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
energies = [result.energy for result in found.values()]
ax.barh(range(len(found)), energies, color=PALETTE[0][0], height=0.6)
ax.axvline(bound, color=PALETTE[1][0], lw=2, label="proven: no labels cost less than this")
ax.set_yticks(range(len(found)), list(found))
ax.invert_yaxis()
ax.set_xlim(0.9 * bound, None)
ax.set_xlabel("energy")
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)

# %%
# In a fit the fields are kinder. With ``certify=True`` every assignment comes with a bound. On
# Iris with sixty pairs the gap is zero throughout: nothing was lost by taking the cheapest
# method.
X, species = load_iris(return_X_y=True)
known = Constraints.from_labels(species, n_pairs=60, random_state=0)
model = HMRFKMeans(3, metric="diagonal", certify=True, random_state=0).fit(X, constraints=known)
ObjectiveDisplay.from_estimator(model)
print(f"largest gap of the fit: {model.certificate_['gap'].max():.1e}")
assert model.certificate_["gap"].max() < 1e-6
