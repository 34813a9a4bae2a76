"""ResultTable are read as written; what is broken or foreign is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from made_up_results import rising, write_experiment

from linkfield.experiments.result_table import read_table

HEADER = "data,method,constraints,noise,run,fold,pairwise_f,accuracy\n"
LINE = "Iris,ICM,10,0.0,{run},{fold},{score},0.9\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "made.csv"
    file.write_text(text, encoding="utf-8")
    return file


def test_fold_means(tmp_path: Path) -> None:
    lines = [LINE.format(run=r, fold=f, score=r + f / 10) for r in (0, 1) for f in (0, 1)]
    results = read_table(written(tmp_path, HEADER + "".join(lines)))
    cells = results.cells("Iris", "ICM", "pairwise_f")
    assert cells.runs.tolist() == [0, 1] and cells.counts.tolist() == [10]
    assert cells.values[:, 0] == pytest.approx([0.05, 1.05])
    assert results.cells("Iris", "ICM", "pairwise_f", 0.1).values.size == 0
    assert results.values["recovered"].tolist() == [1.0] * 4
    assert results.expected is None and results.n_cells == 4


def test_empty_fields_are_missing_values(tmp_path: Path) -> None:
    text = HEADER + LINE.format(run=0, fold=0, score="") + LINE.format(run=1, fold=0, score=0.5)
    results = read_table(written(tmp_path, text))
    cells = results.cells("Iris", "ICM", "pairwise_f")
    assert np.isnan(cells.values[0, 0]) and cells.values[1, 0] == 0.5
    assert results.has("pairwise_f") and not results.has("nmi")


@pytest.mark.parametrize("cut", ["Iris,ICM,10,0.0,1,0,0.", "Iris,ICM,10", "Iris,ICM,10\n"])
def test_half_written_last_line_is_left_out_and_said(tmp_path: Path, cut: str) -> None:
    whole = HEADER + LINE.format(run=0, fold=0, score=0.5)
    results = read_table(written(tmp_path, whole + cut))
    assert results.n_cells == 1
    assert "half-written" in results.notes[0]
    assert read_table(written(tmp_path, whole)).notes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty file"),
        ("a,b\n1,2\n", "must be data,method,constraints,noise,run,fold, found a,b"),
        (HEADER + "Iris,ICM,10\n" + LINE.format(run=0, fold=0, score=1), "line 2: 3 fields"),
        (HEADER + LINE.format(run=0, fold=0, score="good"), "line 2: pairwise_f must be a number"),
        (HEADER + 2 * LINE.format(run=0, fold=0, score=1), "line 3: the cell of line 2 again"),
        (HEADER.replace("accuracy", "run"), "not a CSV file of an experiment"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ValueError, match=message) as error:
        read_table(file)
    assert str(file) in str(error.value)


def test_binary_and_broken_json_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "made.csv"
    file.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(ValueError, match="not UTF-8"):
        read_table(file)
    file = write_experiment(
        tmp_path, "made", rising({"ICM": 0.1}), data=("Iris",), methods=("ICM",), runs=1
    )
    file.with_suffix(".json").write_text("{")
    with pytest.raises(ValueError, match="not valid JSON"):
        read_table(file)
    file.with_suffix(".json").write_text("[]")
    with pytest.raises(ValueError, match="must hold an object"):
        read_table(file)


def test_how_many_cells_there_will_be(tmp_path: Path) -> None:
    grid = {"data": {"X": ""}, "methods": ["a", "b"], "constraints": [0, 1, 2], "noise": [0.0]}
    planned = {**grid, "runs": 5, "folds": 10, "folds_run": 4}
    options = {"data": ("X",), "methods": ("a",), "runs": 1}
    values = rising({"a": 0.1})
    for about, expected in (
        ({"cells": 7}, 7),
        ({"cells": None, "protocol": planned}, 2 * 3 * 5 * 4),
        ({"cells": None, "protocol": grid}, None),
    ):
        file = write_experiment(tmp_path, "made", values, **options, **about)
        assert read_table(file).expected == expected


def test_capitals_of_data_names_make_no_difference(tmp_path: Path) -> None:
    file = write_experiment(
        tmp_path, "made", rising({"a": 0.1}), data=("News, i-divergence",), methods=("a",), runs=1
    )
    results = read_table(file)
    assert results.data_name("News, I-divergence") == "News, i-divergence"
    assert results.data_name("Iris") == "Iris"
