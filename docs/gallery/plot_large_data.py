"""
Large data: memory maps and warm refits
=======================================

Rows that do not fit into memory can stay on disk, and one more constraint need not cost a whole
fit.
"""

# %%
# A file of 60,000 rows, small enough for an example. With ``mmap_mode="r"`` it is read where it
# lies; the fit makes no copy of it.
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from linkfield import Constraints, HMRFKMeans
from linkfield.plots import PALETTE

rng = np.random.default_rng(0)
n, d, K = 60_000, 64, 40
group = rng.integers(K, size=n)
centres = rng.normal(0, 0.6, (K, d))
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "rows.npy"
np.save(path, (centres[group] + rng.normal(0, 1.0, (n, d))).astype(np.float32))
rows = np.load(path, mmap_mode="r")
print(type(rows).__name__, rows.shape, f"{path.stat().st_size / 1e6:.0f} MB on disk")

# %%
# A thousand pairs, and a fit.
known = Constraints.from_labels(group, n_pairs=1_000, random_state=0)


def timed(model, constraints):
    before = time.perf_counter()
    model.fit(rows, constraints=constraints)
    return time.perf_counter() - before


small = HMRFKMeans(K, metric="diagonal", n_init=1, random_state=0)
small.fit(rows[:2000], constraints=known.restrict(range(2000)))  # compiles, where that is not done
model = HMRFKMeans(K, metric="diagonal", n_init=1, warm_start=True, random_state=0)
first = timed(model, known)

# %%
# One more answer, and one more: with ``warm_start=True`` the fit goes on from where it was.
# Where the rows are the very same, only what the new constraint changes is worked out again.
later = []
for _ in range(4):
    a, b = rng.choice(n, 2, replace=False)
    kind = "must_link" if group[a] == group[b] else "cannot_link"
    known = known | Constraints(**{kind: [(int(a), int(b))]})
    later.append(timed(model, known))
print(f"first fit {first:.2f} s, refits", ", ".join(f"{s:.2f}" for s in later), "s")
assert model.converged_ and not len(model.violations_)

fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.bar(range(5), [first, *later], color=[PALETTE[0][0]] + 4 * [PALETTE[1][0]])
ax.set_xticks(range(5), ["first fit", *(f"{k} more" for k in range(1, 5))])
ax.set_ylabel("seconds")
ax.spines[["top", "right"]].set_visible(False)

# %%
# New rows go to the nearest centre; they may be mapped as well.
labels = model.predict(rows[:10_000])
assert np.mean(labels == model.labels_[:10_000]) > 0.99
folder.cleanup()
