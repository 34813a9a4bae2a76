"""The Potts field of one component: rows that constraints tie together, as a graph."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from .._random import as_generator
from ..constraints import Constraints
from ._costs import row_costs
from ._display import Display, Layout
from ._fitted import Fitted, read_fitted
from ._layout import circle, spring
from ._links import Links, draw_links, links_of
from ._theme import Theme, dress, shortened

__all__ = ["FieldDisplay"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Pairs that are looked at; labels that entail more are shown by representatives.
MOST_LINKS = 20_000

#: Nodes that have their row's name beside them.
MOST_NAMED = 40


class FieldDisplay(Display):
    """One connected component of the constraints: rows as nodes, constraints as edges.

    Solid edges are must-links, dashed ones cannot-links, red and crossed ones are violated. Colour
    and shape of a node are its cluster; the larger it is, the more its row pays: how much farther
    its centre is than the nearest one, and what its violated constraints cost.

    Parameters
    ----------
    place : float array (m, 2)
        Where the nodes are drawn.
    labels : int array (m,)
    links : Links
        Edges between the nodes, by their numbers.
    cost : float array (m,)
        What each row pays.
    names : list of str
        The rows' names.
    title, note : str
    """

    def __init__(
        self,
        place: FloatArray,
        labels: IntArray,
        links: Links,
        cost: FloatArray,
        names: list[str],
        *,
        title: str = "",
        note: str = "",
    ) -> None:
        self.place, self.labels, self.links = place, labels, links
        self.cost, self.names, self.title, self.note = cost, names, title, note

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        constraints: Constraints | None = None,
        sample_id: Any = None,
        row: Any = None,
        max_nodes: int = 120,
        layout: str = "spring",
        random_state: Any = 0,
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw the component of a row, by default the largest one.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        X : array, sparse matrix or data frame
            The rows of the fit.
        constraints : Constraints, optional
            By default those of the fit, if the model still has them.
        sample_id : sequence, optional
            The id of every row.
        row : optional
            A row of the component to be drawn: its position, or its id where there are ids.
        max_nodes : int, default=120
            A larger component is shown from that row (or its most tied one) outwards.
        layout : {"spring", "circle"}, default="spring"
        random_state : int, Generator or None, default=0
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        if layout not in ("spring", "circle"):
            raise ValueError(f"layout must be 'spring' or 'circle', got {layout!r}")
        found = read_fitted(model, X, constraints=constraints, sample_id=sample_id)
        rng = as_generator(random_state)
        links = links_of(found.constraints, found.labels, MOST_LINKS, rng)
        if not len(links.ends):
            raise ValueError("there are no constraints, so there is no field; pass constraints=")
        ids = found.constraints.sample_id if sample_id is None else np.asarray(sample_id, object)
        start = None if row is None else _position(row, ids, len(found.labels))
        nodes, whole = _component(links, start, max_nodes)
        display = cls._of(found, links, nodes, whole, ids, layout, rng)
        return display.plot(ax, theme=theme) if draw else display

    @classmethod
    def _of(
        cls, found: Fitted, links: Links, nodes: IntArray, whole: int, ids: Any, layout: str,
        rng: np.random.Generator,
    ) -> Self:  # fmt: skip
        inside = np.isin(links.ends, nodes).all(axis=1)
        mine = links.taken(inside)
        edges = np.searchsorted(nodes, mine.ends)
        if layout == "circle":
            place = circle(found.labels[nodes])
        else:
            place = spring(len(nodes), edges, mine.must, rng)
        cost = row_costs(found, nodes, mine)
        names = [str(i if ids is None else ids[i]) for i in nodes.tolist()]
        shown = Links(edges, mine.must, mine.kept, mine.weight, mine.n_given)
        n, broken = len(nodes), int((~mine.kept).sum())
        title = f"{n} tied rows, {len(edges)} constraints shown, {broken or 'none'} violated"
        note = f"{n} of the component's {whole:,} rows" if n < whole else ""
        display = cls(place, found.labels[nodes], shown, cost, names, title=title, note=note)
        display.rows = nodes
        return display

    #: Positions of the rows that are the nodes, where the display was made from an estimator.
    rows: IntArray | None = None

    def _layout(self) -> Layout:
        return Layout(1, 1, 6.4, 5.6)

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        axis = axes[0]
        draw_links(axis, self.place, self.links, look)
        size = self._sizes()
        for h in np.unique(self.labels):
            mine = self.labels == h
            node = {"s": size[mine], "color": look.colour(h), "marker": look.marker(h),
                    "edgecolors": look.paper, "linewidths": 0.6, "zorder": 6}  # fmt: skip
            axis.scatter(*self.place[mine].T, **{**node, **style})
            axis.scatter([], [], color=look.colour(h), marker=look.marker(h), s=40,
                         label=f"cluster {h}")  # fmt: skip
        if len(self.names) <= MOST_NAMED:
            for (x, y), name, s in zip(self.place, self.names, size, strict=True):
                axis.annotate(shortened(name, 16), (x, y), (np.sqrt(s) / 2 + 1.5, 2.5),
                              textcoords="offset points", fontsize=7, color=look.ink,
                              zorder=7)  # fmt: skip
        dress(axis, look, grid="")
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[["left", "bottom"]].set_visible(False)
        axis.margins(0.08)
        axis.set_title(self.title, color=look.ink)
        told = "a larger node pays more: a farther centre, violated constraints"
        axis.set_xlabel(f"{told}\n{self.note}" if self.note else told, color=look.ink)
        self._legend(look)

    def _sizes(self) -> FloatArray:
        """Return the nodes' areas: 30 for a row that pays nothing, up to 230."""
        finite = np.where(np.isfinite(self.cost), self.cost, 0.0)
        top = float(finite.max(initial=0.0))
        part = finite / top if top > 0 else np.zeros_like(finite)
        return 30.0 + 200.0 * np.where(np.isinf(self.cost), 1.0, part)


def _position(row: Any, ids: Any, n: int) -> int:
    """Return the position of a row that was named by id or by position."""
    if ids is not None:
        found = [i for i, name in enumerate(ids.tolist()) if name == row or str(name) == str(row)]
        if not found:
            raise ValueError(f"no row has the id {row!r}; check how it is written")
        return found[0]
    if not isinstance(row, int | np.integer) or not 0 <= row < n:
        raise ValueError(f"row must be a position between 0 and {n - 1}, got {row!r}")
    return int(row)


def _component(links: Links, start: int | None, most: int) -> tuple[IntArray, int]:
    """Return the rows of one component, at most so many, and how many it has."""
    if most < 1:
        raise ValueError(f"max_nodes must be at least 1, got {most}")
    rows = links.rows()
    ends = np.searchsorted(rows, links.ends)
    ones = np.ones(len(ends))
    graph = coo_array((ones, (ends[:, 0], ends[:, 1])), shape=(len(rows), len(rows))).tocsr()
    graph = graph + graph.T
    component = connected_components(graph, directed=False)[1]
    if start is None:
        which = int(np.bincount(component).argmax())
        degree = np.where(component == which, np.bincount(ends.ravel(), minlength=len(rows)), -1)
        first = int(degree.argmax())
    else:
        first = int(np.searchsorted(rows, start))
        if first == len(rows) or rows[first] != start:
            raise ValueError("no constraint speaks of that row; choose one that is tied")
    nodes = breadth_first_order(graph, first, directed=False, return_predecessors=False)
    return np.sort(rows[nodes[:most]]), len(nodes)
