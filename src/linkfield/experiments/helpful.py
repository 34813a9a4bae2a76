"""Do my constraints help? Answered on the user's own data, by constraints that fits do not see."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from .._random import RandomState, as_generator
from ..constraints import Constraints
from ..constraints.conflicts import count_conflicts
from ..constraints.held_out import Question, Split, asked, draw_splits
from ._help_fits import Answer, answer
from ._help_report import (
    HELP,
    HURT,
    MEASURES,
    PAIRS,
    SAME,
    SPLITS,
    TOO_FEW,
    ConstraintsHelp,
)
from ._help_tables import (
    Kept,
    best_weight,
    counts,
    pair_table,
    split_table,
    stability,
    weight_table,
)

__all__ = ["ConstraintsHelp", "constraints_help"]

IntArray = NDArray[np.int64]

#: With fewer pairs, or with 0 inside an interval that reaches further than this to either side,
#: nothing can be told.
FEWEST_PAIRS, WIDEST = 20, 0.2


def constraints_help(
    estimator: Any,
    X: Any,
    constraints: Constraints,
    *,
    n_splits: int = 5,
    n_repeats: int = 4,
    weights: Sequence[float] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ConstraintsHelp:
    """Say whether constraints help an estimator on some data.

    Bad constraint sets can make a clustering worse (Davidson, Wagstaff & Basu 2006), and without
    labels nobody would see it. But constraints that help also make the fit keep constraints that
    it has not seen. So the constraints of some rows are hidden, in turn; copies of the estimator
    are fitted with those of the other rows, and with none; and the hidden constraints judge both.
    The verdict is that of the balanced share kept, (must-links kept + cannot-links kept) / 2,
    which is 1/2 for any clustering that knows nothing of the constraints.

    Parameters
    ----------
    estimator : estimator
        :class:`~linkfield.HMRFKMeans`, its relatives,
        :class:`~linkfield.ConstrainedGaussianMixture` or any other whose ``fit`` takes
        ``constraints=``. It is copied and left as it is.
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    constraints : Constraints
        Pairs or labels; ``Constraints.from_labels(partial_labels)`` makes them of labels.
    n_splits : int, default=5
        Every repeat deals rows out to so many folds, rows that must-links join together, and
        hides the constraints of one fold at a time. A pair is held out when either row is hidden;
        nothing that the others entail is then known about it.
    n_repeats : int, default=4
    weights : sequence of float, optional
        Values of the estimator's ``constraint_weight`` (``strength`` of a mixture) to try as well,
        on the same splits.
    random_state : int, Generator, RandomState or None, default=None
        Draws the splits, and the ``random_state`` of every fit: fits with and without constraints
        have the same.
    n_jobs : int or None, default=None
        Processes, as in joblib; the result does not depend on it.

    Returns
    -------
    ConstraintsHelp
        The verdict, and what it rests on.

    Notes
    -----
    The interval says how far the difference may be due to the choice of pairs, of splits and of
    starts: its variance is that over pairs, those that share rows taken together, plus that over
    repeats. Repeats alone would not do, since they all look at the same pairs. Where constraints
    say nothing it holds 0 in 95% of all cases or somewhat more.

    Hard constraints stay hard. Constraints that the estimator cannot be fitted with, since they
    contradict each other or need more clusters, raise what its ``fit`` raises.

    Examples
    --------
    Groups that differ in one feature; another one is louder and means nothing.

    >>> import numpy as np
    >>> from linkfield import Constraints, HMRFKMeans, constraints_help
    >>> rng = np.random.default_rng(0)
    >>> group = np.repeat([0, 1], 60)
    >>> X = np.column_stack([group + rng.normal(0, 0.3, 120), rng.normal(0, 1, 120)])
    >>> known = Constraints.from_labels(group, n_pairs=80, random_state=0)
    >>> found = constraints_help(HMRFKMeans(2), X, known, n_repeats=2, random_state=0)
    >>> found.verdict
    'they help'
    """
    n_rows = _checked(estimator, X, constraints, n_splits, n_repeats)
    name, settings = _settings(estimator, weights)
    rng = as_generator(random_state)
    question = asked(constraints, n_splits, rng)
    if question.n_units < 2 or len(question.ends) < 2:
        return _nothing(constraints, question)
    n_splits = min(n_splits, question.n_units)
    splits = draw_splits(constraints, question, n_splits, n_repeats, rng)
    free = np.setdiff1d(np.arange(n_rows), question.rows)
    try:
        answers: list[Answer] = Parallel(n_jobs=n_jobs)(
            delayed(answer)(estimator, X, split, question, settings, free) for split in splits
        )
    except ValueError as error:
        error.add_note("raised by a fit with a part of the constraints, inside constraints_help")
        raise
    return _report(constraints, question, splits, answers, free, weights, settings, name)


def _checked(estimator: Any, X: Any, constraints: Any, n_splits: Any, n_repeats: Any) -> int:
    """Refuse what makes no sense; return the number of rows."""
    if not isinstance(constraints, Constraints):
        raise TypeError(
            f"constraints must be a linkfield.Constraints, got {type(constraints).__name__}; make "
            "one of labels with Constraints.from_labels(partial_labels)"
        )
    for name, value, least in (("n_splits", n_splits, 2), ("n_repeats", n_repeats, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number >= {least}, got {value!r}")
    taken = inspect.signature(estimator.fit).parameters.values()
    if not any(p.name == "constraints" or p.kind is p.VAR_KEYWORD for p in taken):
        raise TypeError(
            f"{type(estimator).__name__}.fit takes no constraints=; pass an estimator that does, "
            "such as linkfield.HMRFKMeans"
        )
    n_rows = int(_num_samples(X))
    ids = constraints.sample_id
    if ids is not None and (len(ids) != n_rows or not constraints.knows_positions):
        raise ValueError(
            "the constraints name rows by id: pass constraints.align(ids) with the id of every row "
            "of X, in order"
        )
    constraints.check_rows(n_rows)
    return n_rows


def _settings(
    estimator: Any, weights: Sequence[float] | None
) -> tuple[str, list[dict[str, float]]]:
    """Return what the weight is called, and the parameters to try: the estimator's own first."""
    if weights is None:
        return "constraint_weight", [{}]
    if len(weights) == 0:
        raise ValueError("weights is empty; give some values to try, such as (0.01, 0.1, 1)")
    parameters = estimator.get_params()
    for name in ("constraint_weight", "strength"):
        if name in parameters:
            return name, [{}, *({name: float(w)} for w in weights)]
    raise ValueError(
        f"{type(estimator).__name__} has no constraint_weight to try values of; leave weights out"
    )


def _nothing(constraints: Constraints, question: Question) -> ConstraintsHelp:
    """Return the answer where there is too little even to split."""
    n = len(question.ends)
    note = f"{n} pair{'' if n == 1 else 's'} cannot be split into some to fit with and some to test"
    unknown = [np.nan] * 6
    lines = [(name, count, *unknown) for name, count in counts(question).items()]
    measures = np.array(lines, dtype=MEASURES)
    return ConstraintsHelp(
        TOO_FEW,
        measures,
        np.empty(0, dtype=SPLITS),
        np.empty(0, dtype=PAIRS),
        n_contradictions=count_conflicts(constraints),
        notes=(note + ".",),
    )


def _report(
    constraints: Constraints,
    question: Question,
    splits: list[Split],
    answers: list[Answer],
    free: IntArray,
    weights: Sequence[float] | None,
    settings: list[dict[str, float]],
    name: str,
) -> ConstraintsHelp:
    kept = Kept(question, splits, answers)
    measures = np.array(kept.lines(1), dtype=MEASURES)
    firm = stability(splits, answers, len(answers[0].labels[0]))
    tried = weight_table(kept, weights)
    return ConstraintsHelp(
        _verdict(measures[-1]),
        measures,
        split_table(question, splits, answers),
        pair_table(kept),
        *firm,
        agreement=float(np.mean([found.agreement for found in answers])),
        informativeness=1.0 - float(kept.shares[0].mean()),
        n_contradictions=count_conflicts(constraints),
        weights=tried,
        best_weight=None if tried is None else best_weight(tried),
        weight_name=name,
        n_fits=len(splits) * (len(settings) + 1),
        n_free=len(free),
        warned=dict(Counter(text for found in answers for text in found.warned)),
        notes=tuple(_notes(kept, measures, answers)),
    )


def _verdict(balanced: Any) -> str:
    low, high = float(balanced["low"]), float(balanced["high"])
    if balanced["n_pairs"] < FEWEST_PAIRS or np.isnan(low):
        return TOO_FEW
    if low > 0:
        return HELP
    if high < 0:
        return HURT
    return TOO_FEW if high - low > 2 * WIDEST else SAME


def _notes(kept: Kept, measures: NDArray[Any], answers: list[Answer]) -> list[str]:
    notes = []
    if all(found.one_cluster for found in answers):
        notes.append("Every fit found a single cluster, and constraints cannot change that.")
    elif kept.level(1)["balanced"].low <= 0 and kept.level(0)["balanced"].low <= 0:
        notes.append(
            "Neither clustering is shown to keep held-out constraints better than chance (1/2): "
            "what some of the constraints say, the data and the others do not bear out."
        )
    missing = [str(line["measure"]) for line in measures[:2] if line["n_pairs"] == 0]
    if missing:
        notes.append(f"There is no {missing[0]}: in the balanced share any two rows stand for it.")
    return notes
