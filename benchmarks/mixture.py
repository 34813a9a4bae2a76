"""Gaussian mixtures beside scikit-learn's: time an EM iteration, and memory.

Iterations are timed by differences of fits (see ``measure``). The bars are the project's own.
"""

from dataclasses import replace

import numpy as np

from linkfield.bench.data import Dense
from linkfield.bench.measure import FEW, MANY, compare, iteration, progress
from linkfield.bench.tables import OTHERS, seconds, table

from .memory import MB, peak_memory
from .mixture_fits import linkfield_mixture, scikit_mixture
from .tables import finished, judged

#: Data, covariance, the greatest ratio allowed to scikit-learn's time an iteration.
ITERATIONS = [(Dense(100_000, 32, 20), "full", 0.12), (Dense(1_000_000, 16, 50), "diag", 0.08)]
QUICK = [(Dense(4_000, 8, 5), "full", 0.12), (Dense(4_000, 8, 5), "diag", 0.08)]

#: Grouped rows, the greatest ratio to the time without, bytes of memory and bytes a row allowed.
GROUPED, GROUPED_BAR, MEMORY_BAR, ROW_BAR = 5_000, 1.3, 100 * MB, 64


def cases(settings, part):
    """Return data with covariance and bar, in both precisions, as far as wanted."""
    found = [
        (replace(data, dtype=dtype), kind, bar)
        for data, kind, bar in (QUICK if settings.quick else ITERATIONS)
        for dtype in ("float32", "float64")
    ]
    return [case for case in found if settings.wants(f"mixture {part}: {case[1]} {case[0]}")]


def counted(fit, X, K, kind, **params):
    """Return ``max_iter -> iterations made``."""
    return lambda m: fit(X, K, kind=kind, max_iter=m, **params).n_iter_


def apart(X, K, kind):
    """Return the greatest difference of the means of both after a few iterations, in deviations."""
    mine, other = (
        fit(X, K, kind=kind, max_iter=FEW).means_ for fit in (linkfield_mixture, scikit_mixture)
    )
    return float(np.max(np.abs(mine - other) / X.std(axis=0, dtype=np.float64)))


def iterations(settings):
    """Return the table of times an iteration."""
    rows, grouped = [], 100 if settings.quick else GROUPED
    for data, kind, bar in cases(settings, "iterations"):
        progress(f"mixture iterations: {kind} {data}")
        X, _ = data.make()
        times = compare({
            "scikit": counted(scikit_mixture, X, data.K, kind),
            "linkfield": counted(linkfield_mixture, X, data.K, kind),
            "soft": counted(linkfield_mixture, X, data.K, kind, grouped=grouped),
            "posterior": counted(
                linkfield_mixture, X, data.K, kind, grouped=grouped, enforcement="posterior"
            ),
        }, settings.rounds, iteration)  # fmt: skip
        quiet = times.watch.quiet
        ratio = times.ratio("linkfield", "scikit")
        soft, posterior = (times.ratio(name, "linkfield") for name in ("soft", "posterior"))
        rows.append([
            data, kind, seconds(times.seconds("scikit").median),
            seconds(times.seconds("linkfield").median),
            judged(fine(ratio), ratio.median, bar, settings, quiet=quiet),
            judged(soft, soft.median, GROUPED_BAR, settings, quiet=quiet),
            judged(posterior, posterior.median, GROUPED_BAR, settings, quiet=quiet),
            f"{apart(X, data.K, kind):.0e}", times.watch,
        ])  # fmt: skip
        progress(" | ".join(map(str, rows[-1])))
    if not rows:
        return ""
    head = ["data", "covariance", "scikit-learn, an iteration", "linkfield", "ratio"]
    head += [f"{grouped:,} rows in groups of 5, soft: ratio to none", "posterior: ratio to none"]
    head += ["means apart", OTHERS]
    intro = (
        "## An iteration\n\nTime an EM iteration as a ratio to scikit-learn's GaussianMixture: "
        f"median [least-greatest] of {settings.rounds} rounds, candidates in turn. Fits of {FEW} "
        f'and of {MANY} iterations from the same parameters, one minus the other. "Means apart": '
        f"the greatest difference of the two fits' means after {FEW} iterations, in standard "
        "deviations of the data."
    )
    return intro + "\n\n" + table(head, rows)


def fine(ratio):
    """Return a small ratio with three decimals."""
    return f"{ratio.median:.3f} [{ratio.low:.3f}-{ratio.high:.3f}]"


def memory(settings):
    """Return the table of peak memory."""
    rows = []
    for data, kind, _ in cases(settings, "memory"):
        progress(f"mixture memory: {kind} {data}")
        # Before it is measured a fit is tried on a few rows, where components would collapse.
        params = {"kind": kind, "max_iter": 3, "floor": 1e-6}
        bar = ROW_BAR * data.n + MEMORY_BAR
        peaks = [
            peak_memory(data, "mixture", n_jobs=2, grouped=some, **params)
            for some in (0, min(GROUPED, data.n // 4))
        ]
        cells = [judged(p, p.extra, bar, settings, f"{bar / MB:.0f} MB") for p in peaks]
        rows.append([data, kind, *cells, peak_memory(data, "scikit mixture", **params)])
        progress(" | ".join(map(str, rows[-1])))
    intro = (
        "## Memory\n\nPeak of resident memory of a fit beyond its data (VmHWM, a fresh process "
        f"each), two threads. The bar is {ROW_BAR} bytes a row plus 100 MB."
    )
    head = ["data", "covariance", "linkfield", f"{GROUPED:,} grouped rows", "scikit-learn"]
    return f"{intro}\n\n{table(head, rows)}" if rows else ""


def report(settings):
    """Return all tables as Markdown."""
    parts = [part(settings) for part in (iterations, memory)]
    return finished("Mixtures", [part for part in parts if part], settings)
