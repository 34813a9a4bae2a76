"""Results that no experiment made, in the form that experiments write."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from linkfield.experiments.result_table import read_table

KEYS = ("data", "method", "constraints", "noise", "run", "fold")
VALUES = (
    "pairwise_f",
    "nmi",
    "ari",
    "accuracy",
    "objective",
    "energy",
    "seconds",
    "iterations",
    "violated",
    "satisfied_held_out",
)
#: Gives the values of one cell, by the names of the columns.
Values = Callable[[dict[str, Any], np.random.Generator], dict[str, float]]


def write_experiment(
    folder: Path,
    name: str,
    values: Values,
    *,
    data: Iterable[str],
    methods: Iterable[str],
    constraints: Iterable[float] = (0, 10, 50, 200),
    noise: Iterable[float] = (0.0,),
    runs: int = 12,
    folds: int = 2,
    extra: tuple[str, ...] = (),
    **about: Any,
) -> Path:
    """Write NAME.csv and NAME.json with all cells of a grid, and return the CSV file."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    grid = [
        dict(zip(KEYS, (d, m, c, z, r, f), strict=True))
        for d in data
        for m in methods
        for c in constraints
        for z in noise
        for r in range(runs)
        for f in range(folds)
    ]
    columns = [*KEYS, *VALUES, *extra]
    file = folder / f"{name}.csv"
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.DictWriter(opened, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for cell in grid:
            writer.writerow({**cell, **values(cell, rng)})
    story = {
        "name": name,
        "title": f"Made-up {name}",
        "paper": "nobody's",
        "protocol": {"cluster": "all"},
        "seed": 20240,
        "versions": {"python": "3.x", "linkfield": "0.x"},
        "command": f"linkfield experiment run {name}",
        "started": "2024-01-01T00:00:00",
        "finished": "2024-01-01T00:01:00",
        "cells": len(grid),
    }
    (folder / f"{name}.json").write_text(json.dumps({**story, **about}), encoding="utf-8")
    return file


def rising(levels: dict[str, float], score: str = "pairwise_f", spread: float = 0.02) -> Values:
    """Scores that rise with the constraints, each method at its own level and rate."""

    def values(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
        level = levels[cell["method"]]
        share = np.log1p(cell["constraints"]) / np.log1p(500)
        told = 0.0 if cell["method"] in ("K-Means", "none", "fixed") else 0.25 * share
        found = 0.5 + level * (0.3 + share) + told - 0.5 * cell["noise"] * share
        return {
            score: float(np.clip(found + rng.normal(scale=spread), 0, 1)),
            "seconds": 0.01 * (1 + 20 * level) * float(np.exp(rng.normal(scale=0.1))),
            "energy": 1000 * (1 - level),
            "objective": 50 * (1 - level),
        }

    return values


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a results file as experiments wrote it; empty values are None."""
    table = read_table(path)
    whole = {name: table.keys[name].astype(int) for name in ("run", "fold")}
    columns = {**table.keys, **whole, **table.values}
    columns.pop("recovered", None)  # made from the accuracy, not written
    columns = {name: columns[name] for name in (*KEYS, *table.values) if name in columns}
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [
        {name: None if value != value else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]
