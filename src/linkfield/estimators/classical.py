"""The classical baselines: seeds, clamped labels, and constraints that may never be broken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..constraints import Constraints
from ._recipe import Recipe
from ._special import special_case
from .hmrf import HMRFKMeans

__all__ = ["COPKMeans", "ConstrainedKMeans", "SeededKMeans"]

_PLAIN = {
    "metric": "identity",
    "metric_prior": None,
    "logdet_weight": 0.0,
    "penalty": "potts",
    "inference": "icm",
    "assignment": "hard",
    "closure": False,
}


@special_case({**_PLAIN, "constraint_weight": 1.0, "label_reading": "absolute"})
class SeededKMeans(HMRFKMeans):
    """Labels give the initial centres and nothing else (Basu, Banerjee & Mooney 2002).

    Pass labels as ``partial_labels`` (or ``y`` with ``labels_from_y=True``); class c starts
    cluster c. Without labels, constraints give the seeds.
    """

    _use_pairs = "none"
    _label_weight = 0.0
    _several = 1  # the labels fix the start

    def _recipe(self, n_features: int, kind: str | None = None) -> Recipe:
        return replace(super()._recipe(n_features, kind), label_weight=self._label_weight)


class ConstrainedKMeans(SeededKMeans):
    """Seeded k-means whose labelled rows keep their labels (Basu, Banerjee & Mooney 2002).

    Class c is cluster c: whole numbers 0..K-1 name their cluster, other classes are numbered in
    sorted order (``classes_``).

    Examples
    --------
    >>> from linkfield import ConstrainedKMeans
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> ConstrainedKMeans(2, random_state=0).fit(X, partial_labels=[1, -1, -1, 0]).labels_
    array([1, 1, 0, 0], dtype=int32)
    """

    _use_pairs = "all"
    _label_weight = np.inf


@special_case({**_PLAIN, "constraint_weight": np.inf, "label_reading": "relational"})
class COPKMeans(HMRFKMeans):
    """K-means under constraints that must all hold (the problem of Wagstaff et al. 2001).

    Every constraint, and every label, is hard. Where an assignment exists that keeps them all, it
    is found (the original algorithm often misses it); where none does,
    :class:`~linkfield.exceptions.InfeasibleConstraintsError` names the rows that make it
    impossible.

    Examples
    --------
    >>> from linkfield import COPKMeans, Constraints
    >>> known = Constraints(must_link=[(0, 3)], cannot_link=[(0, 1)])
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> labels = COPKMeans(2, random_state=0).fit_predict(X, constraints=known)
    >>> bool(labels[0] == labels[3] != labels[1])
    True
    """

    def _effective(self, constraints: Constraints) -> Constraints:
        return constraints.scaled(np.inf)
