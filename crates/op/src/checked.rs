//! Integers that know whether they left their width: the rows' own formulas, over other numbers.
//!
//! [`Checked`] is a wrapping integer with a flag, for the loop that looks whether anything was lost at
//! all. It may call lost what is not (what a formula makes of it may be right again), never the other way
//! round. [`exact`] says what a formula gives in integers of any size, and has the last word.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Sub};

use allotrope_dtype::DType;

use crate::table::Op;
use crate::table::formula::{self, IntMap};
use crate::whole::Whole;

/// A wrapping integer, and whether it left its width on the way.
#[derive(Clone, Copy, Debug)]
pub struct Checked<T> {
    value: T,
    is_lost: bool,
}

impl<T> Checked<T> {
    /// An integer that is what it should be.
    #[inline(always)]
    pub fn new(value: T) -> Self {
        Self {
            value,
            is_lost: false,
        }
    }

    /// Whether it left its width.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }
}

/// Implements an operator by what it gives and whether that is lost, which operands may be already.
macro_rules! operator {
    ($int:ty, $trait:ident $method:ident, |$a:ident, $b:ident| $made:expr) => {
        impl $trait for Checked<$int> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self.value, other.value);
                let (value, is_lost): ($int, bool) = $made;
                Self {
                    value,
                    is_lost: is_lost | self.is_lost | other.is_lost,
                }
            }
        }
    };
    ($int:ty, $trait:ident $method:ident, |$a:ident| $made:expr) => {
        impl $trait for Checked<$int> {
            type Output = Self;
            #[inline(always)]
            fn $method(self) -> Self {
                let $a = self.value;
                let (value, is_lost): ($int, bool) = $made;
                Self {
                    value,
                    is_lost: is_lost | self.is_lost,
                }
            }
        }
    };
}

/// A product and whether it is lost: in twice the width where that is a register, by the processor's
/// flag in 64 bits.
macro_rules! product {
    ($int:ty, $a:ident, $b:ident, flag) => {
        $a.overflowing_mul($b)
    };
    ($int:ty, $a:ident, $b:ident, $wide:ty) => {{
        let (value, wide) = ($a.wrapping_mul($b), $a as $wide * $b as $wide);
        (value, value as $wide != wide)
    }};
}

macro_rules! impl_checked {
    ($($int:ty, $unsigned:ty, $wide:tt;)*) => {$(
        // Tests in plain arithmetic, of which the compiler makes vectors: of those that give a pair of
        // value and flag it does not.
        operator!($int, Add add, |a, b| {
            let sum = a.wrapping_add(b);
            let is_lost = if <$int>::MIN == 0 { sum < a } else { ((a ^ sum) & (b ^ sum)) >> (<$int>::BITS - 1) != 0 };
            (sum, is_lost)
        });
        operator!($int, Sub sub, |a, b| {
            let rest = a.wrapping_sub(b);
            let is_lost = if <$int>::MIN == 0 { a < b } else { ((a ^ b) & (a ^ rest)) >> (<$int>::BITS - 1) != 0 };
            (rest, is_lost)
        });
        operator!($int, Mul mul, |a, b| product!($int, a, b, $wide));
        operator!($int, Neg neg, |a| {
            (a.wrapping_neg(), if <$int>::MIN == 0 { a != 0 } else { a == <$int>::MIN })
        });
        operator!($int, BitAnd bitand, |a, b| (a & b, false));
        operator!($int, BitOr bitor, |a, b| (a | b, false));
        operator!($int, BitXor bitxor, |a, b| (a ^ b, false));
        operator!($int, Not not, |a| (!a, false));

        impl Checked<$int> {
            #[inline(always)]
            fn with(self, other: Self, value: $int, is_lost: bool) -> Self {
                Self { value, is_lost: is_lost | self.is_lost | other.is_lost }
            }
        }

        impl Whole for Checked<$int> {
            type Mask = bool;
            const BITS: u32 = <$int>::BITS;

            #[inline(always)]
            fn lit(value: i64) -> Self {
                Self::new(value as $int)
            }

            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self.value < other.value
            }

            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self.value <= other.value
            }

            #[inline(always)]
            fn eq(self, other: Self) -> bool {
                self.value == other.value
            }

            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                Self {
                    value: if mask { yes.value } else { no.value },
                    is_lost: (mask & yes.is_lost) | (!mask & no.is_lost),
                }
            }

            #[inline(always)]
            fn div_trunc(self, divisor: Self) -> Self {
                let (a, b) = (self.value, divisor.value);
                let (value, is_lost) = if b == 0 { (0, false) } else { a.overflowing_div(b) };
                self.with(divisor, value, is_lost)
            }

            #[inline(always)]
            fn rem_trunc(self, divisor: Self) -> Self {
                let (a, b) = (self.value, divisor.value);
                let value = if b == 0 { 0 } else { a.wrapping_rem(b) };
                self.with(divisor, value, false)
            }

            #[inline(always)]
            fn shl_by(self, count: Self) -> Self {
                let (x, places) = (self.value, count.value as $unsigned);
                let is_small = places < <$int>::BITS as $unsigned;
                let moved = x.wrapping_shl(places as u32);
                let is_lost = if is_small { moved.wrapping_shr(places as u32) != x } else { x != 0 };
                self.with(count, if is_small { moved } else { 0 }, is_lost)
            }

            #[inline(always)]
            fn shr_by(self, count: Self) -> Self {
                let (x, places) = (self.value, count.value as $unsigned);
                let is_small = places < <$int>::BITS as $unsigned;
                let moved = x.wrapping_shr(if is_small { places as u32 } else { <$int>::BITS - 1 });
                let is_none = <$int>::MIN == 0 && !is_small;
                self.with(count, if is_none { 0 } else { moved }, false)
            }

            #[inline(always)]
            fn count_ones(self) -> Self {
                self.with(self, self.value.count_ones() as $int, false)
            }

            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                let (mut base, mut power) = (self, Self::new(1));
                let mut left = exponent.value as u64;
                while left != 0 {
                    if left & 1 == 1 {
                        power = power * base;
                    }
                    left >>= 1;
                    // The last square is not used.
                    if left != 0 {
                        base = base * base;
                    }
                }
                power.with(exponent, power.value, false)
            }

            #[inline(always)]
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (self.value, other.value);
                while b != 0 {
                    (a, b) = (b, a.wrapping_rem(b));
                }
                self.with(other, a, false).abs()
            }
        }
    )*};
}
impl_checked! {
    i8, u8, i16; i16, u16, i32; i32, u32, i64; i64, u64, flag;
    u8, u8, u16; u16, u16, u32; u32, u32, u64; u64, u64, flag;
}

/// An integer of any size: of products beyond 128 bits the sign and that they are large.
#[derive(Clone, Copy, Debug)]
struct Exact {
    value: i128,
    /// The width of the dtype that operands have; none of a constant.
    bits: u32,
    is_signed: bool,
}

impl Exact {
    /// A number made of two.
    fn of(self, other: Self, value: i128) -> Self {
        Self {
            value,
            bits: self.bits.max(other.bits),
            is_signed: self.is_signed | other.is_signed,
        }
    }

    /// The count of a shift, if it is one.
    fn places(self, count: Self) -> Option<u32> {
        let bits = self.bits.max(count.bits);
        u32::try_from(count.value)
            .ok()
            .filter(|count| *count < bits)
    }
}

macro_rules! exact_operators {
    ($($trait:ident $method:ident |$a:ident, $b:ident| $made:expr;)*) => {$(
        impl $trait for Exact {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self.value, other.value);
                self.of(other, $made)
            }
        }
    )*};
}
exact_operators! {
    Add add |a, b| a.saturating_add(b);
    Sub sub |a, b| a.saturating_sub(b);
    Mul mul |a, b| a.saturating_mul(b);
    BitAnd bitand |a, b| a & b;
    BitOr bitor |a, b| a | b;
    BitXor bitxor |a, b| a ^ b;
}

impl Neg for Exact {
    type Output = Self;
    fn neg(self) -> Self {
        self.of(self, self.value.saturating_neg())
    }
}

impl Not for Exact {
    type Output = Self;
    fn not(self) -> Self {
        let all = if self.is_signed {
            -1
        } else {
            (1 << self.bits) - 1
        };
        self.of(self, self.value ^ all)
    }
}

impl Whole for Exact {
    type Mask = bool;
    const BITS: u32 = i128::BITS;

    fn lit(value: i64) -> Self {
        Self {
            value: i128::from(value),
            bits: 0,
            is_signed: false,
        }
    }

    fn lt(self, other: Self) -> bool {
        self.value < other.value
    }

    fn le(self, other: Self) -> bool {
        self.value <= other.value
    }

    fn eq(self, other: Self) -> bool {
        self.value == other.value
    }

    fn select(mask: bool, yes: Self, no: Self) -> Self {
        yes.of(no, if mask { yes.value } else { no.value })
    }

    fn div_trunc(self, divisor: Self) -> Self {
        self.of(divisor, self.value.checked_div(divisor.value).unwrap_or(0))
    }

    fn rem_trunc(self, divisor: Self) -> Self {
        self.of(divisor, self.value.checked_rem(divisor.value).unwrap_or(0))
    }

    fn shl_by(self, count: Self) -> Self {
        let moved = match self.places(count) {
            Some(places) => self.value << places,
            // Beyond any dtype, but for zero.
            None => self.value.saturating_mul(i128::MAX),
        };
        self.of(count, moved)
    }

    fn shr_by(self, count: Self) -> Self {
        let places = self.places(count).unwrap_or(i128::BITS - 1);
        self.of(count, self.value >> places)
    }

    fn count_ones(self) -> Self {
        self.of(self, i128::from(self.value.count_ones()))
    }

    fn pow(self, exponent: Self) -> Self {
        let (mut base, mut power) = (self, self.of(self, 1));
        let mut left = exponent.value as u64;
        while left != 0 {
            if left & 1 == 1 {
                power = power * base;
            }
            base = base * base;
            left >>= 1;
        }
        power
    }

    fn gcd(self, other: Self) -> Self {
        let (mut a, mut b) = (self.value, other.value);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        self.of(other, a.saturating_abs())
    }
}

/// The formula of a cell over exact integers, or nothing.
macro_rules! cell {
    ($signature:ident $row:ident, $operands:ident, promote) => {
        None
    };
    ($signature:ident $row:ident, $operands:ident, integer) => {
        None
    };
    ($signature:ident $row:ident, $operands:ident, refuse) => {
        None
    };
    (Map $row:ident, $operands:ident, $formula:tt) => {
        $operands.try_into().ok().map(<formula::$row as IntMap<_>>::call)
    };
    (Real $row:ident, $operands:ident, $formula:tt) => {
        cell!(Map $row, $operands, $formula)
    };
    ($signature:ident $row:ident, $operands:ident, $formula:tt) => {
        None
    };
}

macro_rules! define_exact {
    ($({ $variant:ident, $name:ident, ($($arg:ident),*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         float $float:tt complex $complex:tt int $int:tt $($rest:tt)* })*) => {
        fn of_row(op: Op, operands: &[Exact]) -> Option<Exact> {
            match op {
                $(Op::$variant => cell!($signature $variant, operands, $int),)*
            }
        }
    };
}
for_each_op!((define_exact));

/// What a row makes of integers of a dtype, as if that had no ends; beyond 128 bits, what is nearest
/// within them. Nothing for a row that does not make an integer of integers.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_op::{Op, exact};
/// assert_eq!(exact(Op::Add, DType::I8, &[100, 100]), Some(200));
/// assert_eq!(exact(Op::BitwiseNot, DType::U8, &[0]), Some(255));
/// assert_eq!(exact(Op::Div, DType::I8, &[100, 3]), None);
/// ```
#[must_use]
pub fn exact(op: Op, dtype: DType, operands: &[i128]) -> Option<i128> {
    let operand = |value: &i128| Exact {
        value: *value,
        bits: dtype.bits(),
        is_signed: dtype.is_signed(),
    };
    let operands: smallvec::SmallVec<[Exact; 4]> = operands.iter().map(operand).collect();
    of_row(op, &operands).map(|exact| exact.value)
}
