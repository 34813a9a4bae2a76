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
from ..estimation import Model

__all__ = ["Pruning"]

#: Bounds are switched on for all blocks above the first share of certain rows, off below the other.
ON, OFF = 0.5, 0.3


@dataclass
class Pruning:
    """The bounds of all rows, and whether they are in use."""

    distortion: Distortion
    n_rows: int
    on: bool = False
    model: Model | None = None
    valid: bool = False
    _upper: NDArray[np.float32] = field(init=False, repr=False)
    _lower: NDArray[np.float32] = field(init=False, repr=False)
    _drift: tuple[Any, ...] = field(init=False, repr=False)
    _possible: bool = field(init=False, default=False, repr=False)

    def __post_init__(self) -> None:
        # Zeros mean "nothing known", and cost no memory before they are written to.
        self._upper = np.zeros(self.n_rows, dtype=np.float32)
        self._lower = np.zeros(self.n_rows, dtype=np.float32)

    def begin(self, model: Model) -> None:
        """Prepare a pass under a model."""
        before, self.model = self.model, model
        now = (model.centres, model.metric)
        self._possible = self.distortion.drift(now, now) is not None
        drift = None
        if before is not None and self._possible:
            drift = self.distortion.drift((before.centres, before.metric), now)
        self.valid = drift is not None
        shift = np.zeros(len(model.centres)) if drift is None else drift.shift
        grow, shrink = (1.0, 1.0) if drift is None else (drift.grow, drift.shrink)
        at = int(shift.argmax())
        second = float(np.delete(shift, at).max(initial=0.0))
        single = np.float32
        self._drift = (
            single(grow * (1 + 1e-6)), single(shrink * (1 - 1e-6)),
            (shift * (1 + 1e-6)).astype(np.float32), single(shift[at] * (1 + 1e-6)),
            single(second * (1 + 1e-6)), at,
        )  # fmt: skip

    def bounds(self, block: int) -> Any:
        """Return the bounds for the pass over one block."""
        from .._kernels.layout import Bounds

        used = self._possible and (self.on or block == 0)
        return Bounds(self._upper, self._lower, used, used and self.valid, *self._drift)

    def forget(self, rows: Any) -> None:
        """Drop what is known of some rows."""
        self._upper[rows] = 0.0
        self._lower[rows] = 0.0

    def learn(self, sure: list[int], size: list[int]) -> None:
        """Note how many free rows of each block were certain; decide about the next pass."""
        if not (self._possible and self.valid):
            return
        if self.on and sum(sure) < OFF * sum(size):
            self.on = False
            self.forget(slice(None))
            self.model = None
        elif not self.on and sure[0] > ON * size[0]:
            self.on = True
