"""What the command line says when the user can mend something: one line, exit code 2."""

from __future__ import annotations

import click

__all__ = ["Mistake", "said"]


class Mistake(click.ClickException):
    """Something that the user can mend: one line, exit code 2."""

    exit_code = 2


def said(error: Exception) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write to {error.filename} ({error.strerror}); choose another --out"
    return " ".join(str(error).split())
