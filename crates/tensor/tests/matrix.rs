//! Matrix products: every dtype pair, views, and independence of the number of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use allotrope_dtype::{DType, Policy};
use allotrope_tensor::{AttentionOptions, Tensor, einsum};

fn numbers(sizes: &[usize], dtype: DType) -> Tensor {
    let count: usize = sizes.iter().product();
    let sizes: Vec<isize> = sizes.iter().map(|size| *size as isize).collect();
    let line = Tensor::arange(0, count as i64, 1, DType::I64).unwrap();
    let line = line.remainder(3).unwrap().to(dtype).unwrap();
    line.reshape(&sizes).unwrap()
}

#[test]
fn every_pair_of_dtypes_gives_the_product_of_its_common_dtype() {
    for a in DType::ALL {
        for b in DType::ALL {
            let (x, y) = (numbers(&[3, 5], a), numbers(&[5, 4], b));
            let Some(common) = Policy::Standard.promote(a, b) else {
                assert!(x.matmul(&y).is_err());
                continue;
            };
            let got = x.matmul(&y).unwrap();
            assert_eq!(got.dtype(), common);
            let want = x.to(common).unwrap().matmul(&y.to(common).unwrap());
            assert_eq!(got.to_bytes().unwrap(), want.unwrap().to_bytes().unwrap());
        }
    }
}

#[test]
fn a_result_does_not_depend_on_the_number_of_threads() {
    let x = numbers(&[150, 600], DType::F32).sin().unwrap();
    let y = numbers(&[600, 170], DType::F32).exp().unwrap();
    let heads = numbers(&[3, 90, 20], DType::F32).sin().unwrap();
    let run = || {
        let options = AttentionOptions::default();
        let attention = heads.scaled_dot_product_attention(&heads, &heads, options);
        let products = [
            x.matmul(&y),
            einsum("ij,jk->k", &[&x, &y], None, None),
            attention,
        ];
        products.map(|product| product.unwrap().to_bytes().unwrap())
    };
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let many = rayon::ThreadPoolBuilder::new()
        .num_threads(7)
        .build()
        .unwrap();
    assert!(alone.install(run) == many.install(run));
}

#[test]
fn a_view_is_multiplied_where_it_is() {
    let x = numbers(&[6, 8], DType::I32);
    let turned = x.t().unwrap().flip(&[0]).unwrap();
    let want = x.matmul(&turned.contiguous().unwrap()).unwrap();
    let got = x.matmul(&turned).unwrap();
    assert_eq!(got.to_vec::<i32>().unwrap(), want.to_vec::<i32>().unwrap());
}
