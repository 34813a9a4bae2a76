"""Run ``python -m benchmarks [quality|noise|speed|peers] [--draws N]``."""

import argparse

from . import noise, peers, quality, speed


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "which", nargs="?", choices=["quality", "noise", "speed", "peers", "all"], default="all"
    )
    parser.add_argument("--draws", type=int, default=20, help="draws of constraints (default 20)")
    args = parser.parse_args()
    if args.which in ("quality", "all"):
        print(quality.report(args.draws))
    if args.which in ("noise", "all"):
        print(noise.report(args.draws))
    if args.which in ("speed", "all"):
        print(speed.report())
    if args.which in ("peers", "all"):
        print(peers.report())


if __name__ == "__main__":
    main()
