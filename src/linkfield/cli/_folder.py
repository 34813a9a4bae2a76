"""An output folder that is either whole or not there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from ._mistakes import Mistake

__all__ = ["FILES", "PROGRAM", "is_ours", "output_folder"]

#: How a folder of ours is known, in its run.json.
PROGRAM = "linkfield fit"

#: What we may write, and hence replace.
FILES = (
    "labels.csv",
    "model.skops",
    "violations.csv",
    "constraints.csv",
    "constraints.jsonl",
    "known_labels.csv",
    "groups.csv",
    "groups.jsonl",
    "report.html",
    "run.json",
)


def is_ours(folder: Path) -> bool:
    """Say whether ``linkfield fit`` wrote a folder."""
    return "run.json" in _written(folder)


def _written(folder: Path) -> set[str]:
    """Return the names of the files that an earlier fit wrote: all others are the user's."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    if not isinstance(run, dict) or run.get("program") != PROGRAM:
        return set()
    names = run.get("files")
    listed = {name for name in names if name in FILES} if isinstance(names, list) else set()
    return listed | {"run.json"}


@contextmanager
def output_folder(
    target: Path, *, force: bool, names: Iterable[str] = (), inputs: Iterable[Path] = ()
) -> Iterator[Path]:
    """Yield a new folder beside ``target`` that takes its place once all is written.

    An earlier output is replaced, files of the user's in it stay: where one has a name that is to
    be written, nothing is. Whatever happens inside, an error or Ctrl-C, the new folder goes and the
    target is as it was.

    Parameters
    ----------
    target : Path
    force : bool
        Whether to write into a folder that holds other things; these stay, too.
    names : iterable of str
        What will be written, as far as that is known, so that a clash is told before the work.
    inputs : iterable of Path
        What is read, and hence must not be replaced.
    """
    _check(target, force)
    read = [file.resolve() for file in inputs]
    _check_clashes(target, names, read)
    target = target.resolve()
    made = _make_parents(target.parent)
    beside = target.parent / f".{target.name}.{secrets.token_hex(4)}"
    try:
        with _terminated_is_interrupted():
            try:
                beside.mkdir()
            except OSError as error:
                raise Mistake(
                    f"cannot write to {target.parent} ({error.strerror}); choose another --out"
                ) from None
            if target.exists() and not os.access(target, os.W_OK | os.X_OK):
                raise Mistake(f"cannot write to {target} (no permission); choose another --out")
            yield beside
            _check_clashes(target, os.listdir(beside), read)
            _move(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        for parent in made if not target.exists() else ():
            with suppress(OSError):
                parent.rmdir()


def _check(target: Path, force: bool) -> None:
    """Refuse a place that holds something else."""
    if target.exists() and not target.is_dir():
        raise Mistake(f"--out {target} is a file; give the name of a folder")
    try:
        other = target.exists() and any(target.iterdir()) and not is_ours(target)
    except OSError as error:
        raise Mistake(f"cannot read {target} ({error.strerror}); choose another --out") from None
    if other and not force:
        raise Mistake(
            f"--out {target} holds other things; choose another folder, or say --force to write "
            "beside them"
        )


def _check_clashes(target: Path, names: Iterable[str], read: list[Path]) -> None:
    """Refuse to replace files of the user's, and files that are read."""
    earlier = _written(target)
    for name in sorted({*names, *earlier}):
        file = target / name
        if file.resolve() in read and os.path.lexists(file):
            raise Mistake(
                f"{file} is read, and would be replaced; choose another --out, or move it elsewhere"
            )
        if name not in earlier and os.path.lexists(file):
            raise Mistake(
                f"{file} is not of an earlier fit, and would be replaced; choose another --out, or "
                "move it elsewhere"
            )


def _make_parents(folder: Path) -> list[Path]:
    """Make a folder and those above it; return the new ones, the deepest first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Mistake(f"cannot make {folder} ({error.strerror}); choose another --out") from None
    return missing


@contextmanager
def _terminated_is_interrupted() -> Iterator[None]:
    """Let SIGTERM clean up, too; elsewhere than in the main thread it cannot be caught."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _move(new: Path, target: Path) -> None:
    """Put the new folder into its place."""
    if not target.exists():
        os.replace(new, target)
        return
    earlier = _written(target)
    if earlier.issuperset(os.listdir(target)) and earlier and target != Path.cwd():
        old = new.with_name(new.name + ".old")
        os.replace(target, old)
        try:
            os.replace(new, target)
        except BaseException:
            os.replace(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
        return
    # Things of the user's are in there: ours go in one by one, run.json last.
    names = sorted(os.listdir(new), key=lambda name: name == "run.json")
    for name in earlier - set(names):
        (target / name).unlink(missing_ok=True)
    for name in names:
        os.replace(new / name, target / name)
