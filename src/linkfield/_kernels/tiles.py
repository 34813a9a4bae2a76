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
from numba import njit, types
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

__all__ = ["TILE", "nearest", "product", "products", "room_for"]

#: Rows of the largest tile: two registers of the widest kind.
TILE = 32

#: Centres that are multiplied at a time, registers of rows, and features: a tile that is turned
#: round must stay in the first cache.
CENTRES, REGISTERS, FEATURES = 4, 2, 128

#: So many tiles ahead memory is asked for rows: processors do not look beyond a page of their own
#: accord, and one tile of a few dozen features fills a page.
AHEAD = 4


@njit(cache=True)
def room_for(n_centres: int) -> int:
    """Return how many numbers of room the functions below need."""
    return (FEATURES + n_centres) * TILE


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

    def __init__(self, context: Any, builder: Any, data: Any, kind: Any, room: Any) -> None:
        lanes = lanes_of(context, kind.bitwidth)
        self.builder, self.lanes, self.size = builder, lanes, lanes * REGISTERS
        self.vector = ir.VectorType(context.get_value_type(kind), lanes)
        self.align = kind.bitwidth // 8
        #: Rows may hold wider numbers than those that are multiplied.
        self.wider, self.width = data != kind, data.bitwidth // 8
        self.given = ir.VectorType(context.get_value_type(data), lanes)
        self.features, self.sums = room, builder.gep(room, [constant(FEATURES * TILE)])

    def turn(self, X: Any, d: Any, first: Any, last: Any, part: tuple[Any, Any]) -> None:
        """Write part of the features of rows from ``first`` on, feature by feature.

        Behind the last row that one stands in.
        """
        builder, lanes, (start, stop) = self.builder, self.lanes, part
        whole = builder.and_(builder.sub(stop, start), constant(-lanes))
        whole = builder.add(start, whole)
        for register in range(REGISTERS):
            rows = []
            for k in range(lanes):
                i = builder.add(first, constant(register * lanes + k))
                i = builder.select(builder.icmp_signed("<", i, last), i, last)
                rows.append(builder.gep(X, [builder.mul(i, d)]))
            ahead = builder.mul(d, constant(AHEAD * self.size))
            with loop(builder, start, whole, constant(lanes)) as (m, _):
                loaded = [
                    self.narrow(load(builder, builder.gep(row, [m]), self.given, self.width))
                    for row in rows
                ]
                for row in rows:
                    for k in range(0, lanes, LINE // self.width):
                        at = builder.add(m, builder.add(ahead, constant(k)))
                        prefetch(builder, builder.gep(row, [at]))
                for k, feature in enumerate(_turned(builder, loaded)):
                    at = self.place(builder.add(m, constant(k)), start, register * lanes)
                    store(builder, feature, builder.gep(self.features, [at]), self.align)
            with loop(builder, whole, stop, constant(1)) as (m, _):
                for k, row in enumerate(rows):
                    at = builder.gep(self.features, [self.place(m, start, register * lanes + k)])
                    builder.store(self.narrow(builder.load(builder.gep(row, [m]))), at)

    def narrow(self, value: Any) -> Any:
        """Return numbers of the data as those that are multiplied."""
        if not self.wider:
            return value
        kind = self.vector if isinstance(value.type, ir.VectorType) else self.vector.element
        return self.builder.fptrunc(value, kind)

    def place(self, m: Any, start: Any, row: int) -> Any:
        """Return where a feature of a row stands."""
        builder = self.builder
        return builder.add(builder.mul(builder.sub(m, start), constant(self.size)), constant(row))

    def variables(self, value: Any) -> list[Any]:
        """Return a variable for every register of rows."""
        found = [cgutils.alloca_once(self.builder, value.type) for _ in range(REGISTERS)]
        for variable in found:
            self.builder.store(value, variable)
        return found

    def multiply(
        self, psi: Any, d: Any, h: Any, count: int, part: tuple[Any, Any]
    ) -> list[list[Any]]:
        """Add part of the products with ``count`` centres from h on; return a variable each."""
        builder, lanes, (start, stop) = self.builder, self.lanes, part
        sums = [self.variables(ir.Constant(self.vector, [0.0] * lanes)) for _ in range(count)]
        with builder.if_then(builder.icmp_signed(">", start, constant(0))):
            for variable, at in self.unfinished(sums, h):
                builder.store(load(builder, at, self.vector, self.align), variable)
        centres = [
            builder.gep(psi, [builder.mul(builder.add(h, constant(k)), d)]) for k in range(count)
        ]
        with loop(builder, start, stop, constant(1)) as (m, _):
            rows = [self.place(m, start, r * lanes) for r in range(REGISTERS)]
            x = [
                load(builder, builder.gep(self.features, [k]), self.vector, self.align)
                for k in rows
            ]
            for k in range(count):
                weight = splat(builder, builder.load(builder.gep(centres[k], [m])), lanes)
                for r in range(REGISTERS):
                    total = multiply_add(builder, weight, x[r], builder.load(sums[k][r]))
                    builder.store(total, sums[k][r])
        return sums

    def unfinished(self, sums: list[list[Any]], h: Any) -> list[tuple[Any, Any]]:
        """Return the variables of some products, and where they wait for more features."""
        builder, found = self.builder, []
        for k, several in enumerate(sums):
            row = builder.mul(builder.add(h, constant(k)), constant(self.size))
            for r, variable in enumerate(several):
                at = builder.add(row, constant(r * self.lanes))
                found.append((variable, builder.gep(self.sums, [at])))
        return found

    def passes(self, X: Any, psi: Any, shape: tuple[Any, Any], first: Any, last: Any) -> Any:
        """Multiply a tile with all centres; yield those products that are complete.

        As the first of some centres, and a variable for each of them and every register.
        """
        builder, (K, d) = self.builder, shape
        many = builder.and_(K, constant(-CENTRES))
        with loop(builder, constant(0), d, constant(FEATURES)) as (start, _):
            stop = builder.add(start, constant(FEATURES))
            stop = builder.select(builder.icmp_signed("<", stop, d), stop, d)
            self.turn(X, d, first, last, (start, stop))
            for begin, end, count in ((constant(0), many, CENTRES), (many, K, 1)):
                with loop(builder, begin, end, constant(count)) as (h, _):
                    sums = self.multiply(psi, d, h, count, (start, stop))
                    done = builder.icmp_signed("==", stop, d)
                    with builder.if_else(done) as (complete, more):
                        with complete:
                            yield h, [[builder.load(one) for one in several] for several in sums]
                        with more:
                            for variable, at in self.unfinished(sums, h):
                                store(builder, builder.load(variable), at, self.align)

    def compare(self, products: list[list[Any]], g: Any, h: Any, least: tuple[Any, ...]) -> None:
        """Set the least cost, the second least and the label, given more centres, from h on."""
        builder = self.builder
        for k, registers in enumerate(products):
            number = builder.add(h, constant(k))
            cost = splat(builder, builder.load(builder.gep(g, [number])), self.lanes)
            name = splat(builder, builder.trunc(number, ir.IntType(32)), self.lanes)
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


def _products(typingctx, X, last, psi, room, out):  # type: ignore[no-untyped-def]
    """Set ⟨x, ψ_h⟩ of the rows 0..last and all centres.

    ``room`` is what :func:`room_for` gives; ``out`` (K, whole tiles) gets the products label by
    label.
    """
    signature = types.void(X, types.int64, psi, room, out)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds, last = signature.args, args[1]
        X, psi, room, out = (data_of(context, builder, kinds[k], args[k]) for k in (0, 2, 3, 4))
        shape = shape_of(context, builder, kinds[2], args[2])
        width = shape_of(context, builder, kinds[4], args[4])[1]
        tile = _Tile(context, builder, kinds[0].dtype, kinds[2].dtype, room)
        end, step = builder.add(last, constant(1)), constant(tile.size)
        with loop(builder, constant(0), end, step) as (first, _):
            for h, products in tile.passes(X, psi, shape, first, last):
                for k, registers in enumerate(products):
                    row = builder.mul(builder.add(h, constant(k)), width)
                    for r, one in enumerate(registers):
                        at = builder.add(builder.add(row, first), constant(r * tile.lanes))
                        store(builder, one, builder.gep(out, [at]), tile.align)
        return context.get_dummy_value()

    return signature, codegen


def _nearest(typingctx, X, last, psi, g, room, best, second, label):  # type: ignore[no-untyped-def]
    """Set the least cost g − ⟨x, ψ⟩ of the rows 0..last, the second least, and whose it is.

    ``room`` is what :func:`room_for` gives, the other three hold whole tiles. The label is the
    first of those that cost the same.
    """
    signature = types.void(X, types.int64, psi, g, room, best, second, label)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds, last = signature.args, args[1]
        X, psi, g, room, *outs = (
            data_of(context, builder, kinds[k], args[k]) for k in (0, 2, 3, 4, 5, 6, 7)
        )
        shape = shape_of(context, builder, kinds[2], args[2])
        tile = _Tile(context, builder, kinds[0].dtype, kinds[2].dtype, room)
        infinite = ir.Constant(tile.vector, [float("inf")] * tile.lanes)
        nobody = ir.Constant(ir.VectorType(ir.IntType(32), tile.lanes), [0] * tile.lanes)
        end, step = builder.add(last, constant(1)), constant(tile.size)
        with loop(builder, constant(0), end, step) as (first, _):
            least = tile.variables(infinite), tile.variables(infinite), tile.variables(nobody)
            for h, products in tile.passes(X, psi, shape, first, last):
                tile.compare(products, g, h, least)
            for out, variables, align in zip(outs, least, (tile.align,) * 2 + (4,), strict=True):
                for r, variable in enumerate(variables):
                    at = builder.add(first, constant(r * tile.lanes))
                    store(builder, builder.load(variable), builder.gep(out, [at]), align)
        return context.get_dummy_value()

    return signature, codegen


def _product(typingctx, X, row, psi, h):  # type: ignore[no-untyped-def]
    """Return ⟨x, ψ_h⟩ of one row, to the bit what ``nearest`` compares."""
    signature = X.dtype(X, types.int64, psi, types.int64)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        kinds = signature.args
        X, psi = (data_of(context, builder, kinds[k], args[k]) for k in (0, 2))
        d = shape_of(context, builder, kinds[2], args[2])[1]
        x, weight = (
            builder.gep(data, [builder.mul(builder.sext(number, ir.IntType(64)), d)])
            for data, number in ((X, args[1]), (psi, args[3]))
        )
        total = cgutils.alloca_once_value(
            builder, ir.Constant(context.get_value_type(kinds[0].dtype), 0.0)
        )
        with loop(builder, constant(0), d, constant(1)) as (m, _):
            one = (builder.load(builder.gep(weight, [m])), builder.load(builder.gep(x, [m])))
            builder.store(multiply_add(builder, *one, builder.load(total)), total)
        return builder.load(total)

    return signature, codegen


#: Functions for compiled loops.
nearest: Any = intrinsic(_nearest)
product: Any = intrinsic(_product)
products: Any = intrinsic(_products)
