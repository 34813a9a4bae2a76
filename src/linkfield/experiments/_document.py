"""The parts that a report is made of, and how numbers are written in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .statistics import Interval

__all__ = [
    "Block",
    "Figure",
    "Heading",
    "Note",
    "Table",
    "Text",
    "figures",
    "mean_and_half",
    "p_text",
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
    png: bytes


Block = Heading | Text | Note | Table | Figure


def figures(number: float, like: str = "") -> str:
    """Write a number: three decimals for scores, three significant digits for other quantities."""
    if not math.isfinite(number):
        return "–"
    if like in ("seconds", "objective", "energy"):
        return f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"
    if like in ("iterations", "violated", "rises", "rises_equation_26"):
        return f"{number:.1f}"
    if number and abs(number) < 0.001:
        return f"{number:.1e}"
    return f"{number:.3f}"


def mean_and_half(span: Interval, like: str = "") -> str:
    """Write "mean ± half-width", the mean alone if there is one run, a dash if none."""
    text = figures(span.mean, like)
    return f"{text} ± {figures(span.half_width, like)}" if span.n > 1 else text


def p_text(p: float) -> str:
    """Write a p value with two digits, "< 0.0001" below that."""
    if not math.isfinite(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
