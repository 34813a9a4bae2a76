"""Rows that are asked for before they are needed.

A loop over rows here and there waits for memory at every one of them. Asked for some steps ahead,
a row is there when its turn comes.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from .registers import LINE, constant, data_of, loop, prefetch, shape_of

__all__ = ["STEPS", "ask_for"]

#: So many steps ahead rows are asked for.
STEPS = 8

#: So many bytes of a row are asked for: what comes behind them is read one after the other, which
#: processors foresee themselves.
MOST = 512


def _ask_for(typingctx, X, row):  # type: ignore[no-untyped-def]
    """Ask for one number of X, or for the beginning of a row, in C order."""
    signature = types.void(X, types.int64)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kind = signature.args[0]
        data = data_of(context, builder, kind, args[0])
        if kind.ndim == 1:
            prefetch(builder, builder.gep(data, [args[1]]))
            return context.get_dummy_value()
        size, d = kind.dtype.bitwidth // 8, shape_of(context, builder, kind, args[0])[1]
        start, most = builder.gep(data, [builder.mul(args[1], d)]), constant(MOST // size)
        stop = builder.select(builder.icmp_signed("<", d, most), d, most)
        with loop(builder, constant(0), stop, constant(LINE // size)) as (m, _):
            prefetch(builder, builder.gep(start, [m]))
        return context.get_dummy_value()

    return signature, codegen


#: For compiled loops.
ask_for: Any = intrinsic(_ask_for)
