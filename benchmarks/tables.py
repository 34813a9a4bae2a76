"""Tables in Markdown, bars beside figures, and the machine they were measured on."""

import math
import os
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "linkfield", "faiss-cpu")

#: The column with the share of the machine that other processes took.
OTHERS = "other work meanwhile"


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
    """

    quick: bool = False
    rounds: int = 7
    match: str = ""
    out: Path | None = None
    data: Path | None = None
    limit: float = 900.0
    draws: int = 20

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


def table(head, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def seconds(value):
    """Return a time with three digits and a unit that suits it; a dash for nan."""
    if math.isnan(value):
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def cpu_model():
    """Return the name of the processor, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def usable_cores():
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine():
    """Return one paragraph about the machine: cores, processor, versions, thread limits."""
    found = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    limits = [
        f"{name}={os.environ[name]}"
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        if name in os.environ
    ]
    said = f"Machine: {usable_cores()} cores, {cpu_model()}, {platform.system()}; "
    return said + ", ".join(found + limits) + "."


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
