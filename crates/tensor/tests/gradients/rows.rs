//! Gradients of every row of the tables: against differences, and in narrow dtypes.

use crate::checks::uniform;
use allotrope_dtype::{DType, Error, c128};
use allotrope_op::{Cell, Op, Signature};
use allotrope_tensor::{
    BackwardOptions, GradcheckOptions, Operand, Tensor, gradcheck, gradgradcheck,
};

fn apply(op: Op, operands: &[Tensor]) -> Result<Tensor, Error> {
    let operands: Vec<Operand<'_>> = operands.iter().map(Operand::from).collect();
    Tensor::apply(op, &operands)
}

fn is_differentiable(op: Op, dtype: DType) -> bool {
    let row = op.row();
    let has_formula = row.signature == Signature::Select || row.cell(dtype.kind()) == Cell::Formula;
    // The last operands of `nextafter_in` are a format, which does not vary.
    row.is_differentiable && has_formula && op != Op::NextafterIn
}

/// Operands inside the domain of a row, away from its edges.
fn operands(op: Op, dtype: DType, seed: u64) -> Vec<Tensor> {
    let row = op.row();
    let domains = row.domain.iter().enumerate();
    let each = domains.map(|(i, (low, high))| {
        let middle = (low + high) / 2.0;
        let reach = ((high - low) / 2.0).min(2.0) * 0.9;
        if row.signature == Signature::Select && i == 0 {
            return uniform(&[4], -1.0, 1.0, seed).gt(0).unwrap();
        }
        let re = uniform(&[4], middle - reach, middle + reach, seed + i as u64);
        if dtype == DType::F64 {
            let has_slope = i > 0 || !row.lacks_first;
            return re.requires_grad_(has_slope).unwrap();
        }
        let im = uniform(&[4], -0.8, 0.8, seed + 50 + i as u64);
        let unit = Tensor::full(&[], c128::new(0.0, 1.0), DType::C128).unwrap();
        let number = re
            .add(&im.to(DType::C128).unwrap().mul(&unit).unwrap())
            .unwrap();
        number.requires_grad_(true).unwrap()
    });
    each.collect()
}

#[test]
fn every_row_has_the_gradient_of_its_differences() {
    let mut wrong = Vec::new();
    for dtype in [DType::F64, DType::C128] {
        for op in Op::ALL {
            if !is_differentiable(*op, dtype) {
                continue;
            }
            let function = |x: &[Tensor]| Ok(vec![apply(*op, x)?]);
            // Used twice, once as a view that repeats the first operand and turns it.
            let in_other_layouts = |x: &[Tensor]| {
                let mut turned = x.to_vec();
                turned[0] = x[0].unsqueeze(1)?.expand(&[4, 3])?.transpose(0, 1)?;
                Ok(vec![apply(*op, &turned)?, apply(*op, x)?])
            };
            let (inputs, options) = (operands(*op, dtype, 7), GradcheckOptions::default());
            let once = gradcheck(&function, &inputs, options);
            let twice = gradgradcheck(&function, &inputs, options);
            let turned = gradcheck(&in_other_layouts, &inputs, options);
            for (order, result) in [("first", once), ("second", twice), ("turned", turned)] {
                if let Err(error) = result {
                    wrong.push(format!("{} of {dtype}, {order}: {error}", op.name()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The gradients of a row in a dtype at some values, in the widest dtype.
fn gradients(op: Op, dtype: DType, values: &[Tensor]) -> Vec<Tensor> {
    let leaves: Vec<Tensor> = values
        .iter()
        .map(|x| match x.dtype() {
            DType::Bool => x.clone(),
            _ => x.to(dtype).unwrap(),
        })
        .enumerate()
        .map(|(i, x)| match x.dtype() {
            DType::Bool => x,
            _ => x.requires_grad_(i > 0 || !op.row().lacks_first).unwrap(),
        })
        .collect();
    let result = apply(op, &leaves).unwrap();
    let ones = Tensor::ones(&[4], result.dtype()).unwrap();
    let options = BackwardOptions::default();
    result.backward_with(&ones, options).unwrap();
    let leaves = leaves.iter().filter(|leaf| leaf.requires_grad());
    let each = leaves.map(|leaf| {
        let gradient = leaf.grad().unwrap();
        assert_eq!(gradient.dtype(), dtype, "{}", op.name());
        gradient.to(DType::C128).unwrap()
    });
    each.collect()
}

#[test]
fn rows_of_narrow_dtypes_have_the_gradient_of_float64() {
    let mut wrong = Vec::new();
    let narrow = |dtype: &DType| dtype.is_floating_point() && *dtype != DType::F64;
    let narrow = |dtype: &DType| narrow(dtype) || *dtype == DType::C64;
    for dtype in DType::ALL.into_iter().filter(narrow) {
        let wide = if dtype.is_complex() {
            DType::C128
        } else {
            DType::F64
        };
        let eps = dtype.to_real().finfo().unwrap().eps;
        for op in Op::ALL {
            if !is_differentiable(*op, wide) {
                continue;
            }
            let rounded = |x: &Tensor| match x.dtype() {
                DType::Bool => x.clone(),
                _ => x.detach().to(dtype).unwrap(),
            };
            let values: Vec<Tensor> = operands(*op, wide, 7).iter().map(rounded).collect();
            let (got, want) = (
                gradients(*op, dtype, &values),
                gradients(*op, wide, &values),
            );
            for (got, want) in got.iter().zip(&want) {
                let [got, want] = [got, want].map(|x| x.to_vec::<c128>().unwrap());
                let most = want.iter().map(|x| x.norm()).fold(0.1, f64::max);
                let mut pairs = got.iter().zip(&want);
                if !pairs.all(|(got, want)| (got - want).norm() <= 8.0 * eps * most) {
                    wrong.push(format!(
                        "{} of {dtype}: {got:?} and not {want:?}",
                        op.name()
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
