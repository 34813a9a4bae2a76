"""From parameters and data to a problem that the loop can run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._rows import Rows
from ..constraints import Constraints, Ties, readable, tie
from ..distortions import Metric, MPC2003Penalty, SquaredEuclidean
from ..distortions.metrics import Diagonal, Full
from ..engine import ArrayEngine, Moments
from ..estimation import Model, Objective, PairTerms, Regulariser, Wishart
from ..exceptions import ConstraintWarning
from ..initialize import Neighbourhoods, SeedingData, canonical_keys
from ._inputs import AbsoluteLabels
from ._prepared import prepared
from ._problem import Problem
from ._recipe import Recipe, check_recipe
from ._seeding import named_init, seeding_data

__all__ = ["Setup"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Where one row of so many is tied, all rows are gone through for what tied ones are asked.
MANY_TIED = 8


@dataclass(frozen=True)
class Setup:
    """A problem ready to run, and how to seed it."""

    recipe: Recipe
    problem: Problem
    constraints: Constraints
    absolute: AbsoluteLabels | None
    offset: FloatArray
    moments: Moments
    seeding: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        recipe: Recipe,
        X: Any,
        weight: FloatArray,
        constraints: Constraints,
        absolute: AbsoluteLabels | None,
        before: Setup | None = None,
    ) -> Setup:
        """Prepare data, ties and objective; ``before`` is the problem of an earlier fit."""
        check_recipe(recipe)
        K, distortion = recipe.n_clusters, recipe.distortion
        rows, moments, keys = prepared(recipe, X, weight, before)
        ties = _ties(recipe, constraints, absolute)
        if keys is None and MANY_TIED * ties.n_rows >= len(rows):
            keys = canonical_keys(rows)  # sooner had than a copy of the tied rows
        mine = canonical_keys(rows.take(ties.rows)) if keys is None else keys[ties.rows]
        ties = ties.ordered(mine)
        if recipe.soft and np.isinf(ties.weight[~ties.must]).any():
            raise ValueError(
                "assignment='soft' cannot keep hard cannot-links: no probability but 0 would do. "
                "Give them finite weights, or take assignment='hard' (hard must-links are fine)"
            )
        hard = np.isinf(ties.weight).any() or ties.n_nodes < ties.n_rows
        if recipe.use_pairs == "metric" and hard:
            raise ValueError(
                "hard constraints need an assignment that sees them; M-KMeans uses constraints "
                "for the metric only. Give finite weights, or take MPCKMeans"
            )
        free = np.ones(len(rows), dtype=bool)
        if recipe.use_pairs == "all":
            free[ties.rows] = False
        engine = ArrayEngine(rows, weight, free, distortion, K, reach=moments.reach)
        smoothing = distortion.smoothing(rows, weight)
        objective = Objective(
            distortion,
            _moment(engine, recipe.metric, moments),
            smoothing,
            _pair_terms(recipe, ties, rows, weight),
            _regulariser(recipe, engine, smoothing, moments),
        )
        problem = Problem(
            engine,
            objective,
            ties.rows,
            _label_costs(ties, absolute, K, recipe.label_weight),
            recipe.inference,
            recipe.use_pairs == "all",
            recipe.certify,
        )
        if recipe.use_pairs == "all":
            warn_infeasible(constraints, K)
        offset = getattr(rows, "offset", None)
        offset = np.zeros(rows.shape[1]) if offset is None else offset.astype(np.float64)
        setup = cls(recipe, problem, constraints, absolute, offset, moments)
        if keys is not None:
            setup.__dict__["keys"] = keys
        return setup

    @cached_property
    def keys(self) -> FloatArray:
        """A number for every row, which depends on its values alone."""
        return canonical_keys(self.problem.engine.rows)

    @cached_property
    def order(self) -> IntArray:
        """The rows in canonical order."""
        return np.argsort(self.keys)

    def same_rows(self, before: Setup) -> bool:
        """Say whether another problem has the same rows, weights, measure and metric.

        The keys of its rows must have been worked out before the data could change.
        """
        mine, other = self.recipe, before.recipe
        names = ("n_clusters", "distortion", "prior", "logdet_weight", "use_pairs")
        return (
            "keys" in before.__dict__
            and all(getattr(mine, name) == getattr(other, name) for name in names)
            and mine.metric.kind == other.metric.kind
            and np.array_equal(self.problem.engine.weight, before.problem.engine.weight)
            and np.array_equal(self.moments.second, before.moments.second)
            and np.array_equal(self.keys, before.keys)
        )

    def start(self, init: Any, rng: np.random.Generator) -> Model:
        """Return the model to set out from."""
        centres = np.asarray(self._centres(init, rng), dtype=np.float64)
        return Model(centres, self.recipe.metric, self._smoothing_strength)

    @property
    def _smoothing_strength(self) -> float:
        smoothing = self.problem.objective.smoothing
        return 0.0 if smoothing is None else smoothing.strength

    def _centres(self, init: Any, rng: np.random.Generator) -> FloatArray:
        K, d = self.recipe.n_clusters, self.problem.engine.rows.shape[1]
        if isinstance(init, str | Neighbourhoods):
            data = seeding_data(
                self.problem, self.recipe.metric, self._smoothing_strength, self.order, self.seeding
            )
            seeder = init if isinstance(init, Neighbourhoods) else named_init(init)
            known = Constraints() if init in ("k-means++", "random") else self.constraints
            if self.absolute is not None and known is self.constraints:
                return self._absolute_centres(seeder, data, rng)
            return seeder(data, known, K, rng)
        M = np.asarray(init, dtype=np.float64)
        if M.shape != (K, d):
            raise ValueError(f"init has shape {M.shape}; it must be (n_clusters, n_features) = "
                             f"({K}, {d})")  # fmt: skip
        if not np.isfinite(M).all():
            raise ValueError("init holds NaN or infinity")
        try:
            self.recipe.distortion.check(M)
        except ValueError as error:
            raise ValueError(f"init: {error}") from None
        M = self.recipe.distortion.prepared_centres(M - self.offset)
        smoothing, strength = self.problem.objective.smoothing, self._smoothing_strength
        # Given centres are smoothed like any others: a zero would be infinitely far.
        return M if smoothing is None else (M + strength * smoothing.prior) / (1.0 + strength)

    def _absolute_centres(
        self, seeder: Neighbourhoods, data: SeedingData, rng: np.random.Generator
    ) -> FloatArray:
        """Put the centre of every labelled class where its cluster is; fill the others."""
        assert self.absolute is not None
        K, n = self.recipe.n_clusters, len(data.rows)
        rows, cluster = self.absolute.rows, self.absolute.cluster
        member = sparse.csr_array((data.weight[rows], (cluster, rows)), shape=(K, n))
        bound = np.flatnonzero(np.asarray(member.sum(axis=1)).ravel() > 0)
        found = data.centres_of(member[bound]) if len(bound) else np.empty((0, data.rows.shape[1]))
        every = seeder.fill(data, found, K, rng)
        centres = np.empty_like(every)
        centres[bound] = found
        centres[np.setdiff1d(np.arange(K), bound)] = every[len(bound) :]
        return centres


def _moment(engine: ArrayEngine, metric: Metric, moments: Moments) -> FloatArray:
    """Return Σ v F(x), which a squared measure with weights a feature has in its moments."""
    if isinstance(engine.distortion, SquaredEuclidean) and not (metric.full or metric.per_cluster):
        return moments.second
    return engine.moment(metric)


def _ties(recipe: Recipe, constraints: Constraints, absolute: AbsoluteLabels | None) -> Ties:
    if recipe.use_pairs == "none":
        constraints = Constraints()
    ties = _tie(recipe, constraints, _tables(recipe))
    if recipe.soft and ties.n_blocks:
        try:
            ties = _tie(recipe, constraints, tables=False)
        except ValueError as error:
            raise ValueError(
                f"{str(error).split(';')[0]}, which assignment='soft' needs; take closure=False, "
                "must-links of infinite weight, which join rows for good, or assignment='hard'"
            ) from None
    if absolute is not None and recipe.use_pairs == "all":
        ties = ties.including(absolute.rows)
    return ties


def _tie(recipe: Recipe, constraints: Constraints, tables: bool) -> Ties:
    return tie(
        constraints,
        closure=recipe.closure,
        tables=tables,
        n_clusters=recipe.n_clusters,
        constraint_weight=recipe.constraint_weight,
    )


def _tables(recipe: Recipe) -> bool:
    """Say whether entailed links can be kept by block (maths.md 1.4)."""
    penalty, distortion = recipe.penalty, recipe.distortion
    if not penalty.metric_dependent:
        return penalty.tables
    # A number instead of a bound is clipped pair by pair, which no table can do.
    clipped = not isinstance(getattr(penalty, "bound", "auto"), str)
    return penalty.tables and distortion.tables and not clipped


def _pair_terms(recipe: Recipe, ties: Ties, rows: Rows, weight: FloatArray) -> PairTerms | None:
    if len(ties.pairs) == 0 and ties.n_blocks == 0 and ties.n_nodes == ties.n_rows:
        return None
    distortion, penalty, metric = recipe.distortion, recipe.penalty, recipe.metric
    counted = weight > 0
    counted[ties.rows] = True
    bound = None
    if penalty.bounded:
        among = rows if counted.all() else rows.take(np.flatnonzero(counted))
        kind: Any = getattr(penalty, "bound", "auto")
        bound = distortion.bound(kind, among, metric)
    terms = PairTerms(ties, rows, distortion, penalty, bound)
    if isinstance(penalty, MPC2003Penalty):
        if penalty.alpha not in ("fixed", "adaptive"):
            raise ValueError(f"alpha must be 'fixed' or 'adaptive', got {penalty.alpha!r}")
        if penalty.alpha == "fixed":
            terms.alpha = terms.largest(metric)[0]
    return terms


def _regulariser(
    recipe: Recipe, engine: ArrayEngine, smoothing: Any, moments: Moments
) -> Regulariser:
    metric, prior = recipe.metric, recipe.prior
    if not metric.learned:
        return Regulariser()
    total = float(engine.weight.sum())
    if not recipe.distortion.bregman:
        features = prior.feature_strengths(moments.second)
        return Regulariser(rayleigh=prior.rayleigh_scale(), features=features)
    strength = prior.strength_for(metric, total)
    scale = None
    if isinstance(prior, Wishart) and strength > 0:
        factor = (recipe.logdet_weight * total + strength) / strength
        scale = prior.scale(_dispersion(recipe, engine, smoothing, moments), metric, factor)
    return Regulariser(recipe.logdet_weight, strength, scale, prior.rayleigh_scale())


def _dispersion(
    recipe: Recipe, engine: ArrayEngine, smoothing: Any, moments: Moments
) -> FloatArray:
    """Return the dispersion of all rows around their common centre, for a unit of weight."""
    d = engine.rows.shape[1]
    shared = (Full if recipe.metric.full else Diagonal).start(d, 1)
    total = engine.weight.sum()
    sums = moments.first[None, :]
    centre = sums / total
    if smoothing is not None:
        centre = (centre + smoothing.strength * smoothing.prior) / (1.0 + smoothing.strength)
    measure: Any = recipe.distortion
    moment = _moment(engine, shared, moments)
    S: FloatArray = measure.dispersion(moment, sums, np.array([total]), centre, shared)
    if not shared.full:
        S = np.where(moments.low == moments.high, 0.0, S)  # not what rounding leaves of a constant
    return S / total


def _label_costs(
    ties: Ties, absolute: AbsoluteLabels | None, K: int, weight: float
) -> FloatArray | None:
    if absolute is None or not np.isin(absolute.rows, ties.rows).all() or not len(absolute.rows):
        return None
    costs = np.zeros((ties.n_rows, K))
    at = np.searchsorted(ties.rows, absolute.rows)
    costs[at] += weight
    costs[at, absolute.cluster] = 0.0
    return costs


def warn_infeasible(constraints: Constraints, n_clusters: int) -> None:
    """Warn where the cannot-links need more clusters than there are."""
    n_classes = len(constraints.labels.classes)
    if n_classes > n_clusters:
        reason = f"the labels name {n_classes} classes"
    else:
        closure = constraints.closure()
        status, clique = closure.clusters_suffice(n_clusters)
        if status != "infeasible" or clique is None:
            return
        names = [constraints._named(closure.members(int(p))[:1])[0] for p in clique]
        reason = (
            f"the cannot-links put {len(clique)} sets of rows mutually apart (those of the rows "
            f"{readable(names, 10)})"
        )
    warnings.warn(
        f"{reason}, more than n_clusters={n_clusters}: some must be violated",
        ConstraintWarning,
        stacklevel=5,
    )
