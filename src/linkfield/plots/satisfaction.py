"""How many constraints a clustering keeps, by kind, by weight or by who gave them."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints
from ..evaluation import constraint_satisfaction
from ._display import Display, Layout
from ._fitted import aligned, check_labels, last_step
from ._theme import Theme, dress, shortened

__all__ = ["Count", "SatisfactionDisplay", "satisfaction_counts"]

IntArray = NDArray[np.int64]

#: Sources or weights that have a bar of their own; those after the largest share one.
MOST_GROUPS = 12


class Count(NamedTuple):
    """Constraints of one kind and one group: how many are kept, how many violated."""

    kind: str
    group: str
    kept: int
    violated: int


def satisfaction_counts(
    constraints: Constraints, labels: IntArray, by: str = "auto"
) -> tuple[str, list[Count]]:
    """Count what labels keep of constraints.

    Parameters
    ----------
    constraints : Constraints
        By row position. Pairs that partial labels entail are counted without writing them out.
    labels : int array (n,)
    by : {"auto", "kind", "weight", "source"}, default="auto"
        "auto" is the source where pairs have any, else the weight where it differs.

    Returns
    -------
    by : str
        What the groups are.
    counts : list of Count
        Must-links first; groups without a pair are left out.
    """
    if by not in ("auto", "kind", "weight", "source"):
        raise ValueError(f"by must be 'auto', 'kind', 'weight' or 'source', got {by!r}")
    table = constraints.pairs(labels=False)
    must = table["kind"] == "must"
    kept = (labels[table["a"]] == labels[table["b"]]) == must
    told = constraints.sources
    weights = table["weight"].tolist()
    if len(constraints.labels.rows):
        weights.append(constraints.labels.weight)
    if by == "auto":
        named = any(source is not None for source in told)
        by = "source" if named else "weight" if len(set(weights)) > 1 else "kind"
    groups, entailed = _groups(constraints, by)
    counts = []
    whole = constraint_satisfaction(constraints, labels)
    totals = ((whole.n_must_link, whole.must_link), (whole.n_cannot_link, whole.cannot_link))
    for kind, mine, (n, share) in zip(("must-links", "cannot-links"), (must, ~must), totals,
                                      strict=True):  # fmt: skip
        found = {g: [0, 0] for g in dict.fromkeys(groups[mine].tolist())}
        for group, good in zip(groups[mine].tolist(), kept[mine].tolist(), strict=True):
            found[group][not good] += 1
        # What is left after the given pairs is what the labels entail beyond them.
        n_kept = round(share * n) if n else 0
        rest = [n_kept - int(kept[mine].sum()), n - n_kept - int((~kept[mine]).sum())]
        if any(rest):
            old = found.setdefault(entailed, [0, 0])
            found[entailed] = [old[0] + rest[0], old[1] + rest[1]]
        counts += [Count(kind, group, *pair) for group, pair in _merged(found)]
    return by, counts


def _groups(constraints: Constraints, by: str) -> tuple[NDArray[np.object_], str]:
    """Return the group of every given pair, and that of pairs which labels entail."""
    n = len(constraints.sources)
    if by == "kind":
        return np.full(n, "", dtype=object), ""
    if by == "source":
        names = ["no source" if s is None else str(s) for s in constraints.sources.tolist()]
        return np.array(names, dtype=object), "labels"
    weight = constraints.pairs(labels=False)["weight"]
    everything = np.r_[weight, [constraints.labels.weight] * bool(len(constraints.labels.rows))]
    distinct = np.unique(everything)
    if len(distinct) <= 6:
        return _called(weight), _called(np.array([constraints.labels.weight]))[0]
    finite = distinct[np.isfinite(distinct)]
    edges = np.unique(np.quantile(everything[np.isfinite(everything)], [0, 0.25, 0.5, 0.75, 1.0]))
    if len(edges) < 2:
        edges = np.array([finite[0], finite[-1]])

    def binned(values: NDArray[np.float64]) -> NDArray[np.object_]:
        at = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
        names = [f"weight {edges[k]:.3g} to {edges[k + 1]:.3g}" for k in range(len(edges) - 1)]
        out = np.array([names[k] for k in at], dtype=object)
        out[np.isinf(values)] = "hard"
        return out

    return binned(weight), str(binned(np.array([constraints.labels.weight]))[0])


def _called(weight: NDArray[np.float64]) -> NDArray[np.object_]:
    names = ["hard" if np.isinf(w) else f"weight {w:.4g}" for w in weight.tolist()]
    return np.array(names, dtype=object)


def _merged(found: dict[str, list[int]]) -> list[tuple[str, list[int]]]:
    """Return groups by size; those after the largest together."""
    largest = sorted(found.items(), key=lambda item: -sum(item[1]))
    first, others = largest[:MOST_GROUPS], largest[MOST_GROUPS:]
    if not others:
        return first
    total = np.sum([pair for _, pair in others], axis=0).tolist()
    return [*first, (f"{len(others)} others", total)]


class SatisfactionDisplay(Display):
    """Bars of constraints kept and violated.

    Parameters
    ----------
    counts : list of Count
    by : str, default="kind"
        What the groups are.
    """

    def __init__(self, counts: list[Count], *, by: str = "kind") -> None:
        if not counts:
            raise ValueError("there are no constraints to count; pass constraints=")
        self.counts, self.by = counts, by

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        constraints: Constraints | None = None,
        *,
        by: str = "auto",
        sample_id: Any = None,
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw what a fitted model's labels keep of constraints.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        constraints : Constraints, optional
            By default those of the fit, if the model still has them. Others may be given, such as
            ones held out.
        by : {"auto", "kind", "weight", "source"}, default="auto"
            A bar for each of these; "auto" is the source where pairs have any, else the weight
            where it differs.
        sample_id : sequence, optional
            The id of every row, if the constraints name rows by id.
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        step, _ = last_step(model)
        labels = getattr(step, "labels_", None)
        labels = check_labels(labels, 0 if labels is None else len(labels), type(step).__name__)
        known = aligned(step, constraints, len(labels), sample_id)
        return cls.from_labels(labels, known, by=by, ax=ax, theme=theme, draw=draw)

    @classmethod
    def from_labels(
        cls,
        labels: Any,
        constraints: Constraints,
        *,
        by: str = "auto",
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw what any labels keep of constraints by row position."""
        labels = np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)
        constraints.check_rows(len(labels))
        by, counts = satisfaction_counts(constraints, labels, by)
        display = cls(counts, by=by)
        return display.plot(ax, theme=theme) if draw else display

    def _layout(self) -> Layout:
        return Layout(1, 1, 6.6, 1.5 + 0.36 * len(self.counts))

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        axis = axes[0]
        place = np.arange(len(self.counts))
        kept = np.array([count.kept for count in self.counts], np.float64)
        violated = np.array([count.violated for count in self.counts], np.float64)
        bar = {"height": 0.66, "linewidth": 0, **style}
        # Shares: a hundred cannot-links would hide three must-links.
        total = kept + violated
        good, bad = kept / total, violated / total
        axis.barh(place, good, color=look.colour(0), label="kept", **bar)
        axis.barh(place, bad, left=good, color=look.bad, hatch="////", edgecolor=look.paper,
                  label="violated", **bar)  # fmt: skip
        for y, count in enumerate(self.counts):
            whole = count.kept + count.violated
            axis.text(1.01, y, f"{count.kept:,} of {whole:,}", va="center", fontsize=8,
                      color=look.ink, transform=axis.get_yaxis_transform())  # fmt: skip
        dress(axis, look, grid="x")
        names = [f"{c.kind}: {shortened(c.group)}" if c.group else c.kind for c in self.counts]
        axis.set_yticks(place, names)
        axis.set_ylim(len(place) - 0.5, -0.5)
        axis.set_xlim(0, 1)
        from matplotlib.ticker import PercentFormatter

        axis.xaxis.set_major_formatter(PercentFormatter(1.0))
        axis.set_xlabel("share of the constraints", color=look.ink)
        n, broken = int(total.sum()), int(violated.sum())
        axis.set_title(f"{n - broken:,} of {n:,} constraints kept", color=look.ink)
        self._legend(look)
