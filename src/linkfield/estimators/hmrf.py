"""HMRFKMeans: clustering with constraints and a learned distance, as a hidden Markov field."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags

from .._random import as_generator
from .._threads import blas_for, threads
from ..constraints import Constraints
from ..distortions import Distortion, Metric, as_distortion, as_penalty
from ..engine import Assignment
from ..estimation import as_prior
from ..exceptions import InfeasibleConstraintsError
from ..inference import as_inference
from ..inference.feasible import InfeasibleFieldError
from ._choosing import Choosing
from ._em import HISTORY_DTYPE, Outcome, Start, run, stopping_rule
from ._explain import impossible, said_gap, violation_table
from ._inputs import check_clusters, check_parameters, knowledge, read_data, read_weights
from ._recipe import Recipe, checked_metric
from ._setup import Setup
from ._soft import SoftOutcome, run_soft
from ._using import Using
from .progress import reporter

__all__ = ["HMRFKMeans"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Starts whose objectives differ by no more than this share end alike but for rounding. The first
#: of them is kept, so that rounding, another on every machine, does not number the clusters.
ALIKE = 1e-9


class HMRFKMeans(Choosing, Using, ClusterMixin, BaseEstimator):
    """K-means with must-links, cannot-links and a learned distance (Basu et al. 2004).

    Minimises, over labels L, centres μ and the metric θ::

        J = Σ_i v_i D_θ(x_i, μ_{l_i}) + Σ_ML w f^M_θ [l_i ≠ l_j] + Σ_CL w f^C_θ [l_i = l_j] + R(θ)

    by steps each of which lowers J or leaves it as it is. With ``assignment="soft"`` every row has
    probabilities q_i instead of a label, and the steps lower the free energy at temperature T::

        F = E_q[J] − T Σ_i v_i H(q_i)

    Parameters
    ----------
    n_clusters : int, default=8
    distortion : str or Distortion, default="euclidean"
        "euclidean" (squared), "cosine", "correlation", "i-divergence", "kl", "itakura-saito",
        "logistic", or an object from :mod:`linkfield.distortions`.
    metric : str, default="auto"
        What is learned: "identity" (nothing), "diagonal", "full", "diagonal-per-cluster" or
        "full-per-cluster". "auto" compares the first three by how many constraints they keep that
        a fit has not seen (``metric_choice_``), for squared distances and from ten pairs on;
        otherwise it is "diagonal".
    penalty : str or Penalty, default="hmrf"
        "hmrf" (far must-links and near cannot-links cost more; Basu et al. 2004), "mpc2003" (Basu
        et al. 2003, with its thresholds) or "potts" (constant; PC-KMeans).
    inference : str or Inference, default="icm"
        How the tied rows are labelled: "icm", "auto" (trees and small components exactly, never
        worse than ICM), "bp", "lp", "mean-field", "exact", or an object from
        :mod:`linkfield.inference` with parameters of its own, reachable as ``inference__damping``
        and the like. The objective never rises whatever the method.
    constraint_weight : float, default=1.0
        Factor on all weights; ``inf`` makes every constraint hard.
    closure : {"auto", True, False}, default="auto"
        "auto" adds what the constraints entail; a component that contradicts itself entails
        nothing, with a warning that names it. With True contradictions raise. False takes only
        the pairs as given, for noisy constraints.
    init : str, array of shape (n_clusters, n_features) or Neighbourhoods, default="neighbourhoods"
        "neighbourhoods" (from the constraints, k-means++ for the rest), "farthest-first" and
        "largest" (the rules of Basu et al. 2004 and 2003), "k-means++" or "random".
    n_init : int or "auto", default="auto"
        Number of starts, of which the one with the least J is kept. "auto" is 5 where there are
        constraints and a run is quick (rows x features x clusters up to 2e7), otherwise 1.
    max_iter : int, default=100
    tol : float, default=1e-4
        The fit has converged when the centres' squared shift is below ``tol`` times the mean
        variance of the features and no metric parameter changed by more than ``tol`` of the
        largest, or when no label changed and J fell by less than ``tol/100`` of itself.
    metric_prior : {"wishart", "rayleigh"}, MetricPrior or None, default="wishart"
        Prior on the metric, part of J.
    labels_from_y : bool, default=False
        Read ``y`` as partial labels (-1: unknown). Otherwise ``y`` is ignored, so that ground
        truth handed to a search for scoring never reaches the fit.
    label_reading : {"relational", "absolute"}, default="relational"
        "relational": rows of one class together, classes apart. "absolute": class c belongs to
        cluster c, at the cost ``constraint_weight`` a row.
    logdet_weight : float, default=1.0
        κ, the weight of −log det A in R(θ) for every unit of data.
    warm_start : bool, default=False
        Set out from the last fit's centres and metric, and from its labels if X has as many rows.
        Where that fit converged on the very same rows, only what the new constraints change is
        worked out again; the metric is then learned anew once 0.5% of the rows have moved.
    engine : {"auto", "array"}, default="auto"
    n_jobs : int or None, default=None
        Threads; the result does not depend on it. None takes all cores that the process may use,
        within the limits of the environment (OMP_NUM_THREADS, threadpoolctl, a joblib worker).
    verbose : int, default=0
    assignment : {"hard", "soft"}, default="hard"
        "soft" gives every row a probability for every cluster; centres and metric are those of
        expected memberships. It needs ``inference=MeanField(temperature=T)``: rows without ties
        have q_ih ∝ exp(−D_ih/T), tied rows the mean field of their links at the same T. Rows that
        hard must-links join have one label, whose entropy counts once, with their mean weight.
        Cannot-links must have finite weights, and what the constraints entail must be few enough
        pairs to be written out. T is meant for the scale of the learned metric, so where one is
        learned the first assignment is hard. A cluster that loses all rows is not refilled.
    certify : bool, default=False
        Whether to bound how far every assignment is from the best one; see ``certificate_``. It
        takes about as long as belief propagation, and needs every link that the constraints
        entail as an edge; where they are too many, the bound leaves them out and is weaker.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    labels_ : int array (n_samples,)
        With ``assignment="soft"`` the likeliest cluster of every row.
    cluster_centers_ : array (n_clusters, n_features)
    metric_ : array
        The metric: (d,), (d, d), (K, d) or (K, d, d).
    metric_kind_ : str
        What was learned; the choice, if ``metric="auto"``.
    metric_choice_ : structured array
        With ``metric="auto"``: the share of held-out pairs that every candidate ``kept`` (the mean
        of must-links and cannot-links), its standard ``error`` and the number of pairs. Empty
        where nothing was compared.
    marginals_ : array (n_samples, n_clusters)
        The probabilities q, with ``assignment="soft"`` only.
    objective_ : float
        J at the end; F with ``assignment="soft"``, in the two records below as well.
    objective_trace_ : array
        J at the end of every iteration; it never rises.
    history_ : structured array
        J after every sub-step: fields iteration, step, objective.
    lower_bound_ : float
        Whatever the labels, J is no less than this under the final centres and metric; -inf
        where nobody proved a bound (``certify=True``, or an inference that does, gives one).
    certificate_ : structured array
        With ``certify=True``: for every assignment its iteration, the ``energy`` of the tied
        rows, its ``lower_bound`` and the ``gap`` between them. A gap of 0 (up to rounding) proves
        that no other labels would have been better.
    violations_ : structured array
        The constraints that the labels break: fields a, b, kind, weight, cost.
    n_iter_ : int
    converged_ : bool
    classes_ : tuple
        The class bound to each cluster, with ``label_reading="absolute"`` only.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from linkfield import Constraints, HMRFKMeans
    >>> X = np.array([[0.0, 0.0], [0.0, 5.0], [1.0, 0.0], [1.0, 5.0]])
    >>> left_right = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2)])
    >>> model = HMRFKMeans(n_clusters=2, random_state=0).fit(X, constraints=left_right)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2])
    True

    Memberships by probability:

    >>> from linkfield.inference import MeanField
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> model = HMRFKMeans(2, metric="identity", assignment="soft", init=X[[0, 4]],
    ...                    inference=MeanField(temperature=2.0))
    >>> model.fit(X).marginals_[:, 0].round(2)
    array([0.99, 0.9 , 0.5 , 0.1 , 0.01])
    """

    _use_pairs = "all"

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        distortion: Any = "euclidean",
        metric: str = "auto",
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
        label_reading: str = "relational",
        logdet_weight: float = 1.0,
        warm_start: bool = False,
        engine: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
        assignment: str = "hard",
        certify: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.distortion = distortion
        self.metric = metric
        self.penalty = penalty
        self.inference = inference
        self.constraint_weight = constraint_weight
        self.closure = closure
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.metric_prior = metric_prior
        self.labels_from_y = labels_from_y
        self.label_reading = label_reading
        self.logdet_weight = logdet_weight
        self.warm_start = warm_start
        self.engine = engine
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.assignment = assignment
        self.certify = certify
        self.random_state = random_state

    # --------------------------------------------------------------- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        constraints: Constraints | None = None,
        partial_labels: Any = None,
        sample_id: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array, optional
            Ignored, unless ``labels_from_y=True``.
        constraints : Constraints, optional
        partial_labels : array of shape (n_samples,), optional
            Labels of some rows, -1 for the others.
        sample_id : sequence, optional
            The id of every row, to which the constraints are aligned.
        sample_weight : array of shape (n_samples,), optional
            A row of weight 2 counts like two equal rows in all data terms; constraints have
            weights of their own.
        """
        check_parameters(self)
        if isinstance(y, Constraints):
            raise TypeError("fit(X, y) takes labels as y: pass fit(X, constraints=...)")
        distortion = as_distortion(self.distortion)
        with threads(self.n_jobs):
            X = read_data(self, X, distortion, reset=not self._warm())
        n, d = X.shape
        check_clusters(self.n_clusters, n)
        if self._warm():
            self._check_warm(distortion)
        if self.labels_from_y and y is not None:
            if partial_labels is not None:
                raise ValueError("pass labels as y (labels_from_y=True) or as partial_labels")
            partial_labels = y
        weight = read_weights(sample_weight, X)
        known, absolute = knowledge(
            n,
            self.n_clusters,
            constraints=constraints,
            partial_labels=partial_labels,
            sample_id=sample_id,
            reading=self.label_reading,
        )
        rng = as_generator(self.random_state)
        choice = self._choice(X, known, weight, rng)
        with threads(self.n_jobs), blas_for(n, d, self.n_clusters):
            recipe = self._recipe(d, choice.metric)
            before = getattr(self, "_setup", None) if self._warm() else None
            setup = Setup.of(recipe, X, weight, self._effective(known), absolute, before)
            try:
                outcome = self._best_run(setup, rng)
            finally:
                setup.problem.release()
            self._store(X, setup, outcome)
        self._store_choice(choice)
        return self

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> IntArray:
        """Cluster the rows of X and return their labels."""
        return np.asarray(self.fit(X, y, **params).labels_)

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Cluster the rows of X and return their distances to the centres."""
        return self.fit(X, y, **params).transform(X)

    def _effective(self, constraints: Constraints) -> Constraints:
        """Return the constraints as this estimator reads them."""
        return constraints

    def _recipe(self, n_features: int, kind: str | None = None) -> Recipe:
        distortion = as_distortion(self.distortion)
        kinds = checked_metric(self.metric if kind is None else kind, distortion)
        metric: Metric = kinds.start(n_features, self.n_clusters)
        if self._warm() and self._model.metric.kind == metric.kind:
            metric = self._model.metric
        return Recipe(
            n_clusters=int(self.n_clusters),
            distortion=distortion,
            metric=metric,
            penalty=as_penalty(self.penalty),
            prior=as_prior(self.metric_prior),
            logdet_weight=float(self.logdet_weight),
            inference=as_inference(self.inference),
            constraint_weight=float(self.constraint_weight),
            label_weight=float(self.constraint_weight),
            closure=self.closure,
            use_pairs=self._use_pairs,
            assignment=self.assignment,
            certify=bool(self.certify),
        )

    def _warm(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _check_warm(self, distortion: Distortion) -> None:
        """Refuse to go on from a model of another shape or another measure."""
        before = (len(self.cluster_centers_), self._measure)
        if before != (self.n_clusters, distortion.name):
            raise ValueError(
                f"warm_start: the last fit had {before[0]} clusters and {before[1]!r}, this one "
                f"{self.n_clusters} and {distortion.name!r}; set warm_start=False to start anew"
            )

    def _best_run(self, setup: Setup, rng: np.random.Generator) -> Outcome:
        total = float(setup.problem.engine.weight.sum())
        variance = setup.moments.mean_variance(total)
        stop = stopping_rule(variance, self.max_iter, self.tol)
        runs = run_soft if setup.recipe.soft else run
        best: Outcome | None = None
        n_starts = self._starts(setup)
        for number in range(n_starts):
            start = self._resumed(setup) if self._warm() else self._fresh(setup, rng)
            report = reporter(self, number, n_starts, constraints=setup.constraints, extra=said_gap)
            try:
                outcome = runs(setup.problem, start, stop, rng, report)
            except InfeasibleFieldError as error:
                raise InfeasibleConstraintsError(impossible(setup, error)) from None
            value = outcome.objective
            if best is None or value + ALIKE * abs(value) < best.objective:
                best = outcome
        assert best is not None
        return best

    def _fresh(self, setup: Setup, rng: np.random.Generator) -> Start:
        labels = np.full(len(setup.problem.engine.rows), -1, dtype=np.int64)
        return Start(setup.start(self.init, rng), labels, lasting=bool(self.warm_start))

    def _resumed(self, setup: Setup) -> Start:
        """Set out from the last fit."""
        centres = self._model.centres + self._offset - setup.offset
        model = self._model.with_(centres=centres, metric=setup.recipe.metric)
        labels = np.full(len(setup.problem.engine.rows), -1, dtype=np.int64)
        if len(self.labels_) == len(labels):
            labels[:] = self.labels_
        before: Setup | None = getattr(self, "_setup", None)
        # Taken away, so that a fit that fails halfway leaves no half-changed state behind.
        last: Assignment | None = self.__dict__.pop("_standing", None)
        settled = self.converged_ and self._tol <= self.tol
        if before is None or not settled or not setup.same_rows(before):
            last = None
        return Start(model, labels, self._step, last, lasting=True)

    def _store(self, X: Any, setup: Setup, outcome: Outcome) -> None:
        """Set the fitted attributes, all at once."""
        problem, model = setup.problem, outcome.model
        self._model, self._offset, self._step = model, setup.offset, outcome.step
        self._measure = setup.recipe.distortion.name
        self._setup, self._fit_X, self._standing = setup, X, outcome.resumable
        self._tol = float(self.tol)
        if self.warm_start:
            _ = setup.keys  # of the data as they are now
        self._label_offsets = problem.objective.label_offsets(model)
        self._store_temperature(outcome, problem.objective.data(outcome.stats, model))
        self.cluster_centers_ = (model.centres + setup.offset).astype(X.dtype)
        self.metric_ = model.metric.theta.copy()
        self.labels_ = outcome.labels.astype(np.int32)
        self.objective_ = outcome.objective
        self.history_ = np.array(outcome.history, dtype=HISTORY_DTYPE)
        self.objective_trace_ = outcome.trace()
        self.lower_bound_ = outcome.lower_bound
        if self.certify:
            self.certificate_ = outcome.certified()
        elif hasattr(self, "certificate_"):
            del self.certificate_
        self.n_iter_ = outcome.n_iter
        self.converged_ = outcome.converged
        self._n_features_out = self.n_clusters
        if setup.absolute is not None:
            self.classes_ = setup.absolute.classes
        elif hasattr(self, "classes_"):
            del self.classes_
        self.violations_ = violation_table(
            setup.constraints,
            outcome.labels,
            problem.objective.pairs,
            model.metric,
            setup.recipe.constraint_weight,
        )
        found = np.count_nonzero(np.bincount(outcome.labels, minlength=self.n_clusters))
        if found < self.n_clusters:
            soft = setup.recipe.soft
            why = "too high a temperature, or " if soft else ""
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to {why}duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _store_temperature(self, outcome: Outcome, spread: float) -> None:
        """Keep the probabilities of a soft fit and T, or T as the dispersion gives it."""
        if isinstance(outcome, SoftOutcome):
            self.marginals_, self._temperature = outcome.marginals, outcome.temperature
            return
        if hasattr(self, "marginals_"):
            del self.marginals_
        total = float(outcome.stats.weight.sum()) * self.n_features_in_
        self._temperature = 2.0 * max(spread, 0.0) / total

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training data out of pickles: a model is small."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_setup", None)
        state.pop("_fit_X", None)
        state.pop("_standing", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        # predict_proba has one column a cluster; the sparse checks look that up here.
        tags.classifier_tags = ClassifierTags(multi_class=True)
        domain = {"i-divergence", "kl", "itakura-saito", "logistic"}
        tags.input_tags.positive_only = getattr(self.distortion, "name", self.distortion) in domain
        return tags
