"""``linkfield plot``: pictures of what ``linkfield fit`` wrote."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ._help import GroupedCommand, Later, option
from ._mistakes import Mistake, mistakes

if TYPE_CHECKING:
    from ..plots import Display
    from ._fitted import Saved

__all__ = ["plot"]

_FILE = click.Path(path_type=Path)
_READ, _LOOK, _OUT = "Reading", "The picture", "Output"

#: What is drawn, and what of it the help says.
KINDS = {
    "partition": "The clusters in two dimensions, with the constraints between rows.",
    "objective": "How the objective went, iteration by iteration, and the certified gap.",
    "weights": "What the learned metric makes of the features.",
    "silhouettes": "Cluster sizes and silhouettes under the learned metric.",
    "satisfaction": "How many constraints are kept, by kind, weight or source.",
    "field": "Rows that constraints tie together, as a graph.",
    "curves": "Learning curves of an experiment: mean and 95% interval over runs.",
}


@click.group(
    cls=Later,
    later={kind: (__name__, kind, told) for kind, told in KINDS.items()},
    no_args_is_help=True,
)
def plot() -> None:
    """Draw what `linkfield fit` wrote.

    Every picture takes the folder, or a model.skops, and --out picture.png (or .svg, .pdf).

    \b
    Example: linkfield plot partition linkfield-out --out clusters.png
             linkfield plot weights linkfield-out --theme dark --out weights.svg
             linkfield plot curves results/basu2003.csv --score pairwise_f
    """  # noqa: D301


def _common(kind: str, *, data: bool = True, constraints: bool = False) -> Callable[[Any], Any]:
    """Return a decorator: a command with the options that all pictures have."""

    def decorate(function: Any) -> Any:
        out = Path(f"linkfield-{kind}.png")
        options = [
            option(_OUT, "--quiet", "-q", is_flag=True, help="Say nothing but errors."),
            option(_OUT, "--dpi", type=click.IntRange(20, 1000), default=150, show_default=True,
                   help="Dots an inch of a PNG."),
            option(_OUT, "--theme", type=click.Choice(["light", "dark"]), default="light",
                   show_default=True, help="For light or for dark pages."),
            option(_OUT, "--out", "-o", type=_FILE, default=out, show_default=True,
                   help="The picture: .png, .svg or .pdf."),
        ]  # fmt: skip
        if constraints:
            options.append(
                option(_READ, "--constraints", "-c", type=_FILE, metavar="FILE",
                       help="Other constraints than those of the fit, by row id.")
            )  # fmt: skip
        if data:
            options.append(
                option(_READ, "--data", type=_FILE, metavar="FILE",
                       help="The rows of the fit, if they are not where they were.")
            )  # fmt: skip
        for add in options:
            function = add(function)
        command = click.command(kind, cls=GroupedCommand, no_args_is_help=True)(function)
        order = [_READ, _LOOK, _OUT]
        command.params.sort(key=lambda p: order.index(getattr(p, "heading", _READ)))
        return command

    return decorate


def _saved(source: Path, data: Path | None = None, constraints: Path | None = None) -> Saved:
    from ._fitted import opened

    with mistakes(reading=True):
        return opened(source, data, constraints)


def _draw(make: Callable[[], Display], out: Path, theme: str, dpi: int, quiet: bool) -> None:
    """Make a display, write the picture and say where it is."""
    with mistakes(reading=True):
        from ..plots import ENDINGS, need_matplotlib

        need_matplotlib()
        if out.suffix.lower().lstrip(".") not in ENDINGS:
            raise Mistake(f"--out {out}: a picture ends in .png, .svg or .pdf")
        if out.is_dir():
            raise Mistake(f"--out {out} is a folder; give the name of a file")
        if not out.parent.is_dir():
            raise Mistake(f"there is no folder {out.parent}; make it first, or change --out")
        display = make()
    with mistakes():
        from ..plots import save

        save(display, out, theme=theme, dpi=dpi)
    if not quiet:
        click.echo(f"{out}")


@_common("partition", constraints=True)
@click.argument("source", type=_FILE)
@option(_LOOK, "--before", metavar="plain|FILE",
        help="Draw other clusters beside: 'plain' (no constraints, nothing learned), or the folder "
             "or labels.csv of another fit.")  # fmt: skip
@option(_LOOK, "--truth", metavar="COLUMN", help="A column of classes: the shape of the points.")
@option(_LOOK, "--projection", type=click.Choice(["metric", "pca"]), default="metric",
        show_default=True, help="The learned metric's main directions, or those of the rows as "
        "they are.")  # fmt: skip
@option(_LOOK, "--max-rows", type=click.IntRange(1), default=2000, show_default=True,
        help="Larger data is shown by a sample.")  # fmt: skip
def partition(
    source: Path, data: Path | None, constraints: Path | None, before: str | None,
    truth: str | None, projection: str, max_rows: int, **where: Any,
) -> None:  # fmt: skip
    """Draw the clusters in two dimensions, with the constraints between rows.

    Constraints that the clusters break are red and crossed.

    \b
    Example: linkfield plot partition linkfield-out --before plain --out two.png
    """  # noqa: D301
    saved = _saved(source, data, constraints)
    saved.truth = truth

    def make() -> Display:
        from ..constraints import Constraints
        from ..plots import PartitionDisplay

        X = saved.X
        classes = None if truth is None else [_class(v) for v in saved.rows.labels]
        return PartitionDisplay.from_estimator(
            saved.step, X, constraints=saved.known if saved.has_known else Constraints(),
            before=None if before is None else _before(saved, X, before), truth=classes,
            projection=projection, max_rows=max_rows, draw=False,
        )  # fmt: skip

    _draw(make, **where)


def _class(value: Any) -> str:
    return "unknown" if value is None else str(value)


def _before(saved: Saved, X: Any, before: str) -> Any:
    """Return the labels of a fit that knows nothing, or those of a file."""
    import numpy as np

    if before == "plain":
        from ..estimators import HMRFKMeans

        K = len(getattr(saved.step, "cluster_centers_", getattr(saved.step, "means_", ())))
        measure = getattr(saved.step, "distortion", "euclidean")
        return HMRFKMeans(K, distortion=measure, metric="identity", random_state=0).fit(X).labels_
    from ._outputs import read_clusters

    found = read_clusters(Path(before))
    place = {name: i for i, name in enumerate(found.ids.tolist())}
    ids = range(X.shape[0]) if saved.ids is None else saved.ids
    missing = [name for name in ids if str(name) not in place]
    if missing:
        raise Mistake(
            f"--before {before} says nothing of the row {str(missing[0])!r}"
            f"{f' and {len(missing) - 1:,} others' if len(missing) > 1 else ''}; give labels of "
            "the same rows"
        )
    return found.cluster[np.array([place[str(name)] for name in ids])]


@_common("objective", data=False)
@click.argument("source", type=_FILE)
def objective(source: Path, **where: Any) -> None:
    """Draw how the objective went; after `fit --certify` also the gap to the best labels.

    \b
    Example: linkfield plot objective linkfield-out --out objective.svg
    """  # noqa: D301
    saved = _saved(source)

    def make() -> Display:
        from ..plots import ObjectiveDisplay

        return ObjectiveDisplay.from_estimator(saved.step, draw=False)

    _draw(make, **where)


@_common("weights")
@click.argument("source", type=_FILE)
@option(_LOOK, "--features", type=click.IntRange(1), default=20, show_default=True,
        help="So many of the largest.")  # fmt: skip
@option(_LOOK, "--plain", is_flag=True,
        help="The weights as they are, without the variance of the features.")  # fmt: skip
def weights(source: Path, data: Path | None, features: int, plain: bool, **where: Any) -> None:
    """Draw what the learned metric makes of the features.

    A bar is the share of a feature in all distances: its weight times its variance in the rows of
    the fit. Where these are not at hand, or with --plain, it is the weight.

    \b
    Example: linkfield plot weights linkfield-out --features 10
    """  # noqa: D301
    saved = _saved(source, data)

    def make() -> Display:
        from ..plots import FeatureWeightsDisplay

        rows = None if plain or not saved.has_rows else saved.X
        return FeatureWeightsDisplay.from_estimator(
            saved.step, rows, feature_names=saved.feature_names, max_features=features, draw=False
        )

    _draw(make, **where)


@_common("silhouettes")
@click.argument("source", type=_FILE)
@option(_LOOK, "--max-rows", type=click.IntRange(2), default=2000, show_default=True,
        help="Larger data is measured on a sample.")  # fmt: skip
def silhouettes(source: Path, data: Path | None, max_rows: int, **where: Any) -> None:
    """Draw cluster sizes and silhouettes under the learned metric.

    \b
    Example: linkfield plot silhouettes linkfield-out
    """  # noqa: D301
    saved = _saved(source, data)

    def make() -> Display:
        from ..plots import SilhouetteDisplay

        return SilhouetteDisplay.from_estimator(saved.step, saved.X, max_rows=max_rows, draw=False)

    _draw(make, **where)


@_common("satisfaction", constraints=True)
@click.argument("source", type=_FILE)
@option(_LOOK, "--by", type=click.Choice(["auto", "kind", "weight", "source"]), default="auto",
        show_default=True, help="A bar for each of these.")  # fmt: skip
def satisfaction(
    source: Path, data: Path | None, constraints: Path | None, by: str, **where: Any
) -> None:
    """Draw how many constraints are kept.

    \b
    Example: linkfield plot satisfaction linkfield-out --by source
             linkfield plot satisfaction linkfield-out -c held-out.csv
    """  # noqa: D301
    saved = _saved(source, data, constraints)

    def make() -> Display:
        from ..plots import SatisfactionDisplay

        return SatisfactionDisplay.from_labels(saved.step.labels_, saved.known, by=by, draw=False)

    _draw(make, **where)


@_common("field", constraints=True)
@click.argument("source", type=_FILE)
@option(_LOOK, "--row", metavar="ID", help="A row of the component. Default: the largest one.")
@option(_LOOK, "--layout", type=click.Choice(["spring", "circle"]), default="spring",
        show_default=True)  # fmt: skip
@option(_LOOK, "--max-nodes", type=click.IntRange(2), default=120, show_default=True,
        help="A larger component is shown from that row outwards.")  # fmt: skip
def field(
    source: Path, data: Path | None, constraints: Path | None, row: str | None, layout: str,
    max_nodes: int, **where: Any,
) -> None:  # fmt: skip
    """Draw rows that constraints tie together, as a graph.

    Solid lines are must-links, dashed ones cannot-links, red and crossed ones are violated. The
    larger a row, the more it pays.

    \b
    Example: linkfield plot field linkfield-out --row customer-17
    """  # noqa: D301
    saved = _saved(source, data, constraints)

    def make() -> Display:
        from ..plots import FieldDisplay

        return FieldDisplay.from_estimator(
            saved.step, saved.X, constraints=saved.known, row=_row(row, saved), layout=layout,
            max_nodes=max_nodes, draw=False,
        )  # fmt: skip

    _draw(make, **where)


def _row(row: str | None, saved: Saved) -> Any:
    """Return a row as it was named: an id, or a position where there are no ids."""
    if row is None or saved.ids is not None:
        return row
    if not row.isdecimal():
        raise Mistake(f"--row {row}: the fit has no id column, so rows are 0, 1, 2, ...")
    return int(row)


@_common("curves", data=False)
@click.argument("results", type=_FILE)
@option(_LOOK, "--score", metavar="COLUMN", required=True, help="The column to average.")
@option(_LOOK, "--x", metavar="COLUMN", default="constraints", show_default=True,
        help="The column of the horizontal axis.")  # fmt: skip
@option(_LOOK, "--log", is_flag=True, help="A logarithmic vertical axis.")
def curves(results: Path, score: str, x: str, log: bool, **where: Any) -> None:
    """Draw learning curves: mean and 95% interval over runs.

    RESULTS is a CSV file that `linkfield experiment run` wrote, or any other with columns method,
    constraints, run and a score.

    \b
    Example: linkfield plot curves results/basu2003.csv --score pairwise_f --out curves.pdf
    """  # noqa: D301

    def make() -> Display:
        from ..plots import LearningCurveDisplay

        return LearningCurveDisplay.from_results(results, score=score, x=x, log=log, draw=False)

    _draw(make, **where)
