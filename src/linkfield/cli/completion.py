"""``linkfield completion``: what makes a shell complete commands, options and their choices."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["completion", "script"]

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete linkfield's commands, options and choices.

    Run the first line once, or put the second or third where your shell begins; then open a new
    one.

    \b
    Example: linkfield completion fish > ~/.config/fish/completions/linkfield.fish
             eval "$(linkfield completion bash)"    in ~/.bashrc
             eval "$(linkfield completion zsh)"     in ~/.zshrc
    """  # noqa: D301
    click.echo(script(shell), nl=False)


def script(shell: str) -> str:
    """Return the script of a shell; click writes it."""
    from . import main

    found = get_completion_class(shell)
    assert found is not None
    maker = found(main, {}, "linkfield", "_LINKFIELD_COMPLETE")
    # Not ``maker.source()``, which starts bash to learn its version.
    return (maker.source_template % maker.source_vars()).strip() + "\n"
