"""The operations of ``bits.py`` as LLVM has them, for kernels that are compiled.

The masks are 64-lane vector compares; LLVM lowers them to AVX-512, AVX2, NEON or plain code, so the same source
serves every machine. Only Numba's compiler imports this module.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_I8, _I64, _I128 = ir.IntType(8), ir.IntType(64), ir.IntType(128)
_LANES = ir.VectorType(_I8, 64)


def _load(context, builder, signature, args, target):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    pointer = builder.bitcast(builder.gep(array.data, [args[1]]), ir.PointerType(target))
    return builder.load(pointer, align=1)


def _splat(value: int) -> ir.Constant:
    return ir.Constant(_LANES, [value] * 64)


@intrinsic
def load64(typingctx, data, index):
    """``data[index:index + 8]`` (uint8) as one little-endian uint64, from any address."""

    def codegen(context, builder, signature, args):
        return _load(context, builder, signature, args, _I64)

    return types.uint64(data, index), codegen


@intrinsic
def word_mask(typingctx, data, index):
    """Bit i of the result is set where ``data[index + i]`` is one of ``[0-9A-Za-z_]``; i in 0..63."""

    def codegen(context, builder, signature, args):
        lanes = _load(context, builder, signature, args, _LANES)
        lower = builder.or_(lanes, _splat(0x20))
        letter = builder.icmp_unsigned("<", builder.sub(lower, _splat(ord("a"))), _splat(26))
        digit = builder.icmp_unsigned("<", builder.sub(lanes, _splat(ord("0"))), _splat(10))
        low_line = builder.icmp_unsigned("==", lanes, _splat(ord("_")))
        return builder.bitcast(builder.or_(builder.or_(letter, digit), low_line), _I64)

    return types.uint64(data, index), codegen


@intrinsic
def low_line_mask(typingctx, data, index):
    """Bit i of the result is set where ``data[index + i]`` is ``_``; i in 0..63."""

    def codegen(context, builder, signature, args):
        lanes = _load(context, builder, signature, args, _LANES)
        return builder.bitcast(builder.icmp_unsigned("==", lanes, _splat(ord("_"))), _I64)

    return types.uint64(data, index), codegen


@intrinsic
def white_mask(typingctx, data, index):
    """Bit i of the result is set where ``data[index + i]`` is ASCII white space; i in 0..63."""

    def codegen(context, builder, signature, args):
        lanes = _load(context, builder, signature, args, _LANES)
        control = builder.icmp_unsigned("<", builder.sub(lanes, _splat(9)), _splat(5))
        space = builder.icmp_unsigned("==", lanes, _splat(0x20))
        return builder.bitcast(builder.or_(control, space), _I64)

    return types.uint64(data, index), codegen


@intrinsic
def odd_mask(typingctx, data, index):
    """Bit i of the result is set where ``data[index + i]`` is NUL or not ASCII; i in 0..63."""

    def codegen(context, builder, signature, args):
        lanes = _load(context, builder, signature, args, _LANES)
        return builder.bitcast(builder.icmp_signed("<=", lanes, _splat(0)), _I64)

    return types.uint64(data, index), codegen


@intrinsic
def high_mask(typingctx, data, index):
    """Bit i of the result is set where ``data[index + i]`` is not ASCII; i in 0..63."""

    def codegen(context, builder, signature, args):
        lanes = _load(context, builder, signature, args, _LANES)
        return builder.bitcast(builder.icmp_signed("<", lanes, _splat(0)), _I64)

    return types.uint64(data, index), codegen


@intrinsic
def fold128(typingctx, a, b):
    """High half xor low half of the 128-bit product a·b (the folded multiply of wyhash)."""

    def codegen(context, builder, signature, args):
        product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        high = builder.trunc(builder.lshr(product, ir.Constant(_I128, 64)), _I64)
        return builder.xor(builder.trunc(product, _I64), high)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def high_half(typingctx, a, b):
    """The upper 64 bits of the 128-bit product a·b of two uint64."""

    def codegen(context, builder, signature, args):
        product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        return builder.trunc(builder.lshr(product, ir.Constant(_I128, 64)), _I64)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def multiply61(typingctx, a, b):
    """a·b mod 2⁶¹ − 1 of two uint64 below that prime, as a uint64 below it."""

    def codegen(context, builder, signature, args):
        prime = ir.Constant(_I64, (1 << 61) - 1)
        product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
        low = builder.and_(builder.trunc(product, _I64), prime)
        high = builder.trunc(builder.lshr(product, ir.Constant(_I128, 61)), _I64)
        total = builder.add(low, high)  # 2⁶¹ is 1 modulo the prime
        over = builder.icmp_unsigned(">=", total, prime)
        return builder.select(over, builder.sub(total, prime), total)

    return types.uint64(types.uint64, types.uint64), codegen


@intrinsic
def four_steps61(typingctx, value, powers, a, b, c, d):
    """value·p⁴ + a·p³ + b·p² + c·p + d mod 2⁶¹ − 1, as a uint64 below 2⁶¹ + 4; ``powers`` = (p, p², p³, p⁴).

    ``value`` and the powers are below 2⁶¹ + 4, the others below 2⁶⁰: all five are below 2¹²⁴ together.
    """

    def codegen(context, builder, signature, args):
        prime = ir.Constant(_I64, (1 << 61) - 1)
        value, powers, *more = args
        total = builder.zext(more[3], _I128)
        for k, factor in enumerate((more[2], more[1], more[0], value)):
            power = builder.zext(builder.extract_value(powers, k), _I128)
            total = builder.add(total, builder.mul(power, builder.zext(factor, _I128)))
        for _ in range(2):  # 2⁶¹ is 1 modulo the prime
            low = builder.and_(builder.trunc(total, _I64), prime)
            high = builder.trunc(builder.lshr(total, ir.Constant(_I128, 61)), _I64)
            folded = builder.add(low, high)
            total = builder.zext(folded, _I128)
        return folded

    four = types.UniTuple(types.uint64, 4)
    one = types.uint64
    return one(one, four, one, one, one, one), codegen


@intrinsic
def trailing_zeros(typingctx, word):
    """Index of the lowest set bit of a uint64 (64 for 0), as int64."""

    def codegen(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def bit_count(typingctx, word):
    """Number of set bits of a uint64, as int64."""

    def codegen(context, builder, signature, args):
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def add_bits(typingctx, counts, words, index):
    """Add each bit i of ``words[index:index + 8]`` (uint64) to ``counts[i]`` (uint8[64])."""

    def codegen(context, builder, signature, args):
        counters = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.bitcast(counters.data, ir.PointerType(_LANES))
        source = context.make_array(signature.args[1])(context, builder, args[1])
        sums = builder.load(pointer, align=1)
        bits = ir.VectorType(ir.IntType(1), 64)
        for k in range(8):
            at = builder.gep(source.data, [builder.add(args[2], ir.Constant(_I64, k))])
            word = builder.load(builder.bitcast(at, ir.PointerType(_I64)), align=8)
            sums = builder.add(sums, builder.zext(builder.bitcast(word, bits), _LANES))
        builder.store(sums, pointer, align=1)
        return context.get_dummy_value()

    return types.void(counts, words, index), codegen
