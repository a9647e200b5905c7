//! Programs written as formulas over variables.

use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Sub};

use allotrope_dtype::{DType, Scalar, WeakScalar, c128};

use smallvec::SmallVec;

use crate::program::{MAX_ARITY, Program, Slot, Step};
use crate::table::{Op, Signature};

/// A program in the making.
#[derive(Debug)]
pub struct Builder {
    program: RefCell<Program>,
}

impl Builder {
    /// A program that so far only reads inputs of these dtypes.
    #[must_use]
    pub fn new(inputs: &[DType]) -> Self {
        Self {
            program: RefCell::new(Program::new(inputs)),
        }
    }

    /// The variable of an input.
    #[must_use]
    pub fn input(&self, index: usize) -> Var<'_> {
        self.var(index as Slot)
    }

    /// A constant.
    #[must_use]
    pub fn constant(&self, value: Scalar) -> Var<'_> {
        let slot = self.program.borrow_mut().constant(value);
        self.var(slot)
    }

    /// A row over operands. Where some are complex, the others become so.
    #[must_use]
    pub fn apply<'b>(&'b self, op: Op, operands: &[Var<'b>]) -> Var<'b> {
        let numbers = match op.row().signature {
            Signature::Select => &operands[1..],
            _ => operands,
        };
        let complex = numbers
            .iter()
            .map(|var| var.dtype())
            .find(|d| d.is_complex());
        let mut program = self.program.borrow_mut();
        let slots = operands.iter().map(|var| match complex {
            Some(dtype) if program.dtype(var.slot) != DType::Bool => {
                program.convert(var.slot, dtype)
            }
            _ => var.slot,
        });
        let mut args = [0; MAX_ARITY];
        for (arg, slot) in args.iter_mut().zip(slots.collect::<SmallVec<[Slot; 4]>>()) {
            *arg = slot;
        }
        let slot = program.push_once(Step::Apply { op, args });
        drop(program);
        self.var(slot)
    }

    /// The program that gives these values.
    #[must_use]
    pub fn finish(&self, outputs: &[Var<'_>]) -> Program {
        let mut program = self.program.borrow().clone();
        for var in outputs {
            program.output(var.slot);
        }
        program
    }

    fn var(&self, slot: Slot) -> Var<'_> {
        Var {
            builder: self,
            slot,
        }
    }
}

/// A value of a program in the making. Every row of the tables is a method.
#[derive(Clone, Copy, Debug)]
pub struct Var<'b> {
    builder: &'b Builder,
    slot: Slot,
}

impl<'b> Var<'b> {
    /// The dtype.
    #[must_use]
    pub fn dtype(self) -> DType {
        self.builder.program.borrow().dtype(self.slot)
    }

    /// The place in the program.
    #[must_use]
    pub fn slot(self) -> Slot {
        self.slot
    }

    /// The value in another dtype.
    #[must_use]
    pub fn to(self, dtype: DType) -> Self {
        let slot = self.builder.program.borrow_mut().convert(self.slot, dtype);
        self.builder.var(slot)
    }

    /// What the conversion of this 64-bit integer to float64 leaves out.
    pub(crate) fn conversion_rest(self) -> Self {
        let step = Step::ConversionRest { from: self.slot };
        let slot = self.builder.program.borrow_mut().push(step);
        self.builder.var(slot)
    }

    /// Whether this is the constant 1.
    pub(crate) fn is_one(self) -> bool {
        match self.builder.program.borrow().step(self.slot) {
            Some(Step::Constant(scalar)) => match scalar.value() {
                WeakScalar::Float(value) => value == 1.0,
                WeakScalar::Complex(value) => value == c128::new(1.0, 0.0),
                WeakScalar::Int(_) | WeakScalar::Bool(_) => false,
            },
            _ => false,
        }
    }

    /// A constant of this value's dtype.
    #[must_use]
    pub fn lit(self, value: f64) -> Self {
        let dtype = self.dtype();
        let weak = match dtype.kind() {
            kind if kind.rung() >= 2 => WeakScalar::Float(value),
            _ => WeakScalar::Int(value as i128),
        };
        let zero = || Scalar::new(WeakScalar::Bool(false), dtype);
        match Scalar::new(weak, dtype).or_else(|_| zero()) {
            Ok(scalar) => self.builder.constant(scalar),
            Err(_) => self,
        }
    }

    /// Zero of this value's dtype.
    #[must_use]
    pub fn zero(self) -> Self {
        self.lit(0.0)
    }

    /// One of this value's dtype.
    #[must_use]
    pub fn one(self) -> Self {
        self.lit(1.0)
    }

    /// `yes` where this truth value is true, else `no`.
    #[must_use]
    pub fn pick(self, yes: Self, no: Self) -> Self {
        self.builder.apply(Op::Where, &[self, yes, no])
    }

    /// The gradient of `sign` at a complex number; nothing for real ones.
    pub(crate) fn sign_gradient(self, gradient: Self, sign: Self) -> Self {
        if !self.dtype().is_complex() {
            return gradient.zero();
        }
        // (g - Re(g conj(s)) s) / |x|, what is across the direction.
        let along = (gradient * sign.conj()).real();
        let across = gradient - along * sign;
        let size = self.abs();
        size.eq(size.zero()).pick(across.zero(), across / size)
    }

    /// The gradient of the imaginary part.
    pub(crate) fn imag_gradient(self, gradient: Self) -> Self {
        if self.dtype().is_complex() {
            gradient.to(self.dtype()) * self.imaginary_unit()
        } else {
            gradient.zero()
        }
    }

    /// The gradient of the angle: i x / |x|² times the gradient.
    pub(crate) fn angle_gradient(self, gradient: Self) -> Self {
        if !self.dtype().is_complex() {
            return gradient.zero();
        }
        let size = self.abs();
        let slope = self * self.imaginary_unit() / (size * size);
        size.eq(size.zero()).pick(slope.zero(), gradient * slope)
    }

    /// The gradient of `softsign`, with `s = 1 / (1 + |x|)`: `s² g` for real numbers, and
    /// `s g - s² Re(g conj(x)) x / |x|` for complex ones.
    pub(crate) fn softsign_gradient(self, gradient: Self) -> Self {
        let share = (self.abs() + 1.0).reciprocal();
        if !self.dtype().is_complex() {
            return gradient * share.square();
        }
        let along = (gradient * self.conj()).real() * share.square();
        gradient * share - self.sign() * along
    }

    fn imaginary_unit(self) -> Self {
        let unit = WeakScalar::Complex(c128::new(0.0, 1.0));
        match Scalar::new(unit, self.dtype()) {
            Ok(unit) => self.builder.constant(unit),
            Err(_) => self,
        }
    }
}

macro_rules! row_methods {
    ($({ $variant:ident, $name:ident, ($first:ident $(, $arg:ident)*) -> $out:ident, $signature:ident, $autocast:ident, $doc:literal,
         $($rest:tt)* })*) => {
        impl<'b> Var<'b> {$(
            #[doc = $doc]
            #[must_use]
            #[allow(clippy::should_implement_trait, reason = "rows are named as in torch")]
            #[allow(clippy::wrong_self_convention, reason = "rows are named as in torch")]
            pub fn $name(self $(, $arg: Var<'b>)*) -> Var<'b> {
                self.builder.apply(Op::$variant, &[self $(, $arg)*])
            }
        )*}
    };
}
for_each_op!((row_methods));

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'b> $trait for Var<'b> {
            type Output = Var<'b>;
            fn $method(self, other: Var<'b>) -> Var<'b> {
                self.builder.apply(Op::$op, &[self, other])
            }
        }
    )*};
}
operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    BitAnd bitand BitwiseAnd;
    BitOr bitor BitwiseOr;
}

macro_rules! operators_with_numbers {
    ($($trait:ident $method:ident $op:ident;)*) => {$(
        impl<'b> $trait<f64> for Var<'b> {
            type Output = Var<'b>;
            fn $method(self, other: f64) -> Var<'b> {
                self.builder.apply(Op::$op, &[self, self.lit(other)])
            }
        }

        impl<'b> $trait<Var<'b>> for f64 {
            type Output = Var<'b>;
            fn $method(self, other: Var<'b>) -> Var<'b> {
                other.builder.apply(Op::$op, &[other.lit(self), other])
            }
        }
    )*};
}
operators_with_numbers! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl Neg for Var<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.builder.apply(Op::Neg, &[self])
    }
}
