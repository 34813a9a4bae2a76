"""Constraints as data frames, for whichever frame library is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._normal import FloatArray, readable

__all__ = ["KINDS", "frame_columns", "make_frame"]

KINDS = {"must": True, "must-link": True, "cannot": False, "cannot-link": False}


def frame_columns(
    df: Any,
) -> tuple[list[Any], list[Any], NDArray[np.bool_], FloatArray, NDArray[np.object_] | None]:
    """Return the columns a, b, kind (True for must), weight and source of a frame of pairs."""
    import narwhals as nw

    try:
        frame = nw.from_native(df, eager_only=True)
    except TypeError:
        raise TypeError(
            "from_frame takes a pandas, polars or pyarrow table with the columns a, b, kind; got "
            f"{type(df).__name__}"
        ) from None
    missing = [c for c in ("a", "b", "kind") if c not in frame.columns]
    if missing:
        raise ValueError(
            f"the table of constraints lacks the column {readable(missing)}; it needs a, b, kind "
            f"and may have weight, source (it has {readable(frame.columns, 10)})"
        )
    words = [str(k).strip().lower() for k in frame["kind"].to_list()]
    unknown = sorted({w for w in words if w not in KINDS})
    if unknown:
        raise ValueError(f"kind must be 'must' or 'cannot'; found {readable(unknown)}")
    kind = np.array([KINDS[w] for w in words], dtype=bool)
    weight = np.ones(len(words))
    if "weight" in frame.columns:
        weight = np.array([np.nan if _absent(w) else float(w) for w in frame["weight"].to_list()])
    source = None
    if "source" in frame.columns:
        source = np.empty(len(words), dtype=object)
        source[:] = [None if _absent(s) else s for s in frame["source"].to_list()]
    return frame["a"].to_list(), frame["b"].to_list(), kind, weight, source


def _absent(value: Any) -> bool:
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
