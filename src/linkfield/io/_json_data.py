"""Data from JSON lines: one object a row."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cells import shortened
from ._columns import Picked, Wish, pick, unknown_names
from ._gather import Block, Data, Gather
from .tables import Line, fail, json_objects, reading

__all__ = ["read_json"]

#: Lines by which columns of numbers are told from others.
SAMPLE = 1000
#: Lines that are gathered at once.
CHUNK = 4096
_NEEDS = "it needs one JSON object a line"


def read_json(file: Path, packed: bool, wish: Wish, dtype: Any) -> Data:
    """Read a file of JSON lines; the keys are its columns, and a key that is not there is empty."""
    sample = list(itertools.islice(_lines(file, packed), SAMPLE))
    if not sample:
        raise ValueError(f"{file} has no rows; {_NEEDS}")
    names = _keys(sample)
    early = set(names)
    if unknown_names(names, wish):
        names = _keys(_lines(file, packed))  # a label, say, that only later lines have

    def is_number(name: str) -> bool:
        if name not in early:  # missing in all these lines
            return False
        found = [values.get(name) for _, values in sample]
        numbers = sum(_is_number(v) for v in found)
        return len(found) - numbers - found.count(None) <= numbers

    picked = pick(file, names, wish, is_number)
    data, late = _gathered(file, packed, picked, dtype, names)
    if late:
        every = pick(file, [*names, *late], wish, is_number)
        if every.used != picked.used:  # a pattern stands for late columns as well
            return _gathered(file, packed, every, dtype, [*names, *late])[0]
        data = replace(data, left_out=list(every.left_out))
    return data


def _gathered(
    file: Path, packed: bool, picked: Picked, dtype: Any, names: list[str]
) -> tuple[Data, list[str]]:
    """Read all lines; return the data, and the keys that are not among the names."""
    gather = Gather(file, picked, dtype)
    known, late = set(names), dict[str, None]()
    lines = _lines(file, packed)
    while chunk := list(itertools.islice(lines, CHUNK)):
        for _, values in chunk:
            if not values.keys() <= known:
                late |= dict.fromkeys(key for key in values if key not in known)
        gather.add(_block(gather, chunk))
    return gather.data(text_only=False), list(late)


def _lines(file: Path, packed: bool) -> Iterator[Line]:
    with reading(file, packed, _NEEDS) as stream:
        yield from json_objects(file, stream)


def _keys(lines: Any) -> list[str]:
    return list(dict.fromkeys(key for _, values in lines for key in values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _block(gather: Gather, chunk: list[Line]) -> Block:
    file, picked = gather.file, gather.picked
    lines = [line for line, _ in chunk]

    def cells(name: str | None) -> list[Any]:
        return [] if name is None else [values.get(name) for _, values in chunk]

    block = Block(lines, ids=cells(picked.id))
    for line, value in zip(lines, cells(picked.label), strict=picked.label is not None):
        if isinstance(value, list | dict):
            fail(file, line, f"{picked.label!r} must be text or a number; found {shortened(value)}")
        block.labels.append(value)
    for line, value in zip(lines, cells(picked.text), strict=picked.text is not None):
        if value is not None and not isinstance(value, str):
            fail(file, line, f"{picked.text!r} must be text; found {shortened(value)}")
        block.texts.append(value or "")
    for name in picked.numbers:
        block.numbers.append(_numbers(file, name, cells(name), lines))
    if picked.embedding is not None:
        block.vectors = gather.vectors(cells(picked.embedding), lines)
    return block


def _numbers(file: Path, name: str, cells: list[Any], lines: list[int]) -> NDArray[np.float64]:
    """Return numbers; true and false, of columns that were named, count as 1 and 0."""
    numbers = np.empty(len(cells))
    for i, value in enumerate(cells):
        if isinstance(value, int | float):
            try:
                numbers[i] = value
            except OverflowError:
                numbers[i] = math.inf
        elif value is None:
            numbers[i] = math.nan
        else:
            fail(
                file,
                lines[i],
                f"column {name!r} needs numbers; found {shortened(value)}; correct it, or exclude "
                "the column",
            )
    return numbers
