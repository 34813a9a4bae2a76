"""Make the pictures of the terminal in docs/images again: ``python docs/screenshots.py``.

They are what ``linkfield fit`` prints on a terminal of 96 columns, with the bar as it stands in the
middle of a fit, in light and dark.
"""

import os
import re
import tempfile
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import numpy as np
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, TerminalTheme
from sklearn.datasets import load_digits

from linkfield import Constraints, write_constraints
from linkfield.cli._fitting import run_fit
from linkfield.cli._folder import output_folder
from linkfield.cli._progress import Bar
from linkfield.cli._request import Request
from linkfield.cli._summary import summary

IMAGES = Path(__file__).parent / "images"
COMMAND = "linkfield fit digits.csv --id-column scan --label-column known --constraints pairs.csv"
WIDTH = 96

THEMES = {
    "light": DEFAULT_TERMINAL_THEME,
    "dark": TerminalTheme(
        (17, 20, 26), (214, 219, 226),
        [(46, 52, 64), (240, 113, 120), (149, 214, 130), (240, 200, 110), (110, 170, 250),
         (200, 150, 250), (100, 210, 215), (214, 219, 226)],
    ),
}  # fmt: skip


class Filmed(Bar):
    """A bar on a terminal that nobody sees; lines, and one moment of the bar, go into a film."""

    def __init__(self, film):
        super().__init__(Console(file=StringIO(), force_terminal=True, width=WIDTH))
        self.film, self.moments = film, {}

    def say(self, text):
        self.film.print(f"[dim]{text}[/dim]", highlight=False)

    def show_note(self, line):
        self.film.print("[yellow]note:[/yellow]", line, highlight=False)

    def __call__(self, step):
        super().__call__(step)
        middle = step.run == (step.runs + 1) // 2 and step.iteration in (0, 4)
        if middle and self.bars is not None and step.stage not in self.moments:
            self.moments[step.stage] = True
            self.film.print(self.bars.get_renderable())


def write_files(folder):
    """Write a table of scanned digits, some with their label, and pairs."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:900], y[:900]
    ids = [f"s{k:04d}" for k in range(len(X))]
    known = np.where(np.arange(len(X)) % 25 == 0, y.astype(str), "")
    header = ",".join(["scan", *(f"pixel_{j}" for j in range(64)), "known"])
    lines = [
        ",".join([i, *(f"{v:g}" for v in row), k]) for i, row, k in zip(ids, X, known, strict=True)
    ]
    (folder / "digits.csv").write_text("\n".join([header, *lines]) + "\n")
    pairs = Constraints.from_labels(y, n_pairs=80, random_state=0, sample_id=ids)
    write_constraints(pairs, folder / "pairs.csv")


@contextmanager
def inside(folder):
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def film():
    """Return the recorded console of one run."""
    record = Console(
        file=StringIO(), record=True, force_terminal=True, color_system="truecolor", width=WIDTH
    )
    with tempfile.TemporaryDirectory() as folder, inside(folder):
        write_files(Path())
        record.print(f"[bold green]$[/bold green] {COMMAND}", highlight=False)
        request = Request(
            data=Path("digits.csv"), id_column="scan", label_column="known",
            constraints=(Path("pairs.csv"),), parameters={},
        )  # fmt: skip
        out = Path("linkfield-out")
        with output_folder(out, force=False) as new:
            run = run_fit(request, Filmed(record), new)
        summary(run, out, record)
        record.print()  # or the picture would cut the underscores of the last line
    return record


def main():
    """Write the pictures."""
    # No font from the network: what the reader's system has will do.
    plain = re.sub(r"@font-face \{\{.*?\n    \}\}\n|<!--.*?-->", "", CONSOLE_SVG_FORMAT, flags=re.S)
    record = film()
    for name, theme in THEMES.items():
        svg = record.export_svg(
            title="linkfield fit",
            theme=theme,
            clear=False,
            code_format=plain,
            unique_id="linkfield",
        )
        assert "http" not in svg.replace("http://www.w3.org", "")
        svg = svg.replace("Fira Code, monospace", "ui-monospace, DejaVu Sans Mono, monospace")
        (IMAGES / f"terminal-fit-{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
