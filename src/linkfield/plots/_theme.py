"""Colours, shapes and hatches of all pictures, for light and for dark pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "BAD",
    "GRID",
    "HATCHES",
    "INK",
    "MARKERS",
    "NEUTRAL",
    "PALETTE",
    "PAPER",
    "VARIABLES",
    "Theme",
    "dress",
    "literal",
    "page_colours",
    "page_theme",
    "shortened",
    "theme_of",
]

#: Colours that people with any colour vision can tell apart (Okabe and Ito's, the yellow darkened
#: for white paper), each for a light and for a dark page.
PALETTE = (
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f0803c"),
    ("#009e73", "#2cc79b"),
    ("#b3568f", "#e094c2"),
    ("#b08a00", "#e8c93a"),
    ("#3a3a8c", "#9a9af0"),
    ("#6b4a2f", "#c9a27e"),
)
#: What stands back: a baseline, a row of no interest.
NEUTRAL = ("#6e6e6e", "#a8a8a8")
#: Text, and lines behind the curves; replaced by the page's own colours in the HTML file.
INK, GRID = ("#202124", "#e8eaed"), ("#d9dce1", "#3c4045")
#: What went wrong; and the page itself, for the rims of points.
BAD, PAPER = ("#c40f0f", "#ff7b72"), ("#ffffff", "#17191c")

#: A colour is never alone: clusters have shapes, bars have hatches.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "--", "oo")

#: The page's variables, in the order of all colours above.
VARIABLES = (
    *(f"--curve-{i}" for i in range(len(PALETTE))),
    "--curve-neutral",
    "--ink",
    "--rule",
    "--curve-bad",
    "--paper",
)
_ALL = (*PALETTE, NEUTRAL, INK, GRID, BAD, PAPER)


@dataclass(frozen=True)
class Theme:
    """The colours of one picture.

    Parameters
    ----------
    colours : tuple of str
        Those of clusters or methods.
    neutral, ink, grid, bad, paper : str
    """

    colours: tuple[str, ...]
    neutral: str
    ink: str
    grid: str
    bad: str
    paper: str

    @classmethod
    def of(cls, colours: list[str]) -> Theme:
        """Take all colours in the order of ``VARIABLES``."""
        return cls(tuple(colours[: len(PALETTE)]), *colours[len(PALETTE) :])

    def colour(self, number: int) -> str:
        """Return the colour of a cluster; they come again after the seventh, with other shapes."""
        return self.colours[int(number) % len(self.colours)]

    def marker(self, number: int) -> str:
        """Return the shape of a cluster or class."""
        return MARKERS[int(number) % len(MARKERS)]

    def hatch(self, number: int) -> str:
        """Return the hatch of a cluster's bar, none for the first seven."""
        return HATCHES[int(number) // len(self.colours) % len(HATCHES)]


def theme_of(theme: str | Theme) -> Theme:
    """Return a theme by name; "auto" follows matplotlib's style."""
    if isinstance(theme, Theme):
        return theme
    if theme not in ("auto", "light", "dark"):
        raise ValueError(f"theme must be 'auto', 'light' or 'dark', got {theme!r}")
    if theme != "auto":
        return Theme.of([pair[theme == "dark"] for pair in _ALL])
    import matplotlib
    from matplotlib.colors import to_hex, to_rgb

    # What is saved without a background ("none") is meant for paper.
    paper = matplotlib.rcParams["figure.facecolor"]
    dark = paper != "none" and sum(to_rgb(paper)) < 1.5
    colours = [pair[dark] for pair in _ALL]
    colours[VARIABLES.index("--ink")] = to_hex(matplotlib.rcParams["text.color"])
    if paper != "none":
        colours[VARIABLES.index("--paper")] = to_hex(paper)
    return Theme.of(colours)


def page_colours() -> dict[str, tuple[str, str]]:
    """Return the page's variables with their colours on light and on dark paper."""
    return dict(zip(VARIABLES, _ALL, strict=True))


def page_theme() -> tuple[Theme, dict[str, str]]:
    """Return a theme of stand-ins that occur nowhere else, and the page's variable of each."""
    stand_ins = [f"#fe{i:02x}01" for i in range(len(_ALL))]
    return Theme.of(stand_ins), dict(zip(stand_ins, VARIABLES, strict=True))


def dress(axis: Any, look: Theme, *, grid: str = "both") -> None:
    """Give axes the colours of a theme: quiet lines behind ("x", "y", "both" or none, "")."""
    if grid:
        axis.grid(True, axis=grid, color=look.grid, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_facecolor("none")
    axis.tick_params(colors=look.ink, labelsize=8, length=2.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(look.ink)
    for text in (axis.title, axis.xaxis.label, axis.yaxis.label):
        text.set_color(look.ink)
        text.set_fontsize(9 if text is not axis.title else 10)


def literal(text: object) -> str:
    """Return text as matplotlib shows it letter by letter: a dollar sign is no formula."""
    return str(text).replace("$", r"\$")


def shortened(text: object, width: int = 28) -> str:
    """Return a name on one line and not too long, for matplotlib."""
    plain = "".join(c if c.isprintable() else " " for c in str(text))
    plain = " ".join(plain.split())
    return literal(plain if len(plain) <= width else plain[: width - 1] + "…")
