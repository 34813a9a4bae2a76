"""What looks at nodes will need, asked for some steps ahead.

A look reads a dozen arrays at places that lie here and there, most of which the pass over the data
has driven out of the caches. What is asked for in time is there: first a node's own numbers, then
what they lead to, its costs and its links, and at last its neighbours.
"""

from __future__ import annotations

from .._kernels.asking import STEPS, ask_for
from .._kernels.compiling import inner_exact

__all__ = ["ask_ahead", "ask_for_links", "ask_for_neighbours", "ask_for_node"]

#: So many neighbours of a node are asked for.
FEW = 6


@inner_exact
def ask_for_node(field, labels, i):  # type: ignore[no-untyped-def]
    """Ask for a node's own numbers."""
    ask_for(labels, i)
    ask_for(field.cheapest, i)
    ask_for(field.margin, i)
    ask_for(field.place, i)
    ask_for(field.since, i)
    ask_for(field.pointer, i)


@inner_exact
def ask_for_links(field, i):  # type: ignore[no-untyped-def]
    """Ask for a node's costs and links."""
    first = field.pointer[i]
    ask_for(field.table, field.place[i])
    ask_for(field.neighbour, first)
    ask_for(field.sign, first)
    ask_for(field.gap, first)


@inner_exact
def ask_for_neighbours(field, numbers, i):  # type: ignore[no-untyped-def]
    """Ask for some number of every neighbour of a node."""
    first, last = field.pointer[i], field.pointer[i + 1]
    for at in range(first, min(first + FEW, last)):
        ask_for(numbers, field.neighbour[at])


@inner_exact
def ask_ahead(field, labels, nodes, k, last):  # type: ignore[no-untyped-def]
    """Ask for what looks at the nodes behind the k-th of a list will need."""
    ask_for_node(field, labels, nodes[min(k + 3 * STEPS, last - 1)])
    ask_for_links(field, nodes[min(k + 2 * STEPS, last - 1)])
    ask_for_neighbours(field, labels, nodes[min(k + STEPS, last - 1)])
