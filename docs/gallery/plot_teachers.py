"""
Teachers who disagree
=====================

Four people sort flowers, fifteen each, under names of their own. One of them guesses. A mixture with groups that may
be wrong (Law, Topchy & Jain 2005) uses what they say, and names the answers and the teacher that do not fit.
"""

# %%
# What one teacher calls by one name is a group. The names of different teachers need not agree.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from linkfield import ConstrainedGaussianMixture, Groups
from linkfield.plots import PartitionDisplay
from sklearn.datasets import load_iris

X, species = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
rows = rng.permutation(150)[:60].reshape(4, 15)
answers = pd.DataFrame({
    "teacher": np.repeat(["Ana", "Ben", "Cleo", "Dan"], 15),
    "row": rows.ravel(),
    "label": species[rows.ravel()],
    "confidence": 0.7,
})  # fmt: skip
dan = answers["teacher"] == "Dan"
answers.loc[dan, "label"] = rng.permutation(answers["label"][dan])  # Dan guesses
groups = Groups.from_teachers(answers)
model = ConstrainedGaussianMixture(3, strength=0.5, random_state=0).fit(X, groups=groups)

# %%
# How reliable each teacher turns out to be: the mean probability that an answer is right, beside the 0.7 that
# everybody was given.
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
# All sixty answers by what the data make of them.
said = answers.copy()
wrong = said["label"].to_numpy() != species[said["row"]]
posterior = np.asarray(model.enforcement_posterior_)
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
