//! Gradients of operations by indices and masks, also where indices meet.

use crate::checks::{
    check, check_all, check_narrow, check_real, complex_leaf, integers, leaf, uniform,
};
use allotrope_dtype::{DType, ErrorKind};
use allotrope_op::Slice;
use allotrope_tensor::{
    BackwardOptions, BagMode, Bags, Edges, Embedding, Index, IndexReduction, Tensor, grad,
};

#[test]
fn elements_that_are_read_several_times() {
    check_all(
        &[3, 4],
        &[
            ("gather", |x| {
                let index = integers(&[2, 0, 2, -1, 1, 1], &[2, 3]);
                let columns = integers(&[3, 3, 0, 1, -1, 2], &[3, 2]);
                Ok(vec![x[0].gather(0, &index)?, x[0].gather(1, &columns)?])
            }),
            ("gather from a turned one", |x| {
                let index = integers(&[2, 2, 2, 0], &[4, 1]);
                Ok(vec![x[0].t()?.gather(1, &index)?])
            }),
            ("index_select", |x| {
                let index = integers(&[2, 2, 0, -1], &[4]);
                Ok(vec![
                    x[0].index_select(0, &index)?,
                    x[0].index_select(1, &index)?,
                ])
            }),
            ("take", |x| {
                let index = integers(&[5, -1, 5, 0], &[2, 2]);
                let rows = integers(&[1, 1, 2, 0], &[2, 2]);
                let one = integers(&[1], &[]);
                Ok(vec![
                    x[0].take(&index, None)?,
                    x[0].take(&rows, Some(1))?,
                    x[0].take(&one, Some(0))?,
                ])
            }),
            ("take_along_dim", |x| {
                let index = integers(&[2, 0, 2], &[3, 1]);
                let order = integers(&[1, 1, 0, 2], &[1, 4]);
                Ok(vec![
                    x[0].take_along_dim(&index, Some(1))?,
                    x[0].take_along_dim(&order, Some(0))?,
                    x[0].take_along_dim(&order, None)?,
                ])
            }),
            ("gather from an expanded one", |x| {
                let wide = x[0].select(0, 0)?.expand(&[5, 4])?;
                Ok(vec![wide.gather(0, &integers(&[4, 0, 4, 1], &[1, 4]))?])
            }),
        ],
    );
    let single = |x: &[Tensor]| {
        let index = integers(&[0], &[]);
        Ok(vec![x[0].gather(0, &index)?, x[0].index_select(0, &index)?])
    };
    check("of one element", single, &[leaf(&[], 1)]);
    let often = |x: &[Tensor]| {
        let index = Tensor::zeros(&[500], DType::I64)?;
        Ok(vec![x[0].index_select(0, &index)?, x[0].gather(0, &index)?])
    };
    check_narrow("500 reads", often, &[leaf(&[3], 2)]);
}

#[test]
fn elements_that_are_put() {
    let index = integers(&[2, 0, 2, 1, 1, 2], &[2, 3]);
    for make in [leaf, complex_leaf] {
        let inputs = [make(&[3, 4], 1), make(&[2, 4], 2), make(&[], 3)];
        let scatters = |x: &[Tensor]| {
            Ok(vec![
                x[0].scatter(0, &index, &x[1])?,
                x[0].scatter(0, &index, &x[2])?,
                x[0].scatter(0, &index, 1.5)?,
                x[0].scatter_add(0, &index, &x[1])?,
                x[0].scatter_with(0, &index, &x[1], "add")?,
                x[0].t()?.scatter_add(1, &index.t()?, &x[1].t()?)?,
            ])
        };
        check("scatter", scatters, &inputs);
        let multiplied = |x: &[Tensor]| {
            Ok(vec![
                x[0].scatter_with(0, &index, &x[1], "multiply")?,
                x[0].scatter_reduce(0, &index, &x[1], IndexReduction::Prod, true)?,
                x[0].scatter_reduce(0, &index, &x[1], IndexReduction::Prod, false)?,
            ])
        };
        check("products", multiplied, &inputs[..2]);
        let places = integers(&[11, 0, 0, -2, 3, 11, 7, 7], &[8]);
        let put = |x: &[Tensor]| {
            Ok(vec![
                x[0].put(&places, &x[1], false)?,
                x[0].put(&places, &x[1], true)?,
                x[0].index_put(&[Index::Array(integers(&[1, 1], &[2]))], &x[1], true)?,
                x[0].index_put(&[Index::Array(integers(&[1, 1], &[2]))], &x[1], false)?,
            ])
        };
        check("put", put, &inputs[..2]);
    }
}

#[test]
fn elements_that_are_reduced() {
    let index = integers(&[2, 0, 2, 1, 1, 2], &[2, 3]);
    let rows = integers(&[2, 0, 2, -1], &[4]);
    let inputs = [leaf(&[3, 4], 1), leaf(&[2, 4], 2), leaf(&[4, 4], 3)];
    for reduction in [
        IndexReduction::Sum,
        IndexReduction::Prod,
        IndexReduction::Mean,
        IndexReduction::Amax,
        IndexReduction::Amin,
    ] {
        for include_self in [true, false] {
            let function = |x: &[Tensor]| {
                Ok(vec![
                    x[0].scatter_reduce(0, &index, &x[1], reduction, include_self)?,
                    x[0].index_reduce(0, &rows, &x[2], reduction, include_self)?,
                    x[0].t()?
                        .index_reduce(1, &rows, &x[2].t()?, reduction, include_self)?,
                ])
            };
            check(&format!("{reduction:?} {include_self}"), function, &inputs);
        }
    }
    let many = |x: &[Tensor]| {
        let index = Tensor::zeros(&[300], DType::I64)?;
        let zeros = Tensor::zeros(&[2], x[0].dtype())?;
        Ok(vec![
            zeros.scatter_reduce(0, &index, &x[0], IndexReduction::Mean, false)?,
            zeros.scatter_add(0, &index, &x[0])?,
        ])
    };
    check_narrow("300 into one", many, &[leaf(&[300], 4)]);
}

/// Equal extremes share the gradient, whoever has them.
#[test]
fn extremes_that_are_equal() {
    let leaf = |values: &[f64]| {
        let x = Tensor::from_slice(values, &[values.len()]).unwrap();
        x.requires_grad_(true).unwrap()
    };
    let (x, source) = (leaf(&[3.0, 1.0]), leaf(&[3.0, 3.0, 2.0, 1.0]));
    let index = integers(&[0, 0, 0, 1], &[4]);
    for (include_self, own, put) in [
        (true, [1.0 / 3.0, 0.5], [1.0 / 3.0, 1.0 / 3.0, 0.0, 0.5]),
        (false, [0.0, 0.0], [0.5, 0.5, 0.0, 1.0]),
    ] {
        let most = x.scatter_reduce(0, &index, &source, IndexReduction::Amax, include_self);
        let total = most.unwrap().sum(None, false, None).unwrap();
        let found = grad(
            &[&total],
            &[&x, &source],
            &[None],
            BackwardOptions::default(),
            false,
        );
        let found: Vec<Vec<f64>> = found
            .unwrap()
            .into_iter()
            .map(|g| g.unwrap().to_vec().unwrap())
            .collect();
        assert_eq!(found, [own.to_vec(), put.to_vec()]);
    }
}

/// Products have gradients where factors are zero; a second one is refused there.
#[test]
fn products_with_zeros() {
    let leaf = |values: &[f64]| {
        let x = Tensor::from_slice(values, &[values.len()]).unwrap();
        x.requires_grad_(true).unwrap()
    };
    let inputs = [
        leaf(&[2.0, 0.0, 3.0, 0.0]),
        leaf(&[0.0, 4.0, 5.0, 3.0, 0.0, 0.0, 2.0]),
    ];
    let index = integers(&[0, 0, 1, 1, 2, 2, 3], &[7]);
    for include_self in [true, false] {
        let function = |x: &[Tensor]| {
            let reduction = IndexReduction::Prod;
            Ok(vec![x[0].scatter_reduce(
                0,
                &index,
                &x[1],
                reduction,
                include_self,
            )?])
        };
        let options = allotrope_tensor::GradcheckOptions::default();
        allotrope_tensor::gradcheck(&function, &inputs, options).unwrap();
        let error = allotrope_tensor::gradgradcheck(&function, &inputs, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Gradient);
    }
}

#[test]
fn slices_that_are_put() {
    let rows = integers(&[2, 0, 2, -1], &[4]);
    for make in [leaf, complex_leaf] {
        let inputs = [make(&[3, 4], 1), make(&[4, 4], 2), make(&[], 3)];
        let function = |x: &[Tensor]| {
            Ok(vec![
                x[0].index_add(0, &rows, &x[1], 1)?,
                x[0].index_add(0, &rows, &x[1], -1.5)?,
                x[0].t()?.index_add(1, &rows, &x[1].t()?, 2)?,
                x[0].index_copy(0, &rows, &x[1])?,
                x[0].index_fill(1, &rows, &x[2])?,
                x[0].index_fill(0, &rows, 0.5)?,
                x[2].index_add(0, &integers(&[0], &[1]), &x[2], 2)?,
                x[2].index_copy(
                    0,
                    &integers(&[0], &[1]),
                    &x[0].select(0, 0)?.narrow(0, 0, 1)?,
                )?,
            ])
        };
        check("slices", function, &inputs);
    }
    let scaled = |x: &[Tensor]| {
        let alpha = allotrope_dtype::WeakScalar::Complex(allotrope_dtype::c128::new(0.5, 2.0));
        Ok(vec![x[0].index_add(
            0,
            &integers(&[1, 1], &[2]),
            &x[1],
            alpha,
        )?])
    };
    check(
        "complex alpha",
        scaled,
        &[complex_leaf(&[2], 4), leaf(&[2], 5)],
    );
}

#[test]
fn masks() {
    let mask = uniform(&[3, 4], -1.0, 1.0, 9).gt(0.0).unwrap();
    for make in [leaf, complex_leaf] {
        let inputs = [
            make(&[3, 4], 1),
            make(&[], 2),
            make(&[13], 3),
            make(&[4], 4),
        ];
        let function = |x: &[Tensor]| {
            Ok(vec![
                x[0].masked_fill(&mask, &x[1])?,
                x[0].masked_fill(&mask, 2.0)?,
                x[3].masked_fill(&mask, &x[1])?,
                x[0].masked_select(&mask)?,
                x[3].masked_select(&mask)?,
                x[0].masked_select(&mask.select(0, 0)?)?,
                x[0].masked_scatter(&mask, &x[2])?,
                x[3].masked_scatter(&mask, &x[2])?,
                x[0].t()?.masked_select(&mask.t()?)?,
            ])
        };
        check("masks", function, &inputs);
    }
    let selected = |x: &[Tensor]| {
        let mask = Tensor::ones(&[200, 3], DType::Bool)?;
        Ok(vec![x[0].masked_select(&mask)?])
    };
    check_narrow("masked_select", selected, &[leaf(&[3], 5)]);
}

#[test]
fn assignments_of_which_the_last_stays() {
    let inputs = [leaf(&[3, 2], 1), leaf(&[4, 2], 2)];
    let function = |x: &[Tensor]| {
        let mut y = x[0].square()?;
        let rows = Index::Array(integers(&[2, 0, 2, 2], &[4]));
        y.assign(&[rows, Index::Range(Slice::ALL)], &x[1])?;
        Ok(vec![y])
    };
    check("assignment", function, &inputs);
}

#[test]
fn embeddings() {
    let index = integers(&[1, 3, 1, 0, 1, 4], &[2, 3]);
    let options = Embedding::default();
    let scaled = Embedding {
        max_norm: Some(1.5),
        ..options
    };
    for embedding in [options, scaled] {
        let function = |x: &[Tensor]| Ok(vec![x[0].embedding(&index, embedding)?]);
        check("embedding", function, &[leaf(&[5, 2], 1)]);
    }
    let often = |x: &[Tensor]| {
        let index = Tensor::ones(&[300], DType::I64)?;
        Ok(vec![x[0].embedding(&index, Embedding::default())?])
    };
    check_narrow("embedding", often, &[leaf(&[3, 2], 2)]);
    let table = leaf(&[5, 2], 3);
    let padded = Embedding {
        padding_idx: Some(-4),
        ..options
    };
    let rows = table.embedding(&index, padded).unwrap();
    rows.sum(None, false, None).unwrap().backward().unwrap();
    let expected = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    assert_eq!(table.grad().unwrap().to_vec::<f64>().unwrap(), expected);
}

#[test]
fn bags() {
    let index = integers(&[1, 3, 1, 0, 1, 4], &[6]);
    let offsets = integers(&[0, 2, 2], &[3]);
    let matrix = index.reshape(&[2, 3]).unwrap();
    let weights = leaf(&[6], 1);
    let table = leaf(&[5, 2], 2);
    for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
        for padding_idx in [None, Some(1)] {
            let embedding = Embedding {
                padding_idx,
                ..Embedding::default()
            };
            let function = |x: &[Tensor]| {
                let bags = Bags {
                    offsets: Some(&offsets),
                    include_last_offset: false,
                    mode,
                    per_sample_weights: None,
                    embedding,
                };
                let rows = Bags {
                    offsets: None,
                    ..bags
                };
                let weighted = Bags {
                    per_sample_weights: Some(&x[1]),
                    mode: BagMode::Sum,
                    ..bags
                };
                Ok(vec![
                    x[0].embedding_bag(&index, bags)?,
                    x[0].embedding_bag(&matrix, rows)?,
                    x[0].embedding_bag(&index, weighted)?,
                ])
            };
            let inputs = [table.clone(), weights.clone()];
            check(&format!("{mode:?} {padding_idx:?}"), function, &inputs);
            let plain = function(&[table.detach(), weights.detach()]).unwrap();
            for (recorded, plain) in function(&inputs).unwrap().iter().zip(&plain) {
                let (recorded, plain) = (recorded.to_vec::<f64>(), plain.to_vec::<f64>());
                assert_eq!(recorded.unwrap(), plain.unwrap());
            }
        }
    }
}

#[test]
fn sums_of_weights() {
    check_real(
        &[5],
        &[("bincount", |x| {
            let index = integers(&[1, 0, 1, 3, 1], &[5]);
            let values = x[0].detach().zeros_like()?.add(&index)?;
            let edges = || Edges::Count(3, Some((0.0, 2.0)));
            Ok(vec![
                index.bincount(Some(&x[0]), 6)?,
                values.histogram(edges(), Some(&x[0]), false)?.0,
                values.histogram(edges(), Some(&x[0]), true)?.0,
            ])
        })],
    );
}
