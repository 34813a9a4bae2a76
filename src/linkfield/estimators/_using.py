"""What a fitted model is used for: labels, probabilities, distances, scores, explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._rows import DenseRows, Rows
from .._threads import single_blas, threads
from ..distortions import as_distortion
from ..engine import ArrayEngine
from ..estimation import Model, softmax
from ._explain import Explanation, explained
from ._inputs import read_data, read_weights

__all__ = ["Using"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Using(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Mixin of a fitted :class:`HMRFKMeans`."""

    if TYPE_CHECKING:  # what the estimator sets
        n_clusters: int
        n_jobs: int | None
        distortion: Any
        labels_: NDArray[np.int32]
        _model: Model
        _offset: FloatArray
        _label_offsets: FloatArray
        _temperature: float

    def _rows(self, X: Any) -> Rows:
        """Return checked data as the model sees it."""
        rows = as_distortion(self.distortion).rows(X)
        if isinstance(rows, DenseRows) and self._offset.any():
            return DenseRows(rows.base, self._offset.astype(rows.dtype))
        return rows

    def _distances(self, X: Any) -> NDArray[Any]:
        """Return D(x, μ_h) for checked rows."""
        distortion, model = as_distortion(self.distortion), self._model
        return distortion.table(self._rows(X), model.centres, model.metric)

    def _read(self, X: Any) -> Any:
        check_is_fitted(self)
        return read_data(self, X, as_distortion(self.distortion), reset=False)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the distortion of every row to every centre (squared, for "euclidean")."""
        return self._distances(self._read(X))

    def predict(self, X: Any) -> IntArray:
        """Return the cluster of every row; constraints play no part in it."""
        rows = self._rows(self._read(X))
        n, K = len(rows), len(self._model.centres)
        distortion = as_distortion(self.distortion)
        engine = ArrayEngine(rows, np.ones(n), np.ones(n, bool), distortion, K)
        with threads(self.n_jobs), single_blas:
            labels = engine.nearest(self._model, self._label_offsets)
        return labels.astype(np.int32)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(l = h | x) ∝ exp(−(D(x, μ_h) + offset_h)/T).

        After a soft fit T is its temperature, and these are the memberships that it gives rows
        without ties. After a hard fit T = 2 Σ v D / (N d) is the dispersion: with a learned squared
        Euclidean metric it is close to 2, and the model is the Gaussian mixture with equal weights
        whose covariance is the inverse metric.
        """
        costs = self.transform(X) + self._label_offsets
        return softmax(costs, max(self._temperature, np.finfo(float).tiny))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return −Σ v min_h D(x, μ_h): larger is better, as with scikit-learn's KMeans."""
        X = self._read(X)
        weight = read_weights(sample_weight, X)
        return -float(weight @ self._distances(X).min(axis=1))

    def explain(self, i: int, X: Any = None) -> Explanation:
        """Say what row i of the training data costs under every cluster, and why.

        All other rows are where ``labels_`` puts them.

        Parameters
        ----------
        i : int
            Row position.
        X : array, optional
            The training data; needed only for a model that was pickled, which carries neither
            the data nor the constraints: it explains the distances alone.
        """
        check_is_fitted(self)
        X = getattr(self, "_fit_X", None) if X is None else self._read(X)
        if X is None:
            raise ValueError("this model was loaded without its data: pass explain(i, X)")
        n = X.shape[0]
        if not isinstance(i, int | np.integer) or not 0 <= i < n:
            raise ValueError(f"i must be a row position between 0 and {n - 1}, got {i!r}")
        row = X[[i]]
        K = self.n_clusters
        distance = np.asarray(self._distances(row)[0], np.float64) + self._label_offsets
        setup = getattr(self, "_setup", None)
        found: list[tuple[str, FloatArray]] = []
        weight = 1.0
        if setup is not None:
            weight = float(setup.problem.engine.weight[i])
            found = explained(setup, self._model.metric, np.asarray(self.labels_, np.int64), i, K)
        total = weight * distance + sum((values for _, values in found), np.zeros(K))
        return Explanation(int(i), int(self.labels_[i]), weight * distance, found, total)
