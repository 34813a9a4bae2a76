"""The exponential function of numbers that are not positive, in a form that compilers vectorise.

The library's own ``exp`` is a call for every number. This one is arithmetic alone:
x = k ln 2 + r with k whole and |r| ≤ ln 2 / 2, e^x = 2^k Σ rⁿ/n!, and 2^k is written into the
exponent's bits. It is right to two units in the last place.
"""

from __future__ import annotations

from decimal import Decimal
from math import factorial
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import overload

__all__ = ["LEAST_32", "LEAST_64", "exp_negative"]

#: Smaller arguments count as these: the result would have fewer digits (or none), and numbers
#: with fewer digits slow the processor down by an order of magnitude.
LEAST_32, LEAST_64 = np.float32(-87.0), -708.0

# Only fused multiply-adds: another order of terms would undo the rounding to whole numbers.
_arithmetic = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})

_LN2 = Decimal(2).ln()


def _split_ln2(bits: int) -> tuple[float, float]:
    """Return ln 2 as a sum: so many bits, of which small multiples are exact, and the rest."""
    high = int(_LN2 * 2**bits) / 2**bits
    return high, float(_LN2 - Decimal(high))


# Adding 1.5·2^52 rounds to a whole number, which then stands in the lowest bits (2^23: float32).
_ROUND_64, _PER_LN2_64 = 1.5 * 2.0**52, float(1 / _LN2)
_HIGH_64, _LOW_64 = _split_ln2(40)
_ROUND_32, _PER_LN2_32 = np.float32(1.5 * 2.0**23), np.float32(1 / _LN2)
_HIGH_32, _LOW_32 = (np.float32(part) for part in _split_ln2(16))
_ONE_64, _ONE_32 = 1023 << 52, 127 << 23  # the bits of 1.0

_C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(n) for n in range(3, 14)
)
_F1, _F2, _F3, _F4, _F5, _F6, _F7 = (np.float32(1.0 / factorial(n)) for n in range(1, 8))


@_arithmetic
def _exp_64(x):  # type: ignore[no-untyped-def]
    x = x if x > LEAST_64 else LEAST_64
    shifted = x * _PER_LN2_64 + _ROUND_64
    k = shifted - _ROUND_64
    r = (x - k * _HIGH_64) - k * _LOW_64
    tail = ((_C13 * r + _C12) * r + _C11) * r + _C10
    tail = (((tail * r + _C9) * r + _C8) * r + _C7) * r + _C6
    tail = (((tail * r + _C5) * r + _C4) * r + _C3) * r + 0.5
    power = np.int64((np.float64(shifted).view(np.int64) << 52) + _ONE_64).view(np.float64)
    return power * ((tail * r) * r + r + 1.0)


@_arithmetic
def _exp_32(x):  # type: ignore[no-untyped-def]
    x = x if x > LEAST_32 else LEAST_32
    shifted = x * _PER_LN2_32 + _ROUND_32
    k = shifted - _ROUND_32
    r = (x - k * _HIGH_32) - k * _LOW_32
    tail = ((_F7 * r + _F6) * r + _F5) * r + _F4
    tail = (tail * r + _F3) * r + _F2
    power = np.int32((np.float32(shifted).view(np.int32) << 23) + _ONE_32).view(np.float32)
    return power * ((tail * r) * r + r + _F1)


def exp_negative(x: Any) -> Any:
    """Return e^x for x ≤ 0 of either precision, x below the least argument counting as that."""
    raise NotImplementedError("for compiled code only")


@overload(exp_negative)
def _by_precision(x):  # type: ignore[no-untyped-def]
    one = _exp_32 if x == types.float32 else _exp_64
    return lambda x: one(x)
