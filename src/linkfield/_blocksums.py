"""Sums by block and label: what entailed links need to know of a labelling (maths.md 1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._rows import Rows

__all__ = ["BlockGroups"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class BlockGroups:
    """The members of every block by their labels; only those combinations that occur.

    Attributes
    ----------
    nodes : int array
        The nodes that lie in blocks.
    of : int array
        The group of each of them.
    block, label : int arrays (n_groups,)
    index : int array (n_blocks, n_labels)
        The group of every block and label, -1 where nobody is.
    """

    nodes: IntArray
    of: IntArray
    block: IntArray
    label: IntArray
    index: IntArray

    @classmethod
    def of_labels(cls, block: IntArray, labels: IntArray, n_labels: int) -> BlockGroups:
        """Group the nodes; ``block`` is -1 for those in none."""
        n_blocks = int(block.max(initial=-1)) + 1
        nodes = np.flatnonzero(block >= 0)
        key = block[nodes] * n_labels + labels[nodes]
        used = np.zeros(n_blocks * n_labels, dtype=bool)
        used[key] = True
        number = np.where(used, np.cumsum(used) - 1, -1)
        found = np.flatnonzero(used)
        index = number.reshape(n_blocks, n_labels)
        return cls(nodes, number[key], found // n_labels, found % n_labels, index)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.block)

    def sum(self, values: FloatArray) -> FloatArray:
        """Add up one number a node, by group."""
        return np.asarray(np.bincount(self.of, values[self.nodes], self.n_groups), np.float64)

    def rows(self, rows: Rows) -> FloatArray:
        """Add up the rows of the nodes, by group."""
        group = np.full(len(rows), -1, dtype=np.int64)
        group[self.nodes] = self.of
        return rows.grouped(group, self.n_groups)

    def by_block(self, sums: Any) -> Any:
        """Add groups up to whole blocks."""
        total = np.zeros((len(self.index), *sums.shape[1:]))
        np.add.at(total, self.block, sums)
        return total

    def quiet(self, block_pairs: IntArray, node_blocks: IntArray, labels: IntArray) -> bool:
        """Say whether every block has one label, which nothing apart from it shares."""
        return (
            self.n_groups == len(self.index)
            and len(self.shared(block_pairs)[0]) == 0
            and len(self.beside(node_blocks, labels)[0]) == 0
        )

    def shared(self, block_pairs: IntArray) -> tuple[IntArray, IntArray]:
        """Return the groups of one label that two blocks both have, for every pair of blocks."""
        left, right = self.index[block_pairs[:, 0]], self.index[block_pairs[:, 1]]
        both = (left >= 0) & (right >= 0)
        return left[both], right[both]

    def beside(self, node_blocks: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
        """Return nodes with the group of their own label in a block that they are apart from."""
        r, g = node_blocks.T
        group = self.index[g, labels[r]]
        return r[group >= 0], group[group >= 0]
