"""Each component by the best method that is quick for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from ._reduce import narrowed, reduced
from ._search import Search
from .base import Inference, InferenceResult
from .explicit import explicit
from .icm import ICM
from .rounding import subfield

__all__ = ["Auto"]

IntArray = NDArray[np.int64]

#: Belief propagation is tried where its messages have at most so many numbers: half a second.
MESSAGES = 2_000_000


@dataclass
class Auto(Inference):
    """ICM everywhere, then the best labels of every component where they are quick to find.

    Nodes whose best label is certain whatever their neighbours do drop out first. Trees are solved
    by dynamic programming, components of few labellings by trying them all (maths.md 4.6, 4.8).
    Other components get the better of ICM and a few passes of belief propagation, if these are
    not too long; those with links that are kept as tables keep the labels of ICM. So the answer is
    never worse than that of :class:`ICM`.

    ``chosen`` says how many nodes were labelled which way; ``component_bounds`` is exact for all
    components but those left to belief propagation and ICM.

    Parameters
    ----------
    enumerate_limit : int, default=200_000
        Components with at most so many labellings are searched through.

    Examples
    --------
    >>> from linkfield.inference import Auto, PottsField
    >>> field = PottsField([[0.0, 0.1], [0.0, 0.2], [0.0, 0.3]], [(0, 1), (1, 2)], 0.25, 0.0)
    >>> result = Auto().solve(field, random_state=0)
    >>> result.labels.tolist(), result.chosen, result.optimal
    ([0, 1, 0], {'certain': 1, 'tree': 2, 'enumeration': 0, 'bp': 0, 'icm': 0}, True)
    """

    at_least_icm: ClassVar[bool] = True

    enumerate_limit: int = 200_000

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` is where ICM sets out from."""
        limit = self.enumerate_limit
        if not isinstance(limit, int | np.integer) or limit < 0:
            raise ValueError(f"enumerate_limit must be a whole number of at least 0; got {limit!r}")
        rng = as_generator(random_state)
        first = ICM().solve(field, start, rng)
        nodes = _without_tables(field)
        chosen = {"certain": 0, "tree": 0, "enumeration": 0, "bp": 0, "icm": field.n_nodes}
        if len(nodes) == 0:
            return replace(first, chosen=chosen, lower_bound=0.0 if field.n_nodes == 0 else -np.inf)
        left = reduced(narrowed(explicit(subfield(field, nodes))))
        search = Search(left.field, left.allowed, rng)
        search.labels = first.labels[nodes[left.nodes]]
        sizes = np.diff(search.start)
        chosen["certain"] = len(nodes) - len(left.nodes)
        chosen["tree"] = int(sizes[search.solve_trees()].sum())
        chosen["enumeration"] = int(sizes[search.try_all(limit)].sum())
        chosen["bp"] = int(sizes[search.propagate(MESSAGES)].sum())
        chosen["icm"] -= sum(count for name, count in chosen.items() if name != "icm")
        labels, component = first.labels.copy(), field.connected
        labels[nodes], bounds = search.put_into(left, component[nodes])
        known = np.full(int(component.max()) + 1, -np.inf)
        mine = np.unique(component[nodes])
        known[mine] = bounds[mine]
        energy = field.energy(labels)
        if not energy < first.energy:  # equal, or by rounding above it
            labels, energy = first.labels, first.energy
        return replace(
            first, labels=labels, energy=energy, chosen=chosen, component_bounds=known,
            lower_bound=min(float(known.sum()), energy),
        )  # fmt: skip


def _without_tables(field: PottsField) -> IntArray:
    """Return the nodes of components all of whose links are edges."""
    links, component = field.entailed, field.connected
    if links is None:
        return np.arange(field.n_nodes)
    held = np.zeros(int(component.max(initial=-1)) + 1, dtype=bool)
    held[component[links.block >= 0]] = True
    held[component[links.node_blocks[:, 0]]] = True
    return np.flatnonzero(~held[component])
