"""What the command line says when the user can mend something: one line, exit code 2."""

from __future__ import annotations

import dis
import errno
from collections.abc import Iterator
from contextlib import contextmanager

import click

__all__ = ["FULL", "Mistake", "mistakes", "on_purpose", "said"]

#: Full disks, quotas, and files larger than is allowed.
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}

#: How messages that are meant for Python read on the command line.
_WORDS = {
    "ids that sample_id does not have": "rows that the data does not have",
    "rows that sample_id does not have": "rows that the data does not have",
    ", or drop what is said of those rows with align(sample_id, missing='drop')": "",
    "if these are ids, pass sample_id=": "if these are ids, say --id-column",
    "sample_id must name every row once": "the id column must name every row once",
    "constraint_weight must": "--weight must",
    "n_init must": "--starts must",
    "max_iter must": "--max-iter must",
    " or an object from linkfield.distortions": "",
    " or an object from linkfield.inference": "",
    "Constraints.repair()": "`linkfield constraints repair`",
    "raise n_clusters, or read the labels relationally (HMRFKMeans)": "raise --clusters",
}


class Mistake(click.ClickException):
    """Something that the user can mend: one line, exit code 2."""

    exit_code = 2


def said(error: Exception) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, OSError) and error.errno in FULL:
        where = "" if error.filename is None else f" for {error.filename}"
        return (
            f"the disk is full{where} ({error.strerror}); nothing was left behind: free some "
            "space, or choose another --out"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot write to {error.filename} ({error.strerror}); choose another --out"
    text = " ".join(str(error).split())
    for python, words in _WORDS.items():
        text = text.replace(python, words)
    return text


def on_purpose(error: BaseException) -> bool:
    """Say whether linkfield or scikit-learn's checks raised an error to tell the user something.

    Such an error comes from a ``raise`` there. One that numpy raises inside linkfield, or that
    nobody raised at all (a missing key), is a bug, and must show where it is.
    """
    last = error.__traceback__
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    frame = last.tb_frame
    module = str(frame.f_globals.get("__name__", ""))
    ours = module.startswith(("linkfield.", "sklearn.utils.", "sklearn.feature_extraction."))
    if not ours:
        return False
    return dis.opname[frame.f_code.co_code[last.tb_lasti]] == "RAISE_VARARGS"


@contextmanager
def mistakes(reading: bool = False) -> Iterator[None]:
    """Turn what the user can mend into a :class:`Mistake`; bugs pass through.

    Parameters
    ----------
    reading : bool
        Whether files are read here, not written.
    """
    try:
        yield
    except click.ClickException:
        raise
    except OSError as error:
        if reading and error.filename is not None:
            told = f"cannot read {error.filename} ({error.strerror}); check the path"
            raise Mistake(told) from None
        raise Mistake(said(error)) from None
    except (ValueError, TypeError, ImportError) as error:
        if not on_purpose(error):
            raise
        raise Mistake(said(error)) from None
