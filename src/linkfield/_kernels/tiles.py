"""The nearest of a few centres, for tiles of rows, in vector registers.

BLAS is made for large matrices. With a few dozen features and centres most of its time goes into
copying them about, and the products are written to memory only to be searched for the least. Here
a tile of rows is turned round, so that one register holds one feature of several rows; each centre
is multiplied with it there, and its cost compared with the least so far. numba has no registers of
its own, so the loop over a tile is written down for LLVM. Each product is summed up feature by
feature, whichever row of a tile it belongs to, so a row's cost does not depend on its neighbours.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as untyped_cgutils
from numba.extending import intrinsic

__all__ = ["TILE", "nearest", "product", "products"]

#: Rows of the largest tile: two registers of the widest kind.
TILE = 32

#: Centres that are multiplied at a time, and registers of rows.
CENTRES, REGISTERS = 4, 2

cgutils: Any = untyped_cgutils


def _lanes(context: Any, bits: int) -> int:
    """Return how many numbers a register holds on the machine that is compiled for."""
    features = context.codegen().magic_tuple()[2]
    width = 512 if "+avx512f" in features else 256 if "+avx2" in features else 128
    return int(width // bits)


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _shape(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape)


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c, rounded once where the machine can do that."""
    number, lanes = (a.type.element, f"v{a.type.count}") if _is_vector(a) else (a.type, "")
    name = f"llvm.fmuladd.{lanes}{number.intrinsic_name}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(a.type, [a.type] * 3), name
    )
    return builder.call(function, [a, b, c])


def _is_vector(value: Any) -> bool:
    return isinstance(value.type, ir.VectorType)


def _constant(number: int) -> Any:
    return ir.Constant(ir.IntType(64), number)


def _loop(builder: Any, start: Any, stop: Any, step: Any) -> Any:
    """Return a ``with`` whose body is done for every number; the first of two names is that."""
    return cgutils.for_range_slice(builder, start, stop, step, ir.IntType(64))


def _splat(builder: Any, value: Any, lanes: int) -> Any:
    """Return a register that holds one number everywhere."""
    vector = ir.VectorType(value.type, lanes)
    nothing = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, zeros)


def _load(builder: Any, pointer: Any, vector: Any, align: int) -> Any:
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=align)


def _store(builder: Any, value: Any, pointer: Any, align: int) -> None:
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=align)


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose a square of registers: exchange halves of pairs that lie 1, 2, 4, ... apart."""
    lanes = len(rows)
    index = ir.VectorType(ir.IntType(32), lanes)
    step = 1
    while step < lanes:
        low = [k if not k & step else lanes + (k ^ step) for k in range(lanes)]
        high = [k ^ step if not k & step else lanes + k for k in range(lanes)]
        new = list(rows)
        for k in range(lanes):
            if not k & step:
                pair = rows[k], rows[k + step]
                new[k] = builder.shuffle_vector(*pair, ir.Constant(index, low))
                new[k + step] = builder.shuffle_vector(*pair, ir.Constant(index, high))
        rows, step = new, 2 * step
    return rows


class _Tile:
    """Writes down what happens to one tile of rows."""

    def __init__(self, context: Any, builder: Any, kind: Any, lanes: int) -> None:
        self.builder, self.lanes, self.size = builder, lanes, lanes * REGISTERS
        self.vector = ir.VectorType(context.get_value_type(kind), lanes)
        self.align = kind.bitwidth // 8

    def turn(self, X: Any, d: Any, first: Any, last: Any, out: Any) -> None:
        """Write rows from ``first`` on feature by feature; behind ``last`` that one stands in."""
        builder, lanes = self.builder, self.lanes
        whole = builder.and_(d, _constant(-lanes))
        for register in range(REGISTERS):
            rows = []
            for k in range(lanes):
                i = builder.add(first, _constant(register * lanes + k))
                i = builder.select(builder.icmp_signed("<", i, last), i, last)
                rows.append(builder.gep(X, [builder.mul(i, d)]))
            with _loop(builder, _constant(0), whole, _constant(lanes)) as (m, _):
                loaded = [
                    _load(builder, builder.gep(row, [m]), self.vector, self.align) for row in rows
                ]
                for k, feature in enumerate(_turned(builder, loaded)):
                    at = builder.mul(builder.add(m, _constant(k)), _constant(self.size))
                    at = builder.add(at, _constant(register * lanes))
                    _store(builder, feature, builder.gep(out, [at]), self.align)
            with _loop(builder, whole, d, _constant(1)) as (m, _):
                for k, row in enumerate(rows):
                    at = builder.mul(m, _constant(self.size))
                    at = builder.add(at, _constant(register * lanes + k))
                    builder.store(builder.load(builder.gep(row, [m])), builder.gep(out, [at]))

    def variables(self, value: Any) -> list[Any]:
        """Return a variable for every register of rows."""
        found = [cgutils.alloca_once(self.builder, value.type) for _ in range(REGISTERS)]
        for variable in found:
            self.builder.store(value, variable)
        return found

    def multiply(self, features: Any, psi: Any, d: Any, h: Any, count: int) -> list[list[Any]]:
        """Return the products with ``count`` centres from h on, a register each."""
        builder, lanes = self.builder, self.lanes
        zero = ir.Constant(self.vector, [0.0] * lanes)
        sums = [self.variables(zero) for _ in range(count)]
        starts = [
            builder.gep(psi, [builder.mul(builder.add(h, _constant(k)), d)]) for k in range(count)
        ]
        with _loop(builder, _constant(0), d, _constant(1)) as (m, _):
            at = builder.mul(m, _constant(self.size))
            rows = [builder.add(at, _constant(r * lanes)) for r in range(REGISTERS)]
            x = [_load(builder, builder.gep(features, [k]), self.vector, self.align) for k in rows]
            for k in range(count):
                weight = _splat(builder, builder.load(builder.gep(starts[k], [m])), lanes)
                for r in range(REGISTERS):
                    total = _multiply_add(builder, weight, x[r], builder.load(sums[k][r]))
                    builder.store(total, sums[k][r])
        return [[builder.load(one) for one in several] for several in sums]

    def compare(self, products: list[list[Any]], g: Any, h: Any, least: tuple[Any, ...]) -> None:
        """Set the least cost, the second least and the label, given more centres, from h on."""
        builder = self.builder
        for k, registers in enumerate(products):
            number = builder.add(h, _constant(k))
            cost = _splat(builder, builder.load(builder.gep(g, [number])), self.lanes)
            name = _splat(builder, builder.trunc(number, ir.IntType(32)), self.lanes)
            for r, one in enumerate(registers):
                self._compare_one(builder.fsub(cost, one), name, least, r)

    def _compare_one(self, value: Any, name: Any, least: tuple[Any, ...], r: int) -> None:
        """Compare the costs of one more label with the least so far."""
        builder = self.builder
        best, second, label = (variables[r] for variables in least)
        low, other = builder.load(best), builder.load(second)
        nearer = builder.fcmp_ordered("<", value, low)
        between = builder.select(builder.fcmp_ordered("<", value, other), value, other)
        builder.store(builder.select(nearer, low, between), second)
        builder.store(builder.select(nearer, value, low), best)
        builder.store(builder.select(nearer, name, builder.load(label)), label)


def _groups(builder: Any, K: Any) -> list[tuple[Any, Any, int]]:
    """Return the centres that are multiplied together, and those that are left over."""
    many = builder.and_(K, _constant(-CENTRES))
    return [(_constant(0), many, CENTRES), (many, K, 1)]


def _products(typingctx, X, last, psi, features, out):  # type: ignore[no-untyped-def]
    """Set ⟨x, ψ_h⟩ of the rows 0..last and all centres.

    ``features`` is room for a tile, ``out`` (K, whole tiles) holds the products label by label.
    """
    signature = types.void(X, types.int64, psi, features, out)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds, last = signature.args, args[1]
        X, psi, features, out = (
            _data(context, builder, kinds[k], args[k]) for k in (0, 2, 3, 4)
        )  # fmt: skip
        K, d = _shape(context, builder, kinds[2], args[2])
        width = _shape(context, builder, kinds[4], args[4])[1]
        kind = kinds[0].dtype
        tile = _Tile(context, builder, kind, _lanes(context, kind.bitwidth))
        step = _constant(tile.size)
        with _loop(builder, _constant(0), builder.add(last, _constant(1)), step) as (first, _):
            tile.turn(X, d, first, last, features)
            for start, stop, count in _groups(builder, K):
                with _loop(builder, start, stop, _constant(count)) as (h, _):
                    for k, registers in enumerate(tile.multiply(features, psi, d, h, count)):
                        row = builder.mul(builder.add(h, _constant(k)), width)
                        for r, one in enumerate(registers):
                            at = builder.add(builder.add(row, first), _constant(r * tile.lanes))
                            _store(builder, one, builder.gep(out, [at]), tile.align)
        return context.get_dummy_value()

    return signature, codegen


def _nearest(typingctx, X, last, psi, g, features, best, second, label):  # type: ignore[no-untyped-def]
    """Set the least cost g − ⟨x, ψ⟩ of the rows 0..last, the second least, and whose it is.

    ``features`` is room for a tile, the other three for whole tiles. The label is the first of
    those that cost the same.
    """
    signature = types.void(X, types.int64, psi, g, features, best, second, label)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        X, psi, g, features, best, second, label = (
            _data(context, builder, kinds[k], args[k]) for k in (0, 2, 3, 4, 5, 6, 7)
        )
        last = args[1]
        K, d = _shape(context, builder, kinds[2], args[2])
        kind = kinds[0].dtype
        tile = _Tile(context, builder, kind, _lanes(context, kind.bitwidth))
        infinite = ir.Constant(tile.vector, [float("inf")] * tile.lanes)
        nobody = ir.Constant(ir.VectorType(ir.IntType(32), tile.lanes), [0] * tile.lanes)
        step = _constant(tile.size)
        with _loop(builder, _constant(0), builder.add(last, _constant(1)), step) as (first, _):
            tile.turn(X, d, first, last, features)
            least = tile.variables(infinite), tile.variables(infinite), tile.variables(nobody)
            for start, stop, count in _groups(builder, K):
                with _loop(builder, start, stop, _constant(count)) as (h, _):
                    tile.compare(tile.multiply(features, psi, d, h, count), g, h, least)
            for out, variables, align in zip(
                (best, second, label), least, (tile.align, tile.align, 4), strict=True
            ):
                for r, variable in enumerate(variables):
                    at = builder.add(first, _constant(r * tile.lanes))
                    _store(builder, builder.load(variable), builder.gep(out, [at]), align)
        return context.get_dummy_value()

    return signature, codegen


def _product(typingctx, X, row, psi, h):  # type: ignore[no-untyped-def]
    """Return ⟨x, ψ_h⟩ of one row, to the bit what ``nearest`` compares."""
    signature = X.dtype(X, types.int64, psi, types.int64)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        X, psi = (_data(context, builder, kinds[k], args[k]) for k in (0, 2))
        d = _shape(context, builder, kinds[2], args[2])[1]
        x, weight = (
            builder.gep(data, [builder.mul(builder.sext(number, ir.IntType(64)), d)])
            for data, number in ((X, args[1]), (psi, args[3]))
        )
        total = cgutils.alloca_once_value(
            builder, ir.Constant(context.get_value_type(kinds[0].dtype), 0.0)
        )
        with _loop(builder, _constant(0), d, _constant(1)) as (m, _):
            one = (builder.load(builder.gep(weight, [m])), builder.load(builder.gep(x, [m])))
            builder.store(_multiply_add(builder, *one, builder.load(total)), total)
        return builder.load(total)

    return signature, codegen


#: Functions for compiled loops.
nearest: Any = intrinsic(_nearest)
product: Any = intrinsic(_product)
products: Any = intrinsic(_products)
