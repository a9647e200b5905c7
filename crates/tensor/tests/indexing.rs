//! Elements chosen by indices and masks: what only Rust can see.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{Bool8, DType, Error, ErrorKind};
use allotrope_tensor::{BagMode, Bags, Edges, Embedding, Index, IndexReduction, Search, Tensor};
use proptest::prelude::*;

fn vector(elements: &[i64]) -> Tensor {
    Tensor::from_slice(elements, &[elements.len()]).unwrap()
}

fn kind<T>(result: Result<T, Error>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn out_of_range_names_index_and_size() {
    let x = Tensor::zeros(&[3, 2], DType::F32).unwrap();
    let error = x.index_select(0, &vector(&[0, 3, 9])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "index_select: index out of range: 3; dimension 0 has size 3"
    );
    let error = x.take(&vector(&[-7]), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "take: index out of range: -7; dimension 0 has size 6"
    );
    let none = Tensor::zeros(&[0, 2], DType::F32).unwrap();
    assert_eq!(
        kind(none.index_select(0, &vector(&[0]))),
        Some(ErrorKind::Index)
    );
}

#[test]
fn masks_are_no_indices_and_indices_no_masks() {
    let x = Tensor::arange(0, 3, 1, DType::I64).unwrap();
    let mask = Tensor::from_slice(&[Bool8::TRUE; 3], &[3]).unwrap();
    let bytes = Tensor::from_slice(&[1_u8, 0, 1], &[3]).unwrap();
    assert_eq!(kind(x.index_select(0, &mask)), Some(ErrorKind::Dtype));
    assert_eq!(kind(x.masked_select(&bytes)), Some(ErrorKind::Dtype));
    let picked = x.index_select(0, &bytes).unwrap();
    assert_eq!(picked.to_vec::<i64>().unwrap(), [1, 0, 1]);
}

#[test]
fn sources_are_left_as_they_are() {
    let x = Tensor::zeros(&[2], DType::I32).unwrap();
    let ones = Tensor::ones(&[2], DType::I32).unwrap();
    let sum = x.scatter_add(0, &vector(&[1, 1]), &ones).unwrap();
    assert_eq!(sum.to_vec::<i32>().unwrap(), [0, 2]);
    assert_eq!(x.to_vec::<i32>().unwrap(), [0, 0]);
    let same = x
        .index_put(&[Index::Array(vector(&[0]))], 5, false)
        .unwrap();
    assert_eq!(same.to_vec::<i32>().unwrap(), [5, 0]);
    assert_eq!(x.to_vec::<i32>().unwrap(), [0, 0]);
}

#[test]
fn means_of_integers_are_floats() {
    let x = Tensor::ones(&[2], DType::I8).unwrap();
    let source = Tensor::from_slice(&[2_i8, 4], &[2]).unwrap();
    let mean = x.index_reduce(0, &vector(&[0, 0]), &source, IndexReduction::Mean, false);
    assert_eq!(mean.unwrap().to_vec::<f32>().unwrap(), [3.0, 1.0]);
}

#[test]
fn bags_search_and_histograms() {
    let table = Tensor::arange(0, 6, 1, DType::F32)
        .unwrap()
        .reshape(&[3, 2])
        .unwrap();
    let offsets = vector(&[0, 2]);
    let bags = Bags {
        offsets: Some(&offsets),
        include_last_offset: false,
        mode: BagMode::Max,
        per_sample_weights: None,
        embedding: Embedding::default(),
    };
    let rows = table.embedding_bag(&vector(&[0, 2, 1]), bags).unwrap();
    assert_eq!(rows.to_vec::<f32>().unwrap(), [4.0, 5.0, 2.0, 3.0]);
    let options = Search {
        right: true,
        out_int32: true,
    };
    let places = vector(&[1, 3]).searchsorted(&vector(&[1, 2]), None, options);
    assert_eq!(places.unwrap().to_vec::<i32>().unwrap(), [1, 1]);
    let (counts, edges) = vector(&[1, 2, 5])
        .histogram(Edges::Count(2, None), None, false)
        .unwrap();
    assert_eq!(counts.to_vec::<f32>().unwrap(), [2.0, 1.0]);
    assert_eq!(edges.to_vec::<f32>().unwrap(), [1.0, 3.0, 5.0]);
}

proptest! {
    /// Indices that pick and indices that put are each other's inverse for a permutation.
    #[test]
    fn permutations_go_there_and_back(seed in 0_u64..1000, count in 1_usize..200) {
        let mut order: Vec<i64> = (0..count as i64).collect();
        order.sort_by_key(|i| (*i as u64).wrapping_mul(seed * 2 + 1).wrapping_mul(0x9E37_79B9) % 1009);
        let index = vector(&order);
        let x = Tensor::arange(0, count as i64, 1, DType::U16).unwrap();
        let picked = x.index_select(0, &index).unwrap();
        let back = x.zeros_like().unwrap().index_copy(0, &index, &picked).unwrap();
        prop_assert_eq!(back.to_vec::<u16>().unwrap(), x.to_vec::<u16>().unwrap());
    }

    /// What a mask selects and what its complement selects are everything.
    #[test]
    fn masks_part_what_they_select(bits in proptest::collection::vec(any::<bool>(), 0..300)) {
        let mask: Vec<Bool8> = bits.iter().copied().map(Bool8::from).collect();
        let mask = Tensor::from_slice(&mask, &[bits.len()]).unwrap();
        let x = Tensor::arange(0, bits.len() as i64, 1, DType::I16).unwrap();
        let chosen = x.masked_select(&mask).unwrap();
        let want: Vec<i16> = (0..).zip(&bits).filter(|(_, bit)| **bit).map(|(i, _)| i).collect();
        prop_assert_eq!(chosen.to_vec::<i16>().unwrap(), want.clone());
        let found = mask.nonzero().unwrap()[0].to(DType::I16).unwrap();
        prop_assert_eq!(found.to_vec::<i16>().unwrap(), want);
        let back = x.masked_scatter(&mask, &chosen).unwrap();
        prop_assert_eq!(back.to_vec::<i16>().unwrap(), x.to_vec::<i16>().unwrap());
    }
}
