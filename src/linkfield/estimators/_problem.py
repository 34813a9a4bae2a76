"""What stays the same during a fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from ..distortions import Metric
from ..engine import ArrayEngine, Assignment
from ..estimation import Model, Objective, SettledBlocks, Statistics
from ..field import PottsField
from ..inference import ICM, Inference
from ..inference.on_demand import Costs, CostsOnDemand

__all__ = ["Problem"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Problem:
    """Everything that stays the same during a fit.

    Attributes
    ----------
    engine : ArrayEngine
    objective : Objective
    tied : int array
        Positions of the tied rows; empty where nothing is tied.
    label_costs : float array (n_tied, K) or None
        What absolute labels add to the unary costs.
    inference : Inference
    assign_pairs : bool
        Whether pairs count in the assignment (M-KMeans uses them for the metric only).
    certify : bool
        Whether every assignment comes with a bound on the best one.
    """

    engine: ArrayEngine
    objective: Objective
    tied: IntArray
    label_costs: FloatArray | None
    inference: Inference
    assign_pairs: bool = True
    certify: bool = False

    def value(self, stats: Statistics, model: Model, mine: IntArray) -> float:
        """Return J, from the labels of the tied rows."""
        total = self.objective.fixed_labels(stats, model, mine)
        if self.label_costs is not None:
            total += float(self.label_costs[np.arange(len(mine)), mine].sum())
        return total

    def tied_labels(self, standing: Assignment) -> IntArray:
        """Return the labels of the tied rows."""
        # Where the assignment does not see the pairs, the engine takes all rows for free.
        return standing.tied_labels if self.assign_pairs else standing.labels[self.tied]

    def standing(self, labels: IntArray, last: Assignment | None = None) -> Assignment:
        """Return a labelling to work on; ``labels`` change in place.

        It goes on from the ``last`` standing of a fit to the same rows, if that is given.
        """
        if last is None:
            return Assignment(self.engine, labels)
        return last.resumed(self.engine, labels)

    def field(self, standing: Assignment, metric: Metric) -> PottsField:
        """Return the labelling problem of the tied rows, from the costs of the last pass."""
        pairs, (unary, noise) = self.objective.pairs, standing.costs()
        cheapest = standing.cheapest.astype(np.int64) if standing.in_parts else None
        if self.label_costs is not None:
            unary, cheapest = unary + self.label_costs, None
        if pairs is None:
            return PottsField(unary, (), (), (), noise=noise)
        return pairs.field(unary, metric, noise, cheapest)

    def stays(self, standing: Assignment, model: Model) -> bool:
        """Say whether sums prove that ICM would leave all tied rows where they are."""
        pairs, blocks = self.objective.pairs, self._blocks
        if pairs is None or blocks is None or not pairs.weighs_squares(model.metric):
            return False
        labels = standing.tied_labels
        if not pairs.quiet(labels) or self.objective.label_offsets(model).any():
            return False
        home = np.empty(len(blocks.size), dtype=np.int64)
        home[pairs.ties.block] = labels
        return blocks.stay(home, model)

    @cached_property
    def _blocks(self) -> SettledBlocks | None:
        """The sums of all blocks, where ICM labels blocks and nothing else ties any row."""
        pairs = self.objective.pairs
        if self.certify or self.label_costs is not None or type(self.inference) is not ICM:
            return None
        if pairs is None or not pairs.only_blocks:
            return None
        ties, weight = pairs.ties, self.engine.weight[self.tied]
        return SettledBlocks.of(pairs.rows, weight, ties.block, ties.entailed_weight)

    def costs_on_demand(self, standing: Assignment, metric: Metric) -> CostsOnDemand | None:
        """Return the same problem with its costs to be asked for, where ICM can do with that."""
        pairs = self.objective.pairs
        if pairs is None or self.label_costs is not None or not isinstance(self.inference, ICM):
            return None
        if not (standing.in_parts and pairs.in_parts) or metric.per_cluster:
            return None
        kept, demand = standing.kept, pairs.on_demand
        drift = None if demand is None else pairs.drift(demand.metric, metric)
        costs = Costs(
            standing.cheapest, standing.margin, standing.some_costs, partial(pairs.gaps, metric),
            drift, kept.rows, kept.table, kept.noise,
        )  # fmt: skip
        if demand is None:
            args = (pairs.structure, self.engine.n_clusters, pairs.ties.must)
            demand = pairs.on_demand = CostsOnDemand(*args, costs)
        demand.costs, demand.metric = costs, metric
        return demand

    def release(self) -> None:
        """Let go of what only assignments need.

        What is given on demand refers to the pairs, and they to it; such a circle stays in memory
        until Python looks for circles.
        """
        self.__dict__.pop("_blocks", None)
        pairs = self.objective.pairs
        if pairs is not None and pairs.on_demand is not None:
            pairs.on_demand.state = None
            pairs.on_demand = None

    @property
    def node(self) -> IntArray:
        """The field's node of every tied row."""
        pairs = self.objective.pairs
        return np.arange(len(self.tied)) if pairs is None else pairs.ties.node
