"""What constraints are worth on rows outside them: Iris, Wine and Digits, all methods.

Each draw takes pairs of rows at random, looks their classes up, fits every method and scores NMI
on the rows that no pair touches. The baseline is scikit-learn's KMeans with the same features, the
same number of starts (one) and the same seed.
"""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import linkfield as lf
from linkfield.evaluation import normalized_mutual_info

#: Features of Wine have different units, so a fixed metric needs them scaled; those of Iris
#: (centimetres) and Digits (grey values) share one.
DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "wine, scaled": lambda: (
        StandardScaler().fit_transform(load_wine().data),
        load_wine().target,
    ),
    "digits": lambda: load_digits(return_X_y=True),
}


def methods(X, K, seed):
    """Return every method; a Potts violation costs as much as an average row far from home."""
    weight = float(X.var(axis=0).sum())
    euclid = {"distortion": "euclidean", "random_state": seed}
    return {
        "PCKMeans": lf.PCKMeans(K, constraint_weight=weight, random_state=seed),
        "COPKMeans": lf.COPKMeans(K, random_state=seed),
        "KMeansI": lf.KMeansI(K, **euclid),
        "KMeansIC": lf.KMeansIC(K, **euclid),
        "MKMeans": lf.MKMeans(K, random_state=seed),
        "MPCKMeans": lf.MPCKMeans(K, random_state=seed),
        "MPCKMeans 2003": lf.MPCKMeans(K, penalty="mpc2003", random_state=seed),
        "HMRFKMeans": lf.HMRFKMeans(K, random_state=seed),
        "HMRFKMeans full": lf.HMRFKMeans(K, metric="full", random_state=seed),
        "SeededKMeans": lf.SeededKMeans(K, random_state=seed),
        "ConstrainedKMeans": lf.ConstrainedKMeans(K, random_state=seed),
    }


def one_draw(name, n_pairs, seed):
    """Return NMI outside the constraints of k-means and all methods, for one draw."""
    X, y = DATA[name]()
    K = len(np.unique(y))
    known = lf.Constraints.from_labels(y, n_pairs=n_pairs, random_state=seed)
    tied = known.tied_rows()
    outside = np.setdiff1d(np.arange(len(y)), tied)
    if len(outside) < 5:
        return None
    partial = np.full(len(y), -1)
    partial[tied] = y[tied]
    baseline = KMeans(K, n_init=1, random_state=seed).fit(X)
    scores = {"KMeans": normalized_mutual_info(y, baseline.labels_, rows=outside)}
    for method, model in methods(X, K, seed).items():
        told = {"constraints": known}
        if isinstance(model, lf.SeededKMeans):
            told = {"partial_labels": partial}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = model.fit(X, **told).labels_
        scores[method] = normalized_mutual_info(y, labels, rows=outside)
    return scores


def table(n_pairs, draws, names=tuple(DATA), n_jobs=2):
    """Return {data: {method: scores of all draws}}."""
    found = {}
    for name in names:
        runs = Parallel(n_jobs)(delayed(one_draw)(name, n_pairs, s) for s in range(draws))
        runs = [run for run in runs if run is not None]
        found[name] = {m: np.array([run[m] for run in runs]) for m in runs[0]}
    return found


def report(draws=20):
    """Return the tables as Markdown; a method below its baseline is marked."""
    lines = [f"NMI on rows outside the constraints, mean of {draws} draws"]
    for n_pairs in (100, 200):
        found = table(n_pairs, draws)
        lines += ["", f"| {n_pairs} pairs | " + " | ".join(found) + " |"]
        lines += ["|---|" + "---|" * len(found)]
        for method in next(iter(found.values())):
            cells = []
            for scores in found.values():
                mean, base = scores[method].mean(), scores["KMeans"].mean()
                cells.append(f"{mean:.3f}" + (" (below)" if mean < base else ""))
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
