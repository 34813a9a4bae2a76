"""What ``linkfield constraints`` says: for people, and for machines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from ..constraints import Check, Clusters, Link

__all__ = ["as_json", "busy", "counted", "lines_of_links", "say", "say_check"]

_GOOD, _BAD, _UNSURE, _FAINT = "green", "bold red", "yellow", "dim"


def counted(number: int, word: str) -> str:
    """Return a number with its word: 1 pair, 2 pairs."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def say(text: str, style: str = "", *, err: bool = False) -> None:
    """Print one line; ids may hold brackets, and a long line is the terminal's to break."""
    Console(stderr=err, highlight=False).print(Text(text, style=style), soft_wrap=True)


@contextmanager
def busy(what: str, quiet: bool = False) -> Iterator[None]:
    """Show on a terminal, and nowhere else, that something is going on."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(Text(what)):
        yield


# ------------------------------------------------------------------ machines


def as_json(value: Any) -> Any:
    """Return a value with infinities as text, since JSON has none, and tuples as lists."""
    if isinstance(value, dict):
        return {str(k): as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(v) for v in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return value


# -------------------------------------------------------------------- people


def lines_of_links(links: Sequence[Link], indent: str) -> list[str]:
    """Return pairs one a line, their parts below each other."""
    cells = [_cells(link) for link in links]
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))] if cells else []
    return [
        indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def _cells(link: Link) -> list[str]:
    source = "" if link.source is None else f"said by {link.source}"
    weight = "hard" if math.isinf(link.weight) else f"weight {link.weight:g}"
    return [str(link.a), str(link.b), link.kind, weight, source]


def say_check(found: Check, name: str, shown: int) -> None:
    """Print what was found in a file."""
    _say_counts(found, name)
    if found.consistent:
        say("Nothing contradicts anything.", _GOOD)
    else:
        _say_contradictions(found, shown)
        _say_repair(found, name, shown)
    _say_clusters(found.clusters, "they need" if found.consistent else "the rest needs")


def _say_counts(found: Check, name: str) -> None:
    say(name, "bold")
    pairs = f"{counted(found.n_must_link, 'must-link')}, "
    pairs += counted(found.n_cannot_link, "cannot-link")
    say(f"  {pairs} between {counted(found.n_rows, 'row')}")
    if found.weights is not None and found.weights != (1.0, 1.0):
        low, high = found.weights
        say(f"  weights {low:g} to {high:g}" if low < high else f"  all weights {low:g}")
    if found.n_hard:
        say(f"  {found.n_hard:,} hard (weight inf)")
    if found.components:
        sizes = ", ".join(f"{size:,}" for size in found.components[:8])
        more = len(found.components) - 8
        sizes += f" and {more:,} smaller" if more > 0 else ""
        tied = counted(len(found.components), "set")
        say(f"  must-links tie {tied} of rows together, of sizes {sizes}")
    if found.sources:
        parts = []
        for source in found.sources[:8]:
            who = "nobody named" if source.source is None else source.source
            part = f"{who} {source.n_must_link + source.n_cannot_link:,}"
            parts.append(part + (f" ({source.n_dropped:,} to drop)" if source.n_dropped else ""))
        more = len(found.sources) - 8
        say(f"  pairs by source: {', '.join(parts)}{f', {more:,} more' if more > 0 else ''}")
    say("")


def _say_contradictions(found: Check, shown: int) -> None:
    number, sets = found.n_conflicts, found.n_contradictory
    verb = "contradicts" if number == 1 else "contradict"
    where = "" if sets == 1 else f", in {sets:,} sets of rows"
    say(f"{counted(number, 'cannot-link')} {verb} must-links{where}:", _BAD)
    for conflict in found.conflicts[:shown]:
        say(f"  {conflict}")
        for line in lines_of_links(conflict.links, " " * 6):
            say(line, _FAINT)
    _say_more(number - min(shown, len(found.conflicts)))
    say("")


def _say_repair(found: Check, name: str, shown: int) -> None:
    proof = "no cheaper way exists" if found.proven else "a cheaper way may exist: time was up"
    weight = "hard ones among them" if math.isinf(found.cost) else f"total weight {found.cost:g}"
    pairs = counted(len(found.dropped), "pair")
    say(f"Cheapest repair: drop {pairs}, {weight} ({proof}):", _UNSURE)
    heaviest = sorted(found.dropped, key=lambda link: -link.weight)[:shown]
    for line in lines_of_links(heaviest, " " * 2):
        say(line)
    _say_more(len(found.dropped) - len(heaviest))
    say(f"  linkfield constraints repair {name} --out FILE writes the rest", _FAINT)
    say("")


def _say_more(number: int) -> None:
    if number > 0:
        say(f"  and {number:,} more; --show says how many are listed", _FAINT)


def _say_clusters(found: Clusters, who: str) -> None:
    """Print whether the number asked for suffices, why not, and which number does."""
    needed = f"{who} {_range(found)}"
    if found.asked is None:
        why = f": {_proof(found)}" if found.core else ""
        say(f"Clusters: {needed}{why}.")
        return
    clusters = counted(found.asked, "cluster") + (" is" if found.asked == 1 else " are")
    if found.status == "feasible":
        fewest = "" if found.enough == found.asked else f"; {needed}"
        say(f"{clusters} enough{fewest}.", _GOOD)
    elif found.status == "infeasible":
        say(f"{clusters} impossible: {_proof(found)}; {needed}.", _BAD)
    else:
        say(f"Whether {clusters} enough is unknown: the time was up; {needed}.", _UNSURE)


def _range(found: Clusters) -> str:
    if found.at_least == found.enough:
        return counted(found.enough, "cluster")
    return f"at least {found.at_least:,} clusters, {found.enough:,} are enough"


def _proof(found: Clusters) -> str:
    """Say which rows prove how many clusters are needed."""
    how = "are mutually apart" if found.clique else "cannot be kept apart by fewer"
    return f"{_groups(found.core)} {how}"


def _groups(core: Sequence[Sequence[Any]], limit: int = 12) -> str:
    """Name groups of rows by their first row, and say how many are tied to it."""
    names = [
        str(rows[0]) + (f" (with {len(rows) - 1:,} tied to it)" if len(rows) > 1 else "")
        for rows in core[:limit]
    ]
    return _listed(names, len(core) - len(names))


def _listed(names: Iterable[str], more: int) -> str:
    listed = list(names)
    if more > 0:
        return f"{', '.join(listed)} and {more:,} others"
    return f"{', '.join(listed[:-1])} and {listed[-1]}" if len(listed) > 1 else listed[0]
