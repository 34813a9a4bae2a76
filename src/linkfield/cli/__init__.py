"""The command line."""

from __future__ import annotations

import click

from .. import __version__
from .constraints import constraints
from .demo import demo
from .experiment import experiment

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="linkfield")
def main() -> None:
    """Cluster data by what you know: pairs that belong together or apart, a few labels.

    Example: linkfield demo --data wine
    """


main.add_command(constraints)
main.add_command(demo)
main.add_command(experiment)
