"""Iterated conditional modes, with moves of whole components (maths.md 4.1; Besag 1986)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from .base import Inference, InferenceResult, checked_start
from .block_start import block_labels
from .on_demand import CostsOnDemand

if TYPE_CHECKING:
    from ._icm_state import State

__all__ = ["ICM"]

IntArray = NDArray[np.int64]


@dataclass
class ICM(Inference):
    """Greedy descent: nodes first, then whole must-link components.

    Each move lowers the energy strictly, so it ends, at a labelling that no single change and
    no move of a component improves. A sweep looks only at nodes around which something has changed.
    In fields of plain edges all nodes go at once that can have their cheapest label with every link
    in order; the others are decided on, those first that gain most. In other fields a sweep takes
    one node after the other, from a random one on.

    Parameters
    ----------
    max_sweeps : int, default=100
    component_moves : bool, default=True
        Also try to move every must-link component as a whole (single moves are stuck whenever a
        component sits wholly in the wrong cluster), and to rename the labels of every connected
        component (see :mod:`linkfield.inference.relabel`).
    swap_moves : bool, default=True
        With ``component_moves``, when nothing else gains: try to swap two labels along every chain
        of linked nodes that have them (Kempe chains). No link changes its state by that, so two
        nodes that hold each other off the clusters they want change places. For fields of plain
        edges.

    Examples
    --------
    >>> from linkfield.inference import ICM, PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> ICM().solve(field, random_state=0).labels
    array([0, 0])
    """

    at_least_icm: ClassVar[bool] = True

    max_sweeps: int = 100
    component_moves: bool = True
    swap_moves: bool = True

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field, from ``start`` or by inserting its nodes one after the other."""
        return self.step(field, start, random_state, every_move=True)

    def step(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
        every_move: bool = False,
    ) -> InferenceResult:
        """Do the same as one step of a fit.

        Without ``every_move`` labels are renamed, and swapped along chains, only if nothing else
        moves: a fit goes on while anything does.
        """
        if field.n_nodes == 0:
            return InferenceResult(np.empty(0, np.int64), 0.0)
        from ._icm_state import state_of  # numba is loaded only when it is needed

        start = checked_start(field, start)
        rng = as_generator(random_state)
        if start is None:
            start = block_labels(field, rng)
        state = state_of(field.finite, start)
        sweeps, converged = self._settle(state, start is None, field.n_nodes, rng, every_move)
        labels = state.labels
        energy = state.energy() if field.finite is field else field.energy(labels)
        return InferenceResult(labels, energy, n_iter=sweeps, converged=converged)

    def settled(
        self,
        costs: CostsOnDemand,
        start: IntArray | None,
        rng: np.random.Generator,
        every_move: bool = False,
    ) -> IntArray:
        """Return the labels that :meth:`step` would find, from costs that are given on demand.

        What is returned is known again as the next ``start``, so it must not be written to.
        """
        from ._plain_state import PlainState

        state = costs.state = costs.state or PlainState(costs)
        state.restart(start)
        self._settle(state, start is None, costs.structure.n_nodes, rng, every_move)
        labels = state.finish(start)
        # What a first labelling had to know says little about the next one.
        costs.needed = state.needed[:0] if start is None else state.needed
        costs.broken, costs.moved = state.broken.astype(np.int64), state.moved
        return labels

    def _settle(
        self,
        state: State,
        fresh: bool,
        n: int,
        rng: np.random.Generator,
        every_move: bool,
    ) -> tuple[int, bool]:
        """Move until nothing gains; return the sweeps made and whether that was reached."""
        if fresh:
            state.insert(rng.permutation(n))
        sweeps, moved, idle = 0, True, not fresh
        while moved and sweeps < self.max_sweeps:
            sweeps += 1
            more = self.max_sweeps - sweeps
            moves, settled = state.sweep(int(rng.integers(n)), more)
            moved = moves > 0 and not settled
            if not settled or not self.component_moves:
                continue
            moved = state.sweep_components() > 0
            idle = idle and not moved and moves == 0
            if not moved and (every_move or fresh or idle):
                moved = state.rename()
            if not moved and self.swap_moves and (every_move or idle):
                moved = state.swap() > 0
        return sweeps, not moved
