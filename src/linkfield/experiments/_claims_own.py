"""What this library promises of itself: its defaults against k-means and the package of 2018."""

from __future__ import annotations

from .quantities import SOME, Score, at
from .verdicts import Check, Claim

__all__ = ["PEERS"]

DEFAULT = "HMRFKMeans"
PAIRS = (50, 200, 500, 1000)


def _as_good_as(other: str, key: str) -> Claim:
    """Claim that the defaults are no worse than another method, at every number of pairs."""
    checks = tuple(
        Check(Score(DEFAULT, at(n)), Score(other, at(n)), "within", score="ari") for n in PAIRS
    )
    return Claim(
        f"own-as-good-as-{key}",
        "peers",
        f"Off the constraints, linkfield with its defaults is at least as good as {other}, on "
        "every set and with any number of pairs, within the interval.",
        "ours",
        checks,
    )


def _better_than(other: str, key: str) -> Claim:
    return Claim(
        f"own-better-than-{key}",
        "peers",
        f"Off the constraints, linkfield with its defaults is clearly better than {other} on "
        "every set (mean over the numbers of pairs).",
        "ours",
        (Check(Score(DEFAULT, SOME), Score(other, SOME), score="ari"),),
    )


PEERS = (
    _as_good_as("k-means", "k-means"),
    _as_good_as("k-means (10 starts)", "k-means-10"),
    _as_good_as("PCKMeans (2018)", "pckmeans"),
    _as_good_as("COPKMeans (2018)", "copkmeans"),
    _as_good_as("MPCKMeans (2018)", "mpckmeans"),
    _better_than("k-means", "k-means"),
    _better_than("k-means (10 starts)", "k-means-10"),
)
