"""Claims as objects, and the one rule by which they are judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .quantities import Quantity, Where, plain
from .result_table import ResultTable
from .statistics import LEVEL, Interval, holm, interval, runs_needed, signed_rank

__all__ = [
    "VERDICT_WORDS",
    "Check",
    "Claim",
    "Finding",
    "Judgement",
    "Verdict",
    "judge",
    "verdict_of",
]

FloatArray = NDArray[np.float64]
Verdict = Literal["reproduced", "partly", "not", "not decided"]
#: An interval of fewer runs says nothing.
INTERVAL_RUNS = 4
#: How a verdict is written.
VERDICT_WORDS: dict[Verdict, str] = {
    "reproduced": "reproduced",
    "partly": "partly reproduced",
    "not": "not reproduced",
    "not decided": "not decided",
}
Outcome = Literal["holds", "reversed", "no clear difference", "does not hold", "not decided"]
Relation = Literal["above", "not below", "close", "within", "never below"]


@dataclass(frozen=True)
class Check:
    """One comparison, made on each of some data sets.

    Parameters
    ----------
    first, second : Quantity
    relation : {"above", "not below", "close", "within", "never below"}
        ``above``: first > second + margin. ``not below``: first > second - margin. ``close``:
        within the margin of each other. These are tested over runs. ``within``: the 95% interval
        of first - second reaches 0, so that first is as good as second as far as these runs can
        tell. ``never below``: first >= second in every single run, which no test can show, only
        count.
    data : tuple of str, default=()
        Empty: every data set of the experiment.
    score : str
        Column of the CSV.
    margin : float, default=0
        With ``factor``, a factor (10: ten times as much).
    factor : bool, default=False
        Compare logarithms, for quantities such as seconds.
    noise : float or None, default=0.0
        Share of wrong constraints; None takes whatever the experiment has.
    """

    first: Quantity
    second: Quantity
    relation: Relation = "above"
    data: tuple[str, ...] = ()
    score: str = "pairwise_f"
    margin: float = 0.0
    factor: bool = False
    noise: float | None = 0.0

    def __str__(self) -> str:
        margin = plain(self.margin)
        if self.factor:
            return f"{self.first} ≥ {margin} × {self.second}"
        words = {
            "above": f"> {self.second}" + (f" + {margin}" if self.margin else ""),
            "not below": f"> {self.second} - {margin}",
            "close": f"= {self.second} ± {margin}",
            "within": f"≥ {self.second} within the interval",
            "never below": f"≥ {self.second} in every run",
        }
        return f"{self.first} {words[self.relation]}"

    @property
    def place(self) -> str:
        """At which numbers of constraints, of the first and of the second if they differ."""
        return " / ".join(dict.fromkeys(x for x in (self.first.place, self.second.place) if x))


@dataclass(frozen=True)
class Claim:
    """What a paper says, in our words, and the checks that it stands or falls with.

    Parameters
    ----------
    key : str
    experiment : str
    text, source : str
    checks : tuple of Check
        Empty if no experiment can test it.
    need : {"all", "any"}, default="all"
        ``any``: the paper says "some", so one comparison that holds is enough.
    """

    key: str
    experiment: str
    text: str
    source: str
    checks: tuple[Check, ...] = ()
    need: Literal["all", "any"] = "all"


class Finding(NamedTuple):
    """What one check found on one data set."""

    check: Check
    data: str
    first: Interval
    second: Interval
    difference: Interval
    runs_for: int
    direction: int
    p: float
    adjusted: float
    outcome: Outcome
    reason: str


class Judgement(NamedTuple):
    """A claim, its verdict and what that rests on."""

    claim: Claim
    verdict: Verdict
    findings: tuple[Finding, ...]
    reason: str


def judge(claim: Claim, results: ResultTable | None) -> Judgement:
    """Make every comparison of a claim and give the verdict.

    The p values of a claim's comparisons are one family, adjusted by Holm's method.
    """
    if not claim.checks:
        return Judgement(claim, "not decided", (), "No experiment here can test this.")
    if results is None:
        return Judgement(claim, "not decided", (), f"{claim.experiment} has not been run.")
    findings = []
    for check in claim.checks:
        for data in check.data or results.names("data"):
            name = results.data_name(data)
            findings.append(_measure(check, Where(results, name, check.score, check.noise)))
    findings = _decide(findings)
    verdict = verdict_of([finding.outcome for finding in findings], claim.need)
    open_ = [f for f in findings if f.outcome == "not decided"]
    reason = ""
    if open_:
        reasons = "; ".join(dict.fromkeys(f.reason for f in open_))
        reason = f"{len(open_)} of {len(findings)} comparisons not decided: {reasons}."
    return Judgement(claim, verdict, tuple(findings), reason)


def verdict_of(outcomes: list[Outcome], need: Literal["all", "any"] = "all") -> Verdict:
    """Give the verdict on a claim by the outcomes of its comparisons.

    All hold: reproduced; some hold: partly; none holds, or they are reversed: not. Comparisons
    that are not decided leave the claim open unless they could not change the verdict any more.
    A claim that needs ``any`` is reproduced by one that holds.
    """
    held = outcomes.count("holds")
    undecided = outcomes.count("not decided")
    failed = len(outcomes) - held - undecided
    if need == "any" and held:
        return "reproduced"
    if held and failed:
        return "partly"
    if undecided or not outcomes:
        return "not decided"
    return "reproduced" if held else "not"


def _measure(check: Check, where: Where) -> Finding:
    """Pair the runs of both sides and test the differences; outcomes come later."""
    nothing = Interval(np.nan, np.nan, 0)
    reason = ""
    if not where.results.has(check.score):
        reason = f"no column `{check.score}` with values in {where.results.file.name}"
    elif where.data not in where.results.names("data"):
        reason = f"no cells of {where.data} yet"
    if reason:
        gap = (nothing, nothing, nothing, 0, 0, np.nan, np.nan)
        return Finding(check, where.data, *gap, "not decided", reason)
    one, two = check.first.per_run(where), check.second.per_run(where)
    _, a, b = np.intersect1d(one.runs, two.runs, return_indices=True)
    first, second = one.values[a], two.values[b]
    if check.factor:
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = np.log10(first), np.log10(second)
    both = np.isfinite(first) & np.isfinite(second)
    first, second = first[both], second[both]
    margin = np.log10(check.margin or 1.0) if check.factor else check.margin
    differences = first - second
    p, direction, runs_for = _test(differences, check.relation, float(margin))
    sides = interval(first), interval(second), interval(differences)
    return Finding(check, where.data, *sides, runs_for, direction, p, np.nan, "not decided", "")


def _test(d: FloatArray, relation: Relation, margin: float) -> tuple[float, int, int]:
    """Return p of a relation (nan if there is none), where the ranks point, and runs in favour."""
    if relation in ("within", "never below"):
        return np.nan, 0, int((d >= -1e-12).sum())
    above = signed_rank(d - margin if relation == "above" else d + margin)
    if relation != "close":
        return (
            above.p,
            above.direction,
            int((d > (margin if relation == "above" else -margin)).sum()),
        )
    below = signed_rank(margin - d)
    inside = int((np.abs(d) < margin).sum())
    return max(above.p, below.p), min(above.direction, below.direction), inside


def _decide(findings: list[Finding]) -> list[Finding]:
    """Adjust the p values within the family, then give each comparison its outcome."""
    tested = [i for i, f in enumerate(findings) if np.isfinite(f.p) and f.difference.n]
    adjusted = dict(zip(tested, holm([findings[i].p for i in tested]), strict=True))
    needed = runs_needed(len(tested))
    decided = []
    for i, finding in enumerate(findings):
        finding = finding._replace(adjusted=float(adjusted.get(i, np.nan)))
        n = finding.difference.n
        least = INTERVAL_RUNS if finding.check.relation == "within" else needed
        if not finding.reason and n < least:
            reason = f"{n} complete runs, {least} needed" if n else "no complete run of both sides"
            finding = finding._replace(reason=reason)
        if not finding.reason:
            finding = finding._replace(outcome=_outcome(finding))
        decided.append(finding)
    return decided


def _outcome(finding: Finding) -> Outcome:
    """Compare what was found with what was to be shown; p is already adjusted."""
    check, difference = finding.check, finding.difference
    if check.relation == "never below":
        return "holds" if finding.runs_for == difference.n else "does not hold"
    if check.relation == "within":
        return "holds" if difference.mean + difference.half_width >= 0 else "reversed"
    if not finding.adjusted < LEVEL:
        return "no clear difference"
    margin = np.log10(check.margin or 1.0) if check.factor else check.margin
    # The mean, which the curves show, and the ranks, which are tested, must point the same way.
    if check.relation == "close":
        inside = abs(difference.mean) < margin
    else:
        inside = difference.mean > (margin if check.relation == "above" else -margin)
    if inside and finding.direction > 0:
        return "holds"
    return "reversed" if not inside and finding.direction < 0 else "no clear difference"
