"""What constraints cost, as ratios to scikit-learn's lloyd in one run.

Four tables: an iteration (no initialisation, see ``measure``), a whole fit, a fit with labelled
rows, the memory a fit takes beyond its data. The metric, a weight a feature, is learned in all of
them. The bars are the project's own; a figure without one stands there for comparison.
"""

from dataclasses import replace

from linkfield.bench import fits
from linkfield.bench.data import Dense, Text
from linkfield.bench.measure import FEW, MANY, compare, progress
from linkfield.bench.side_by_side import WHOLE, Seeded, iteration_times
from linkfield.bench.tables import OTHERS, seconds, table

from .memory import MB, peak_memory
from .tables import finished, judged

#: Data and, for every number of pairs, the greatest ratio allowed to lloyd's time an iteration.
ITERATIONS = [
    (Dense(100_000, 32, 20), {0: 0.8, 10_000: 1.2, 100_000: 2.5}),
    (Dense(1_000_000, 16, 50), {0: 0.6, 10_000: 0.7, 100_000: 1.0}),
    (Dense(100_000, 384, 100), {0: 1.0, 10_000: 1.1, 100_000: 1.6}),
]
SPARSE = [(Text(20_000, 30_000, 20), {0: 0.6}), (Text(20_000, 30_000, 100), {0: 0.25})]
QUICK = [(Dense(4_000, 8, 5), {0: 0.8, 100: 1.2, 1_000: 2.5})]
QUICK_SPARSE = [(Text(2_000, 1_000, 10), {0: 0.6})]

WHOLE_BAR, LABELLED_BAR, MEMORY_BAR, ROW_BAR = 0.5, 2.0, 100 * MB, 64


def iteration_cases(settings):
    """Return data with bars: dense in both precisions, one separated variant each, sparse."""
    dense, sparse = (QUICK, QUICK_SPARSE) if settings.quick else (ITERATIONS, SPARSE)
    cases = []
    for data, bars in dense:
        cases += [(replace(data, dtype=dtype), bars) for dtype in ("float32", "float64")]
        cases.append((replace(data, variant="separated"), dict.fromkeys(bars)))
    return [case for case in cases + sparse if settings.wants(f"iterations: {case[0]}")]


def ratio_cell(times, name, bar, settings):
    """Return the ratio of one candidate to lloyd, or why there is none."""
    if name in times.refused:
        return f"refused: {times.refused[name]}"
    if name not in times.rounds:
        return "-"
    if "lloyd" in times.refused:
        return f"refused: lloyd {times.refused['lloyd']}"
    ratio = times.ratio(name, "lloyd")
    return judged(ratio, ratio.median, bar, settings, quiet=times.watch.quiet)


def iterations(settings):
    """Return the table of times an iteration."""
    rows = []
    pairs = list((QUICK if settings.quick else ITERATIONS)[0][1])
    for data, bars in iteration_cases(settings):
        progress(f"iterations: {data}")
        X, y = data.make()
        times = iteration_times(X, y, data.K, list(bars), settings.rounds)
        base = seconds(times.seconds("lloyd").median) if "lloyd" in times.rounds else "-"
        cells = [ratio_cell(times, number, bars.get(number), settings) for number in pairs]
        other = [ratio_cell(times, name, None, settings) for name in ("elkan", "faiss")]
        rows.append([data, base, *cells, *other, times.watch])
        progress(" | ".join(map(str, rows[-1])))
    if not rows:
        return ""
    head = ["data", "lloyd, an iteration", *(f"linkfield, {p:,} pairs" for p in pairs)]
    intro = (
        "## An iteration\n\nTime an iteration as a ratio to scikit-learn's lloyd: median "
        f"[least-greatest] of {settings.rounds} rounds, candidates in turn. Fits of {FEW} and of "
        f"{MANY} iterations from the same centres, one minus the other, so that set-up and "
        "initialisation do not count."
    )
    return intro + "\n\n" + table([*head, "scikit-learn elkan", "faiss", OTHERS], rows)


def dense_cases(settings, part):
    """Return the dense sizes in float32 that are wanted for a part."""
    cases = [data for data, _ in (QUICK if settings.quick else ITERATIONS)]
    return [data for data in cases if settings.wants(f"{part}: {data}")]


def whole(settings):
    """Return the table of whole fits: default initialisation and 22 iterations, one start."""
    rows = []
    few = 1_000 if settings.quick else 10_000
    for base in dense_cases(settings, "whole fit"):
        for data in (base, replace(base, dtype="float64")):
            progress(f"whole fit: {data}")
            X, y = data.make()
            runs = {
                "lloyd": Seeded(fits.lloyd, X, data.K),
                "none": Seeded(fits.linkfield, X, data.K),
                "pairs": Seeded(fits.linkfield, X, data.K, fits.knowledge(y, few)),
            }
            times = compare(runs, settings.rounds)
            ratio, other = times.ratio("none", "lloyd"), times.ratio("pairs", "lloyd")
            alike = runs["none"].median() >= runs["lloyd"].median()
            said = judged(ratio, ratio.median, WHOLE_BAR, settings, quiet=times.watch.quiet)
            said = said if alike else f"{ratio} (not judged: fewer iterations)"
            base_time = seconds(times.seconds("lloyd").median)
            rows.append([data, base_time, said, other, made(runs), times.watch])
            progress(" | ".join(map(str, rows[-1])))
    head = ["data", "lloyd, a fit", "linkfield", f"linkfield, {few:,} pairs", "iterations of each"]
    head.append(OTHERS)
    intro = (
        f"## A whole fit\n\nDefault initialisation included, one start, `max_iter={WHOLE}`, "
        "`tol=0`; every round has a seed of its own, the same for all. Ratio to scikit-learn's "
        "lloyd; it is judged only where linkfield made as many iterations."
    )
    return intro + "\n\n" + table(head, rows) if rows else ""


def made(runs):
    """Return the median iterations of some runs."""
    return ", ".join(f"{run.median():.0f}" for run in runs.values())


def labelled(settings):
    """Return the table of fits with labelled rows beside fits without."""
    data = QUICK[0][0] if settings.quick else ITERATIONS[0][0]
    number, rows = data.n // 10, []
    for case in precisions(data, settings, "labelled"):
        X, y = case.make()
        runs = {
            "none": Seeded(fits.linkfield, X, case.K),
            "labels": Seeded(fits.linkfield, X, case.K, fits.knowledge(y, labelled=number)),
        }
        times = compare(runs, settings.rounds)
        ratio = times.ratio("labels", "none")
        peaks = [peak_memory(case, labelled=some, max_iter=WHOLE) for some in (0, number)]
        rows.append([
            case, seconds(times.seconds("none").median),
            judged(ratio, ratio.median, LABELLED_BAR, settings, quiet=times.watch.quiet),
            made(runs), peaks[0],
            judged(peaks[1], peaks[1].extra, MEMORY_BAR, settings, "100 MB"), times.watch,
        ])  # fmt: skip
    head = [
        "data",
        "a fit without labels",
        f"{number:,} labelled rows, ratio",
        "iterations of each",
    ]
    head += ["extra peak memory without", "with labels", OTHERS]
    intro = (
        f"## Labelled rows\n\nA whole fit (at most {WHOLE} iterations) with `partial_labels`, as "
        "a ratio to the same fit without, and the peak of resident memory beyond the data."
    )
    return intro + "\n\n" + table(head, rows) if rows else ""


def precisions(data, settings, part):
    """Yield the data in float32 and float64, as far as wanted; a quick run has the first only."""
    for dtype in ("float32",) if settings.quick else ("float32", "float64"):
        case = replace(data, dtype=dtype)
        if settings.wants(f"{part}: {case}"):
            progress(f"{part}: {case}")
            yield case


def memory(settings):
    """Return the table of peak memory at the largest size, with one and two threads."""
    data = QUICK[0][0] if settings.quick else ITERATIONS[1][0]
    bar = ROW_BAR * data.n + MEMORY_BAR
    rows = []
    for case in precisions(data, settings, "memory"):
        for pairs in (0,) if settings.quick else (0, case.n // 10):
            peaks = [peak_memory(case, pairs=pairs, max_iter=5, n_jobs=jobs) for jobs in (1, 2)]
            cells = [judged(p, p.extra, bar, settings, f"{bar / MB:.0f} MB") for p in peaks]
            rows.append([case, f"linkfield, {pairs:,} pairs", *cells])
        rows.append([case, "scikit-learn lloyd", "-", peak_memory(case, "lloyd", max_iter=5)])
    intro = (
        "## Memory\n\nPeak of resident memory of a fit beyond its data (VmHWM, a fresh process "
        f"each). The bar is {ROW_BAR} bytes a row plus 100 MB. scikit-learn takes all cores."
    )
    return f"{intro}\n\n{table(['data', 'fit', '1 thread', '2 threads'], rows)}" if rows else ""


def report(settings):
    """Return all tables as Markdown."""
    parts = [part(settings) for part in (iterations, whole, labelled, memory)]
    return finished("Speed", [part for part in parts if part], settings)
