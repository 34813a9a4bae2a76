"""Numbers, counts and names as a report writes them."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["count", "name_of", "number", "one_line"]


def count(n: int, thing: str) -> str:
    """Write "1 row" or "1,234 rows"."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def number(x: float) -> str:
    """Write a number with five digits, large ones with separators."""
    if not math.isfinite(x):
        return "∞" if x > 0 else "–" if math.isnan(x) else "−∞"
    return f"{x:,.0f}" if 1e5 <= abs(x) < 1e12 else f"{x:.5g}"


def one_line(text: object, most: int = 200) -> str:
    """Return text on one line and not too long; backticks, which mean code here, are quotes."""
    plain = "".join(c if c.isprintable() else " " for c in str(text)).replace("`", "'")
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def name_of(row: int, ids: Any) -> str:
    """Return what the user calls a row: its id, or its position."""
    return one_line(row if ids is None else ids[row], 60)
