"""What every inference method takes and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._params import Parameters
from .._random import RandomState
from ..field import PottsField

__all__ = ["Inference", "InferenceResult"]

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
    """

    labels: IntArray
    energy: float
    lower_bound: float = -np.inf
    marginals: FloatArray | None = None
    n_iter: int = 0
    converged: bool = True


@dataclass
class Inference(Parameters, ABC):
    """A way to label a field."""

    @abstractmethod
    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field; ``start`` is a labelling to set out from."""
