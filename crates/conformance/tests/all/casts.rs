//! Casts of all pairs of dtypes against rounding said a second time.

use allotrope_conformance::arrange::{Arranged, Arrangement};
use allotrope_conformance::cast::{check, is_defined, operands};
use allotrope_conformance::cell::run_program_on;
use allotrope_conformance::column::Column;
use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::Program;

#[test]
fn casts_of_all_pairs() {
    for from in DType::ALL {
        let column = operands(from, 3000).unwrap();
        let sizes = [1, column.len()];
        let arranged = Arranged::matrix(Arrangement::Contiguous, &column, sizes).unwrap();
        for to in DType::ALL.into_iter().filter(|to| is_defined(from, *to)) {
            let mut program = Program::new(&[from]);
            let result = program.convert(0, to);
            program.output(result);
            let made = run_program_on(&CPU, &program, arranged.shape(), &[arranged.input()]);
            let made = Column::from_bytes(to, made.unwrap().remove(0)).unwrap();
            let report = check(format!("{from} to {to}"), &column, &made);
            assert!(report.is_good(), "{report}");
        }
    }
}
