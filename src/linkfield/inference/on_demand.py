"""Fields whose costs are worked out as they are needed.

Most nodes of a fit under way are content: they have their cheapest label, and their links are as
they should be. ICM never looks at what other labels would cost them. So a field may come with the
cheapest labels alone, and give the costs of the nodes that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._structure import Structure

if TYPE_CHECKING:
    from ._plain_state import PlainState

__all__ = ["CostsOnDemand"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]


@dataclass
class Costs:
    """What the nodes of a field cost, as far as it is known, and how to learn more.

    Attributes
    ----------
    cheapest, margin : arrays (n,)
        The cheapest label of every node, and by how much it is that at least.
    unary : callable
        ``unary(nodes, table, noise)`` writes the costs of some nodes, up to a constant a node,
        and how far they may be off.
    gaps : callable
        ``gaps(edges)`` returns agree − differ of some edges.
    drift : (float, float) or None
        Every gap is that between these two times what it was under the costs before; None where
        nothing is known about that.
    nodes, table, noise : arrays or None
        Nodes whose costs are known already; those are the first rows of a table, and ``noise``
        says how far they may be off. Behind them both may be written to.
    """

    cheapest: Int32Array
    margin: FloatArray
    unary: Callable[[IntArray, FloatArray, FloatArray], None]
    gaps: Callable[[NDArray[Any]], FloatArray]
    drift: tuple[float, float] | None = None
    nodes: Int32Array | None = None
    table: FloatArray | None = None
    noise: FloatArray | None = None


@dataclass
class CostsOnDemand:
    """A field of plain edges whose costs come as they are asked for, new ones time and again.

    Attributes
    ----------
    structure : Structure
    n_labels : int
    must : bool array (m,)
        Must-links; all other edges are cannot-links, and all cost something if broken.
    costs : Costs
        Those of the present.
    metric : object
        What they were worked out under.
    needed : int array
        The nodes whose costs the last solution had to know.
    broken : int array
        The edges that the last solution breaks, in order.
    moved : int array
        The nodes that it gave another label than they had.
    """

    structure: Structure
    n_labels: int
    must: NDArray[np.bool_]
    costs: Costs
    metric: Any = None
    needed: Int32Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    broken: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    moved: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, dtype=np.uint32))
    state: PlainState | None = field(default=None, repr=False)
