"""Scores of a partition against known classes: pairs, information, best naming.

The arguments and symbols that they share (n_uv, a_u, b_v, N, C2) are those of `contingency`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array, csr_array, hstack
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from ._contingency import HasTiedRows, IntArray, contingency, pair_counts

__all__ = [
    "adjusted_rand",
    "clustering_accuracy",
    "normalized_mutual_info",
    "pairwise_f_score",
    "pairwise_precision_recall",
]


def pairwise_precision_recall(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> tuple[float, float]:
    """Precision and recall of the pairs that share a cluster (Basu et al. 2003, section 4.1).

    Both in [0, 1]. With TP = Σ_uv C2(n_uv), the pairs that share class and cluster::

        precision = TP / Σ_v C2(b_v)        recall = TP / Σ_u C2(a_u)

    and both 0 if TP is 0.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        These and the symbols as for :func:`contingency`.

    Examples
    --------
    >>> pairwise_precision_recall([0, 0, 1, 1], [0, 0, 0, 0])
    (0.3333333333333333, 1.0)
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    both, true, pred, _ = pair_counts(table)
    return (both / pred, both / true) if both else (0.0, 0.0)


def pairwise_f_score(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Harmonic mean of pairwise precision and recall (Basu et al. 2003, section 4.1).

    In [0, 1]::

        F = 2 Σ_uv C2(n_uv) / (Σ_u C2(a_u) + Σ_v C2(b_v))

    and 0 if no pair shares both class and cluster. It follows that F is 0, not 1, where every row
    is alone on both sides: there is no pair to be right about.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        These and the symbols as for :func:`contingency`.

    Examples
    --------
    >>> pairwise_f_score([0, 0, 1, 1], [0, 0, 0, 0])
    0.5
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    both, true, pred, _ = pair_counts(table)
    return 2 * both / (true + pred) if both else 0.0


def adjusted_rand(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Rand index, corrected for chance (Hubert & Arabie 1985, eq. 5).

    In [-1/2, 1], about 0 for a random partition. With TP = Σ_uv C2(n_uv), P = Σ_v C2(b_v),
    T = Σ_u C2(a_u), and the number of agreements e = P·T / C2(N) that chance gives::

        ARI = (TP - e) / ((P + T)/2 - e)

    and 1 if the denominator is 0, which happens only if both partitions are the same.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        These and the symbols as for :func:`contingency`.

    Examples
    --------
    >>> adjusted_rand([0, 0, 1, 1], ["x", "x", "y", "y"])
    1.0
    >>> adjusted_rand([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    both, true, pred, every = pair_counts(table)
    # Both sides times 2 C2(N): whole numbers, so nothing cancels and nothing overflows.
    numerator = 2 * (both * every - true * pred)
    denominator = (true + pred) * every - 2 * true * pred
    return numerator / denominator if denominator else 1.0


def normalized_mutual_info(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Mutual information over the mean entropy (Basu et al. 2004, eq. 21).

    In [0, 1]. With entropies H in natural logarithms, H_joint that of p_uv = n_uv/N::

        NMI = I / ((H_class + H_cluster)/2),      I = H_class + H_cluster - H_joint

    and 1 if both entropies are 0, that is, one class and one cluster.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        These and the symbols as for :func:`contingency`.

    Examples
    --------
    >>> normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> normalized_mutual_info([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude)
    h_class = _entropy(table.class_sizes)
    h_cluster = _entropy(table.cluster_sizes)
    if h_class == 0.0 and h_cluster == 0.0:
        return 1.0
    shared = h_class + h_cluster - _entropy(table.counts)
    return min(1.0, max(0.0, shared / (0.5 * (h_class + h_cluster))))


def clustering_accuracy(
    labels_true: ArrayLike,
    labels_pred: ArrayLike,
    *,
    rows: ArrayLike | None = None,
    exclude: HasTiedRows | None = None,
) -> float:
    """Share of rows in the right cluster, under the best naming of clusters.

    In (0, 1]. The maximum over one-to-one maps σ from classes to clusters, found as an assignment
    problem::

        accuracy = max_σ Σ_u n_{u,σ(u)} / N

    A class or a cluster without a partner contributes nothing.

    Parameters
    ----------
    labels_true, labels_pred, rows, exclude
        These and the symbols as for :func:`contingency`.

    Examples
    --------
    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    table = contingency(labels_true, labels_pred, rows=rows, exclude=exclude).table
    if isinstance(table, np.ndarray):
        u, v = linear_sum_assignment(table, maximize=True)
        return int(table[u, v].sum()) / int(table.sum())
    return _best_matching(table) / int(table.sum())


def _entropy(sizes: IntArray) -> float:
    """-Σ p ln p for p = n/N; summed exactly, so that the order of the sizes does not matter."""
    p = sizes[sizes > 0] / sizes.sum()
    return -math.fsum(p * np.log(p)) + 0.0


def _best_matching(table: csr_array) -> int:
    """Weight of the best one-to-one map on a sparse table.

    Each class gets a partner of its own that counts nothing, so that a full matching exists; and
    every weight is raised by 1, since the solver takes 0 for a missing edge.
    """
    n_classes = int(table.shape[0])
    raised = table.astype(np.float64)
    raised.data += 1.0
    everyone = np.arange(n_classes)
    alone = coo_array((np.ones(n_classes), (everyone, everyone)))
    graph = hstack([raised, alone], format="csr")
    u, v = min_weight_full_bipartite_matching(graph, maximize=True)
    return int(graph[u, v].sum()) - n_classes
