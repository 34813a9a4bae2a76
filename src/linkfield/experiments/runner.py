"""Running an experiment: cells shared out to processes, lines written as they come."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from joblib import Parallel, delayed, parallel_config

from ._files import data_folder
from .data import require
from .measure import Row, measure
from .protocol import Cell, Experiment
from .results import Results

__all__ = ["run"]

#: Called with the number of finished cells, the number of all, and the data at work.
Progress = Callable[[int, int, str], None]


def run(
    experiment: Experiment | str,
    out: str | Path,
    *,
    runs: int | None = None,
    workers: int = 1,
    quick: bool = False,
    data_dir: str | Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Run an experiment, or what is left of it, and return the path of its results.

    The values are the same whatever the number of workers, but for the seconds.

    Parameters
    ----------
    experiment : Experiment or str
        Itself or its name.
    out : path
        The folder for ``NAME.csv`` and ``NAME.json``. Cells that have a line there are not run
        again.
    runs : int, optional
        How many runs, if not as many as the protocol says. More can be added later.
    workers : int, default=1
        Processes; each fits with one thread.
    quick : bool, default=False
        The variant of a few seconds.
    data_dir : path, optional
        The folder of the data files; by default what LINKFIELD_DATA says.
    progress : function, optional
        Called as ``progress(done, total, what)`` at the start and after every piece of work.

    Examples
    --------
    >>> from linkfield.experiments import run
    >>> path = run("basu2003", "results", quick=True)      # doctest: +SKIP
    """
    chosen = _chosen(experiment, runs, quick)
    if workers < 1:
        raise ValueError(f"workers must be 1 or more, got {workers}")
    results = Results(chosen, Path(out))
    cells, finished = list(chosen.cells()), results.finished()
    missing = [cell for cell in cells if cell not in finished]
    report = progress or (lambda done, total, what: None)
    if not missing:
        report(len(cells), len(cells), "")
        return results.path
    folder = data_folder(data_dir)
    at_work = {cell.data for cell in missing}
    for source in chosen.data:
        for name in source.needs if source.name in at_work else ():
            require(name, folder)
    results.begin(_command(chosen, runs, quick))
    done = len(cells) - len(missing)
    report(done, len(cells), "")
    try:
        with closing(_rows(chosen, _units(missing), workers, folder)) as parts:
            for rows in parts:
                results.append(rows)
                done += len(rows)
                report(done, len(cells), rows[-1][0].data)
    finally:
        results.close()
    results.complete()
    return results.path


def _chosen(experiment: Experiment | str, runs: int | None, quick: bool) -> Experiment:
    """Return the experiment in the variant that is asked for."""
    if isinstance(experiment, str):
        from . import get

        experiment = get(experiment)
    if quick:
        experiment = experiment.quickened()
    if runs is not None:
        if runs < 1:
            raise ValueError(f"runs must be 1 or more, got {runs}")
        experiment = replace(experiment, runs=runs)
    return experiment


def _units(cells: Iterable[Cell]) -> list[list[Cell]]:
    """Return the cells by data, run and fold: these share a split, and are one piece of work."""
    units: dict[tuple[int, int, str], list[Cell]] = {}
    for cell in cells:
        units.setdefault((cell.run, cell.fold, cell.data), []).append(cell)
    return list(units.values())


def _rows(
    experiment: Experiment, units: list[list[Cell]], workers: int, folder: Path | None
) -> Generator[list[Row]]:
    """Yield rows as they are finished: one by one here, or a unit at a time from the workers."""
    if workers == 1:
        for cells in units:
            for row in measure(experiment, cells, folder):
                yield [row]
        return
    with parallel_config("loky", n_jobs=workers, inner_max_num_threads=1):
        pool = Parallel(return_as="generator_unordered", batch_size=1)
        yield from pool(delayed(_measured)(experiment, cells, folder) for cells in units)


def _measured(experiment: Experiment, cells: list[Cell], folder: Path | None) -> list[Row]:
    return list(measure(experiment, cells, folder))


def _command(experiment: Experiment, runs: int | None, quick: bool) -> str:
    """Return the command that makes these cells, wherever the data are."""
    words = ["linkfield", "experiment", "run", experiment.name]
    words += ["--runs", str(runs)] if runs is not None else []
    words += ["--quick"] if quick else []
    return " ".join(words)
