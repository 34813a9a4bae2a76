"""The program as a whole: one line for a mistake, exit code 130 when it is stopped."""

from __future__ import annotations

import sys
from typing import Any

import click

from ._help import Later

__all__ = ["Program"]


class Program(Later):
    """A group of commands that says what is wrong in one line, wrong options included."""

    def main(self, *args: Any, standalone_mode: bool = True, **settings: Any) -> Any:
        """Run a command and end the process with its exit code."""
        run: Any = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **settings)
        try:
            code = run(*args, standalone_mode=False, **settings)
        except click.Abort:
            click.echo("stopped", err=True)
            sys.exit(130)
        except click.exceptions.NoArgsIsHelpError as asked:
            asked.show()  # the help itself
            sys.exit(asked.exit_code)
        except click.ClickException as error:
            click.echo(f"Error: {_one_line(error)}", err=True)
            sys.exit(error.exit_code)
        sys.exit(code if isinstance(code, int) else 0)


def _one_line(error: click.ClickException) -> str:
    told = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None or "--help" in told:
        return told
    return f"{told.rstrip('.')}; see `{context.command_path} --help`"
