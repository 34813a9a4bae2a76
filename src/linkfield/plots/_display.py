"""What all displays share: made from numbers, drawn later, as often and wherever one likes."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from ._theme import Theme, theme_of

__all__ = ["Display", "Layout"]


class Layout(NamedTuple):
    """Rows and columns of panels, the size of the whole in inches, and shared scales."""

    rows: int = 1
    columns: int = 1
    width: float = 6.0
    height: float = 4.0
    share: bool = False


class Display:
    """A picture that knows its numbers (a base class).

    A subclass says how many panels it has (:meth:`_layout`) and draws into them (:meth:`_draw`).
    """

    figure_: Any
    ax_: Any
    axes_: Any
    _own: bool = False

    def _layout(self) -> Layout:
        return Layout()

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        raise NotImplementedError

    def plot(self, ax: Any = None, *, theme: str | Theme = "auto", **style: Any) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes, or a sequence of them where there are several panels, optional
            Where to draw; by default a new figure of pyplot.
        theme : {"auto", "light", "dark"}, default="auto"
            "auto" follows matplotlib's style, so ``plt.style.use("dark_background")`` works.
        **style
            Passed on to the main artists (points, lines or bars).

        Returns
        -------
        self
            With ``figure_``, ``ax_`` (the first panel) and ``axes_`` (all of them).
        """
        from ._figures import need_matplotlib

        need_matplotlib()
        look = theme_of(theme)
        if ax is None:
            from matplotlib import pyplot

            layout = self._layout()
            size = (layout.width, layout.height)
            figure = pyplot.figure(figsize=size, layout="constrained", facecolor=look.paper)
            return self._filled(figure, look, style)
        axes = _flat(ax)
        layout = self._layout()
        needed = layout.rows * layout.columns
        if len(axes) != needed:
            raise ValueError(
                f"{type(self).__name__} has {needed} panel{'s' * (needed != 1)} here and ax holds "
                f"{len(axes)} axes; pass a list of {needed}, or leave ax out"
            )
        self._own = False
        self._drawn(axes, look, style)
        return self

    def _figure(self, look: Theme, **style: Any) -> Any:
        """Draw into a figure that pyplot knows nothing of, and return it."""
        from matplotlib.figure import Figure

        layout = self._layout()
        size = (layout.width, layout.height)
        return self._filled(Figure(figsize=size, layout="constrained"), look, style).figure_

    def _filled(self, figure: Any, look: Theme, style: dict[str, Any]) -> Self:
        layout = self._layout()
        grid = figure.subplots(
            layout.rows, layout.columns, squeeze=False, sharex=layout.share, sharey=layout.share
        )
        self._own = True
        self._drawn(list(grid.flat), look, style)
        return self

    def _drawn(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        self.axes_, self.ax_, self.figure_ = axes, axes[0], axes[0].figure
        self._draw(axes, look, style)

    def _legend(self, look: Theme, *, fontsize: float = 8.5) -> None:
        """One legend for all panels: below them in a figure of our own, else inside the last."""
        found = [axis.get_legend_handles_labels() for axis in self.axes_]
        entries = {n: h for handles, names in found for h, n in zip(handles, names, strict=True)}
        if not entries:
            return
        common = {"fontsize": fontsize, "labelcolor": look.ink, "frameon": False}
        if not self._own:
            self.axes_[-1].legend(entries.values(), entries.keys(), **common)
            return
        width = self.figure_.get_figwidth()
        columns = max(1, int(width / (0.65 + 0.075 * max(map(len, entries)))))
        self.figure_.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=columns, **common
        )


def _flat(ax: Any) -> list[Any]:
    """Return the axes of a sequence or an array of them, or of one."""
    if hasattr(ax, "flat"):
        return list(ax.flat)
    return list(ax) if isinstance(ax, list | tuple) else [ax]
