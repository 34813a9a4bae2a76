"""Constraints and groups as data frames, for whichever frame library is installed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._normal import FloatArray, readable

__all__ = [
    "KINDS",
    "PAIRS",
    "Layout",
    "absent",
    "frame_columns",
    "make_frame",
    "number_column",
    "object_column",
    "opened",
]

KINDS = {"must": True, "must-link": True, "cannot": False, "cannot-link": False}


@dataclass(frozen=True)
class Layout:
    """The columns of a table: one of several sets that it needs, and what it may have."""

    what: str
    needed: tuple[tuple[str, ...], ...]
    optional: tuple[str, ...] = ()

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return what is lacking: nothing if one of the sets is there, else the first's."""
        there = set(names)
        if any(there.issuperset(columns) for columns in self.needed):
            return []
        return [c for c in self.needed[0] if c not in there]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that have a meaning."""
        return tuple(dict.fromkeys([*(c for part in self.needed for c in part), *self.optional]))

    def lacks(self, names: Iterable[str]) -> str:
        """Return the message about the columns that are lacking, for a table of some columns."""
        given = list(names)
        return (
            f"lacks the column {readable(self.missing(given))}; it needs {self} and may have "
            f"{', '.join(self.optional)} (it has {readable(given, 10)})"
        )

    def __str__(self) -> str:
        first, *others = (", ".join(part) for part in self.needed)
        return f"{first} (or {'; '.join(others)})" if others else first


PAIRS = Layout("constraints", (("a", "b", "kind"),), ("weight", "source"))


def opened(df: Any, who: str, layout: Layout) -> Any:
    """Return a frame of any library behind one interface, with the columns of the layout."""
    import narwhals as nw

    try:
        frame = nw.from_native(df, eager_only=True)
    except TypeError:
        raise TypeError(
            f"{who} takes a pandas, polars or pyarrow table with the columns {layout}; got "
            f"{type(df).__name__}"
        ) from None
    if layout.missing(frame.columns):
        raise ValueError(f"the table of {layout.what} {layout.lacks(frame.columns)}")
    return frame


def frame_columns(
    df: Any,
) -> tuple[list[Any], list[Any], NDArray[np.bool_], FloatArray, NDArray[np.object_] | None]:
    """Return the columns a, b, kind (True for must), weight and source of a frame of pairs."""
    frame = opened(df, "from_frame", PAIRS)
    words = [str(k).strip().lower() for k in frame["kind"].to_list()]
    unknown = sorted({w for w in words if w not in KINDS})
    if unknown:
        raise ValueError(f"kind must be 'must' or 'cannot'; found {readable(unknown)}")
    kind = np.array([KINDS[w] for w in words], dtype=bool)
    weight = number_column(frame, "weight", 1.0)
    source = object_column(frame, "source") if "source" in frame.columns else None
    return frame["a"].to_list(), frame["b"].to_list(), kind, weight, source


def number_column(frame: Any, name: str, default: float) -> FloatArray:
    """Return a column of numbers, NaN where there is none; without the column, the default."""
    if name not in frame.columns:
        return np.full(len(frame), default)
    values = frame[name].to_list()
    try:
        return np.array([np.nan if absent(v) else float(v) for v in values], dtype=np.float64)
    except (TypeError, ValueError):
        word = _first_word(values)
        raise ValueError(f"the column {name} must hold numbers; found {word!r}") from None


def _first_word(values: list[Any]) -> Any:
    """Return the first value that is no number."""
    for value in values:
        try:
            float(0.0 if absent(value) else value)
        except (TypeError, ValueError):
            return value
    return None


def object_column(frame: Any, name: str) -> NDArray[np.object_]:
    """Return a column of any values, None where there is none or no such column."""
    column = np.full(len(frame), None, dtype=object)
    if name in frame.columns:
        column[:] = [None if absent(v) else v for v in frame[name].to_list()]
    return column


def absent(value: Any) -> bool:
    """Say whether a frame has no value there: None, NaN, NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def make_frame(columns: dict[str, Any], backend: str | None = None) -> Any:
    """Make a data frame of the given library, or of the first that is installed."""
    import narwhals as nw

    names = ("pandas", "polars", "pyarrow") if backend is None else (backend,)
    for name in names:
        if find_spec(name) is not None:
            return nw.from_dict(columns, backend=name).to_native()  # type: ignore[arg-type]
    raise ImportError(
        f"to_frame needs {' or '.join(names)}: pip install 'linkfield[frames]' brings pandas and "
        "polars"
    )
