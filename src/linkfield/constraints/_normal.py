"""The normal form of pairs and labels: what every other part may rely on (maths.md 1.1)."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "as_ids",
    "as_pair_array",
    "as_positions",
    "as_weights",
    "is_missing",
    "merge_duplicates",
    "positions_of",
    "readable",
    "stable_order",
    "with_smaller_first",
]

_UNKNOWN = re.compile(r"\s*(-1(\.0*)?)?\s*")
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def as_pair_array(pairs: Any, name: str) -> NDArray[Any]:
    """Return pairs as an (m, 2) array, of integers, or of objects where they are ids."""
    if len(getattr(pairs, "shape", ())) == 2 and hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()  # list() of a data frame would give its columns
    listed = pairs if isinstance(pairs, np.ndarray) else list(pairs)
    try:
        array = np.asarray(listed)
        if array.dtype.kind not in "iufb":  # ids: keep every value as it is, not as text
            array = np.asarray(listed, dtype=object)
    except ValueError:
        raise ValueError(f"{name} must be a list of pairs, each of two rows") from None
    if isinstance(listed, list) and array.ndim >= 2:
        array = _kept(listed, array)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(
            f"{name} must be a list of pairs, of shape (n_pairs, 2); got shape {array.shape}"
        )
    return array


def _kept(listed: list[Any], array: NDArray[Any]) -> NDArray[Any]:
    """Return pairs with the values that numpy would change: tuples, and booleans among numbers."""
    values = [v for pair in listed for v in pair]
    kinds = set(map(type, values))  # few, however many values there are
    if array.ndim == 2 and not any(issubclass(kind, bool | np.bool_) for kind in kinds):
        return array
    if array.ndim > 2 and not all(issubclass(kind, tuple) for kind in kinds):
        return array
    kept = np.empty(len(values), dtype=object)
    kept[:] = values
    return kept.reshape(len(listed), -1)


def as_positions(pairs: NDArray[Any], name: str) -> IntArray:
    """Check that pairs are row positions: integers, none negative."""
    if pairs.dtype.kind not in "iu":
        kinds = sorted({type(v).__name__ for v in pairs.flat})
        raise TypeError(
            f"{name} must hold integer row positions, got {', '.join(kinds)}; convert them with "
            "int(), or pass sample_id= if they are row ids"
        )
    positions = pairs.astype(np.int64)
    if positions.size and positions.min() < 0:
        bad = positions[(positions < 0).any(axis=1)][0]
        raise ValueError(f"{name} has a negative row position in the pair {tuple(bad.tolist())}")
    return positions


def as_weights(weight: Any, n_pairs: int, name: str) -> FloatArray:
    """Return one positive weight a pair; infinity marks a hard constraint."""
    weights = np.asarray(weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_pairs, float(weights))
    if weights.shape != (n_pairs,):
        raise ValueError(
            f"{name} must be one number, or one a pair ({n_pairs}); got shape {weights.shape}"
        )
    if np.isnan(weights).any():
        raise ValueError(f"{name} contains NaN; a weight is a positive number or inf")
    if (weights <= 0).any():
        raise ValueError(
            f"{name} must be positive (found {weights.min():g}); to weaken a constraint give a "
            "small weight, to turn it round give it as the other kind"
        )
    return weights


def distinct(positions: IntArray) -> IntArray:
    """Return the distinct positions, sorted; by counting where they lie close enough."""
    top = int(positions.max(initial=-1)) + 1
    if top > 20 * len(positions) + 1000:
        return np.unique(positions)
    seen = np.zeros(top, dtype=bool)
    seen[positions] = True
    return seen.nonzero()[0]


def places(among: IntArray, positions: IntArray) -> IntArray:
    """Return where each position stands among the sorted ones, all of which occur there."""
    top = int(among.max(initial=-1)) + 1
    if top > 20 * len(among) + 1000:
        return np.searchsorted(among, positions)
    place = np.zeros(top, dtype=np.int64)
    place[among] = np.arange(len(among))
    return place[positions]


def stable_order(numbers: IntArray) -> IntArray:
    """Return the order that sorts numbers >= 0, those that are equal as they stand.

    Each with its place behind it, in one number: those sort many times faster.
    """
    bits = len(numbers).bit_length()
    if len(numbers) == 0 or int(numbers.max()) >> (62 - bits):
        return np.argsort(numbers, kind="stable")
    joined = (numbers.astype(np.int64) << bits) | np.arange(len(numbers))
    joined.sort()
    joined &= (1 << bits) - 1
    return joined


def with_smaller_first(pairs: IntArray) -> IntArray:
    """Return pairs, each with its smaller end first."""
    return np.column_stack([np.minimum(*pairs.T), np.maximum(*pairs.T)])


def unique_rows(columns: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of a table of numbers >= 0, sorted, and where each is first.

    One number a row sorts several times faster than rows do.
    """
    if len(columns) == 0:
        return columns, np.empty(0, dtype=np.int64)
    width = [int(column.max()) + 1 for column in columns.T]
    if math.prod(width) >= 2**62:  # too many to count with one number
        rows, first = np.unique(columns, axis=0, return_index=True)
        return rows, first
    key = columns[:, 0].astype(np.int64)
    for k in range(1, columns.shape[1]):
        key = key * width[k] + columns[:, k]
    order = stable_order(key)
    key = key[order]
    new = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    first = order[new]
    return columns[first], first


def merge_duplicates(
    pairs: IntArray, weight: FloatArray, source: NDArray[np.object_], merge: str
) -> tuple[IntArray, FloatArray, NDArray[np.object_]]:
    """Sort pairs, each with its smaller end first, and merge those given more than once."""
    ordered = with_smaller_first(pairs)
    if _rising(ordered).all():
        return ordered, weight.copy(), source.copy()
    order = stable_order(ordered[:, 1])
    order = order[stable_order(ordered[order, 0])]
    ordered, weight, source = ordered[order], weight[order], source[order]
    starts = np.flatnonzero(_rising(ordered))
    combine = np.maximum if merge == "max" else np.add
    weight = combine.reduceat(weight, starts)
    if len(starts) < len(ordered):
        source = _joined_sources(source, starts)
    return ordered[starts], weight, source if len(source) == len(starts) else source[starts]


def _rising(pairs: IntArray) -> NDArray[np.bool_]:
    """Say of every pair whether it comes after the one before it in order; of the first, that."""
    a, b = pairs.T
    after = (a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (b[1:] > b[:-1]))
    return np.r_[np.ones(min(len(a), 1), dtype=bool), after]


def _joined_sources(source: NDArray[np.object_], starts: IntArray) -> NDArray[np.object_]:
    """Join the distinct sources of the pairs that merge, in order, by a semicolon."""
    joined = np.empty(len(starts), dtype=object)
    for k, chunk in enumerate(np.split(source, starts[1:])):
        names = dict.fromkeys(n for s in chunk if s is not None for n in str(s).split(";"))
        joined[k] = ";".join(names) if names else None
    return joined


def is_missing(value: Any) -> bool:
    """Say whether a label stands for "unknown": -1, None, NaN, empty text, a frame's missing value.

    The texts "-1" and "-1.0" mean the same, as they come out of text files.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return _UNKNOWN.fullmatch(value) is not None
    if isinstance(value, float | np.floating | Decimal):
        return bool(value != value or value == -1)
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value == -1


def as_ids(sample_id: Any) -> NDArray[np.object_]:
    """Return row ids as a one-dimensional array of distinct Python objects."""
    plain = isinstance(sample_id, np.ndarray) and sample_id.dtype.kind in "iuU"
    if plain:
        values = sample_id.tolist()
    elif hasattr(sample_id, "to_list"):
        values = sample_id.to_list()
    else:
        values = list(sample_id)
    ids = np.empty(len(values), dtype=object)
    ids[:] = [v.item() if isinstance(v, np.generic) else v for v in values]
    # Sorting an array takes far less memory than a set of millions of objects.
    if plain and sample_id.dtype.kind in "iu" and len(np.unique(sample_id)) == len(ids):
        return ids
    if len(set(ids.tolist())) != len(ids):
        seen: set[Hashable] = set()
        double = next(v for v in ids.tolist() if v in seen or seen.add(v))  # type: ignore[func-returns-value]
        raise ValueError(f"sample_id must name every row once; {double!r} occurs more than once")
    return ids


def positions_of(values: Sequence[Any], ids: NDArray[np.object_]) -> IntArray:
    """Return the position of every value among ``ids``, -1 where it does not occur."""
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    asked = set(plain) if len(plain) < len(ids) else None  # few of many: look for these only
    where = {v: k for k, v in enumerate(ids) if asked is None or v in asked}
    return np.fromiter((where.get(v, -1) for v in plain), dtype=np.int64, count=len(plain))


def readable(values: Sequence[Any], limit: int = 5) -> str:
    """List a few values for a message."""
    shown = ", ".join(repr(v) for v in list(values)[:limit])
    return shown + (f" and {len(values) - limit} more" if len(values) > limit else "")
