"""What the papers claim of their experiments, each with the checks that decide it.

Papers are named as in the list of sources: 000 Bilenko & Basu 2004, 001 Law, Topchy & Jain 2005,
002 Pritsos & Stamatatos, 003 Basu, Bilenko & Mooney 2003, 004 Basu, Bilenko & Mooney 2004. Where a
paper says "few", "many" or "little", the numbers are ours and stand in the checks.
"""

from __future__ import annotations

from ._claims_kmeans import BASU_2003, BASU_2004, BILENKO_2004, PRITSOS
from ._claims_mixture import LAW_SYNTHETIC, LAW_TEACHERS, TABLE_2
from .verdicts import Claim

__all__ = ["CLAIMS", "EXPLANATIONS", "TABLE_2", "claims_of"]

CLAIMS = (*BASU_2003, *BASU_2004, *BILENKO_2004, *LAW_SYNTHETIC, *LAW_TEACHERS, *PRITSOS)

#: Why a claim does not reproduce, or why no experiment can decide it; filled in by hand.
EXPLANATIONS: dict[str, str] = {
    "001-no-overfitting": "Unsafe: with too large a strength fewer training pairs are violated "
    "while the clusters get worse (the table in docs/mixtures.md). linkfield chooses the strength "
    "by groups that it holds out.",
    "002-structure-of-constraints": "Unordered pairs, each stored once, read as a graph where "
    "neighbours are needed; (5, 6) and (6, 5) are the same constraint.",
    "002-normalisers": "Yes while the weights are fixed, since Z is then constant. Learned weights "
    "of squared Euclidean distance or I-divergence need a prior or a determinant in their place, "
    "or the weights shrink to nothing.",
    "002-positive-definite": "By the form of the step: the weights are found by closed forms or "
    "steps with backtracking that keep them positive, so that no absolute value is needed.",
}


def claims_of(experiment: str) -> tuple[Claim, ...]:
    """Give the claims that an experiment tests, in the order of the paper."""
    return tuple(claim for claim in CLAIMS if claim.experiment == experiment)
