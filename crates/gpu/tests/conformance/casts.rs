//! Casts of all pairs of dtypes, bit for bit, on every device whose shader for it differs.

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cast::{check, is_defined, operands};
use allotrope_conformance::cell::run_program_on;
use allotrope_conformance::column::Column;
use allotrope_conformance::report::Report;
use allotrope_dtype::{DType, WeakScalar};
use allotrope_op::Program;

use crate::devices::{Tested, devices, devices_for};

/// Numbers without those that a device flushes.
fn without_subnormals(column: &Column) -> Column {
    let is_small = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    let kept = column.values.iter().copied().filter(|value| match value {
        WeakScalar::Float(x) => !is_small(*x),
        WeakScalar::Complex(z) => !is_small(z.re) && !is_small(z.im),
        _ => true,
    });
    Column::new(column.dtype, kept.collect::<Vec<_>>()).unwrap()
}

fn cast(device: &Tested, from: DType, to: DType) -> Report {
    let mut narrow = operands(device.stored(from), 1500).unwrap();
    if !device.gpu.numerics().subnormals {
        narrow = without_subnormals(&narrow);
    }
    let column = narrow.moved(from).unwrap();
    let sizes = [1, column.len()];
    let arranged = Arranged::matrix(Arrangement::Contiguous, &column, sizes).unwrap();
    let mut program = Program::new(&[from]);
    let result = program.convert(0, to);
    program.output(result);
    let (shape, inputs) = (arranged.shape(), [arranged.input()]);
    let made = run_program_on(device.gpu, &program, shape, &inputs).unwrap();
    let made = Column::from_bytes(to, made[0].clone()).unwrap();
    let made = made.moved(device.stored(to)).unwrap();
    check(format!("{from} to {to} on {}", device.name), &narrow, &made)
}

#[test]
fn casts_of_all_pairs() {
    let mut wrong = Vec::new();
    for from in DType::ALL {
        for to in DType::ALL.into_iter().filter(|to| is_defined(from, *to)) {
            for place in devices_for(&[from, to], false, from as usize + to as usize) {
                let device = &devices()[place];
                let _alone = device.alone();
                let report = cast(device, from, to);
                if !report.is_good() {
                    wrong.push(report.to_string());
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("")
    );
}
