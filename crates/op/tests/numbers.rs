//! A number beside a tensor, without a program, is the one that the program of the call has.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{DType, Kind, WeakScalar, c128};
use allotrope_op::{Argument, Cell, Op, Signature, Step, compute_dtype, infer, number_beside};

#[test]
fn a_number_is_a_constant_of_the_program_and_the_row_its_only_other_step() {
    let numbers = [
        WeakScalar::Bool(true),
        WeakScalar::Int(2),
        WeakScalar::Int(-3),
        WeakScalar::Int(300),
        WeakScalar::Int((1 << 53) + 1),
        WeakScalar::Float(0.1),
        WeakScalar::Float(f64::INFINITY),
        WeakScalar::Complex(c128::new(0.5, -1.0)),
    ];
    let mut found = 0;
    for op in Op::ALL.iter().copied().filter(|op| op.arity() == 2) {
        for dtype in DType::ALL {
            let row = op.row();
            let has_loop = matches!(
                row.signature,
                Signature::Map | Signature::Test | Signature::Compare
            );
            let is_plain = dtype.kind() != Kind::Bool && compute_dtype(dtype) == dtype;
            if !has_loop || !is_plain || row.cell(dtype.kind()) != Cell::Formula {
                continue;
            }
            let tensor = Argument::Tensor {
                dtype,
                is_zero_dim: false,
            };
            for number in numbers {
                let Some(constant) = number_beside(op, &tensor, number) else {
                    continue;
                };
                found += 1;
                for is_first in [false, true] {
                    let scalar = Argument::Scalar(number);
                    let (arguments, slots) = if is_first {
                        ([scalar, tensor], [1, 0])
                    } else {
                        ([tensor, scalar], [0, 1])
                    };
                    let program = infer(op, &arguments).unwrap();
                    let [Step::Constant(own), Step::Apply { op: applied, args }] = program.steps()
                    else {
                        assert_eq!(program.to_string(), "a constant and a row");
                        continue;
                    };
                    assert_eq!((*own, *applied, &args[..2]), (constant, op, &slots[..]));
                    assert_eq!(program.outputs(), [2]);
                }
            }
        }
    }
    assert!(found > 1000, "{found}");
}
