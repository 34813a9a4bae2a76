"""From parameters, data and knowledge to the best of several runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from .._threads import n_threads
from ..engine.mixture import MixtureEngine
from ..estimation.component_sums import CovariancePrior, ScatterPrior
from ..estimation.gaussians import GAUSSIANS, Gaussians
from ..estimation.group_posterior import GroupModel, merged
from ..estimation.group_structure import GroupArrays
from ._mixture_em import MixtureOutcome, MixtureProblem, run_mixture
from ._mixture_groups import Knowledge
from ._mixture_start import Starts
from ._mixture_units import Given, Units
from .progress import reporter, unwatched

__all__ = ["MixtureFit"]

IntArray = NDArray[np.int64]

#: Restarts share the threads only if one pass has at least this many products.
WORTH_SHARING = 200_000


class MixtureFit:
    """One fit's data and knowledge, from which problems are made and solved."""

    def __init__(self, model: Any, X: NDArray[Any], known: Knowledge) -> None:
        self.model, self.X, self.known = model, X, known
        self.kind = GAUSSIANS[model.covariance_type]
        self.units = Units.of(X, self.kind.isotropic)
        self.prior = self._prior()

    def _prior(self) -> ScatterPrior:
        given, scale = self.model.covariance_prior, self.units.scale
        prior = given if isinstance(given, CovariancePrior) else CovariancePrior(given or 0.0)
        scatter = prior.scatter(self.units.variance) * scale * scale[:, None]
        return ScatterPrior(float(prior.strength), scatter, self.model.reg_covar * scale**2)

    @property
    def shift(self) -> float:
        """What the objective in the units of the data has more than in the inner ones."""
        count = len(self.X) + self.prior.strength * self.model.n_components
        return float(count * self.units.log_volume)

    def engine(self, grouped: IntArray) -> MixtureEngine:
        """Return the rows for a pass."""
        rows = self.units.rows(self.X)
        return MixtureEngine(rows, grouped, self.units.scale, self.kind, self.model.n_components)

    def group_model(
        self, arrays: GroupArrays, rows: IntArray, *, quiet: bool = False
    ) -> GroupModel:
        """Return the groups with rows numbered among ``rows``; one warning is enough."""
        local = arrays._replace(row=np.searchsorted(rows, arrays.row))
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore")
            return GroupModel(local, len(rows), self.model.n_components)

    def problem(self, known: Knowledge, strength: float) -> MixtureProblem:
        """Return what is to be solved with some knowledge and a strength."""
        model, arrays = self.model, known.arrays
        equal = model.mixing == "equal"
        if model.enforcement == "hard":
            arrays = merged(arrays).arrays
        told = (arrays.confidence > 0) & ~arrays.mute()
        if model.enforcement == "none" or not told.any():
            return MixtureProblem(self.engine(np.empty(0, np.int64)), self.prior, equal=equal)
        rows = np.unique(arrays.row[told])
        arrays = arrays._replace(
            group=arrays.group[told],
            row=arrays.row[told],
            confidence=arrays.confidence[told],
            strength=arrays.strength[told],
        )
        beta = arrays.enforced(strength * len(self.X)) if strength > 0 else None
        groups = self.group_model(arrays, rows)
        return MixtureProblem(self.engine(rows), self.prior, groups, beta, equal)

    def best(self, problem: MixtureProblem, rng: np.random.Generator) -> MixtureOutcome:
        """Run from every start and return the best end."""
        model = self.model
        given = Given(model.weights_init, model.means_init, model.precisions_init)
        warm = model._warm()
        inits = ["given"] if warm or given.complete else self._inits(problem)
        seeds = rng.spawn(len(inits))
        # Made here, where it is known who watches.
        reports = [self._reporter(k, len(inits)) for k in range(len(inits))]

        def one(number: int) -> MixtureOutcome:
            init, seed = inits[number], seeds[number]
            start = self._resumed() if warm else self._fresh(problem, given, init, seed)
            if problem.equal:
                K = len(start.means)
                start = type(start)(np.full(K, 1.0 / K), start.means, start.covariances)
            limits = int(model.max_iter), float(model.tol)
            return run_mixture(problem, start, *limits, reports[number])

        work = self.X.size * model.n_components
        runs = range(len(inits))
        jobs = n_threads(model.n_jobs) if len(runs) > 1 and work >= WORTH_SHARING else 1
        with unwatched():  # k-means for the starts
            outcomes = Parallel(n_jobs=jobs, prefer="threads")(delayed(one)(k) for k in runs)
        best: MixtureOutcome = max(outcomes, key=lambda outcome: outcome.objective)
        return best

    def _inits(self, problem: MixtureProblem) -> list[str]:
        """Return how every run starts.

        k-means knows nothing of groups, so they get a start of their own beside it; where they are
        enforced, further starts are random, since k-means would say the same again.
        """
        init, n_init = self.model.init_params, int(self.model.n_init)
        if init != "kmeans" or problem.groups is None:
            return [init] * n_init
        first = ["kmeans"] if self.kind.isotropic else ["kmeans", "groups"]
        return first + [init if problem.strength is None else "random"] * (n_init - 1)

    def _fresh(
        self, problem: MixtureProblem, given: Given, init: str, rng: np.random.Generator
    ) -> Gaussians:
        groups = None if problem.groups is None else problem.groups.arrays
        starts = Starts(problem.engine, self.X, self.units, self.prior, groups)
        found = None if given.complete else starts.components(init, rng)
        d = self.X.shape[1]
        return given.completed(found, self.kind, self.model.n_components, d, self.units)

    def _resumed(self) -> Gaussians:
        """Return the components of the last fit, in the units of this one."""
        before = self.model._units.outward(self.model._model)
        return self.units.inward(before)

    def _reporter(self, run: int, runs: int) -> Any:
        return reporter(
            self.model, run, runs, shift=self.shift,
            extra=lambda damping: f", damping {damping:.3g}" if damping else "",
        )  # fmt: skip
