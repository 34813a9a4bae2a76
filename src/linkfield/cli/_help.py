"""Help that is read at a glance: options in groups, commands that are imported when they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = ["GroupedCommand", "Later", "option"]


class GroupedOption(click.Option):
    """An option that stands below a heading of its own in the help."""

    def __init__(self, *args: Any, heading: str = "Options", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading


def option(heading: str, *names: str, **settings: Any) -> Callable[[Any], Any]:
    """Return click's decorator of an option, with the heading below which it is listed."""
    return click.option(*names, cls=GroupedOption, heading=heading, **settings)


class GroupedCommand(click.Command):
    """A command whose help lists its options below headings, in the order of their first use."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, heading by heading; those without one stand at the end."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in sorted(self.get_params(ctx), key=lambda p: not hasattr(p, "heading")):
            line = parameter.get_help_record(ctx)
            if line is not None and isinstance(parameter, click.Option):
                heading = getattr(parameter, "heading", "Other options")
                sections.setdefault(heading, []).append(line)
        for heading, lines in sections.items():
            with formatter.section(heading):
                formatter.write_dl(lines)


class Later(click.Group):
    """A group whose commands are imported when they are wanted: its own help is there at once.

    Parameters
    ----------
    later : mapping of str to (module, attribute, short help)
    """

    def __init__(
        self, *args: Any, later: Mapping[str, tuple[str, str, str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.later = later

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order in which they are best read."""
        return [*self.later, *(name for name in self.commands if name not in self.later)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name in self.commands or cmd_name not in self.later:
            return super().get_command(ctx, cmd_name)
        module, attribute, _ = self.later[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        self.commands[cmd_name] = command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands and options that begin so, without an import."""
        found = [
            CompletionItem(name, help=told)
            for name, (_, _, told) in self.later.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, with the short help that needs no import."""
        lines = []
        for name in self.list_commands(ctx):
            told = self.later[name][2] if name in self.later else ""
            lines.append((name, told or self.commands[name].get_short_help_str(80)))
        with formatter.section("Commands"):
            formatter.write_dl(lines)
