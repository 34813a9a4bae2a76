"""What a command shows on stderr while it works: a bar, lines, or nothing."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from ..estimators.progress import Step

__all__ = ["Teller", "teller"]

#: Seconds between two lines where nobody watches a terminal.
PAUSE = 2.0


class Teller:
    """Says nothing, but keeps the times of the stages and what the library warns of.

    Attributes
    ----------
    seconds : dict of str to float
        How long every stage took.
    notes : list of str
        Warnings, one line each, none twice.
    counts_violations : bool
        Whether there are constraints to be violated.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []
        self.counts_violations = True

    @contextmanager
    def stage(self, name: str, text: str) -> Iterator[None]:
        """Time what is done inside, and turn Python's warnings into notes."""
        if text:
            self.say(text)
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", kind)  # these are for developers
            with self.showing():
                yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        for warning in caught:
            self.note(str(warning.message))

    def note(self, text: str) -> None:
        """Say in one line what the user should know."""
        line = " ".join(text.split())
        if line not in self.notes:
            self.notes.append(line)
            self.show_note(line)

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show a bar, or whatever there is, for as long as a stage lasts."""
        yield

    def say(self, text: str) -> None:
        """Say what happens now."""

    def show_note(self, line: str) -> None:
        """Show a warning."""

    def __call__(self, step: Step) -> None:
        """Show what a fit has reached."""


class Lines(Teller):
    """Plain lines: of a fit the first iteration, then one every few seconds."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console, self.last = console, -PAUSE

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show_note(self, line: str) -> None:
        """Print a line."""
        self.say(f"note: {line}")

    def __call__(self, step: Step) -> None:
        """Print a line, if the last one is a while ago."""
        now = time.monotonic()
        if now - self.last >= PAUSE:
            self.last = now
            self.say(f"  {describe(step, self.counts_violations)}")


class Bar(Lines):
    """A bar on a terminal, with objective and violations."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bars: Progress | None = None
        self.task: Any = None
        self.key: tuple[str, int] | None = None

    def say(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, style="dim", markup=False, highlight=False)

    def show_note(self, line: str) -> None:
        """Print a warning above the bar."""
        self.console.print("[yellow]note:[/yellow]", escape(line), highlight=False)

    @contextmanager
    def showing(self) -> Iterator[None]:
        """Show the bar of the fits inside; it goes when they are done."""
        columns = (
            TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn(),
            TextColumn("{task.fields[what]}"),
        )  # fmt: skip
        with Progress(*columns, console=self.console, transient=True) as self.bars:
            self.task = self.key = None
            yield
        self.bars = None

    def __call__(self, step: Step) -> None:
        """Move the bar."""
        if self.bars is None:
            return
        fitting = step.stage == "fit"
        if self.task is None:
            self.task = self.bars.add_task("", total=1, what="")
        name = f"start {step.run} of {step.runs}" if fitting else step.stage
        done, total = (step.iteration, step.max_iter) if fitting else (step.run, step.runs)
        what = figures(step, self.counts_violations) if fitting else ""
        self.bars.update(self.task, description=name, completed=done, total=total, what=what)


def figures(step: Step, violations: bool) -> str:
    """Return the objective, and violations if there can be any, in words."""
    count = violations and step.violations is not None
    return f"objective {step.objective:.6g}" + (f", {step.violations:,} violated" if count else "")


def describe(step: Step, violations: bool) -> str:
    """Return a line about what a fit has reached."""
    if step.stage != "fit":
        return f"{step.stage}: {step.run} of {step.runs} small fits"
    return (
        f"start {step.run} of {step.runs}, iteration {step.iteration}: {figures(step, violations)}"
    )


def teller(quiet: bool, console: Console | None = None) -> Teller:
    """Return who speaks: nobody, a bar on a terminal, or plain lines."""
    if quiet:
        return Teller()
    console = console or Console(stderr=True)
    return Bar(console) if console.is_terminal else Lines(console)
