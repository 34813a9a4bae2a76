"""Where every row is: cluster, probability, distance; worked out and written block by block."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["HEADER", "Members", "cluster_names", "memberships", "write_labels"]

#: The columns of a file of labels; the names of clusters stand behind them, if there are any.
HEADER = ("id", "cluster", "probability", "distance")

#: Entries of the table of rows by clusters that are held at a time, and rows at most.
TABLE, ROWS = 2_000_000, 50_000


class Members(NamedTuple):
    """A block of rows: its first row, and for each the cluster, its probability, the distance."""

    start: int
    cluster: NDArray[Any]
    probability: NDArray[Any]
    distance: NDArray[Any]


def blocks_of(n_rows: int, n_clusters: int) -> Iterator[slice]:
    """Cut the rows into blocks whose tables are small."""
    size = max(1, min(ROWS, TABLE // max(n_clusters, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def memberships(
    model: Any,
    X: Any,
    labels: Any = None,
    prepare: Callable[[Any], Any] = lambda rows: rows,
) -> Iterator[Members]:
    """Return cluster, probability and distance of every row, a block at a time.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array or CSR matrix
        Rows as the estimator takes them, after ``prepare``.
    labels : int array, optional
        The clusters of the rows; those that the model predicts if they are not given. With the
        labels of a fit, constraints count in the cluster; probability and distance go by the
        position of the row alone, unless the fit gave probabilities itself.
    prepare : callable
        What is done to a block of rows before the estimator sees it.
    """
    soft = getattr(model, "marginals_", None) if labels is not None else None
    K = len(getattr(model, "cluster_centers_", getattr(model, "means_", ())))
    for block in blocks_of(X.shape[0], K):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit has said it of all rows at once
            rows = prepare(X[block])
            chance = model.predict_proba(rows) if soft is None else soft[block]
            away = distances(model, rows)
            mine = model.predict(rows) if labels is None else labels[block]
        at = np.arange(len(mine))
        yield Members(block.start, np.asarray(mine), chance[at, mine], away[at, mine])


def distances(model: Any, rows: Any) -> NDArray[Any]:
    """Return the distance of every row to every cluster, squared where it is Euclidean.

    For a mixture it is Mahalanobis', (x − μ)ᵀ Σ⁻¹ (x − μ), to every component.
    """
    if hasattr(model, "transform"):
        return np.asarray(model.transform(rows))
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows, np.float64)
    out = np.empty((len(rows), len(model.means_)))
    for k, mean in enumerate(model.means_):
        root = model.precisions_cholesky_
        root = root if model.covariance_type == "tied" else root[k]
        away = rows - mean
        out[:, k] = ((away @ root if np.ndim(root) == 2 else away * root) ** 2).sum(axis=1)
    return out


def cluster_names(model: Any, labels: NDArray[Any], known: Any | None) -> list[str] | None:
    """Return what every cluster is called, None where no labels were given.

    Where labels bind classes to clusters it is their class. Otherwise clusters and classes are
    matched one to one, so that as many labelled rows as possible are in the cluster of their
    class; a cluster without a partner has no name.

    Parameters
    ----------
    model : estimator
    labels : int array
        The clusters of the rows.
    known : (rows, codes, classes) or None
        The labelled rows, the number of each one's class, and the classes.
    """
    if known is None or not len(known[0]):
        return None
    K = len(getattr(model, "cluster_centers_", getattr(model, "means_", ())))
    bound: Sequence[Any] | None = getattr(model, "classes_", None)
    if bound is not None:
        return [str(c) for c in bound] + [""] * (K - len(bound))
    from scipy.optimize import linear_sum_assignment

    rows, codes, classes = known
    table = np.zeros((K, len(classes)), dtype=np.int64)
    np.add.at(table, (labels[rows], codes), 1)
    names = [""] * K
    for cluster, code in zip(*linear_sum_assignment(table, maximize=True), strict=True):
        if table[cluster, code]:
            names[cluster] = str(classes[code])
    return names


def write_labels(
    raw: BinaryIO,
    members: Iterator[Members],
    sample_id: Any | None,
    names: list[str] | None,
    *,
    delimiter: str = ",",
) -> int:
    """Write the table of labels; return the number of rows.

    Parameters
    ----------
    raw : binary file
    members : iterator of Members
    sample_id : array or None
        The ids of the rows; without them a row's id is its position.
    names : list of str or None
        What every cluster is called.
    delimiter : str
    """
    last = 0
    with io.TextIOWrapper(raw, encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
        writer.writerow(HEADER if names is None else (*HEADER, "label"))
        for part in members:
            last = part.start + len(part.cluster)
            ids: Any = range(part.start, last)
            if sample_id is not None:
                ids = np.asarray(sample_id[part.start : last]).tolist()
            clusters = part.cluster.tolist()
            columns = [ids, clusters, _short(part.probability), _short(part.distance)]
            if names is not None:
                columns.append([names[k] for k in clusters])
            writer.writerows(zip(*columns, strict=True))
    return last


def _short(values: NDArray[Any]) -> list[str]:
    return [f"{value:.6g}" for value in values.tolist()]
