"""Displays as files: SVG in the colours of a page, PNG, or what an ending says."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..io.files import replacing
from ._display import Display
from ._theme import Theme, page_theme, theme_of

__all__ = ["ENDINGS", "as_png", "as_svg", "need_matplotlib", "save"]

#: Endings of pictures that can be written.
ENDINGS = ("png", "svg", "pdf")


def need_matplotlib(what: str = "pictures") -> None:
    """Raise with the remedy if matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError(f"{what} need matplotlib: pip install 'linkfield[plot]'") from None


def as_png(display: Display, *, theme: str | Theme = "light", dpi: int = 110) -> bytes:
    """Draw a display as PNG."""
    return _bytes(display, theme, "png", dpi=dpi, metadata={"Software": None})


def save(
    display: Display,
    path: str | os.PathLike[str],
    *,
    theme: str | Theme = "light",
    dpi: int = 150,
) -> Path:
    """Draw a display into a file, which is replaced only by a whole one.

    Parameters
    ----------
    display : Display
    path : path-like
        Its ending says what is written: ``.png``, ``.svg`` or ``.pdf``.
    theme : {"light", "dark", "auto"}, default="light"
    dpi : int, default=150
        Dots an inch of a PNG.
    """
    target = Path(path)
    form = target.suffix.lower().lstrip(".")
    if form not in ENDINGS:
        raise ValueError(f"{target}: cannot write such a picture; use .png, .svg or .pdf")
    nothing: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}}
    metadata = nothing.get(form, {"CreationDate": None})
    content = _bytes(display, theme, form, dpi=dpi, metadata=metadata)
    with replacing(target) as file:
        file.write(content)
    return target


def as_svg(display: Display, name: str) -> str:
    """Draw a display as SVG whose colours are the page's variables, to be put into a page.

    Parameters
    ----------
    display : Display
    name : str
        Ids inside begin with it, so that a page can hold several pictures.

    Returns
    -------
    str
        Its colours are ``var(--curve-0)`` and the like, as :mod:`linkfield.reports` sets them.
    """
    look, variables = page_theme()
    content, figure = _content(display, look, "svg", name, metadata=dict.fromkeys(
        ("Date", "Creator", "Format", "Type")))  # fmt: skip
    text = content.decode()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href", "href")
    # Ids are unique in a page, and a page has many figures.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r"font: (\d+)px [^;\"]*", r"font: \1px inherit", text)
    for colour, variable in variables.items():
        text = text.replace(colour, f"var({variable})")
    width = round(figure.get_figwidth() * 96)
    size = f'width="100%" style="max-width: {width}px"'
    text = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', size, text, count=1)
    return text.strip()


def _bytes(display: Display, theme: str | Theme, form: str, **options: Any) -> bytes:
    need_matplotlib()
    look = theme_of(theme)
    return _content(display, look, form, "linkfield", facecolor=look.paper, **options)[0]


def _content(
    display: Display, look: Theme, form: str, name: str, **options: Any
) -> tuple[bytes, Any]:
    """Draw a display and return the file with the figure."""
    import matplotlib

    buffer = io.BytesIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": name}
    with matplotlib.rc_context(settings), _quiet_glyphs():
        figure = display._figure(look)
        if "facecolor" not in options:
            figure.patch.set_visible(False)
        figure.savefig(buffer, format=form, **options)
    return buffer.getvalue(), figure


@contextmanager
def _quiet_glyphs() -> Iterator[None]:
    """Names in any script are drawn as far as the font goes; that is no reason for a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield
