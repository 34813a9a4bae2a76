"""How the objective went, and how far each assignment was from the best one."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._display import Display, Layout
from ._fitted import last_step
from ._theme import Theme, dress

__all__ = ["ObjectiveDisplay"]

FloatArray = NDArray[np.float64]


class ObjectiveDisplay(Display):
    """The objective over iterations, its sub-steps, and the certified gap where there is one.

    Parameters
    ----------
    trace : float array (iterations,)
        The objective after every iteration.
    history : structured array, optional
        Fields iteration, step, objective: the value after every sub-step.
    certificate : structured array, optional
        Fields iteration, gap: how far each assignment of the tied rows is from the best, at most.
    name : str, default="objective J"
    rises : bool, default=False
        Whether more is better (a likelihood).
    converged : bool or None
    """

    def __init__(
        self,
        trace: FloatArray,
        *,
        history: Any = None,
        certificate: Any = None,
        name: str = "objective J",
        rises: bool = False,
        converged: bool | None = None,
    ) -> None:
        self.trace = np.asarray(trace, np.float64)
        if self.trace.ndim != 1 or not len(self.trace):
            raise ValueError(f"trace must hold one number an iteration; got {self.trace.shape}")
        self.history, self.certificate = history, certificate
        self.name, self.rises, self.converged = name, rises, converged

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Any = None, theme: str | Theme = "auto", draw: bool = True
    ) -> Self:
        """Draw how the fit of a model went.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        ax, theme
            See :meth:`plot`; a model fitted with ``certify=True`` has two panels.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        model, _ = last_step(model)
        check_is_fitted(model)
        if not hasattr(model, "objective_trace_"):
            raise ValueError(f"{type(model).__name__} records no objective_trace_")
        certificate = getattr(model, "certificate_", None)
        if certificate is not None and not np.isfinite(certificate["gap"]).any():
            certificate = None
        mixture = not hasattr(model, "history_")
        soft = hasattr(model, "marginals_")
        name = "log posterior E" if mixture else "free energy F" if soft else "objective J"
        display = cls(
            model.objective_trace_, history=getattr(model, "history_", None),
            certificate=certificate, name=name, rises=mixture,
            converged=bool(model.converged_),
        )  # fmt: skip
        return display.plot(ax, theme=theme) if draw else display

    def _layout(self) -> Layout:
        if self.certificate is None:
            return Layout(1, 1, 6.0, 3.6)
        return Layout(2, 1, 6.0, 5.6)

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        self._values(axes[0], look, style)
        if self.certificate is not None:
            self._gaps(axes[1], look)
        axes[-1].set_xlabel("iteration", color=look.ink)
        for axis in axes:
            axis.set_xlim(-0.2, len(self.trace) * 1.02 + 0.2)
            axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        self._legend(look)

    def _values(self, axis: Any, look: Theme, style: dict[str, Any]) -> None:
        ends = np.arange(1, len(self.trace) + 1)
        if self.history is not None and len(self.history):
            x, names, values = substeps(self.history)
            axis.plot(x, values, color=look.neutral, linewidth=0.9, zorder=2)
            for k, name in enumerate(dict.fromkeys(names.tolist())):
                mine = names == name
                axis.plot(x[mine], values[mine], linestyle="none", markersize=3.2, zorder=2.5,
                          marker=look.marker(k + 1), color=look.colour(k + 1),
                          label=f"after the step “{name}”")  # fmt: skip
        line = {"color": look.colour(0), "marker": "o", "markersize": 4.5, "linewidth": 1.6,
                "zorder": 3, "label": "after the iteration"}  # fmt: skip
        axis.plot(ends, self.trace, **{**line, **style})
        dress(axis, look)
        axis.set_ylabel(self.name, color=look.ink)
        ended = {None: "", True: "; converged", False: "; not converged"}[self.converged]
        n = len(self.trace)
        what = "never falls" if self.rises else "never rises"
        axis.set_title(f"{n} iteration{'s' * (n != 1)}{ended} ({what})", color=look.ink)
        axis.ticklabel_format(axis="y", useOffset=False)
        self._cut(axis, look)

    def _cut(self, axis: Any, look: Theme) -> None:
        """Leave first sub-steps out of sight that would press all iterations into one line.

        Under the metric of the start the objective is on another scale.
        """
        if self.history is None or not len(self.history) or len(self.trace) < 2:
            return
        low, high = float(self.trace.min()), float(self.trace.max())
        start = float(np.max(self.history["objective"]))
        if high > low and start - low > 8 * (high - low):
            axis.set_ylim(low - 0.08 * (high - low), high + 0.35 * (high - low))
            axis.text(0.98, 0.97, f"set out from {start:.4g}, above the picture", ha="right",
                      va="top", transform=axis.transAxes, fontsize=8, color=look.ink)  # fmt: skip

    def _gaps(self, axis: Any, look: Theme) -> None:
        table = self.certificate[np.isfinite(self.certificate["gap"])]
        # A gap of 0, up to rounding, is the best news there is; a logarithm cannot show it.
        gap = np.where(table["gap"] <= 1e-10 * np.abs(table["energy"]), 0.0, table["gap"])
        axis.plot(table["iteration"], gap, color=look.colour(3), marker="D", markersize=4,
                  linewidth=1.4, label="certified gap of the assignment")  # fmt: skip
        positive = gap[gap > 0]
        if positive.size:
            # From a power of ten on, so that its mark and that of 0 keep apart.
            axis.set_yscale("symlog", linthresh=10.0 ** np.floor(np.log10(positive.min())))
        axis.set_ylim(bottom=0)
        dress(axis, look)
        axis.set_ylabel("gap to the best labels", color=look.ink)
        last = float(gap[-1])
        told = (
            f"last assignment within {last:.3g} of the best" if last else "no better labels exist"
        )
        axis.set_title(told, color=look.ink)


def substeps(history: Any) -> tuple[FloatArray, NDArray[np.str_], FloatArray]:
    """Return when each sub-step ended (iteration 3 spans 2 to 3), its name and the objective."""
    iteration = np.asarray(history["iteration"], np.int64)
    first, position = np.unique(iteration, return_index=True)
    count = np.diff(np.r_[position, len(iteration)])
    which = np.searchsorted(first, iteration)
    place = np.arange(len(iteration)) - position[which] + 1
    x = iteration - 1 + place / count[which]
    return x, np.asarray(history["step"]), np.asarray(history["objective"], np.float64)
