"""Groups: rows that somebody says belong together, and how sure that is. Immutable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _group_sources as sources
from ._group_table import GroupTable
from ._memberships import (
    ObjectArray,
    apart_links,
    flat_members,
    membership_table,
    row_positions,
    spread,
)
from ._normal import FloatArray, IntArray

__all__ = ["Groups"]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Groups(GroupTable):
    """Groups of rows that belong together, each membership with a confidence and a strength.

    The model (Law et al. 2005; maths.md 6.1): a row follows group l with probability γ (the
    confidence) and takes its label then; with what is left of 1 it follows none. A row may be in
    several groups, if its confidences add up to at most 1. The object is immutable and has no
    length and no shape, so that cross-validation cannot slice it by accident.

    Parameters
    ----------
    members : sequence of sequences
        The rows of every group: positions, or ids of ``sample_id`` where that is given.
    confidence : float, one a group, or one a membership (nested like members), default=0.5
        γ, from 0 to 1; 0.5 where it is not known.
    strength : float, one a group, or one a membership (nested like members), default=1.0
        τ ≥ 0: how much it counts, relative to other memberships, that this one is enforced.
    sample_id : sequence, optional
        The id of every row, in the order of the rows; see :class:`linkfield.Constraints`.
    apart : sequence of pairs of groups, default=()
        Groups that are of different clusters (maths.md 6.8).
    apart_certainty : float or one a pair, default=1.0
        χ, from 0 to 1: how sure that is.
    overlap : {"raise", "share"}, default="raise"
        What to do with a row whose confidences add up to more than 1. "share" makes them o / (1 +
        Σo) with the odds o = γ / (1 − γ): three teachers of confidence ½ become ¼ each.

    Attributes
    ----------
    group, row : int arrays (n_memberships,)
        The memberships, sorted by group and row. Rows are positions, those of ``sample_id``
        where there are ids.
    confidence, strength : float arrays (n_memberships,)
    teacher, label : object arrays (n_memberships,)
        Who said so and what they called it; None where that is not known.
    n_groups : int
    apart : int array (n_links, 2)
        Pairs of groups, the smaller number first, each once.
    apart_certainty : float array (n_links,)

    Examples
    --------
    >>> from linkfield import Groups
    >>> known = Groups([[0, 1, 2], [5, 8]], confidence=[0.9, 0.5], apart=[(0, 1)])
    >>> known
    Groups(2 groups, 5 memberships, 5 rows, 1 pair apart)
    >>> known.members()
    [array([0, 1, 2]), array([5, 8])]
    """

    def __init__(
        self,
        members: Any = (),
        *,
        confidence: Any = 0.5,
        strength: Any = 1.0,
        sample_id: Any = None,
        apart: Any = (),
        apart_certainty: Any = 1.0,
        overlap: str = "raise",
    ) -> None:
        values, sizes = flat_members(members)
        row, ids = row_positions(values, sample_id)
        self._set(
            np.repeat(np.arange(len(sizes)), sizes),
            row,
            spread(confidence, sizes, "confidence"),
            spread(strength, sizes, "strength"),
            n_groups=len(sizes),
            apart=apart,
            certainty=apart_certainty,
            ids=ids,
            ids_declared=sample_id is not None,
            overlap=overlap,
        )

    def _set(
        self,
        group: IntArray,
        row: IntArray,
        confidence: FloatArray,
        strength: FloatArray,
        *,
        n_groups: int,
        teacher: ObjectArray | None = None,
        label: ObjectArray | None = None,
        apart: Any = (),
        certainty: Any = 1.0,
        ids: ObjectArray | None = None,
        ids_declared: bool = False,
        overlap: str = "raise",
    ) -> Groups:
        """Bring everything into normal form and freeze it."""
        nobody = np.full(len(row), None, dtype=object)
        columns = {
            "group": group,
            "row": row,
            "confidence": confidence,
            "strength": strength,
            "teacher": nobody if teacher is None else teacher,
            "label": nobody if label is None else label,
        }
        table = membership_table(columns, ids, overlap)
        pairs, chi = apart_links(apart, certainty, n_groups)
        others = {"n_groups": n_groups, "apart": pairs, "apart_certainty": chi}
        by_id = {"_ids": ids, "_ids_declared": ids_declared}
        return self._freeze(table | others | by_id)

    @classmethod
    def _made(cls, parts: dict[str, Any], overlap: str = "raise") -> Groups:
        return object.__new__(cls)._set(overlap=overlap, **parts)

    # ------------------------------------------------------------------ making

    @classmethod
    def from_teachers(
        cls,
        frame: Any,
        *,
        teacher: str = "teacher",
        row: str = "row",
        label: str = "label",
        confidence: str | float = "confidence",
        strength: str | float = "strength",
        apart: bool | float = False,
        sample_id: Any = None,
        overlap: str = "raise",
    ) -> Groups:
        """Return the answers of teachers: one group for every teacher and label.

        What a teacher calls by one name belongs together; the same name means nothing from one
        teacher to another. Answers without a label (missing, or -1) are left out.

        Parameters
        ----------
        frame : data frame (pandas, polars, pyarrow)
            One answer a row.
        teacher, row, label : str
            Its columns.
        confidence, strength : str or float
            Columns, or one number for all. Without these columns they are 0.5 and 1.
        apart : bool or float, default=False
            How certain it is that two labels of one teacher are different clusters (True: 1).
        sample_id : sequence, optional
            The id of every row.
        overlap : {"raise", "share"}, default="raise"
            See :class:`Groups`.
        """
        names = (teacher, row, label)
        known = {"apart": apart, "sample_id": sample_id}
        return cls._made(
            sources.frame_answers(frame, names, confidence, strength, **known), overlap
        )

    @classmethod
    def from_constraints(
        cls,
        constraints: Any,
        confidence: float = 0.5,
        *,
        apart_certainty: float | None = None,
    ) -> Groups:
        """Return the must-link components as groups, apart where a cannot-link joins two of them.

        A row that only cannot-links name is a group of its own. Strengths are the mean weights of
        the rows' must-links, in proportion: 1 on average. Hard must-links (weight inf) give their
        rows confidence 1, hard cannot-links certainty 1. The sources become teachers.

        Parameters
        ----------
        constraints : Constraints
            What the labels in them entail counts too.
        confidence : float, default=0.5
            How sure the must-links are.
        apart_certainty : float, optional
            How sure the cannot-links are; by default as sure as must-links.

        Warns
        -----
        ConstraintWarning
            If a cannot-link joins two rows of one component; it is left out.
        """
        return cls._made(sources.of_constraints(constraints, confidence, apart_certainty))

    @classmethod
    def from_labels(
        cls,
        partial_labels: Any,
        confidence: Any = 0.5,
        *,
        strength: Any = 1.0,
        apart: bool | float | None = None,
        sample_id: Any = None,
    ) -> Groups:
        """Return one group for every class of partial labels.

        Parameters
        ----------
        partial_labels : array-like of shape (n_rows,)
            ``-1`` or a missing value is unknown.
        confidence, strength : float or one a row
        apart : bool or float, optional
            How certain it is that two classes are different clusters (True: 1); by default they
            may be the same.
        sample_id : sequence, optional
            The id of every row.
        """
        return cls._made(sources.of_labels(partial_labels, confidence, strength, apart, sample_id))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        sample_id: Any = None,
        apart: Any = (),
        apart_certainty: Any = 1.0,
        overlap: str = "raise",
    ) -> Groups:
        """Return the groups of a table of memberships (pandas, polars, pyarrow).

        Columns ``group`` and ``row``, optional ``confidence``, ``strength``, ``teacher``,
        ``label``. Groups may have any names; they are numbered in sorted order. ``apart`` holds
        pairs of these names, or is a table as :meth:`apart_frame` makes it.
        """
        return cls._made(sources.of_frame(frame, apart, apart_certainty, sample_id), overlap)

    # ---------------------------------------------------------------- deriving

    def __or__(self, other: Groups) -> Groups:
        """Join two sets of groups; all groups stay as they are, those of ``other`` come last."""
        if not isinstance(other, Groups):
            return NotImplemented
        return self.joined(other)

    def joined(self, other: Groups, *, overlap: str = "raise") -> Groups:
        """Return ``self | other``; ``overlap`` as in :class:`Groups`, for rows of both."""
        mine, theirs, ids = self._on_common_ids(other)
        columns = {
            name: np.concatenate([getattr(mine, name), getattr(theirs, name)])
            for name in self._MEMBERSHIP[1:]
        }
        parts = columns | {
            "group": np.r_[mine.group, theirs.group + mine.n_groups],
            "n_groups": mine.n_groups + theirs.n_groups,
            "apart": np.concatenate([mine.apart, theirs.apart + mine.n_groups]),
            "certainty": np.r_[mine.apart_certainty, theirs.apart_certainty],
            "ids": ids,
            "ids_declared": self._ids_declared and other._ids_declared,
        }
        return self._made(parts, overlap)

    def _renumber(self, new: IntArray, **changes: Any) -> Groups:
        """Call row r ``new[r]``; rows called -1 leave their groups, and empty groups go."""
        row = new[self.row]
        keep = row >= 0
        parts = {name: getattr(self, name)[keep] for name in self._MEMBERSHIP} | {"row": row[keep]}
        return self._part(parts, **changes)

    def select(self, groups: Any) -> Groups:
        """Return some of the groups (numbers or a mask), in the order in which they are named."""
        chosen = np.asarray(groups)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
            raise TypeError("groups must be a one-dimensional list of group numbers, or a mask")
        chosen = chosen.astype(np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_groups):
            raise ValueError(f"groups must be numbers from 0 to {self.n_groups - 1}")
        if len(np.unique(chosen)) != len(chosen):
            raise ValueError("groups names a group twice")
        new = np.full(self.n_groups, -1, dtype=np.int64)
        new[chosen] = np.arange(len(chosen))
        keep = new[self.group] >= 0
        parts = {name: getattr(self, name)[keep] for name in self._MEMBERSHIP}
        return self._part(parts, new)

    def _part(self, parts: dict[str, Any], new: IntArray | None = None, **changes: Any) -> Groups:
        """Return some of the memberships; group l is ``new[l]``, and without it empty groups go."""
        if new is None:
            left = np.bincount(parts["group"], minlength=self.n_groups) > 0
            new = np.where(left, np.cumsum(left) - 1, -1)
        linked = (new[self.apart] >= 0).all(axis=1)
        others = {
            "group": new[parts["group"]],
            "n_groups": int(new.max(initial=-1)) + 1,
            "apart": new[self.apart[linked]],
            "certainty": self.apart_certainty[linked],
            "ids": self._ids,
            "ids_declared": self._ids_declared,
        }
        return self._made(parts | others | changes)
