"""Where groups come from: teachers' answers, tables, labels, pairs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..exceptions import ConstraintWarning
from ._assembly import PAIR_BUDGET
from ._graphs import grouped, sums
from ._memberships import ObjectArray, as_certainty, row_positions, texts
from ._normal import FloatArray, IntArray, as_ids, is_missing, places, readable
from .closure import Closure, within
from .conflicts import count_conflicts
from .frames import Layout, number_column, object_column, opened
from .labels import labelled_rows, sorted_classes
from .pairs import Constraints

__all__ = ["answers", "frame_answers", "named_groups", "of_constraints", "of_frame", "of_labels"]

GROUPS = Layout("groups", (("group", "row"),), ("confidence", "strength", "teacher", "label"))
APART = Layout("apart groups", (("a", "b"),), ("certainty",))

#: The arguments of ``Groups._set``.
Parts = dict[str, Any]


# --------------------------------------------------------------- teachers


def frame_answers(
    df: Any, names: tuple[str, str, str], confidence: Any, strength: Any, **rest: Any
) -> Parts:
    """Read a table of teachers' answers; ``names`` are the columns of teacher, row and label."""
    numbers = [c for c in (confidence, strength) if isinstance(c, str)]
    layout = Layout("teachers' answers", (names,), tuple(numbers))
    frame = opened(df, "from_teachers", layout)
    teacher, row, label = (object_column(frame, name) for name in names)
    gamma = _numbers(frame, confidence, "confidence", 0.5)
    tau = _numbers(frame, strength, "strength", 1.0)
    return answers(teacher, row, label, gamma, tau, **rest)


def _numbers(frame: Any, column: Any, usual: str, default: float) -> FloatArray:
    """Return a column of numbers by its name, or one number for all."""
    if not isinstance(column, str):
        return np.full(len(frame), float(column))
    if column != usual and column not in frame.columns:
        raise ValueError(
            f"the table has no column {column!r} for {usual} (it has "
            f"{readable(frame.columns, 10)}); name another, or give one number for all"
        )
    return number_column(frame, column, default)


def answers(
    teacher: ObjectArray,
    row: ObjectArray,
    label: ObjectArray,
    confidence: FloatArray,
    strength: FloatArray,
    *,
    apart: Any,
    sample_id: Any,
) -> Parts:
    """Return one group for every teacher and label, in the order of appearance."""
    given = np.array([not is_missing(v) for v in label], dtype=bool)
    for name, column in (("teacher", teacher), ("row", row)):
        blank = [k for k in np.flatnonzero(given).tolist() if column[k] is None]
        if blank:
            raise ValueError(
                f"the column {name} has no value in entry {readable(blank)}; every answer needs "
                "a teacher and a row"
            )
    teacher, row, label = teacher[given], row[given], label[given]
    number: dict[Any, int] = {}
    pairs = zip(teacher.tolist(), label.tolist(), strict=True)
    group = np.array([number.setdefault(pair, len(number)) for pair in pairs], dtype=np.int64)
    position, ids = row_positions(row.tolist(), sample_id)
    first: dict[Any, int] = {}
    owner = np.array([first.setdefault(who, len(first)) for who, _ in number], dtype=np.int64)
    return {
        "group": group,
        "row": position,
        "confidence": confidence[given],
        "strength": strength[given],
        "teacher": teacher,
        "label": label,
        "n_groups": len(number),
        "ids": ids,
        "ids_declared": sample_id is not None,
        **_apart_within(owner, apart),
    }


def _apart_within(owner: IntArray, apart: Any) -> Parts:
    """Put the groups of one owner apart from each other, with a certainty, if that is asked."""
    if apart is None or apart is False:
        return {}
    certainty = as_certainty(1.0 if apart is True else apart, 1)[0]
    order, starts = grouped(owner)
    n_pairs = int((np.diff(starts) * (np.diff(starts) - 1) // 2).sum())
    if n_pairs > PAIR_BUDGET:
        raise ValueError(
            f"that many labels put {n_pairs:,} pairs of groups apart, more than {PAIR_BUDGET:,}; "
            "pass apart=False"
        )
    pairs = within(order, starts, np.arange(len(starts) - 1))
    return {"apart": pairs, "certainty": np.full(len(pairs), certainty)}


# --------------------------------------------------------------- tables of groups


def of_frame(df: Any, apart: Any, certainty: Any, sample_id: Any) -> Parts:
    """Read a table of memberships: columns group, row, confidence, strength, teacher, label."""
    frame = opened(df, "from_frame", GROUPS)
    if hasattr(apart, "columns"):
        links = opened(apart, "from_frame(apart=...)", APART)
        certainty = number_column(links, "certainty", 1.0)
        apart = list(zip(links["a"].to_list(), links["b"].to_list(), strict=True))
    return named_groups(
        group=object_column(frame, "group"),
        row=object_column(frame, "row"),
        confidence=number_column(frame, "confidence", 0.5),
        strength=number_column(frame, "strength", 1.0),
        teacher=object_column(frame, "teacher"),
        label=object_column(frame, "label"),
        apart=list(apart),
        certainty=certainty,
        sample_id=sample_id,
    )


def named_groups(
    *, group: ObjectArray, row: ObjectArray, apart: list[Any], sample_id: Any, **columns: Any
) -> Parts:
    """Number groups that have names of any kind, in the sorted order of these names."""
    for name, column in (("group", group), ("row", row)):
        blank = np.flatnonzero([v is None for v in column]).tolist()
        if blank:
            raise ValueError(f"the column {name} has no value in entry {readable(blank)}")
    names = sorted_classes(group.tolist())
    number = {name: k for k, name in enumerate(names)}
    unknown = dict.fromkeys(v for pair in apart for v in pair if v not in number)
    if unknown:
        raise ValueError(f"apart names groups that have no rows: {readable(list(unknown))}")
    position, ids = row_positions(row.tolist(), sample_id)
    return columns | {
        "group": np.array([number[v] for v in group.tolist()], dtype=np.int64),
        "row": position,
        "n_groups": len(names),
        "apart": [tuple(number[v] for v in pair) for pair in apart],
        "ids": ids,
        "ids_declared": sample_id is not None,
    }


# --------------------------------------------------------------- labels


def of_labels(
    partial_labels: Any, confidence: Any, strength: Any, apart: Any, sample_id: Any
) -> Parts:
    """Return one group for every class of partial labels."""
    rows, codes, classes = labelled_rows(partial_labels)
    n_rows = len(partial_labels)
    ids = None if sample_id is None else as_ids(sample_id)
    if ids is not None and len(ids) != n_rows:
        raise ValueError(
            f"sample_id names {len(ids)} rows, but partial_labels has {n_rows} entries; give one "
            "id for every label"
        )
    return {
        "group": codes,
        "row": rows,
        "confidence": _one_a_row(confidence, n_rows, "confidence")[rows],
        "strength": _one_a_row(strength, n_rows, "strength")[rows],
        "label": texts(classes[c] for c in codes.tolist()),
        "n_groups": len(classes),
        "ids": ids,
        "ids_declared": ids is not None,
        **_apart_within(np.zeros(len(classes), dtype=np.int64), apart),
    }


def _one_a_row(value: Any, n_rows: int, name: str) -> FloatArray:
    numbers = np.asarray(value, dtype=np.float64)
    if numbers.ndim == 0:
        return np.full(n_rows, float(numbers))
    if numbers.shape != (n_rows,):
        raise ValueError(
            f"{name} must be one number, or one a row ({n_rows}); got shape {numbers.shape}"
        )
    return numbers


# --------------------------------------------------------------- constraints


def of_constraints(constraints: Any, confidence: float, apart_certainty: float | None) -> Parts:
    """Return every must-link component as a group, apart where a cannot-link joins two.

    Hard links (weight inf) hold for certain; so does the tie of a row to a group of its own
    (maths.md 6.8), which nothing can enforce: it has strength 0.
    """
    if not isinstance(constraints, Constraints):
        raise TypeError(
            f"constraints must be a linkfield.Constraints, got {type(constraints).__name__}"
        )
    closure = constraints.closure()
    if closure.contradictory.any():
        _warn_contradictions(constraints)
    alone = closure.sizes[closure.component] == 1
    hard, weight, source = _ties_of_rows(closure)
    tied = ~alone & ~np.isnan(weight)
    strength = np.where(alone, 0.0, 1.0)
    if weight[tied].any():
        strength[tied] = weight[tied] / weight[tied].mean()
    chi = confidence if apart_certainty is None else as_certainty(apart_certainty, 1)[0]
    return {
        "group": closure.component,
        "row": closure.rows,
        "confidence": np.where(alone | hard, 1.0, float(confidence)),
        "strength": strength,
        "teacher": source,
        "n_groups": closure.n_components,
        "apart": closure.apart,
        "certainty": np.where(_hard_edges(closure), 1.0, chi),
        "ids": constraints.sample_id,
        "ids_declared": constraints._ids_declared,
    }


def _ties_of_rows(closure: Closure) -> tuple[Any, FloatArray, ObjectArray]:
    """Return for every tied row: is a must-link hard, their mean weight, who said them.

    The label of a row counts as one must-link; a row without one that has a weight has NaN.
    """
    known = closure.constraints
    table = known.pairs(labels=False)
    must = table["kind"] == "must"
    labels = known.labels
    ends = np.r_[table["a"][must], table["b"][must], labels.rows]
    weight = np.r_[np.tile(table["weight"][must], 2), np.full(len(labels.rows), labels.weight)]
    at, n = places(closure.rows, ends), len(closure.rows)
    finite = np.isfinite(weight)
    hard = sums(at, (~finite).astype(np.float64), n) > 0
    # Only their proportions count; taken by the greatest, no sum of theirs can overflow.
    scaled = weight[finite] / weight[finite].max(initial=np.finfo(np.float64).tiny)
    count = sums(at[finite], np.ones(len(scaled)), n)
    mean = np.where(count > 0, sums(at[finite], scaled, n) / np.maximum(count, 1.0), np.nan)
    source = np.tile(known._source[must], 2)  # labels have none
    return hard, mean, _sources(at[: len(source)], source, n)


def _sources(at: IntArray, source: ObjectArray, n: int) -> ObjectArray:
    """Join the sources of the must-links of every row; the same ones always give one name."""
    said: list[set[str]] = [set() for _ in range(n)]
    for k, name in zip(at.tolist(), source.tolist(), strict=True):
        if name is not None:
            said[k].update(str(name).split(";"))
    return texts(";".join(sorted(names)) if names else None for names in said)


def _hard_edges(closure: Closure) -> Any:
    """Say which pairs of components a hard cannot-link puts apart."""
    table, labels = closure.constraints.pairs(labels=False), closure.constraints.labels
    hard = (table["kind"] == "cannot") & np.isinf(table["weight"])
    ends = np.column_stack([table["a"][hard], table["b"][hard]])
    edges = np.sort(closure.component[places(closure.rows, ends)], axis=1)
    if np.isinf(labels.weight):
        a, b = np.triu_indices(len(labels.classes), k=1)
        between = np.column_stack([closure.class_component[a], closure.class_component[b]])
        edges = np.concatenate([edges, np.sort(between, axis=1)])
    n = closure.n_components
    return np.isin(closure.apart[:, 0] * n + closure.apart[:, 1], edges[:, 0] * n + edges[:, 1])


def _warn_contradictions(constraints: Constraints) -> None:
    number = count_conflicts(constraints)
    shown = "; ".join(str(c) for c in constraints.conflicts(limit=3))
    more = f"; and {number - 3} more" if number > 3 else ""
    warnings.warn(
        f"the constraints contradict each other: {shown}{more}. No group can be apart from "
        "itself, so these cannot-links are left out; Constraints.repair() drops the cheapest "
        "constraints instead",
        ConstraintWarning,
        stacklevel=4,
    )
