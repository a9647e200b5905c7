//! Operators of Rust against the methods they stand for.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(
    clippy::op_ref,
    reason = "every mix of owned and borrowed is what is tested"
)]

use std::panic::catch_unwind;

use allotrope_tensor::{BackwardOptions, Bool8, DType, Error, Tensor, bf16, c64, c128, f16, grad};

type Result = std::result::Result<(), Error>;

/// All four mixes of owned and borrowed operands, and the assignment, against a method.
macro_rules! assert_operator {
    ($x:ident $operator:tt $y:ident, $assign:tt, $method:ident) => {
        let expected = $x.$method(&$y)?;
        assert_eq!(&$x $operator &$y, expected);
        assert_eq!(&$x $operator $y.clone(), expected);
        assert_eq!($x.clone() $operator &$y, expected);
        assert_eq!($x.clone() $operator $y.clone(), expected);
        let mut z = $x.clone();
        z $assign &$y;
        assert_eq!(z, expected);
        let mut z = $x.clone();
        z $assign $y.clone();
        assert_eq!(z, expected);
    };
}

#[test]
fn tensors_in_every_mix() -> Result {
    let (x, y) = (Tensor::new([13, -7, 5])?, Tensor::new([[3], [2]])?);
    assert_operator!(x + y, +=, add);
    assert_operator!(x - y, -=, sub);
    assert_operator!(x * y, *=, mul);
    assert_operator!(x / y, /=, div);
    assert_operator!(x % y, %=, remainder);
    assert_operator!(x & y, &=, bitwise_and);
    assert_operator!(x | y, |=, bitwise_or);
    assert_operator!(x ^ y, ^=, bitwise_xor);
    assert_operator!(x << y, <<=, bitwise_left_shift);
    assert_operator!(x >> y, >>=, bitwise_right_shift);
    assert_eq!(-&x, Tensor::new([-13, 7, -5])?);
    assert_eq!(-x.clone(), -&x);
    assert_eq!(!&x, Tensor::new([!13, !-7, !5])?);
    assert_eq!(!x.clone(), !&x);
    Ok(())
}

#[test]
fn numbers_on_the_right() -> Result {
    let x = Tensor::new([1_i16, 2])?;
    let expected = Tensor::new([4_i16, 5])?;
    assert_eq!(&x + 3, expected);
    assert_eq!(x.clone() + 3_u8, expected);
    assert_eq!(&x + 3_i64, expected);
    assert_eq!(&x + 3_usize, expected);
    assert_eq!(&x + true, Tensor::new([2_i16, 3])?);
    // Weak: a float takes the tensor's dtype if the tensor has floats, else the default.
    let floats = Tensor::new([1.0, 2.0])?;
    assert_eq!((&x * 0.5).dtype(), DType::F32);
    assert_eq!((&floats * 0.5_f32).dtype(), DType::F64);
    assert_eq!((&floats * f16::from_f32(0.5)).dtype(), DType::F64);
    assert_eq!((&floats * c64::new(0.0, 1.0)).dtype(), DType::C128);
    let mut sum = floats.clone();
    sum += 1;
    sum *= 2.0;
    sum -= &floats;
    sum /= 3_u8;
    assert_eq!(sum, Tensor::new([1.0, 4.0 / 3.0])?);
    Ok(())
}

#[test]
fn numbers_on_the_left() -> Result {
    let x = Tensor::new([1.0_f32, 2.0])?;
    assert_eq!(2.0 * &x, Tensor::new([2.0_f32, 4.0])?);
    assert_eq!(1 - x.clone(), Tensor::new([0.0_f32, -1.0])?);
    assert_eq!(
        true & Tensor::new([true, false])?,
        Tensor::new([true, false])?
    );
    assert_eq!(bf16::from_f32(2.0) / &x, Tensor::new([2.0_f32, 1.0])?);
    assert_eq!((c128::new(0.0, 1.0) * &x).dtype(), DType::C64);
    assert_eq!(1 << Tensor::new([3_i64])?, Tensor::new([8_i64])?);
    // A literal needs no suffix, whatever is done with the result.
    let mean = (1.0 - &x).square()?.mean_all()?;
    assert_eq!(mean.to_scalar::<f64>()?, 0.5);
    assert_eq!((1 - &x) * &x + 2, Tensor::new([2.0_f32, 0.0])?);
    Ok(())
}

#[test]
fn a_variable_gets_a_new_value() -> Result {
    let mut x = Tensor::new([[1, 2], [3, 4]])?;
    let (old, row) = (x.clone(), x.i(0)?);
    x += 0.5;
    assert_eq!(x.dtype(), DType::F32);
    assert_eq!(old, Tensor::new([[1, 2], [3, 4]])?);
    assert_eq!(row, Tensor::new([1, 2])?);
    x = &x * &x - 2.0 * x.clone() + 1;
    assert_eq!(x, Tensor::new([[0.25_f32, 2.25], [6.25, 12.25]])?);
    Ok(())
}

#[test]
fn gradients_go_through_assignments() -> Result {
    let leaf = Tensor::new([1.0, 2.0])?.requires_grad_(true)?;
    let mut y = leaf.clone();
    y *= &leaf;
    y += 3.0;
    let total = y.sum_all()?;
    let gradients = grad(
        &[&total],
        &[&leaf],
        &[None],
        BackwardOptions::default(),
        false,
    )?;
    assert_eq!(gradients[0].as_ref(), Some(&Tensor::new([2.0, 4.0])?));
    Ok(())
}

#[test]
fn panics_have_the_text_of_the_error() {
    let text = |operation: fn(Tensor, Tensor) -> Tensor| {
        let panic = catch_unwind(|| {
            let pair = (
                Tensor::new([1, 2]).unwrap(),
                Tensor::new([1, 2, 3]).unwrap(),
            );
            operation(pair.0, pair.1)
        });
        *panic.unwrap_err().downcast::<String>().unwrap()
    };
    let shapes = "shapes do not broadcast: [2] and [3]; sizes must be equal or 1";
    assert_eq!(text(|x, y| x + y), format!("add: {shapes}"));
    assert_eq!(text(|x, y| &x * &y), format!("mul: {shapes}"));
    let assign = |mut x: Tensor, y: Tensor| {
        x -= y;
        x
    };
    assert_eq!(text(assign), format!("sub: {shapes}"));
    assert_eq!(text(|x, _| x % 0), "remainder: integer division by zero");
    assert!(text(|x, _| !(x / 2)).starts_with("bitwise_not: wrong dtype: float32; "));
}

#[test]
fn equality_is_by_value() -> Result {
    let x = Tensor::new([[1.0, -0.0], [3.0, 4.0]])?;
    assert_eq!(x, Tensor::new([[1.0, 0.0], [3.0, 4.0]])?);
    assert_eq!(x.t()?.contiguous()?.t()?, x);
    assert_ne!(x, x.t()?);
    assert_ne!(x, x.reshape(&[4])?);
    assert_ne!(x, x.to(DType::F32)?);
    assert_ne!(Tensor::new([true])?, Tensor::new([1])?);
    let nan = Tensor::new([f32::NAN])?;
    assert_ne!(nan, nan);
    assert_eq!(
        Tensor::zeros(&[0, 2], DType::I8)?,
        Tensor::zeros(&[0, 2], DType::I8)?
    );
    assert_ne!(
        Tensor::zeros(&[0, 2], DType::I8)?,
        Tensor::zeros(&[0, 3], DType::I8)?
    );
    // Any byte but zero is true.
    let truth = Tensor::from_slice(&[Bool8::from_byte(7), Bool8::FALSE], &[2])?;
    assert_eq!(truth, Tensor::new([true, false])?);
    Ok(())
}
