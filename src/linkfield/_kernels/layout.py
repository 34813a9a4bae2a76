"""What the compiled passes are given, and the rules that dense and sparse rows share."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .compiling import inner_exact

__all__ = [
    "CSR",
    "WIDER",
    "Bounds",
    "Offered",
    "Sums",
    "Terms",
    "Tied",
    "certain_margin",
    "enter",
    "label_of",
    "loosened",
    "new_bounds",
    "plain",
    "slack",
    "sure_margin",
]

_inlined = njit(nogil=True, cache=True, error_model="numpy", inline="always")

#: Outward rounding of the bounds, which are kept in single precision.
WIDER, NARROWER = np.float32(1.000001), np.float32(0.999999)


class CSR(NamedTuple):
    """A CSR matrix."""

    pointer: Any
    column: Any
    value: Any


class Terms(NamedTuple):
    """The cost of a label: g_h − ⟨x, ψ_h⟩ (maths.md B1); all but ``epsilon`` in the data's dtype.

    ``theta`` holds the weights of ‖x‖² = Σ a x², empty where it is not needed; ``size`` bounds
    the terms of g_h, ``ceiling`` is the largest of them. ``epsilon`` is the unit of rounding,
    ``error`` a bound on the relative error of a product, ``longest`` one on ‖x‖² (negative: none
    is known). ``rough`` and ``rough_g`` are ψ and g in single precision, for data of double: None
    for others, empty where costs would be off by more than is known; ``off`` bounds that.
    """

    psi: Any
    g: Any
    size: Any
    centres: Any
    theta: Any
    directional: Any
    ceiling: Any
    epsilon: Any
    error: Any
    longest: Any
    rough: Any
    rough_g: Any
    off: Any


class Offered(NamedTuple):
    """Points that rows are compared with: D = f(x) + g − s ⟨x, ψ⟩.

    Where ``psi`` is less precise than the data, ``exact`` is not and the products with ``psi`` are
    off by ``off`` at most; else ``exact`` is empty.
    """

    psi: Any
    g: Any
    exact: Any
    off: Any


class Tied(NamedTuple):
    """Tied rows: positions in order; for each its cheapest label, and by how much it is that.

    ``free`` marks all other rows. The costs of a tied row whose ``slot`` is not negative are
    written to that row of ``table``, and how far they may be off to ``noise`` (no slots at all:
    nothing is written). ``wanted`` lists these tied rows in the order of their slots, which is that
    of the rows.
    """

    rows: Any
    free: Any
    cheapest: Any
    margin: Any
    wanted: Any
    slot: Any
    table: Any
    noise: Any


class Sums(NamedTuple):
    """Sums by cluster: numbers of rows, weights, Σ v φ̃(x)."""

    count: Any
    weight: Any
    sums: Any


class Bounds(NamedTuple):
    """Bounds on the distance of every row to its own centre and to any other.

    ``keep``: write them; ``test``: use them; ``own_first``: compare a row that they do not settle
    with its own centre before all others. Since they were written all distances have grown by
    at most ``grow`` and shrunk by no more than ``shrink``, and centre h has moved by ``shift[h]``,
    at most ``largest`` (``second`` without centre ``at``).
    """

    upper: Any
    lower: Any
    keep: Any
    test: Any
    own_first: Any
    grow: Any
    shrink: Any
    shift: Any
    largest: Any
    second: Any
    at: Any


@inner_exact
def enter(sums, v, h, sign):  # type: ignore[no-untyped-def]
    """Count a row in or out of cluster h."""
    if v > 0:
        sums.count[h] += sign
    sums.weight[h] += sign * v


@inner_exact
def slack(terms, length, cost):  # type: ignore[no-untyped-def]
    """Return how far a cost may be off: some units in the last place of its terms."""
    return 4.0 * terms.epsilon * (abs(cost) + length + terms.ceiling)


@inner_exact
def label_of(size, epsilon, old, new, own, best):  # type: ignore[no-untyped-def]
    """Return the new label only where it is cheaper by more than the rounding of the two costs.

    So single precision cannot make the objective rise.
    """
    rounding = abs(own) + size[old] + abs(best) + size[new]
    return old if own <= best + 4.0 * epsilon * rounding else new


@_inlined
def loosened(upper, lower, grow, shrink, own, others):  # type: ignore[no-untyped-def]
    """Return the bounds of a row after its own centre and the others have moved."""
    upper = (upper * grow + own) * WIDER
    lower = lower * shrink - others
    return upper, lower * (NARROWER if lower > 0 else WIDER)


@_inlined
def certain_margin(best, second, factor, epsilon, noise):  # type: ignore[no-untyped-def]
    """Return how much dearer any other label is at least, from the least costs of a row.

    They are off by ``noise``, and by some units in their own last place.
    """
    low, other = np.float64(best), np.float64(second)  # infinite if there is one label only
    margin = max(factor * (other - low - 8.0 * epsilon * abs(low) - noise), 0.0)
    return margin if other < np.inf else 0.0


@_inlined
def sure_margin(directional, v, upper, lower):  # type: ignore[no-untyped-def]
    """Return how much dearer any other label is at least, from the bounds of a row."""
    up, low = np.float64(upper), np.float64(lower)
    return v * (low * low - up * up) * (0.5 if directional else 1.0)


@_inlined
def new_bounds(directional, error, off, ceiling, length, own, other):  # type: ignore[no-untyped-def]
    """Return the bounds of a row from the costs of its own and of the nearest other centre.

    Both costs are off by ``off`` besides what rounding by ``error`` does.
    """
    if directional:  # 2(1 − cos) is the squared distance of rows of length 1
        scale = 2.0 / np.sqrt(np.float64(length)) if length > 0 else 0.0
        near, far, off = 2.0 + scale * own, 2.0 + scale * other, 4.0 * error + scale * off
    else:
        near, far = np.float64(length) + own, np.float64(length) + other
        off += error * (length + ceiling)
    upper = np.sqrt(np.float32(max(near + off, 0.0))) * WIDER
    return upper, np.sqrt(np.float32(max(far - off, 0.0))) * NARROWER


def plain(array: Any) -> NDArray[Any]:
    """Return a contiguous array that is typed as writeable: any other kind is compiled for again.

    The passes never write to data, so a read-only map is given to them under its own address.
    """
    array = np.ascontiguousarray(array)
    if array.flags.writeable or array.size == 0:
        return array if array.flags.writeable else array.copy()
    raw = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    return np.frombuffer(raw, dtype=array.dtype).reshape(array.shape)
