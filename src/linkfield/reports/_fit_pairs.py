"""What was not kept, what cannot be kept, and what looks wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constraints import violated_pairs
from ..constraints.conflicts import count_conflicts
from ..plots.reading import Fitted, Links, link_costs
from ._fit_summary import kept_counts
from ._words import count, name_of, number, one_line
from .document import Block, Heading, Note, Table, Text

__all__ = ["conflict_blocks", "suspect_blocks", "violation_blocks"]

#: Lines of a table; contradictions that are written out; pairs of labels that are looked at.
MOST_LINES, MOST_CONFLICTS, BUDGET = 50, 20, 100_000


def violation_blocks(found: Fitted, ids: Any) -> list[Block]:
    """List the violated constraints, the dearest first."""
    n, kept = kept_counts(found)
    if not n:
        return _recorded(found, ids)
    if kept == n:
        return [Text("No constraint is violated.")]
    table = violated_pairs(found.constraints, found.labels, BUDGET)
    ends = np.column_stack([table["a"], table["b"]])
    must = table["kind"] == "must"
    links = Links(ends, must, np.zeros(len(must), bool), table["weight"].copy(), n)
    cost = link_costs(found, links)
    order = np.argsort(-cost, kind="stable")[:MOST_LINES]
    rows = []
    for k in order.tolist():
        a, b = ends[k].tolist()
        rows.append([
            name_of(a, ids), name_of(b, ids), "must-link" if must[k] else "cannot-link",
            f"{found.labels[a]}", f"{found.labels[b]}", number(float(table["weight"][k])),
            number(float(cost[k])),
        ])  # fmt: skip
    header = ["row", "row", "kind", "its cluster", "its cluster", "weight", "cost"]
    by = "what they add to the objective"
    if not hasattr(found.model, "violations_"):  # a mixture knows no cost of a single pair
        header, rows, by = header[:-1], [row[:-1] for row in rows], "their weight"
    footer = f"{count(n - kept, 'violated constraint')}, by {by}."
    if n - kept > len(rows):
        footer += f" {n - kept - len(rows):,} more are not listed."
    if len(table) < n - kept:
        footer += " Those that labels entail are listed by representatives."
    return [
        Heading(3, "Violated constraints"),
        Table(header, rows, footer, words=frozenset({1, 2})),
    ]


def _recorded(found: Fitted, ids: Any) -> list[Block]:
    """List the violations that a model recorded whose constraints are not at hand."""
    table = getattr(found.model, "violations_", None)
    if table is None or not len(table):
        return [Text("No constraints were given.")]
    order = np.argsort(-table["cost"], kind="stable")[:MOST_LINES]
    plain = table.dtype["a"].kind != "O"
    rows = [
        [
            *(name_of(int(line[e]), ids) if plain else one_line(line[e], 60) for e in ("a", "b")),
            f"{line['kind']}-link",
            number(float(line["weight"])),
            number(float(line["cost"])),
        ]
        for line in table[order]
    ]
    footer = f"{count(len(table), 'violated constraint')}, as the fit recorded them."
    if len(table) > len(rows):
        footer += f" {len(table) - len(rows):,} more are not listed."
    header = ["row", "row", "kind", "weight", "cost"]
    return [
        Heading(3, "Violated constraints"),
        Table(header, rows, footer, words=frozenset({1, 2})),
    ]


def conflict_blocks(found: Fitted) -> list[Block]:
    """Write contradictions out: the chain of must-links, and the cannot-link at its ends."""
    number_of = count_conflicts(found.constraints)
    if not number_of:
        return []
    conflicts = found.constraints.conflicts(limit=MOST_CONFLICTS)
    blocks: list[Block] = [
        Heading(3, "Contradictions"),
        Note(
            f"The constraints contradict each other in {count(number_of, 'place')}: whatever "
            "the clusters, some of them must be violated. `Constraints.repair()`, or `linkfield "
            "constraints repair`, drops the cheapest that will do."
        ),
    ]
    lines = [
        [one_line("–".join(str(v) for v in c.chain)), one_line(f"{c.cannot[0]}–{c.cannot[1]}"),
         number(c.weight)]
        for c in conflicts
    ]  # fmt: skip
    footer = "The shortest chains first."
    if number_of > len(lines):
        footer = f"Short chains; {number_of - len(lines):,} more are not listed."
    header = ["must-links", "cannot-link", "its weight"]
    return [*blocks, Table(header, lines, footer, words=frozenset({1}))]


def suspect_blocks(found: Fitted, ids: Any) -> list[Block]:
    """List the memberships that a mixture finds doubtful."""
    if not hasattr(found.model, "suspects"):
        return []
    table = found.model.suspects()
    if not len(table):
        return []
    rows = [
        [name_of(int(line["row"]), ids), one_line(line["label"] if line["label"] is not None
         else line["group"], 40), one_line(line["teacher"] or "–", 40),
         f"{line['confidence']:.2f}", f"{line['posterior']:.2f}", f"{line['row_component']}",
         f"{line['group_component']}"]
        for line in table[:MOST_LINES]
    ]  # fmt: skip
    footer = "How likely a membership is right, by its teacher and after seeing the data."
    if len(table) > len(rows):
        footer += f" {len(table) - len(rows):,} more are not listed."
    header = ["row", "group", "teacher", "confidence", "posterior", "row's cluster",
              "group's cluster"]  # fmt: skip
    return [
        Heading(3, "Memberships in doubt"),
        Table(header, rows, footer, words=frozenset({1, 2})),
    ]
