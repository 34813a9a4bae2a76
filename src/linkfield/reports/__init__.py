"""Documents made of headings, text, tables and pictures; the report of a fit."""

from .document import Block, Figure, Heading, Note, Table, Text
from .fit_report import write_fit_report
from .html import to_html
from .markdown import to_markdown

__all__ = [
    "Block",
    "Figure",
    "Heading",
    "Note",
    "Table",
    "Text",
    "to_html",
    "to_markdown",
    "write_fit_report",
]
