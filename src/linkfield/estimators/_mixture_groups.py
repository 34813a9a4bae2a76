"""What a mixture is told about rows that belong together, as flat arrays of row positions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constraints import Constraints, Groups, readable
from ..constraints.labels import labelled_rows
from ..estimation.group_structure import MOST_SUBSET_GROUPS, GroupArrays
from ._inputs import _aligned

__all__ = ["Knowledge", "known_groups"]

IntArray = NDArray[np.int64]
ObjectArray = NDArray[np.object_]

#: Confidence of what is known from constraints and labels, which bring none of their own.
UNKNOWN = 0.5

#: By how much rounding may lift the confidences of a row above 1 in all.
SLACK = 1e-9


class Knowledge(NamedTuple):
    """Memberships and cannot-links of groups, who said so, what they called it."""

    arrays: GroupArrays
    teacher: ObjectArray
    label: ObjectArray

    @classmethod
    def nothing(cls) -> Knowledge:
        """Return no groups."""
        ints, floats = np.empty(0, np.int64), np.empty(0)
        pairs = np.empty((0, 2), np.int64)
        arrays = GroupArrays(ints, ints, floats, floats, pairs, floats, 0)
        return cls(arrays, np.empty(0, object), np.empty(0, object))

    def joined(self, other: Knowledge) -> Knowledge:
        """Return the groups of both, those of ``other`` last."""
        a, b = self.arrays, other.arrays
        arrays = GroupArrays(
            np.r_[a.group, b.group + a.n_groups],
            np.r_[a.row, b.row],
            np.r_[a.confidence, b.confidence],
            np.r_[a.strength, b.strength],
            np.concatenate([a.apart, b.apart + a.n_groups]),
            np.r_[a.apart_certainty, b.apart_certainty],
            a.n_groups + b.n_groups,
        )
        return Knowledge(arrays, np.r_[self.teacher, other.teacher], np.r_[self.label, other.label])


def known_groups(
    n_rows: int, *, groups: Any, constraints: Any, partial_labels: Any, sample_id: Any
) -> Knowledge:
    """Return everything that the user knows, checked."""
    if sample_id is not None and len(sample_id) != n_rows:
        raise ValueError(f"sample_id has {len(sample_id)} entries but X has {n_rows} rows")
    known = Knowledge.nothing()
    if groups is not None:
        known = known.joined(_from_user(groups, n_rows, sample_id))
    if partial_labels is not None and len(partial_labels) != n_rows:
        raise ValueError(
            f"partial_labels has {len(partial_labels)} entries but X has {n_rows} rows; use -1 for "
            "rows whose label is unknown"
        )
    if constraints is not None:
        pairs = _aligned(constraints, n_rows, sample_id)
        if partial_labels is not None:  # a labelled row brings what is linked to it into its class
            pairs |= Constraints.from_labels(partial_labels, sample_id=pairs.sample_id)
            partial_labels = None
        known = known.joined(_read(Groups.from_constraints(pairs, UNKNOWN)))
    if partial_labels is not None:
        # Many classes that are all apart could not be solved exactly (maths.md 6.8).
        few = len(labelled_rows(partial_labels)[2]) <= MOST_SUBSET_GROUPS
        apart = UNKNOWN if few else None
        known = known.joined(_read(Groups.from_labels(partial_labels, UNKNOWN, apart=apart)))
    _check(known.arrays, n_rows)
    return known


def _from_user(groups: Any, n_rows: int, sample_id: Any) -> Knowledge:
    """Read groups that the user gave; any object with the same flat arrays will do."""
    names = ("group", "row", "confidence", "strength", "apart", "apart_certainty", "n_groups")
    if not all(hasattr(groups, name) for name in names):
        raise TypeError(
            f"groups must be a linkfield.Groups, got {type(groups).__name__}; make one with "
            "Groups([[0, 1, 2], [5, 8]]), or from a table with Groups.from_teachers"
        )
    if sample_id is not None and hasattr(groups, "align"):
        groups = groups.align(sample_id)
    own = getattr(groups, "sample_id", None)
    positions = getattr(groups, "knows_positions", True)
    if sample_id is None and own is not None and (len(own) != n_rows or not positions):
        raise ValueError(
            "the groups name rows by id: pass fit(..., sample_id=ids) with the id of every row of "
            "X, in order"
        )
    return _read(groups)


def _read(groups: Any) -> Knowledge:
    arrays = GroupArrays(
        np.asarray(groups.group, np.int64),
        np.asarray(groups.row, np.int64),
        np.asarray(groups.confidence, np.float64),
        np.asarray(groups.strength, np.float64),
        np.asarray(groups.apart, np.int64).reshape(-1, 2),
        np.asarray(groups.apart_certainty, np.float64),
        int(groups.n_groups),
    )
    m = len(arrays.group)
    names = (_names(getattr(groups, name, None), m) for name in ("teacher", "label"))
    return Knowledge(arrays, *names)


def _names(values: Any, m: int) -> ObjectArray:
    names = np.full(m, None, dtype=object)
    if values is not None:
        names[:] = list(values)
    return names


# ------------------------------------------------------------------ checking


def _check(arrays: GroupArrays, n_rows: int) -> None:
    """Raise on memberships that no model can have; the message says what to do."""
    group, row, gamma = arrays.group, arrays.row, arrays.confidence
    m = len(group)
    for name in ("row", "confidence", "strength"):
        if len(getattr(arrays, name)) != m:
            raise ValueError(f"groups.{name} must have one entry a membership ({m})")
    beyond = np.unique(row[(row < 0) | (row >= n_rows)])
    if len(beyond):
        raise ValueError(
            f"groups name row {readable(beyond.tolist())}, but the data has {n_rows} rows (0 to "
            f"{n_rows - 1}); if these are ids, pass sample_id="
        )
    ends = np.r_[group, arrays.apart.ravel()]
    if len(ends) and (ends.min() < 0 or ends.max() >= arrays.n_groups):
        raise ValueError(f"groups are numbered 0 to n_groups − 1 = {arrays.n_groups - 1}")
    for name in ("confidence", "apart_certainty"):
        values = getattr(arrays, name)
        bad = values[~((values >= 0) & (values <= 1))]
        if len(bad):
            raise ValueError(
                f"{name} must lie in [0, 1], found {bad[0]:g}; it is a probability, strength says "
                "how much a membership counts"
            )
    tau = arrays.strength
    if not (np.isfinite(tau) & (tau >= 0)).all():
        raise ValueError("strength must be finite numbers of at least 0")
    if (arrays.apart[:, 0] == arrays.apart[:, 1]).any():
        raise ValueError("a group is apart from itself; remove that pair, or split the group")
    pairs = np.unique(np.column_stack([group, row]), axis=0)
    if len(pairs) < m:
        raise ValueError("a row is in the same group twice; name it once")
    total = np.bincount(row, gamma, n_rows)
    over = np.flatnonzero(total > 1 + SLACK)
    if len(over):
        raise ValueError(
            f"the confidences of row {over[0]} in its groups add up to {total[over[0]]:g}, but it "
            "can follow only one of them: lower them, drop a membership, or share the confidence "
            "among its groups"
        )
