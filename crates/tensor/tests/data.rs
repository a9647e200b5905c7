//! Rust's data into tensors and out of them. Only this crate is named: it exports all it speaks of.

use allotrope_tensor::{
    Bool8, DType, Element, Error, ErrorKind, Scalar, Shape, Slice, Tensor, bf16, c64, f8e5m2, f16,
};

type Result = std::result::Result<(), Error>;

#[test]
fn nested_data_of_every_shape() -> Result {
    let expected = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
    let rows = vec![vec![1.0_f32, 2.0], vec![3.0, 4.0]];
    assert_eq!(Tensor::new([[1.0_f32, 2.0], [3.0, 4.0]])?, expected);
    let array = &[[1.0_f32, 2.0], [3.0, 4.0]];
    assert_eq!(Tensor::new(array)?, expected);
    assert_eq!(Tensor::new(vec![[1.0_f32, 2.0], [3.0, 4.0]])?, expected);
    assert_eq!(Tensor::new([vec![1.0_f32, 2.0], vec![3.0, 4.0]])?, expected);
    assert_eq!(Tensor::try_from(&rows)?, expected);
    assert_eq!(Tensor::try_from(&rows[..])?, expected);
    assert_eq!(Tensor::try_from(rows)?, expected);
    assert_eq!(Tensor::try_from([[1.0_f32, 2.0], [3.0, 4.0]])?, expected);
    let tensor: Tensor = (&[1_u8, 2]).try_into()?;
    assert_eq!(tensor.to_vec::<u8>()?, [1, 2]);
    let ragged = Tensor::try_from(vec![vec![1], vec![]]);
    assert_eq!(ragged.map_err(|error| error.kind()), Err(ErrorKind::Value));
    Ok(())
}

#[test]
fn nested_data_of_every_kind() -> Result {
    assert_eq!(Tensor::new([1, 2])?.dtype(), DType::I32);
    assert_eq!(Tensor::new([1.0, 2.0])?.dtype(), DType::F64);
    assert_eq!(Tensor::new([true])?.dtype(), DType::Bool);
    assert_eq!(Tensor::new([Bool8::TRUE])?, Tensor::new([true])?);
    assert_eq!(Tensor::new([[f16::ONE]])?.dtype(), DType::F16);
    assert_eq!(Tensor::new([c64::new(0.0, 1.0)])?.dtype(), DType::C64);
    assert_eq!(Tensor::new([f8e5m2::from_f32(1.5)])?.dtype(), DType::F8E5M2);
    assert_eq!(Tensor::new(7_u16)?.shape(), &Shape::scalar());
    assert_eq!(Tensor::new(Vec::<[f32; 3]>::new())?.shape(), [0, 3]);
    Ok(())
}

/// What a function over any element type looks like: elements in, a tensor out.
fn without_zeros<T: Element>(x: &Tensor) -> std::result::Result<Tensor, Error> {
    let zero = T::try_from(Scalar::zero(T::DTYPE))?;
    let kept: Vec<T> = x
        .as_slice::<T>()?
        .iter()
        .copied()
        .filter(|item| *item != zero)
        .collect();
    Tensor::new(kept)
}

#[test]
fn generic_functions() -> Result {
    let x = Tensor::new([[1, 0], [0, 4]])?;
    assert_eq!(without_zeros::<i32>(&x)?, Tensor::new([1, 4])?);
    let x = x.to(DType::BF16)?;
    assert_eq!(
        without_zeros::<bf16>(&x)?.to(DType::I32)?,
        Tensor::new([1, 4])?
    );
    Ok(())
}

#[test]
fn slices_are_borrowed() -> Result {
    let x = Tensor::arange(0, 12, 1, DType::F32)?.reshape(&[3, 4])?;
    let row = x.i(1)?;
    assert_eq!(row.as_slice::<f32>()?, [4.0, 5.0, 6.0, 7.0]);
    assert_eq!(row.as_slice::<f32>()?.as_ptr().addr(), x.address() + 16);
    assert_eq!(x.as_slice::<f32>()?.len(), 12);
    assert_eq!(x.i(3..)?.as_slice::<f32>()?, []);
    let expanded = x.i(0)?.expand(&[2, 4])?;
    for other in [
        x.t()?,
        x.i((.., 1))?,
        x.i(Slice::from(..).step_by(-1))?,
        expanded,
    ] {
        let refused = other
            .as_slice::<f32>()
            .map(drop)
            .map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::Value));
        assert_eq!(
            other.contiguous()?.as_slice::<f32>()?,
            other.to_vec::<f32>()?
        );
    }
    let refused = x.as_slice::<i32>().map(drop).map_err(|error| error.kind());
    assert_eq!(refused, Err(ErrorKind::Dtype));
    Ok(())
}

#[test]
fn vectors_out() -> Result {
    let x = Tensor::new([[1_i64, 2], [3, 4]])?;
    assert_eq!(Vec::<i64>::try_from(&x)?, [1, 2, 3, 4]);
    assert_eq!(Vec::<i64>::try_from(x.t()?)?, [1, 3, 2, 4]);
    let refused = Vec::<f64>::try_from(&x).map_err(|error| error.to_string());
    let text = "to_vec: wrong element type: float64; the tensor has int64 (hint: x.to(float64))";
    assert_eq!(refused, Err(text.to_owned()));
    assert_eq!(x.gt(2)?.to_vec::<Bool8>()?, [false, false, true, true]);
    Ok(())
}

#[test]
fn single_numbers_out() -> Result {
    let x = Tensor::new([2.5_f32])?;
    assert_eq!(x.to_scalar::<f64>()?, 2.5);
    assert_eq!(f64::try_from(x.item()?)?, 2.5);
    assert!(x.gt(2)?.to_scalar::<bool>()?);
    let text = |result: std::result::Result<i64, Error>| result.map_err(|error| error.to_string());
    assert_eq!(
        text(x.to_scalar::<i64>()),
        Err(
            "to_scalar: not exact as int64: 2.5; numbers that it holds are accepted \
             (hint: x.to(int64))"
                .to_owned()
        )
    );
    assert_eq!(
        text(Tensor::new([1, 2])?.to_scalar::<i64>()),
        Err("to_scalar: not a single element: [2]; exactly one is accepted".to_owned())
    );
    Ok(())
}

#[test]
fn short_forms() -> Result {
    let x = Tensor::new([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])?;
    assert_eq!(x.sum_all()?, x.sum(None, false, None)?);
    assert_eq!(x.mean_all()?, Tensor::new(3.5)?);
    assert_eq!(x.max_all()?, Tensor::new(6.0)?);
    assert_eq!(x.min_all()?, Tensor::new(1.0)?);
    assert_eq!(x.sum_axis(0)?, Tensor::new([5.0, 7.0, 9.0])?);
    assert_eq!(x.mean_axis(-1)?, Tensor::new([3.0, 4.0])?);
    assert_eq!(x.max_axis(1)?, Tensor::new([5.0, 6.0])?);
    assert_eq!(x.min_axis(-2)?, Tensor::new([1.0, 2.0, 3.0])?);
    let refused = x.sum_axis(2).map(drop).map_err(|error| error.to_string());
    let text = "sum_axis: axis out of range: 2; a tensor of 2 dimensions has axes -2 to 1";
    assert_eq!(refused, Err(text.to_owned()));
    Ok(())
}
