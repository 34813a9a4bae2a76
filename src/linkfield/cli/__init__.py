"""The command line."""

from __future__ import annotations

import click

from .. import __version__
from ._program import Program

__all__ = ["main"]

#: Every command: its module, its name there, and what it does.
COMMANDS = {
    "demo": ("demo", "demo", "Cluster bundled data with 0, 20, 50 and 100 constraints."),
    "fit": ("fit", "fit", "Cluster the rows of a file by what you know."),
    "predict": ("predict", "predict", "Put new rows into the clusters of a fitted model."),
    "evaluate": ("evaluate", "evaluate", "Score clusters against known classes."),
    "plot": ("plot", "plot", "Draw what fit wrote: clusters, weights, constraints."),
    "constraints": (
        "constraints",
        "constraints",
        "Look files of constraints over, mend, complete or draw them.",
    ),
    "bench": ("bench", "bench", "Time linkfield beside scikit-learn on this machine."),
    "completion": ("completion", "completion", "Print what makes the shell complete commands."),
    "experiment": ("experiment", "experiment", "Run the papers' experiments and report on them."),
}


@click.group(
    cls=Program,
    later={name: (f"{__name__}.{m}", a, told) for name, (m, a, told) in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="linkfield")
def main() -> None:
    """Cluster data by what you know: pairs that belong together or apart, a few labels.

    \b
    Example: linkfield demo --data wine
             linkfield fit customers.csv --id-column customer --label-column segment
             linkfield predict linkfield-out new-customers.csv
    """  # noqa: D301
