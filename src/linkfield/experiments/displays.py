"""How the report shows each experiment: its scores, the order of things, its protocol in words."""

from __future__ import annotations

from dataclasses import dataclass

from .result_table import RECOVERED, ResultTable

__all__ = ["BASELINES", "DISPLAYS", "SCORES", "Display", "column_name", "display_of", "in_order"]

#: Value columns and what they are called; whether more is better (None: neither).
SCORES: dict[str, tuple[str, bool | None]] = {
    "pairwise_f": ("pairwise F", True),
    "nmi": ("NMI", True),
    "ari": ("adjusted Rand index", True),
    "accuracy": ("accuracy", True),
    "recovered": ("share of runs that found the vertical clusters", True),
    "objective": ("objective", None),
    "energy": ("energy", False),
    "seconds": ("seconds a fit", False),
    "iterations": ("iterations", None),
    "violated": ("violated constraints", None),
    "satisfied_held_out": ("held-out constraints kept", True),
    "rises": ("steps in which the objective rose", False),
    "rises_equation_26": ("steps in which eq. 26 rose", None),
}

#: Methods that no constraint reaches.
BASELINES = ("K-Means", "k-means", "KMeans", "none", "none full", "none tied")


@dataclass(frozen=True)
class Display:
    """What the report says of an experiment beside its results.

    Parameters
    ----------
    paper, protocol : str
    scores : tuple of str
        Columns to draw and tabulate; the first is the one that methods are judged by.
    data, methods : tuple of str
        Their order; any others follow.
    runs : int, default=0
        How many the paper made; 0 if there is no paper.
    axis : str
        What the horizontal axis counts.
    """

    paper: str = ""
    protocol: str = ""
    scores: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    runs: int = 0
    axis: str = "constraints"


DISPLAYS = {
    "basu2003": Display(
        "003: Basu, Bilenko & Mooney 2003",
        "Random pairs from nine of ten folds, unit weights, squared Euclidean distance with a "
        "diagonal metric; all rows are clustered, pairwise F on the tenth fold.",
        ("pairwise_f",),
        ("Iris", "Wine", "Digits-389", "Letter-IJL"),
        ("K-Means", "M-KMeans", "PC-KMeans", "MPC-KMeans", "MPC-KMeans 2003"),
        50,
    ),
    "basu2004": Display(
        "004: Basu, Bilenko & Mooney 2004",
        "100 texts of each of three newsgroups as TF-IDF; random pairs from one half of the rows, "
        "all rows clustered by cosine or by I-divergence, NMI on the other half.",
        ("nmi",),
        tuple(
            f"News-{name}-3 ({kind})"
            for kind in ("cosine", "i-divergence")
            for name in ("Different", "Related", "Similar")
        ),
        ("K-Means", "KMeans-I", "KMeans-I-C", "KMeans-I-C-D"),
        20,
    ),
    "bilenko2004": Display(
        "000: Bilenko & Basu 2004",
        "Ways to make the assignment step of HMRF-KMeans with a learned metric; random pairs from "
        "one half of the rows, pairwise F on the other, energy of the first assignment, time.",
        ("pairwise_f", "energy", "seconds"),
        ("Iris", "Protein", "Letter-IJL"),
        ("ICM (single rows)", "ICM", "BP", "LP", "mean field", "auto"),
        10,
    ),
    "law2005-synthetic": Display(
        "001: Law, Topchy & Jain 2005",
        "Four Gaussians that look like two horizontal clusters, and noisy pairs that ask for two "
        "vertical ones; found if at least 85% of the rows agree with the vertical truth.",
        ("recovered", "accuracy"),
        (),
        tuple(f"{k} {c}" for c in ("full", "tied") for k in ("none", "soft", "hard", "posterior")),
        1,
        "% of the rows in constraints",
    ),
    "law2005-teachers": Display(
        "001: Law, Topchy & Jain 2005",
        "Teachers of varying confidence label a few rows each, with errors; half of the rows are "
        "clustered in principal components, accuracy on the other half.",
        ("accuracy",),
        ("wdbc", "derm", "image"),
        ("none", "soft", "hard", "posterior"),
        10,
        "% of the rows in constraints",
    ),
    "pritsos": Display(
        "002: Pritsos & Stamatatos",
        "Web pages by genre as TF-IDF with cosine: weights fixed, and learned without a prior, "
        "with this library's and with Rayleigh's. The paper asks questions, without an experiment.",
        ("nmi", "objective", "rises", "rises_equation_26"),
        ("genre7", "genre_ki04"),
        ("fixed", "no prior", "learned", "Rayleigh"),
    ),
    "modern": Display(
        "Beyond the papers",
        "Sentence embeddings, images and single cells, with up to 2,000 constraints of which a "
        "share is wrong.",
        ("ari", "nmi"),
    ),
    "defaults": Display(
        "Beyond the papers",
        "Kinds of metric and numbers of starts: what the defaults rest on.",
        ("ari",),
    ),
    "weights": Display(
        "Beyond the papers",
        "How much the weight of the constraints matters.",
        ("ari",),
    ),
    "peers": Display(
        "Beyond the papers",
        "Rows outside the constraints only, against k-means and the package of 2018.",
        ("ari", "seconds"),
    ),
}


def display_of(results: ResultTable) -> Display:
    """Give the display of an experiment; one that is not listed shows its first score."""
    display = DISPLAYS.get(results.name, Display())
    shown = tuple(score for score in display.scores if results.has(score))
    if not shown:
        shown = tuple(s for s in ("pairwise_f", "nmi", "ari", "accuracy") if results.has(s))[:1]
    return Display(**{**vars(display), "scores": shown})


def in_order(names: list[str], order: tuple[str, ...]) -> list[str]:
    """Sort names: those listed first and in that order, then the others as they come."""
    place = {name.casefold(): i for i, name in enumerate(order)}
    return sorted(names, key=lambda name: place.get(name.casefold(), len(place)))


def column_name(score: str) -> str:
    """Say where a score stands in the CSV file; one is worked out from another column."""
    return f"accuracy >= {RECOVERED}" if score == "recovered" else score
