"""A report as one HTML file that needs no other."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

from ..plots import page_colours
from .document import Block, Figure, Heading, Note, Table, Text

__all__ = ["to_html"]

_STYLE = """
:root { color-scheme: light dark; --panel: #f6f7f9; --soft: #5f6368;
  --link: #0b57d0; --good: #0b6b3a; --good-back: #d9f2e3; --half: #7a4f00; --half-back: #fdeec7;
  --bad: #a3231a; --bad-back: #fbdedb; --open: #4a4f55; --open-back: #e7e9ec; LIGHT }
@media (prefers-color-scheme: dark) { :root { --panel: #202327; --soft: #a3a9b1;
  --link: #8ab4f8; --good: #8fe0b0; --good-back: #123a25; --half: #f2cf7e; --half-back: #423310;
  --bad: #f5a59d; --bad-back: #4a1d19; --open: #c4c8cd; --open-back: #33373c; DARK } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .75rem; }
h2 { font-size: 1.45rem; margin: 3.2rem 0 .6rem; padding-top: 1rem;
  border-top: 1px solid var(--rule); }
h3 { font-size: 1.1rem; margin: 2rem 0 .4rem; }
h4 { font-size: 1rem; line-height: 1.4; margin: 1.6rem 0 .3rem; font-weight: 600; }
p { margin: .4rem 0; max-width: 52rem; }
p.soft, figcaption, .footer { color: var(--soft); font-size: .86rem; }
.footer { margin: .3rem 0 1.2rem; max-width: none; }
a { color: var(--link); text-decoration: none; } a:hover { text-decoration: underline; }
code { font: .88em/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  background: var(--panel); border-radius: 3px; padding: .08em .3em; overflow-wrap: anywhere; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; margin: 1rem 0; font-size: .95rem; }
.note { border-left: 4px solid var(--half); background: var(--half-back); color: var(--half);
  padding: .5rem .8rem; margin: .7rem 0; border-radius: 0 4px 4px 0; max-width: 52rem; }
.wide { overflow-x: auto; margin: .6rem 0 0; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .6rem; border-bottom: 1px solid var(--rule); text-align: right;
  white-space: nowrap; vertical-align: top; }
th { font-weight: 600; background: var(--panel); vertical-align: bottom; white-space: normal; }
th.words, td.words { text-align: left; }
td.words { white-space: normal; } td.words:first-child { min-width: 8rem; }
.badge { display: inline-block; border-radius: 1em; padding: .05em .65em; font-size: .8rem;
  font-weight: 600; white-space: nowrap; vertical-align: .1em; }
.good { color: var(--good); background: var(--good-back); }
.half { color: var(--half); background: var(--half-back); }
.bad { color: var(--bad); background: var(--bad-back); }
.open { color: var(--open); background: var(--open-back); }
figure { margin: 1rem 0; } figure svg { height: auto; display: block; }
summary { cursor: pointer; color: var(--link); font-size: .92rem; margin: .6rem 0; }
@media print { details > * { display: block; } }
"""


def to_html(title: str, blocks: list[Block], badges: Mapping[str, str] | None = None) -> str:
    """Write blocks as one page: style and pictures inside, light and dark by the reader's wish.

    Parameters
    ----------
    title : str
    blocks : list of Block
    badges : mapping, optional
        Words that stand out where a heading or a table has badges, and how: "good", "half", "bad"
        or "open".
    """
    links = [
        f'<a href="#{block.anchor}">{_inline(block.text)}</a>'
        for block in blocks
        if isinstance(block, Heading) and block.level == 2 and block.anchor
    ]
    body = [f"<h1>{_inline(title)}</h1>", f"<nav>{''.join(links)}</nav>"]
    body += [_block(block, badges or {}) for block in blocks]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_style()}</style>\n</head>\n"
        f"<body>\n<main>\n{chr(10).join(body)}\n</main>\n</body>\n</html>\n"
    )


def _style() -> str:
    """Fill in the colours of the pictures, for light and for dark."""
    colours = page_colours()
    light = " ".join(f"{name}: {pair[0]};" for name, pair in colours.items())
    dark = " ".join(f"{name}: {pair[1]};" for name, pair in colours.items())
    return _STYLE.replace("LIGHT", light).replace("DARK", dark)


def _block(block: Block, badges: Mapping[str, str]) -> str:
    match block:
        case Heading():
            anchor = f' id="{block.anchor}"' if block.anchor else ""
            badge = f" {_badge(block.badge, badges)}" if block.badge else ""
            return f"<h{block.level}{anchor}>{_inline(block.text)}{badge}</h{block.level}>"
        case Text():
            kind = f' class="{block.kind}"' if block.kind else ""
            return f"<p{kind}>{_inline(block.text)}</p>"
        case Note():
            return f'<p class="note">{_inline(block.text)}</p>'
        case Table():
            return _table(block, badges)
        case Figure():
            picture = block.svg.replace(
                "<svg", f'<svg role="img" aria-label="{html.escape(block.caption)}"', 1
            )
            caption = f"<figcaption>{_inline(block.caption)}</figcaption>"
            return f'<figure class="wide">{picture}{caption}</figure>'


def _table(table: Table, badges: Mapping[str, str]) -> str:
    wordy = table.words | table.badges | {0}
    kinds = ["words" if j in wordy else "numbers" for j in range(len(table.header))]
    head = "".join(
        f'<th class="{kind}">{_inline(text)}</th>'
        for kind, text in zip(kinds, table.header, strict=True)
    )
    rows = []
    for i, row in enumerate(table.rows):
        cells = []
        for j, text in enumerate(row):
            inner = _badge(text, badges) if j in table.badges else _inline(text)
            if (i, j) in table.strong:
                inner = f"<strong>{inner}</strong>"
            if j == 0 and i in table.links:
                inner = f'<a href="#{table.links[i]}">{inner}</a>'
            cells.append(f'<td class="{kinds[j]}">{inner}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    grid = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    whole = f'<div class="wide">{grid}</div><p class="footer">{_inline(table.footer)}</p>'
    if table.folded:
        return f"<details><summary>{_inline(table.folded)}</summary>{whole}</details>"
    return whole


def _badge(text: str, badges: Mapping[str, str]) -> str:
    kind = badges.get(text)
    return f'<span class="badge {kind}">{_inline(text)}</span>' if kind else _inline(text)


def _inline(text: str) -> str:
    """Escape text; words in backticks become code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text, quote=False))
