"""ConstrainedGaussianMixture: a Gaussian mixture told by teachers who may be wrong."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .._random import as_generator
from .._rows import pieces
from .._threads import single_blas, threads
from ..engine.mixture import MixtureEngine
from ..estimation.group_posterior import merged
from ._mixture_checks import check_mixture
from ._mixture_em import MixtureOutcome
from ._mixture_fit import MixtureFit
from ._mixture_groups import Knowledge, known_groups
from ._mixture_report import reliability, suspicious
from ._mixture_strength import FOLDS, STRENGTHS, chosen_strength
from .progress import small_fits

__all__ = ["ConstrainedGaussianMixture"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Numbers in a table of rows by components that prediction holds at once.
TABLE = 2_000_000


class ConstrainedGaussianMixture(DensityMixin, BaseEstimator):
    """Gaussian mixture with probabilistic group constraints (Law, Topchy & Jain 2005).

    Rows of a group belong to one component, says a teacher, with a confidence γ. The model infers
    the labels of rows and groups and whether each membership v is right, and maximises::

        E = log P(Y | Θ) + Σ β log P(v = l | Y, Θ) + log P(Θ)

    by damped EM steps (maths.md 6.3) none of which lowers it. β, the strength, says how much it
    counts that memberships turn out right. Without groups this is an ordinary mixture.

    Parameters
    ----------
    n_components : int, default=1
    enforcement : {"none", "soft", "hard", "posterior"}, default="posterior"
        "posterior" is the model above; "soft" has β = 0; "hard" takes every membership for
        certain (the chunklets of Shental et al. 2003); "none" fits without groups.
    strength : float or "auto", default=2.5
        Total strength over the number of rows, shared among the memberships that can turn out
        right or wrong in proportion to their own strengths. "auto" takes the smallest of 0, ¼, ½,
        1, 2, 3, 4, 6 under which held-out groups are split, and groups apart joined, least.
    mixing : {"free", "equal"}, default="free"
        "equal" keeps all mixing weights at 1/K: strong enforcement can otherwise shrink the
        weight of the component that the constrained rows are in.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
    reg_covar : float, default=1e-6
        Least eigenvalue of a covariance. scikit-learn adds it instead; as a floor it leaves
        other covariances as they are, and the objective rises all the same.
    tol : float, default=1e-3
        The fit has converged when an iteration raises the objective by less than this for each
        row.
    max_iter : int, default=200
    n_init : int, default=1
        Number of starts, of which the one with the greatest objective is kept. Posterior
        enforcement has many local optima; 10 starts are worth their time.
    init_params : {"kmeans", "k-means++", "random"}, default="kmeans"
        Clusters of k-means, or rows as means, drawn by k-means++ or evenly, with the covariance
        of all rows divided by K. k-means knows nothing of groups: where there are some, the first
        start is two, the second from k-means after the directions in which groups are tight were
        stretched, and further ones are random if the groups are enforced.
    weights_init, means_init, precisions_init : array, optional
        Parameters to start from, as in scikit-learn.
    covariance_prior : float, CovariancePrior or None, default=1.0
        ν₀: so many rows with the scatter S₀ = 0.01·diag(var X) are added to every component. An
        object from :mod:`linkfield.estimation` sets S₀, too; None or 0 is no prior.
    warm_start : bool, default=False
        Go on from the components of the last fit.
    n_jobs : int or None, default=None
        Threads; the result does not depend on it.
    verbose : int, default=0
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : array
        The components, as in scikit-learn.
    labels_ : int array (n_samples,)
        argmax P(z = j | Y): what groups say counts. ``predict`` goes by position alone.
    group_posterior_ : array (n_groups, n_components)
        P(g = j | Y), the label of every group.
    enforcement_posterior_ : array (n_memberships,)
        P(v = l | Y): how likely every membership is right, given its confidence; in the order of
        the groups' memberships. NaN where it could not be judged (a warning says so).
    teacher_reliability_ : structured array
        For every teacher: mean posterior (``reliability``), mean confidence, number of
        memberships judged, and how many of these look wrong; the least reliable first.
    objective_ : float
        E at the end.
    objective_trace_ : array
        E after every iteration; it never falls.
    log_likelihood_ : float
        log P(Y) of the training rows, with what the groups say.
    lower_bound_ : float
        The same for each row, as scikit-learn has it.
    strength_ : float
        The strength of the fit; with "auto" ``strength_table_`` has the shares of held-out pairs
        that each strength splits or joins.
    converged_ : bool
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from linkfield import ConstrainedGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.normal(0, 1, (50, 2)), rng.normal(6, 1, (50, 2))]
    >>> model = ConstrainedGaussianMixture(2, random_state=0)
    >>> labels = np.full(100, -1)
    >>> labels[:5], labels[50:55], labels[5] = 0, 1, 1  # the last one is a mistake
    >>> model.fit(X, partial_labels=labels).suspects()["row"].tolist()
    [5]
    """

    def __init__(
        self,
        n_components: int = 1,
        *,
        enforcement: str = "posterior",
        strength: Any = 2.5,
        mixing: str = "free",
        covariance_type: str = "full",
        reg_covar: float = 1e-6,
        tol: float = 1e-3,
        max_iter: int = 200,
        n_init: int = 1,
        init_params: str = "kmeans",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        covariance_prior: Any = 1.0,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.enforcement = enforcement
        self.strength = strength
        self.mixing = mixing
        self.covariance_type = covariance_type
        self.reg_covar = reg_covar
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.covariance_prior = covariance_prior
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    # --------------------------------------------------------------- fitting

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        constraints: Any = None,
        partial_labels: Any = None,
        sample_id: Any = None,
    ) -> Self:
        """Fit the mixture to the rows of X.

        Parameters
        ----------
        X : array or data frame of shape (n_samples, n_features)
        y : ignored
        groups : Groups, optional
            Rows that belong together, with confidences and strengths.
        constraints : Constraints, optional
            Must-links make groups, cannot-links put them apart, both with certainty ½.
        partial_labels : array of shape (n_samples,), optional
            Labels of some rows, -1 for the others: every class is a group of confidence ½; up to
            nine classes are apart with certainty ½.
        sample_id : sequence, optional
            The id of every row, to which groups and constraints are aligned.
        """
        check_mixture(self)
        X = self._data(X, reset=not self._warm())
        n = len(X)
        if n < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components}, "
                f"n_samples = {n}"
            )
        if self._warm():
            self._check_warm()
        known = known_groups(
            n,
            groups=groups,
            constraints=constraints,
            partial_labels=partial_labels,
            sample_id=sample_id,
        )
        rng = as_generator(self.random_state)
        with threads(self.n_jobs), single_blas:
            fit = MixtureFit(self, X, known)
            strength, table = self._strength(fit, rng)
            problem = fit.problem(known, strength)
            self._store(fit, fit.best(problem, rng), strength)
        if table is not None:
            self.strength_table_ = table
        elif hasattr(self, "strength_table_"):
            del self.strength_table_
        if not self.converged_:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, "
                "or increase max_iter, tol, or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> IntArray:
        """Fit the mixture and return ``labels_``."""
        return np.asarray(self.fit(X, y, **params).labels_)

    def _data(self, X: Any, *, reset: bool) -> NDArray[Any]:
        X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=reset)
        return np.asarray(X)

    def _strength(self, fit: MixtureFit, rng: np.random.Generator) -> tuple[float, Any]:
        known = fit.known
        if self.enforcement != "posterior" or not known.arrays.movable().any():
            return 0.0, None
        if self.strength != "auto":
            return float(self.strength), None
        seed = int(rng.integers(2**31))

        with small_fits(self, "choosing the strength", FOLDS * len(STRENGTHS)) as one_more:

            def labels(part: Knowledge, strength: float, rows: IntArray) -> IntArray:
                problem = fit.problem(part, strength)
                found = fit.best(problem, np.random.default_rng(seed)).gaussians
                one_more()
                return np.asarray(found.log_joint(problem.engine.plain.taken(rows)).argmax(axis=1))

            return chosen_strength(known, labels, rng)

    def _warm(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _check_warm(self) -> None:
        """Refuse to go on from components of another number or kind."""
        before = (len(self._model.means), self._model.kind)
        if before != (self.n_components, self.covariance_type):
            raise ValueError(
                f"warm_start: the last fit had {before[0]} components of covariance_type="
                f"{before[1]!r}, this one {self.n_components} of {self.covariance_type!r}; set "
                "warm_start=False to start anew"
            )

    def _store(self, fit: MixtureFit, outcome: MixtureOutcome, strength: float) -> None:
        """Set the fitted attributes, all at once."""
        units, model = fit.units, outcome.gaussians
        n = len(fit.X)
        self._model, self._units = model, units
        outer = units.outward(model)
        self.weights_ = outer.weights
        self.means_ = outer.means
        self.covariances_ = outer.covariances
        self.precisions_ = outer.precisions
        self.precisions_cholesky_ = outer.precision_factors
        self.objective_ = outcome.objective + fit.shift
        self.objective_trace_ = np.array(outcome.trace) + fit.shift
        self.log_likelihood_ = outcome.log_likelihood + n * units.log_volume
        self.lower_bound_ = self.log_likelihood_ / n
        self.converged_ = outcome.converged
        self.n_iter_ = len(outcome.trace)
        self.strength_ = strength
        self._n_rows = n
        self._store_posteriors(fit)

    def _store_posteriors(self, fit: MixtureFit) -> None:
        """Labels of rows and groups, and who is right."""
        known = fit.known
        rows, at = np.unique(known.arrays.row, return_inverse=True)
        engine = fit.engine(rows)
        table = self._model.log_joint(engine.plain.taken(rows))
        given = fit.group_model(known.arrays, rows, quiet=True)
        found = given.posterior(table, self._model.log_weights)
        labels = engine.most_likely(self._model)[0].astype(np.int32)
        group = found.group
        if self.enforcement == "hard":
            hard = merged(known.arrays)
            certain = fit.group_model(hard.arrays, rows, quiet=True)
            strict = certain.posterior(table, self._model.log_weights)
            labels[rows] = strict.responsibilities.argmax(axis=1)
            group = strict.group[hard.group_of]
        elif self.enforcement != "none":
            labels[rows] = found.responsibilities.argmax(axis=1)
        self.labels_ = labels
        self.group_posterior_ = group
        self.enforcement_posterior_ = np.exp(found.log_member)
        self.teacher_reliability_ = reliability(known, found)
        own = np.exp(table - logsumexp(table, axis=1, keepdims=True))
        self._memberships = suspicious(known, found, own, at)

    # ----------------------------------------------------------------- using

    def suspects(self, n: int | None = None, *, threshold: float = 0.0) -> NDArray[Any]:
        """Return the memberships that look wrong, the most doubtful first.

        Parameters
        ----------
        n : int, optional
            At most so many.
        threshold : float, default=0.0
            Those whose log odds of being right the data moved below this; 0 lists all that are
            less likely now than their teacher's confidence.

        Returns
        -------
        structured array
            row, group, teacher, label, confidence (γ); posterior, P(v = l | Y); log_evidence, by
            how much the data changed the log odds of γ; row_component and row_probability, where
            the row lies by its own position; group_component and group_probability, where the
            group is. ``pandas.DataFrame`` takes it as it is.
        """
        check_is_fitted(self)
        table = self._memberships
        found = table[table["log_evidence"] < threshold]
        return found if n is None else found[:n]

    def _engine(self, X: Any) -> MixtureEngine:
        """Return rows to predict, checked."""
        check_is_fitted(self)
        X = self._data(X, reset=False)
        model, units = self._model, self._units
        none = np.empty(0, np.int64)
        return MixtureEngine(units.rows(X), none, units.scale, type(model), len(model.means))

    def score_samples(self, X: Any) -> FloatArray:
        """Return log p(x) of every row."""
        engine = self._engine(X)
        with threads(self.n_jobs), single_blas:
            return engine.most_likely(self._model)[1] + self._units.log_volume

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log p(x) of the rows."""
        return float(self.score_samples(X).mean())

    def predict(self, X: Any) -> IntArray:
        """Return argmax_j π_j q_j(x) of every row; groups play no part in it."""
        engine = self._engine(X)
        with threads(self.n_jobs), single_blas:
            return engine.most_likely(self._model)[0]

    def predict_proba(self, X: Any) -> FloatArray:
        """Return P(z = j | x) of every row."""
        plain = self._engine(X).plain
        n, K = len(plain.rows), len(self._model.means)
        out = np.empty((n, K))
        with single_blas:
            for piece in pieces(n, max(1, TABLE // K)):
                table = self._model.log_joint(plain.taken(piece))
                out[piece] = np.exp(table - logsumexp(table, axis=1, keepdims=True))
        return out

    def sample(self, n_samples: int = 1) -> tuple[FloatArray, IntArray]:
        """Draw rows from the mixture; return them with their components, in their order."""
        check_is_fitted(self)
        if not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples must be a whole number >= 1, got {n_samples!r}")
        rng = as_generator(self.random_state)
        weights = self.weights_ / self.weights_.sum()
        counts = rng.multinomial(n_samples, weights)
        outer = self._units.outward(self._model)
        return outer.drawn(counts, rng), np.repeat(np.arange(len(counts)), counts)

    def _n_parameters(self) -> int:
        free = self.mixing == "free"
        return self._model.n_parameters - (0 if free else len(self._model.means) - 1)

    def bic(self, X: Any = None) -> float:
        """Return −2 log P(Y) + n_parameters·log n; the smaller the better (maths.md 6.9).

        Without X it is that of the training rows with what the groups say.
        """
        value, n = self._likelihood(X)
        return -2.0 * value + self._n_parameters() * float(np.log(n))

    def aic(self, X: Any = None) -> float:
        """Return −2 log P(Y) + 2·n_parameters; without X that of the training rows."""
        return -2.0 * self._likelihood(X)[0] + 2.0 * self._n_parameters()

    def _likelihood(self, X: Any) -> tuple[float, int]:
        check_is_fitted(self)
        if X is None:
            return self.log_likelihood_, self._n_rows
        values = self.score_samples(X)
        return float(values.sum()), len(values)
