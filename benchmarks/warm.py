"""What one more pair costs: warm refits beside a cold fit, as an interactive page makes them.

13,083 sentences in 384 dimensions, 77 intents, float32, cosine. Real embeddings (BANKING77) are
used where ``--data`` or $LINKFIELD_DATA names a folder with ``banking77_minilm.npz`` (arrays X and
y); otherwise Gaussian classes on the sphere stand in, of the same size.

A model is fitted cold with some pairs. Then, fifty times, a pair is added whose truth comes from
the classes, and the model refitted with ``warm_start=True``. Every other pair is one that the
present labelling breaks (a must-link, a cannot-link, in turn), as a person who corrects mistakes
would give; the others are drawn at random, half of them must-links. A refit's time includes making
the ``Constraints``, and so does a cold fit's, of which the median over several seeds is taken: they
differ in their iterations, three times and more. In the end a new model is fitted cold with all
pairs, from several seeds, and the objectives are compared.
"""

import warnings
from dataclasses import dataclass

import numpy as np

from linkfield import Constraints, HMRFKMeans
from linkfield.bench.data import Dense
from linkfield.bench.measure import Spread, Watch, elapsed, progress
from linkfield.bench.tables import OTHERS, seconds, table

from .tables import finished, judged

FILE = "banking77_minilm.npz"
FIRST_PAIRS, ADDED, COLD_FITS = 500, 50, 5
QUICK_ADDED, QUICK_COLD_FITS = 4, 2
TIME_BAR, OBJECTIVE_BAR = 5.0, 0.1

#: One run with one kind of metric: the choice of either would only make a cold fit slower.
ONE = {"metric": "diagonal", "n_init": 1}


def rows_and_classes(settings):
    """Return X, y and a name for them."""
    if settings.data is not None and not settings.quick:
        with np.load(settings.data / FILE) as stored:
            return stored["X"].astype(np.float32), stored["y"], "BANKING77 embeddings"
    n, d, K = (1_200, 16, 8) if settings.quick else (13_083, 384, 77)
    X, y = Dense(n, d, K).make()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y, "synthetic stand-in"


@dataclass
class Teacher:
    """Pairs with their truth, drawn from the classes; grows by one pair at a time."""

    y: np.ndarray
    rng: np.random.Generator

    def __post_init__(self):
        self.must, self.cannot = [], []
        order = np.argsort(self.y, kind="stable")
        self.members = np.split(order, np.flatnonzero(np.diff(self.y[order])) + 1)

    def drawn(self, must, number):
        """Return pairs of one class, or of two."""
        if not must:
            pairs = self.rng.integers(0, len(self.y), (4 * number + 20, 2))
            return pairs[self.y[pairs[:, 0]] != self.y[pairs[:, 1]]][:number]
        able = [rows for rows in self.members if len(rows) > 1]
        chosen = self.rng.integers(0, len(able), number)
        return np.array([self.rng.choice(able[c], 2, replace=False) for c in chosen])

    def add(self, must, number=1, labels=None):
        """Add pairs; with labels, pairs that these break as far as any are found."""
        pairs = self.drawn(must, number if labels is None else 4000)
        if labels is not None:
            together = labels[pairs[:, 0]] == labels[pairs[:, 1]]
            broken = pairs[together != must]
            pairs = np.concatenate([broken, pairs])[:number]
        (self.must if must else self.cannot).extend(map(tuple, pairs.tolist()))

    def constraints(self):
        """Return all pairs so far."""
        return Constraints(self.must, self.cannot)


def fitted(model, X, teacher):
    """Fit with all pairs so far; return the seconds it took."""
    return elapsed(lambda: model.fit(X, constraints=teacher.constraints()))[0]


def cold(X, K, teacher, params, seeds):
    """Return times and objectives of cold fits."""
    found = []
    for seed in seeds:
        model = HMRFKMeans(K, distortion="cosine", random_state=seed, **{**ONE, **params})
        found.append((fitted(model, X, teacher), model.objective_))
    return np.array(found).T


def session(X, y, params, added, fits):
    """Return times of cold fits and refits, iterations, and objectives: (cold, warm, ...)."""
    K, teacher = len(np.unique(y)), Teacher(y, np.random.default_rng(0))
    for must in (True, False):
        teacher.add(must, FIRST_PAIRS // 2)
    cold(X, K, teacher, params, [0])  # compile before the clock counts
    before, _ = cold(X, K, teacher, params, range(fits))
    model = HMRFKMeans(K, distortion="cosine", random_state=0, warm_start=True, **{**ONE, **params})
    fitted(model, X, teacher)
    fitted(model, X, teacher)  # the warm path, compiled as well
    times, iterations = [], []
    for step in range(added):
        teacher.add(step % 4 < 2, labels=model.labels_ if step % 2 == 0 else None)
        times.append(fitted(model, X, teacher))
        iterations.append(model.n_iter_)
    _, objectives = cold(X, K, teacher, params, range(fits))
    return before, np.array(times), np.array(iterations), model.objective_, objectives


def row(name, result, watch, settings):
    """Return one line of the table."""
    before, times, iterations, warm, colds = result
    base = float(np.median(before))
    percent = Spread.of(100 * times / base)
    above = 100 * (warm - colds) / np.abs(colds)
    time_said = f"{percent.median:.1f}% [{percent.low:.1f}-{percent.high:.1f}]"
    return [
        name,
        seconds(base),
        seconds(float(np.median(times))),
        judged(time_said, percent.median, TIME_BAR, settings, f"{TIME_BAR:g}%", quiet=watch.quiet),
        f"{np.median(iterations):.0f} [{iterations.min()}-{iterations.max()}]",
        judged(f"{above[0]:+.3f}%", above[0], OBJECTIVE_BAR, settings, f"{OBJECTIVE_BAR:g}%"),
        f"{np.median(above):+.3f}% [{above.min():+.3f} to {above.max():+.3f}]",
        watch,
    ]


def report(settings):
    """Return the table as Markdown."""
    X, y, name = rows_and_classes(settings)
    added, fits = (QUICK_ADDED, QUICK_COLD_FITS) if settings.quick else (ADDED, COLD_FITS)
    rows = []
    for metric in ("diagonal", "identity"):
        progress(f"warm refits, metric {metric}")
        with warnings.catch_warnings(), Watch() as watch:
            warnings.simplefilter("ignore")
            result = session(X, y, {"metric": metric}, added, fits)
        rows.append(row(f"metric {metric}", result, watch, settings))
        progress(" | ".join(map(str, rows[-1])))
    head = ["", "cold fit", "refit", "refit, share of the cold fit", "iterations of a refit"]
    head += ["objective beside a cold fit, same seed", f"beside {fits} seeds", OTHERS]
    intro = (
        f"{X.shape[0]:,} x {X.shape[1]}, K {len(np.unique(y))}, float32, cosine ({name}); "
        f"{FIRST_PAIRS} pairs, then one more {added} times. Median [least-greatest]. The objective "
        "is that of the last refit, in percent above a cold fit with the same pairs."
    )
    return finished("Warm refits", [intro, table(head, rows)], settings)
