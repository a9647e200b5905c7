//! Programs that are watched: whether integers leave their width, and floats become infinite or NaN of
//! finite operands.
//!
//! A tile is computed as ever, and tested while it is in the cache: rows of integers by their own formula
//! over integers with a flag, floats by the bits of what came out. A test may be wrong in one direction
//! alone, so that chunks in which it finds nothing are done. The others are gone through step by step and
//! element by element, in exact integers ([`allotrope_op::exact`]), which finds the first element that
//! was lost, counts them, and puts the nearest number in their places if it is asked to.
//!
//! An element is lost if a step lost it that it is made of: a row of integers, a conversion, or the row
//! of floats that the result is. Floats inside of a program are not looked at: what counts is what comes
//! of finite inputs. A choice asks for the operand that was chosen alone.

use std::sync::Mutex;
use std::sync::PoisonError;

use allotrope_dtype::{
    CastOptions, Conversion, DType, Error, Kind, Level, Overflow, Scalar, Scratch, cast_bytes,
};
use allotrope_op::{Lost, MAX_ARITY, Op, Program, Shape, Signature, Slot, Step, exact, is_nan};
use bytemuck::Pod;
use smallvec::SmallVec;

use crate::kernel::elementwise::{self, Check};
use crate::kernel::fill;
use crate::memory::try_with_capacity;
use crate::parallel::CHUNK;
use crate::plan::{Plan, Reader};
use crate::simd::{self, Body};
use crate::tile::{Input, Outputs, run_chunks};

/// How the value of a step is tested, while its tile is in the cache.
#[derive(Clone)]
pub(crate) enum Test {
    /// The row that makes it, with a flag for each element.
    Row(Check, [Slot; MAX_ARITY], usize),
    /// Its bits.
    Bits(Bits),
    /// It is to be looked at in any case.
    Always,
}

/// Which floats of a dtype may be lost: those that are not finite and, in formats that saturate, the
/// greatest.
#[derive(Clone)]
pub(crate) enum Bits {
    /// By the magnitude from which they are, of a float of 16 bits.
    Halves(u16),
    /// The same of float32, in pairs too.
    Singles,
    /// The same of float64.
    Doubles,
    /// Of a byte: by the bits of the magnitude, the least of them, and one more code.
    Bytes(u8, u8, u8),
    /// By their codes, which tell nothing simpler.
    Codes(Box<[bool; 256]>),
}

/// Whether a magnitude as bits is at least a limit.
struct AnyFrom<'a, W> {
    values: &'a [W],
    least: W,
    magnitude: W,
    /// One that is not to be there either.
    odd: W,
}

impl<W: Pod + Ord + std::ops::BitAnd<Output = W>> Body for AnyFrom<'_, W> {
    type Output = bool;
    #[inline(always)]
    fn run<const FUSED: bool>(self) -> bool {
        let (least, magnitude, odd) = (self.least, self.magnitude, self.odd);
        let values = self.values.iter();
        values.fold(false, |any, x| {
            any | (*x & magnitude >= least) | (*x == odd)
        })
    }
}

impl Bits {
    fn of(dtype: DType) -> Self {
        match dtype.to_real() {
            DType::F16 => Self::Halves(0x7C00),
            DType::BF16 => Self::Halves(0x7F80),
            DType::F32 => Self::Singles,
            DType::F64 => Self::Doubles,
            narrow => {
                let most = narrow.finfo().map_or(f64::INFINITY, |info| info.max);
                let mut codes = Box::new([true; 256]);
                for (code, is_lost) in codes.iter_mut().enumerate() {
                    if let Ok(Some(value)) = Scalar::from_bytes(narrow, &[code as u8]).map(real) {
                        *is_lost = value.is_nan() || value.abs() >= most;
                    }
                }
                Self::of_codes(narrow.bits(), codes)
            }
        }
    }

    /// The simplest test for codes of so many bits: NaN is the zero with a sign in some formats.
    fn of_codes(bits: u32, codes: Box<[bool; 256]>) -> Self {
        let all = u8::MAX >> (8 - bits.min(8));
        let known = 0..=all;
        for magnitude in [all >> 1, all] {
            let least = (0..=magnitude).find(|code| codes[usize::from(*code)]);
            let Some(least) = least.filter(|least| *least > 0) else {
                continue;
            };
            for odd in [least, all ^ magnitude] {
                let says = |code: u8| code & magnitude >= least || code == odd;
                if known
                    .clone()
                    .all(|code| codes[usize::from(code)] == says(code))
                {
                    return Self::Bytes(magnitude, least, odd);
                }
            }
        }
        Self::Codes(codes)
    }

    /// Whether one of the elements may be lost.
    pub(crate) fn any(&self, level: Level, bytes: &[u8]) -> bool {
        fn from<W>(level: Level, bytes: &[u8], [least, magnitude, odd]: [W; 3]) -> bool
        where
            W: Pod + Ord + std::ops::BitAnd<Output = W>,
        {
            let body = AnyFrom {
                values: bytemuck::cast_slice(bytes),
                least,
                magnitude,
                odd,
            };
            simd::run(level, body)
        }
        match self {
            Self::Halves(least) => from(level, bytes, [*least, 0x7FFF, *least]),
            Self::Singles => from(level, bytes, [0x7F80_0000, 0x7FFF_FFFF_u32, 0x7F80_0000]),
            Self::Bytes(magnitude, least, odd) => from(level, bytes, [*least, *magnitude, *odd]),
            Self::Doubles => {
                let infinite = 0x7FF0_u64 << 48;
                from(level, bytes, [infinite, u64::MAX >> 1, infinite])
            }
            Self::Codes(codes) => bytes
                .iter()
                .fold(false, |any, x| any | codes[usize::from(*x)]),
        }
    }
}

/// A real number.
fn real(scalar: Scalar) -> Option<f64> {
    match scalar.value() {
        allotrope_dtype::WeakScalar::Float(value) => Some(value),
        _ => None,
    }
}

/// Which values come out of a program, as they are, converted or chosen.
fn results(program: &Program) -> SmallVec<[bool; 16]> {
    let mut results: SmallVec<[bool; 16]> = SmallVec::from_elem(false, program.dtypes().len());
    for output in program.outputs() {
        results[usize::from(*output)] = true;
    }
    let inputs = program.input_count();
    for (place, step) in program.steps().iter().enumerate().rev() {
        let is_result = results[inputs + place];
        match step {
            Step::Convert { from, .. } => results[usize::from(*from)] |= is_result,
            Step::Apply {
                op: Op::Where,
                args,
            } => {
                for choice in &args[1..3] {
                    results[usize::from(*choice)] |= is_result;
                }
            }
            _ => {}
        }
    }
    results
}

/// Whether a row makes a number of numbers, so that it may lose one.
fn makes_number(op: Op) -> bool {
    matches!(op.row().signature, Signature::Map | Signature::Real)
}

/// The tests of a program, each with the step after which it is made.
pub(crate) fn tests(program: &Program) -> SmallVec<[(usize, Test); 2]> {
    let (results, inputs) = (results(program), program.input_count());
    let mut tests = SmallVec::new();
    for (place, step) in program.steps().iter().enumerate() {
        let to = program.dtype((inputs + place) as Slot);
        let test = match step {
            Step::Constant(_) | Step::ConversionRest { .. } => None,
            Step::Convert { from, .. } if to.holds_range_of(program.dtype(*from)) => None,
            Step::Convert { .. } if to.is_integer() => Some(Test::Always),
            Step::Convert { .. } => Some(Test::Bits(Bits::of(to))),
            Step::Apply { op, .. } if !makes_number(*op) => None,
            Step::Apply { op, args } if to.is_integer() => {
                let check = elementwise::find_check(*op, program.dtype(args[0]));
                check.map(|check| Test::Row(check, *args, op.arity()))
            }
            Step::Apply { .. } if to == DType::Bool || !results[inputs + place] => None,
            // What is only converted is tested after that.
            Step::Apply { .. } if is_tested_later(program, (inputs + place) as Slot) => None,
            Step::Apply { .. } => Some(Test::Bits(Bits::of(to))),
        };
        tests.extend(test.map(|test| (place, test)));
    }
    tests
}

/// Whether a value is nothing but converted, to dtypes that do not hold all of it.
fn is_tested_later(program: &Program, slot: Slot) -> bool {
    let inputs = program.input_count();
    !program.outputs().contains(&slot)
        && program
            .steps()
            .iter()
            .enumerate()
            .all(|(place, step)| match step {
                Step::Convert { from, .. } if *from == slot => {
                    let to = program.dtype((inputs + place) as Slot);
                    !to.is_integer() && !to.holds_range_of(program.dtype(slot))
                }
                Step::Convert { from, .. } | Step::ConversionRest { from } => *from != slot,
                Step::Apply { op, args } => !args[..op.arity()].contains(&slot),
                Step::Constant(_) => true,
            })
}

/// Runs a program as [`run`](crate::run) does and says what of its results left the range of their
/// dtypes; in their places the nearest numbers if `saturates`, but NaN.
///
/// # Errors
/// A memory error.
pub fn run_checked(
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
    outputs: &mut [&mut [u8]],
    saturates: bool,
) -> Result<Option<Lost>, Error> {
    let count = shape.count();
    if count == 0 {
        return Ok(None);
    }
    let plan = Plan::watched(Level::current(), program, inputs)?;
    let found = Mutex::new(Vec::new());
    run_chunks(&plan, count, outputs, &|first| {
        // bounded: one for each chunk.
        found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(first);
    })?;
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_unstable();
    let mut lost: Option<Lost> = None;
    for first in found {
        let count = CHUNK.min(count - first);
        let mut pieces = Outputs::new();
        for (output, dtype) in outputs.iter_mut().zip(program.output_dtypes()) {
            let size = dtype.itemsize();
            pieces.push(&mut output[first * size..(first + count) * size]);
        }
        let careful = Careful::new(program, inputs, first, count, saturates)?;
        if let Some(more) = careful.run(&mut pieces)? {
            lost = Some(match lost {
                Some(lost) => Lost {
                    count: lost.count + more.count,
                    ..lost
                },
                None => Lost {
                    place: first + more.place,
                    ..more
                },
            });
        }
    }
    Ok(lost)
}

/// A value of a program for each element of a chunk.
struct Value {
    bytes: Vec<u8>,
    /// Which elements are made of lost ones.
    lost: Vec<bool>,
    /// Which elements are made of finite inputs.
    finite: Vec<bool>,
}

/// A chunk that is gone through step by step.
struct Careful<'a> {
    program: &'a Program,
    results: SmallVec<[bool; 16]>,
    values: Vec<Value>,
    count: usize,
    saturates: bool,
    /// Of each step the first element that it has lost itself.
    first: Vec<Option<(usize, Lost)>>,
}

fn filled<T: Copy>(value: T, count: usize) -> Result<Vec<T>, Error> {
    let mut filled = try_with_capacity("overflow", count)?;
    // bounded: that there is room for.
    filled.resize(count, value);
    Ok(filled)
}

/// The number of one integer or truth value.
fn integer(dtype: DType, bytes: &[u8], place: usize) -> i128 {
    macro_rules! read {
        ($int:ty) => {
            i128::from(bytemuck::pod_read_unaligned::<$int>(
                &bytes[place * size_of::<$int>()..][..size_of::<$int>()],
            ))
        };
    }
    match (dtype.itemsize(), dtype.is_signed()) {
        (1, true) => read!(i8),
        (2, true) => read!(i16),
        (4, true) => read!(i32),
        (_, true) => read!(i64),
        (1, false) => read!(u8),
        (2, false) => read!(u16),
        (4, false) => read!(u32),
        (_, false) => read!(u64),
    }
}

/// The dtype of a code of an integer: that of the stored bytes.
fn scalar(dtype: DType, bytes: &[u8], place: usize) -> Result<Scalar, Error> {
    let size = dtype.itemsize();
    Scalar::from_bytes(dtype, &bytes[place * size..(place + 1) * size])
}

/// Whether each element is neither infinite nor NaN.
fn finite(dtype: DType, bytes: &[u8]) -> Result<Vec<bool>, Error> {
    let size = dtype.itemsize();
    let count = bytes.len() / size;
    let is_float = matches!(dtype.kind(), Kind::Float | Kind::Complex);
    let mut all = filled(true, count)?;
    if !is_float || !Bits::of(dtype).any(Level::current(), bytes) {
        return Ok(all);
    }
    for (finite, element) in all.iter_mut().zip(bytes.chunks_exact(size)) {
        *finite = match dtype {
            DType::F32 => bytemuck::pod_read_unaligned::<f32>(element).is_finite(),
            DType::F64 => bytemuck::pod_read_unaligned::<f64>(element).is_finite(),
            _ => match Scalar::from_bytes(dtype, element)?.value() {
                allotrope_dtype::WeakScalar::Complex(value) => value.is_finite(),
                allotrope_dtype::WeakScalar::Float(value) => value.is_finite(),
                _ => true,
            },
        };
    }
    Ok(all)
}

impl<'a> Careful<'a> {
    /// The inputs of a chunk.
    fn new(
        program: &'a Program,
        inputs: &[Input<'a>],
        first: usize,
        count: usize,
        saturates: bool,
    ) -> Result<Self, Error> {
        let mut values = Vec::new();
        for (input, dtype) in inputs.iter().zip(program.input_dtypes()) {
            let mut bytes = filled(0, count * dtype.itemsize())?;
            let mut copy = Program::new(&[*dtype]);
            copy.output(0);
            let plan = Plan::new(Level::current(), &copy, &[*input], false)?;
            plan.run_chunk(first, count, &mut [&mut bytes])?;
            values.push(Value {
                finite: finite(*dtype, &bytes)?,
                lost: filled(false, count)?,
                bytes,
            });
        }
        Ok(Self {
            program,
            results: results(program),
            values,
            count,
            saturates,
            first: Vec::new(),
        })
    }

    /// Goes through all steps; what was lost of the outputs, which get the nearest numbers.
    fn run(mut self, outputs: &mut [&mut [u8]]) -> Result<Option<Lost>, Error> {
        for place in 0..self.program.steps().len() {
            let value = self.step(place)?;
            self.values.push(value);
        }
        let mut found: Option<Lost> = None;
        for (slot, output) in self.program.outputs().iter().zip(outputs) {
            let value = &self.values[usize::from(*slot)];
            let size = self.program.dtype(*slot).itemsize();
            let lost = value.lost.iter().enumerate().filter(|(_, lost)| **lost);
            for (place, _) in lost {
                if self.saturates {
                    let range = place * size..(place + 1) * size;
                    output[range.clone()].copy_from_slice(&value.bytes[range]);
                    // What a number stands for by now is not told.
                    if !is_nan(scalar(self.program.dtype(*slot), &value.bytes, place)?) {
                        continue;
                    }
                }
                match &mut found {
                    Some(lost) => lost.count += 1,
                    None => found = self.told(place, *slot)?,
                }
            }
        }
        Ok(found)
    }

    /// What there is to tell of an element of an output that is lost: the step that lost it.
    fn told(&self, place: usize, output: Slot) -> Result<Option<Lost>, Error> {
        let inputs = self.program.input_count();
        // Of the steps that it is made of the first that is lost there.
        let mut steps = self.program.steps().iter().enumerate();
        let step = steps.find(|(step, _)| self.values[inputs + step].lost[place]);
        let Some((step, made)) = step else {
            return Ok(None);
        };
        let slot = inputs + step;
        let of = |slot: Slot| -> Result<Scalar, Error> {
            let value = &self.values[usize::from(slot)];
            scalar(self.program.dtype(slot), &value.bytes, place)
        };
        // A result that is converted once more is one of the row before.
        let row = match made {
            Step::Convert { from, .. } => usize::from(*from).checked_sub(inputs),
            _ => Some(step),
        };
        let row = row.and_then(|row| match self.program.steps()[row] {
            Step::Apply { op, args } => Some((op, args)),
            _ => None,
        });
        let (op, operands) = match (row, made) {
            (Some((op, args)), _) => {
                let operands = args[..op.arity()].iter().map(|slot| of(*slot));
                (Some(op), operands.collect::<Result<_, Error>>()?)
            }
            (None, Step::Convert { from, .. }) => (None, SmallVec::from_iter([of(*from)?])),
            (None, _) => (None, SmallVec::new()),
        };
        let dtype = match self.results[slot] {
            true => self.program.dtype(output),
            false => self.program.dtype(slot as Slot),
        };
        let told = self.first[step]
            .as_ref()
            .filter(|(first, _)| *first == place);
        let result = match told {
            Some((_, lost)) => lost.result,
            None => of(slot as Slot)?,
        };
        Ok(Some(Lost {
            place,
            count: 1,
            dtype,
            op,
            operands,
            result,
        }))
    }

    /// The value that a step makes.
    fn step(&mut self, place: usize) -> Result<Value, Error> {
        let (program, count) = (self.program, self.count);
        let slot = program.input_count() + place;
        let to = program.dtype(slot as Slot);
        let mut bytes = filled(0, count * to.itemsize())?;
        let (mut lost, mut finite) = (filled(false, count)?, filled(true, count)?);
        let step = program.steps()[place];
        match step {
            Step::Constant(value) => {
                fill(to, &value.to_bytes(), &mut bytes);
                finite = self::finite(to, &bytes)?;
            }
            Step::Convert { from, .. } => {
                let source = &self.values[usize::from(from)];
                let conversion = Conversion::new(program.dtype(from), to)?;
                let mut scratch = Scratch::default();
                conversion.run(Level::current(), &source.bytes, &mut bytes, &mut scratch);
                lost.copy_from_slice(&source.lost);
                finite.copy_from_slice(&source.finite);
            }
            Step::ConversionRest { from } => {
                let source = &self.values[usize::from(from)];
                elementwise::conversion_rest(program.dtype(from), &source.bytes, &mut bytes);
                lost.copy_from_slice(&source.lost);
            }
            Step::Apply { op, args } => {
                let args = &args[..op.arity()];
                let dtype = program.dtype(args[usize::from(op == Op::Where)]);
                let operands = args.iter().map(|arg| &self.values[usize::from(*arg)]);
                let operands: SmallVec<[&Value; MAX_ARITY]> = operands.collect();
                let read: SmallVec<[&[u8]; MAX_ARITY]> =
                    operands.iter().map(|value| &value.bytes[..]).collect();
                if let Some(kernel) = elementwise::find(op, dtype) {
                    kernel(Level::current(), &read, &mut bytes);
                }
                for i in 0..count {
                    let chosen = match op {
                        Op::Where if operands[0].bytes[i] != 0 => &operands[..2],
                        Op::Where => &[operands[0], operands[2]],
                        _ => &operands[..],
                    };
                    lost[i] = chosen.iter().any(|value| value.lost[i]);
                    finite[i] = chosen.iter().all(|value| value.finite[i]);
                }
            }
        }
        let mut value = Value {
            bytes,
            lost,
            finite,
        };
        let own = self.own_losses(step, slot, &mut value)?;
        // bounded: one for each step.
        self.first.push(own);
        Ok(value)
    }

    /// Finds the elements that a step loses itself, and puts the nearest numbers in their places if it
    /// is to saturate. The first of them, as it was.
    fn own_losses(
        &self,
        step: Step,
        slot: usize,
        value: &mut Value,
    ) -> Result<Option<(usize, Lost)>, Error> {
        let (program, to) = (self.program, self.program.dtype(slot as Slot));
        let mut first = None;
        let range = to.integer_range().filter(|_| to.is_integer());
        let mut lose = |value: &mut Value, place: usize, nearest: Option<Scalar>| {
            let result = scalar(to, &value.bytes, place)?;
            value.lost[place] = true;
            if first.is_none() {
                let lost = Lost {
                    place,
                    count: 1,
                    dtype: to,
                    op: None,
                    operands: SmallVec::new(),
                    result,
                };
                first = Some((place, lost));
            }
            if let Some(nearest) = nearest.filter(|_| self.saturates) {
                let size = to.itemsize();
                let bytes = &nearest.to_bytes()[..size];
                value.bytes[place * size..(place + 1) * size].copy_from_slice(bytes);
            }
            Ok::<(), Error>(())
        };
        match step {
            Step::Apply { op, args } if makes_number(op) => {
                if let Some((least, most)) = range {
                    let dtype = program.dtype(args[0]);
                    for i in 0..self.count {
                        let operands: SmallVec<[i128; MAX_ARITY]> = args[..op.arity()]
                            .iter()
                            .map(|arg| integer(dtype, &self.values[usize::from(*arg)].bytes, i))
                            .collect();
                        let exact = exact(op, dtype, &operands);
                        if let Some(exact) = exact.filter(|x| !(least..=most).contains(x)) {
                            lose(value, i, Some(Scalar::new(exact.clamp(least, most), to)?))?;
                        }
                    }
                } else if to != DType::Bool && self.results[slot] {
                    let is_finite = finite(to, &value.bytes)?;
                    for (i, is_finite) in is_finite.into_iter().enumerate().take(self.count) {
                        if value.finite[i] && !is_finite {
                            let nearest = nearest_of(scalar(to, &value.bytes, i)?)?;
                            lose(value, i, nearest)?;
                        }
                    }
                }
            }
            Step::Convert { from, .. } if !to.holds_range_of(program.dtype(from)) => {
                let (dtype, source) = (program.dtype(from), &self.values[usize::from(from)]);
                let is_finite = finite(dtype, &source.bytes)?;
                let options = CastOptions::overflow(Overflow::Raise);
                let bits = Bits::of(if range.is_some() { DType::F64 } else { to });
                for (i, is_finite) in is_finite.into_iter().enumerate().take(self.count) {
                    let (size, width) = (dtype.itemsize(), to.itemsize());
                    let element = &source.bytes[i * size..(i + 1) * size];
                    match range {
                        Some((least, most)) if dtype.is_integer() => {
                            let number = integer(dtype, &source.bytes, i);
                            if !(least..=most).contains(&number) {
                                let nearest = Scalar::new(number.clamp(least, most), to)?;
                                lose(value, i, Some(nearest))?;
                            }
                        }
                        // The cast has its own rule for floats: truncated to the nearest integer.
                        Some(_) => {
                            let mut made = [0; 16];
                            if cast_bytes(dtype, element, to, &mut made[..width], options).is_err()
                            {
                                lose(value, i, None)?;
                            }
                        }
                        None if is_finite => {
                            let made = &value.bytes[i * width..(i + 1) * width];
                            if bits.any(Level::Scalar, made) {
                                let mut cast = [0; 16];
                                let cast = &mut cast[..width];
                                if cast_bytes(dtype, element, to, cast, options).is_err() {
                                    let sign = scalar(dtype, element, 0)?;
                                    lose(value, i, nearest_in(sign, to)?)?;
                                }
                            }
                        }
                        None => {}
                    }
                }
            }
            _ => {}
        }
        Ok(first)
    }
}

/// The greatest finite number in place of an infinite one, in each part.
fn nearest_of(value: Scalar) -> Result<Option<Scalar>, Error> {
    nearest_in(value, value.dtype())
}

/// The number nearest to one beyond the range of a float dtype; nothing for NaN.
fn nearest_in(value: Scalar, to: DType) -> Result<Option<Scalar>, Error> {
    use allotrope_dtype::{WeakScalar, c128};
    let most = to.finfo()?.max;
    let within = |part: f64| part.clamp(-most, most);
    Ok(match value.value() {
        WeakScalar::Float(part) if part.is_nan() => None,
        WeakScalar::Float(part) => Some(Scalar::new(within(part), to)?),
        WeakScalar::Complex(parts) if parts.is_nan() => None,
        WeakScalar::Complex(parts) => {
            let parts = c128::new(within(parts.re), within(parts.im));
            Some(Scalar::new(parts, to)?)
        }
        WeakScalar::Int(number) => Some(Scalar::new(within(number as f64), to)?),
        WeakScalar::Bool(_) => None,
    })
}

impl<'a> Plan<'a> {
    /// A plan with tests behind its steps.
    fn watched(level: Level, program: &'a Program, inputs: &[Input<'a>]) -> Result<Self, Error> {
        let feeds: SmallVec<[crate::into::Feed<'a>; 4]> = inputs
            .iter()
            .copied()
            .map(crate::into::Feed::Input)
            .collect();
        Self::over(level, program, &feeds, false, tests(program))
    }

    /// Whether a pass that makes the output alone leaves all that the tests look at.
    pub(crate) fn can_test_outputs(&self) -> bool {
        let inputs = self.readers.len();
        let is_input = |slot: &Slot| {
            let reader = self.readers.get(usize::from(*slot));
            matches!(reader, Some(Reader::Direct(_)))
        };
        self.tests.iter().all(|(place, test)| match test {
            Test::Row(_, args, arity) => args[..*arity].iter().all(is_input),
            Test::Bits(_) => self.program.outputs() == [(inputs + place) as Slot],
            Test::Always => true,
        })
    }

    /// Whether the tests behind a step find something in a tile.
    pub(crate) fn is_suspicious<'s>(&self, step: usize, value: impl Fn(Slot) -> &'s [u8]) -> bool {
        let slot = (self.readers.len() + step) as Slot;
        let here = self.tests.iter().filter(|(place, _)| *place == step);
        here.fold(false, |any, (_, test)| {
            any | match test {
                Test::Row(check, args, arity) => {
                    let mut operands: [&[u8]; MAX_ARITY] = [&[]; MAX_ARITY];
                    for (operand, slot) in operands.iter_mut().zip(&args[..*arity]) {
                        *operand = value(*slot);
                    }
                    check(self.level, &operands[..*arity])
                }
                Test::Bits(bits) => bits.any(self.level, value(slot)),
                Test::Always => true,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tuples of values of a byte, or a choice of them.
    fn tuples(dtype: DType, arity: usize) -> Vec<Vec<i128>> {
        let (least, most) = dtype.integer_range().unwrap();
        let step = if arity > 2 { 17 } else { 1 };
        let values: Vec<i128> = (least..=most).step_by(step).collect();
        let mut tuples = vec![Vec::new()];
        for _ in 0..arity {
            let longer = tuples.iter().flat_map(|tuple: &Vec<i128>| {
                values
                    .iter()
                    .map(move |value| [&tuple[..], &[*value]].concat())
            });
            tuples = longer.collect();
        }
        tuples
    }

    #[test]
    fn flags_miss_nothing_at_any_level() {
        for dtype in [DType::I8, DType::U8] {
            let (least, most) = dtype.integer_range().unwrap();
            for op in Op::ALL {
                let Some(check) = elementwise::find_check(*op, dtype) else {
                    continue;
                };
                let kernel = elementwise::find(*op, dtype).unwrap();
                for tuple in tuples(dtype, op.arity()) {
                    if *op == Op::Pow && tuple[1] < 0 {
                        continue;
                    }
                    let bytes: Vec<[u8; 1]> = tuple.iter().map(|x| [*x as u8]).collect();
                    let operands: Vec<&[u8]> = bytes.iter().map(|x| &x[..]).collect();
                    let exact = exact(*op, dtype, &tuple).unwrap();
                    let mut wrapped = [0];
                    kernel(Level::current(), &operands, &mut wrapped);
                    if (least..=most).contains(&exact) {
                        assert_eq!(wrapped[0], exact as u8, "{} {tuple:?}", op.name());
                    } else {
                        for level in [Level::Scalar, Level::current()] {
                            assert!(check(level, &operands), "{} {tuple:?}", op.name());
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn codes_of_bytes_are_tested_by_their_bits() {
        for dtype in DType::ALL
            .into_iter()
            .filter(|dtype| dtype.is_floating_point())
        {
            let Ok(info) = dtype.finfo() else { continue };
            let bits = Bits::of(dtype);
            if dtype.itemsize() > 1 {
                continue;
            }
            assert!(matches!(bits, Bits::Bytes(..)), "{dtype}");
            for code in 0..=u8::MAX >> (8 - dtype.bits()) {
                let value = real(Scalar::from_bytes(dtype, &[code]).unwrap()).unwrap();
                let is_lost = value.is_nan() || value.abs() >= info.max;
                for count in [1, 70] {
                    let bytes = [vec![0x01; count - 1], vec![code]].concat();
                    assert_eq!(
                        bits.any(Level::current(), &bytes),
                        is_lost,
                        "{dtype} {code}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_flag_among_many_is_seen() {
        for dtype in [
            DType::I8,
            DType::I16,
            DType::I32,
            DType::I64,
            DType::U16,
            DType::U64,
        ] {
            let (_, most) = dtype.integer_range().unwrap();
            let size = dtype.itemsize();
            for op in [Op::Add, Op::Mul, Op::LeftShift, Op::Square] {
                let check = elementwise::find_check(op, dtype).unwrap();
                for place in [0, 1, 63, 64, 200, 332] {
                    let mut x = vec![0; 333 * size];
                    let y = [&1_u64.to_le_bytes()[..size]; 333].concat();
                    assert!(!check(Level::current(), &[&x[..], &y[..]][..op.arity()]));
                    let number = if op == Op::Mul { most / 2 + 1 } else { most };
                    x[place * size..(place + 1) * size]
                        .copy_from_slice(&number.to_le_bytes()[..size]);
                    let two = [&2_u64.to_le_bytes()[..size]; 333].concat();
                    let y = if op == Op::Mul { &two } else { &y };
                    let operands = &[&x[..], &y[..]][..op.arity()];
                    assert!(check(Level::current(), operands), "{op:?} {dtype} {place}");
                }
            }
        }
    }
}
