//! Sorting, selection, indexing and checks of values on the second device, forward and backward.

use allotrope_dtype::{CastOptions, DType, Overflow, Rounding};
use allotrope_tensor::{
    BagMode, Bags, Beside, Edges, Embedding, Index, IndexReduction, QuantileInterpolation, Search,
    Tensor, hosted_operations,
};
use allotrope_testing::APART;

use crate::{Outcome, check, indices, numbers, there};

const REAL: [DType; 5] = [
    DType::F32,
    DType::BF16,
    DType::I32,
    DType::U8,
    DType::F8E4M3Fn,
];

/// Checks work on real numbers of several dtypes, as they are and turned.
fn check_real(what: &str, work: impl Fn(&Tensor) -> Outcome) {
    for dtype in REAL {
        let x = numbers(dtype);
        check(what, &[&x], |x| work(&x[0]));
        check(what, &[&x], |x| work(&x[0].transpose(0, 1)?));
        check(what, &[&x], |x| work(&x[0].flip(&[1])?));
    }
}

/// Checks the gradients that come back through work to all of its operands.
fn check_gradient(what: &str, operands: &[&Tensor], work: impl Fn(&[Tensor]) -> Outcome) {
    for operand in 0..operands.len() {
        if !operands[operand].dtype().is_floating_point() {
            continue;
        }
        check(what, operands, |x| {
            let mut x = x.to_vec();
            x[operand] = x[operand].detach().requires_grad_(true)?;
            let y = work(&x)?;
            let weights = y.detach().sin()?.add(2)?;
            y.mul(&weights)?.sum(None, false, None)?.backward()?;
            Ok(x[operand].grad().expect("a gradient"))
        });
    }
}

#[test]
fn lines_are_put_in_order_there() {
    check_real("sort", |x| Ok(x.sort(0, false)?.0));
    check_real("places of sort", |x| Ok(x.sort(1, true)?.1));
    check_real("argsort", |x| x.argsort(0, true));
    check_real("msort", Tensor::msort);
    check_real("topk", |x| Ok(x.topk(3, 1, true, true)?.0));
    check_real("places of topk", |x| Ok(x.topk(2, 0, false, true)?.1));
    check_real("kthvalue", |x| Ok(x.kthvalue(2, 0, true)?.0));
    check_real("kthvalue beyond", |x| Ok(x.kthvalue(20, 0, true)?.0));
    check_real("median", |x| Ok(x.median(1, false)?.1));
    check_real("nanmedian", |x| x.nanmedian_of_all());
    check_real("mode", |x| Ok(x.mode(0, false)?.0));
    check_real("cummax", |x| Ok(x.cummax(0)?.0));
    check_real("cummin", |x| Ok(x.cummin(1)?.1));
    let complex = numbers(DType::C64);
    check("sort of complex numbers", &[&complex], |x| {
        Ok(x[0].sort(0, false)?.0)
    });
    let nothing = numbers(DType::F32).narrow(0, 0, 0).unwrap();
    check("median of nothing", &[&nothing], |x| x[0].median_of_all());
    assert!(
        hosted_operations((&APART as &'static dyn allotrope_op::Backend).into())
            .iter()
            .any(|(op, _)| *op == "sort")
    );
}

#[test]
fn gradients_of_lines_in_order_stay_there() {
    for dtype in [DType::F32, DType::BF16] {
        let x = numbers(dtype);
        check_gradient("sort", &[&x], |x| Ok(x[0].sort(0, true)?.0));
        check_gradient("topk", &[&x], |x| Ok(x[0].topk(2, 1, true, true)?.0));
        check_gradient("median", &[&x], |x| Ok(x[0].median(0, false)?.0));
        check_gradient("cummax", &[&x], |x| Ok(x[0].cummax(1)?.0));
        check_gradient("unique", &[&x], |x| Ok(x[0].unique(None)?.values));
        check_gradient("cumprod", &[&x], |x| x[0].cumprod(1, None));
        check_gradient("logcumsumexp", &[&x], |x| x[0].logcumsumexp(0));
        check_gradient("norm", &[&x], |x| x[0].norm(1.0, Some(&[0]), false));
        check_gradient("prod", &[&x], |x| x[0].prod(Some(&[0]), false, None));
        check_gradient("amax", &[&x], |x| x[0].amax(Some(&[1]), false));
        check_gradient("logsumexp", &[&x], |x| x[0].logsumexp(Some(&[1]), false));
        let q = Tensor::from_slice(&[0.1_f64, 0.75], &[2]).unwrap();
        check_gradient("quantile", &[&x, &q], |x| {
            x[0].quantile(&x[1], Some(1), false, QuantileInterpolation::Linear)
        });
    }
}

#[test]
fn different_elements_are_found_there() {
    for dtype in [DType::F32, DType::I8, DType::Bool, DType::C64] {
        let x = numbers(dtype).mul(0.2).unwrap().to(dtype).unwrap();
        check("unique", &[&x], |x| Ok(x[0].unique(None)?.values));
        check("inverse", &[&x], |x| Ok(x[0].unique(None)?.inverse));
        check("counts", &[&x], |x| Ok(x[0].unique(None)?.counts));
        check("unique rows", &[&x], |x| Ok(x[0].unique(Some(1))?.values));
        check("rows of each", &[&x], |x| Ok(x[0].unique(Some(0))?.inverse));
        let values = Beside::default();
        check("values alone", &[&x], |x| {
            Ok(x[0].unique_with(None, values)?.values)
        });
        check("neighbours", &[&x], |x| {
            Ok(x[0].unique_consecutive(None, values)?.values)
        });
    }
}

#[test]
fn quantiles_are_found_there() {
    let q = Tensor::from_slice(&[0.0_f64, 0.3, 1.0], &[3]).unwrap();
    for interpolation in ["linear", "lower", "higher", "midpoint", "nearest"] {
        let how: QuantileInterpolation = interpolation.parse().unwrap();
        check_real(interpolation, |x| {
            let q = q.to_backend(x.backend())?;
            x.quantile(&q, Some(0), true, how)
        });
        // Fractions of the CPU are moved.
        check_real(interpolation, |x| x.nanquantile(&q, None, false, how));
    }
    check_real("no fraction", |x| {
        let q = Tensor::from_slice(&[1.5_f64], &[1])?;
        x.quantile(&q, None, false, QuantileInterpolation::Linear)
    });
}

#[test]
fn searches_and_counts_run_there() {
    let edges = Tensor::from_slice(&[-9.0_f64, -1.5, 0.0, 2.5, 12.0], &[5]).unwrap();
    let weights = numbers(DType::F32).abs().unwrap();
    for dtype in REAL {
        let x = numbers(dtype);
        check("searchsorted", &[&x, &edges], |x| {
            x[1].searchsorted(&x[0], None, Search::default())
        });
        check("rows of searchsorted", &[&x, &x], |x| {
            let sorted = x[0].sort(1, false)?.0;
            let right = Search {
                right: true,
                out_int32: true,
            };
            sorted.searchsorted(&x[1], None, right)
        });
        check("bucketize", &[&x, &edges], |x| {
            x[0].bucketize(&x[1], Search::default())
        });
        check("isin", &[&x, &edges], |x| x[0].isin(&x[1], true));
        check("isin of its own", &[&x], |x| {
            x[0].isin(&x[0].select(0, 2)?, false)
        });
        check("histc", &[&x], |x| x[0].histc(4, 0.0, 0.0));
        check("histogram", &[&x, &weights], |x| {
            let (counts, _) = x[0].histogram(Edges::Count(5, None), Some(&x[1]), true)?;
            Ok(counts)
        });
        check("edges", &[&x, &edges], |x| {
            Ok(x[0].histogram(Edges::Given(&x[1]), None, false)?.0)
        });
    }
    let bins = indices(&[3, 0, 3, 1]);
    check("bincount", &[&bins], |x| x[0].bincount(None, 6));
    check_gradient("weights", &[&weights.select(0, 0).unwrap()], |x| {
        let places = indices(&[0, 1, 1, 2, 5, 5, 5, 0, 9, 1]).to_backend(x[0].backend())?;
        places.bincount(Some(&x[0]), 0)
    });
}

#[test]
fn indices_of_any_dtype_are_checked_there() {
    let x = numbers(DType::F32);
    for dtype in [
        DType::I8,
        DType::U8,
        DType::I32,
        DType::I64,
        DType::U64,
        DType::F32,
    ] {
        let index = indices(&[2, 0, 5, 2]).to(dtype).unwrap();
        check("index_select", &[&x, &index], |x| {
            x[0].index_select(0, &x[1])
        });
        check("repeated", &[&x, &index], |x| {
            let index = x[1].unsqueeze(1)?.expand(&[4, 10])?;
            x[0].gather(0, &index)
        });
        if dtype.is_signed() {
            let last = indices(&[-1, 3]).to(dtype).unwrap();
            check("from the end", &[&x, &last], |x| {
                let index = x[1].flip(&[0])?;
                x[0].index(&[Index::Array(index)])
            });
        }
        check("one_hot", &[&index], |x| x[0].one_hot(Some(6), DType::BF16));
    }
    check("unravel_index", &[&indices(&[5, 2])], |x| {
        Ok(x[0].unravel_index(&[2, 3])?.remove(0))
    });
    check("ravel_multi_index", &[&indices(&[1, 0])], |x| {
        Tensor::ravel_multi_index(&[&x[0], &x[0]], &[2, 3])
    });
}

#[test]
fn indices_and_masks_of_the_cpu_are_moved() {
    let x = numbers(DType::F32);
    let (rows, mask) = (indices(&[2, -1, 0]), x.gt(0).unwrap());
    let grid = rows.unsqueeze(1).unwrap();
    let key = [Index::Array(rows.clone()), Index::Array(rows.clone())];
    type Work<'a> = &'a dyn Fn(&Tensor) -> Outcome;
    let works: [(&str, Work<'_>); 14] = [
        ("index_select", &|x| x.index_select(0, &rows)),
        ("gather", &|x| x.gather(0, &grid)),
        ("take", &|x| x.take(&rows, None)),
        ("index", &|x| x.index(&key[..1])),
        ("index by two", &|x| x.index(&key)),
        ("mask", &|x| x.index(&[Index::Array(mask.clone())])),
        ("masked_select", &|x| x.masked_select(&mask)),
        ("masked_fill", &|x| x.masked_fill(&mask, 1.5)),
        ("scatter", &|x| x.scatter(0, &grid, 2)),
        ("index_add", &|x| {
            x.index_add(0, &rows, &x.narrow(0, 0, 3)?, 1)
        }),
        ("index_copy", &|x| {
            x.index_copy(0, &rows, &x.narrow(0, 0, 3)?)
        }),
        ("put", &|x| {
            x.put(&rows, &x.select(0, 0)?.narrow(0, 0, 3)?, true)
        }),
        ("embedding", &|x| {
            x.embedding(&rows.abs()?, Embedding::default())
        }),
        ("assign", &|x| {
            let mut y = x.clone();
            y.assign(&key, 3)?;
            y.assign(&[Index::Array(mask.clone())], 7)?;
            Ok(y)
        }),
    ];
    for (what, work) in works {
        check(what, &[&x], |x| work(&x[0]));
        check_gradient(what, &[&x], |x| work(&x[0]));
    }
    // Those of another device are refused.
    assert!(x.index_select(0, &there(&rows)).is_err());
}

#[test]
fn gradients_of_what_is_chosen_stay_there() {
    let x = numbers(DType::F32);
    let (rows, source) = (indices(&[2, -1, 0, 2]), x.narrow(0, 0, 4).unwrap());
    for reduction in [
        IndexReduction::Sum,
        IndexReduction::Prod,
        IndexReduction::Mean,
        IndexReduction::Amax,
    ] {
        check_gradient("index_reduce", &[&x, &source, &rows], |x| {
            x[0].index_reduce(0, &x[2], &x[1], reduction, false)
        });
    }
    check_gradient("scatter", &[&x, &source, &rows], |x| {
        let index = x[2].unsqueeze(1)?.expand(&[4, 10])?;
        x[0].scatter(0, &index, &x[1])
    });
    check_gradient("masked_scatter", &[&x, &x], |x| {
        x[0].masked_scatter(&x[0].detach().gt(0)?, &x[1])
    });
    check_gradient("select_scatter", &[&x, &x], |x| {
        x[0].select_scatter(&x[1].select(0, 1)?, 0, 2)
    });
    let counts = indices(&[1, 0, 2, 1, 3, 1]);
    check_gradient("repeat_interleave", &[&x, &counts], |x| {
        x[0].repeat_interleave_each(&x[1], Some(0), None)
    });
    check_gradient("combinations", &[&x], |x| {
        x[0].select(0, 1)?.combinations(2, true)
    });
    check_gradient("vander", &[&x], |x| {
        x[0].select(0, 3)?.vander(Some(3), true)
    });
    check_gradient("block_diag", &[&x, &source], |x| {
        Tensor::block_diag(&[&x[0], &x[1]])
    });
    for mode in [BagMode::Sum, BagMode::Mean, BagMode::Max] {
        check_gradient("embedding_bag", &[&x, &indices(&[0, 3, 3, 1])], |x| {
            let offsets = indices(&[0, 1]);
            let bags = Bags {
                offsets: Some(&offsets),
                mode,
                ..Bags::default()
            };
            x[0].embedding_bag(&x[1], bags)
        });
    }
    let padded = Embedding {
        padding_idx: Some(0),
        scale_grad_by_freq: true,
        ..Embedding::default()
    };
    check_gradient("embedding", &[&x, &indices(&[0, 3, 3, 1])], |x| {
        x[0].embedding(&x[1], padded)
    });
}

#[test]
fn values_are_looked_at_there() {
    let x = numbers(DType::F32).mul(100).unwrap();
    let stochastic = CastOptions {
        rounding: Rounding::Stochastic { seed: 3, offset: 9 },
        ..CastOptions::default()
    };
    check("stochastic", &[&x], |x| {
        x[0].to_with(DType::BF16, stochastic)
    });
    check("turned", &[&x], |x| {
        let raise = CastOptions::overflow(Overflow::Raise);
        x[0].transpose(0, 1)?.to_with(DType::I16, raise)
    });
    for dtype in [DType::I8, DType::I64, DType::U16] {
        let y = numbers(dtype);
        check("no zero", &[&y], |y| y[0].floor_divide(3));
        check("no exponent", &[&y], |y| y[0].pow(&y[0].abs()?));
    }
    // Gradients that several passes add up.
    check("accumulated", &[&numbers(DType::F32)], |x| {
        let x = x[0].detach().requires_grad_(true)?;
        for _ in 0..3 {
            x.tanh()?.sum(None, false, None)?.backward()?;
        }
        Ok(x.grad().expect("a gradient"))
    });
}
