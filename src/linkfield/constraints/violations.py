"""Which of the given constraints a clustering breaks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ._normal import IntArray
from .closure import between, within
from .labels import PartialLabels
from .pairs import PAIR_DTYPE, Constraints

__all__ = ["violated_pairs", "violation_counter"]

#: So many violations of labels are listed one by one; more are listed by representatives.
LISTED = 100_000


def violated_pairs(
    constraints: Constraints, labels: IntArray, budget: int = LISTED
) -> NDArray[np.void]:
    """Return the table of given pairs that a clustering breaks, those of labels included.

    Pairs that labels entail are never written out, only those of them that are broken. Where these
    are more than ``budget``, representatives stand for them: every row outside the cluster that
    holds most of its class, paired with the first row of the class inside it, and the first rows
    of every two classes that share their main cluster.
    """
    known = constraints.labels
    given = _broken(constraints.pairs(labels=False), labels)
    if not len(known.rows):
        return given
    several = len(known.single().rows) < len(known.rows)
    if several and known.n_must_link + known.n_cannot_link <= budget:
        return _broken(constraints.pairs(), labels)
    if several or (found := _of_labels(known, labels, budget)) is None:
        return np.concatenate([given, _representatives(known, labels)])
    ends, must = found
    # A pair that is given as well has a weight of its own.
    n = len(labels)
    new = ~np.isin(_key(ends, must, n), _key(_ends(given), given["kind"] == "must", n))
    return np.concatenate([given, _table(ends[new], must[new], known.weight)])


def violation_counter(constraints: Constraints, budget: int = LISTED) -> Callable[[IntArray], int]:
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


def _broken(table: NDArray[np.void], labels: IntArray) -> NDArray[np.void]:
    together = labels[table["a"]] == labels[table["b"]]
    return table[together != (table["kind"] == "must")]


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


def _of_labels(
    known: PartialLabels, labels: IntArray, budget: int
) -> tuple[IntArray, NDArray[np.bool_]] | None:
    """Return the entailed pairs that are broken and their kinds; None if they are too many.

    Rows of one class in one cluster are a cell. Rows of two cells of one class break a must-link,
    of two cells of one cluster a cannot-link; all other pairs are kept.
    """
    if _broken_by_labels(known, labels) > budget:
        return None
    n_clusters = int(labels.max(initial=0)) + 1
    cells, cell = np.unique(known.codes * n_clusters + labels[known.rows], return_inverse=True)
    edges = [_alike(cells // n_clusters), _alike(cells % n_clusters)]
    size = np.bincount(cell)
    n_broken = [int((size[e[:, 0]] * size[e[:, 1]]).sum()) for e in edges]
    order = known.rows[np.argsort(cell, kind="stable")]
    ends = between(order, np.r_[0, np.cumsum(size)], np.concatenate(edges))
    return np.sort(ends, axis=1), np.repeat([True, False], n_broken)


def _alike(keys: IntArray) -> IntArray:
    """Return every two places that have the same key."""
    _, size = np.unique(keys, return_counts=True)
    return within(np.argsort(keys, kind="stable"), np.r_[0, np.cumsum(size)], np.arange(len(size)))


def _ends(table: NDArray[np.void]) -> IntArray:
    return np.column_stack([table["a"], table["b"]])


def _key(ends: IntArray, must: NDArray[np.bool_], n: int) -> IntArray:
    return (ends[:, 0] * n + ends[:, 1]) * 2 + must


def _table(ends: IntArray, must: NDArray[np.bool_], weight: float) -> NDArray[np.void]:
    table = np.empty(len(ends), dtype=PAIR_DTYPE)
    table["a"], table["b"] = np.sort(ends, axis=1).T
    table["kind"] = np.where(must, "must", "cannot")
    table["weight"] = weight
    return table


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
    a = np.r_[known.rows[out], leader[order][:-1][same]]
    b = np.r_[leader[known.codes[out]], leader[order][1:][same]]
    must = np.repeat([True, False], [int(out.sum()), int(same.sum())])
    return _table(np.column_stack([a, b]), must, known.weight)[a != b]
