"""The normal form of groups of rows: one table of memberships, checked (maths.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _normal as normal
from ._assembly import named_rows
from ._graphs import sums
from ._normal import FloatArray, IntArray

__all__ = [
    "apart_links",
    "as_certainty",
    "flat_members",
    "membership_table",
    "row_positions",
    "shared",
    "spread",
    "texts",
]

ObjectArray = NDArray[np.object_]

#: By how much rounding may lift the confidences of a row above 1 in all.
SLACK = 1e-9


# --------------------------------------------------------------- as the user wrote it


def flat_members(members: Any) -> tuple[list[Any], IntArray]:
    """Return the rows of all groups, one after the other, and how many each group has."""
    if isinstance(members, str | bytes) or not isinstance(members, Iterable):
        raise TypeError(f"members must be a list of groups, each a list of rows; got {members!r}")
    groups = [_listed(group, k) for k, group in enumerate(members)]
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    if (sizes == 0).any():
        raise ValueError(
            f"members[{int(np.argmin(sizes))}] is empty; a group needs at least one row, leave "
            "empty groups out"
        )
    return [row for group in groups for row in group], sizes


def _listed(group: Any, number: int) -> list[Any]:
    if isinstance(group, str | bytes) or not isinstance(group, Iterable):
        raise TypeError(
            f"members[{number}] must be a list of rows, got {group!r}; members is a list of "
            "groups, as in [[0, 1, 2], [5, 8]]"
        )
    return _values(group)


def _values(entries: Any) -> list[Any]:
    """Return a list, a series or an array as a list of plain values."""
    for method in ("tolist", "to_list"):
        if hasattr(entries, method):
            return list(getattr(entries, method)())
    return list(entries)


def spread(value: Any, sizes: IntArray, name: str) -> FloatArray:
    """Return one number a membership from one for all, one a group, or one a membership."""
    n_groups = len(sizes)
    if _is_scalar(value):
        return np.full(int(sizes.sum()), _number(value, name))
    entries = _values(value)
    if len(entries) != n_groups:
        raise ValueError(
            f"{name} must be one number, one a group ({n_groups}), or one a membership, nested "
            f"like members; got {len(entries)} entries"
        )
    parts: list[float] = []
    for k, (entry, size) in enumerate(zip(entries, sizes.tolist(), strict=True)):
        if _is_scalar(entry):
            parts += [_number(entry, name)] * size
            continue
        numbers = [_number(v, name) for v in _values(entry)]
        if len(numbers) != size:
            raise ValueError(
                f"{name}[{k}] has {len(numbers)} numbers for the {size} rows of members[{k}]; "
                "give one number a row, or one for the group"
            )
        parts += numbers
    return np.array(parts, dtype=np.float64)


def _is_scalar(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0
    return isinstance(value, str | bytes) or not isinstance(value, Iterable)


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be numbers, found {value!r}") from None


def row_positions(values: list[Any], sample_id: Any) -> tuple[IntArray, ObjectArray | None]:
    """Return rows as positions, and the ids that these stand for, where there are ids."""
    nested = [v for v in values if isinstance(v, list | dict | set | np.ndarray)]
    if nested:
        raise TypeError(f"a group is a list of rows, but holds {nested[0]!r}; take one level off")
    if sample_id is not None or any(isinstance(v, str | bytes | tuple) for v in values):
        return named_rows(values, sample_id, "groups")
    odd = {
        type(v).__name__
        for v in values
        if isinstance(v, bool | np.bool_) or not isinstance(v, int | np.integer)
    }
    if odd:
        raise TypeError(
            f"groups must hold integer row positions, got {', '.join(sorted(odd))}; convert them "
            "with int(), or pass sample_id= if they are row ids"
        )
    rows = np.array(values, dtype=np.int64)
    if len(rows) and rows.min() < 0:
        raise ValueError(f"groups hold the negative row position {rows.min()}")
    return rows, None


def texts(values: Iterable[Any]) -> ObjectArray:
    """Return names (of teachers, of labels) as an array of objects."""
    listed = list(values)
    names = np.empty(len(listed), dtype=object)
    names[:] = listed
    return names


# --------------------------------------------------------------- the normal form


def membership_table(
    table: dict[str, NDArray[Any]], ids: ObjectArray | None, overlap: str
) -> dict[str, NDArray[Any]]:
    """Sort memberships by group and row, and check them.

    The columns are group, row, confidence, strength, teacher, label.
    """
    if overlap not in ("raise", "share"):
        raise ValueError(f"overlap must be 'raise' or 'share', got {overlap!r}")
    order = np.lexsort((table["row"], table["group"]))
    table = {name: column[order] for name, column in table.items()}
    group, row = table["group"], table["row"]
    twice = np.flatnonzero((group[1:] == group[:-1]) & (row[1:] == row[:-1]))
    if len(twice):
        raise ValueError(f"{_said(table, twice[0], ids)} is there twice; name it once")
    _check_numbers(table, ids)
    if overlap == "share":
        table["confidence"] = shared(table["confidence"], row)
    _check_sums(table, ids)
    return table


def _said(table: dict[str, NDArray[Any]], k: int, ids: ObjectArray | None) -> str:
    """Name a membership in a message."""
    text = f"row {_name(table['row'][k], ids)} of group {table['group'][k]}"
    teacher, label = table["teacher"][k], table["label"][k]
    more = [] if teacher is None else [f"teacher {teacher!r}"]
    more += [] if label is None else [f"label {label!r}"]
    return f"{text} ({', '.join(more)})" if more else text


def _name(row: Any, ids: ObjectArray | None) -> str:
    return repr(int(row) if ids is None else ids[row])


def _check_numbers(table: dict[str, NDArray[Any]], ids: ObjectArray | None) -> None:
    gamma, tau = table["confidence"], table["strength"]
    for name, values in (("confidence", gamma), ("strength", tau)):
        if np.isnan(values).any():
            where = _said(table, int(np.argmax(np.isnan(values))), ids)
            raise ValueError(f"{name} contains NaN ({where}); give a number, or leave it out")
    outside = np.flatnonzero((gamma < 0) | (gamma > 1))
    if len(outside):
        k = outside[0]
        raise ValueError(
            f"confidence must lie in [0, 1], found {gamma[k]:g} ({_said(table, k, ids)}); it is "
            "the probability that the row belongs to the group, strength says how much that counts"
        )
    bad = np.flatnonzero((tau < 0) | np.isinf(tau))
    if len(bad):
        k = bad[0]
        raise ValueError(
            f"strength must be a finite number >= 0, found {tau[k]:g} ({_said(table, k, ids)}); "
            "for a membership that holds for certain give it confidence 1"
        )


def _check_sums(table: dict[str, NDArray[Any]], ids: ObjectArray | None) -> None:
    """A row follows one of its groups or none: its confidences add up to at most 1 (6.1)."""
    rows, at = np.unique(table["row"], return_inverse=True)
    total = sums(at, table["confidence"], len(rows))
    over = np.flatnonzero(total > 1 + SLACK)
    if len(over) == 0:
        return
    r = over[0]
    n = int((at == r).sum())
    others = f" (and those of {len(over) - 1} more rows)" if len(over) > 1 else ""
    raise ValueError(
        f"the confidences of row {_name(rows[r], ids)} in its {n} groups add up to "
        f"{total[r]:g}{others}, but it can follow only one of them: lower them to at most "
        f"{1 / n:.3g} each, drop a membership, or pass overlap='share'"
    )


def shared(confidence: FloatArray, row: IntArray) -> FloatArray:
    """Return confidences that add up to at most 1 for every row.

    Where they do already, nothing changes. Elsewhere: were the memberships of a row independent,
    and given that at most one of them holds, membership l holds with probability
    o_l / (1 + Σ o) for the odds o = γ / (1 − γ). Certain ones share the whole.
    """
    rows, at = np.unique(row, return_inverse=True)
    crowded = (sums(at, confidence, len(rows)) > 1 + SLACK)[at]
    certain = confidence == 1
    n_certain = sums(at, certain.astype(np.float64), len(rows))[at]
    odds = np.where(certain, 0.0, confidence / np.where(certain, 1.0, 1.0 - confidence))
    total = 1.0 + sums(at, odds, len(rows))[at]
    split = np.where(n_certain > 0, certain / np.maximum(n_certain, 1.0), odds / total)
    return np.where(crowded, split, confidence)


# --------------------------------------------------------------- groups that are apart


def apart_links(apart: Any, certainty: Any, n_groups: int) -> tuple[IntArray, FloatArray]:
    """Return the pairs of groups that are apart, sorted, each once, and their certainty."""
    pairs = normal.as_pair_array(apart, "apart")
    if pairs.dtype.kind not in "iu":
        raise TypeError("apart must hold pairs of group numbers, as in [(0, 1), (0, 2)]")
    pairs = pairs.astype(np.int64)
    beyond = pairs[(pairs < 0) | (pairs >= n_groups)]
    if len(beyond):
        there = f"(0 to {n_groups - 1})" if n_groups else ""
        raise ValueError(
            f"apart names group {normal.readable(np.unique(beyond).tolist())}, but there are "
            f"{n_groups} groups {there}".rstrip()
        )
    own = pairs[pairs[:, 0] == pairs[:, 1]]
    if len(own):
        raise ValueError(
            f"apart puts group {own[0, 0]} apart from itself; remove that pair, or split the group"
        )
    chi = as_certainty(certainty, len(pairs))
    ends, chi, _ = normal.merge_duplicates(pairs, chi, np.full(len(pairs), None, object), "max")
    return ends, chi


def as_certainty(certainty: Any, n_pairs: int) -> FloatArray:
    """Return one certainty for every pair of groups that are apart."""
    try:
        chi = np.asarray(certainty, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"apart_certainty must be numbers, found {certainty!r}") from None
    if chi.ndim != 0 and chi.shape != (n_pairs,):
        raise ValueError(
            f"apart_certainty must be one number, or one a pair of apart ({n_pairs}); got shape "
            f"{chi.shape}"
        )
    outside = np.atleast_1d(chi)[~np.atleast_1d((chi >= 0) & (chi <= 1))]  # NaN among them
    if len(outside):
        raise ValueError(
            f"apart_certainty must lie in [0, 1], found {outside[0]:g}; it is the probability "
            "that the two groups are of different clusters"
        )
    return np.full(n_pairs, float(chi)) if chi.ndim == 0 else chi
