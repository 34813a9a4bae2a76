"""A report as Markdown, with its pictures as files."""

from __future__ import annotations

from .document import Block, Figure, Heading, Note, Table, Text

__all__ = ["to_markdown"]


def to_markdown(title: str, blocks: list[Block], figure_folder: str) -> str:
    """Write blocks as Markdown; pictures are expected in ``figure_folder``."""
    parts = [f"# {_safe(title)}"]
    for block in blocks:
        match block:
            case Heading():
                badge = f" – {block.badge}" if block.badge else ""
                anchor = f'<a id="{block.anchor}"></a>\n\n' if block.anchor else ""
                parts.append(f"{anchor}{'#' * block.level} {_safe(block.text)}{badge}")
            case Text():
                parts.append(_safe(block.text))
            case Note():
                parts.append(f"> **Note.** {_safe(block.text)}")
            case Table():
                parts.append(_table(block))
            case Figure():
                parts.append(f"![{block.name}]({figure_folder}/{block.name}.png)")
                parts.append(f"*{_safe(block.caption)}*")
    return "\n\n".join(parts) + "\n"


def _table(table: Table) -> str:
    wordy = table.words | table.badges | {0}
    rule = ["---" if j in wordy else "---:" for j in range(len(table.header))]
    lines = [_line([_cell(text) for text in table.header]), _line(rule)]
    for i, row in enumerate(table.rows):
        cells = [
            f"**{_cell(text)}**" if (i, j) in table.strong else _cell(text)
            for j, text in enumerate(row)
        ]
        if i in table.links:
            cells[0] = f"[{cells[0]}](#{table.links[i]})"
        lines.append(_line(cells))
    heading = f"**{_safe(table.folded)}**\n\n" if table.folded else ""
    return heading + "\n".join(lines) + f"\n\n<sub>{_safe(table.footer)}</sub>"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    return _safe(text).replace("|", "\\|")


def _safe(text: str) -> str:
    """Keep text from being read as tags; words in backticks are left as they are."""
    parts = text.split("`")
    parts[::2] = [
        part.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_") for part in parts[::2]
    ]
    return "`".join(parts)
