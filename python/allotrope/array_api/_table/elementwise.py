"""Elementwise functions: rows. What they are is told by the library."""

ROWS = """
abs(x: Tensor, /) -> Tensor
    >>> xp.abs(xp.asarray([-1.5, 2.0]))
    tensor([1.5000, 2.0000])

acos(x: Tensor, /) -> Tensor
    >>> xp.acos(xp.asarray([1.0, 0.0]))
    tensor([0.0000, 1.5708])

acosh(x: Tensor, /) -> Tensor
    >>> xp.acosh(xp.asarray([1.0, 2.0]))
    tensor([0.0000, 1.3170])

add(x1: Operand, x2: Operand, /) -> Tensor
    The sum; the logical or of bool.

    >>> xp.add(xp.asarray([1, 2]), 10)
    tensor([11, 12])

asin(x: Tensor, /) -> Tensor
    >>> xp.asin(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.5708])

asinh(x: Tensor, /) -> Tensor
    >>> xp.asinh(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8814])

atan(x: Tensor, /) -> Tensor
    >>> xp.atan(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7854])

atan2(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.atan2(xp.asarray([1.0, -1.0]), 1.0)
    tensor([ 0.7854, -0.7854])

atanh(x: Tensor, /) -> Tensor
    >>> xp.atanh(xp.asarray([0.0, 0.5]))
    tensor([0.0000, 0.5493])

bitwise_and(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.bitwise_and(xp.asarray([6, 5]), 4)
    tensor([4, 4])

bitwise_invert(x: Tensor, /) -> Tensor
    >>> xp.bitwise_invert(xp.asarray([0, 5]))
    tensor([-1, -6])

bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.bitwise_left_shift(xp.asarray([1, 5]), 2)
    tensor([ 4, 20])

bitwise_or(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.bitwise_or(xp.asarray([6, 1]), 4)
    tensor([6, 5])

bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.bitwise_right_shift(xp.asarray([8, -8]), 2)
    tensor([ 2, -2])

bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.bitwise_xor(xp.asarray([6, 1]), 4)
    tensor([2, 5])

ceil(x: Tensor, /) -> Tensor
    >>> xp.ceil(xp.asarray([-1.5, 1.5]))
    tensor([-1.,  2.])

conj(x: Tensor, /) -> Tensor
    >>> xp.conj(xp.asarray([1 + 2j]))
    tensor([1.-2.j])

copysign(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.copysign(xp.asarray([1.0, 2.0]), -1.0)
    tensor([-1., -2.])

cos(x: Tensor, /) -> Tensor
    >>> xp.cos(xp.asarray([0.0, 1.0]))
    tensor([1.0000, 0.5403])

cosh(x: Tensor, /) -> Tensor
    >>> xp.cosh(xp.asarray([0.0, 1.0]))
    tensor([1.0000, 1.5431])

divide(x1: Operand, x2: Operand, /) -> Tensor
    The quotient; of integers a float.

    >>> xp.divide(xp.asarray([1.0, 2.0]), 4.0)
    tensor([0.2500, 0.5000])

equal(x1: Operand, x2: Operand, /) -> Tensor
    = al.eq(x1, x2)
    >>> xp.equal(xp.asarray([1, 2]), 2)
    tensor([False,  True])

exp(x: Tensor, /) -> Tensor
    >>> xp.exp(xp.asarray([0.0, 1.0]))
    tensor([1.0000, 2.7183])

expm1(x: Tensor, /) -> Tensor
    >>> xp.expm1(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.7183])

floor(x: Tensor, /) -> Tensor
    >>> xp.floor(xp.asarray([-1.5, 1.5]))
    tensor([-2.,  1.])

floor_divide(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.floor_divide(xp.asarray([7, -7]), 2)
    tensor([ 3, -4])

greater(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.greater(xp.asarray([1, 2]), 1)
    tensor([False,  True])

greater_equal(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.greater_equal(xp.asarray([1, 2]), 2)
    tensor([False,  True])

hypot(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.hypot(xp.asarray([3.0, 5.0]), 4.0)
    tensor([5.0000, 6.4031])

imag(x: Tensor, /) -> Tensor
    >>> xp.imag(xp.asarray([1 + 2j]))
    tensor([2.])

isfinite(x: Tensor, /) -> Tensor
    >>> xp.isfinite(xp.asarray([1.0, xp.inf, xp.nan]))
    tensor([ True, False, False])

isinf(x: Tensor, /) -> Tensor
    >>> xp.isinf(xp.asarray([1.0, xp.inf, xp.nan]))
    tensor([False,  True, False])

isnan(x: Tensor, /) -> Tensor
    >>> xp.isnan(xp.asarray([1.0, xp.inf, xp.nan]))
    tensor([False, False,  True])

less(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.less(xp.asarray([1, 2]), 2)
    tensor([ True, False])

less_equal(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.less_equal(xp.asarray([1, 2]), 1)
    tensor([ True, False])

log(x: Tensor, /) -> Tensor
    >>> xp.log(xp.asarray([1.0, 2.0]))
    tensor([0.0000, 0.6931])

log10(x: Tensor, /) -> Tensor
    >>> xp.log10(xp.asarray([1.0, 100.0]))
    tensor([0., 2.])

log1p(x: Tensor, /) -> Tensor
    >>> xp.log1p(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.6931])

log2(x: Tensor, /) -> Tensor
    >>> xp.log2(xp.asarray([1.0, 8.0]))
    tensor([0., 3.])

logaddexp(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.logaddexp(xp.asarray([0.0, 1.0]), 0.0)
    tensor([0.6931, 1.3133])

logical_and(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.logical_and(xp.asarray([True, False]), True)
    tensor([ True, False])

logical_not(x: Tensor, /) -> Tensor
    >>> xp.logical_not(xp.asarray([True, False]))
    tensor([False,  True])

logical_or(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.logical_or(xp.asarray([True, False]), False)
    tensor([ True, False])

logical_xor(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.logical_xor(xp.asarray([True, False]), True)
    tensor([False,  True])

maximum(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.maximum(xp.asarray([1, 5]), 3)
    tensor([3, 5])

minimum(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.minimum(xp.asarray([1, 5]), 3)
    tensor([1, 3])

multiply(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.multiply(xp.asarray([1, 2]), 10)
    tensor([10, 20])

negative(x: Tensor, /) -> Tensor
    >>> xp.negative(xp.asarray([-1, 2]))
    tensor([ 1, -2])

nextafter(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.nextafter(xp.asarray([1.0]), 2.0) > 1
    tensor([True])

not_equal(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.not_equal(xp.asarray([1, 2]), 2)
    tensor([ True, False])

positive(x: Tensor, /) -> Tensor
    >>> xp.positive(xp.asarray([-1, 2]))
    tensor([-1,  2])

pow(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.pow(xp.asarray([1, 2, 3]), 2)
    tensor([1, 4, 9])

real(x: Tensor, /) -> Tensor
    >>> xp.real(xp.asarray([1 + 2j]))
    tensor([1.])

reciprocal(x: Tensor, /) -> Tensor
    >>> xp.reciprocal(xp.asarray([2.0, 4.0]))
    tensor([0.5000, 0.2500])

remainder(x1: Operand, x2: Operand, /) -> Tensor
    >>> xp.remainder(xp.asarray([7, -7]), 4)
    tensor([3, 1])

round(x: Tensor, /) -> Tensor
    The nearest whole number, ties to even.

    >>> xp.round(xp.asarray([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])

sign(x: Tensor, /) -> Tensor
    >>> xp.sign(xp.asarray([-3, 0, 5]))
    tensor([-1,  0,  1])

signbit(x: Tensor, /) -> Tensor
    >>> xp.signbit(xp.asarray([-0.0, 0.0]))
    tensor([ True, False])

sin(x: Tensor, /) -> Tensor
    >>> xp.sin(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.8415])

sinh(x: Tensor, /) -> Tensor
    >>> xp.sinh(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.1752])

sqrt(x: Tensor, /) -> Tensor
    >>> xp.sqrt(xp.asarray([4.0, 9.0]))
    tensor([2., 3.])

square(x: Tensor, /) -> Tensor
    >>> xp.square(xp.asarray([-3, 4]))
    tensor([ 9, 16])

subtract(x1: Operand, x2: Operand, /) -> Tensor
    The difference.

    >>> xp.subtract(xp.asarray([1, 2]), 10)
    tensor([-9, -8])

tan(x: Tensor, /) -> Tensor
    >>> xp.tan(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 1.5574])

tanh(x: Tensor, /) -> Tensor
    >>> xp.tanh(xp.asarray([0.0, 1.0]))
    tensor([0.0000, 0.7616])

trunc(x: Tensor, /) -> Tensor
    >>> xp.trunc(xp.asarray([-1.5, 1.5]))
    tensor([-1.,  1.])

clip(x: Tensor, /, min: Operand | None = None, max: Operand | None = None) -> Tensor
    = clip(x, min, max)
    The number within two bounds, each of which may be missing; NaN stays.

    >>> xp.clip(xp.asarray([-1, 0, 5]), 0, 3)
    tensor([0, 0, 3])

where(condition: Tensor, x1: Operand, x2: Operand, /) -> Tensor
    The elements of x1 where the condition is true, else those of x2.

    >>> xp.where(xp.asarray([True, False]), xp.asarray([1.0, 2.0]), 0)
    tensor([1., 0.])
"""
