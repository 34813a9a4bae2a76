"""Law et al. 2005, 3.1: do a few noisy pairs turn the clusters of four Gaussians?

Two clusters of the rows alone are a top and a bottom one; the pairs ask for a left and a right
one. A fit has recovered these if it agrees with them on 85% of the rows (the Bayes rate is 93%).
"""

import warnings

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

import linkfield as lf
from linkfield.bench.tables import table
from linkfield.experiments import four_gaussians

from .tables import finished, judged, save

SHARES = (0.025, 0.05, 0.15)
ENFORCEMENTS = ("none", "soft", "hard", "posterior")

#: The strengths and the rates of recovery that maths.md 6.5 expects, at each of the shares.
EXPECTED = {"full": (2.5, (4 / 8, 6 / 8, 1.0)), "tied": (3.0, (7 / 8, 7 / 8, 1.0))}

#: As in the paper: rows as means, ten starts. The defaults: k-means, with the groups and without.
STARTS = {
    "ten random starts": {"init_params": "random", "n_init": 10},
    "default start": {},
}

#: Iterations end when the objective rises by less than this for each row.
PRECISION = {"tol": 1e-6, "max_iter": 500}


def fitted(X, groups, **params):
    """Fit two components."""
    model = lf.ConstrainedGaussianMixture(2, **PRECISION, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, groups=groups)


def agreement(model, X, side):
    """Return the share of rows on the side that their component is."""
    share = float(np.mean(model.predict(X) == side))
    return max(share, 1.0 - share)


def one_draw(share, noisy, seed, **params):
    """Return whether one fit recovers the sides."""
    X, side, groups = four_gaussians(share, noisy=noisy, random_state=seed)
    return agreement(fitted(X, groups, random_state=seed, **params), X, side) >= 0.85


def recovered(draws, share, noisy=True, **params):
    """Return in how many draws the sides are recovered."""
    found = Parallel(2)(delayed(one_draw)(share, noisy, seed, **params) for seed in range(draws))
    return sum(found)


def rates(settings):
    """Return the table of recoveries."""
    rows = []
    for kind, (strength, expected) in EXPECTED.items():
        params = {"covariance_type": kind, "strength": strength}
        for starts, how in STARTS.items():
            for enforcement in ENFORCEMENTS:
                given = params | how | {"enforcement": enforcement}
                counts = [recovered(settings.draws, share, **given) for share in SHARES]
                cells = [f"{count} of {settings.draws}" for count in counts]
                if enforcement == "posterior" and starts == "ten random starts":
                    cells = [
                        judged(cell, count, least * settings.draws, settings, least=True)
                        for cell, count, least in zip(cells, counts, expected, strict=True)
                    ]
                rows.append([kind, starts, enforcement, *cells])
        clean = [recovered(settings.draws, s, False, **params, **STARTS["ten random starts"])
                 for s in SHARES]  # fmt: skip
        rows.append([kind, "ten random starts", "posterior, no wrong pairs",
                     *(f"{count} of {settings.draws}" for count in clean)])  # fmt: skip
    head = [
        "covariance",
        "starts",
        "enforcement",
        *(f"{100 * s:g}% of rows paired" for s in SHARES),
    ]
    intro = (
        "## Recovery\n\nDraws in which a fit agrees with the left and right sides on at least 85% "
        "of the rows. Strengths are 2.5 (full) and 3 (tied); bars are the rates of maths.md 6.5."
    )
    return f"{intro}\n\n{table(head, rows)}"


def strengths(settings):
    """Return the table of strengths: what training and held-out pairs say, and what is right."""
    X, side, groups = four_gaussians(0.15, random_state=0)
    model = fitted(X, groups, strength="auto", random_state=0)
    rows = []
    for strength, violation, *_ in model.strength_table_.tolist():
        one = fitted(X, groups, strength=strength, random_state=0)
        labels = one.predict(X)
        split = np.mean([labels[a] != labels[b] for a, b in groups.members()])
        rows.append([
            f"**{strength:g}**" if strength == model.strength_ else f"{strength:g}",
            f"{violation:.2f}", f"{split:.2f}", f"{agreement(one, X, side):.2f}",
            f"{one.weights_.min():.2f}",
        ])  # fmt: skip
    head = ["strength", "held-out pairs split", "training pairs split"]
    head += ["agreement with the sides", "least weight"]
    intro = (
        "## Strength\n\nThe first draw at 15%, full covariances, default starts; the strength that "
        '`strength="auto"` takes is in bold.'
    )
    return f"{intro}\n\n{table(head, rows)}"


def picture(settings):
    """Draw the clusters of all enforcements side by side."""
    from .enforcement_plot import draw

    data = four_gaussians(0.15, random_state=0)
    how = STARTS["ten random starts"] | {"random_state": 0}
    models = {name: fitted(data.X, data.groups, enforcement=name, **how) for name in ENFORCEMENTS}
    save(settings.out / "enforcement.png", lambda path: draw(data, models, path))


def report(settings):
    """Return all tables as Markdown; with a folder, the picture too."""
    if settings.out is not None:
        picture(settings)
    return finished("Enforcement", [rates(settings), strengths(settings)], settings)
