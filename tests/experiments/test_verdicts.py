"""A verdict follows from the figures by one rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_results import write_experiment
from scipy import stats

from linkfield.experiments import get
from linkfield.experiments.claims import CLAIMS, EXPLANATIONS
from linkfield.experiments.displays import DISPLAYS
from linkfield.experiments.peers import experiment
from linkfield.experiments.quantities import (
    ALL,
    LEAST,
    MOST,
    SOME,
    Constant,
    Counts,
    Gain,
    Lead,
    Score,
    Where,
    at,
)
from linkfield.experiments.result_table import ResultTable, read_table
from linkfield.experiments.verdicts import Check, Claim, judge, verdict_of

METHODS = ("K-Means", "low", "high")


def made(folder: Path, runs: int = 10, **options: Any) -> ResultTable:
    """K-Means at 0.5; low rises by 0.1 to the last count, high by 0.2, with little chance."""

    def values(cell: dict[str, Any], rng: np.random.Generator) -> dict[str, float]:
        rise = {"K-Means": 0.0, "low": 0.1, "high": 0.2}[cell["method"]]
        found = 0.5 + rise * cell["constraints"] / 200 + 0.001 * rng.normal()
        return {"pairwise_f": found, "seconds": 0.02 if cell["method"] == "high" else 0.001}

    options = {"data": ("A", "B"), "methods": METHODS, "runs": runs, **options}
    return read_table(write_experiment(folder, "made", values, **options))


def claim(*checks: Check, need: Any = "all") -> Claim:
    return Claim("key", "made", "text", "source", checks, need)


HIGHER = Check(Score("high", SOME), Score("low", SOME))
LOWER = Check(Score("low", SOME), Score("high", SOME))
SAME = Check(Score("low", at(0)), Score("high", at(0)))


def test_verdicts_follow_the_rule() -> None:
    cases = [
        (["holds", "holds"], "reproduced"),
        (["holds", "reversed"], "partly"),
        (["holds", "no clear difference"], "partly"),
        (["reversed", "no clear difference"], "not"),
        (["does not hold"], "not"),
        (["not decided", "holds"], "not decided"),
        (["not decided", "reversed"], "not decided"),
        (["not decided", "holds", "reversed"], "partly"),
        ([], "not decided"),
    ]
    for outcomes, verdict in cases:
        assert verdict_of(outcomes) == verdict, outcomes
    assert verdict_of(["reversed", "holds"], "any") == "reproduced"
    assert verdict_of(["not decided", "holds"], "any") == "reproduced"
    assert verdict_of(["not decided", "reversed"], "any") == "not decided"
    assert verdict_of(["reversed"], "any") == "not"


def test_comparisons_of_every_kind(tmp_path: Path) -> None:
    results = made(tmp_path)
    few, most = Counts(0.5, 50), Counts(only="most")
    expected = {
        HIGHER: "holds",
        LOWER: "reversed",
        SAME: "no clear difference",
        Check(Score("high", MOST), Score("high", LEAST), margin=0.15): "holds",
        Check(Score("high", MOST), Score("high", LEAST), margin=0.25): "reversed",
        Check(Score("low", ALL), Score("high", ALL), "not below", margin=0.1): "holds",
        Check(Score("low", MOST), Score("high", MOST), "not below", margin=0.02): "reversed",
        Check(Score("low", at(0)), Score("high", at(0)), "close", margin=0.01): "holds",
        Check(Score("low", MOST), Score("high", MOST), "close", margin=0.01): "reversed",
        Check(Score("high", few), Constant(0.49), "never below"): "holds",
        Check(Score("high", most), Constant(0.8), "never below"): "does not hold",
        Check(Score("low", MOST), Score("high", MOST), "within"): "reversed",
        Check(Score("high", MOST), Score("low", MOST), "within"): "holds",
        Check(Score("low", at(0)), Score("high", at(0)), "within"): "holds",
        Check(Lead("high", "K-Means", MOST), Lead("low", "K-Means", MOST)): "holds",
        Check(Gain("high", LEAST, MOST), Gain("low", LEAST, MOST)): "holds",
    }
    for check, outcome in expected.items():
        findings = judge(claim(check), results).findings
        assert {f.data for f in findings} == {"A", "B"}
        assert {f.outcome for f in findings} == {outcome}, str(check)


def test_seconds_are_compared_as_factors(tmp_path: Path) -> None:
    results = made(tmp_path)
    for margin, outcome in ((10, "holds"), (30, "reversed")):
        check = Check(
            Score("high"), Score("low"), score="seconds", margin=margin, factor=True, data=("A",)
        )
        (finding,) = judge(claim(check), results).findings
        assert finding.outcome == outcome
        assert 10**finding.difference.mean == pytest.approx(20)


def test_figures_are_those_of_the_table(tmp_path: Path) -> None:
    results = made(tmp_path)
    judgement = judge(claim(HIGHER, SAME), results)
    keys, score = results.keys, results.values["pairwise_f"]

    def means(method: str, counts: tuple[float, ...]) -> np.ndarray:
        mine = (keys["data"] == "A") & (keys["method"] == method)
        mine &= np.isin(keys["constraints"], counts)
        return np.array([score[mine & (keys["run"] == run)].mean() for run in range(10)])

    counts = (10, 50, 200)
    difference = means("high", counts) - means("low", counts)
    finding = judgement.findings[0]
    assert finding.difference.mean == pytest.approx(difference.mean())
    assert finding.first.mean == pytest.approx(means("high", counts).mean())
    assert finding.runs_for == 10
    # The other comparisons of the claim are A at 0, B, and B at 0; two p values are the least.
    raw = [f.p for f in judgement.findings]
    assert finding.p == pytest.approx(stats.wilcoxon(difference).pvalue)
    assert finding.adjusted == pytest.approx(4 * min(raw))
    assert judgement.verdict == "partly"


def test_too_few_runs_decide_nothing(tmp_path: Path) -> None:
    judgement = judge(claim(HIGHER), made(tmp_path, runs=6))
    assert judgement.verdict == "not decided"
    assert "6 complete runs, 7 needed" in judgement.reason
    assert judge(claim(HIGHER), made(tmp_path, runs=7)).verdict == "reproduced"


def test_what_is_missing_is_not_decided(tmp_path: Path) -> None:
    results = made(tmp_path)
    for check, reason in (
        (Check(Score("high"), Score("low"), data=("C",)), "no cells of C"),
        (Check(Score("high"), Score("low"), score="rises"), "no column `rises`"),
        (Check(Score("high"), Score("nobody")), "no complete run"),
        (Check(Score("high", at(77)), Score("low", at(77))), "no complete run"),
    ):
        judgement = judge(claim(check), results)
        assert judgement.verdict == "not decided"
        assert reason in judgement.reason
    assert judge(claim(HIGHER), None).reason == "made has not been run."
    assert judge(claim(), results).verdict == "not decided"


def test_runs_without_all_folds_are_left_out(tmp_path: Path) -> None:
    file = made(tmp_path).file
    lines = file.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("A,high,50,0.0,3,1,")]
    assert len(kept) == len(lines) - 1
    file.write_text("".join(kept))
    a, b = judge(claim(HIGHER), read_table(file)).findings
    assert (a.difference.n, b.difference.n) == (9, 10)


def test_a_method_run_without_constraints_only_counts_everywhere(tmp_path: Path) -> None:
    results = made(tmp_path, data=("A",))
    file = results.file
    text = file.read_text().splitlines(keepends=True)
    kept = [x for x in text if not x.startswith("A,K-Means,") or x.startswith("A,K-Means,0,")]
    file.write_text("".join(kept))
    shorter = read_table(file)
    where = Where(shorter, "A", "pairwise_f", 0.0)
    at_zero = Score("K-Means", at(0)).per_run(Where(results, "A", "pairwise_f", 0.0))
    assert Score("K-Means", MOST).per_run(where).values == pytest.approx(at_zero.values)
    check = Check(Score("high", MOST), Score("K-Means", MOST))
    assert judge(claim(check), shorter).verdict == "reproduced"


def test_other_noise_is_another_comparison(tmp_path: Path) -> None:
    results = made(tmp_path, noise=(0.0, 0.2))
    where = Where(results, "A", "pairwise_f", 0.2)
    mine = (results.keys["noise"] == 0.2) & (results.keys["data"] == "A")
    mine &= (results.keys["method"] == "low") & (results.keys["run"] == 4)
    expected = results.values["pairwise_f"][mine].mean()
    assert Score("low").per_run(where).values[4] == pytest.approx(expected)


def test_claims_are_well_formed() -> None:
    keys = [c.key for c in CLAIMS]
    assert len(set(keys)) == len(keys)
    assert set(EXPLANATIONS) <= set(keys)
    assert {c.experiment for c in CLAIMS} <= set(DISPLAYS)
    assert {c.source[:3] for c in CLAIMS} == {"000", "001", "002", "003", "004", "our"}
    # A claim that nothing can test needs words instead.
    assert all(c.checks or c.key in EXPLANATIONS for c in CLAIMS)


def test_claims_name_methods_and_data_that_the_experiments_have() -> None:
    for c in CLAIMS:
        display = DISPLAYS[c.experiment]
        methods = display.methods or _declared_methods(c.experiment)
        for check in c.checks:
            assert set(check.data) <= set(display.data)
            for side in (check.first, check.second):
                for name in ("method", "over"):
                    assert getattr(side, name, methods[0]) in methods
                assert getattr(side, "data", None) in (None, *display.data)


def _declared_methods(name: str) -> tuple[str, ...]:
    """Return the methods of a protocol; of that beside the other package, with the package."""
    found = experiment("python") if name == "peers" else get(name)
    return tuple(method.name for method in found.methods)
