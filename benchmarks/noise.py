"""What wrong constraints cost: scaled Wine, 200 pairs of which some are turned over."""

import warnings

import numpy as np

from linkfield import Constraints, HMRFKMeans, PCKMeans
from linkfield.evaluation import normalized_mutual_info

from .quality import DATA

NOISE = (0.0, 0.02, 0.05, 0.1)


def methods(seed):
    """Return the default, a cautious setting of it, and PCKMeans."""
    cautious = {"constraint_weight": 0.01, "closure": False}
    return {
        "HMRFKMeans": HMRFKMeans(3, random_state=seed),
        "HMRFKMeans, weight 0.01, closure=False": HMRFKMeans(3, random_state=seed, **cautious),
        "PCKMeans, closure=False": PCKMeans(3, random_state=seed, closure=False),
    }


def report(draws=20):
    """Return NMI on all rows as a Markdown table, without constraints first."""
    X, y = DATA["wine, scaled"]()
    found = {}
    for seed in range(draws):
        for noise in (None, *NOISE):
            known = Constraints()
            if noise is not None:
                known = Constraints.from_labels(y, n_pairs=200, noise=noise, random_state=seed)
            for name, model in methods(seed).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels = model.fit(X, constraints=known).labels_
                found.setdefault(name, {}).setdefault(noise, []).append(
                    normalized_mutual_info(y, labels)
                )
    head = ["no constraints", *(f"{n:.0%} wrong" for n in NOISE)]
    lines = [f"NMI on all rows of scaled Wine, 200 pairs, mean of {draws} draws", ""]
    lines += ["| | " + " | ".join(head) + " |", "|---|" + "---|" * len(head)]
    for name, scores in found.items():
        lines.append(
            f"| {name} | " + " | ".join(f"{np.mean(v):.3f}" for v in scores.values()) + " |"
        )
    return "\n".join(lines)
