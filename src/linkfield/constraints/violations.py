"""Which of the given constraints a clustering breaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._normal import IntArray
from .labels import PartialLabels
from .pairs import PAIR_BUDGET, PAIR_DTYPE, Constraints

__all__ = ["violated_pairs", "violation_counter"]


def violated_pairs(
    constraints: Constraints, labels: IntArray, budget: int = PAIR_BUDGET
) -> NDArray[np.void]:
    """Return the table of given pairs that a clustering breaks, those of labels included.

    Where labels entail more than ``budget`` pairs, their violations are listed by representatives:
    every row outside the cluster that holds most of its class, paired with the first row of the
    class inside it, and the first rows of every two classes that share their main cluster.
    """
    known = constraints.labels
    if known.n_must_link + known.n_cannot_link <= budget:
        table = constraints.pairs()
    else:
        table = np.concatenate([constraints.pairs(labels=False), _representatives(known, labels)])
    together = labels[table["a"]] == labels[table["b"]]
    return table[together != (table["kind"] == "must")]


def violation_counter(
    constraints: Constraints, budget: int = PAIR_BUDGET
) -> Callable[[IntArray], int]:
    """Return a call that counts the given pairs that labels break, to be called many times.

    It gives the length of :func:`violated_pairs`, but counts what labels entail by class and
    cluster, so that it also knows how many there are where they are too many to be listed.
    """
    known = constraints.labels
    if len(known.single().rows) < len(known.rows):  # a row of two classes breaks pairs with itself
        return lambda labels: len(violated_pairs(constraints, labels, budget))
    table = constraints.pairs(labels=False)
    a, b, must = table["a"], table["b"], table["kind"] == "must"
    # A given pair that the labels entail too counts once.
    new = ~known.entails(np.column_stack([a, b]), must)
    a, b, must = a[new], b[new], must[new]

    def count(labels: IntArray) -> int:
        given = int(((labels[a] == labels[b]) != must).sum())
        return given + _broken_by_labels(known, labels)

    return count


def _broken_by_labels(known: PartialLabels, labels: IntArray) -> int:
    """Return how many pairs of labelled rows are split or joined wrongly."""
    if not len(known.rows):
        return 0
    cluster, n_clusters = labels[known.rows], int(labels.max(initial=0)) + 1
    cells = np.bincount(known.codes * n_clusters + cluster)
    both, same_class, same_cluster = (
        int((n * (n - 1) // 2).sum()) for n in (cells, known.class_sizes(), np.bincount(cluster))
    )
    return same_class + same_cluster - 2 * both


def _representatives(known: PartialLabels, labels: IntArray) -> NDArray[np.void]:
    """Return the pairs that stand for the violations of a large set of labels."""
    n_classes = len(known.classes)
    n_clusters = int(labels.max(initial=0)) + 1
    cluster = labels[known.rows]
    counts = np.bincount(known.codes * n_clusters + cluster, minlength=n_classes * n_clusters)
    main = counts.reshape(n_classes, n_clusters).argmax(axis=1)
    inside = cluster == main[known.codes]
    leader = np.empty(n_classes, dtype=np.int64)
    leader[known.codes[inside][::-1]] = known.rows[inside][::-1]
    out = ~inside
    order = np.argsort(main, kind="stable")
    same = main[order][1:] == main[order][:-1]
    table = np.empty(int(out.sum() + same.sum()), dtype=PAIR_DTYPE)
    a = np.r_[known.rows[out], leader[order][:-1][same]]
    b = np.r_[leader[known.codes[out]], leader[order][1:][same]]
    table["a"], table["b"] = np.minimum(a, b), np.maximum(a, b)
    table["kind"] = np.repeat(["must", "cannot"], [int(out.sum()), int(same.sum())])
    table["weight"] = known.weight
    return table[a != b]
