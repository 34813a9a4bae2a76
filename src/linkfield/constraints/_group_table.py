"""What groups say, ways to read it: by group, by row, by teacher, as a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._aligned import KnownRows
from ._graphs import grouped
from ._memberships import ObjectArray
from ._normal import FloatArray, IntArray

if TYPE_CHECKING:
    from ._group_graph import Connected

__all__ = ["GroupTable"]


class GroupTable(KnownRows):
    """The memberships as flat arrays, and views of them; see :class:`linkfield.Groups`."""

    _what = "groups"
    _MEMBERSHIP = ("group", "row", "confidence", "strength", "teacher", "label")

    group: IntArray
    row: IntArray
    confidence: FloatArray
    strength: FloatArray
    teacher: ObjectArray
    label: ObjectArray
    n_groups: int
    apart: IntArray
    apart_certainty: FloatArray
    _ids: ObjectArray | None
    _ids_declared: bool

    @property
    def n_memberships(self) -> int:
        """Number of memberships: pairs of a row and a group that it is in."""
        return len(self.row)

    @property
    def sizes(self) -> IntArray:
        """Number of rows of every group."""
        return np.bincount(self.group, minlength=self.n_groups).astype(np.int64)

    @property
    def teachers(self) -> dict[Any, int]:
        """The teachers in the order of appearance, each with the number of its memberships."""
        count: dict[Any, int] = {}
        for name in self.teacher.tolist():
            if name is not None:
                count[name] = count.get(name, 0) + 1
        return count

    def members(self) -> list[IntArray]:
        """Return the rows of every group."""
        return np.split(self.row, np.cumsum(self.sizes)[:-1]) if self.n_groups else []

    def rows(self) -> IntArray:
        """Return the rows that are in any group, in ascending order."""
        return np.unique(self.row)

    def by_row(self) -> dict[int, IntArray]:
        """Return which memberships (places in ``group``, ``row``, ...) each row has."""
        rows, at = np.unique(self.row, return_inverse=True)
        order, starts = grouped(at, len(rows))
        parts = np.split(order, starts[1:-1]) if len(rows) else []
        return dict(zip(rows.tolist(), parts, strict=True))

    @property
    def one_group_a_row(self) -> bool:
        """Whether no row is in more than one group; the E-step is then exact (maths.md 6.2)."""
        return len(self.rows()) == self.n_memberships

    def connected(self) -> Connected:
        """Return which groups hang together, by shared rows or by being apart."""
        from ._group_graph import Connected

        return Connected.of(self)

    @property
    def undecided(self) -> NDArray[np.bool_]:
        """Which memberships data can speak for or against.

        Not those of confidence 0 or 1, and not the only tie of a row to a group of its own: what
        is known of them before seeing the data is known after it, whatever the strength.
        """
        found = self.connected()
        joined = found.n_edges[found.component] > 1
        return (self.confidence > 0) & (self.confidence < 1) & joined[self.group]

    def _mentioned(self) -> IntArray:
        return self.rows()

    def __repr__(self) -> str:
        counts = [
            (self.n_groups, "group", "groups"),
            (self.n_memberships, "membership", "memberships"),
            (len(self.rows()), "row", "rows"),
        ]
        optional = [
            (len(self.teachers), "teacher", "teachers"),
            (len(self.apart), "pair apart", "pairs apart"),
        ]
        counts += [part for part in optional if part[0]]
        return f"Groups({', '.join(f'{n:,} {one if n == 1 else many}' for n, one, many in counts)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupTable):
            return NotImplemented
        mine, theirs = self._identity(), other._identity()
        return all(np.array_equal(x, y) for x, y in zip(mine, theirs, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _identity(self) -> tuple[Any, ...]:
        ids = np.array([]) if self._ids is None else self._ids
        table = (getattr(self, name) for name in self._MEMBERSHIP)
        return (*table, self.apart, self.apart_certainty, ids)

    # ------------------------------------------------------------------ frames

    def to_frame(self, backend: str | None = None) -> Any:
        """Return a table with columns group, row, confidence, strength, teacher, label.

        ``backend`` is "pandas", "polars" or "pyarrow"; by default the first that is installed.
        Which groups are apart is another table, see :meth:`apart_frame`.
        """
        from .frames import make_frame

        return make_frame(self._columns(), backend)

    def apart_frame(self, backend: str | None = None) -> Any:
        """Return the groups that are apart as a table with columns a, b, certainty."""
        from .frames import make_frame

        a, b = self.apart.T.tolist()
        return make_frame({"a": a, "b": b, "certainty": self.apart_certainty.tolist()}, backend)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table of memberships, rows by their names."""
        columns = {name: getattr(self, name).tolist() for name in self._MEMBERSHIP}
        return columns | {"row": self._named(self.row)}
