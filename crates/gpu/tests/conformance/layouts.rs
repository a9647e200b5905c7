//! Every layout × dtype, on every device whose shader for it differs, by rows of one operand and of three.

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cell::{Cell, working_dtype};
use allotrope_conformance::column::{Column, repeat};
use allotrope_conformance::report::Report;
use allotrope_conformance::sample;
use allotrope_dtype::DType;
use allotrope_op::Op;

use crate::devices::{Tested, devices, devices_for};

const ROWS: [Op; 2] = [Op::Positive, Op::Where];

/// A matrix that no group divides, and one of many groups.
const SMALL: [usize; 2] = [13, 29];
const LARGE: [usize; 2] = [9, 4099];

fn matrices(first: usize, operands: &[Column], sizes: [usize; 2]) -> Vec<Arranged> {
    let all = Arrangement::ALL;
    let arranged = operands.iter().enumerate();
    let arranged = arranged
        .map(|(place, c)| Arranged::matrix(all[(first + place) % all.len()], c, sizes).unwrap());
    arranged.collect()
}

fn check(device: &Tested, cell: &Cell) -> Report {
    let narrow = cell.stored(device.gpu).unwrap();
    let (op, size) = (cell.op, cell.result().itemsize());
    let sampled = sample::domain(op, narrow.dtype, SMALL[0] * SMALL[1]).unwrap();
    let wide = sampled.iter().enumerate();
    let wide = wide.map(|(k, c)| c.moved(sample::dtype_of(op, cell.dtype, k)).unwrap());
    let wide: Vec<Column> = wide.collect();
    let run = |arranged: &[Arranged]| cell.run_on(device.gpu, arranged).unwrap();
    let stored = |bytes: Vec<u8>| {
        let made = Column::from_bytes(cell.result(), bytes).unwrap();
        made.moved(narrow.result()).unwrap().bytes
    };
    // The first against the references, the others by its bits.
    let plain = run(&matrices(0, &wide, SMALL));
    let (what, answers) = (format!("on {}", device.name), narrow.answers(&sampled));
    let made = stored(plain.clone());
    let report = narrow.check(&what, &sampled, &made, &answers, narrow.ulp());
    let mut report = report.unwrap();
    for sizes in [SMALL, LARGE] {
        for first in 0..Arrangement::ALL.len() {
            let got = run(&matrices(first, &wide, sizes));
            report.compare_bytes(&got, &repeat(&plain, got.len()), size);
        }
    }
    // Along one dimension each, against the same elements written out.
    let along = wide.iter().enumerate();
    let along = along.map(|(i, c)| Arranged::broadcast(c, SMALL, i % 2).unwrap());
    let along: Vec<Arranged> = along.collect();
    let spread = along.iter().zip(&wide);
    let spread = spread.map(|(arranged, c)| arranged.column(c.dtype).unwrap());
    let spread: Vec<Column> = spread.collect();
    let narrowed = spread.iter().enumerate();
    let narrowed = narrowed.map(|(k, c)| c.moved(sample::dtype_of(op, narrow.dtype, k)).unwrap());
    let narrowed: Vec<Column> = narrowed.collect();
    let (answers, got) = (narrow.answers(&narrowed), stored(run(&along)));
    let broadcast = narrow.check(&what, &narrowed, &got, &answers, narrow.ulp());
    let broadcast = broadcast.unwrap();
    if !broadcast.is_good() {
        report.fail(format!("broadcast: {broadcast}"));
    }
    // One element in any shape, or none.
    let shapes: [&[usize]; 5] = [&[], &[1, 1], &[7, 5], &[0], &[3, 0, 2]];
    for shape in shapes {
        let arranged = wide.iter().map(|c| Arranged::everywhere(c, shape).unwrap());
        let got = run(&arranged.collect::<Vec<_>>());
        let count: usize = shape.iter().product();
        report.compare_bytes(&got, &plain[..size].repeat(count), size);
    }
    report
}

#[test]
fn layouts_of_all_dtypes() {
    let mut wrong = Vec::new();
    for op in ROWS {
        for dtype in DType::ALL {
            if working_dtype(op, dtype).is_none() {
                continue;
            }
            for place in devices_for(&[dtype], false, op as usize + dtype as usize) {
                let device = &devices()[place];
                let _alone = device.alone();
                let report = check(device, &Cell::new(op, dtype).unwrap());
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
