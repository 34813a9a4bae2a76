"""Constraints: what the user knows about pairs of rows. Immutable, small, and aligned by id."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._random import RandomState
from . import _normal as normal
from ._aligned import KnownRows
from ._assembly import PAIR_BUDGET, assembled, check_budget
from ._normal import FloatArray, IntArray
from .labels import PartialLabels, labelled_rows
from .sampling import sample_pairs

if TYPE_CHECKING:
    from .closure import Closure
    from .conflicts import Conflict, Repaired

__all__ = ["PAIR_BUDGET", "PAIR_DTYPE", "Constraints", "check_budget"]

#: The table of pairs that :meth:`Constraints.pairs` returns.
PAIR_DTYPE = np.dtype([("a", np.int64), ("b", np.int64), ("kind", "U6"), ("weight", np.float64)])


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Constraints(KnownRows):
    """Must-links and cannot-links between rows, with weights.

    A pair is unordered and stored once. The object is immutable and has no length and no shape,
    so that cross-validation cannot slice it by accident.

    Parameters
    ----------
    must_link, cannot_link : sequence of pairs
        Row positions, or ids of ``sample_id`` where that is given. A must-link of a row with
        itself is dropped; a cannot-link of a row with itself is an error.
    must_link_weight, cannot_link_weight : float or one a pair, default=1.0
        How dear it is to violate the pair; ``inf`` makes it a hard constraint.
    merge : {"max", "sum"}, default="max"
        What the weight of a pair given several times is. With "max", saying it twice changes
        nothing; "sum" counts independent annotators.
    sample_id : sequence, optional
        The id of every row, in the order of the rows. With it, ``fit(..., sample_id=...)`` finds
        the rows again in any order, and rows that are absent there (a cross-validation fold)
        simply lose their constraints.

    Examples
    --------
    >>> from linkfield import Constraints
    >>> known = Constraints(must_link=[(0, 1), (1, 2)], cannot_link=[(2, 5)])
    >>> known
    Constraints(2 must-links, 1 cannot-link, 4 rows)
    >>> known.neighbourhoods()
    [array([0, 1, 2])]
    """

    _what = "constraints"
    _pairs: IntArray
    _must: NDArray[np.bool_]
    _weight: FloatArray
    _source: NDArray[np.object_]
    _labels: PartialLabels
    _ids: NDArray[np.object_] | None
    _ids_declared: bool

    def __init__(
        self,
        must_link: Any = (),
        cannot_link: Any = (),
        *,
        must_link_weight: Any = 1.0,
        cannot_link_weight: Any = 1.0,
        merge: str = "max",
        sample_id: Any = None,
    ) -> None:
        links = (must_link, cannot_link), (must_link_weight, cannot_link_weight)
        self._set(merge=merge, **assembled(*links, sample_id))

    def _set(
        self,
        pairs: IntArray,
        must: NDArray[np.bool_],
        weight: FloatArray,
        *,
        merge: str = "max",
        source: NDArray[np.object_] | None = None,
        labels: PartialLabels | None = None,
        ids: NDArray[np.object_] | None = None,
        ids_declared: bool = False,
    ) -> Constraints:
        """Bring everything into normal form and freeze it."""
        if merge not in ("max", "sum"):
            raise ValueError(f"merge must be 'max' or 'sum', got {merge!r}")
        if source is None:
            source = np.full(len(pairs), None, dtype=object)
        own = pairs[:, 0] == pairs[:, 1]
        if (own & ~must).any():
            row = int(pairs[own & ~must][0, 0])
            name = row if ids is None else ids[row]
            raise ValueError(f"cannot_link holds the row {name!r} with itself; remove that pair")
        parts = [
            normal.merge_duplicates(pairs[k], weight[k], source[k], merge)
            for k in (must & ~own, ~must)
        ]
        values = {
            "_pairs": np.concatenate([p[0] for p in parts]),
            "_must": np.repeat([True, False], [len(p[0]) for p in parts]),
            "_weight": np.concatenate([p[1] for p in parts]),
            "_source": np.concatenate([p[2] for p in parts]),
            "_labels": labels or PartialLabels.empty(),
            "_ids": ids,
            "_ids_declared": ids_declared,
        }
        return self._freeze(values)

    def _with(self, **changes: Any) -> Constraints:
        """Return a copy with some of the parts replaced."""
        parts: dict[str, Any] = {
            "pairs": self._pairs,
            "must": self._must,
            "weight": self._weight,
            "source": self._source,
            "labels": self._labels,
            "ids": self._ids,
            "ids_declared": self._ids_declared,
        } | changes
        return object.__new__(Constraints)._set(**parts)

    # ------------------------------------------------------------------ making

    @classmethod
    def from_labels(
        cls,
        partial_labels: Any,
        *,
        n_pairs: int | None = None,
        noise: float = 0.0,
        random_state: RandomState = None,
        sample_id: Any = None,
    ) -> Constraints:
        """Return what partial labels say about pairs.

        Parameters
        ----------
        partial_labels : array-like of shape (n_rows,)
            ``-1`` or a missing value is unknown.
        n_pairs : int, optional
            Draw that many random pairs of labelled rows. Without it everything that the labels
            entail holds, kept by class and never written out pair by pair.
        noise : float, default=0.0
            Probability with which each drawn pair is turned into the other kind.
        random_state : int, Generator or RandomState, optional
        sample_id : sequence, optional
            The id of every row.
        """
        rows, codes, classes = labelled_rows(partial_labels)
        ids = None if sample_id is None else normal.as_ids(sample_id)
        if ids is not None and len(ids) != (n_rows := len(partial_labels)):
            raise ValueError(
                f"sample_id names {len(ids)} rows, but partial_labels has {n_rows} entries; give "
                "one id for every label"
            )
        extra = {"ids": ids, "ids_declared": ids is not None}
        empty = cls()
        if n_pairs is None:
            if noise:
                raise ValueError("noise needs n_pairs: it turns drawn pairs over, not labels")
            labels = PartialLabels(rows, codes, classes)
            return empty._with(labels=labels, **extra)
        pairs, must = sample_pairs(codes, n_pairs, noise=noise, random_state=random_state)
        weight = np.ones(len(pairs))
        source = np.full(len(pairs), None, dtype=object)
        return empty._with(pairs=rows[pairs], must=must, weight=weight, source=source, **extra)

    @classmethod
    def from_frame(cls, df: Any, *, merge: str = "max", sample_id: Any = None) -> Constraints:
        """Return the constraints of a data frame (pandas, polars, pyarrow).

        Columns ``a``, ``b``, ``kind`` ("must" or "cannot"), optional ``weight`` and ``source``.
        """
        from .frames import frame_columns

        a, b, kind, weight, source = frame_columns(df)
        ends = list(zip(a, b, strict=True))
        order = [np.flatnonzero(kind), np.flatnonzero(~kind)]
        links = tuple([ends[k] for k in part] for part in order)
        parts = assembled(links, tuple(weight[part] for part in order), sample_id)
        if source is not None:
            parts["source"] = source[np.concatenate(order)]
        return object.__new__(cls)._set(merge=merge, **parts)

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the pairs as a data frame with columns a, b, kind, weight and, if any, source.

        ``backend`` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        """
        from .frames import make_frame

        return make_frame(self._columns(), backend)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table of pairs, the ends by their names."""
        table, given = self.pairs(), self._source.tolist()
        source = [*given, *["labels"] * (len(table) - len(given))]
        columns = {
            "a": self._named(table["a"]),
            "b": self._named(table["b"]),
            "kind": table["kind"].tolist(),
            "weight": table["weight"].tolist(),
        }
        if any(s is not None for s in source):
            columns["source"] = source
        return columns

    # ----------------------------------------------------------------- reading

    @property
    def n_must_link(self) -> int:
        """Number of must-links, those that labels entail included."""
        twice = self._labels.entails(self._pairs, self._must) & self._must
        return int(self._must.sum()) + self._labels.n_must_link - int(twice.sum())

    @property
    def n_cannot_link(self) -> int:
        """Number of cannot-links, those that labels entail included."""
        twice = self._labels.entails(self._pairs, self._must) & ~self._must
        return int((~self._must).sum()) + self._labels.n_cannot_link - int(twice.sum())

    @property
    def labels(self) -> PartialLabels:
        """The labels that were given as such."""
        return self._labels

    def pairs(self, *, labels: bool = True) -> NDArray[np.void]:
        """Return the pairs as a table with fields a, b, kind, weight (row positions).

        Pairs that labels entail stand at its end, unless ``labels=False``; if there are more
        than ``PAIR_BUDGET`` of them that is refused.
        """
        ends, must, weight = self._pairs, self._must, self._weight
        if labels and len(self._labels.rows):
            check_budget(self._labels.n_must_link + self._labels.n_cannot_link, "the labels entail")
            more = self._labels.pairs()
            twice = self._labels.entails(ends, must)
            n = int(self._labels.rows.max()) + 1
            key = (more[0][:, 0] * n + more[0][:, 1]) * 2 + more[1]
            new = ~np.isin(key, (ends[twice, 0] * n + ends[twice, 1]) * 2 + must[twice])
            ends = np.concatenate([ends, more[0][new]])
            must, weight = np.r_[must, more[1][new]], np.r_[weight, more[2][new]]
        table = np.empty(len(ends), dtype=PAIR_DTYPE)
        table["a"], table["b"] = ends[:, 0], ends[:, 1]
        table["kind"] = np.where(must, "must", "cannot")
        table["weight"] = weight
        return table

    @property
    def sources(self) -> NDArray[np.object_]:
        """Who gave each pair, or None, in the order of ``pairs(labels=False)``."""
        return self._source

    def tied_rows(self) -> IntArray:
        """Return the rows that occur in any constraint, in ascending order."""
        return normal.distinct(np.concatenate([self._pairs.ravel(), self._labels.rows]))

    def _mentioned(self) -> IntArray:
        return self.tied_rows()

    def __repr__(self) -> str:
        counts = [(self.n_must_link, "must-link"), (self.n_cannot_link, "cannot-link")]
        words = [f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counts]
        return f"Constraints({', '.join(words)}, {len(self.tied_rows()):,} rows)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constraints):
            return NotImplemented
        mine, theirs = self._identity(), other._identity()
        return all(np.array_equal(x, y) for x, y in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _identity(self) -> tuple[Any, ...]:
        ids = np.array([]) if self._ids is None else self._ids
        labels = (self._labels.rows, self._labels.codes, np.array(self._labels.classes, object))
        weight = self._labels.weight if len(self._labels.rows) else 1.0
        return (self._pairs, self._must, self._weight, ids, *labels, weight)

    # ---------------------------------------------------------------- deriving

    def __or__(self, other: Constraints) -> Constraints:
        """Join two sets of constraints; a pair in both keeps its greater weight."""
        if not isinstance(other, Constraints):
            return NotImplemented
        mine, theirs, ids = self._on_common_ids(other)
        return mine._with(
            pairs=np.concatenate([mine._pairs, theirs._pairs]),
            must=np.r_[mine._must, theirs._must],
            weight=np.r_[mine._weight, theirs._weight],
            source=np.r_[mine._source, theirs._source],
            labels=mine._labels.joined(theirs._labels),
            ids=ids,
            ids_declared=self._ids_declared and other._ids_declared,
        )

    def _renumber(self, new: IntArray, **changes: Any) -> Constraints:
        """Call row r ``new[r]``; whatever touches a row called -1 is dropped."""
        pairs = new[self._pairs]
        keep = (pairs >= 0).all(axis=1)
        return self._with(
            pairs=pairs[keep],
            must=self._must[keep],
            weight=self._weight[keep],
            source=self._source[keep],
            labels=self._labels.renumbered(new),
            **changes,
        )

    def scaled(self, factor: float) -> Constraints:
        """Return the constraints with all weights multiplied; ``inf`` makes all of them hard."""
        normal.as_weights(factor, 1, "factor")
        if factor == 1.0:
            return self
        labels = PartialLabels(
            self._labels.rows,
            self._labels.codes,
            self._labels.classes,
            self._labels.weight * factor,
        )
        return self._with(weight=self._weight * factor, labels=labels)

    def closure(self) -> Closure:
        """Return what the constraints entail: components, and which of them are apart."""
        return self._closure

    @cached_property
    def _closure(self) -> Closure:
        from .closure import Closure

        return Closure.of(self)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what can be found again out of pickles."""
        return {name: value for name, value in self.__dict__.items() if name != "_closure"}

    def neighbourhoods(self) -> list[IntArray]:
        """Return the sets of rows that must-links (or labels) tie together, largest first."""
        return self.closure().neighbourhoods()

    def conflicts(self, limit: int | None = None) -> list[Conflict]:
        """Return the contradictions, each with its shortest chain of must-links.

        ``limit`` bounds their number, and the time where there are very many.
        """
        from .conflicts import find_conflicts

        return find_conflicts(self, limit)

    def repair(self, strategy: str = "cheapest", *, time_limit: float = 30.0) -> Repaired:
        """Return a consistent subset of the constraints and what was dropped for it.

        With ``strategy="cheapest"`` the total weight of what is dropped is the least possible
        (proven, unless ``time_limit`` seconds ran out; the result says which).
        """
        from .conflicts import repair

        return repair(self, strategy, time_limit=time_limit)
