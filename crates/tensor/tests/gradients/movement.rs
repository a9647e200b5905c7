//! Gradients of operations that move elements.

use crate::checks::{check, check_all, check_narrow, complex_leaf, integers, leaf};
use allotrope_dtype::{DType, WeakScalar};
use allotrope_op::Slice;
use allotrope_tensor::{Blocks, PadMode, Tensor};

#[test]
fn tensors_side_by_side() {
    let inputs = [leaf(&[2, 3], 1), leaf(&[2, 3], 2), complex_leaf(&[2, 3], 3)];
    let all = |x: &[Tensor]| -> Vec<Tensor> { x.iter().chain([&x[0]]).cloned().collect() };
    for dim in [0, 1, -1] {
        let cat = |x: &[Tensor]| {
            let x = all(x);
            Ok(vec![Tensor::cat(&x.iter().collect::<Vec<_>>(), dim)?])
        };
        check("cat", cat, &inputs);
        let stack = |x: &[Tensor]| {
            let x = all(x);
            Ok(vec![Tensor::stack(&x.iter().collect::<Vec<_>>(), dim)?])
        };
        check("stack", stack, &inputs);
    }
    let others = |x: &[Tensor]| {
        let x: Vec<&Tensor> = x.iter().collect();
        Ok(vec![
            Tensor::hstack(&x)?,
            Tensor::vstack(&x)?,
            Tensor::dstack(&x)?,
            Tensor::column_stack(&x)?,
            Tensor::block_diag(&x)?,
        ])
    };
    check("hstack and others", others, &inputs);
    let vectors = [leaf(&[3], 4), leaf(&[3], 5)];
    let turned = |x: &[Tensor]| {
        let y = x[0].unsqueeze(0)?.expand(&[2, 3])?;
        let nothing = Tensor::zeros(&[0], DType::F64)?;
        Ok(vec![
            Tensor::cat(&[&y, &x[1].unsqueeze(0)?, &nothing], 0)?,
            Tensor::cat(&[&y.t()?, &x[1].unsqueeze(1)?], 1)?,
            Tensor::block_diag(&[&x[0], &x[1].t()?])?,
            Tensor::column_stack(&[&x[0], &x[1]])?,
            Tensor::vstack(&[&x[0], &x[1]])?,
        ])
    };
    check("expanded and turned", turned, &vectors);
    let mixed = [leaf(&[2], 6), leaf(&[1], 7)];
    check_narrow(
        "cat",
        |x| Ok(vec![Tensor::cat(&[&x[0], &x[1]], 0)?]),
        &mixed,
    );
    let half = Tensor::ones(&[2], DType::F16)
        .unwrap()
        .requires_grad_(true)
        .unwrap();
    let wide = Tensor::ones(&[2], DType::F64).unwrap();
    let joined = Tensor::cat(&[&half, &wide], 0).unwrap();
    joined.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(half.grad().unwrap().dtype(), DType::F16);
}

#[test]
fn padding_in_every_mode() {
    let constant = PadMode::Constant(WeakScalar::Float(1.5));
    let modes = [
        constant,
        PadMode::Reflect,
        PadMode::Replicate,
        PadMode::Circular,
    ];
    for mode in modes {
        for pad in [&[1, 2][..], &[2, 1, 1, 2], &[-1, 2, 2, -1], &[0, 0, 1, 0]] {
            let function = |x: &[Tensor]| Ok(vec![x[0].pad(pad, mode)?]);
            let what = format!("pad {pad:?} {mode:?}");
            check(&what, function, &[leaf(&[2, 3, 4], 1)]);
            check(&what, function, &[complex_leaf(&[3, 4], 2)]);
            check_narrow(&what, function, &[leaf(&[2, 3, 4], 3)]);
        }
        let turned = |x: &[Tensor]| Ok(vec![x[0].t()?.pad(&[1, 1], mode)?]);
        check("pad of a transposed one", turned, &[leaf(&[3, 2], 4)]);
    }
}

#[test]
fn rolls_repeats_and_triangles() {
    check_all(
        &[2, 3, 4],
        &[
            ("roll", |x| Ok(vec![x[0].roll(&[1, -5], &[0, 2])?])),
            ("roll of one dimension twice", |x| {
                Ok(vec![x[0].roll(&[1, 1], &[1, 1])?, x[0].roll(&[5], &[])?])
            }),
            ("repeat", |x| Ok(vec![x[0].repeat(&[2, 1, 3, 2])?])),
            ("repeat of a turned one", |x| {
                Ok(vec![x[0].transpose(0, 2)?.repeat(&[2, 1, 3])?])
            }),
            ("tile", |x| {
                Ok(vec![x[0].tile(&[3, 2])?, x[0].tile(&[2, 1, 1, 1])?])
            }),
            ("repeat_interleave", |x| {
                Ok(vec![
                    x[0].repeat_interleave(2, Some(1))?,
                    x[0].repeat_interleave(3, None)?,
                ])
            }),
            ("repeat_interleave_each", |x| {
                let counts = integers(&[2, 0, 3], &[3]);
                Ok(vec![x[0].repeat_interleave_each(&counts, Some(1), None)?])
            }),
            ("tril and triu", |x| {
                Ok(vec![
                    x[0].tril(0)?,
                    x[0].triu(1)?,
                    x[0].transpose(1, 2)?.tril(-1)?,
                ])
            }),
            ("rot90", |x| {
                Ok(vec![x[0].rot90(1, &[0, 2])?, x[0].rot90(3, &[1, 2])?])
            }),
            ("flips", |x| Ok(vec![x[0].fliplr()?, x[0].flipud()?])),
        ],
    );
    check_narrow(
        "repeat",
        |x| Ok(vec![x[0].repeat(&[200])?]),
        &[leaf(&[3], 1)],
    );
    check_narrow(
        "repeat_interleave",
        |x| Ok(vec![x[0].repeat_interleave(300, None)?]),
        &[leaf(&[3], 1)],
    );
}

#[test]
fn diagonals() {
    check_all(
        &[3, 4],
        &[
            ("diag of a matrix", |x| {
                Ok(vec![x[0].diag(1)?, x[0].diag(-1)?])
            }),
            ("diagflat", |x| Ok(vec![x[0].diagflat(-1)?])),
            ("diag_embed", |x| {
                Ok(vec![x[0].diag_embed(0, -2, -1)?, x[0].diag_embed(1, 0, 2)?])
            }),
            ("trace", |x| Ok(vec![x[0].trace()?])),
        ],
    );
    check_all(
        &[3],
        &[("diag", |x| Ok(vec![x[0].diag(0)?, x[0].diag(-2)?]))],
    );
    let slice = Slice {
        start: Some(1),
        step: 2,
        ..Slice::ALL
    };
    let inputs = [
        leaf(&[3, 4], 1),
        leaf(&[3], 2),
        leaf(&[3], 3),
        leaf(&[3, 2], 4),
    ];
    let scatters = |x: &[Tensor]| {
        Ok(vec![
            x[0].diagonal_scatter(&x[1], 1, 0, 1)?,
            x[0].select_scatter(&x[2], 1, -1)?,
            x[0].slice_scatter(&x[3], 1, slice)?,
            x[0].t()?.slice_scatter(&x[3].t()?, 0, slice)?,
        ])
    };
    check("scatters of views", scatters, &inputs);
    let complex = |x: &[Tensor]| Ok(vec![x[0].select_scatter(&x[1], 0, 1)?]);
    check(
        "select_scatter",
        complex,
        &[complex_leaf(&[2, 3], 5), leaf(&[3], 6)],
    );
}

#[test]
fn grids_and_choices() {
    let inputs = [leaf(&[2], 1), leaf(&[3], 2), leaf(&[], 3)];
    let grids = |x: &[Tensor]| {
        let lines: Vec<&Tensor> = x.iter().collect();
        let mut all = Tensor::meshgrid(&lines, false)?;
        all.extend(Tensor::meshgrid(&lines, true)?);
        all.push(Tensor::cartesian_prod(&lines)?);
        all.push(Tensor::cartesian_prod(&lines[..1])?);
        Ok(all)
    };
    check("meshgrid and cartesian_prod", grids, &inputs);
    check_all(
        &[4],
        &[
            ("combinations", |x| {
                Ok(vec![
                    x[0].combinations(2, false)?,
                    x[0].combinations(3, true)?,
                ])
            }),
            ("vander", |x| {
                Ok(vec![x[0].vander(Some(3), true)?, x[0].vander(None, false)?])
            }),
        ],
    );
}

#[test]
fn windows_as_columns() {
    let blocks = [
        Blocks {
            kernel: [2, 3],
            dilation: [1, 1],
            padding: [1, 0],
            stride: [1, 2],
        },
        Blocks {
            kernel: [2, 2],
            dilation: [2, 1],
            padding: [1, 1],
            stride: [1, 1],
        },
    ];
    for blocks in blocks {
        let unfold = |x: &[Tensor]| Ok(vec![x[0].unfold_windows(blocks)?]);
        check("unfold", unfold, &[leaf(&[2, 2, 4, 5], 1)]);
        check("unfold", unfold, &[complex_leaf(&[1, 4, 5], 2)]);
        check_narrow("unfold", unfold, &[leaf(&[1, 2, 4, 5], 3)]);
        let columns = leaf(&[1, 4, 5], 4).detach().unfold_windows(blocks).unwrap();
        let columns = columns.requires_grad_(true).unwrap();
        let fold = |x: &[Tensor]| Ok(vec![x[0].fold_windows([4, 5], blocks)?]);
        check("fold", fold, &[columns]);
    }
}

#[test]
fn parts_and_channels() {
    check_all(
        &[2, 4, 4],
        &[
            ("split", |x| x[0].split(3, 1)),
            ("split_sizes", |x| x[0].split_sizes(&[1, 0, 3], 2)),
            ("chunk", |x| x[0].chunk(3, -1)),
            ("tensor_split", |x| x[0].tensor_split(3, 1)),
            ("tensor_split_at", |x| x[0].tensor_split_at(&[1, -1], 2)),
            ("unbind", |x| x[0].unbind(1)),
            ("hsplit and others", |x| {
                let mut parts = x[0].hsplit(2)?;
                parts.extend(x[0].vsplit(2)?);
                parts.extend(x[0].dsplit_at(&[1])?);
                Ok(parts)
            }),
            ("narrow", |x| Ok(vec![x[0].narrow(1, -3, 2)?])),
            ("pixel_shuffle", |x| {
                Ok(vec![x[0].reshape(&[4, 2, 4])?.pixel_shuffle(2)?])
            }),
            ("pixel_unshuffle", |x| Ok(vec![x[0].pixel_unshuffle(2)?])),
            ("channel_shuffle", |x| Ok(vec![x[0].channel_shuffle(2)?])),
            ("atleast_3d", |x| Ok(vec![x[0].select(0, 1)?.atleast_3d()?])),
        ],
    );
}
