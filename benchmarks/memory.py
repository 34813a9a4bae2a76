"""Peak memory of a fit beyond its data, in a process of its own.

The process first fits a tiny problem of the same kind (imports, compilation, thread pools, buffers
of BLAS), then makes the data and what the fit is told, gives freed memory back to the system and
notes its resident memory: the baseline. Then it fits and notes the peak.

The peak is the kernel's own high-water mark, VmHWM of /proc/self/status, set back to the present
value just before the fit by writing 5 to /proc/self/clear_refs. A thread that samples RssAnon can
miss a short peak and gets no turn while a kernel holds the interpreter's lock; the mark misses
nothing. ``ru_maxrss`` is the same mark, but cannot be set back, so a peak while the data are made
would hide the fit's; it is used where /proc cannot be written, and the result then says so.
"""

import contextlib
import ctypes
import gc
import json
import re
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from linkfield.bench.data import Dense
from linkfield.bench.fits import knowledge

from .fits import FITS

MB = 1e6


@dataclass(frozen=True)
class Peak:
    """Resident memory in bytes: before the fit, and how much more at its peak."""

    baseline: int
    extra: int
    exact: bool
    rows: int

    def __str__(self):
        least = "" if self.exact else ">= "
        return f"{least}{self.extra / MB:.1f} MB, {self.extra / self.rows:.0f} B a row"


def status(field):
    """Return a field of /proc/self/status in bytes."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(rf"^{field}:\s+(\d+)", text, re.MULTILINE)[1])


def reset_mark():
    """Set the high-water mark back to the present; say whether that worked."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return True
    except OSError:
        return False


def prepared(job, data):
    """Return a call that makes one fit of the job on the data."""
    X, y = data.make()
    few = len(y) / job["data"]["n"]
    told = knowledge(y, int(few * job["pairs"]), int(few * job["labelled"]))
    fit = FITS[job["fit"]]
    return lambda: fit(X, data.K, told, random_state=0, **job["params"])


def measured(job):
    """Run a job in this process and return baseline, peak and whether it is exact."""
    data = Dense(**job["data"])
    prepared(job, replace(data, n=min(data.n, max(4096, 4 * data.K))))()
    run = prepared(job, data)
    exact = reset_mark()
    if not exact:
        before = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        run()
        after = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    else:
        before = status("VmRSS")
        run()
        after = status("VmHWM")
    return {"baseline": before, "extra": max(after - before, 0), "exact": exact}


def peak_memory(data, fit="linkfield", pairs=0, labelled=0, **params):
    """Return the :class:`Peak` of one fit, made in a fresh process.

    Parameters
    ----------
    data : Dense
    fit : {"linkfield", "lloyd", "elkan"}
    pairs, labelled : int
        What the fit is told; it exists before the baseline is taken, like the data.
    **params
        Parameters of the estimator, for instance ``n_jobs``.
    """
    job = {"data": asdict(data), "fit": fit, "pairs": pairs, "labelled": labelled}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory"]
    done = subprocess.run(
        [*command, json.dumps({**job, "params": params})],
        capture_output=True, text=True, check=False, cwd=Path(__file__).resolve().parents[1],
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"the measuring process failed:\n{done.stderr[-2000:]}")
    return Peak(rows=data.n, **json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
