"""``linkfield demo``: what a few constraints are worth, on data that scikit-learn bundles."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from ..constraints import Constraints
from ..estimators import HMRFKMeans
from ..evaluation import normalized_mutual_info, pairwise_f_score
from ._mistakes import Mistake, mistakes

__all__ = ["demo"]

DATA = {"wine": datasets.load_wine, "iris": datasets.load_iris, "digits": datasets.load_digits}
METHODS = (
    ("k-means", 0),
    ("k-means, scaled features", 0),
    ("linkfield", 0),
    ("linkfield", 20),
    ("linkfield", 50),
    ("linkfield", 100),
)


@dataclass(frozen=True)
class _Line:
    """One line of the table: mean figures over the draws."""

    name: str
    nmi: float
    f_score: float
    violated: float | None


@click.command()
@click.option("--data", type=click.Choice(sorted(DATA)), default="iris", show_default=True)
@click.option("--draws", type=click.IntRange(1, 100), default=10, show_default=True,
              help="Random sets of constraints that the figures are averaged over.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), show_default=True,
              default=Path("linkfield-demo.png"), help="Where the picture goes.")  # fmt: skip
@click.option("--width", type=click.IntRange(60), default=None, hidden=True)
def demo(data: str, draws: int, seed: int, out: Path, width: int | None) -> None:
    """Cluster bundled data without constraints, then with 20, 50 and 100 of them.

    Example: linkfield demo --data wine --draws 20
    """
    console = Console(width=width)
    if not out.parent.is_dir():
        raise Mistake(f"the folder {out.parent} does not exist; make it, or change --out")
    if not os.access(out.parent, os.W_OK):
        raise Mistake(f"cannot write to {out.parent.resolve()} (no permission); change --out")
    bunch = DATA[data]()
    X, y = bunch.data, bunch.target
    names = [str(name) for name in bunch.feature_names]
    K = len(np.unique(y))
    console.print(
        f"\n[bold]{data}[/bold]: {X.shape[0]} rows, {X.shape[1]} features as they come, "
        f"{K} classes.\nPairs are drawn from one half of the rows: a must-link where their "
        "classes are\nthe same, else a cannot-link. Scores are on the other half.\n"
    )
    lines, model, known = _figures(X, y, K, draws, seed, console)
    console.print(_table(lines, draws))
    _weights(console, model, X, names)
    _picture(console, X, y, K, model, known, seed, out)


def _figures(
    X: NDArray[Any], y: NDArray[Any], K: int, draws: int, seed: int, console: Console
) -> tuple[list[_Line], HMRFKMeans, Constraints]:
    """Return the table's lines, and the first draw's model with the most constraints."""
    seeds = range(seed, seed + draws)
    jobs = [(method, n, s) for method, n in METHODS for s in seeds]
    found: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
    first: tuple[HMRFKMeans, Constraints] | None = None
    for method, n, s in track(jobs, "clustering", console=console, transient=True):
        hidden = np.random.default_rng(s).permutation(len(y))[: len(y) // 2]
        partial = y.copy()
        partial[hidden] = -1
        known = Constraints.from_labels(partial, n_pairs=n, random_state=s)
        violated = 0
        if method.startswith("k-means"):
            data = X if method == "k-means" else StandardScaler().fit_transform(X)
            labels = KMeans(K, n_init=1, random_state=s).fit(data).labels_
        else:
            model = HMRFKMeans(K, random_state=s).fit(X, constraints=known)
            labels, violated = model.labels_, len(model.violations_)
            if n == METHODS[-1][1] and first is None:
                first = (model, known)
        nmi = normalized_mutual_info(y, labels, rows=hidden)
        f_score = pairwise_f_score(y, labels, rows=hidden)
        found.setdefault((method, n), []).append((nmi, f_score, violated))
    assert first is not None
    lines = []
    for (method, n), values in found.items():
        nmi, f_score, violated = np.mean(values, axis=0)
        name = f"{method}, {n or 'no'} constraints" if method == "linkfield" else method
        lines.append(_Line(name, nmi, f_score, violated if n else None))
    return lines, *first


def _table(lines: list[_Line], draws: int) -> Table:
    table = Table(title=f"mean of {draws} draws, scored on rows outside the constraints")
    for name in ("", "NMI", "pairwise F", "violated"):
        table.add_column(name, justify="left" if not name else "right")
    best = max(line.nmi for line in lines)
    for line in lines:
        style = "bold green" if line.nmi == best else None
        violated = "-" if line.violated is None else f"{line.violated:.1f}"
        table.add_row(line.name, f"{line.nmi:.3f}", f"{line.f_score:.3f}", violated, style=style)
    return table


def _feature_weights(model: HMRFKMeans) -> NDArray[np.float64]:
    """Return the weight of every feature; of a full metric its diagonal."""
    metric = np.asarray(model.metric_, np.float64)
    return np.diag(metric).copy() if metric.ndim == 2 else metric


def _weights(console: Console, model: HMRFKMeans, X: NDArray[Any], names: list[str]) -> None:
    """Print what the metric makes of the features: weight times variance, the largest 8."""
    share = _feature_weights(model) * X.var(axis=0)
    share = share / share.sum()
    plain = X.var(axis=0) / X.var(axis=0).sum()
    order = np.argsort(-share)[:8]
    table = Table(
        title=f"share of a feature in all distances ({METHODS[-1][1]} constraints, one draw)"
    )
    for name in ("feature", "k-means", "linkfield", ""):
        table.add_column(name, justify="right" if name in ("k-means", "linkfield") else "left")
    for m in order:
        bar = "█" * max(1, round(20 * share[m] / share[order[0]]))
        table.add_row(names[m], f"{plain[m]:.1%}", f"{share[m]:.1%}", f"[green]{bar}[/green]")
    console.print(table)


def _picture(
    console: Console,
    X: NDArray[Any],
    y: NDArray[Any],
    K: int,
    model: HMRFKMeans,
    known: Constraints,
    seed: int,
    out: Path,
) -> None:
    if find_spec("matplotlib") is None:
        console.print("No picture: pip install 'linkfield[plot]' brings matplotlib.", markup=False)
        return
    from ..plots import before_after, matched_labels

    before = matched_labels(KMeans(K, n_init=1, random_state=seed).fit(X).labels_, y)
    n = known.n_must_link + known.n_cannot_link
    scores = [normalized_mutual_info(y, labels) for labels in (before, model.labels_)]
    titles = (f"k-means (NMI {scores[0]:.2f})", f"linkfield, {n} constraints ({scores[1]:.2f})")
    weights = _feature_weights(model)
    with mistakes():
        path = before_after(
            X, before, model.labels_, known, out, weights=weights, titles=titles, truth=y
        )
    console.print(f"Before and after, of the first draw: [bold]{path}[/bold]\n")
