"""The program as a whole: one line for a mistake, exit code 130 when it is stopped."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click

from ._help import Later
from ._mistakes import FULL, Mistake

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
            _refuse(error)
        except OSError as error:
            # Without a name of a file it is stdout; a closed pipe is click's business.
            if error.filename is not None or error.errno not in FULL:
                raise
            _drop_stdout()
            why = f"the answer cannot be printed ({error.strerror}); free some space where stdout"
            _refuse(Mistake(f"{why} goes"))
        sys.exit(code if isinstance(code, int) else 0)


def _refuse(error: click.ClickException) -> NoReturn:
    """End the process with one line; that of wrong options says where the right ones are."""
    told = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None and "--help" not in told:
        told = f"{told.rstrip('.')}; see `{context.command_path} --help`"
    click.echo(f"Error: {told}", err=True)
    sys.exit(error.exit_code)


def _drop_stdout() -> None:
    """Let what is still to be printed go nowhere: Python would fail over it on leaving."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
