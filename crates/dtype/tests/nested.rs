//! Arrays and vectors as sizes and elements.

use allotrope_dtype::{Bool8, Error, Nested};

/// Sizes, and the elements in order.
fn flat<N: Nested>(data: N) -> Result<(Vec<usize>, Vec<N::Element>), Error> {
    let mut elements = Vec::new();
    let sizes = N::sizes("tensor", std::slice::from_ref(&data))?;
    N::visit(&[data], &mut |piece| elements.extend_from_slice(piece));
    Ok((sizes, elements))
}

#[test]
fn nested_data() -> Result<(), Error> {
    assert_eq!(flat(5_u8)?, (vec![], vec![5]));
    assert_eq!(flat([1, 2, 3])?, (vec![3], vec![1, 2, 3]));
    let cube = [[[1, 2]], [[3, 4]], [[5, 6]]];
    assert_eq!(flat(cube)?, (vec![3, 1, 2], vec![1, 2, 3, 4, 5, 6]));
    assert_eq!(flat(&cube)?, flat(cube)?);
    let rows = vec![vec![1.0, 2.0], vec![3.0, 4.0]];
    assert_eq!(flat(&rows)?, (vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]));
    let borrowed: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    assert_eq!(flat(borrowed)?, flat(rows)?);
    assert_eq!(
        flat(vec![[1_i8, 2], [3, 4]])?,
        (vec![2, 2], vec![1, 2, 3, 4])
    );
    let truth = [Bool8::TRUE, Bool8::FALSE];
    assert_eq!(flat([true, false])?, (vec![2], truth.to_vec()));
    Ok(())
}

#[test]
fn empty_data_keeps_its_depth() -> Result<(), Error> {
    assert_eq!(flat(Vec::<f32>::new())?.0, [0]);
    assert_eq!(flat(Vec::<Vec<f32>>::new())?.0, [0, 0]);
    assert_eq!(flat(Vec::<[f32; 3]>::new())?.0, [0, 3]);
    assert_eq!(flat(Vec::<&[[f32; 3]; 4]>::new())?.0, [0, 4, 3]);
    assert_eq!(flat([[0.0; 0]; 2])?.0, [2, 0]);
    assert_eq!(flat(vec![Vec::<f32>::new(); 2])?.0, [2, 0]);
    Ok(())
}

#[test]
fn ragged_data_is_refused() {
    let message = |error: Error| error.to_string();
    let text = "tensor: lists of different lengths: 2 and 1; all must be equal";
    assert_eq!(
        flat(vec![vec![1, 2], vec![3]]).map_err(message),
        Err(text.to_owned())
    );
    // The first list is as long as the second, but of longer ones.
    let deep = vec![vec![vec![1, 2], vec![3, 4]], vec![vec![5], vec![6]]];
    assert_eq!(flat(deep).map_err(message), Err(text.to_owned()));
    assert!(flat([vec![1], vec![]]).is_err());
    assert!(flat(vec![vec![], vec![[1]]]).is_err());
}
