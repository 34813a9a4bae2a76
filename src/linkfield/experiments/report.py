"""One report of all experiments: curves, tables, and a verdict on every claim of the papers."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from ..io.files import replacing
from ..plots import need_matplotlib
from ..reports import Block, Figure, Heading, Note, Table, Text, to_html, to_markdown
from ._claim_section import claim_blocks
from ._experiment_section import experiment_blocks, unfinished
from ._harm import worse_than_nothing
from .claims import CLAIMS, claims_of
from .curves import styles_of
from .displays import DISPLAYS
from .result_table import ResultTable, read_table
from .verdicts import VERDICT_WORDS, Judgement, judge

__all__ = ["write_report"]

TITLE = "linkfield: the papers' experiments, rerun"
BADGES = {
    "reproduced": "good",
    "holds": "good",
    "partly reproduced": "half",
    "not reproduced": "bad",
    "reversed": "bad",
    "no clear difference": "bad",
    "does not hold": "bad",
    "not decided": "open",
}
HOW_TO_READ = (
    "A verdict rests on comparisons between methods, paired over runs. The folds of a run are "
    "averaged first, then the numbers of constraints that the comparison names; the differences of "
    "the runs are tested by Wilcoxon's signed-rank test (two-sided, exact; it needs no normal "
    "distribution, and differences between clusterings have jumps and ties), and the p values of "
    "all comparisons of one claim are adjusted by Holm's method. A comparison holds if its "
    "adjusted p is below 0.05 and the difference points the right way. All hold: reproduced; some: "
    "partly; none: not. With too few runs to reach 0.05, or results still missing, a claim is not "
    "decided. Intervals are Student's 95% intervals of the mean over runs."
)


def write_report(
    out: str | os.PathLike[str], *, path: str | os.PathLike[str] | None = None
) -> tuple[Path, Path]:
    """Read all results in a folder and write ``report.html`` and ``report.md``.

    Parameters
    ----------
    out : path-like
        Folder that holds NAME.csv and NAME.json for every experiment that was run.
    path : path-like, optional
        Where the page goes, by default ``out/report.html``. The Markdown file has the same name
        with the ending ``.md``, and its pictures are in the folder ``figures`` beside it.

    Returns
    -------
    html, markdown : Path

    Raises
    ------
    ValueError
        If a CSV file that has a JSON file beside it is not one of an experiment, or there is none.
    """
    folder = Path(out)
    page = Path(path) if path is not None else folder / "report.html"
    if page.suffix != ".html":
        raise ValueError(f"path must end in .html, got {page.name!r}; the Markdown goes beside it")
    found, left_out = _read_all(folder)
    need_matplotlib("the report's curves")
    blocks = _blocks(found, left_out)
    markdown = page.with_suffix(".md")
    pictures = page.parent / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for block in blocks:
        if isinstance(block, Figure):
            _write(pictures / f"{block.name}.png", block.png)
    _write(page, to_html(TITLE, blocks, BADGES).encode())
    _write(markdown, to_markdown(TITLE, blocks, "figures").encode())
    return page, markdown


def _write(file: Path, content: bytes) -> None:
    with replacing(file) as opened:
        opened.write(content)


def _read_all(folder: Path) -> tuple[dict[str, ResultTable], list[str]]:
    """Read the experiments of a folder; other CSV files are named, not read."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; run `linkfield experiment run NAME --out …`")
    files = sorted(folder.glob("*.csv"))
    ours = [f for f in files if f.stem in DISPLAYS or f.with_suffix(".json").exists()]
    if not ours:
        raise ValueError(
            f"{folder}: no results there; run `linkfield experiment run NAME --out {folder}` first"
        )
    order = {name: i for i, name in enumerate(DISPLAYS)}
    ours.sort(key=lambda file: (order.get(file.stem, len(order)), file.stem))
    return {f.stem: read_table(f) for f in ours}, [f.name for f in files if f not in ours]


def _blocks(found: dict[str, ResultTable], left_out: list[str]) -> list[Block]:
    judgements = {claim.key: judge(claim, found.get(claim.experiment)) for claim in CLAIMS}
    styles = styles_of(m for results in found.values() for m in results.names("method"))
    blocks: list[Block] = _summary(found, left_out, judgements)
    for name, results in found.items():
        blocks += experiment_blocks(results, styles)
        mine = [judgements[claim.key] for claim in claims_of(name)]
        if mine:
            blocks.append(Heading(3, "What the paper claims, and what was found"))
            for judgement in mine:
                blocks += claim_blocks(judgement, results.file.name)
    for name in DISPLAYS:
        if name not in found:
            blocks += _missing(name, [judgements[claim.key] for claim in claims_of(name)])
    return blocks


def _summary(
    found: dict[str, ResultTable], left_out: list[str], judgements: dict[str, Judgement]
) -> list[Block]:
    counts = Counter(judgement.verdict for judgement in judgements.values())
    told = ", ".join(f"{counts[v]} {words}" for v, words in VERDICT_WORDS.items() if counts[v])
    blocks: list[Block] = [Text(f"{len(judgements)} claims: {told}.")]
    missing = [name for name in DISPLAYS if name not in found]
    if missing:
        blocks.append(Note(f"Not run, so missing here: {', '.join(missing)}."))
    for results in found.values():
        if unfinished(results):
            blocks.append(Note(f"{results.name}: {unfinished(results)}"))
    if left_out:
        blocks.append(
            Note(f"CSV files without a JSON file beside them were not read: {', '.join(left_out)}.")
        )
    rows, links = [], {}
    for i, judgement in enumerate(judgements.values()):
        claim = judgement.claim
        rows.append([claim.text, claim.source, claim.experiment, VERDICT_WORDS[judgement.verdict]])
        links[i] = f"claim-{claim.key}"
    blocks += [
        Heading(2, "Verdicts", "verdicts"),
        Table(
            ["claim", "source", "experiment", "verdict"],
            rows,
            "The figures behind each verdict stand under its claim, with the file they come from.",
            words=frozenset({1, 2}),
            badges=frozenset({3}),
            links=links,
        ),
        Text(HOW_TO_READ, "soft"),
        *worse_than_nothing(found),
    ]
    return blocks


def _missing(name: str, judgements: list[Judgement]) -> list[Block]:
    display = DISPLAYS[name]
    blocks: list[Block] = [
        Heading(2, name, f"experiment-{name}"),
        Text(f"{display.paper}. {display.protocol}"),
        Note(
            f"Not run: there is no {name}.csv. `linkfield experiment run {name}` makes it, and "
            "until then its claims are not decided."
        ),
    ]
    for judgement in judgements:
        blocks += claim_blocks(judgement, f"{name}.csv")
    return blocks
