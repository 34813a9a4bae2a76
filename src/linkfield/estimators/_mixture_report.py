"""After a fit: which memberships look wrong, and how far each teacher can be trusted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimation.group_posterior import GroupPosterior
from ._mixture_groups import Knowledge

__all__ = ["RELIABILITY_DTYPE", "SUSPECT_DTYPE", "reliability", "suspicious"]

FloatArray = NDArray[np.float64]

#: Digits behind the point that the order of the table goes by; what differs less is rounding.
DIGITS = 9

#: The table of memberships that look wrong.
SUSPECT_DTYPE = np.dtype(
    [
        ("row", np.int64),
        ("group", np.int64),
        ("teacher", object),
        ("label", object),
        ("confidence", np.float64),
        ("posterior", np.float64),
        ("log_evidence", np.float64),
        ("row_component", np.int64),
        ("row_probability", np.float64),
        ("group_component", np.int64),
        ("group_probability", np.float64),
    ]
)

#: The table of teachers.
RELIABILITY_DTYPE = np.dtype(
    [
        ("teacher", object),
        ("reliability", np.float64),
        ("confidence", np.float64),
        ("n_memberships", np.int64),
        ("n_suspect", np.int64),
    ]
)


def _log_odds(p: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p) - np.log1p(-p))


def log_evidence(confidence: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return how far the data moved the log odds of memberships; 0 for certain ones."""
    certain = (confidence <= 0) | (confidence >= 1) | np.isnan(posterior)
    tiny = np.finfo(np.float64).tiny
    p = np.where(certain, 0.5, np.clip(posterior, tiny, 1 - 1e-16))
    gamma = np.where(certain, 0.5, confidence)
    return _log_odds(p) - _log_odds(gamma)


def suspicious(
    known: Knowledge, posterior: GroupPosterior, own: FloatArray, at: NDArray[np.int64]
) -> NDArray[Any]:
    """Return a table of all memberships, the most doubtful first.

    Parameters
    ----------
    known : Knowledge
    posterior : GroupPosterior
    own : float array (n, K)
        P(z = j) of the grouped rows by their own position alone.
    at : int array (m,)
        The place of every membership's row in ``own``.
    """
    arrays = known.arrays
    right = np.exp(posterior.log_member)
    table = np.empty(len(arrays.group), dtype=SUSPECT_DTYPE)
    table["row"], table["group"] = arrays.row, arrays.group
    table["teacher"], table["label"] = known.teacher, known.label
    table["confidence"], table["posterior"] = arrays.confidence, right
    table["log_evidence"] = log_evidence(arrays.confidence, right)
    table["row_component"] = own.argmax(axis=1)[at]
    table["row_probability"] = own.max(axis=1, initial=0.0)[at]
    table["group_component"] = posterior.group.argmax(axis=1)[arrays.group]
    table["group_probability"] = posterior.group.max(axis=1, initial=0.0)[arrays.group]
    keys = [table[name].round(DIGITS) for name in ("posterior", "log_evidence")]
    return table[np.lexsort((table["group"], table["row"], *keys))]


def reliability(known: Knowledge, posterior: GroupPosterior) -> NDArray[Any]:
    """Return what every teacher's memberships are worth, the least reliable first.

    The mean posterior of a teacher's memberships is the value of their common confidence that an
    EM step would take. Memberships that nothing else speaks of are left out of it: their posterior
    is their confidence.
    """
    arrays = known.arrays
    counted = arrays.movable()
    right = np.exp(posterior.log_member)
    doubtful = log_evidence(arrays.confidence, right) < 0
    names = list(dict.fromkeys(t for t in known.teacher.tolist() if t is not None))
    lines = []
    for name in names:
        mine = np.array([t == name for t in known.teacher.tolist()], dtype=bool)
        judged = mine & counted & ~np.isnan(right)
        share = float(right[judged].mean()) if judged.any() else float("nan")
        sure = float(arrays.confidence[judged].mean()) if judged.any() else float("nan")
        lines.append((name, share, sure, int(judged.sum()), int((judged & doubtful).sum())))
    table = np.array(lines, dtype=RELIABILITY_DTYPE)
    return table[np.argsort(table["reliability"], kind="stable")]
