"""How much of what was demanded a labelling keeps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._contingency import (
    IntArray,
    as_vector,
    check_range,
    contingency,
    encode,
    pair_counts,
    pairs_within,
)

__all__ = ["ConstraintSatisfaction", "constraint_satisfaction"]


class HasPairs(Protocol):
    """Constraints that list their pairs.

    If they also have ``labels`` (see :class:`linkfield.constraints.PartialLabels`), then
    ``pairs(labels=False)`` leaves out the pairs that those entail.
    """

    def pairs(self) -> NDArray[np.void]:
        """A structured array with the fields ``a``, ``b``, ``kind`` and ``weight``."""


@dataclass(frozen=True)
class ConstraintSatisfaction:
    """How much of what was demanded a labelling keeps.

    Attributes
    ----------
    must_link, cannot_link : float
        Share of the pairs of this kind that are kept; nan if there are none.
    overall : float
        Weighted share of all pairs that is kept; nan if there are none.
    n_must_link, n_cannot_link : int
        Number of pairs of each kind.
    """

    must_link: float
    cannot_link: float
    overall: float
    n_must_link: int
    n_cannot_link: int


def constraint_satisfaction(constraints: HasPairs, labels: ArrayLike) -> ConstraintSatisfaction:
    """Share of the constraints that a labelling keeps.

    A must-link is kept if its two rows share a label, a cannot-link if they do not. The shares by
    kind count pairs; the overall share weighs them::

        overall = Σ_{pairs kept} w / Σ_{pairs} w

    A hard pair (w = inf) enters the overall share with the largest finite weight, or with 1 if all
    pairs are hard. So the overall share is 1 only if every pair is kept, and 0 only if none is.

    Parameters
    ----------
    constraints : Constraints
        Pairs as given, and every pair of rows that carry partial labels; these are counted by
        class and cluster, in time linear in the rows. What follows from several pairs is not
        added.
    labels : array-like of shape (N,)
        Cluster of every row.

    Returns
    -------
    ConstraintSatisfaction
        The three shares and the number of pairs of each kind.

    Examples
    --------
    >>> from linkfield import Constraints
    >>> told = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(0, 3)])
    >>> kept = constraint_satisfaction(told, [0, 0, 1, 1])
    >>> kept.must_link, kept.cannot_link, round(kept.overall, 3)
    (0.5, 1.0, 0.667)
    """
    _, cluster = encode(as_vector(labels, "labels"), "labels")
    given: Any = constraints
    known = getattr(given, "labels", None)
    pairs = given.pairs() if known is None else given.pairs(labels=False)
    must, kept = _kept_pairs(pairs, cluster)
    ones = np.ones(len(pairs), dtype=np.int64)
    # Groups of pairs of one kind and weight: each pair by itself, then those of the labels.
    n, n_kept, weight = ones, ones * kept, pairs["weight"]
    if known is not None:
        more, more_kept = _kept_label_pairs(known.rows, known.codes, cluster)
        # A given pair that the labels entail too counts once, with its own weight.
        ends = np.column_stack([pairs["a"], pairs["b"]])
        twice = known.entails(ends, must)
        for k, kind in enumerate((must, ~must)):
            more[k] -= int((twice & kind).sum())
            more_kept[k] -= int((twice & kind & kept).sum())
        must = np.append(must, [True, False])
        n, n_kept = np.append(n, more), np.append(n_kept, more_kept)
        weight = np.append(weight, [known.weight, known.weight])
    return ConstraintSatisfaction(
        must_link=_share(n[must], n_kept[must]),
        cannot_link=_share(n[~must], n_kept[~must]),
        overall=_share(n, n_kept, weight),
        n_must_link=int(n[must].sum()),
        n_cannot_link=int(n[~must].sum()),
    )


def _kept_pairs(
    pairs: NDArray[np.void], cluster: IntArray
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pairs are must-links, and which are kept."""
    check_range(np.concatenate([pairs["a"], pairs["b"]]), cluster.size, "the constraints mention")
    must, cannot = pairs["kind"] == "must", pairs["kind"] == "cannot"
    if not np.all(must | cannot):
        raise ValueError('the kind of a pair must be "must" or "cannot"')
    return must, (cluster[pairs["a"]] == cluster[pairs["b"]]) == must


def _kept_label_pairs(
    rows: IntArray, codes: IntArray, cluster: IntArray
) -> tuple[list[int], list[int]]:
    """Number of (must-links, cannot-links) between labelled rows, and how many are kept.

    ``rows[k]`` is of class ``codes[k]``. With n_uv of these in class u and cluster v,
    Σ_uv C2(n_uv) must-links are kept and Σ_v C2(b_v) - Σ_uv C2(n_uv) cannot-links are broken.
    A row that carries several classes, each said once, makes no pair with itself.
    """
    if not len(rows):
        return [0, 0], [0, 0]
    check_range(rows, cluster.size, "the constraints mention")
    both, same_class, same_cluster, every = pair_counts(contingency(codes, cluster[rows]))
    cannot = every - same_class
    broken = same_cluster - both
    own = pairs_within(np.bincount(rows))
    return [same_class, cannot - own], [both, cannot - broken]


def _share(n: IntArray, n_kept: IntArray, weight: NDArray[np.float64] | None = None) -> float:
    """Share of pairs kept, or of their weight, over groups of n pairs; nan if there are none."""
    if not n.any():
        return math.nan
    if weight is None:
        return int(n_kept.sum()) / int(n.sum())
    some = n > 0  # the weight of no pair must not set the scale
    finite = np.isfinite(weight[some])
    top = weight[some][finite].max() if finite.any() else 1.0
    relative = np.where(finite, weight[some] / top, 1.0)
    # Exact sums: all kept gives exactly 1 however the weights are ordered.
    return math.fsum(relative * n_kept[some]) / math.fsum(relative * n[some])
