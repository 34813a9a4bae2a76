"""The methods of the papers by their own names: special cases of one model."""

from __future__ import annotations

from typing import Any

from .hmrf import HMRFKMeans

__all__ = ["KMeansI", "KMeansIC", "KMeansICD", "MKMeans", "MPCKMeans", "PCKMeans"]


class PCKMeans(HMRFKMeans):
    """Pairwise-constrained k-means: every violation costs its weight (Basu et al. 2003, eq. 1).

    Seeds from neighbourhoods, a fixed metric, the Potts penalty. The scale of ``distortion``
    decides how much a unit of constraint weight is worth; see :class:`HMRFKMeans` for the
    parameters.

    Examples
    --------
    >>> from linkfield import Constraints, PCKMeans
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> apart = Constraints(cannot_link=[(0, 1)])
    >>> model = PCKMeans(3, constraint_weight=100, random_state=0).fit(X, constraints=apart)
    >>> len(model.violations_)
    0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: Any = "euclidean",
        inference: Any = "icm",
        constraint_weight: float = 1.0,
        closure: bool | str = "auto",
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
            inference=inference,
            constraint_weight=constraint_weight,
            closure=closure,
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


class MPCKMeans(HMRFKMeans):
    """Metric learning and pairwise constraints together (Basu et al. 2003; Bilenko et al. 2004).

    ``penalty="hmrf"`` is the shape of 2004, which brings violated must-links together;
    ``penalty="mpc2003"`` the printed one of 2003. ``metric`` may be any but "identity"; see
    :class:`HMRFKMeans` for the other parameters.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "diagonal",
        penalty: Any = "hmrf",
        inference: Any = "icm",
        constraint_weight: float = 1.0,
        closure: bool | str = "auto",
        init: Any = "neighbourhoods",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        metric_prior: Any = "wishart",
        labels_from_y: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            penalty=penalty,
            inference=inference,
            constraint_weight=constraint_weight,
            closure=closure,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            metric_prior=metric_prior,
            labels_from_y=labels_from_y,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )


class MKMeans(MPCKMeans):
    """Metric learning alone (Basu et al. 2003, 4.2): constraints shape the metric only.

    No seeding from constraints, and no constraint term in the assignment. Since the assignment
    does not see the pairs, a step could raise the objective; the fit stops before it does.
    """

    _use_pairs = "metric"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str = "diagonal",
        penalty: Any = "hmrf",
        constraint_weight: float = 1.0,
        closure: bool | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        metric_prior: Any = "wishart",
        labels_from_y: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            metric=metric,
            penalty=penalty,
            constraint_weight=constraint_weight,
            closure=closure,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            metric_prior=metric_prior,
            labels_from_y=labels_from_y,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )


class KMeansICD(HMRFKMeans):
    """KMeans-I-C-D of Basu et al. 2004: initialisation, constraints and distance learning.

    The complete model under the paper's name, seeded by its weighted farthest-first rule; with
    ``distortion`` "cosine" or "i-divergence" the two that the paper tests.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: Any = "cosine",
        penalty: Any = "hmrf",
        inference: Any = "icm",
        constraint_weight: float = 1.0,
        closure: bool | str = "auto",
        init: Any = "farthest-first",
        n_init: int | str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        metric_prior: Any = "wishart",
        labels_from_y: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_clusters,
            distortion=distortion,
            metric=self._ablated_metric,
            penalty=penalty,
            inference=inference,
            constraint_weight=constraint_weight,
            closure=closure,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            metric_prior=metric_prior,
            labels_from_y=labels_from_y,
            warm_start=warm_start,
            n_jobs=n_jobs,
            verbose=verbose,
            random_state=random_state,
        )

    _ablated_metric = "diagonal"


class KMeansIC(KMeansICD):
    """KMeans-I-C of Basu et al. 2004: initialisation and constraints, no distance learning."""

    _ablated_metric = "identity"


class KMeansI(KMeansIC):
    """KMeans-I of Basu et al. 2004: constraints for the initialisation only."""

    _use_pairs = "none"
