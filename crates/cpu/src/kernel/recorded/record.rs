//! A lane that computes nothing: its operations are written down, to be run over tiles later.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

use allotrope_op::elementary::{self, Elementary};
use allotrope_op::{Lane, LaneBits, Op};

/// What a step does. Truth values are words of ones or of zeros, so that bits serve for them too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The part of an operand, by its number.
    Part(u8),
    /// The bits of the step everywhere, cut to the width.
    Constant,
    Add,
    Sub,
    Mul,
    Div,
    /// `a * b + c`.
    MulAdd,
    /// What the rounding of `a * b` leaves out.
    MulRest,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Round,
    Rem,
    Lt,
    Le,
    Eq,
    /// `b` where `a` has ones, else `c`.
    Select,
    And,
    Or,
    Xor,
    AddBits,
    SubBits,
    MulBits,
    Shl,
    Shr,
    ShrLogical,
    EqBits,
    LtBits,
    /// A row of the table, over floats.
    Row(Op),
}

/// A step: what is done to the values of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) action: Action,
    /// Numbers of steps, after the last of which comes [`NONE`].
    pub(super) from: [u16; 3],
    /// The value of a constant.
    pub(super) bits: u64,
}

/// No step.
pub(super) const NONE: u16 = u16::MAX;

thread_local! {
    /// The steps so far. A constant of a lane has no context, so that a thread has one list.
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

/// The steps that a formula takes, and those whose values are its results.
pub(super) fn steps_of<R>(formula: impl FnOnce() -> R) -> (Vec<Step>, R) {
    STEPS.take();
    let results = formula();
    (STEPS.take(), results)
}

/// The number of a step, which is new unless there is the same already.
#[inline(never)]
fn push(step: Step) -> u16 {
    STEPS.with_borrow_mut(|steps| {
        let found = steps.iter().position(|other| *other == step);
        let index = found.unwrap_or_else(|| {
            steps.push(step);
            steps.len() - 1
        });
        index as u16
    })
}

/// The step with these operands.
#[inline(never)]
fn act(action: Action, a: u16, b: u16, c: u16) -> u16 {
    push(Step {
        action,
        from: [a, b, c],
        bits: 0,
    })
}

/// The step that gives these bits.
#[inline(never)]
fn constant(bits: u64) -> u16 {
    push(Step {
        action: Action::Constant,
        from: [NONE; 3],
        bits,
    })
}

/// The value of a step: a float, an integer of its width or a truth value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<T> {
    pub(super) step: u16,
    of: PhantomData<T>,
}

impl<T> Value<T> {
    /// The part of an operand.
    pub(super) fn part(number: u8) -> Self {
        Self::of_step(act(Action::Part(number), NONE, NONE, NONE))
    }

    #[inline(always)]
    fn unary(action: Action, a: u16) -> Self {
        Self::of_step(act(action, a, NONE, NONE))
    }

    #[inline(always)]
    fn binary(action: Action, a: u16, b: u16) -> Self {
        Self::of_step(act(action, a, b, NONE))
    }

    #[inline(always)]
    fn select(mask: Value<bool>, yes: Self, no: Self) -> Self {
        Self::of_step(act(Action::Select, mask.step, yes.step, no.step))
    }

    #[inline(always)]
    fn of_step(step: u16) -> Self {
        Self {
            step,
            of: PhantomData,
        }
    }
}

macro_rules! operators {
    ($([$($bound:ident)?] $trait:ident $name:ident $action:ident;)*) => {$(
        impl<T $(: $bound)?> $trait for Value<T> {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                Self::binary(Action::$action, self.step, other.step)
            }
        }
    )*};
}
operators! {
    [Float] Add add Add;
    [Float] Sub sub Sub;
    [Float] Mul mul Mul;
    [Float] Div div Div;
    [] BitAnd bitand And;
    [] BitOr bitor Or;
    [] BitXor bitxor Xor;
}

impl<T> Not for Value<T> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        self ^ Self::of_step(constant(u64::MAX))
    }
}

impl<T: Float> Neg for Value<T> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self ^ Self::lit(-0.0)
    }
}

/// A float that is recorded.
pub(crate) trait Float: Copy {
    const MANTISSA: u32;
    const BIAS: i64;
    /// The bits of the number that is nearest.
    fn bits(value: f64) -> u64;
}

impl Float for f32 {
    const MANTISSA: u32 = 23;
    const BIAS: i64 = 127;
    #[inline(always)]
    fn bits(value: f64) -> u64 {
        (value as f32).to_bits().into()
    }
}

impl Float for f64 {
    const MANTISSA: u32 = 52;
    const BIAS: i64 = 1023;
    #[inline(always)]
    fn bits(value: f64) -> u64 {
        value.to_bits()
    }
}

/// What added to a small number rounds it: the last place of the sum is one.
#[inline(always)]
fn shift<T: Float>() -> Value<T> {
    Value::<T>::lit(1.5 * (1_u64 << T::MANTISSA) as f64)
}

macro_rules! value {
    ($action:expr, $a:ident) => {
        Value::unary($action, $a.step)
    };
    ($action:expr, $a:ident $b:ident) => {
        Value::binary($action, $a.step, $b.step)
    };
}

macro_rules! methods {
    ($($name:ident($($other:ident),*) -> $out:ty = $action:ident;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $other: Self)*) -> $out {
            value!(Action::$action, self $($other)*)
        }
    )*};
}

impl<T: Float> Lane for Value<T> {
    type Mask = Value<bool>;
    type Bits = Value<Whole<T>>;
    const MANTISSA: u32 = T::MANTISSA;
    const BIAS: i64 = T::BIAS;

    methods! {
        sqrt() -> Self = Sqrt;
        floor() -> Self = Floor;
        ceil() -> Self = Ceil;
        trunc() -> Self = Trunc;
        round() -> Self = Round;
        rem(other) -> Self = Rem;
        lt(other) -> Value<bool> = Lt;
        le(other) -> Value<bool> = Le;
        eq(other) -> Value<bool> = Eq;
    }

    #[inline(always)]
    fn lit(value: f64) -> Self {
        Self::of_step(constant(T::bits(value)))
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::of_step(act(Action::MulAdd, self.step, a.step, b.step))
    }

    #[inline(always)]
    fn mul_exact(self, other: Self) -> (Self, Self) {
        let rest = Self::binary(Action::MulRest, self.step, other.step);
        (self * other, rest)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self & !Self::lit(-0.0)
    }

    #[inline(always)]
    fn round_small(self) -> Self {
        (self + shift()) - shift()
    }

    #[inline(always)]
    fn select(mask: Value<bool>, yes: Self, no: Self) -> Self {
        Value::select(mask, yes, no)
    }

    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        Value::of_step(self.step)
    }

    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self::of_step(bits.step)
    }

    #[inline(always)]
    fn to_int_small(self) -> Self::Bits {
        (self + shift()).to_bits().sub(shift::<T>().to_bits())
    }

    #[inline(always)]
    fn from_int_small(bits: Self::Bits) -> Self {
        Self::from_bits(bits.add(shift::<T>().to_bits())) - shift()
    }
}

/// The integer of a float's width.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole<T>(PhantomData<T>);

impl<T: Float> LaneBits for Value<Whole<T>> {
    type Mask = Value<bool>;

    methods! {
        add(other) -> Self = AddBits;
        sub(other) -> Self = SubBits;
        mul(other) -> Self = MulBits;
        shl_by(count) -> Self = Shl;
        shr_logical_by(count) -> Self = ShrLogical;
        eq(other) -> Value<bool> = EqBits;
        lt(other) -> Value<bool> = LtBits;
    }

    #[inline(always)]
    fn lit(value: i64) -> Self {
        Self::of_step(constant(value as u64))
    }

    #[inline(always)]
    fn shl(self, count: u32) -> Self {
        self.shl_by(Self::lit(count.into()))
    }

    #[inline(always)]
    fn shr(self, count: u32) -> Self {
        Self::binary(Action::Shr, self.step, Self::lit(count.into()).step)
    }

    #[inline(always)]
    fn shr_logical(self, count: u32) -> Self {
        self.shr_logical_by(Self::lit(count.into()))
    }

    #[inline(always)]
    fn select(mask: Value<bool>, yes: Self, no: Self) -> Self {
        Value::select(mask, yes, no)
    }
}

/// Elementary functions are rows, whose kernels there are.
macro_rules! rows {
    ($($name:ident($($other:ident)?) $row:ident;)*) => {
        impl<T: Float> Elementary for Value<T> {
            $(#[inline(always)]
            fn $name(self $(, $other: Self)?) -> Self {
                value!(Action::Row(Op::$row), self $($other)?)
            })*

            #[inline(always)]
            fn copysign(self, y: Self) -> Self {
                elementary::copysign(self, y)
            }
        }
    };
}
rows! {
    exp() Exp;
    exp_near() Exp;
    exp_rough() Exp;
    exp_rough_near() Exp;
    exp2() Exp2;
    expm1() Expm1;
    log() Log;
    log2() Log2;
    log10() Log10;
    log1p() Log1p;
    sin() Sin;
    cos() Cos;
    tan() Tan;
    sin_near() Sin;
    cos_near() Cos;
    tan_near() Tan;
    asin() Asin;
    acos() Acos;
    atan() Atan;
    atan2(x) Atan2;
    sinh() Sinh;
    cosh() Cosh;
    tanh() Tanh;
    tanh_rough() Tanh;
    tanhshrink() Tanhshrink;
    asinh() Asinh;
    acosh() Acosh;
    atanh() Atanh;
    erf() Erf;
    erfc() Erfc;
    gelu() Gelu;
    cbrt() Cbrt;
    pow(y) Pow;
    erfinv() Erfinv;
    lgamma() Lgamma;
    digamma() Digamma;
    hypot(y) Hypot;
    rsqrt() Rsqrt;
    logaddexp(y) Logaddexp;
    logaddexp2(y) Logaddexp2;
    fmod(y) Fmod;
    remainder(y) Remainder;
    floor_divide(y) FloorDivide;
    nextafter(y) Nextafter;
}
