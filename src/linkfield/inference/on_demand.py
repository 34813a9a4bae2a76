"""Fields whose costs are worked out as they are needed.

Most nodes of a fit under way are content: they have their cheapest label, and their links are as
they should be. ICM never looks at what other labels would cost them. So a field may come with the
cheapest labels alone, and give the costs of the nodes that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._structure import Structure

__all__ = ["CostsOnDemand"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass
class CostsOnDemand:
    """A field of plain edges whose costs two functions give as they are asked for.

    Attributes
    ----------
    structure : Structure
    n_labels : int
    must : bool array (m,)
        Must-links; all other edges are cannot-links, and all cost something if broken.
    cheapest, margin : arrays (n,)
        The cheapest label of every node, and by how much it is that at least.
    unary : callable
        ``unary(nodes, table, noise)`` writes the costs of some nodes, up to a constant a node,
        and how far they may be off.
    gaps : callable
        ``gaps(edges)`` returns agree − differ of some edges.
    """

    structure: Structure
    n_labels: int
    must: NDArray[np.bool_]
    cheapest: IntArray
    margin: FloatArray
    unary: Callable[[IntArray, FloatArray, FloatArray], None]
    gaps: Callable[[IntArray], FloatArray]
