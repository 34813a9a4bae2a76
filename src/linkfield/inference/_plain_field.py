"""How a field of plain edges, and a labelling of it, are laid out for compiled loops."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["GAIN", "WIDER", "PlainField", "Work"]

#: A move must gain this share of the costs it compares, or rounding could go round in circles.
GAIN = 1e-12

#: As rounding may have it, bounds are wider by this share.
WIDER = 1e-9


class PlainField(NamedTuple):
    """Costs and edges by node.

    Node i has the costs ``table[place[i]]``, which may be off by ``noise[place[i]]``, or place -1
    while they are not known; every label other than ``cheapest`` certainly costs it at least
    ``margin`` more. ``sign`` and ``gap`` stand beside the neighbour that they belong to. The gaps
    of node i are those of the time ``since[i]`` (-1: never known); by now they are that between
    ``least`` and ``most`` times, at the present, the last of these times, exactly.
    """

    table: Any
    place: Any
    cheapest: Any
    margin: Any
    noise: Any
    pointer: Any
    neighbour: Any
    sign: Any
    gap: Any
    since: Any
    least: Any
    most: Any


class Work(NamedTuple):
    """Labels, and what waits for a look: nodes, and components that may move as a whole.

    Component c has the nodes members[starts[c] : starts[c + 1]]; ``group`` is the component of
    every node, -1 for none, ``component`` its must-link component whether movable or not.
    ``needed`` are the nodes whose costs a look had to know, ``moved`` those that were given another
    label. Only the links of ``doubtful`` nodes can be broken; ``held`` ones were seen to stay.
    ``queue`` and ``list`` are room to write to; ``queued`` and ``listed`` nodes stand there.
    """

    labels: Any
    waiting: Any
    needed: Any
    moved: Any
    queued: Any
    listed: Any
    held: Any
    doubtful: Any
    stale: Any
    starts: Any
    members: Any
    group: Any
    component: Any
    queue: Any
    list: Any
