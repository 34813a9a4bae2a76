"""What a learned metric makes of the features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ._coordinates import metric_of
from ._display import Display, Layout
from ._fitted import as_table, feature_names_of, last_step
from ._moments import column_moments
from ._theme import Theme, dress, shortened

__all__ = ["FeatureWeightsDisplay", "feature_weights"]

FloatArray = NDArray[np.float64]

UNLEARNED = "weight (no metric was learned)"


def feature_weights(model: Any) -> tuple[FloatArray, str]:
    """Return a model's feature weights, (d,) or one line a cluster, and what they are.

    Of matrices it is the diagonal; a mixture's are the diagonals of its precisions.
    """
    A = metric_of(model)
    d = int(model.n_features_in_)
    if not hasattr(model, "metric_"):
        tied = model.covariance_type == "tied"
        what = "precision" if A.ndim < 3 and not tied else "diagonal of the precision matrix"
        return (np.diag(A).copy() if tied else _diagonals(A)), what
    kind = str(getattr(model, "metric_kind_", model.metric))
    if A.ndim == 2 and A.shape == (d, d) and kind == "full":
        return np.diag(A).copy(), "diagonal of the full metric"
    if A.ndim == 3:
        return _diagonals(A), "diagonal of the cluster's metric"
    return A, "weight" if kind != "identity" else UNLEARNED


def _diagonals(A: FloatArray) -> FloatArray:
    return np.diagonal(A, axis1=1, axis2=2).copy() if A.ndim == 3 else A


class FeatureWeightsDisplay(Display):
    """Learned feature weights, the largest first.

    Where rows are given, a bar is a feature's share in all distances: weight times variance. One
    metric for every cluster is shown as a table of fields.

    Parameters
    ----------
    weights : float array (d,) or (K, d)
    names : list of str
    variance : float array (d,), optional
    what : str, default="weight"
        What the weights are.
    max_features : int, default=20
    """

    def __init__(
        self,
        weights: FloatArray,
        names: list[str],
        *,
        variance: FloatArray | None = None,
        what: str = "weight",
        max_features: int = 20,
    ) -> None:
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim not in (1, 2) or self.weights.shape[-1] != len(names):
            raise ValueError(
                f"there are {len(names)} names for weights of shape {self.weights.shape}"
            )
        if max_features < 1:
            raise ValueError(f"max_features must be at least 1, got {max_features}")
        self.names, self.variance, self.what = list(names), variance, what
        self.values, self.label = self.weights, what
        if variance is not None:
            spread = self.weights * variance
            total = spread.sum(axis=-1, keepdims=True)
            self.values = np.divide(spread, total, out=np.zeros_like(spread), where=total > 0)
            factor = (
                f"{what} × variance" if what != UNLEARNED else "variance; no metric was learned"
            )
            self.label = f"share in all distances ({factor})"
        most = self.values if self.values.ndim == 1 else self.values.max(axis=0)
        #: The features that are shown, the largest first.
        self.order = np.argsort(-most, kind="stable")[:max_features]

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        *,
        feature_names: Any = None,
        max_features: int = 20,
        ax: Any = None,
        theme: str | Theme = "auto",
        draw: bool = True,
    ) -> Self:
        """Draw what a fitted model made of the features.

        Parameters
        ----------
        model : fitted estimator, or a pipeline that ends in one
        X : array, sparse matrix or data frame, optional
            Rows, before a pipeline's preparation: with them a bar is the share of a feature in
            all distances, which does not depend on its unit.
        feature_names : sequence of str, optional
            By default those of the fit.
        max_features : int, default=20
            So many of the largest.
        ax, theme
            See :meth:`plot`.
        draw : bool, default=True
            False leaves the drawing to :meth:`plot`.
        """
        step, prepare = last_step(model)
        check_is_fitted(step)
        weights, what = feature_weights(step)
        names = feature_names_of(model, feature_names, weights.shape[-1])
        variance = None
        if X is not None:
            X = as_table(X if prepare is None else prepare.transform(X))
            if X.shape[1] != weights.shape[-1]:
                raise ValueError(f"X has {X.shape[1]} features, the model {weights.shape[-1]}")
            variance = column_moments(X)[1]
        display = cls(weights, names, variance=variance, what=what, max_features=max_features)
        return display.plot(ax, theme=theme) if draw else display

    def _layout(self) -> Layout:
        height = 1.1 + 0.24 * len(self.order)
        if self.values.ndim == 1:
            return Layout(1, 1, 6.4, height)
        return Layout(1, 1, 3.2 + 0.55 * len(self.values), height + 0.3)

    def _draw(self, axes: list[Any], look: Theme, style: dict[str, Any]) -> None:
        axis = axes[0]
        if self.values.ndim == 1:
            self._bars(axis, look, style)
        else:
            self._fields(axis, look)
        names = [shortened(self.names[j]) for j in self.order]
        axis.set_yticks(np.arange(len(names)), names)
        axis.set_ylim(len(names) - 0.4, -0.6)
        d = len(self.names)
        if len(self.order) < d:
            axis.set_title(f"the {len(self.order)} largest of {d:,} features", color=look.ink,
                           fontsize=10)  # fmt: skip

    def _bars(self, axis: Any, look: Theme, style: dict[str, Any]) -> None:
        values = self.values[self.order]
        axis.barh(np.arange(len(values)), values,
                  **{"color": look.colour(0), "height": 0.72, **style})  # fmt: skip
        share = self.variance is not None
        # Shares of many features are small: as many digits as tell the bars apart.
        digits = 1 if values.max(initial=0) > 0.01 else 3
        for y, value in enumerate(values):
            text = f"{value:.{digits}%}" if share else f"{value:.3g}"
            axis.annotate(text, (value, y), (3, 0), textcoords="offset points", va="center",
                          fontsize=8, color=look.ink)  # fmt: skip
        dress(axis, look, grid="x")
        axis.set_xlim(0, (float(values.max(initial=0)) or 1.0) * 1.14)
        axis.set_xlabel(self.label, color=look.ink)
        if share:
            from matplotlib.ticker import PercentFormatter

            axis.xaxis.set_major_formatter(
                PercentFormatter(1.0, decimals=0 if values[0] > 0.05 else digits)
            )

    def _fields(self, axis: Any, look: Theme) -> None:
        """Draw a field for every cluster and feature: the fuller, the larger in its cluster."""
        from matplotlib.patches import Rectangle

        values = self.values[:, self.order]
        top = values.max(axis=1, keepdims=True)
        strength = np.divide(values, top, out=np.zeros_like(values), where=top > 0)
        for h, line in enumerate(strength):
            for y, part in enumerate(line):
                field = Rectangle((h - 0.46, y - 0.44), 0.92, 0.88, facecolor=look.colour(0),
                                  alpha=0.06 + 0.5 * float(part), linewidth=0)  # fmt: skip
                axis.add_patch(field)
                if len(values) <= 14:
                    value = values[h, y]
                    text = f"{value:.0%}" if self.variance is not None else f"{value:.2g}"
                    axis.text(h, y, text, ha="center", va="center", fontsize=7.5, color=look.ink)
        dress(axis, look, grid="")
        axis.set_xlim(-0.55, len(values) - 0.45)
        step = max(1, len(values) // 20)
        axis.set_xticks(np.arange(0, len(values), step))
        label = self.label if self.variance is None else "share in the cluster's distances"
        axis.set_xlabel(f"cluster; {label}", color=look.ink)
