"""Knowledge about rows, by position or by id: what pairs and groups of rows share."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from . import _normal as normal
from ._assembly import as_row_positions
from ._normal import IntArray

__all__ = ["KnownRows"]


class KnownRows:
    """Rows are numbers inside; ids, where there are any, say which row a number stands for.

    A class that says something about rows lists them (``_mentioned``) and calls them by other
    numbers (``_renumber``); finding them again in another order follows from that.
    """

    _what: ClassVar[str]
    _ids: NDArray[np.object_] | None
    _ids_declared: bool

    def _mentioned(self) -> IntArray:
        """Return the rows about which something is said, in ascending order."""
        raise NotImplementedError

    def _renumber(self, new: IntArray, **changes: Any) -> Self:
        """Call row r ``new[r]``; whatever touches a row called -1 is dropped."""
        raise NotImplementedError

    def _freeze(self, values: dict[str, Any]) -> Self:
        """Set the attributes, once; arrays cannot be written from then on."""
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._freeze(state)  # a copy is as immutable as the original

    @property
    def sample_id(self) -> NDArray[np.object_] | None:
        """The ids that row positions stand for, or None where rows are plain positions."""
        return self._ids

    @property
    def knows_positions(self) -> bool:
        """Whether row numbers are positions in the data, not just the order of first mention."""
        return self._ids is None or self._ids_declared

    def _named(self, rows: IntArray) -> list[Any]:
        return rows.tolist() if self._ids is None else self._ids[rows].tolist()

    def _on_common_ids(self, other: Self) -> tuple[Self, Self, NDArray[np.object_] | None]:
        """Return both with rows of the same numbers, and their ids."""
        mine, theirs, ids = self, other, self._ids
        named = [known._ids is not None for known in (self, other)]
        if any(named) and not all(named) and len((other if named[0] else self)._mentioned()):
            raise ValueError(
                "one set names rows by id and the other by position; align() both to the same "
                "sample_id before joining them"
            )
        if ids is not None and other._ids is not None and not np.array_equal(ids, other._ids):
            ids = normal.as_ids(dict.fromkeys([*ids.tolist(), *other._ids.tolist()]))
            mine, theirs = self._rename(ids), other._rename(ids)
        return mine, theirs, other._ids if ids is None else ids

    def _rename(self, ids: NDArray[np.object_]) -> Self:
        assert self._ids is not None
        return self._renumber(normal.positions_of(self._ids.tolist(), ids), ids=ids)

    def align(self, sample_id: Any, *, missing: str | None = None) -> Self:
        """Return the same for rows whose ids are ``sample_id``, in that order.

        Whole numbers that were given without ids are read as ids.

        Parameters
        ----------
        sample_id : sequence
        missing : {"raise", "drop"}, optional
            What to do with rows that are absent. By default they are dropped if this was made
            with a ``sample_id`` of its own (the row is known, it is just not here), and an error
            if not (the id may be a slip of the pen).
        """
        ids = normal.as_ids(sample_id)
        if missing not in (None, "raise", "drop"):
            raise ValueError(f"missing must be 'raise' or 'drop', got {missing!r}")
        used = self._mentioned()
        # Whole numbers that were given without ids are ids themselves, once the rows have ids.
        own = (
            normal.as_ids(range(int(used.max(initial=-1)) + 1)) if self._ids is None else self._ids
        )
        new = normal.positions_of(own.tolist(), ids)
        policy = missing or ("drop" if self._ids_declared else "raise")
        absent = used[new[used] < 0]
        if policy == "raise" and len(absent):
            raise ValueError(
                f"{self._what} name rows that sample_id does not have: "
                f"{normal.readable(own[absent].tolist())}; correct the ids (is one side text and "
                f"the other numbers?), or drop what is said of those rows with align(sample_id, "
                "missing='drop')"
            )
        return self._renumber(new, ids=ids, ids_declared=True)

    def restrict(self, rows: Any) -> Self:
        """Return what is said among ``rows`` (positions or a mask), renumbered to 0, 1, ...

        ``model.fit(X[rows], constraints=known.restrict(rows))`` keeps every pair whose two rows
        are there; a group keeps those of its rows that are.
        """
        chosen = np.asarray(rows)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        chosen = as_row_positions(chosen)
        top = max(int(chosen.max(initial=-1)), int(self._mentioned().max(initial=-1))) + 1
        if self._ids is not None:
            if top > len(self._ids):
                raise ValueError(f"rows holds the position {top - 1}, beyond the last id")
            top = len(self._ids)
        new = np.full(top, -1, dtype=np.int64)
        new[chosen] = np.arange(len(chosen))
        ids = None if self._ids is None else self._ids[chosen]
        return self._renumber(new, ids=ids)

    def without(self, rows: Any) -> Self:
        """Return what is said of all but ``rows`` (positions or a mask); numbers stay as they are.

        A pair goes with either of its rows; a group keeps those of its rows that stay.
        """
        gone = np.asarray(rows)
        gone = as_row_positions(np.flatnonzero(gone) if gone.dtype == bool else gone)
        top = max(int(gone.max(initial=-1)), int(self._mentioned().max(initial=-1))) + 1
        new = np.arange(top)
        new[gone] = -1
        return self._renumber(new)

    def check_rows(self, n_rows: int) -> None:
        """Raise if a row is named that a table of ``n_rows`` rows does not have."""
        beyond = self._mentioned()
        beyond = beyond[beyond >= n_rows]
        if len(beyond):
            raise ValueError(
                f"{self._what} name row {normal.readable(beyond.tolist())}, but the data has "
                f"{n_rows} rows (0 to {n_rows - 1}); if these are ids, pass sample_id="
            )
