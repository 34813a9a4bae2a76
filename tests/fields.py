"""Small random fields, and their least energy by trying every labelling."""

from itertools import product

import numpy as np

from linkfield._rows import DenseRows
from linkfield.field import EntailedLinks
from linkfield.inference import PottsField

KINDS = ("must", "cannot", "mixed")


def every_labelling(field: PottsField) -> np.ndarray:
    """Return all K^n labellings, one a row."""
    return np.array(list(product(range(field.n_labels), repeat=field.n_nodes)), dtype=np.int64)


def energies(field: PottsField, labellings: np.ndarray) -> np.ndarray:
    """Return the energy of every labelling, from the definition, without the field's own code."""
    total = np.zeros(len(labellings))
    for i, costs in enumerate(field.unary):
        total += costs[labellings[:, i]]
    for (i, j), agree, differ in zip(field.edges, field.agree_cost, field.differ_cost, strict=True):
        a, b = labellings[:, i], labellings[:, j]
        if np.ndim(agree) == 0:
            total += np.where(a == b, agree, differ)
        else:
            total += np.where(a == b, agree[a], 0.5 * (differ[a] + differ[b]))
    return total


def optimum(field: PottsField) -> float:
    """Return the least energy."""
    return float(energies(field, every_labelling(field)).min())


def tiny_field(seed: int, wide: bool = False, hard: bool = False) -> PottsField:
    """Return a field of at most 8 nodes and 4 labels; every seed another mixture.

    Must-links, cannot-links or both; costs small, zero or huge; several components, repeated
    edges. ``wide`` gives every label a cost of its own, ``hard`` makes some costs infinite.
    """
    rng = np.random.default_rng([seed, 17])
    n, K = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    unary = rng.uniform(0, 1, (n, K)) * rng.choice([0.0, 1.0, 10.0], p=[0.1, 0.7, 0.2])
    m = int(rng.integers(0, 2 * n)) if n > 1 else 0
    edges = np.array([rng.choice(n, 2, replace=False) for _ in range(m)], dtype=np.int64)
    edges = edges.reshape(-1, 2)
    if m > 2 and rng.random() < 0.3:
        edges[-1] = edges[0][::-1]  # the same edge again, the other way round
    shape = (m, K) if wide else (m,)
    cost = rng.uniform(0, 1.5, shape)
    cost *= rng.choice([0.0, 1.0, 1e6], m, p=[0.15, 0.75, 0.1]).reshape(-1, *[1] * wide)
    if hard:
        cost[rng.random(m) < 0.3] = np.inf
        forbidden = rng.random((n, K)) < 0.15
        forbidden[np.arange(n), rng.integers(0, K, n)] = False
        unary[forbidden] = np.inf
    must = rng.random(m) < {"must": 1.1, "cannot": -1.0, "mixed": 0.5}[KINDS[seed % 3]]
    kind = must.reshape(-1, *[1] * wide)
    return PottsField(unary, edges, np.where(kind, 0.0, cost), np.where(kind, cost, 0.0))


def forest_field(seed: int, n: int = 7, wide: bool = False) -> PottsField:
    """Return a field whose edges have no cycle."""
    rng = np.random.default_rng([seed, 5])
    K = int(rng.integers(1, 5))
    order = rng.permutation(n)
    edges = [(order[rng.integers(0, k)], order[k]) for k in range(1, n) if rng.random() < 0.85]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    shape = (len(edges), K) if wide else len(edges)
    cost, must = rng.uniform(0, 1.5, shape), rng.random(len(edges)) < 0.5
    kind = must.reshape(-1, *[1] * wide)
    unary = rng.uniform(0, 1, (n, K))
    return PottsField(unary, edges, np.where(kind, 0.0, cost), np.where(kind, cost, 0.0))


def entailed_field(seed: int) -> PottsField:
    """Two blocks that are apart, a loose node, and corrections of both signs."""
    rng = np.random.default_rng(seed)
    n, K = 6, int(rng.integers(2, 4))
    block = np.array([0, 0, 1, 1, 1, -1])
    X = rng.normal(size=(n, 2))
    top = np.array([float((np.ptp(X, axis=0) ** 2).sum())])
    links = EntailedLinks(
        block, np.array([[0, 1]]), np.array([[5, 0]]), 0.5, np.ones(n),
        (X * X).sum(axis=1)[None], [DenseRows(np.sqrt(2.0) * X)], top,
    )  # fmt: skip
    costs = rng.normal(size=(2, 3)) * 0.4
    return PottsField(rng.random((n, K)) * 3, [(0, 5), (1, 2), (3, 5)], *costs, links)
