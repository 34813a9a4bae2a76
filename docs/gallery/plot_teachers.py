"""
Teachers who disagree
=====================

Four people sort flowers, fifteen each, under names of their own. One of them guesses. A mixture
with groups that may be wrong (Law, Topchy & Jain 2005) uses what they say, and names the
answers and the teacher that do not fit.
"""

# %%
# What one teacher calls by one name is a group. The names of different teachers need not agree.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from linkfield import ConstrainedGaussianMixture, Groups
from linkfield.plots import PALETTE, PartitionDisplay

X, species = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
rows = rng.permutation(150)[:60].reshape(4, 15)
answers = pd.DataFrame(
    {
        "teacher": np.repeat(["Ana", "Ben", "Cleo", "Dan"], 15),
        "row": rows.ravel(),
        "label": species[rows.ravel()],
        "confidence": 0.7,
    }
)
dan = answers["teacher"] == "Dan"
answers.loc[dan, "label"] = rng.permutation(answers["label"][dan])  # Dan guesses
groups = Groups.from_teachers(answers)
model = ConstrainedGaussianMixture(3, strength=0.5, random_state=0).fit(X, groups=groups)

# %%
# How reliable each teacher turns out to be: the mean probability that an answer is right,
# beside the 0.7 that everybody was given.
teachers = pd.DataFrame(model.teacher_reliability_)
print(teachers.round(2).to_string(index=False))
assert teachers["teacher"][0] == "Dan"

# %%
# And the answers that look wrong, the most doubtful first.
suspects = pd.DataFrame(model.suspects(5))
columns = ["row", "teacher", "label", "posterior", "log_evidence", "row_probability"]
print(suspects[columns].round(2).to_string(index=False))
assert set(suspects["teacher"]) == {"Dan"}

# %%
# All sixty answers, by what the data made of them. A cross is an answer that is really wrong,
# which the fit was not told.
every = pd.DataFrame(model.suspects(threshold=np.inf))
wrong = species[every["row"]] != every["label"].astype(int)
height = every["teacher"].map({"Ana": 0, "Ben": 1, "Cleo": 2, "Dan": 3})
height = height + rng.uniform(-0.25, 0.25, len(every))
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.axvline(0.7, color="#6e6e6e", lw=1, ls=(0, (4, 3)))
ax.scatter(every["posterior"][~wrong], height[~wrong], s=28, color=PALETTE[0][0], label="right")
ax.scatter(
    every["posterior"][wrong], height[wrong], s=40, marker="x", color=PALETTE[1][0], label="wrong"
)
ax.set_yticks(range(4), ["Ana", "Ben", "Cleo", "Dan"])
ax.invert_yaxis()
ax.set_xlabel("probability that the answer is right (0.7 before the data)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")
assert every["posterior"][wrong].mean() < every["posterior"][~wrong].mean()

# %%
# The clusters, and how they do on the ninety flowers that nobody spoke of.
untold = np.setdiff1d(np.arange(150), rows)
score = adjusted_rand_score(species[untold], model.predict(X)[untold])
print(f"adjusted Rand index of the flowers that nobody spoke of: {score:.2f}")
assert score > 0.85
PartitionDisplay.from_estimator(model, X, truth=species, projection="pca")
