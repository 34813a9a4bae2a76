"""The classical baselines: seeds, clamped labels, and constraints that may never be broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..constraints import Constraints
from ._setup import Recipe
from .hmrf import HMRFKMeans

__all__ = ["COPKMeans", "ConstrainedKMeans", "SeededKMeans"]


class SeededKMeans(HMRFKMeans):
    """Labels give the initial centres and nothing else (Basu, Banerjee & Mooney 2002).

    Pass labels as ``partial_labels`` (or ``y`` with ``labels_from_y=True``); class c starts
    cluster c. Constraints, if given, add neighbourhoods for the clusters without a class.
    """

    _use_pairs = "none"
    _absolute_weight = 0.0

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: Any = "euclidean",
        init: Any = "neighbourhoods",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        labels_from_y: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            distortion=distortion,
            metric="identity",
            penalty="potts",
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            labels_from_y=labels_from_y,
            label_reading="absolute",
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )

    def _recipe(self, n_features: int) -> Recipe:
        return replace(super()._recipe(n_features), label_weight=self._absolute_weight)


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
    _absolute_weight = np.inf


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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: Any = "euclidean",
        init: Any = "neighbourhoods",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        labels_from_y: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            distortion=distortion,
            metric="identity",
            penalty="potts",
            constraint_weight=np.inf,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            labels_from_y=labels_from_y,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )

    def _effective(self, constraints: Constraints) -> Constraints:
        return constraints.scaled(np.inf)
