"""Scores of a partition: against known classes, and against constraints.

Every score against classes is read off the contingency table, which is counted once, in time and
memory O(N + C·K) for N rows, C classes and K clusters; no score ever looks at pairs of rows.
:func:`contingency` explains the arguments that the scores share.
"""

from ._contingency import Contingency, contingency
from .satisfaction import ConstraintSatisfaction, constraint_satisfaction
from .scores import (
    adjusted_rand,
    clustering_accuracy,
    normalized_mutual_info,
    pairwise_f_score,
    pairwise_precision_recall,
)

__all__ = [
    "ConstraintSatisfaction",
    "Contingency",
    "adjusted_rand",
    "clustering_accuracy",
    "constraint_satisfaction",
    "contingency",
    "normalized_mutual_info",
    "pairwise_f_score",
    "pairwise_precision_recall",
]
