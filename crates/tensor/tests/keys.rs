//! Keys of numbers, ranges and tuples against selection, slicing and gathering by name.

use allotrope_tensor::{DType, Ellipsis, Error, Index, NewAxis, Slice, Tensor};

type Result = std::result::Result<(), Error>;

/// The numbers 0 to 59 in three dimensions.
fn numbers() -> std::result::Result<Tensor, Error> {
    Tensor::arange(0, 60, 1, DType::I64)?.reshape(&[3, 4, 5])
}

/// A slice with a step of one.
fn slice(start: Option<isize>, stop: Option<isize>) -> Slice {
    Slice {
        start,
        stop,
        ..Slice::ALL
    }
}

#[test]
fn numbers_of_every_type() -> Result {
    let x = numbers()?;
    let expected = x.select(0, 1)?;
    assert_eq!(x.i(1)?, expected);
    assert_eq!(x.i(1_usize)?, expected);
    assert_eq!(x.i(1_i64)?, expected);
    assert_eq!(x.i(1_isize)?, expected);
    assert_eq!(x.i(1_u32)?, expected);
    assert_eq!(x.i(-2)?, expected);
    assert_eq!(x.i((1,))?, expected);
    assert_eq!(x.i((1, -1, 0))?.to_vec::<i64>()?, [35]);
    for row in 0..3_usize {
        assert_eq!(x.i((row, 0, 0))?.to_vec::<i64>()?, [row as i64 * 20]);
    }
    Ok(())
}

#[test]
fn ranges_of_every_form() -> Result {
    let x = numbers()?;
    let sliced = |start, stop| x.slice(1, slice(start, stop));
    assert_eq!(x.i((.., 1..3))?, sliced(Some(1), Some(3))?);
    assert_eq!(x.i((.., 1_usize..3))?, sliced(Some(1), Some(3))?);
    assert_eq!(x.i((.., 1..=3))?, sliced(Some(1), Some(4))?);
    assert_eq!(x.i((.., 2..))?, sliced(Some(2), None)?);
    assert_eq!(x.i((.., ..2))?, sliced(None, Some(2))?);
    assert_eq!(x.i((.., ..=2))?, sliced(None, Some(3))?);
    assert_eq!(x.i((.., ..-1))?, sliced(None, Some(-1))?);
    assert_eq!(x.i((.., Slice::new(1, -1, 1)))?, sliced(Some(1), Some(-1))?);
    assert_eq!(x.i((.., -3..-1))?, sliced(Some(-3), Some(-1))?);
    // Up to the last, included, is up to the end.
    assert_eq!(x.i((.., -3..=-1))?, sliced(Some(-3), None)?);
    assert_eq!(x.i((.., ..=-1))?, x);
    assert_eq!(x.i(..)?, x);
    assert_eq!(x.i(())?, x);
    // As in Python, bounds beyond the ends are moved to them.
    assert_eq!(x.i((.., 2..100))?, sliced(Some(2), None)?);
    assert_eq!(x.i((.., 2..usize::MAX))?, sliced(Some(2), None)?);
    assert_eq!(x.i((.., 0..=usize::MAX))?, x);
    assert_eq!(x.i((.., i64::MIN..=i64::MAX))?, x);
    assert_eq!(x.i(4..)?.count(), 0);
    Ok(())
}

#[test]
fn steps() -> Result {
    let x = numbers()?;
    let every_other = Slice {
        step: 2,
        ..Slice::ALL
    };
    assert_eq!(
        x.i((.., .., Slice::from(..).step_by(2)))?,
        x.slice(2, every_other)?
    );
    assert_eq!(x.i(Slice::from(..).step_by(-1))?, x.flip(&[0])?);
    let down = x.i((0, 0, Slice::new(3, 0, -2)))?;
    assert_eq!(down, Tensor::new([3_i64, 1])?);
    let refused = x
        .i(Slice::default().step_by(0))
        .map_err(|error| error.to_string());
    assert_eq!(
        refused,
        Err("index: the step is zero; any other step is accepted".to_owned())
    );
    Ok(())
}

#[test]
fn new_axes_and_ellipses() -> Result {
    let x = numbers()?;
    assert_eq!(x.i((Ellipsis, 0))?, x.select(2, 0)?);
    assert_eq!(
        x.i((0, Ellipsis, 1..))?,
        x.select(0, 0)?.slice(1, slice(Some(1), None))?
    );
    assert_eq!(x.i((.., NewAxis, 0))?, x.select(1, 0)?.unsqueeze(1)?);
    assert_eq!(x.i(NewAxis)?, x.unsqueeze(0)?);
    let eight = x.i((0, NewAxis, 0, NewAxis, 0, NewAxis, NewAxis, NewAxis))?;
    assert_eq!(eight.shape(), [1; 5]);
    Ok(())
}

#[test]
fn index_tensors_and_masks() -> Result {
    let x = numbers()?;
    let rows = Tensor::new([2, 0])?;
    assert_eq!(x.i(&rows)?, x.index_select(0, &rows)?);
    assert_eq!(
        x.i((.., rows.clone(), 1..))?,
        x.index_select(1, &rows)?.i((.., .., 1..))?
    );
    assert_eq!(x.i((&rows, &rows))?.shape(), [2, 5]);
    let mask = x.remainder(7)?.eq(0)?;
    assert_eq!(x.i(&mask)?, x.masked_select(&mask)?);
    Ok(())
}

#[test]
fn keys_made_elsewhere() -> Result {
    let x = numbers()?;
    let key = vec![Index::from(1), Index::from(..2)];
    assert_eq!(x.i(&key[..])?, x.index(&key)?);
    assert_eq!(x.i(key)?, x.i((1, ..2))?);
    Ok(())
}

#[test]
fn views_share_memory() -> Result {
    let x = numbers()?;
    assert!(x.i((1, .., 2..))?.shares_storage_with(&x));
    Ok(())
}

#[test]
fn refused_keys() -> Result {
    let x = numbers()?;
    let refused = |result: std::result::Result<Tensor, Error>| {
        result.map(drop).map_err(|error| error.to_string())
    };
    let words = |text: &str| Err(text.to_owned());
    assert_eq!(
        refused(x.i(3)),
        words("index: index out of range: 3; dimension 0 has size 3")
    );
    assert_eq!(
        refused(x.i((0, 0, 0, 0))),
        words("index: too many indices: 4; the tensor has 3 dimensions")
    );
    assert_eq!(
        refused(x.i((Ellipsis, 0, Ellipsis))),
        words("index: more than one ellipsis; one is accepted")
    );
    assert!(x.i(u64::MAX).is_err());
    Ok(())
}

#[test]
fn set_gives_a_new_value() -> Result {
    let mut x = numbers()?;
    let old = x.clone();
    x.set((.., 1, ..2), -1)?;
    x.set(0, &Tensor::new([7_i64, 7, 7, 7, 7])?)?;
    assert_eq!(x.i((0, .., ..))?, Tensor::full(&[4, 5], 7, DType::I64)?);
    assert_eq!(
        x.i((1.., 1, ..3))?,
        Tensor::new([[-1_i64, -1, 27], [-1, -1, 47]])?
    );
    let negative = x.lt(0)?;
    x.set(&negative, 0)?;
    assert_eq!(
        x.i((1.., 1, ..3))?,
        Tensor::new([[0_i64, 0, 27], [0, 0, 47]])?
    );
    assert_eq!(old, numbers()?);
    assert!(x.set(9, 0).is_err());
    Ok(())
}
