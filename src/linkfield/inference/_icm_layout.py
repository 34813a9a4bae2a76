"""How a field with tables of entailed links, and a labelling of it, are laid out.

Notation as in maths.md 1.3: for block p and label h, n_ph, B_ph and s_ph are the sums of size, b
and z over the members of p with label h; barred ones are the sums over everything that is apart
from p. A node i of block p then pays

    t_h = n_ph b_i + size_i B_ph − ⟨z_i, s_ph⟩          (φ to the members with label h)
    must:    ½ (τ_h + Σ_h' t_h') − t_h                   (τ_h: φ to all members, under metric h)
    cannot:  top_h size_i n̄_ph − t̄_h
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Graph", "Groups", "Links", "Tables", "Waiting"]


class Graph(NamedTuple):
    """Unary costs and edges by node."""

    unary: Any
    noise: Any
    pointer: Any
    neighbour: Any
    edge: Any
    agree: Any
    differ: Any


class Links(NamedTuple):
    """Entailed links: fixed parts."""

    block: Any
    weight: Any
    size: Any
    b: Any
    own: Any
    top: Any
    z: Any
    z_pointer: Any
    z_index: Any
    z_value: Any
    block_pointer: Any
    block_neighbour: Any
    node_pointer: Any
    node_neighbour: Any


class Tables(NamedTuple):
    """Entailed links: sums under the current labels."""

    n: Any
    B: Any
    s: Any
    n_bar: Any
    B_bar: Any
    s_bar: Any
    n_all: Any
    B_all: Any
    s_all: Any


class Groups(NamedTuple):
    """Components that may move as a whole."""

    pointer: Any
    node: Any
    component: Any
    block: Any


class Waiting(NamedTuple):
    """Nodes and blocks around which something has changed since they were last looked at."""

    node: Any
    block: Any
