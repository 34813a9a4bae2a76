"""Which columns of a table are read, and as what."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..constraints import readable

__all__ = ["Picked", "Wish", "check_single", "pick", "unknown_names"]

#: The column that pandas writes for the index of a frame.
_INDEX = re.compile(r"__index_level_\d+__")


@dataclass(frozen=True)
class Wish:
    """What the caller of :func:`linkfield.io.read_data` asked for."""

    columns: tuple[Any, ...] | None = None
    exclude: tuple[Any, ...] = ()
    id_column: Any = None
    label_column: Any = None
    text_column: Any = None
    embedding_column: Any = None
    exact: bool = False

    @property
    def no_numbers(self) -> bool:
        """Whether ids, labels and texts are wanted, and nothing else."""
        return self.columns == ()

    @property
    def roles(self) -> dict[str, Any]:
        """The columns with a meaning of their own, by what they are for."""
        given = {
            "id": self.id_column,
            "label": self.label_column,
            "text": self.text_column,
            "embedding": self.embedding_column,
        }
        return {role: name for role, name in given.items() if name is not None}


@dataclass(frozen=True)
class Picked:
    """Columns by what they are read as; ``left_out`` are those that nobody excluded."""

    numbers: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    id: str | None = None
    label: str | None = None
    text: str | None = None
    embedding: str | None = None

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        roles = (self.id, self.label, self.text, self.embedding)
        return (*self.numbers, *(name for name in roles if name is not None))


def pick(file: Path, names: Sequence[str], wish: Wish, is_number: Callable[[str], bool]) -> Picked:
    """Choose the columns of a table.

    Without ``columns`` these are all numeric ones that have no other part, no column without a
    name and no index that a frame was written with; none if there is a text or an embedding. With
    no columns at all, ids, labels and texts alone are read.
    """
    roles = {role: _one(file, names, name, wish.exact) for role, name in wish.roles.items()}
    taken = list(roles.values())
    excluded = set(_several(file, names, wish.exclude, wish.exact))
    if wish.columns is not None:
        if "embedding" in roles:
            raise ValueError("give columns or embedding_column, not both: each makes up the data")
        numbers = tuple(dict.fromkeys(_several(file, names, wish.columns, wish.exact)))
        numbers = tuple(name for name in numbers if name not in excluded)
        twice = [name for name in numbers if name in taken]
        if twice:
            role = next(role for role, name in roles.items() if name == twice[0])
            raise ValueError(
                f"{file}: the column {twice[0]!r} cannot be among columns and be the {role} "
                "column, too; take it out of one"
            )
        if not numbers and not wish.no_numbers:
            raise ValueError(f"{file}: no columns are left to read; name some, or exclude fewer")
        picked = Picked(numbers, (), **roles)
    else:
        unfit = excluded | set(taken)
        rest = [name for name in dict.fromkeys(names) if name not in unfit]
        other = "text" in roles or "embedding" in roles
        numbers = () if other else tuple(n for n in rest if _wanted(n) and is_number(n))
        if not numbers and not other:
            raise ValueError(_nothing_left(file, names))
        chosen = set(numbers)
        picked = Picked(numbers, tuple(n for n in rest if n not in chosen), **roles)
    check_single(file, names, picked)
    return picked


def _wanted(name: str) -> bool:
    return name != "" and not _INDEX.fullmatch(name)


def _nothing_left(file: Path, names: Sequence[str]) -> str:
    return (
        f"{file} has no column of numbers left to read (its columns: {readable(names, 10)}); for "
        "texts name the text column, for vectors in one column the embedding column"
    )


def check_single(file: Path, names: Sequence[str], picked: Picked) -> None:
    """Refuse columns that are read and share their name with another."""
    times = Counter(names)
    double = next((name for name in picked.used if times[name] > 1), None)
    if double is not None:
        raise ValueError(f"{file}: the header has the column {double!r} twice; rename one")


def unknown_names(names: Sequence[str], wish: Wish) -> bool:
    """Whether the caller named a column that is not among these."""
    asked = [*(wish.columns or ()), *wish.exclude, *wish.roles.values()]
    return any(not _found(names, name, wish.exact) for name in asked)


def _found(names: Sequence[str], name: Any, exact: bool) -> list[str]:
    """Return the columns that a name, a position or a pattern with * or ? stands for."""
    if isinstance(name, int) and not isinstance(name, bool):
        return [names[name]] if 0 <= name < len(names) else []
    if name in names:
        return [name]
    if not exact and isinstance(name, str) and any(c in name for c in "*?"):
        return [n for n in names if fnmatch.fnmatchcase(n, name)]
    return []


def _several(file: Path, names: Sequence[str], asked: Sequence[Any], exact: bool) -> list[str]:
    found: list[str] = []
    for name in asked:
        here = _found(names, name, exact)
        if not here:
            raise ValueError(_no_column(file, names, name))
        found.extend(here)
    return found


def _one(file: Path, names: Sequence[str], name: Any, exact: bool) -> str:
    found = _found(names, name, exact)
    if len(found) != 1:
        raise ValueError(_no_column(file, names, name))
    return found[0]


def _no_column(file: Path, names: Sequence[str], name: Any) -> str:
    near = difflib.get_close_matches(str(name), [n for n in names if n], n=3, cutoff=0.6)
    folded = [n for n in names if n.lower() == str(name).lower()]
    near = list(dict.fromkeys([*folded, *near]))
    hint = f"did you mean {' or '.join(map(repr, near))}? It" if near else "it"
    return f"{file} has no column {name!r}; {hint} has {readable(list(names), 12)}"
