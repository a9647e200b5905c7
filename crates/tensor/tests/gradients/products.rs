//! Gradients of products.

use crate::checks::{check, check_narrow, complex_leaf, leaf};
use allotrope_tensor::{Tensor, einsum, linalg, multi_dot};

/// Checks a function of leaves of these sizes, all real, all complex, and of both.
fn check_sizes(
    what: &str,
    sizes: &[&[usize]],
    function: impl Fn(&[Tensor]) -> Result<Vec<Tensor>, allotrope_dtype::Error>,
) {
    let make = |which: fn(usize) -> bool| -> Vec<Tensor> {
        let each = sizes.iter().enumerate().map(|(i, sizes)| match which(i) {
            true => complex_leaf(sizes, i as u64),
            false => leaf(sizes, i as u64),
        });
        each.collect()
    };
    check(what, &function, &make(|_| false));
    check(what, &function, &make(|_| true));
    check(what, &function, &make(|i| i == 1));
}

#[test]
fn sums_of_products_by_letters() {
    let cases: [(&str, &[&[usize]]); 14] = [
        ("ij,jk->ik", &[&[2, 3], &[3, 2]]),
        ("bij,bjk->bik", &[&[2, 2, 3], &[2, 3, 2]]),
        ("ij,jk,kl->il", &[&[2, 3], &[3, 2], &[2, 2]]),
        ("ii->i", &[&[3, 3]]),
        ("ii", &[&[3, 3]]),
        ("ij->ji", &[&[2, 3]]),
        ("ij->", &[&[2, 3]]),
        ("i,j->ij", &[&[2], &[3]]),
        ("i,i->", &[&[3], &[3]]),
        ("ij,ij->ij", &[&[2, 3], &[2, 3]]),
        ("...ij,...jk->...ik", &[&[2, 2, 3], &[3, 2]]),
        ("bij,kj->bk", &[&[2, 2, 3], &[2, 3]]),
        ("iij,j->i", &[&[2, 2, 3], &[3]]),
        ("ij,k->i", &[&[2, 3], &[2]]),
    ];
    for (equation, sizes) in cases {
        check_sizes(equation, sizes, |x| {
            let x: Vec<&Tensor> = x.iter().collect();
            Ok(vec![einsum(equation, &x, None, None)?])
        });
    }
    let twice = |x: &[Tensor]| Ok(vec![einsum("ij,kj->ik", &[&x[0], &x[0]], None, None)?]);
    check("one tensor twice", twice, &[leaf(&[2, 3], 1)]);
}

#[test]
fn products_along_dimensions() {
    check_sizes("tensordot", &[&[2, 3, 2], &[2, 3]], |x| {
        Ok(vec![
            x[0].tensordot(&x[1], &[1, 2], &[1, 0], None, None)?,
            x[0].tensordot(&x[1], &[1], &[1], None, None)?,
            x[0].tensordot(&x[1], &[], &[], None, None)?,
        ])
    });
    check_sizes("inner and others", &[&[2, 3], &[3]], |x| {
        Ok(vec![
            x[0].inner(&x[1], None, None)?,
            x[0].kron(&x[1])?,
            x[1].kron(&x[0])?,
            x[0].mv(&x[1], None, None)?,
            x[0].ravel()?.outer(&x[1])?,
        ])
    });
    check_sizes("dot and others", &[&[3], &[3]], |x| {
        Ok(vec![
            x[0].dot(&x[1], None, None)?,
            x[0].vdot(&x[1], None, None)?,
            x[0].vdot(&x[0], None, None)?,
            x[0].outer(&x[1])?,
            linalg::vecdot(&x[0], &x[1], -1)?,
            linalg::cross(&x[0], &x[1], -1)?,
        ])
    });
    check_sizes("vectors side by side", &[&[2, 3], &[1, 3]], |x| {
        Ok(vec![
            linalg::cross(&x[0], &x[1], 1)?,
            linalg::vecdot(&x[0], &x[1], -1)?,
        ])
    });
    check_sizes("mm and bmm", &[&[2, 2, 3], &[2, 3, 2]], |x| {
        let (a, b) = (x[0].select(0, 1)?, x[1].select(0, 0)?);
        Ok(vec![a.mm(&b, None, None)?, x[0].bmm(&x[1], None, None)?])
    });
    check_sizes("multi_dot", &[&[3], &[3, 2], &[2, 4], &[4]], |x| {
        let all: Vec<&Tensor> = x.iter().collect();
        Ok(vec![multi_dot(&all)?, multi_dot(&[&x[1], &x[2]])?])
    });
    check_sizes(
        "sums with products",
        &[&[2, 2], &[2, 2, 3], &[2, 3, 2]],
        |x| {
            let (a, b) = (x[1].select(0, 0)?, x[2].select(0, 1)?);
            let row = x[0].select(0, 0)?;
            Ok(vec![
                x[0].addmm(&a, &b, 0.5, 2.0)?,
                row.addmv(&a, &b.select(1, 0)?, 1.0, -1.0)?,
                x[0].baddbmm(&x[1], &x[2], -1.0, 0.5)?,
            ])
        },
    );
}

#[test]
fn layers() {
    check_sizes("linear", &[&[2, 2, 3], &[4, 3], &[4]], |x| {
        Ok(vec![
            x[0].linear(&x[1], Some(&x[2]))?,
            x[0].linear(&x[1], None)?,
            x[0].select(0, 0)?
                .select(0, 1)?
                .linear(&x[1], Some(&x[2]))?,
            x[0].linear(&x[1].select(0, 0)?, Some(&x[2].select(0, 0)?))?,
        ])
    });
    check_sizes("bilinear", &[&[2, 3], &[2, 2], &[4, 3, 2], &[4]], |x| {
        Ok(vec![
            x[0].bilinear(&x[1], &x[2], Some(&x[3]))?,
            x[0].bilinear(&x[1], &x[2], None)?,
        ])
    });
    let inputs = [leaf(&[40, 3], 1), leaf(&[4, 3], 2), leaf(&[4], 3)];
    check_narrow(
        "linear",
        |x| Ok(vec![x[0].linear(&x[1], Some(&x[2]))?]),
        &inputs,
    );
}

/// Every dtype with a gradient has those of every family, in that dtype.
#[test]
fn every_dtype() {
    use allotrope_dtype::Set;
    let zeros = |n: usize| Tensor::zeros(&[n], allotrope_dtype::DType::I64);
    type Operation<'a> = &'a dyn Fn(&Tensor) -> Result<Tensor, allotrope_dtype::Error>;
    let operations: [(&str, bool, Operation<'_>); 20] = [
        ("cat", true, &|x| Tensor::cat(&[x, x], 0)),
        ("pad", true, &|x| {
            x.pad(&[1, 1], allotrope_tensor::PadMode::Reflect)
        }),
        ("roll", true, &|x| x.roll(&[1], &[1])),
        ("repeat", true, &|x| x.repeat(&[2, 2])),
        ("tril", true, &|x| x.tril(0)),
        ("diag_embed", true, &|x| x.diag_embed(0, 0, 1)),
        ("index_select", true, &|x| x.index_select(0, &zeros(4)?)),
        ("gather", true, &|x| x.gather(0, &zeros(3)?.unsqueeze(0)?)),
        ("scatter_add", true, &|x| {
            x.scatter_add(0, &zeros(3)?.unsqueeze(0)?, x)
        }),
        ("index_copy", true, &|x| x.index_copy(0, &zeros(3)?, x)),
        ("masked_select", true, &|x| x.masked_select(&x.ne(0)?)),
        ("sort", false, &|x| Ok(x.sort(0, false)?.0)),
        ("median", false, &|x| Ok(x.median(1, false)?.0)),
        ("cumsum", true, &|x| x.cumsum(1, None)),
        ("cumprod", true, &|x| x.cumprod(0, None)),
        ("logcumsumexp", false, &|x| x.logcumsumexp(0)),
        ("matmul", true, &|x| x.matmul(x)),
        ("solve", true, &|x| linalg::solve(x, x, true)),
        ("det", true, &|x| linalg::det(x)),
        ("svdvals", true, &|x| linalg::svdvals(x)),
    ];
    let values = [2.0, 0.5, 0.25, 0.25, 1.5, 0.5, 0.5, -0.25, 1.0];
    for dtype in Set::Inexact.members() {
        for (what, takes_complex, operation) in &operations {
            if dtype.is_complex() && !takes_complex {
                continue;
            }
            let x = Tensor::from_slice(&values, &[3, 3])
                .unwrap()
                .to(dtype)
                .unwrap();
            let x = x.requires_grad_(true).unwrap();
            let y = operation(&x).unwrap_or_else(|error| panic!("{what} of {dtype}: {error}"));
            let sum = y.sum(None, false, None).unwrap();
            let sum = if sum.dtype().is_complex() {
                sum.real().unwrap()
            } else {
                sum
            };
            sum.backward()
                .unwrap_or_else(|error| panic!("{what} of {dtype}: {error}"));
            assert_eq!(x.grad().unwrap().dtype(), dtype, "{what}");
        }
    }
}
