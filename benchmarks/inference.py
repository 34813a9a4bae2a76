"""Inference methods beside each other: the claims of Bilenko & Basu 2004, and what each costs.

*Real fields.* Iris is bundled with scikit-learn; Protein and Letter-IJL (10% of the letters I, J
and L) need a folder with ``protein.csv.gz`` and ``letter.csv.gz`` (``--data`` or $LINKFIELD_DATA).
For every draw of constraints one field is taken, that of the second assignment step of a fit by
ICM, and every method solves it from the same start, polish included. "Above the bound" is the
energy less the best lower bound that any method proved, as a share of that bound; 0 is proven to be
optimal. Then every method makes a whole fit, and
pairwise F is taken on the half of the rows that gave no constraints (the papers' two folds). Exact
search has a second for every field.

*Large fields.* One iteration of flooding belief propagation beside one sweep of ICM over all
nodes, and one linear program beside one call a component.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.datasets import load_iris

from linkfield import Constraints, HMRFKMeans
from linkfield.bench.measure import Spread, Watch, compare, elapsed, progress, repeated
from linkfield.bench.tables import seconds, table
from linkfield.evaluation import pairwise_f_score
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
from linkfield.inference.explicit import explicit, parts

from . import inference_plot
from .tables import finished, judged, save

METHODS = {
    "ICM, single moves": ICM(component_moves=False),
    "ICM": ICM(),
    "auto": Auto(),
    "belief propagation": BeliefPropagation(),
    "linear program": LinearProgram(),
    "mean field": MeanField(),
    "exact, 1 s": Exact(time_limit=1.0),
}
PAIRS = (25, 50, 100, 200, 400)
SWEEP_BAR, BATCH_BAR = 10.0, 0.25


def data_sets(settings):
    """Return {name: (X, y)} of what there is."""
    found = {"Iris": load_iris(return_X_y=True)}
    if settings.data is None or settings.quick:
        return found
    import pandas as pd

    protein = pd.read_csv(settings.data / "protein.csv.gz")
    letter = pd.read_csv(settings.data / "letter.csv.gz")
    letter = letter[letter.label.isin(list("IJL"))].sample(frac=0.1, random_state=0)
    for name, frame in (("Protein", protein), ("Letter-IJL", letter)):
        y = np.unique(frame["label"].to_numpy(), return_inverse=True)[1]
        found[name] = frame.drop(columns="label").to_numpy(float), y
    return found


@dataclass
class Tally:
    """What one method did on all draws of one data set and number of pairs."""

    gaps: list = field(default_factory=list)
    times: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    fits: list = field(default_factory=list)


def draw(X, y, n_pairs, seed):
    """Return constraints on one half of the rows, and the other half."""
    rng = np.random.default_rng(seed)
    half = np.sort(rng.permutation(len(y))[: len(y) // 2])
    partial = np.full(len(y), -1)
    partial[half] = y[half]
    known = Constraints.from_labels(partial, n_pairs=n_pairs, random_state=seed)
    return known, np.setdiff1d(np.arange(len(y)), half)


def field_of(X, K, known, seed):
    """Return the field of the second assignment step, and the labels to set out from."""
    model = HMRFKMeans(K, metric="diagonal", n_init=1, max_iter=1, tol=0, random_state=seed)
    model.fit(X, constraints=known)
    problem = model._setup.problem
    standing, labels = model._standing, np.asarray(model.labels_, np.int64)
    start = np.empty(problem.objective.pairs.ties.n_nodes, dtype=np.int64)
    start[problem.node] = labels[problem.tied]
    return problem.field(standing, model._model.metric), start


def run_draw(X, y, n_pairs, seed, tallies):
    """Let every method solve one field and make one fit."""
    K = len(np.unique(y))
    known, outside = draw(X, y, n_pairs, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hidden, start = field_of(X, K, known, seed)
        found, bound = {}, lower_bound(hidden).value
        for name, method in METHODS.items():
            spent, answer = repeated(lambda m=method: m.solve(hidden, start, random_state=seed))
            found[name] = answer.energy
            bound = max(bound, answer.lower_bound)
            tallies[name].times.append(spent)
            fit = HMRFKMeans(K, metric="diagonal", n_init=1, inference=method, random_state=seed)
            spent, fit = elapsed(lambda fit=fit: fit.fit(X, constraints=known))
            tallies[name].fits.append(spent)
            tallies[name].scores.append(pairwise_f_score(y, fit.labels_, rows=outside))
    for name, energy in found.items():
        tallies[name].gaps.append(max(energy - bound, 0.0) / abs(bound))


def real(settings):
    """Return the tables of the real data sets, and the energies for the picture."""
    texts = []
    counts, draws = ((50,), 2) if settings.quick else (PAIRS, settings.draws)
    for data, (X, y) in data_sets(settings).items():
        rows = []
        for n_pairs in counts:
            progress(f"inference: {data}, {n_pairs} pairs")
            tallies = {name: Tally() for name in METHODS}
            for seed in range(draws):
                run_draw(X, y, n_pairs, seed, tallies)
            base = np.array(tallies["ICM"].times)
            for name, tally in tallies.items():
                gaps, times = np.array(tally.gaps), np.array(tally.times)
                rows.append([
                    n_pairs, name, f"{100 * gaps.mean():.3f}%", f"{(gaps <= 1e-9).mean():.0%}",
                    seconds(Spread.of(times).median), Spread.of(times / base),
                    f"{np.mean(tally.scores):.3f} ± {np.std(tally.scores) / np.sqrt(draws):.3f}",
                    seconds(np.median(tally.fits)),
                ])  # fmt: skip
        head = ["pairs", "method", "above the bound, mean", "proven optimal", "time"]
        head += ["time beside ICM", "pairwise F off the constraints, mean ± s.e.", "a whole fit"]
        texts.append(f"## {data}: {len(y)} rows, {X.shape[1]} features\n\n" + table(head, rows))
    return texts


def big_field(n, m, K, seed=0):
    """Return a random field of n nodes and m edges, half of them must-links."""
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (m + m // 10, 2))
    edges = edges[edges[:, 0] != edges[:, 1]][:m]
    must = rng.random(m) < 0.5
    cost = rng.uniform(0, 1, m)
    unary = rng.uniform(0, 1, (n, K))
    return PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))


def iteration_cost(settings):
    """Return the time of an iteration of belief propagation beside a sweep of ICM."""
    m = 2_000 if settings.quick else 100_000
    hidden = big_field(m, m, 10)
    start = np.random.default_rng(1).integers(0, 10, hidden.n_nodes)
    few, many = (BeliefPropagation(max_iter=k, tol=0, polish=False) for k in (5, 25))
    runs = {
        "ICM": lambda: ICM(max_sweeps=1, component_moves=False).solve(hidden, start, 0),
        "few": lambda: few.solve(hidden, random_state=0),
        "many": lambda: many.solve(hidden, random_state=0),
    }
    times = compare(runs, settings.rounds, repeated)
    pass_of_bp = np.subtract(times.rounds["many"], times.rounds["few"]) / 20
    ratio = Spread.of(pass_of_bp / np.array(times.rounds["ICM"]))
    return [
        f"{m:,} edges, K 10", seconds(times.seconds("ICM").median),
        seconds(float(np.median(pass_of_bp))),
        judged(ratio, ratio.median, SWEEP_BAR, settings, quiet=times.watch.quiet),
    ]  # fmt: skip


def batch_cost(settings):
    """Return the time of one program for many components beside one call for each."""
    count = 20 if settings.quick else 200
    rng = np.random.default_rng(0)
    edges, unary = [], rng.uniform(0, 1, (6 * count, 3))
    for c in range(count):
        for _ in range(5):
            edges.append(6 * c + rng.choice(6, 2, replace=False))
    edges = np.array(edges)
    must, cost = rng.random(len(edges)) < 0.5, rng.uniform(0.5, 1.5, len(edges))
    together = PottsField(unary, edges, np.where(must, 0.0, cost), np.where(must, cost, 0.0))
    alone = [part for _, part in parts(explicit(together))]
    method = LinearProgram()
    runs = {
        "one program": lambda: method.solve(together, random_state=0),
        "one each": lambda: [method.solve(part, random_state=0) for part in alone],
    }
    times = compare(runs, settings.rounds, repeated)
    ratio = times.ratio("one program", "one each")
    values = runs["one program"]().lower_bound, sum(r.lower_bound for r in runs["one each"]())
    return [
        f"{count} components of 5 constraints", seconds(times.seconds("one each").median),
        seconds(times.seconds("one program").median),
        judged(ratio, ratio.median, BATCH_BAR, settings, quiet=times.watch.quiet),
        f"{values[0]:.9g}, {values[1]:.9g}",
    ]  # fmt: skip


def settings_of():
    """Return every method with less and more effort, for curves over time."""
    return {
        "ICM": [ICM(max_sweeps=k) for k in (1, 2, 100)],
        "auto": [Auto()],
        "belief propagation": [BeliefPropagation(max_iter=k) for k in (1, 5, 20, 80, 200)],
        "mean field": [MeanField(max_iter=k) for k in (1, 5, 20, 200)],
        "linear program": [LinearProgram(cuts=False), LinearProgram()],
        "exact": [Exact(time_limit=limit) for limit in (0.5, 2.0, 10.0)],
    }


def curves(settings):
    """Return {method: [(seconds, energy, bound), ...]} on one loopy field."""
    n = 100 if settings.quick else 400
    hidden = big_field(n, 2 * n, 5, seed=3)
    found = {}
    for name, methods in settings_of().items():
        progress(f"inference: one field, {name}")
        found[name] = []
        for method in methods[:2] if settings.quick else methods:
            spent, answer = repeated(lambda m=method: m.solve(hidden, random_state=0))
            found[name].append((spent, answer.energy, answer.lower_bound))
    found["dual bound"] = []
    for limit in (1, 5, 20, 100, 500):
        spent, bound = repeated(lambda k=limit: lower_bound(hidden, max_iter=k))
        found["dual bound"].append((spent, np.nan, bound.value))
    return found, hidden


def report(settings):
    """Return all tables as Markdown; the picture goes where the tables go."""
    with Watch() as watch:
        texts = real(settings)
        large = "## Large fields\n\n" + table(
            ["field", "a sweep of ICM", "an iteration of belief propagation", "ratio"],
            [iteration_cost(settings)],
        )
        batched = table(
            ["field", "a program for each", "one program", "ratio", "bounds"],
            [batch_cost(settings)],
        )
        points, hidden = curves(settings)
    rows = [
        [name, seconds(spent), f"{energy:.4f}", f"{bound:.4f}"]
        for name, line in points.items()
        for spent, energy, bound in line
    ]
    head = ["method, from little to much effort", "time", "energy", "lower bound"]
    size = f"{hidden.n_nodes} nodes, {len(hidden.edges)} edges, K {hidden.n_labels}"
    one = f"## One field: {size}\n\n" + table(head, rows)
    if settings.out is not None:
        save(settings.out / "inference.png", lambda path: inference_plot.draw(points, path))
    intro = __doc__.split("\n\n", 1)[1].strip()
    parts_of = [intro, *texts, large, batched, one, f"Other work meanwhile: {watch}."]
    return finished("Inference", parts_of, settings)
