//! Views: which elements they show, that they share memory, and what is refused.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{DType, Error};
use allotrope_tensor::{Tensor, broadcast_tensors};
use insta::assert_snapshot;
use proptest::prelude::*;

fn message<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

/// 0 to 23 as [2, 3, 4].
fn sample() -> Tensor {
    let numbers = Tensor::arange(0, 24, 1, DType::I16).unwrap();
    numbers.reshape(&[2, 3, 4]).unwrap()
}

/// The shape and the elements of a view, which must share its memory.
fn shown(view: &Tensor, of: &Tensor) -> (Vec<usize>, Vec<i16>) {
    assert!(view.shares_storage_with(of));
    (view.shape().to_vec(), view.to_vec().unwrap())
}

/// The element at an index, by selecting it.
fn at(x: &Tensor, index: &[usize]) -> i16 {
    let chosen = index
        .iter()
        .try_fold(x.clone(), |x, i| x.select(0, *i as isize));
    chosen.unwrap().to_vec::<i16>().unwrap()[0]
}

#[test]
fn views_show_the_elements_they_name() {
    let x = sample();
    let y = x.movedim(&[0, 1], &[-1, 0]).unwrap();
    assert_eq!(y.shape()[..], [3, 4, 2]);
    assert_eq!(at(&y, &[2, 3, 1]), at(&x, &[1, 2, 3]));
    assert_eq!(shown(&x.movedim(&[], &[]).unwrap(), &x).0, [2, 3, 4]);
    let z = x.diagonal(-1, 1, 2).unwrap();
    assert_eq!(shown(&z, &x), (vec![2, 2], vec![4, 9, 16, 21]));
    assert_eq!(
        shown(&x.diagonal(0, -1, 0).unwrap(), &x),
        (vec![3, 2], vec![0, 13, 4, 17, 8, 21])
    );
    assert_eq!(x.diagonal(isize::MIN, 0, 1).unwrap().shape()[..], [4, 0]);
    assert_eq!(x.diagonal(isize::MAX, 0, 1).unwrap().shape()[..], [4, 0]);
    let u = x.transpose(0, 2).unwrap().unflatten(0, &[-1, 2]).unwrap();
    assert_eq!(shown(&u, &x).0, [2, 2, 3, 2]);
    assert_eq!(at(&u, &[1, 0, 2, 1]), at(&x, &[1, 2, 2]));
    assert_eq!(shown(&x.ravel().unwrap(), &x).0, [24]);
    assert_eq!(
        Tensor::ones(&[], DType::I16)
            .unwrap()
            .ravel()
            .unwrap()
            .shape()[..],
        [1]
    );
    let m = x.select(0, 1).unwrap();
    assert_eq!(shown(&m.t().unwrap(), &x).1[..3], [12, 16, 20]);
    assert_eq!(m.select(0, 0).unwrap().t().unwrap().shape()[..], [4]);
    assert_eq!(
        shown(
            &x.reshape_as(&Tensor::zeros(&[4, 6], DType::F64).unwrap())
                .unwrap(),
            &x
        )
        .0,
        [4, 6]
    );
    let row = x.narrow(0, 0, 1).unwrap();
    assert_eq!(
        shown(
            &row.expand_as(&Tensor::zeros(&[5, 3, 4], DType::F64).unwrap())
                .unwrap(),
            &x
        )
        .0,
        [5, 3, 4]
    );
}

#[test]
fn parts_follow_torch() {
    let x = sample();
    assert_eq!(shown(&x.narrow(-1, 1, 2).unwrap(), &x).1[..4], [1, 2, 5, 6]);
    assert_eq!(x.narrow(2, 4, 0).unwrap().shape()[..], [2, 3, 0]);
    assert_eq!(x.narrow(2, -4, 4).unwrap().shape()[..], [2, 3, 4]);
    let sizes =
        |parts: Vec<Tensor>, dim: usize| parts.iter().map(|p| p.shape()[dim]).collect::<Vec<_>>();
    assert_eq!(sizes(x.split(3, 2).unwrap(), 2), [3, 1]);
    assert_eq!(sizes(x.split(usize::MAX, 2).unwrap(), 2), [4]);
    assert_eq!(sizes(x.split_sizes(&[0, 3, 1], -1).unwrap(), 2), [0, 3, 1]);
    assert_eq!(sizes(x.chunk(3, 2).unwrap(), 2), [2, 2]);
    assert_eq!(sizes(x.chunk(100, 2).unwrap(), 2), [1; 4]);
    assert_eq!(sizes(x.tensor_split(3, 2).unwrap(), 2), [2, 1, 1]);
    assert_eq!(sizes(x.tensor_split(6, 2).unwrap(), 2), [1, 1, 1, 1, 0, 0]);
    assert_eq!(
        sizes(x.tensor_split_at(&[1, -1, 9, 2], 2).unwrap(), 2),
        [1, 2, 1, 0, 2]
    );
    assert_eq!(sizes(x.tensor_split_at(&[], 2).unwrap(), 2), [4]);
    let none = Tensor::zeros(&[0, 2], DType::I16).unwrap();
    assert_eq!(sizes(none.split(0, 0).unwrap(), 0), [0]);
    assert_eq!(sizes(none.split(5, 0).unwrap(), 0), [0]);
    assert_eq!(sizes(none.chunk(3, 0).unwrap(), 0), [0; 3]);
    assert_eq!(none.unbind(0).unwrap().len(), 0);
    let columns = x.unbind(-1).unwrap();
    assert_eq!(
        (columns.len(), shown(&columns[3], &x)),
        (4, (vec![2, 3], vec![3, 7, 11, 15, 19, 23]))
    );
}

proptest! {
    #[test]
    fn parts_joined_are_the_whole(size in 0_usize..20, n in 1_usize..25) {
        let x = Tensor::arange(0, size as i64, 1, DType::I16).unwrap();
        let whole: Vec<i16> = x.to_vec().unwrap();
        for parts in [x.split(n, 0), x.chunk(n, 0), x.tensor_split(n, 0)] {
            let parts = parts.unwrap().into_iter().map(|p| p.to_vec::<i16>().unwrap());
            prop_assert_eq!(parts.collect::<Vec<_>>().concat(), whole.clone());
        }
    }
}

#[test]
fn tensors_broadcast_together() {
    let (x, y) = (
        sample().narrow(1, 0, 1).unwrap(),
        Tensor::zeros(&[5, 1, 3, 1], DType::F64).unwrap(),
    );
    let both = broadcast_tensors(&[&x, &y]).unwrap();
    assert_eq!(
        (both[0].shape().to_string(), both[1].shape().to_string()),
        ("[5, 2, 3, 4]".to_owned(), "[5, 2, 3, 4]".to_owned())
    );
    assert!(both[0].shares_storage_with(&x) && both[1].dtype() == DType::F64);
    assert!(broadcast_tensors(&[]).unwrap().is_empty());
}

#[test]
fn bad_arguments_are_worded_errors() {
    let x = sample();
    let none = Tensor::zeros(&[0], DType::I16).unwrap();
    let y = Tensor::zeros(&[5], DType::F32).unwrap();
    let lines = [
        message(x.narrow(3, 0, 1)),
        message(x.narrow(2, 2, 3)),
        message(x.narrow(2, -5, 1)),
        message(x.narrow(2, isize::MAX, usize::MAX)),
        message(x.split(0, 0)),
        message(x.split(1, 9)),
        message(x.split_sizes(&[1, 2], 2)),
        message(x.split_sizes(&[usize::MAX, 6], 2)),
        message(x.chunk(0, 0)),
        message(none.chunk(usize::MAX, 0)),
        message(x.tensor_split(0, 0)),
        message(x.tensor_split(usize::MAX, 0)),
        message(x.unbind(-4)),
        message(x.movedim(&[0, 0], &[1, 2])),
        message(x.movedim(&[0, 1], &[1])),
        message(x.movedim(&[3], &[1])),
        message(x.t()),
        message(x.diagonal(0, 1, 1)),
        message(x.diagonal(0, 1, -4)),
        message(x.unflatten(2, &[3, -1])),
        message(x.unflatten(2, &[-1, -1])),
        message(x.unflatten(2, &[-2, -2])),
        message(x.unflatten(5, &[4])),
        message(x.reshape_as(&y)),
        message(x.expand_as(&y)),
        message(broadcast_tensors(&[&x, &y])),
    ];
    assert_snapshot!(lines.join("\n"));
}
