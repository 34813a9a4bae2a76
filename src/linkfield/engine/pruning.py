"""Rows that need no look: bounds on distances, kept while they pay (Hamerly 2010).

A row whose distance to its own centre is certainly less than to any other keeps its label without
being read. Bounds live through changes of the centres and of a diagonal metric (see
:class:`linkfield.distortions.base.Drift`). They only ever save work: labels are the same with and
without them. One block keeps bounds always, as a probe; the others follow where the probe shows
that enough of its rows are certain. Counts decide, never clocks, so a fit repeats exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distortions import Distortion
from ..distortions.base import Drift
from ..estimation import Model

__all__ = ["Pruning"]

#: Bounds are switched on for all blocks above the first share of certain rows, off below the other.
ON, OFF = 0.6, 0.4

#: From so many products a row on it pays to compare it with its own centre first. With fewer, most
#: of the time goes into reading the row.
PRODUCTS = 2_048


@dataclass
class Pruning:
    """The bounds of all rows, and whether they are in use."""

    distortion: Distortion
    n_rows: int
    on: bool = False
    model: Model | None = None
    _kept: tuple[bool, bool] = field(default=(False, False), repr=False)
    _tested: tuple[bool, bool] = field(default=(False, False), repr=False)
    _upper: NDArray[np.float32] = field(init=False, repr=False)
    _lower: NDArray[np.float32] = field(init=False, repr=False)
    _drift: tuple[Any, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Zeros mean "nothing known", and cost no memory before they are written to.
        self._upper = np.zeros(self.n_rows, dtype=np.float32)
        self._lower = np.zeros(self.n_rows, dtype=np.float32)
        self._drift = _outward(Drift(1.0, 1.0, np.zeros(1)))

    def begin(self, model: Model, keep: bool = False, calm: bool = True) -> None:
        """Prepare a pass under a model; with ``keep`` all blocks note their bounds.

        While many labels change (not ``calm``) there is nothing to try: bounds would be lost.
        """
        before, self.model = self.model, model
        possible = self.distortion.can_drift(model.metric)
        drift = None
        if before is not None and self._kept[0]:
            now = (model.centres, model.metric)
            drift = self.distortion.drift((before.centres, before.metric), now)
        if drift is None:
            self.on = False
            drift = Drift(1.0, 1.0, np.zeros(len(model.centres)))
            self._kept = (False, False)
        every = possible and (self.on or keep)
        last, self._kept = self._kept, (every or (possible and calm), every)
        # Bounds that the pass before did not keep are of no use.
        self._tested = (last[0] and self._kept[0], last[1] and self._kept[1])
        self._drift = _outward(drift)

    def bounds(self, block: int) -> Any:
        """Return the bounds for the pass over the probe (0) or another block."""
        from .._kernels.layout import Bounds

        own_first = self.model is not None and self.model.centres.size >= PRODUCTS
        keep, test = self._kept[block], self._tested[block]
        return Bounds(self._upper, self._lower, keep, test, own_first, *self._drift)

    def nothing(self) -> Any:
        """Return bounds that are neither kept nor tested."""
        from .._kernels.layout import Bounds

        return Bounds(self._upper, self._lower, False, False, False, *self._drift)

    def learn(self, sure: list[int], size: list[int]) -> None:
        """Note how many rows of each block were certain; decide about the next pass."""
        if self.on and self._tested[1] and sum(sure) < OFF * sum(size):
            self.on = False
        elif not self.on and self._tested[0] and sure[0] > ON * size[0]:
            self.on = True

    def resume(self, tied: Any) -> None:
        """Go on in another fit from the bounds that the last pass kept of all rows but these."""
        self.on = self._kept[1]
        self.forget(tied)

    def forget(self, rows: Any) -> None:
        """Drop what is known of some rows."""
        self._upper[rows] = 0.0
        self._lower[rows] = 0.0


def _outward(drift: Drift) -> tuple[Any, ...]:
    """Return the drift in single precision, rounded to the safe side.

    With the largest shift of a centre, the largest of all the others, and whose the first is.
    """
    more, less, single = 1 + 1e-6, 1 - 1e-6, np.float32
    at, rest = int(drift.shift.argmax()), drift.shift.copy()
    rest[at] = 0.0
    others = float(rest.max())
    return (
        single(drift.grow * more), single(drift.shrink * less),
        (drift.shift * more).astype(single), single(drift.shift[at] * more),
        single(others * more), at,
    )  # fmt: skip
