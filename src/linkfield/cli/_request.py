"""What the user of ``linkfield fit`` asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._mistakes import Mistake

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What the user asked for: the options of the command, by their names."""

    data: Path
    clusters: int | None = None
    id_column: str | None = None
    label_column: str | None = None
    text_column: str | None = None
    embedding_column: str | None = None
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    scale: str = "auto"
    svd: int | None = None
    stop_words: str | None = None
    words: int = 20_000
    dtype: str = "float64"
    constraints: tuple[Path, ...] = ()
    groups: Path | None = None
    allow_contradictions: bool = False
    estimator: str = "hmrf"
    parameters: dict[str, Any] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    seed: int = 0
    report: bool = True

    def __post_init__(self) -> None:
        given = [
            name
            for name, value in (
                ("--text-column", self.text_column),
                ("--embedding-column", self.embedding_column),
                ("--columns", self.columns),
            )
            if value
        ]
        if len(given) > 1:
            raise Mistake(f"{given[0]} and {given[1]} say two different things; leave one out")
        if self.groups is not None and self.estimator != "mixture":
            raise Mistake(
                "--groups are for mixtures; add --estimator mixture, or use --constraints"
            )
        if self.text_column is None and self.svd is not None:
            raise Mistake("--svd is for texts; name the --text-column, or leave it out")
        if self.text_column and self.estimator == "mixture" and self.svd is None:
            raise Mistake("a mixture needs fewer columns than texts have words; add --svd 20")

    @property
    def directional(self) -> bool:
        """Whether rows are texts or embeddings, which are best compared by their direction."""
        return bool(self.text_column or self.embedding_column)

    @property
    def inputs(self) -> list[Path]:
        """All files that are read."""
        return [self.data, *self.constraints, *([] if self.groups is None else [self.groups])]

    @property
    def names(self) -> list[str]:
        """The files that will be written, but that mixed ids turn CSV into JSON lines."""
        sure = ["labels.csv", "model.skops", "violations.csv", "run.json"]
        more = {
            "report.html": self.report,
            "known_labels.csv": self.label_column,
            "constraints.csv": self.constraints,
            "groups.csv": self.groups,
        }
        return sure + [name for name, wanted in more.items() if wanted]

    def says(self, parameter: str) -> bool:
        """Whether a parameter was given, as an option or by --set."""
        given = {pair.partition("=")[0].strip() for pair in self.extra}
        return self.parameters.get(parameter) is not None or parameter in given
