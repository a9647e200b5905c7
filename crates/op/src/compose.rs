//! Programs made of programs: without what is unused, one fed to another, inputs that are one.

use allotrope_dtype::{DType, Scalar};
use smallvec::SmallVec;

use crate::program::{Program, Slot, Step};

impl Program {
    /// The program without the steps and inputs that nothing comes of, and the inputs it still has.
    #[must_use]
    pub fn pruned(&self) -> (Self, SmallVec<[usize; 4]>) {
        let inputs = self.input_count();
        let mut live = vec![false; self.dtypes().len()];
        for slot in self.outputs() {
            live[usize::from(*slot)] = true;
        }
        for (i, step) in self.steps().iter().enumerate().rev() {
            if live[inputs + i] {
                step.each_operand(|slot| live[usize::from(slot)] = true);
            }
        }
        let used: SmallVec<[usize; 4]> = (0..inputs).filter(|i| live[*i]).collect();
        let dtypes: SmallVec<[DType; 8]> = used.iter().map(|i| self.dtypes()[*i]).collect();
        let mut program = Self::new(&dtypes);
        let mut places: Vec<Slot> = vec![0; self.dtypes().len()];
        for (place, input) in used.iter().enumerate() {
            places[*input] = place as Slot;
        }
        for (i, step) in self.steps().iter().enumerate() {
            if live[inputs + i] {
                places[inputs + i] = program.push(step.moved(&places));
            }
        }
        for slot in self.outputs() {
            program.output(places[usize::from(*slot)]);
        }
        (program, used)
    }

    /// This program with one of its inputs made by another program, whose first output it is. The
    /// inputs of the other come first, then those of this one without that input.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::Builder;
    /// let builder = Builder::new(&[DType::F64]);
    /// let square = builder.finish(&[builder.input(0).square()]);
    /// let builder = Builder::new(&[DType::F64, DType::F64]);
    /// let sum = builder.finish(&[builder.input(0) + builder.input(1)]);
    /// assert_eq!(sum.fed(0, &square).to_string(), "\
    /// %0: float64, %1: float64
    /// %2: float64 = square %0
    /// %3: float64 = add %2 %1
    /// return %3
    /// ");
    /// ```
    #[must_use]
    pub fn fed(&self, input: usize, source: &Self) -> Self {
        let mut dtypes: SmallVec<[DType; 8]> = SmallVec::from_slice(source.input_dtypes());
        let first = dtypes.len();
        let own = self.input_dtypes().iter().enumerate();
        dtypes.extend(own.filter(|(i, _)| *i != input).map(|(_, dtype)| *dtype));
        let mut program = Self::new(&dtypes);
        let mut places: Vec<Slot> = (0..source.input_count() as Slot).collect();
        for step in source.steps() {
            let place = program.push(step.moved(&places));
            places.push(place);
        }
        let made = source
            .outputs()
            .first()
            .map_or(0, |slot| places[usize::from(*slot)]);
        let made = program.convert(made, self.input_dtypes()[input]);
        let mut places: Vec<Slot> = Vec::with_capacity(self.dtypes().len());
        for i in 0..self.input_count() {
            places.push(match i.cmp(&input) {
                std::cmp::Ordering::Less => (first + i) as Slot,
                std::cmp::Ordering::Equal => made,
                std::cmp::Ordering::Greater => (first + i - 1) as Slot,
            });
        }
        program.follow(self, &mut places);
        program
    }

    /// This program reading one input in the place of another, which it no longer has.
    ///
    /// ```
    /// use allotrope_dtype::DType;
    /// use allotrope_op::Builder;
    /// let builder = Builder::new(&[DType::F64, DType::F64]);
    /// let sum = builder.finish(&[builder.input(0) + builder.input(1)]);
    /// assert_eq!(sum.with_one_input(0, 1).to_string(), "\
    /// %0: float64
    /// %1: float64 = add %0 %0
    /// return %1
    /// ");
    /// ```
    #[must_use]
    pub fn with_one_input(&self, kept: usize, other: usize) -> Self {
        debug_assert!(kept < other, "the input that is kept comes first");
        let own = self.input_dtypes().iter().enumerate();
        let dtypes: SmallVec<[DType; 8]> = own
            .filter(|(i, _)| *i != other)
            .map(|(_, dtype)| *dtype)
            .collect();
        let mut program = Self::new(&dtypes);
        let place = |i: usize| match i.cmp(&other) {
            std::cmp::Ordering::Less => i as Slot,
            std::cmp::Ordering::Equal => kept as Slot,
            std::cmp::Ordering::Greater => (i - 1) as Slot,
        };
        let mut places: Vec<Slot> = (0..self.input_count()).map(place).collect();
        program.follow(self, &mut places);
        program
    }

    /// Appends the steps of another program, whose inputs have these places, and its outputs.
    fn follow(&mut self, other: &Self, places: &mut Vec<Slot>) {
        for step in other.steps() {
            let place = match step {
                Step::Constant(scalar) => self.constant(*scalar),
                _ => self.push_once(step.moved(places)),
            };
            places.push(place);
        }
        for slot in other.outputs() {
            self.output(places[usize::from(*slot)]);
        }
    }

    /// The place of a constant, which may be there already.
    pub(crate) fn constant(&mut self, scalar: Scalar) -> Slot {
        let is_it = |step: &Step| match step {
            Step::Constant(other) => {
                other.dtype() == scalar.dtype() && other.to_bytes() == scalar.to_bytes()
            }
            _ => false,
        };
        match self.steps().iter().position(is_it) {
            Some(step) => (self.input_count() + step) as Slot,
            None => self.push(Step::Constant(scalar)),
        }
    }

    /// The place of a step, which may be there already: what two terms of a formula have in common is
    /// computed once.
    pub(crate) fn push_once(&mut self, step: Step) -> Slot {
        match self.steps().iter().position(|other| *other == step) {
            Some(step) => (self.input_count() + step) as Slot,
            None => self.push(step),
        }
    }

    /// This program with its first output in another dtype, and nothing else coming out.
    #[must_use]
    pub fn in_dtype(&self, dtype: DType) -> Self {
        let mut program = Self::new(self.input_dtypes());
        for step in self.steps() {
            program.push(*step);
        }
        if let Some(slot) = self.outputs().first() {
            let result = program.convert(*slot, dtype);
            program.output(result);
        }
        program
    }
}

impl Step {
    /// Calls a function with every operand.
    pub(crate) fn each_operand(&self, mut call: impl FnMut(Slot)) {
        match self {
            Self::Constant(_) => {}
            Self::Convert { from, .. } | Self::ConversionRest { from } => call(*from),
            Self::Apply { op, args } => args[..op.arity()].iter().for_each(|slot| call(*slot)),
        }
    }

    /// The step with its operands at other places.
    pub(crate) fn moved(&self, places: &[Slot]) -> Self {
        let place = |slot: Slot| places[usize::from(slot)];
        match *self {
            Self::Constant(scalar) => Self::Constant(scalar),
            Self::Convert { from, to } => Self::Convert {
                from: place(from),
                to,
            },
            Self::ConversionRest { from } => Self::ConversionRest { from: place(from) },
            Self::Apply { op, mut args } => {
                for slot in &mut args[..op.arity()] {
                    *slot = place(*slot);
                }
                Self::Apply { op, args }
            }
        }
    }
}
