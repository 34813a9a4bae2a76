"""What a fit found, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..evaluation import constraint_satisfaction
from ..plots.reading import Fitted
from ._words import count, number
from .document import Block, Note, Text

__all__ = ["kept_counts", "summary_blocks"]

_MEASURES = {
    "euclidean": "squared Euclidean distances",
    "cosine": "cosine distances",
    "correlation": "correlations",
    "i-divergence": "I-divergences",
    "kl": "Kullback-Leibler divergences",
    "itakura-saito": "Itakura-Saito divergences",
    "logistic": "logistic divergences",
}
_METRICS = {
    "identity": "no metric was learned",
    "diagonal": "one weight a feature was learned",
    "full": "a full matrix was learned",
    "diagonal-per-cluster": "one weight a feature was learned for every cluster",
    "full-per-cluster": "a full matrix was learned for every cluster",
}


def summary_blocks(found: Fitted) -> list[Block]:
    """Say how large the data is, how the fit went, what it keeps, and how it measures."""
    model, sizes = found.model, np.bincount(found.labels, minlength=found.n_clusters)
    n, d = found.X.shape
    filled = int((sizes > 0).sum())
    blocks: list[Block] = [
        Text(
            f"{count(n, 'row')} of {count(d, 'feature')} in {count(filled, 'cluster')}, found by "
            f"`{type(model).__name__}` with {_measure(model)}; the largest has "
            f"{count(int(sizes.max()), 'row')}, the smallest "
            f"{count(int(sizes[sizes > 0].min()), 'row')}."
        ),
        Text(_course(model)),
        Text(_kept(found)),
        *_metric(model),
    ]
    if not model.converged_:
        blocks.append(Note("The fit stopped before it converged; raise `max_iter`, or `tol`."))
    if filled < found.n_clusters:
        empty = found.n_clusters - filled
        blocks.append(Note(f"{count(empty, 'cluster')} of {found.n_clusters} found no rows."))
    return blocks


def _measure(model: Any) -> str:
    if not hasattr(model, "distortion"):
        return f"Gaussians of {model.covariance_type} covariance"
    name = str(getattr(model.distortion, "name", model.distortion))
    return _MEASURES.get(name, f"the distortion {name}")


def _course(model: Any) -> str:
    mixture = not hasattr(model, "history_")
    soft = hasattr(model, "marginals_")
    what = "log posterior" if mixture else "free energy" if soft else "objective"
    ended = "converged" if model.converged_ else "had not converged"
    text = f"The fit {ended} after {count(int(model.n_iter_), 'iteration')}; the {what} is "
    text += f"{number(float(model.objective_))}."
    bound = getattr(model, "lower_bound_", -np.inf)
    if not mixture and np.isfinite(bound):
        gap = float(model.objective_) - float(bound)
        if gap <= 1e-10 * abs(float(model.objective_)):
            return text + " Under these centres and this metric no other labels are better: proven."
        text += (
            f" Under these centres and this metric no labels could bring it below {number(bound)}"
            f" ({number(gap)} less)."
        )
    return text


def kept_counts(found: Fitted) -> tuple[int, int]:
    """Return how many constraints there are and how many are kept."""
    kept = constraint_satisfaction(found.constraints, found.labels)
    n = kept.n_must_link + kept.n_cannot_link
    shares = ((kept.n_must_link, kept.must_link), (kept.n_cannot_link, kept.cannot_link))
    return n, sum(round(size * share) for size, share in shares if size)


def _kept(found: Fitted) -> str:
    n, kept = kept_counts(found)
    if not n:
        return "No constraints were given."
    known = found.constraints
    text = (
        f"Of {count(n, 'constraint')} ({count(known.n_must_link, 'must-link')}, "
        f"{count(known.n_cannot_link, 'cannot-link')}, on "
        f"{count(len(known.tied_rows()), 'row')}) "
    )
    if kept == n:
        return text + "all are kept." if n > 1 else "The one constraint that was given is kept."
    broken = n - kept
    return text + f"{kept:,} {'is' if kept == 1 else 'are'} kept and {broken:,} violated."


def _metric(model: Any) -> list[Block]:
    kind = getattr(model, "metric_kind_", None)
    if kind is None:
        return []
    text = f"Metric `{kind}`: {_METRICS.get(kind, 'learned')}"
    table = getattr(model, "metric_choice_", None)
    if table is None:
        return [Text(f"{text}, as the parameters ask.")]
    if not len(table):
        return [Text(f"{text}. It is the usual choice: there was too little to compare others by.")]
    lines = ", ".join(
        f"`{line['metric']}` {line['kept']:.0%} ± {line['error']:.0%}" for line in table
    )
    n = int(table["n_pairs"][0])
    return [
        Text(
            f"{text}. It was chosen by constraints that a fit had not seen: of {n:,} held-out "
            f"pairs the candidates kept {lines} (the first is taken unless another is better by "
            "more than a standard error)."
        )
    ]
