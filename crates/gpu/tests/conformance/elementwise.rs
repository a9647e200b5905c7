//! Every row × dtype, on every device whose shader for it differs. Drivers take long to compile, so
//! what is made of parts that were tested elsewhere is tested once, on devices in turn: rows of floats
//! of 8 and 16 bits and of integers that become floats are those of float32 between casts. Layouts
//! take turns too: some cells read their operands one after the other, and some by strides.

use std::collections::HashMap;

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cell::{Cell, working_dtype};
use allotrope_conformance::column::Column;
use allotrope_conformance::oracle::Exact;
use allotrope_conformance::report::Report;
use allotrope_conformance::sample;
use allotrope_dtype::DType;
use allotrope_op::{Cell as Rule, Op};

use crate::devices::{Tested, devices, devices_for, flush};

/// The rows of the matrix that operands are.
const ROWS: usize = 13;

/// Layouts that are read one after the other, and those that are not.
const IN_ORDER: [Arrangement; 2] = [Arrangement::Contiguous, Arrangement::Shifted];
const STRIDED: [Arrangement; 5] = [
    Arrangement::Transposed,
    Arrangement::Sliced,
    Arrangement::Reversed,
    Arrangement::Mirrored,
    Arrangement::Tangled,
];

/// Operands of a row in a dtype that a device stores, and the answers.
pub(crate) struct Sample {
    pub(crate) operands: Vec<Column>,
    pub(crate) answers: Vec<Option<Exact>>,
}

impl Sample {
    /// A part of what the CPU is tested with.
    pub(crate) fn new(cell: &Cell) -> Self {
        let (op, dtype) = (cell.op, cell.dtype);
        let mut parts = vec![sample::domain(op, dtype, 120).unwrap()];
        if !dtype.is_complex() {
            parts.push(thinned(&sample::extremes(op, dtype).unwrap(), 300));
        }
        if dtype.is_floating_point() && op.arity() <= 2 {
            parts.push(thinned(&sample::everywhere(op, dtype, 200).unwrap(), 200));
        }
        let join = |operand: usize| {
            let bytes = parts.iter().flat_map(|part| part[operand].bytes.clone());
            Column::from_bytes(parts[0][operand].dtype, bytes.collect()).unwrap()
        };
        let operands: Vec<Column> = (0..op.arity()).map(join).collect();
        let answers = cell.answers(&operands);
        Self { operands, answers }
    }
}

fn thinned(columns: &[Column], count: usize) -> Vec<Column> {
    let thinned = columns.iter().map(|column| column.thinned(count).unwrap());
    thinned.collect()
}

/// Everything about one row and dtype on a device; the turn says which layouts.
fn check(device: &Tested, cell: &Cell, narrow: &Cell, sample: &Sample, turn: usize) -> Report {
    let count = sample.operands[0].len();
    let sizes = [ROWS, count.div_ceil(ROWS)];
    let wide = sample.operands.iter().enumerate().map(|(place, column)| {
        let dtype = sample::dtype_of(cell.op, cell.dtype, place);
        column.moved(dtype).unwrap()
    });
    let wide: Vec<Column> = wide.collect();
    let mut answers = sample.answers.clone();
    flush(device.gpu, &sample.operands, &mut answers);
    let run = |arrangements: &[Arrangement], first: usize| {
        let arranged = wide.iter().enumerate().map(|(place, column)| {
            let arrangement = arrangements[(first + place) % arrangements.len()];
            Arranged::matrix(arrangement, column, sizes).unwrap()
        });
        let arranged: Vec<Arranged> = arranged.collect();
        cell.run_on(device.gpu, &arranged).unwrap()
    };
    let size = cell.result().itemsize();
    let (made, others) = match turn % 2 {
        // One after the other, all of them from the start, or each from its own place.
        0 => (run(&IN_ORDER[turn / 2 % 2..][..1], 0), Vec::new()),
        _ => {
            let first = turn / 2 % STRIDED.len();
            let others = (1..STRIDED.len()).map(|next| run(&STRIDED, first + next));
            (run(&STRIDED, first), others.collect())
        }
    };
    let what = format!("on {}, turn {turn}", device.name);
    let made_here = Column::from_bytes(cell.result(), made[..count * size].to_vec()).unwrap();
    let made_here = made_here.moved(narrow.result());
    let mut report = match made_here {
        Ok(made) => narrow.check(&what, &sample.operands, &made.bytes, &answers, narrow.ulp()),
        Err(error) => Err(error),
    }
    .unwrap();
    let column = |bytes| Column::from_bytes(cell.result(), bytes).unwrap();
    let made = column(made);
    for other in others {
        report.compare_columns(&column(other), &made);
    }
    report
}

/// All rows of a dtype on all devices.
fn check_dtype(dtype: DType) {
    let devices = devices();
    let (mut wrong, mut cells) = (Vec::new(), 0);
    for &op in Op::ALL {
        if working_dtype(op, dtype).is_none() {
            continue;
        }
        let cell = Cell::new(op, dtype).unwrap();
        let mut samples: HashMap<DType, Sample> = HashMap::new();
        let rule = op.row().cell(dtype.kind());
        let is_arithmetic =
            rule == Rule::Formula && dtype.compute() == dtype && !dtype.is_integer();
        let turn = op as usize + dtype as usize;
        for place in devices_for(&[dtype, cell.result()], is_arithmetic, turn) {
            let device = &devices[place];
            let narrow = cell.stored(device.gpu).unwrap();
            let sample = samples
                .entry(narrow.dtype)
                .or_insert_with(|| Sample::new(&narrow));
            let _alone = device.alone();
            let report = check(device, &cell, &narrow, sample, turn + place);
            if !report.is_good() {
                wrong.push(report.to_string());
            }
            cells += 1;
        }
    }
    println!("{cells} cells");
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("")
    );
}

macro_rules! tests_of_dtypes {
    ($({ $variant:ident, $($rest:tt)* })*) => {
        $(#[test]
        #[allow(non_snake_case, reason = "named like the variant")]
        fn $variant() {
            check_dtype(DType::$variant);
        })*
    };
}
allotrope_dtype::for_each_dtype!((tests_of_dtypes));
