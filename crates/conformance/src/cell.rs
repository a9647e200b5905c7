//! One row on operands of one dtype, on the CPU at any SIMD level or on any device.

use allotrope_cpu::{Buffer, Input, run_at};
use allotrope_dtype::{DType, Error, Kind, Level, WeakScalar, default_dtype};
use allotrope_op::{
    Argument, Backend, Cell as Rule, Layout, Op, Program, Shape, Shared, Signature, View, complex,
    infer,
};

use crate::arrange::Arranged;
use crate::column::Column;
use crate::distance::{tolerance, ulps};
use crate::oracle::{self, Exact, Pair};
use crate::report::Report;
use crate::sample::dtype_of;

/// A row with a dtype of its operands.
pub struct Cell {
    /// The row.
    pub op: Op,
    /// The dtype of the operands.
    pub dtype: DType,
    /// The program of the row.
    pub program: Program,
}

/// The dtype that a row computes in, as its cells say; `None` where they refuse.
#[must_use]
pub fn working_dtype(op: Op, dtype: DType) -> Option<DType> {
    match op.row().cell(dtype.kind()) {
        Rule::Formula => Some(dtype),
        Rule::Promote => Some(default_dtype()),
        Rule::Integer => Some(DType::I64),
        Rule::Refuse => None,
    }
}

impl Cell {
    /// The program of a row for operands of a dtype.
    ///
    /// # Errors
    /// A dtype error where the row refuses it.
    pub fn new(op: Op, dtype: DType) -> Result<Self, Error> {
        let arguments: Vec<Argument> = (0..op.arity())
            .map(|operand| Argument::Tensor {
                dtype: dtype_of(op, dtype, operand),
                is_zero_dim: false,
            })
            .collect();
        Ok(Self {
            op,
            dtype,
            program: infer(op, &arguments)?,
        })
    }

    /// The dtype of the result, as the signature says.
    #[must_use]
    pub fn result(&self) -> DType {
        let working = working_dtype(self.op, self.dtype).unwrap_or(self.dtype);
        match self.op.row().signature {
            Signature::Map => working,
            Signature::Select => self.dtype,
            Signature::Real => working.to_real(),
            Signature::Test | Signature::Compare | Signature::Logic => DType::Bool,
        }
    }

    /// What the row makes of operands, in order.
    ///
    /// # Errors
    /// A memory error.
    pub fn run(&self, level: Level, operands: &[Arranged]) -> Result<Vec<u8>, Error> {
        let shape = operands[0].shape();
        let inputs: Vec<Input<'_>> = operands.iter().map(Arranged::input).collect();
        run_program(level, &self.program, shape, &inputs).map(|mut outputs| outputs.remove(0))
    }

    /// What the row makes of operands on a device, in order.
    ///
    /// # Errors
    /// What the device raises.
    pub fn run_on(&self, backend: &dyn Backend, operands: &[Arranged]) -> Result<Vec<u8>, Error> {
        let shape = operands[0].shape();
        let inputs: Vec<Input<'_>> = operands.iter().map(Arranged::input).collect();
        run_program_on(backend, &self.program, shape, &inputs).map(|mut outputs| outputs.remove(0))
    }

    /// The row on the dtype that a device stores: what it is held to.
    ///
    /// # Errors
    /// A dtype error where the row refuses it.
    pub fn stored(&self, backend: &dyn Backend) -> Result<Self, Error> {
        Self::new(self.op, backend.capabilities().storage(self.dtype))
    }

    /// The error that the row states, in units in the last place of the compute dtype.
    #[must_use]
    pub fn ulp(&self) -> f64 {
        let working = working_dtype(self.op, self.dtype).unwrap_or(self.dtype);
        let ulp = self.op.row().ulp;
        if working.is_complex() {
            ulp.max(complex::ULP)
        } else {
            ulp
        }
    }

    /// The exact answers to rows of operands.
    #[must_use]
    pub fn answers(&self, operands: &[Column]) -> Vec<Option<Exact>> {
        let working = working_dtype(self.op, self.dtype).unwrap_or(self.dtype);
        let rows = (0..operands[0].len()).map(|index| {
            let args = operands.iter().map(|column| column.values[index]);
            let args: Vec<WeakScalar> = if working == self.dtype {
                args.collect()
            } else {
                args.map(|value| convert(value, working)).collect()
            };
            oracle::answer(self.op, working, &args)
        });
        rows.collect()
    }

    /// Compares results with answers.
    ///
    /// # Errors
    /// A value error if the results are no whole elements.
    pub fn check(
        &self,
        what: &str,
        operands: &[Column],
        results: &[u8],
        answers: &[Option<Exact>],
        ulp: f64,
    ) -> Result<Report, Error> {
        let dtype = self.result();
        let results = Column::from_bytes(dtype, results.to_vec())?;
        let mut report = Report::new(format!("{} {} {what}", self.op.name(), self.dtype));
        if results.len() != answers.len() {
            report.fail(format!("{} results for {}", results.len(), answers.len()));
            return Ok(report);
        }
        for (index, answer) in answers.iter().enumerate() {
            let Some(want) = answer else { continue };
            let args: Vec<WeakScalar> = operands.iter().map(|c| c.values[index]).collect();
            let got = results.values[index];
            let scale = scale(self.op, dtype, &args);
            let allowed = tolerance(ulp + conditioning(self.op, &args), dtype);
            report.compare(
                index,
                &args,
                got,
                *want,
                ulps(got, *want, dtype, scale),
                allowed,
            );
        }
        Ok(report)
    }
}

/// The magnitude that the error is relative to, if the result is smaller.
fn scale(op: Op, result: DType, args: &[WeakScalar]) -> f64 {
    match result.kind() {
        Kind::Float => {
            let args: Vec<f64> = args.iter().map(|arg| oracle::to_float(*arg)).collect();
            oracle::scale(op, result, &args)
        }
        Kind::Complex => {
            let part = |arg: &WeakScalar| match arg {
                WeakScalar::Complex(z) => Pair::new(z.re, z.im),
                other => Pair::new(oracle::to_float(*other), 0.0),
            };
            oracle::scale_of_parts(op, &args.iter().map(part).collect::<Vec<_>>())
        }
        _ => 0.0,
    }
}

/// Units that the row says come on top: those of a complex power grow with the exponent.
fn conditioning(op: Op, args: &[WeakScalar]) -> f64 {
    match (op, args) {
        (Op::Pow, [WeakScalar::Complex(z), WeakScalar::Complex(w)]) => {
            let log = Pair::<f64>::new(z.re, z.im).ln();
            2.0 * libm::hypot(log.re, log.im) * libm::hypot(w.re, w.im)
        }
        (_, [WeakScalar::Float(x), ..]) => oracle::conditioning(op, &[*x]),
        _ => 0.0,
    }
}

/// Runs a program at a level.
///
/// # Errors
/// A memory error.
pub fn run_program(
    level: Level,
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
) -> Result<Vec<Vec<u8>>, Error> {
    let mut buffers = Vec::new();
    for dtype in program.output_dtypes() {
        let mut buffer = Buffer::for_overwrite("run", shape.count() * dtype.itemsize())?;
        buffer.fill(0xA5);
        buffers.push(buffer);
    }
    let mut outputs: Vec<&mut [u8]> = buffers.iter_mut().map(|buffer| &mut buffer[..]).collect();
    run_at(level, program, shape, inputs, &mut outputs)?;
    Ok(buffers.iter().map(|buffer| buffer.to_vec()).collect())
}

/// Runs a program on a device, which has copies of the inputs.
///
/// # Errors
/// What the device raises.
pub fn run_program_on(
    backend: &dyn Backend,
    program: &Program,
    shape: &Shape,
    inputs: &[Input<'_>],
) -> Result<Vec<Vec<u8>>, Error> {
    let copies = inputs.iter().zip(program.input_dtypes());
    let copies = copies.map(|(input, dtype)| backend.upload("run", *dtype, input.bytes));
    let copies = copies.collect::<Result<Vec<Shared>, Error>>()?;
    let views = copies.iter().zip(inputs);
    let views: Vec<View<'_>> = views
        .map(|(memory, input)| View {
            memory: &**memory,
            layout: input.layout,
        })
        .collect();
    let made = backend.run("run", program, shape, &views)?;
    let layout = Layout::contiguous(shape.clone());
    let made = made.iter().zip(program.output_dtypes());
    made.map(|(memory, dtype)| {
        let view = View {
            memory: &**memory,
            layout: &layout,
        };
        let mut bytes = [0xA5].repeat(shape.count() * dtype.itemsize());
        backend.download("run", dtype, view, &mut bytes)?;
        Ok(bytes)
    })
    .collect()
}

/// A value in the dtype that a row computes in.
fn convert(value: WeakScalar, dtype: DType) -> WeakScalar {
    let integer = match value {
        WeakScalar::Bool(value) => i128::from(value),
        WeakScalar::Int(value) => value,
        other => return other,
    };
    match dtype {
        DType::F32 => WeakScalar::Float((integer as f32).into()),
        _ if dtype.is_floating_point() => WeakScalar::Float(integer as f64),
        _ => WeakScalar::Int(integer),
    }
}
