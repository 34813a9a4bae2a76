"""Words for LLVM: what loops over vector registers are written down with."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils as untyped_cgutils

__all__ = [
    "LINE",
    "cgutils",
    "constant",
    "data_of",
    "lanes_of",
    "load",
    "loop",
    "multiply_add",
    "prefetch",
    "shape_of",
    "splat",
    "store",
]

cgutils: Any = untyped_cgutils

#: Bytes that memory gives at a time.
LINE = 64


def lanes_of(context: Any, bits: int, widest: int = 512) -> int:
    """Return how many numbers a register holds on the machine that is compiled for."""
    features = context.codegen().magic_tuple()[2]
    width = 512 if "+avx512f" in features else 256 if "+avx2" in features else 128
    return int(min(width, widest) // bits)


def data_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return where the numbers of an array stand."""
    return context.make_array(kind)(context, builder, array).data


def shape_of(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return the numbers of entries of an array along its axes."""
    return cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape)


def multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, rounded once where the machine can do that."""
    number, lanes = (a.type.element, f"v{a.type.count}") if _is_vector(a) else (a.type, "")
    name = f"llvm.fmuladd.{lanes}{number.intrinsic_name}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(a.type, [a.type] * 3), name
    )
    return builder.call(function, [a, b, c])


def _is_vector(value: Any) -> bool:
    return isinstance(value.type, ir.VectorType)


def constant(number: int) -> Any:
    """Return a number that counts."""
    return ir.Constant(ir.IntType(64), number)


def loop(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return a ``with`` whose body is done for every number; the first of two names is that."""
    return cgutils.for_range_slice(builder, start, stop, step, ir.IntType(64))


def splat(builder: Any, value: Any, lanes: int) -> Any:
    """Return a register that holds one number everywhere."""
    vector = ir.VectorType(value.type, lanes)
    nothing = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, zeros)


def load(builder: Any, pointer: Any, vector: Any, align: int) -> Any:
    """Return a register, read from memory."""
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=align)


def store(builder: Any, value: Any, pointer: Any, align: int) -> None:
    """Write a register to memory."""
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=align)


def prefetch(builder: Any, pointer: Any) -> None:
    """Ask for what stands somewhere in memory, which need not exist, to be read soon."""
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    read, keep, data = (ir.Constant(number, value) for value in (0, 3, 1))
    builder.call(function, [builder.bitcast(pointer, byte), read, keep, data])
