"""What the user knows, from files and from a column of labels, checked before the fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..constraints import Constraints, Groups
from ..constraints.conflicts import count_conflicts
from ._mistakes import Mistake, said

__all__ = ["Known", "number_of_clusters", "read_knowledge", "refuse_contradictions"]


@dataclass(frozen=True)
class Known:
    """What is known about the rows.

    Attributes
    ----------
    pairs : Constraints or None
        Those of the files.
    groups : Groups or None
    labels : array or None
        The partial labels.
    labelled : tuple or None
        The labelled rows, the number of each one's class, and the classes.
    """

    pairs: Constraints | None = None
    groups: Groups | None = None
    labels: Any = None
    labelled: Any = None

    @property
    def n_classes(self) -> int:
        """The number of classes among the labels."""
        return 0 if self.labelled is None else len(self.labelled[2])

    def all_pairs(self, sample_id: Any) -> Constraints | None:
        """Return the pairs of the files and those that the labels entail."""
        if self.labels is None:
            return self.pairs
        ids = sample_id if self.pairs is None else self.pairs.sample_id
        entailed = Constraints.from_labels(self.labels, sample_id=ids)
        return entailed if self.pairs is None else self.pairs | entailed


def read_knowledge(
    constraints: Sequence[Path], groups: Path | None, labels: Any, sample_id: Any, n_rows: int
) -> Known:
    """Read the files of constraints and groups; rows are named by id, else by position."""
    from ..constraints.labels import labelled_rows
    from ..io import read_constraints, read_groups

    pairs: Constraints | None = None
    for file in constraints:
        try:
            found = read_constraints(file, sample_id=sample_id)
        except ValueError as error:
            if "sample_id does not have" not in str(error):
                raise
            raise Mistake(f"{said(error)}; correct them, or say another --id-column") from None
        if sample_id is None and found.sample_id is not None:
            raise Mistake(
                f"{file} names rows by id, but the data has no id column; say --id-column"
            )
        try:
            found.check_rows(n_rows)
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        pairs = found if pairs is None else pairs | found
    told = None if groups is None else read_groups(groups, sample_id=sample_id)
    labelled = None if labels is None else labelled_rows(labels)
    if labelled is not None and not len(labelled[0]):
        raise Mistake("the label column holds no labels; fill some in, or leave --label-column out")
    return Known(pairs, told, labels, labelled)


def number_of_clusters(given: int | None, known: Known, n_rows: int) -> int:
    """Return the number of clusters, that of the classes if none is given."""
    clusters = known.n_classes if given is None else given
    if not clusters:
        raise Mistake(
            "say how many clusters there are with --clusters K, or name a --label-column, whose "
            "classes are counted"
        )
    if clusters > n_rows:
        raise Mistake(
            f"--clusters {clusters} is more than the {n_rows:,} rows; take at most {n_rows}"
        )
    return clusters


def refuse_contradictions(pairs: Constraints | None) -> None:
    """Raise a :class:`Mistake` that shows the shortest chain, if there is one."""
    found = [] if pairs is None else pairs.conflicts(limit=1)
    if pairs is None or not found:
        return
    n_more = count_conflicts(pairs) - 1
    more = f" (and {n_more:,} more)" if n_more else ""
    raise Mistake(
        f"the constraints contradict each other: {found[0]}{more}; drop the cheapest with "
        "`linkfield constraints repair`, take only the pairs as given with --closure false, or go "
        "on with --allow-contradictions"
    )
