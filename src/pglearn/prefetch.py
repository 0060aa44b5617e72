"""Memory asked for before it is needed: in a large table the row of a far neighbour takes longer to come than to use.

A processor asks ahead by itself where rows follow each other, but not where they are looked up in a list.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

READ, KEEP, DATA = 0, 3, 1  # as LLVM has them: not to be written, to be kept in every cache, no instructions


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing_context: Any, array: Any, i: Any, j: Any) -> Any:
    """Ask for array[i, j], and for what lies beside it, without waiting. Compiled loops alone may call it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        (table, *at), (values, *positions) = signature.args, arguments
        indices = [context.cast(builder, *both, types.intp) for both in zip(positions, at, strict=True)]
        there = context.make_array(table)(context, builder, values)
        pointer = cgutils.get_item_pointer(context, builder, table, there, indices, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(ask, [builder.bitcast(pointer, byte), number(READ), number(KEEP), number(DATA)])
        return context.get_dummy_value()

    return types.void(array, i, j), generate
