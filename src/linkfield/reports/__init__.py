"""Documents made of headings, text, tables and pictures; the report of a fit."""

from .document import Block, Figure, Heading, Note, Table, Text
from .html import to_html
from .markdown import to_markdown

__all__ = ["Block", "Figure", "Heading", "Note", "Table", "Text", "to_html", "to_markdown"]
