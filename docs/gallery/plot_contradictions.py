"""
Contradictions found, explained and repaired
============================================

People who say which rows go together make mistakes, and mistakes contradict each other through
chains that nobody sees. linkfield finds the shortest chain behind every contradiction, and the
cheapest set of answers to take back.
"""

# %%
# Faces in photographs, named by file. Somebody said which show one person and which do not. The
# last must-link is a slip, given with little confidence: its weight is low.
import numpy as np

from linkfield import Constraints, HMRFKMeans
from linkfield.plots import FieldDisplay, PartitionDisplay

faces = np.array([f"{person}-{k}" for person in ("ann", "bob", "eve") for k in range(8)])
rng = np.random.default_rng(3)
middle = np.repeat([(0.0, 0.0), (4.0, 0.0), (2.0, 3.5)], 8, axis=0)
X = middle + rng.normal(0, 0.9, (24, 2))

said = Constraints(
    must_link=[
        ("ann-0", "ann-3"),
        ("ann-3", "ann-5"),
        ("bob-1", "bob-2"),
        ("bob-2", "bob-6"),
        ("eve-4", "eve-7"),
        ("ann-5", "bob-1"),
    ],
    must_link_weight=[1.0, 1.0, 1.0, 1.0, 1.0, 0.3],
    cannot_link=[("ann-0", "bob-6"), ("ann-3", "eve-4"), ("bob-2", "eve-7")],
    sample_id=faces,
)

# %%
# Every contradiction comes with its shortest chain, in the names that the user gave.
for conflict in said.conflicts():
    print(conflict)
assert len(said.conflicts()) == 1

# %%
# ``repair`` takes back the answers of the least total weight that leave no contradiction.
# ``proven`` says that nothing cheaper would do.
mended = said.repair()
print(mended.dropped.to_frame())
assert mended.proven
assert mended.cost == 0.3
assert not mended.constraints.conflicts()

# %%
# Are three clusters enough for what is left?
print(mended.constraints.closure().clusters_suffice(3)[0])

# %%
# The field of the mended constraints: solid edges tie, dashed ones keep apart. Three people,
# and every edge is kept.
model = HMRFKMeans(3, metric="identity", random_state=0)
model = model.fit(X, constraints=mended.constraints, sample_id=faces)
assert len(model.violations_) == 0
FieldDisplay.from_estimator(model, X, constraints=mended.constraints, sample_id=faces, row="ann-0")

# %%
# Without repair the slip would stay in the data. Taken as given, something has to break: here
# it is the slip itself, because it is the cheapest.
broken = HMRFKMeans(3, metric="identity", closure=False, penalty="potts", constraint_weight=100.0)
broken = broken.set_params(random_state=0).fit(X, constraints=said, sample_id=faces)
for a, b, kind, weight, _cost in broken.violations_:
    print(f"broken {kind}-link {a} - {b}, weight {weight}")
PartitionDisplay.from_estimator(broken, X, constraints=said, sample_id=faces, projection="pca")
assert len(broken.violations_) == 1
