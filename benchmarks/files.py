"""From a large file to labels: the memory that ``linkfield fit`` takes, and the time.

Every case is a process of its own. It first fits a small file of the same kind (imports,
compilation, buffers), gives freed memory back and notes its resident memory, the baseline; then it
fits the large file, and the kernel's high-water mark is the peak (see :mod:`benchmarks.memory`).
The bar is on the peak beyond the baseline, in units of the array that the file holds: three.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from linkfield.bench.measure import progress
from linkfield.bench.tables import seconds, table

from .memory import MB, reset_mark, status
from .tables import finished, judged

#: Rows, columns, clusters; pairs in the file of constraints; rows of the small file.
ROWS, COLUMNS, CLUSTERS, PAIRS, SMALL = 1_000_000, 20, 10, 2_000, 3_000

#: What the whole may take, in units of the array.
BAR = 3.0

#: Name: ending of the file, further options. Ids are numbers; with pairs all rows have names.
CASES = {
    "CSV": (".csv", ["--no-report"]),
    "CSV, --scale standard, report": (".csv", ["--scale", "standard"]),
    "CSV, ids and pairs, report": (".csv", ["--id-column", "id", "--constraints", "pairs.csv"]),
    "Parquet": (".parquet", ["--no-report"]),
    "Parquet, ids and pairs, report": (
        ".parquet",
        ["--id-column", "id", "--constraints", "pairs.csv"],
    ),
    "NPY": (".npy", ["--no-report"]),
}


def make(folder, rows):
    """Write the same rows as CSV, Parquet and NPY, in pieces, and pairs of them."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    centres = rng.normal(0, 3, (CLUSTERS, COLUMNS))
    truth = rng.integers(0, CLUSTERS, rows)
    names = [f"column {j}" for j in range(COLUMNS)]
    schema = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in names)])
    array = np.lib.format.open_memmap(folder / f"{rows}.npy", "w+", np.float64, (rows, COLUMNS))
    with (
        pa.csv.CSVWriter(folder / f"{rows}.csv", schema) as csv,
        pa.parquet.ParquetWriter(folder / f"{rows}.parquet", schema) as parquet,
    ):
        for start in range(0, rows, 100_000):
            part = slice(start, min(start + 100_000, rows))
            X = np.round(centres[truth[part]] + rng.normal(0, 1, (len(truth[part]), COLUMNS)), 6)
            array[part] = X
            ids = 10 + np.arange(part.start, part.stop)
            block = pa.table([pa.array(ids), *(pa.array(c) for c in X.T)], schema=schema)
            csv.write_table(block)
            parquet.write_table(block)
    a, b = rng.integers(0, SMALL, (2, PAIRS))
    lines = [
        f"{10 + i},{10 + j},{'must' if truth[i] == truth[j] else 'cannot'}"
        for i, j in zip(a, b, strict=True)
        if i != j
    ]
    (folder / "pairs.csv").write_text("\n".join(["a,b,kind", *lines]) + "\n")


def measured(folder, rows, ending, options):
    """Run one case in this process; return baseline and peak in bytes, and the seconds."""
    from linkfield.cli import main

    def fit(n):
        out = ["--clusters", str(CLUSTERS), "--quiet", "--out", f"out-{n}"]
        main(["fit", f"{n}{ending}", *options, *out], standalone_mode=False)

    fit(SMALL)
    exact = reset_mark()
    before, start = status("VmRSS"), time.perf_counter()
    fit(rows)
    took, after = time.perf_counter() - start, status("VmHWM")
    return {"baseline": before, "peak": after, "seconds": took, "exact": exact}


def case(folder, rows, ending, options):
    """Run one case in a process of its own."""
    code = (
        "import json, sys; from pathlib import Path; from benchmarks.files import measured;"
        "job = json.loads(sys.argv[1]); print(json.dumps(measured(Path('.'), *job)))"
    )
    here = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps([rows, ending, options])],
        capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{here / 'src'}:{here}"},
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the measuring process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def report(settings):
    """Return the table."""
    rows = 20_000 if settings.quick else ROWS
    size = 8 * rows * COLUMNS
    lines = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("writing the files")
        for n in (SMALL, rows):
            make(folder, n)
        for what, (ending, options) in CASES.items():
            if not settings.wants(f"files: {what}"):
                continue
            progress(f"files: {what}")
            found = case(folder, rows, ending, options)
            extra = max(found["peak"] - found["baseline"], 0)
            lines.append(
                [
                    what,
                    f"{(folder / f'{rows}{ending}').stat().st_size / MB:,.0f} MB",
                    f"{found['baseline'] / MB:,.0f} MB",
                    f"{found['peak'] / MB:,.0f} MB",
                    judged(f"{extra / size:.2f}", extra / size, BAR, settings),
                    seconds(found["seconds"]),
                ]
            )
    head = ["file", "size", "process before", "peak", "beyond, in arrays", "time"]
    text = (
        f"`linkfield fit` of {rows:,} rows of {COLUMNS} columns ({size / MB:,.0f} MB in float64), "
        f"{CLUSTERS} clusters.\n\n{table(head, lines)}"
    )
    return finished("Large files", [text], settings)
