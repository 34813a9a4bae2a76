"""Products of a sparse row with all centres, in vector registers.

The centres stand feature by label, so a word of the row is multiplied with one stretch of numbers.
Compiled by numba alone, the sums of all labels go to memory and back with every word; written down
for LLVM they stay in registers. Two words in turn have sums of their own, so that one need not
wait for the other.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .registers import (
    LINE,
    cgutils,
    constant,
    data_of,
    lanes_of,
    load,
    loop,
    multiply_add,
    prefetch,
    shape_of,
    splat,
    store,
)

__all__ = ["WIDTH", "row_products"]

#: The labels are filled up to a multiple of this number: one register of AVX2, or two.
WIDTH = 8

#: Registers of sums that are filled at a time, the most first, and words at a time.
REGISTERS, WORDS = (8, 7, 6, 5, 4, 3, 2, 1), 2

#: So many words ahead is asked for what they will be multiplied with.
AHEAD = 16


class _Row:
    """Writes down what happens to one row."""

    def __init__(self, context: Any, builder: Any, kind: Any) -> None:
        number = lanes_of(context, kind.bitwidth, 256)
        self.builder, self.lanes, self.align = builder, number, kind.bitwidth // 8
        self.vector = ir.VectorType(context.get_value_type(kind), number)

    def zeros(self) -> Any:
        """Return a variable for a register of sums."""
        nothing = ir.Constant(self.vector, [0.0] * self.lanes)
        total = cgutils.alloca_once(self.builder, self.vector)
        self.builder.store(nothing, total)
        return total

    def place(self, word: Any, values: tuple[Any, ...], h: Any) -> Any:
        """Return where the weights of one word stand for the labels from h on."""
        builder, (_, column, psi, K) = self.builder, values
        feature = builder.sext(builder.load(builder.gep(column, [word])), ir.IntType(64))
        return builder.gep(psi, [builder.add(builder.mul(feature, K), h)])

    def ask(self, word: Any, last: Any, values: tuple[Any, ...], h: Any, count: int) -> None:
        """Ask for what a later word of the row will be multiplied with."""
        builder, end = self.builder, self.builder.sub(last, constant(1))
        row = self.place(builder.select(builder.icmp_signed("<", word, end), word, end), values, h)
        for k in range(0, count * self.lanes, LINE // self.align):
            prefetch(builder, builder.gep(row, [constant(k)]))

    def multiply(self, word: Any, values: tuple[Any, ...], h: Any, sums: list[Any]) -> None:
        """Add one word's products with some labels from h on."""
        builder, row = self.builder, self.place(word, values, h)
        x = splat(builder, builder.load(builder.gep(values[0], [word])), self.lanes)
        for k, total in enumerate(sums):
            at = builder.gep(row, [constant(k * self.lanes)])
            weight = load(builder, at, self.vector, self.align)
            builder.store(multiply_add(builder, x, weight, builder.load(total)), total)

    def labels(self, part: tuple[Any, Any], values: tuple[Any, ...], h: Any, count: int) -> Any:
        """Return the products with ``count`` registers of labels from h on."""
        builder, (first, last) = self.builder, part
        sums = [[self.zeros() for _ in range(count)] for _ in range(WORDS)]
        whole = builder.and_(builder.sub(last, first), constant(-WORDS))
        whole = builder.add(first, whole)
        with loop(builder, first, whole, constant(WORDS)) as (at, _):
            for k in range(WORDS):
                self.ask(builder.add(at, constant(AHEAD + k)), last, values, h, count)
            for k in range(WORDS):
                self.multiply(builder.add(at, constant(k)), values, h, sums[k])
        with loop(builder, whole, last, constant(1)) as (at, _):
            self.multiply(at, values, h, sums[0])
        return [builder.fadd(builder.load(a), builder.load(b)) for a, b in zip(*sums, strict=True)]


def _row_products(typingctx, value, column, first, last, psi, out):  # type: ignore[no-untyped-def]
    """Set ⟨x, ψ_h⟩ of the row whose words are those from ``first`` to ``last``.

    ``psi`` is (d, K) with K a multiple of ``WIDTH``, and ``out`` has K places.
    """
    signature = types.void(value, column, types.int64, types.int64, psi, out)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds, part = signature.args, (args[2], args[3])
        value, column, psi, out = (
            data_of(context, builder, kinds[k], args[k]) for k in (0, 1, 4, 5)
        )
        K = shape_of(context, builder, kinds[4], args[4])[1]
        row, done = _Row(context, builder, kinds[0].dtype), constant(0)
        for count in REGISTERS:
            step = constant(count * row.lanes)
            end = builder.sub(K, builder.srem(builder.sub(K, done), step))
            with loop(builder, done, end, step) as (h, _):
                found = row.labels(part, (value, column, psi, K), h, count)
                for k, one in enumerate(found):
                    at = builder.gep(out, [builder.add(h, constant(k * row.lanes))])
                    store(builder, one, at, row.align)
            done = end
        return context.get_dummy_value()

    return signature, codegen


#: A function for compiled loops.
row_products: Any = intrinsic(_row_products)
