"""Run ``python -m benchmarks [NAME]``: one of the reports below, or all of them."""

import argparse
import os
from pathlib import Path

from linkfield.bench import measure

from . import (
    enforcement,
    files,
    growth,
    inference,
    mapped,
    mixture,
    noise,
    peers,
    quality,
    small,
    speed,
    warm,
)
from .tables import Settings, finished, save

REPORTS = {
    "quality": lambda s: finished("Quality", [quality.report(s.draws)], s),
    "noise": lambda s: finished("Noise", [noise.report(s.draws)], s),
    "inference": inference.report,
    "speed": speed.report,
    "growth": growth.report,
    "warm": warm.report,
    "mixture": mixture.report,
    "enforcement": enforcement.report,
    "small": small.report,
    "mapped": mapped.report,
    "files": files.report,
    "peers": peers.report,
}


def arguments():
    """Return what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("which", nargs="?", choices=[*REPORTS, "all"], default="all")
    add("--quick", action="store_true", help="tiny sizes, to see that the harness works")
    add("--out", type=Path, help="folder for the tables (Markdown) and pictures (PNG)")
    add("--rounds", type=int, help="measurements of every candidate (default 7)")
    add("--match", default="", help="only cases of speed and growth whose name contains this")
    add(
        "--draws",
        type=int,
        help="draws of constraints, for quality, noise, inference and enforcement (default 20)",
    )
    add("--limit", type=float, default=900.0, help="seconds a fit of a peer may take (default 900)")
    add("--gigabytes", type=float, default=4.0, help="size of the file of mapped (default 4)")
    add("--data", type=Path, default=os.environ.get("LINKFIELD_DATA"),
        help="folder with real data: warm, inference (default: $LINKFIELD_DATA)")  # fmt: skip
    return parser.parse_args()


def main():
    args = arguments()
    settings = Settings(
        quick=args.quick,
        rounds=args.rounds or (2 if args.quick else 7),
        match=args.match,
        out=args.out,
        data=None if args.data is None else Path(args.data),
        limit=args.limit,
        draws=args.draws or (1 if args.quick else 20),
        gigabytes=args.gigabytes,
    )
    # Small differences between short fits need many of them.
    measure.FLOOR = 0.01 if settings.quick else 0.4
    for name in REPORTS if args.which == "all" else [args.which]:
        text = REPORTS[name](settings)
        print(text, flush=True)
        if settings.out is not None:
            save(settings.out / f"{name}.md", lambda path, text=text: path.write_text(text))


if __name__ == "__main__":
    main()
