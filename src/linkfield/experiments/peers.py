"""Off the constraints: k-means, linkfield's default and the package of 2018, on every shared set.

Pairs are drawn from a random half of the rows, and the other half is scored, so that nothing is
gained by merely keeping to the pairs. The package active-semi-supervised-clustering (pip) does not
belong into our environment: it runs in the one whose python LINKFIELD_PEER_PYTHON names, and its
methods are left out where that is not set.
"""

from __future__ import annotations

from typing import Any

from ._peers import ENVIRONMENT, PeerMethod, peer_python
from ._shared import PlainKMeans, default_fit, scaled
from .data import TextForm
from .protocol import Experiment, Method, Source, stored

__all__ = ["EXPERIMENTS", "SAMPLE", "experiment", "shared_sets"]

#: Rows of a sample, where a set has more.
SAMPLE = 500

#: The package's MPCKMeans takes a determinant of d x d for every row and cluster in every pass.
_MOST_FEATURES = 100


def _set(name: str, *, sample: int | None = SAMPLE, scale: bool = False, **options: Any) -> Source:
    notes = ["standardised"] if scale else []
    if sample is not None:
        options["sample"] = sample
        notes.append(f"a new sample of {sample} rows in every run")
    return stored(name, prepare=scaled if scale else None, note=", ".join(notes), **options)


def _texts(name: str, sample: int | None = SAMPLE) -> Source:
    return _set(name, sample=sample, distortion="cosine", text=TextForm(min_df=5))


def shared_sets() -> tuple[Source, ...]:
    """Return every shared set, at most 500 rows of it."""
    return (
        _set("iris", sample=None),
        _set("wine", sample=None, scale=True),
        _set("wdbc", scale=True),
        _set("derm", sample=None, scale=True),
        _set("image", scale=True),
        _set("protein", sample=None),
        _set("letter"),
        _set("letter-ijl"),
        _set("pendigits"),
        _set("digits-389"),
        _set("mnist"),
        _set("pbmc68k"),
        _set("banking77", distortion="cosine"),
        _texts("20newsgroups"),
        _texts("news-different-3", None),
        _texts("news-related-3", None),
        _texts("news-similar-3", None),
        _texts("genre7"),
        _texts("genre_ki04"),
    )


def _package(python: str | None) -> tuple[Method, ...]:
    """Return the methods of the package; they get fewer runs, being slow."""
    if python is None:
        return ()
    wide = {"MPCKMeans": _MOST_FEATURES}
    return tuple(
        Method(f"{name} (2018)", PeerMethod(name, python, wide.get(name)), warm_up=False, runs=runs)
        for name, runs in (("PCKMeans", 8), ("COPKMeans", 8), ("MPCKMeans", 4))
    )


def experiment(python: str | None = None) -> Experiment:
    """Return the experiment; without a python that has the package its methods are left out."""
    about_package = (
        "The methods of 2018 are those of active-semi-supervised-clustering with its defaults: "
        "8 runs of PCKMeans and COPKMeans and 4 of MPCKMeans, as they are slow. A fit that loses "
        "a cluster is tried again twice. no_answer: 1, the package raised an error; 2, it took "
        "more than 60 s; 3, MPCKMeans was not tried, as it takes more than that on rows of more "
        "than 100 features."
    )
    if python is None:
        about_package = (
            f"The methods of the package of 2018 are left out, as {ENVIRONMENT} is not set; name "
            "there a python that has active-semi-supervised-clustering, and run this again."
        )
    data = shared_sets()
    return Experiment(
        name="peers",
        title="Rows outside the constraints: k-means, linkfield, the package of 2018",
        paper="none",
        data=data,
        methods=(
            Method("k-means", PlainKMeans(), ignores_constraints=True),
            Method("k-means (10 starts)", PlainKMeans(10), ignores_constraints=True),
            Method("HMRFKMeans", default_fit),
            *_package(python),
        ),
        constraints=(50, 200, 500, 1000),
        folds=2,
        folds_run=1,
        runs=20,
        seed=2018,
        extra=("no_answer",),
        notes=(
            "Pairs from a random half of the rows, scores on the other half; all are clustered. "
            "Everything has its defaults; texts and embeddings are measured by the cosine (rows of "
            "length 1, for those that know only Euclid). Words are in 5 texts at least, in 15% of "
            f"them at most. {about_package}"
        ),
        quick={"data": data[:2], "constraints": (50, 200), "runs": 1},
    )


EXPERIMENTS = (experiment(peer_python()),)
