"""What an experiment is: data, what is told about them, methods, and how often.

An :class:`Experiment` is a grid of cells; each is one fit of one method. A method sees a
:class:`Task`, which holds no label of any row that is scored. All chance comes from seeds made of
(experiment, data, run, fold), so methods and numbers of constraints are compared on the same
splits, pairs and starts, and the pairs of a smaller number are the first of a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, Groups
from .data import DataSet, load
from .draws import Drawing, Known, random_pairs

__all__ = [
    "Cell",
    "Drawing",
    "Experiment",
    "Fit",
    "Known",
    "Method",
    "Source",
    "Task",
    "fitted",
    "stored",
]

IntArray = NDArray[np.int64]


class Cell(NamedTuple):
    """What identifies one fit: the key columns of the results."""

    data: str
    method: str
    constraints: float
    noise: float
    run: int
    fold: int


@dataclass(frozen=True)
class Task:
    """What a method gets to see.

    Attributes
    ----------
    X : array or CSR matrix
        The rows to be clustered.
    n_clusters : int
    constraints : Constraints
        Between rows of X. Empty for a method that ignores them.
    seed : int
        For every random choice of the method; the same for all methods and numbers of constraints.
    distortion : str
        The measure that suits the data.
    partial_labels : int array, optional
        Labels of some rows, -1 for the others, where the protocol gives them.
    groups : Groups, optional
        Groups drawn up by teachers, where the protocol gives them.
    others : array or CSR matrix, optional
        Further rows, to be labelled by the fitted model but not to be clustered.
    """

    X: Any
    n_clusters: int
    constraints: Constraints
    seed: int
    distortion: str = "euclidean"
    partial_labels: IntArray | None = None
    groups: Groups | None = None
    others: Any = None


@dataclass(frozen=True)
class Fit:
    """What a method found.

    Attributes
    ----------
    labels : int array or None
        Cluster of every row of ``task.X``; None if the method gave no answer, whose values then
        stay empty.
    other_labels : int array, optional
        Cluster of every row of ``task.others``, if there are any.
    objective, energy : float, optional
    iterations : int, optional
    extra : mapping of str to float
        Values for the experiment's own columns.
    """

    labels: IntArray | None
    other_labels: IntArray | None = None
    objective: float | None = None
    energy: float | None = None
    iterations: int | None = None
    extra: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A way to cluster.

    Attributes
    ----------
    name : str
        As in the results.
    fit : function of a Task that returns a Fit
    ignores_constraints : bool, default=False
        It is told nothing, fitted once for every split and given for all numbers of constraints.
    warm_up : bool, default=True
        Whether the first fit of a process is done twice, so that no time is that of compiling.
    runs : int, optional
        Take part in the first so many runs only: for methods that are slow.
    """

    name: str
    fit: Callable[[Task], Fit]
    ignores_constraints: bool = False
    warm_up: bool = True
    runs: int | None = None


@dataclass(frozen=True)
class Source:
    """Where the rows of an experiment come from.

    Attributes
    ----------
    name : str
        As in the results. Other rows or features need another name.
    load : function of (data directory or None, seed)
        Returns a DataSet. The seed differs from run to run, for sets that are samples.
    distortion : str, default="euclidean"
        What the methods measure with.
    needs : tuple of str
        The stored data sets that must be there.
    note : str
        How the rows were made, in words.
    draws : str
        Sources that share this word share splits, pairs and starts; by default the name.
    redrawn : bool, default=True
        Whether the rows depend on the seed, so that every run has its own.
    """

    name: str
    load: Callable[[Path | None, int], DataSet]
    distortion: str = "euclidean"
    needs: tuple[str, ...] = ()
    note: str = ""
    draws: str = ""
    redrawn: bool = True

    @property
    def chance(self) -> str:
        """The word that all chance comes from."""
        return self.draws or self.name


def stored(
    data: str,
    *,
    name: str = "",
    distortion: str = "euclidean",
    prepare: Callable[[Any], Any] | None = None,
    note: str = "",
    draws: str = "",
    **options: Any,
) -> Source:
    """Return a stored data set as a source; see :func:`linkfield.experiments.data.load`.

    Parameters
    ----------
    data : str
    name, distortion, note, draws
        As for :class:`Source`; the name is ``data`` unless said otherwise.
    prepare : function, optional
        Makes the features of the rows: scaling, principal components. It sees no label.
    options
        For ``load``, for example ``sample=0.2``: then every run draws a sample of its own.
    """
    reader = _Stored(data, tuple(sorted(options.items())), prepare)
    return Source(name or data, reader, distortion, (data,), note, draws, "sample" in options)


@dataclass(frozen=True)
class _Stored:
    """Loads a stored data set. Equal to its copy in another process, which remembers the rows."""

    data: str
    options: tuple[tuple[str, Any], ...]
    prepare: Callable[[Any], Any] | None

    def __call__(self, data_dir: Path | None, seed: int) -> DataSet:
        found = load(self.data, data_dir, **{"seed": seed, **dict(self.options)})
        return found if self.prepare is None else replace(found, X=self.prepare(found.X))


@dataclass(frozen=True)
class Experiment:
    """A grid of fits: data x methods x constraints x noise x runs x folds.

    Attributes
    ----------
    name, title, paper : str
    data : tuple of Source
    methods : tuple of Method
    constraints : tuple of numbers
        Numbers of pairs, or what else ``draw`` takes for an amount.
    noise : tuple of float, default=(0.0,)
        Shares of wrong constraints.
    runs : int
        Repetitions, each with its own sample, split and draws.
    folds : int
        Every fold is once the test rows: scored, while constraints are drawn from the others. With
        ``folds=1`` constraints are drawn from all rows, and those that none touches are scored.
    folds_run : int, optional
        Run only so many of the folds.
    cluster : {"all", "train"}, default="all"
        Which rows are clustered. With "train" the test rows are labelled by the fitted model.
    draw : function of a Drawing that returns a Known, default=random_pairs
        What the methods are told.
    seed : int, default=0
    extra : tuple of str
        Further columns of the results.
    notes : str
        Where the protocol departs from the paper's, and why.
    quick : mapping
        Fields that differ in the quick variant, for example ``{"runs": 1}``. If it changes only
        which cells there are, its results are a part of the full ones.
    """

    name: str
    title: str
    paper: str
    data: tuple[Source, ...]
    methods: tuple[Method, ...]
    constraints: tuple[float, ...]
    runs: int
    folds: int = 2
    noise: tuple[float, ...] = (0.0,)
    folds_run: int | None = None
    cluster: str = "all"
    draw: Callable[[Drawing], Known] = random_pairs
    seed: int = 0
    extra: tuple[str, ...] = ()
    notes: str = ""
    quick: Mapping[str, Any] = field(default_factory=dict)
    variant: str = "full"

    def __post_init__(self) -> None:
        if self.cluster not in ("all", "train"):
            raise ValueError(f"cluster must be 'all' or 'train', got {self.cluster!r}")
        if self.folds < 1 or (self.cluster == "train" and self.folds < 2):
            raise ValueError(f"folds={self.folds} leaves no rows to train on")
        for kind, items in (("data", self.data), ("methods", self.methods)):
            found = [item.name for item in items]
            if len(set(found)) < len(found):
                raise ValueError(f"{kind} holds a name twice: {found}")

    def quickened(self) -> Experiment:
        """Return the variant that takes a few seconds."""
        only_cells = {"data", "methods", "constraints", "noise", "runs", "folds_run"}
        variant = "full" if set(self.quick) <= only_cells else "quick"
        return replace(self, **{"variant": variant, **self.quick})

    def cells(self) -> Iterator[Cell]:
        """Yield every cell, the runs one after the other."""
        for run in range(self.runs):
            for fold in range(min(self.folds, self.folds_run or self.folds)):
                for source in self.data:
                    for constraints in self.constraints:
                        for noise in self.noise:
                            for method in self.methods:
                                if method.runs is None or run < method.runs:
                                    yield Cell(
                                        source.name, method.name, constraints, noise, run, fold
                                    )

    def parameters(self) -> dict[str, Any]:
        """Return the protocol in plain values."""
        return {
            "variant": self.variant,
            "data": {source.name: source.note for source in self.data},
            "methods": [method.name for method in self.methods],
            "constraints": list(self.constraints),
            "noise": list(self.noise),
            "runs": self.runs,
            "fewer_runs": {m.name: m.runs for m in self.methods if m.runs is not None},
            "folds": self.folds,
            "folds_run": self.folds_run or self.folds,
            "cluster": self.cluster,
            "draw": self.draw.__name__,
            "notes": self.notes,
        }


def fitted(model: Any, task: Task, **told: Any) -> Fit:
    """Fit an estimator of linkfield to a task and return what it found.

    ``told`` are further arguments of ``fit``; the constraints are among them unless they are
    given as None.
    """
    model.fit(task.X, **{"constraints": task.constraints, **told})
    return Fit(
        labels=np.asarray(model.labels_, dtype=np.int64),
        other_labels=None if task.others is None else np.asarray(model.predict(task.others)),
        objective=float(model.objective_),
        iterations=int(model.n_iter_),
    )
