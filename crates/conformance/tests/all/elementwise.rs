//! Every row × dtype × layout × SIMD level.

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cell::{Cell, working_dtype};
use allotrope_conformance::column::{Column, repeat};
use allotrope_conformance::report::Report;
use allotrope_conformance::sample;
use allotrope_dtype::{DType, ErrorKind, Level};
use allotrope_op::Op;
use allotrope_tensor::{Operand, Tensor};

/// A matrix that no tile divides, and one that takes several threads.
const SMALL: [usize; 2] = [13, 29];
const LARGE: [usize; 2] = [9, 4099];

/// Everything about one row and dtype.
fn check(op: Op, dtype: DType) {
    if working_dtype(op, dtype).is_none() {
        return check_refusal(op, dtype);
    }
    let cell = Cell::new(op, dtype).unwrap();
    assert_eq!(cell.program.output_dtypes().next(), Some(cell.result()));
    let domain = sample::domain(op, dtype, SMALL[0] * SMALL[1]).unwrap();
    check_values(&cell, "domain", &domain);
    if !dtype.is_complex() {
        check_values(&cell, "specials", &sample::extremes(op, dtype).unwrap());
    }
    if dtype.is_floating_point() && op.arity() <= 2 {
        check_values(
            &cell,
            "anywhere",
            &sample::everywhere(op, dtype, 2000).unwrap(),
        );
    }
    check_layouts(&cell, &domain);
    check_broadcasts(&cell, &domain);
    check_tensors(&cell, &domain);
}

/// A dtype that the row has no meaning for.
fn check_refusal(op: Op, dtype: DType) {
    let kind = Cell::new(op, dtype).err().map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::Dtype), "{} {dtype}", op.name());
    let ones = Tensor::ones(&[2], dtype).unwrap();
    let operands: Vec<Operand<'_>> = (0..op.arity()).map(|_| (&ones).into()).collect();
    let error = Tensor::apply(op, &operands).err().map(|error| error.kind());
    assert_eq!(error, Some(ErrorKind::Dtype), "{} {dtype}", op.name());
}

fn require(report: &Report) {
    assert!(report.is_good(), "{report}");
}

/// Against the references, at every level.
fn check_values(cell: &Cell, what: &str, operands: &[Column]) {
    let answers = cell.answers(operands);
    let sizes = [1, operands[0].len()];
    let arranged = matrices(Arrangement::Contiguous, operands, sizes);
    let mut checked: Option<Vec<u8>> = None;
    for level in Level::available() {
        let results = cell.run(level, &arranged).unwrap();
        // Levels mostly give the same bits, which need no second look.
        if checked.as_ref() == Some(&results) {
            continue;
        }
        let what = format!("{what} at {level}");
        let report = cell.check(&what, operands, &results, &answers, cell.ulp());
        require(&report.unwrap());
        checked = Some(results);
    }
}

/// The operands as matrices, each in the arrangement after the one before.
fn matrices(first: Arrangement, operands: &[Column], sizes: [usize; 2]) -> Vec<Arranged> {
    let start = Arrangement::ALL.iter().position(|a| *a == first).unwrap();
    let arranged = operands.iter().enumerate().map(|(i, column)| {
        let arrangement = match first {
            Arrangement::Contiguous => first,
            _ => Arrangement::ALL[(start + i) % Arrangement::ALL.len()],
        };
        Arranged::matrix(arrangement, column, sizes).unwrap()
    });
    arranged.collect()
}

/// Every layout gives the bits of the contiguous one, and so do many elements.
fn check_layouts(cell: &Cell, operands: &[Column]) {
    let size = cell.result().itemsize();
    let small = Arrangement::ALL.map(|arrangement| (arrangement, SMALL));
    let large = [Arrangement::Contiguous, Arrangement::Transposed].map(|a| (a, LARGE));
    let plain = matrices(Arrangement::Contiguous, operands, SMALL);
    let run = |level: Level| (level, cell.run(level, &plain).unwrap());
    let plain: Vec<(Level, Vec<u8>)> = Level::available().map(run).collect();
    for (arrangement, sizes) in small.into_iter().chain(large) {
        let arranged = matrices(arrangement, operands, sizes);
        for (level, plain) in &plain {
            let got = cell.run(*level, &arranged).unwrap();
            let (op, dtype) = (cell.op.name(), cell.dtype);
            let name = format!("{op} {dtype} {arrangement:?} {sizes:?} at {level}");
            let mut report = Report::new(name);
            report.compare_bytes(&got, &repeat(plain, got.len()), size);
            require(&report);
        }
    }
}

/// Operands that are the same along a dimension, single elements, and none at all.
fn check_broadcasts(cell: &Cell, operands: &[Column]) {
    let size = cell.result().itemsize();
    let along = operands.iter().enumerate();
    let along = along.map(|(i, c)| Arranged::broadcast(c, SMALL, i % 2).unwrap());
    let along: Vec<Arranged> = along.collect();
    let spread = along.iter().zip(operands);
    let spread = spread.map(|(arranged, column)| arranged.column(column.dtype).unwrap());
    let spread: Vec<Column> = spread.collect();
    let spread = matrices(Arrangement::Contiguous, &spread, SMALL);
    for level in Level::available() {
        let want = cell.run(level, &spread).unwrap();
        let got = cell.run(level, &along).unwrap();
        let name = format!("{} {} broadcast at {level}", cell.op.name(), cell.dtype);
        let mut report = Report::new(name);
        report.compare_bytes(&got, &want, size);
        let plain = cell.run(level, &matrices(Arrangement::Contiguous, operands, [1, 1]));
        let plain = plain.unwrap();
        let shapes: [&[usize]; 5] = [&[], &[1, 1], &[7, 5], &[0], &[3, 0, 2]];
        for shape in shapes {
            let everywhere = operands
                .iter()
                .map(|c| Arranged::everywhere(c, shape).unwrap());
            let got = cell.run(level, &everywhere.collect::<Vec<_>>()).unwrap();
            let count: usize = shape.iter().product();
            report.compare_bytes(&got, &plain.repeat(count), size);
        }
        require(&report);
    }
}

/// The same through tensors and their views.
fn check_tensors(cell: &Cell, operands: &[Column]) {
    let size = cell.result().itemsize();
    let plain = matrices(Arrangement::Contiguous, operands, SMALL);
    let plain = cell.run(Level::current(), &plain).unwrap();
    for sizes in [SMALL, LARGE] {
        let count = sizes[0] * sizes[1];
        let want = repeat(&plain, count * size);
        let views = operands.iter().enumerate().map(|(i, column)| {
            let bytes = column.repeated(count);
            let tensor = Tensor::from_bytes(&bytes, &sizes, column.dtype).unwrap();
            match i % 3 {
                0 => transposed_in_memory(&tensor),
                1 => tensor
                    .flip(&[1])
                    .unwrap()
                    .copied()
                    .unwrap()
                    .flip(&[1])
                    .unwrap(),
                _ => tensor,
            }
        });
        let views: Vec<Tensor> = views.collect();
        let operands: Vec<Operand<'_>> = views.iter().map(Operand::from).collect();
        let got = Tensor::apply(cell.op, &operands).unwrap();
        assert_eq!((got.dtype(), &got.shape()[..]), (cell.result(), &sizes[..]));
        let name = format!("{} {} of tensors {sizes:?}", cell.op.name(), cell.dtype);
        let mut report = Report::new(name);
        report.compare_bytes(&got.to_bytes().unwrap(), &want, size);
        require(&report);
    }
}

/// The same matrix, column by column.
fn transposed_in_memory(tensor: &Tensor) -> Tensor {
    let turned = tensor.transpose(0, 1).unwrap().copied().unwrap();
    turned.transpose(0, 1).unwrap()
}

macro_rules! tests_of_rows {
    ($({ $variant:ident, $name:ident, $($rest:tt)* })*) => {
        $(mod $name {
            use super::*;
            allotrope_dtype::for_each_dtype!((tests_of_dtypes) $variant);
        })*
    };
}

macro_rules! tests_of_dtypes {
    ($op:ident $({ $variant:ident, $ty:ty, $kind:ident, $compute:ty, $bits:literal, $format:tt,
        $name:literal, $($rest:tt)* })*) => {
        $(#[test]
        #[allow(non_snake_case, reason = "named like the variant")]
        fn $variant() {
            check(Op::$op, DType::$variant);
        })*
    };
}

allotrope_op::for_each_op!((tests_of_rows));
