"""Rows in a file: what an iteration reads and takes, and what stays in memory.

A ``.npy`` file is written that holds a hundred thousand rows over and over (``--gigabytes`` says
how large it becomes; one larger than memory is what maps are for). Each fit maps it in a process of
its own, after the system was told to forget the file's pages. The time of an iteration, and what it
reads from the disk (``read_bytes`` of /proc/self/io), are differences between a fit of few and one
of more iterations from the same centres. The memory is what a fit takes for itself, its peak of
RssAnon a hundred times a second, beyond what it was before. Beside that stands what it takes to
read the file through once, as a sum over blocks of it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from linkfield.bench.data import Dense, start_centres
from linkfield.bench.fits import knowledge, linkfield
from linkfield.bench.measure import progress
from linkfield.bench.tables import seconds, table

from .memory import MB, status
from .tables import finished

GB = 1e9

#: The rows that the file repeats, and the numbers of pairs that fits are told.
DATA, QUICK = Dense(100_000, 384, 20), Dense(1_000, 32, 5)
PAIRS = (0, 10_000)

#: Iterations of the two fits.
FEW, MORE = 2, 5


def write(path, data, size):
    """Write the rows over and over until the file has some size; return how many times."""
    X, _ = data.make()
    times = max(2, round(size / X.nbytes))
    out = np.lib.format.open_memmap(path, "w+", X.dtype, (times * len(X), X.shape[1]))
    for k in range(times):
        out[k * len(X) : (k + 1) * len(X)] = X
        if k % 16 == 15:
            out.flush()
    out.flush()
    return times


def forget(path):
    """Tell the system that the pages of a file are not needed; say whether it could be told."""
    if not hasattr(os, "posix_fadvise"):
        return False
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return True


def from_disk():
    """Return how many bytes this process has had read from a disk."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["read_bytes"])


class Peak(threading.Thread):
    """The greatest RssAnon of this process, sampled until :meth:`end`."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.done = status("RssAnon"), threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.01):
            self.most = max(self.most, status("RssAnon"))

    def end(self):
        self.done.set()
        self.join()
        return self.most


def measured(path, data, pairs, max_iter):
    """Fit the file (or, with max_iter 0, read it through) in this process; return what it took."""
    X, y = Dense(**data).make()
    K, told = data["K"], knowledge(y, pairs) if pairs else {}
    centres = start_centres(X, K)
    linkfield(X[:4096], K, init=centres, max_iter=2)  # compiled code, threads, buffers
    del X
    forget(path)
    rows = np.load(path, mmap_mode="r")
    peak, before, read = Peak(), status("RssAnon"), from_disk()
    start = time.perf_counter()
    if max_iter:
        iterations = linkfield(rows, K, told, init=centres, max_iter=max_iter).n_iter_
    else:
        iterations = sum(
            np.isfinite(float(rows[at : at + 4096].sum())) for at in range(0, len(rows), 4096)
        )
    took = time.perf_counter() - start
    return {"seconds": took, "read": from_disk() - read, "memory": peak.end() - before,
            "iterations": int(iterations)}  # fmt: skip


def case(path, data, pairs, max_iter):
    """Do so in a process of its own."""
    job = json.dumps([str(path), vars(data), pairs, max_iter])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.mapped", job],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the measuring process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def gigabytes(number):
    """Return bytes in words."""
    return f"{number / GB:,.2f} GB"


def lines(path, data, times):
    """Return the rows of the table."""
    size, n = path.stat().st_size, times * data.n
    progress("mapped: reading the file through")
    plain = case(path, data, 0, 0)
    found = [["reading it through", seconds(plain["seconds"]), gigabytes(plain["read"]), "-", "-"]]
    for pairs in PAIRS:
        progress(f"mapped: {pairs:,} pairs")
        few, more = (case(path, data, pairs, k) for k in (FEW, MORE))
        made = max(more["iterations"] - few["iterations"], 1)
        took, read = ((more[k] - few[k]) / made for k in ("seconds", "read"))
        found.append([
            f"an iteration, {pairs:,} pairs", seconds(took), gigabytes(read), f"{read / size:.2f}",
            f"{more['memory'] / MB:,.0f} MB, {more['memory'] / n:.0f} B a row",
        ])  # fmt: skip
    return found


def report(settings):
    """Return the table."""
    data = QUICK if settings.quick else DATA
    size = 2e6 if settings.quick else settings.gigabytes * GB
    with tempfile.TemporaryDirectory() as folder:
        free = shutil.disk_usage(folder).free
        if size > 0.9 * free:
            text = f"Not run: {gigabytes(size)} are wanted, {gigabytes(free)} are free."
            return finished("Mapped files", [text], settings)
        path = Path(folder) / "rows.npy"
        progress(f"mapped: writing {gigabytes(size)}")
        times = write(path, data, size)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        intro = (
            f"A file of {gigabytes(path.stat().st_size)}: {times * data.n:,} rows of {data.d} "
            f"features, float32, K {data.K}; the machine has {gigabytes(memory)} of memory. The "
            "metric is learned."
        )
        head = ["what", "time", "read from the disk", "in files", "memory of the fit, at its peak"]
        return finished("Mapped files", [intro, table(head, lines(path, data, times))], settings)


if __name__ == "__main__":
    where, kind, told, limit = json.loads(sys.argv[1])
    print(json.dumps(measured(Path(where), kind, told, limit)))
