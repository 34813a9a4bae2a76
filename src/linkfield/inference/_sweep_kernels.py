"""Compiled sweeps over fields of plain edges, which stop where costs have to be asked for.

A sweep goes on from where it stopped when it is told what it asked for. That way few calls go to
and fro: after a pass over the data all that Python needs is out of the caches, and a call takes
several times as long as at other times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._kernels.compiling import ZERO, exact, inner_exact
from ._component_kernels import hopeful, loose, move, wishes
from ._edge_kernels import decide, go, look, resist, slots
from ._frame_kernels import marked

__all__ = [
    "DONE",
    "HOLDS",
    "HOPES",
    "LABELS",
    "LINKS",
    "LOOKS",
    "START",
    "Answer",
    "sweep",
    "sweep_components",
]

#: Where a sweep stands: at its beginning, at the end, or waiting for an answer. It asks for what
#: labels cost some nodes and what links do; for looks, where they are so many that all threads
#: should make them, at nodes, at components that may be hopeless, and at those that may be held.
START, DONE, LABELS, LINKS, LOOKS, HOPES, HOLDS = range(7)


class Answer(NamedTuple):
    """What a sweep has asked for.

    The costs of labels stand in the table from row ``first`` on and may be off by the noise there;
    ``gaps`` are what links cost, one after the other; ``found`` is what looks have found.
    """

    first: int
    gaps: Any
    found: Any


@exact
def sweep(field, work, rank, edge, stage, rounds, nodes, asked, answer, many):  # type: ignore[no-untyped-def]
    """Let nodes go who can, then decide on the contested ones, for so many rounds at most.

    At the start ``nodes`` are those to look at, and still so when looks were asked for; after that
    they are the contested ones, and ``asked`` those of which the answer says what labels, or links,
    cost. Returns the stage, how many moved, the rounds that are left, ``nodes`` and ``asked`` for
    the next call, and the edges whose costs are asked for.
    """
    moves, no_edges, contested, count = 0, edge[:0], nodes, nodes.shape[0]
    while True:
        if stage in (START, LOOKS):
            if stage == START and nodes.shape[0] >= many:
                return LOOKS, moves, rounds, nodes, nodes, no_edges
            moved, contested, count, missing = _let_go(field, work, rank, nodes, stage, answer)
            moves += moved
            if rounds == 0 or count + missing.shape[0] == 0:
                return DONE, moves, rounds, _both(contested[:count], missing), nodes[:0], no_edges
            if missing.shape[0] > 0:
                return LABELS, moves, rounds, contested[:count], missing, no_edges
        elif stage == LABELS:
            know_labels(field, asked, answer.first)
            contested = _both(nodes, asked)  # room for all of them
            count, _ = resist(field, work, asked, contested, count)
        if stage == LINKS:
            know_links(field, asked, answer.gaps)
        else:
            missing = _outdated(field.since, contested[:count], field.most.shape[0] - 1)
            if missing.shape[0] > 0:
                edges = edge[slots(field.pointer, missing)]
                return LINKS, moves, rounds, contested[:count], missing, edges
        decided, nodes = decide(field, work, rank, contested[:count])
        moves, rounds, stage = moves + decided, rounds - 1, START


@exact
def _let_go(field, work, rank, nodes, stage, answer):  # type: ignore[no-untyped-def]
    """Let some nodes go who can.

    Returns how many moved; a list and how many of its first nodes are contested; and, apart, those
    who may be so, whose costs are not known.
    """
    found = answer.found
    if stage != LOOKS:
        found = np.empty(nodes.shape[0], np.int8)
        look(field, work, nodes, 0, nodes.shape[0], found)
    moves, left = go(field, work, rank, nodes, found)
    contested = np.empty(left.shape[0], np.uint32)
    count, missing = resist(field, work, left, contested, ZERO)
    return moves, contested, count, missing


@exact
def sweep_components(field, work, edge, stage, some, asked, answer, many):  # type: ignore[no-untyped-def]
    """Let stale components move as a whole where that gains.

    ``some`` are those still in question, ``asked`` the nodes of which the answer says what labels,
    or links, cost. Returns the stage, how many moved, ``some`` and ``asked`` for the next call, and
    the edges whose costs are asked for.
    """
    nobody, no_edges = asked[:0], edge[:0]
    if stage == START:
        some = marked(work.stale)
        work.stale[:] = False
        if some.shape[0] >= many:
            return HOPES, 0, some, nobody, no_edges
    if stage in (START, HOPES):
        found = answer.found
        if stage == START:
            found = np.empty(some.shape[0], np.int8)
            hopeful(field, work, some, 0, some.shape[0], found)
        some = some[found != 0]
        missing = _members_unknown(field, work, some)
        if missing.shape[0] > 0:
            return LABELS, 0, some, missing, no_edges
    elif stage == LABELS:
        know_labels(field, asked, answer.first)
    if stage == LINKS:
        know_links(field, asked, answer.gaps)
    else:
        if stage != HOLDS and some.shape[0] >= many:
            return HOLDS, 0, some, nobody, no_edges
        found = answer.found
        if stage != HOLDS:
            found = np.empty(some.shape[0], np.int8)
            loose(field, work, some, 0, some.shape[0], found)
        some = some[found != 0]
        members = work.members[slots(work.starts, some)]
        missing = _outdated(field.since, members, field.most.shape[0] - 1)
        if missing.shape[0] > 0:
            return LINKS, 0, some, missing, edge[slots(field.pointer, missing)]
    wish, gain = np.empty(some.shape[0], np.int32), np.empty(some.shape[0])
    wishes(field, work, some, 0, some.shape[0], wish, gain)
    return DONE, move(field, work, some, wish, gain), some, nobody, no_edges


@inner_exact
def know_labels(field, nodes, first):  # type: ignore[no-untyped-def]
    """Take it that the costs of some nodes stand in the table, from a row on."""
    for k in range(nodes.shape[0]):
        field.place[nodes[k]] = first + k


@inner_exact
def know_links(field, nodes, gaps):  # type: ignore[no-untyped-def]
    """Take it that the links of some nodes cost this at present, node by node."""
    count, present = 0, field.most.shape[0] - 1
    for i in nodes:
        field.since[i] = present
        for at in range(field.pointer[i], field.pointer[i + 1]):
            field.gap[at] = gaps[count]
            count += 1


@exact
def _outdated(since, nodes, present):  # type: ignore[no-untyped-def]
    """Return the nodes whose links are not known to cost what they do at present."""
    out, count = np.empty(nodes.shape[0], np.uint32), 0
    for i in nodes:
        out[count] = i
        count += since[i] != present
    return out[:count]


@exact
def _members_unknown(field, work, some):  # type: ignore[no-untyped-def]
    """Need the costs of the members of some components; return those of unknown costs."""
    members = work.members[slots(work.starts, some)]
    out, count = np.empty(members.shape[0], np.uint32), 0
    for i in members:
        work.needed[i], out[count] = True, i
        count += field.place[i] < 0
    return out[:count]


@exact
def _both(some, others):  # type: ignore[no-untyped-def]
    """Return two lists as one."""
    out = np.empty(some.shape[0] + others.shape[0], np.uint32)
    out[: some.shape[0]] = some
    out[some.shape[0] :] = others
    return out
