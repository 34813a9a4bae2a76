"""Claims of 000, 002, 003 and 004: k-means with constraints and learned distances."""

from __future__ import annotations

from .quantities import ALL, LEAST, MOST, SOME, Constant, Counts, Gain, Lead, Score, at
from .verdicts import Check, Claim

__all__ = ["BASU_2003", "BASU_2004", "BILENKO_2004", "PRITSOS"]

#: "Few", "early" and "many" constraints.
FEW, EARLY, MANY = Counts(0.5, 50), Counts(0.5, 100), Counts(low=200)
#: A difference of scores too small to matter, and one that is "insubstantial".
SMALL, INSUBSTANTIAL = 0.02, 0.05

UCI = ("Iris", "Wine", "Digits-389", "Letter-IJL")
NEWS = ("News-Different-3", "News-Related-3", "News-Similar-3")
COSINE = tuple(f"{name} (cosine)" for name in NEWS)
DIVERGENCE = tuple(f"{name} (i-divergence)" for name in NEWS)
INFERENCE = ("Iris", "Protein", "Letter-IJL")
GENRES = ("genre7", "genre_ki04")

K, M, PC, MPC, MPC_2003 = "K-Means", "M-KMeans", "PC-KMeans", "MPC-KMeans", "MPC-KMeans 2003"
START, IC, ICD = "KMeans-I", "KMeans-I-C", "KMeans-I-C-D"


def _unified(key: str, method: str, which: str) -> tuple[Claim, Claim]:
    """Give the main claims of 003 for one form of MPC-KMeans."""
    parts = tuple(Check(Score(method, SOME), Score(part, SOME), data=UCI) for part in (PC, M))
    plain = (Check(Score(method, SOME), Score(K, SOME), data=UCI),)
    return (
        Claim(
            f"003-unified-{key}",
            "basu2003",
            f"Constraints and metric learning together ({which}) beat either alone, on all four "
            "data sets.",
            "003 section 4.2",
            parts,
        ),
        Claim(
            f"003-unified-over-k-means-{key}",
            "basu2003",
            f"Constraints and metric learning together ({which}) beat K-Means, on all four.",
            "003 section 4.2",
            plain,
        ),
    )


BASU_2003 = (
    *_unified("default", MPC, "MPC-KMeans with this library's penalty"),
    *_unified("printed", MPC_2003, "MPC-KMeans with the penalty as printed in 2003"),
    Claim(
        "003-constraints-help",
        "basu2003",
        "Constraints are good for the clusters: every curve that uses them ends above its start.",
        "003 section 4.2",
        tuple(Check(Score(m, MOST), Score(m, LEAST), data=UCI) for m in (MPC, M, PC)),
    ),
    Claim(
        "003-each-alone-helps",
        "basu2003",
        "Metric learning alone and constrained search alone can each improve on K-Means, metric "
        "learning only with enough constraints (here: the most there are).",
        "003 section 1",
        tuple(Check(Score(m, MOST), Score(K, MOST), data=UCI) for m in (M, PC)),
    ),
    Claim(
        "003-metric-without-constraints",
        "basu2003",
        "On Wine and Letter-IJL learning the metric helps even with no constraint at all.",
        "003 section 4.2",
        (
            Check(Score(M, at(0)), Score(K, at(0)), data=("Wine", "Letter-IJL")),
            Check(Score(MPC, at(0)), Score(PC, at(0)), data=("Wine", "Letter-IJL")),
        ),
    ),
    Claim(
        "003-wine-gains-little",
        "basu2003",
        "On Wine constraints add next to nothing once the metric is learned.",
        "003 section 4.2",
        tuple(
            Check(Score(m, MOST), Score(m, LEAST), "close", ("Wine",), margin=INSUBSTANTIAL)
            for m in (MPC, M)
        ),
    ),
    Claim(
        "003-dip",
        "basu2003",
        "Some curves of metric learning dip: with few constraints they fall below their start.",
        "003 section 4.2",
        tuple(Check(Score(m, LEAST), Score(m, FEW), data=UCI) for m in (M, MPC, MPC_2003)),
        need="any",
    ),
    Claim(
        "003-seeding-at-once",
        "basu2003",
        "A few constraints improve PC-KMeans at once.",
        "003 section 4.2",
        (Check(Score(PC, FEW), Score(PC, LEAST), data=UCI),),
    ),
    Claim(
        "003-seeding-diminishes",
        "basu2003",
        "Further constraints improve PC-KMeans ever less.",
        "003 section 4.2",
        (
            Check(
                Gain(PC, LEAST, Counts(0.5, 50, "most")),
                Gain(PC, Counts(0.5, 50, "most"), MOST),
                data=UCI,
            ),
        ),
    ),
    Claim(
        "003-search-first",
        "basu2003",
        "With few constraints, constrained search is more accurate than metric learning.",
        "003 section 6",
        (Check(Score(PC, FEW), Score(M, FEW), data=UCI),),
    ),
)


def _nmi(first: Score, second: Score, data: tuple[str, ...] = COSINE + DIVERGENCE) -> Check:
    return Check(first, second, data=data, score="nmi")


BASU_2004 = (
    Claim(
        "004-full-over-k-means",
        "basu2004",
        "The full method beats K-Means, with cosine and with I-divergence.",
        "004 section 4.4",
        (_nmi(Score(ICD, SOME), Score(K, SOME)),),
    ),
    Claim(
        "004-full-over-ablations",
        "basu2004",
        "The full method beats its ablations: using constraints in all three stages always "
        "improves the clusters substantially.",
        "004 section 4.4",
        (_nmi(Score(ICD, SOME), Score(IC, SOME)), _nmi(Score(ICD, SOME), Score(START, SOME))),
    ),
    Claim(
        "004-initialisation",
        "basu2004",
        "Starting from the constraints' neighbourhoods is highly beneficial.",
        "004 section 4.4",
        (_nmi(Score(START, SOME), Score(K, SOME)),),
    ),
    Claim(
        "004-assignment-cosine",
        "basu2004",
        "With cosine, constraints in the assignment step add no significant improvement to the "
        f"start (here: no more than {SMALL:g} NMI).",
        "004 section 4.4",
        (Check(Score(START, SOME), Score(IC, SOME), "not below", COSINE, "nmi", margin=SMALL),),
    ),
    Claim(
        "004-assignment-divergence",
        "basu2004",
        "With I-divergence, constraints in the assignment step help on News-Different-3 and "
        "News-Similar-3.",
        "004 section 4.4",
        (_nmi(Score(IC, SOME), Score(START, SOME), (DIVERGENCE[0], DIVERGENCE[2])),),
    ),
    Claim(
        "004-assignment-related",
        "basu2004",
        "With I-divergence on News-Related-3 it is the other way round.",
        "004 section 4.4",
        (_nmi(Score(START, SOME), Score(IC, SOME), DIVERGENCE[1:2]),),
    ),
    Claim(
        "004-each-stage",
        "basu2004",
        "Overall, each of the three stages (start, assignment, distance) improves the clusters.",
        "004 section 4.4",
        tuple(
            _nmi(Score(a, SOME), Score(b, SOME)) for a, b in ((START, K), (IC, START), (ICD, IC))
        ),
    ),
    Claim(
        "004-distance-without-constraints",
        "basu2004",
        "Learning the distance helps even with no constraint at all.",
        "004 section 4.4",
        (_nmi(Score(ICD, at(0)), Score(IC, at(0))),),
    ),
    Claim(
        "004-early",
        "basu2004",
        "The full method is ahead of its ablations and of K-Means early on the curve (here: up to "
        "100 constraints).",
        "004 section 4.4",
        tuple(_nmi(Score(ICD, EARLY), Score(other, EARLY)) for other in (IC, START, K)),
    ),
    Claim(
        "004-constraints-help",
        "basu2004",
        "Constraints can improve the clusters of small, sparse text collections significantly.",
        "004 section 4.1",
        (_nmi(Score(ICD, MOST), Score(ICD, LEAST)),),
    ),
    Claim(
        "004-different-is-easier",
        "basu2004",
        "News-Similar-3 and News-Related-3 are harder than News-Different-3.",
        "004 section 4.1",
        tuple(
            _nmi(Score(ICD, ALL, f"{NEWS[0]} ({kind})"), Score(ICD, ALL), (f"{name} ({kind})",))
            for kind in ("cosine", "i-divergence")
            for name in NEWS[1:]
        ),
    ),
)


def _inference(key: str, greedy: str, which: str) -> tuple[Claim, ...]:
    """Give the claims of 000 for one form of ICM."""
    others = ("BP", "LP")
    few = [Check(Score(m, FEW), Score(greedy, FEW), data=INFERENCE) for m in others]
    leads = [Check(Lead(m, greedy, FEW), Lead(m, greedy, MANY), data=INFERENCE) for m in others]
    many = [
        Check(Score(greedy, MANY), Score(m, MANY), "not below", INFERENCE, margin=SMALL)
        for m in others
    ]
    fast = [
        Check(Score(m, SOME), Score(greedy, SOME), "above", INFERENCE, "seconds", 10, factor=True)
        for m in others
    ]
    source = "000 section 4.2"
    return (
        Claim(
            f"000-global-with-few-{key}",
            "bilenko2004",
            "With few constraints, belief propagation and the linear program give better clusters "
            f"than {which}.",
            source,
            tuple(few),
        ),
        Claim(
            f"000-returns-diminish-{key}",
            "bilenko2004",
            f"The lead of belief propagation and the linear program over {which} shrinks with more "
            "constraints.",
            source,
            tuple(leads),
        ),
        Claim(
            f"000-equal-with-many-{key}",
            "bilenko2004",
            f"From some number of constraints on (here: 200), {which} does no worse than the "
            f"others (here: at most {SMALL:g} F).",
            source,
            tuple(many),
        ),
        Claim(
            f"000-icm-is-fast-{key}",
            "bilenko2004",
            "Belief propagation and the linear program take at least ten times as long as "
            f"{which}.",
            source,
            tuple(fast),
        ),
    )


BILENKO_2004 = (
    *_inference("printed", "ICM (single rows)", "ICM as in the paper, one row at a time"),
    *_inference("default", "ICM", "this library's ICM, which also moves components"),
)

PRITSOS = (
    Claim(
        "002-monotone",
        "pritsos",
        "Does the objective fall in every step, fixed or learned, with the prior or without? The "
        "theory says so; the author's implementation did not.",
        "002 sections 2.3 and 2.4",
        tuple(
            Check(Constant(0.0), Score(m), "never below", GENRES, "rises", noise=None)
            for m in ("fixed", "no prior", "learned", "Rayleigh")
        ),
    ),
    Claim(
        "002-equation-26",
        "pritsos",
        "The sum of eq. 26 falls up to a point and then rises again (here: it rises in more than "
        "one step for every two fits).",
        "002 section 2.4",
        (
            Check(
                Score("learned"), Constant(0.5), data=GENRES, score="rises_equation_26", noise=None
            ),
        ),
    ),
    Claim(
        "002-bounded-below",
        "pritsos",
        "The objective is bounded below by zero, also without the normalisers.",
        "002 section 2.3",
        tuple(
            Check(Score(m), Constant(0.0), "never below", GENRES, "objective", noise=None)
            for m in ("fixed", "no prior", "learned")
        ),
    ),
    Claim(
        "002-prior-matters",
        "pritsos",
        "Is the Rayleigh prior of the weights essential? If so, learning with it gives better "
        "clusters than without.",
        "002 section 2.4",
        (_nmi(Score("Rayleigh", SOME), Score("no prior", SOME), GENRES),),
    ),
    Claim(
        "002-any-prior",
        "pritsos",
        "Our addition: any prior will do (here: the library's own gives clusters as good as "
        f"Rayleigh's, within {SMALL:g} NMI).",
        "ours, after 002 section 2.4",
        (
            Check(
                Score("learned", SOME),
                Score("Rayleigh", SOME),
                "close",
                GENRES,
                "nmi",
                margin=SMALL,
            ),
        ),
    ),
    Claim(
        "002-learning-helps",
        "pritsos",
        "Adapting the distance brings similar points together: learned weights give better "
        "clusters than fixed ones.",
        "002 section 2.2",
        tuple(_nmi(Score(m, SOME), Score("fixed", SOME), GENRES) for m in ("learned", "Rayleigh")),
    ),
    Claim(
        "002-structure-of-constraints",
        "pritsos",
        "Should constraints be pairs or a graph, and is (5, 6) the same as (6, 5)?",
        "002 section 2.4",
    ),
    Claim(
        "002-normalisers",
        "pritsos",
        "May the normalisers Z be left out?",
        "002 section 2.4",
    ),
    Claim(
        "002-positive-definite",
        "pritsos",
        "How is it ensured that the weights stay positive?",
        "002 section 2.3",
    ),
)
