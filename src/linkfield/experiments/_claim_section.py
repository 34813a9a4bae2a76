"""The section of a report that holds one claim against the figures."""

from __future__ import annotations

from collections import Counter

from ..reports import Block, Heading, Table, Text
from ._numbers import figures, mean_and_half, p_text
from .claims import EXPLANATIONS
from .displays import column_name
from .quantities import plain
from .verdicts import VERDICT_WORDS, Finding, Judgement

__all__ = ["claim_blocks"]


def claim_blocks(judgement: Judgement, file: str) -> list[Block]:
    """Show one claim: what is claimed, the verdict, the figures, and our explanation."""
    claim = judgement.claim
    blocks: list[Block] = [
        Heading(4, claim.text, f"claim-{claim.key}", VERDICT_WORDS[judgement.verdict]),
        Text(f"{claim.source}. Claim `{claim.key}`. {judgement.reason}".strip(), "soft"),
    ]
    explanation = EXPLANATIONS.get(claim.key)
    if explanation:
        blocks.append(Text(f"Our explanation: {explanation}"))
    elif judgement.verdict in ("partly", "not"):
        blocks.append(Text("Our explanation: none yet."))
    if judgement.findings:
        blocks.append(_findings(judgement, file))
    return blocks


def _findings(judgement: Judgement, file: str) -> Table:
    rows = [
        [
            f.data,
            str(f.check),
            f.check.place or "all",
            *_sides(f),
            f"{f.runs_for} of {f.difference.n}",
            p_text(f.adjusted),
            f.outcome,
        ]
        for f in judgement.findings
    ]
    counts = Counter(f.outcome for f in judgement.findings)
    told = ", ".join(f"{outcome} {number}" for outcome, number in counts.most_common())
    scores = ", ".join(dict.fromkeys(f"`{column_name(c.score)}`" for c in judgement.claim.checks))
    noises = [plain(c.noise) for c in judgement.claim.checks if c.noise is not None]
    kept = f", noise = {', '.join(dict.fromkeys(noises))}" if noises else ""
    return Table(
        ["data", "comparison", "constraints", "first", "second", "difference", "runs for it",
         "p (Holm)", "outcome"],
        rows,
        f"From `{file}`, column {scores}{kept}, rows of the data, methods and constraints named; "
        "complete runs only; signed-rank test over runs.",
        words=frozenset({1, 2}),
        badges=frozenset({8}),
        folded=f"{len(rows)} comparison{'s' * (len(rows) > 1)}: {told}",
    )  # fmt: skip


def _sides(finding: Finding) -> list[str]:
    """Write both means and their difference; of logarithms, as factors."""
    first, second, difference = finding.first, finding.second, finding.difference
    score = finding.check.score
    if not finding.check.factor:
        return [figures(first.mean, score), figures(second.mean, score),
                mean_and_half(difference, score)]  # fmt: skip
    low, high = (10 ** (difference.mean + s * difference.half_width) for s in (-1, 1))
    factor = f"× {10**difference.mean:.3g}"
    return [
        figures(10**first.mean, score),
        figures(10**second.mean, score),
        f"{factor} ({low:.3g} to {high:.3g})" if difference.n > 1 else factor,
    ]
