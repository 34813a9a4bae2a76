"""Mean field: probabilities instead of labels (maths.md 4.5; Lange et al. 2005)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState, as_generator
from ..field import PottsField
from .base import Inference, InferenceResult, checked_start
from .icm import ICM

if TYPE_CHECKING:
    from ._free_energy import FreeEnergy

__all__ = ["MeanField", "Relaxed"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: So many sweeps, at most, are taken from a start, or at a passing temperature, before starts are
#: compared, and fewer if no probability changes by more than the second number.
SCOUT = 20, 1e-3


@dataclass(frozen=True)
class Relaxed:
    """Probabilities that a mean field settled on.

    Attributes
    ----------
    q : float array (n, K)
    labels : int array (n,)
        The labelling by ICM that was one of the starts.
    trace : float array
        F after every sweep once the best start was chosen.
    converged : bool
    energy : FreeEnergy
    """

    q: FloatArray
    labels: IntArray
    trace: FloatArray
    converged: bool
    energy: FreeEnergy


@dataclass
class MeanField(Inference):
    """Independent probabilities q_i(h) that come closest to the field at temperature T.

    Nodes are updated one at a time,
    q_i(h) ∝ exp(−[U_ih + Σ_j expected cost of the link to j where i has label h]/T),
    and each update minimises F(q) = Ē(q) − T Σ_i H(q_i) in q_i, so F never rises (maths.md 4.5).
    F is at least −T log Z, the free energy of the field; the lower T, the more certain q, and at
    T → 0 it is a labelling that no single change improves. Several starts are tried: every node on
    its own, the same cooled down from a high temperature, and a labelling by ICM. Every connected
    component keeps the one with the least F.

    F bounds log Z, not the least energy: ``lower_bound`` is −inf. ``marginals`` are q, ``trace`` is
    F after each sweep at T since the best start was chosen. Hard edges count as very large
    finite costs; forbidden labels have probability 0.

    Parameters
    ----------
    temperature : float, default=1.0
        T, in units of the costs. J is −2 log-likelihood for a learned squared Euclidean metric,
        so T = 2 reads J as a Gaussian mixture does.
    anneal : int or None, default=5
        Number of hotter stages through which one of the starts is taken. A node begins at the
        temperature at which its label hardly matters to it (the range of its costs, links
        included) and cools down geometrically to T; at each stage F never rises. None does
        without.
    max_iter : int, default=200
        Sweeps at T. A sweep looks at the nodes around which something changed.
    tol : float, default=1e-6
        Converged when no probability changes by more in a sweep.
    polish : bool, default=True
        Improve the likeliest labels by ICM, and take ICM's own labelling (from ``start`` if it is
        given) where that costs less. The marginals stay as they are.

    Examples
    --------
    >>> from linkfield.inference import MeanField, PottsField
    >>> field = PottsField([[0.0, 1.0], [0.4, 0.0]], [(0, 1)], agree_cost=[0.0], differ_cost=[2.0])
    >>> result = MeanField(temperature=0.5).solve(field, random_state=0)
    >>> result.labels
    array([0, 0])
    >>> result.marginals.round(3)
    array([[0.997, 0.003],
           [0.96 , 0.04 ]])
    """

    temperature: float = 1.0
    anneal: int | None = 5
    max_iter: int = 200
    tol: float = 1e-6
    polish: bool = True

    def solve(
        self,
        field: PottsField,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> InferenceResult:
        """Label a field by its marginals."""
        self.check()
        start = checked_start(field, start)
        if field.n_nodes == 0:
            q = np.empty((0, field.n_labels))
            return InferenceResult(np.empty(0, np.int64), 0.0, marginals=q, trace=np.empty(0))
        rng = as_generator(random_state)
        found = self.relax(field, start=start, random_state=rng)
        labels = found.q.argmax(axis=1)
        if self.polish:
            labels = _better(found, ICM().solve(field, labels, rng).labels)
        return InferenceResult(
            labels,
            field.energy(labels),
            marginals=found.q,
            n_iter=len(found.trace),
            converged=found.converged,
            trace=found.trace,
        )

    def check(self) -> None:
        """Raise if a parameter makes no sense."""
        T = self.temperature
        if not (isinstance(T, int | float | np.number) and 0 < T < np.inf):
            raise ValueError(f"temperature must be a positive number, got {T!r}; take ICM for 0")
        whole = int | np.integer
        if self.anneal is not None and not (isinstance(self.anneal, whole) and self.anneal >= 1):
            raise ValueError(f"anneal must be None or a whole number >= 1, got {self.anneal!r}")
        if not (isinstance(self.max_iter, whole) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number >= 1, got {self.max_iter!r}")
        if not (isinstance(self.tol, int | float | np.number) and self.tol >= 0):
            raise ValueError(f"tol must be a number >= 0, got {self.tol!r}")

    def relax(
        self,
        field: PottsField,
        *,
        weight: FloatArray | None = None,
        before: FloatArray | None = None,
        fresh: bool = True,
        start: IntArray | None = None,
        random_state: RandomState = None,
    ) -> Relaxed:
        """Return the probabilities of a field.

        Parameters
        ----------
        field : PottsField
            Of one node or more.
        weight : float array (n,), optional
            How much the entropy of every node counts; 1 by default.
        before : float array (n, K), optional
            Probabilities to go on from; F ends no higher than theirs.
        fresh : bool, default=True
            Whether to set out from every node on its own as well, where there is a ``before``.
        start : int array (n,), optional
            Labels for ICM to go on from, where there is no ``before``.
        random_state : int, RandomState, Generator or None
        """
        from ._free_energy import FreeEnergy, one_hot  # numba is loaded only when it is needed

        one = np.ones(field.n_nodes) if weight is None else np.asarray(weight, np.float64)
        energy = FreeEnergy.of(field, self.temperature * one)
        first = [] if before is None else [np.array(before, dtype=np.float64)]
        likeliest = start if before is None else before.argmax(axis=1)
        if fresh or before is None:
            first += self._starts(energy)
        icm = ICM().solve(field, likeliest, random_state)
        if len(first) > 1 or before is None or (icm.labels != likeliest).any():
            first.append(one_hot(icm.labels, field.n_labels))
        if len(first) > 1 and energy.coupled:
            for q in first:
                self._scout(energy, q)
        q = reduce(energy.better, first) if energy.coupled else first[0]
        trace: list[float] = []
        converged = False
        for settled in energy.descend(q, self.max_iter, self.tol):
            converged = settled
            trace.append(float(energy.values(q).sum()))
        return Relaxed(q, icm.labels, np.array(trace), converged, energy)

    def _starts(self, energy: FreeEnergy) -> list[FloatArray]:
        """Return where the nodes set out from: their own probabilities at T, and cooled down."""
        alone = energy.alone()
        if self.anneal is None or not energy.coupled:
            return [alone]
        with np.errstate(over="ignore"):
            hot = np.clip(energy.spread() / energy.heat, 1.0, 1e200)
        q = energy.at(hot).alone()
        for k in range(self.anneal, 0, -1):
            self._scout(energy.at(hot ** (k / self.anneal)), q)
        return [alone, q]

    def _scout(self, energy: FreeEnergy, q: FloatArray) -> None:
        """Go down from a start far enough to compare it with others."""
        sweeps, tol = SCOUT
        any(energy.descend(q, min(sweeps, self.max_iter), max(tol, self.tol)))


def _better(found: Relaxed, labels: IntArray) -> IntArray:
    """Return, for every component, the cheaper of some labels and those that were a start."""
    from ._free_energy import one_hot

    K = found.q.shape[1]
    best = found.energy.better(one_hot(found.labels, K), one_hot(labels, K))
    return best.argmax(axis=1)
