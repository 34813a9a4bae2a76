"""What every inference method takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._params import Parameters
from .._random import RandomState
from ..field import PottsField

__all__ = ["Inference", "InferenceResult", "checked_start"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class InferenceResult:
    """A labelling of a field.

    Attributes
    ----------
    labels : int array (n,)
    energy : float
        Equal to ``field.energy(labels)``.
    lower_bound : float
        A certified bound on the least energy, ``-inf`` where the method has none.
    marginals : float array (n, K) or None
        Only where the method has them.
    n_iter : int
    converged : bool
    trace : float array (n_iter,) or None
        What the method watches from iteration to iteration; each says what that is.
    component_bounds : float array (n_components,) or None
        ``lower_bound`` split up: a bound for each component of ``field.connected``.
    integral : bool or None
        Whether a relaxation was solved by whole labels, which then are optimal.
    chosen : dict or None
        How many nodes were labelled by which means, where a method chooses.
    """

    labels: IntArray
    energy: float
    lower_bound: float = -np.inf
    marginals: FloatArray | None = None
    n_iter: int = 0
    converged: bool = True
    trace: FloatArray | None = None
    component_bounds: FloatArray | None = None
    integral: bool | None = None
    chosen: dict[str, int] | None = None

    @property
    def gap(self) -> float:
        """How far the energy can be above the least one at most."""
        return max(self.energy - self.lower_bound, 0.0)

    @property
    def optimal(self) -> bool:
        """Whether the gap proves that no labelling is better (maths.md 4.7)."""
        return self.gap <= 1e-9 * (1.0 + abs(self.energy))


@dataclass
class Inference(Parameters, ABC):
    """A way to label a field.

    ``at_least_icm`` says that its answer is never worse than that of ICM from the same start.
    """

    at_least_icm: ClassVar[bool] = False

    @abstractmethod
    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` is a labelling to set out from."""


def checked_start(field: PottsField, start: ArrayLike | None) -> IntArray | None:
    """Return a labelling to set out from as integers, or say what is wrong with it."""
    if start is None:
        return None
    labels = np.asarray(start)
    fits = labels.shape == (field.n_nodes,) and (labels.dtype.kind in "iu" or not labels.size)
    if not fits or (labels.size and (labels.min() < 0 or labels.max() >= field.n_labels)):
        raise ValueError(
            f"start must give each of the {field.n_nodes} nodes a label in 0..{field.n_labels - 1}"
        )
    return labels.astype(np.int64)
