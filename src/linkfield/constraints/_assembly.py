"""From what the user wrote down to one table of pairs of row positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _normal as normal
from ._normal import IntArray

__all__ = ["PAIR_BUDGET", "as_row_positions", "assembled", "check_budget", "named_rows"]

#: More pairs than this are never written out one by one (maths.md 1.4).
PAIR_BUDGET = 5_000_000


def check_budget(n_pairs: int, who: str, budget: int = PAIR_BUDGET) -> None:
    """Refuse to write out more pairs than memory should hold."""
    if n_pairs > budget:
        raise ValueError(
            f"{who} {n_pairs:,} pairs, more than the {budget:,} that are written out one by one; "
            "make the must-links hard (weight inf), take penalty='potts', closure=False, or draw "
            "fewer with Constraints.from_labels(..., n_pairs=...)"
        )


def as_row_positions(rows: NDArray[Any]) -> IntArray:
    """Check a list of distinct row positions."""
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise TypeError("rows must be a one-dimensional list of integer positions, or a mask")
    positions = rows.astype(np.int64)
    if positions.size and positions.min() < 0:
        raise ValueError(f"rows holds the negative position {positions.min()}")
    if len(np.unique(positions)) != len(positions):
        raise ValueError("rows names a position twice; restrict() needs distinct rows")
    return positions


def assembled(links: Sequence[Any], weights: Sequence[Any], sample_id: Any) -> dict[str, Any]:
    """Check must-links and cannot-links as the user gave them and lay them in one table."""
    names = ("must_link", "cannot_link")
    pairs = [normal.as_pair_array(p, name) for p, name in zip(links, names, strict=True)]
    weight = [
        normal.as_weights(w, len(p), f"{name}_weight")
        for w, p, name in zip(weights, pairs, names, strict=True)
    ]
    positions, ids = _resolved(pairs, sample_id)
    return {
        "pairs": positions,
        "must": np.repeat([True, False], [len(p) for p in pairs]),
        "weight": np.concatenate(weight),
        "ids": ids,
        "ids_declared": sample_id is not None,
    }


def _resolved(
    pairs: list[NDArray[Any]], sample_id: Any
) -> tuple[IntArray, NDArray[np.object_] | None]:
    """Turn pairs of ids into pairs of positions, where there are ids."""
    named = any(
        isinstance(v, str | bytes | tuple) for p in pairs if p.dtype == object for v in p.flat
    )
    if sample_id is None and not named:
        must, cannot = pairs
        checked = [
            normal.as_positions(must, "must_link"),
            normal.as_positions(cannot, "cannot_link"),
        ]
        return np.concatenate(checked), None
    values = np.concatenate([p.astype(object).ravel() for p in pairs])
    found, ids = named_rows(values.tolist(), sample_id, "constraints")
    return found.reshape(-1, 2), ids


def named_rows(values: list[Any], sample_id: Any, who: str) -> tuple[IntArray, NDArray[np.object_]]:
    """Return where every id stands among ``sample_id``, or in the order of first mention."""
    ids = normal.as_ids(dict.fromkeys(values) if sample_id is None else sample_id)
    found = normal.positions_of(values, ids)
    if (found < 0).any():
        unknown = dict.fromkeys(v for v, k in zip(values, found.tolist(), strict=True) if k < 0)
        raise ValueError(
            f"{who} name ids that sample_id does not have: {normal.readable(list(unknown))}"
        )
    return found, ids
