"""Watching a fit: what it has reached after every iteration, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints
from ..constraints.violations import violation_counter

__all__ = ["Step", "watching"]

IntArray = NDArray[np.int64]

#: A call that returns the labels; None where they are worked out at the end only.
Labels = Callable[[], IntArray] | None

#: What a loop tells after an iteration: its number, the objective, how much better an assignment
#: could be (or the damping of a mixture), and the labels.
Report = Callable[[int, float, float, Labels], None]


@dataclass(frozen=True)
class Step:
    """What a fit has reached.

    Attributes
    ----------
    estimator : str
        The name of its class.
    stage : str
        "fit"; or what a fit does before it, "choosing the metric" or "choosing the strength":
        many small fits, of which ``run`` counts those that are done.
    run, runs : int
        The number of the start, from 1, and how many there are.
    iteration, max_iter : int
        0 in the stages before the fit.
    objective : float
        That of this run; NaN in the stages before the fit.
    violations : int or None
        How many of the given constraints the labels break; None where the estimator has no labels
        yet (mixtures, and the stages before the fit).
    """

    estimator: str
    stage: str
    run: int
    runs: int
    iteration: int
    max_iter: int
    objective: float
    violations: int | None


Callback = Callable[[Step], None]

_callback: ContextVar[Callback | None] = ContextVar("linkfield_progress", default=None)


@contextmanager
def watching(callback: Callback) -> Iterator[None]:
    """Call ``callback(step)`` after every iteration of every fit inside the ``with``.

    The results are the same with it and without it. Violations are counted for the callback only,
    in time linear in the constraints. An exception of the callback ends the fit.

    Parameters
    ----------
    callback : callable
        Takes a :class:`Step`. Starts of a mixture that run side by side call it from their
        threads.

    Examples
    --------
    >>> from linkfield import HMRFKMeans
    >>> from linkfield.estimators.progress import watching
    >>> seen = []
    >>> with watching(seen.append):
    ...     model = HMRFKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> seen[-1].iteration == model.n_iter_, seen[-1].violations
    (True, 0)
    """
    token = _callback.set(callback)
    try:
        yield
    finally:
        _callback.reset(token)


def reporter(
    model: Any,
    run: int,
    runs: int,
    *,
    constraints: Constraints | None = None,
    shift: float = 0.0,
    extra: Callable[[float], str] = lambda _: "",
) -> Report | None:
    """Return what a loop calls after every iteration, None where nobody listens.

    Parameters
    ----------
    model : estimator
        Its ``verbose`` prints.
    run, runs : int
        The number of the start, from 0, and how many there are.
    constraints : Constraints, optional
        Those whose violations are counted.
    shift : float
        Added to the loop's objective.
    extra : callable
        What ``verbose`` adds about the third number that the loop tells.
    """
    callback = _callback.get()
    if callback is None and not model.verbose:
        return None
    count = None
    if callback is not None and constraints is not None:
        count = violation_counter(constraints)
    name, limit = type(model).__name__, int(model.max_iter)

    def report(iteration: int, value: float, detail: float, labels: Labels) -> None:
        value += shift
        if model.verbose:
            print(f"start {run + 1}, iteration {iteration}: objective {value:.6g}{extra(detail)}")
        if callback is not None:
            broken = None if count is None or labels is None else count(labels())
            callback(Step(name, "fit", run + 1, runs, iteration, limit, float(value), broken))

    return report


@contextmanager
def unwatched() -> Iterator[None]:
    """Keep the fits inside to themselves."""
    token = _callback.set(None)
    try:
        yield
    finally:
        _callback.reset(token)


@contextmanager
def small_fits(model: Any, stage: str, runs: int) -> Iterator[Callable[[], None]]:
    """Keep the fits inside to themselves; what is yielded says that one more of them is done."""
    callback = _callback.get()
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if callback is not None:
            callback(Step(type(model).__name__, stage, done, runs, 0, 0, float("nan"), None))

    with unwatched():
        yield advance
