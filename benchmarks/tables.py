"""Reports: what they are asked for, bars beside figures, and files."""

import math
import os
from dataclasses import dataclass
from pathlib import Path

from linkfield.bench.tables import machine


@dataclass(frozen=True)
class Settings:
    """What the command line says.

    Attributes
    ----------
    quick : bool
        Tiny sizes, to prove that the harness works; bars are shown but not judged.
    rounds : int
        How many times every candidate is measured, in turn with the others.
    match : str
        Only cases whose name ("part: data") contains this.
    out : Path or None
        Where tables and pictures are written as well.
    data : Path or None
        A folder with real data, for ``warm``.
    limit : float
        Seconds after which a peer's fit is stopped.
    draws : int
        Draws of constraints, for ``quality`` and ``noise``.
    gigabytes : float
        The size of the file of ``mapped``.
    """

    quick: bool = False
    rounds: int = 7
    match: str = ""
    out: Path | None = None
    data: Path | None = None
    limit: float = 900.0
    draws: int = 20
    gigabytes: float = 4.0

    def wants(self, name):
        """Say whether a case of this name is to be run."""
        return self.match.lower() in name.lower()


def judged(text, value, bar, settings, shown=None, least=False, quiet=True):
    """Return a figure with its bar and the verdict.

    The value may be at most the bar, or with ``least`` must be at least the bar. ``shown`` says
    the bar in other words; a bar of None is no bar. Quick runs and times that were taken while
    other work kept the machine from being ``quiet`` are not judged.
    """
    if bar is None:
        return str(text)
    shown = f"bar {bar:g}" if shown is None else f"bar {shown}"
    if settings.quick or math.isnan(value):
        return f"{text} ({shown}, not judged)"
    if not quiet:
        return f"{text} ({shown}, not judged: machine busy)"
    holds = value >= bar if least else value <= bar
    return f"{text} ({shown}: {'holds' if holds else 'MISSED'})"


def finished(title, parts, settings):
    """Join the parts of a report under a title and end it with the machine."""
    quick = ["*Quick run: tiny sizes, the figures mean nothing.*"] if settings.quick else []
    return "\n\n".join([f"# {title}", *quick, *parts, machine()]) + "\n"


def save(path, write):
    """Let ``write(temporary path)`` make a file, then give it its name in one step."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
