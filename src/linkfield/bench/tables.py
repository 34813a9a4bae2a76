"""Tables in Markdown, and the machine they were measured on."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = [
    "OTHERS",
    "cpu_model",
    "limits",
    "machine",
    "seconds",
    "table",
    "usable_cores",
    "versions",
]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "linkfield", "faiss-cpu")

#: The column with the share of the machine that other processes took.
OTHERS = "other work meanwhile"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def seconds(value: float) -> str:
    """Return a time with three digits and a unit that suits it; a dash for nan."""
    if math.isnan(value):
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-6:.3g} µs"


def cpu_model() -> str:
    """Return the name of the processor, as far as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that matter, as far as they are there."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def limits() -> dict[str, str]:
    """Return the limits on threads that the environment sets."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: os.environ[name] for name in names if name in os.environ}


def machine() -> str:
    """Return one paragraph about the machine: cores, processor, versions, thread limits."""
    found = [f"{name} {number}" for name, number in versions().items()]
    found += [f"{name}={number}" for name, number in limits().items()]
    said = f"Machine: {usable_cores()} cores, {cpu_model()}, {platform.system()}; "
    return said + ", ".join(found) + "."
