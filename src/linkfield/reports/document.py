"""The parts that a report is made of."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = [
    "Block",
    "Figure",
    "Heading",
    "Note",
    "Table",
    "Text",
]


@dataclass(frozen=True)
class Heading:
    """A heading; ``anchor`` is its address in the page."""

    level: int
    text: str
    anchor: str = ""
    badge: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph; words in backticks are code."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Note:
    """Something that a reader must not overlook."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table and what it was made from.

    Parameters
    ----------
    header : list of str
    rows : list of lists of str
    footer : str
        Which file and which of its lines the numbers come from.
    strong : set of (row, column)
        Cells to be set off.
    words, badges : sets of int
        Columns that hold words, and those that hold verdicts or outcomes; the others hold numbers.
        The first column always holds words.
    links : dict of row to str
        Addresses of the first cells.
    folded : str
        If given, the table is shown only after a click on these words, where that is possible.
    """

    header: list[str]
    rows: list[list[str]]
    footer: str
    strong: frozenset[tuple[int, int]] = frozenset()
    words: frozenset[int] = frozenset()
    badges: frozenset[int] = frozenset()
    links: dict[int, str] = field(default_factory=dict)
    folded: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture: SVG for the page, PNG for a file."""

    name: str
    caption: str
    svg: str
    png: bytes = b""


Block = Heading | Text | Note | Table | Figure
