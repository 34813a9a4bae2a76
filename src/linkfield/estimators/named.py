"""The methods of the papers by their own names: special cases of one model.

All take the parameters of :class:`HMRFKMeans` that they leave open.
"""

from __future__ import annotations

from ._special import special_case
from .hmrf import HMRFKMeans

__all__ = ["KMeansI", "KMeansIC", "KMeansICD", "MKMeans", "MPCKMeans", "PCKMeans"]

_LABELS = {"label_reading": "relational"}
_LABELLED = {"inference": "icm", "assignment": "hard"}
_PLAIN = {"metric": "identity", "metric_prior": None, "logdet_weight": 0.0}


@special_case({**_PLAIN, **_LABELS, "penalty": "potts"})
class PCKMeans(HMRFKMeans):
    """Pairwise-constrained k-means: every violation costs its weight (Basu et al. 2003, eq. 1).

    Seeds from neighbourhoods, a fixed metric, the Potts penalty. The scale of ``distortion``
    decides how much a unit of constraint weight is worth. Parameters: those of
    :class:`HMRFKMeans`, without the metric's and the penalty.

    Examples
    --------
    >>> from linkfield import Constraints, PCKMeans
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> apart = Constraints(cannot_link=[(0, 1)])
    >>> model = PCKMeans(3, constraint_weight=100, random_state=0).fit(X, constraints=apart)
    >>> len(model.violations_)
    0
    """


@special_case({"distortion": "euclidean", **_LABELS}, metric="diagonal")
class MPCKMeans(HMRFKMeans):
    """Metric learning and pairwise constraints together (Basu et al. 2003; Bilenko et al. 2004).

    ``penalty="hmrf"`` is the shape of 2004, which brings violated must-links together;
    ``penalty="mpc2003"`` the printed one of 2003. ``metric="full-per-cluster"`` is the model of
    Bilenko et al. Parameters: those of :class:`HMRFKMeans`, without the distortion, which is the
    squared Euclidean one.
    """


@special_case(_LABELLED, init="k-means++")
class MKMeans(MPCKMeans):
    """Metric learning alone (Basu et al. 2003, 4.2): constraints shape the metric only.

    No seeding from constraints, and no constraint term in the assignment. Since the assignment
    does not see the pairs, a step could raise the objective; the fit stops before it does.
    """

    _use_pairs = "metric"


@special_case({"metric": "diagonal", **_LABELS}, distortion="cosine", init="farthest-first")
class KMeansICD(HMRFKMeans):
    """KMeans-I-C-D of Basu et al. 2004: initialisation, constraints and distance learning.

    The complete model under the paper's name, seeded by its weighted farthest-first rule; with
    ``distortion`` "cosine" or "i-divergence" the two that the paper tests.
    """


@special_case({**_PLAIN, **_LABELS}, distortion="cosine", init="farthest-first")
class KMeansIC(HMRFKMeans):
    """KMeans-I-C of Basu et al. 2004: initialisation and constraints, no distance learning."""


@special_case({"penalty": "potts", "constraint_weight": 1.0, "closure": False, **_LABELLED})
class KMeansI(KMeansIC):
    """KMeans-I of Basu et al. 2004: constraints for the initialisation only."""

    _use_pairs = "none"
