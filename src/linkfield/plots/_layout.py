"""Where the nodes of a graph are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["circle", "spring"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ROUNDS = 300


def circle(labels: IntArray) -> FloatArray:
    """Return places on a circle, cluster by cluster."""
    n = len(labels)
    angle = np.empty(n)
    angle[np.argsort(labels, kind="stable")] = 2 * np.pi * np.arange(n) / max(1, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


def spring(
    n: int, edges: IntArray, must: NDArray[np.bool_], rng: np.random.Generator
) -> FloatArray:
    """Return places under forces (Fruchterman & Reingold 1991).

    Nodes push each other away by k²/distance, edges pull by distance²/k with k = 1/√n; cannot-links
    pull a quarter as strongly, so that groups of must-links stand apart.
    """
    place = circle(np.zeros(n, np.int64)) + 0.01 * rng.standard_normal((n, 2))
    k = 1.0 / np.sqrt(max(1, n))
    strength = np.where(must, 1.0, 0.25)
    for step in np.linspace(0.12, 0.002, ROUNDS):
        gap = place[:, None] - place[None]
        distance = np.maximum(np.linalg.norm(gap, axis=2), 1e-3)
        force = (gap * (k * k / distance**2)[:, :, None]).sum(axis=1)
        along = place[edges[:, 0]] - place[edges[:, 1]]
        pull = along * (strength * np.linalg.norm(along, axis=1) / k)[:, None]
        np.add.at(force, edges[:, 0], -pull)
        np.add.at(force, edges[:, 1], pull)
        force -= 0.3 * place  # nothing drifts away
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        place = place + force / length * np.minimum(length, step)
    return place - place.mean(axis=0)
