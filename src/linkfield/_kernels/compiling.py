"""How loops are compiled.

numba counts who holds an array: a function that is given one counts it in and out, by an atomic
step each. With a dozen arrays that costs more than the look at one node or row that a function is
called for. So those that neither make arrays nor return any do not count: the ``inner`` ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit as typed_njit

__all__ = ["ZERO", "compiled", "exact", "inlined_exact", "inner", "inner_exact"]

#: The option ``_nrt`` stands in numba's documentation of its extensions, not in its types.
njit: Any = typed_njit

_EVERYWHERE: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
_SUMS: dict[str, Any] = {"fastmath": {"contract", "reassoc"}}

#: Arithmetic as it is written down.
exact = njit(**_EVERYWHERE)
inner_exact = njit(_nrt=False, **_EVERYWHERE)

#: The same, put where it is called: to hand over a dozen arrays, seven words each, takes longer
#: than a look at one node.
inlined_exact = njit(_nrt=False, forceinline=True, **_EVERYWHERE)

#: Sums in any order, so that registers can hold several parts of them.
compiled = njit(**_SUMS, **_EVERYWHERE)
inner = njit(_nrt=False, **_SUMS, **_EVERYWHERE)

#: Where counts begin that are handed on: a plain 0 has a type of its own, and whatever is handed
#: one is compiled once more.
ZERO = np.int64(0)
