//! Gradients of convolutions and transposed convolutions.

use crate::checks::{check_both, close_in_every_float, complex_leaf, gradient_of, leaf, uniform};
use allotrope_dtype::DType;
use allotrope_tensor::{ConvolutionOptions, Edge, Padding, Tensor, TransposedOptions};

fn options<'a>(
    stride: &'a [usize],
    padding: &'a [usize],
    dilation: &'a [usize],
    groups: usize,
) -> ConvolutionOptions<'a> {
    ConvolutionOptions {
        stride,
        padding: Padding::Each(padding),
        dilation,
        groups,
        ..ConvolutionOptions::default()
    }
}

#[test]
fn convolutions_of_images() {
    type Case<'a> = (&'a [usize], &'a [usize], &'a [usize], usize);
    let all: [Case<'_>; 8] = [
        (&[], &[], &[], 1),
        (&[2], &[1], &[], 1),
        (&[2, 1], &[0, 2], &[], 2),
        (&[], &[1], &[2, 1], 1),
        (&[3], &[2], &[1, 2], 2),
        (&[], &[1], &[], 4),
        (&[2], &[], &[], 4),
        (&[4], &[3], &[], 1),
    ];
    for (stride, padding, dilation, groups) in all {
        let what = format!(
            "stride {stride:?}, padding {padding:?}, dilation {dilation:?}, {groups} groups"
        );
        let options = options(stride, padding, dilation, groups);
        let convolve = |x: &[Tensor]| Ok(vec![x[0].conv2d(&x[1], x.get(2), &options)?]);
        let inputs = [
            leaf(&[2, 4, 6, 5], 1),
            leaf(&[4, 4 / groups, 3, 2], 2),
            leaf(&[4], 3),
        ];
        check_both(&convolve, &inputs, &what);
        check_both(&convolve, &inputs[..2], &format!("{what}, no bias"));
    }
}

#[test]
fn convolutions_of_rows_and_volumes() {
    let options = options(&[2], &[1], &[], 1);
    let rows = |x: &[Tensor]| Ok(vec![x[0].conv1d(&x[1], x.get(2), &options)?]);
    check_both(
        &rows,
        &[leaf(&[2, 3, 7], 1), leaf(&[2, 3, 3], 2), leaf(&[2], 3)],
        "rows",
    );
    check_both(
        &rows,
        &[leaf(&[3, 7], 1), leaf(&[2, 3, 3], 2), leaf(&[2], 3)],
        "rows without a batch",
    );
    let volumes = |x: &[Tensor]| Ok(vec![x[0].conv3d(&x[1], x.get(2), &options)?]);
    let inputs = [
        leaf(&[1, 2, 3, 4, 3], 1),
        leaf(&[2, 2, 2, 3, 2], 2),
        leaf(&[2], 3),
    ];
    check_both(&volumes, &inputs, "volumes");
    let turned = |x: &[Tensor]| {
        let (x, weight) = (x[0].transpose(2, 3)?, x[1].transpose(0, 1)?);
        Ok(vec![x.conv2d(&weight, None, &options)?])
    };
    check_both(
        &turned,
        &[leaf(&[2, 3, 4, 5], 1), leaf(&[3, 2, 2, 3], 2)],
        "transposed operands",
    );
    let repeated = |x: &[Tensor]| {
        Ok(vec![
            x[0].expand(&[2, 3, 4, 5])?.conv2d(&x[1], None, &options)?,
        ])
    };
    check_both(
        &repeated,
        &[leaf(&[1, 3, 4, 1], 1), leaf(&[2, 3, 2, 3], 2)],
        "repeated images",
    );
    let itself = |x: &[Tensor]| Ok(vec![x[0].conv2d(&x[0], None, &options)?]);
    check_both(&itself, &[leaf(&[3, 3, 2, 2], 1)], "itself");
    let fixed = uniform(&[2, 3, 4, 5], -1.0, 1.0, 5);
    let filters = |x: &[Tensor]| Ok(vec![fixed.conv2d(&x[0], None, &options)?]);
    check_both(&filters, &[leaf(&[2, 3, 2, 3], 2)], "filters alone");
    let bias = |x: &[Tensor]| {
        let weight = uniform(&[2, 3, 2, 3], -1.0, 1.0, 6);
        Ok(vec![fixed.conv2d(&weight, Some(&x[0]), &options)?])
    };
    check_both(&bias, &[leaf(&[2], 2)], "bias alone");
}

#[test]
fn complex_convolutions() {
    let options = options(&[2, 1], &[1], &[], 1);
    let images = |x: &[Tensor]| Ok(vec![x[0].conv2d(&x[1], Some(&x[2]), &options)?]);
    let inputs = [
        complex_leaf(&[1, 2, 3, 3], 1),
        complex_leaf(&[2, 2, 2, 2], 2),
        complex_leaf(&[2], 3),
    ];
    check_both(&images, &inputs, "complex images");
    let back = |x: &[Tensor]| {
        let options = TransposedOptions {
            stride: &[2],
            ..TransposedOptions::default()
        };
        Ok(vec![x[0].conv_transpose2d(&x[1], Some(&x[2]), &options)?])
    };
    check_both(&back, &inputs, "complex images back");
}

#[test]
fn padding_by_name_and_by_elements() {
    for sizes in [[3, 2], [4, 3]] {
        for mode in [Edge::Zeros, Edge::Reflect, Edge::Replicate, Edge::Circular] {
            for padding in [Padding::Same, Padding::Each(&[2, 1])] {
                let options = ConvolutionOptions {
                    padding,
                    padding_mode: mode,
                    ..ConvolutionOptions::default()
                };
                let convolve =
                    |x: &[Tensor]| Ok(vec![x[0].conv2d(&x[1], Some(&x[2]), &options)?]);
                let weight = leaf(&[2, 2, sizes[0], sizes[1]], 2);
                let inputs = [leaf(&[1, 2, 4, 5], 1), weight, leaf(&[2], 3)];
                check_both(&convolve, &inputs, &format!("{mode:?}, {padding:?}"));
                let recorded = convolve(&inputs).unwrap().remove(0).detach();
                let plain: Vec<Tensor> = inputs.iter().map(Tensor::detach).collect();
                let plain = convolve(&plain).unwrap().remove(0);
                assert!(recorded.allclose(&plain, 1e-12, 1e-12, false).unwrap());
            }
        }
    }
}

#[test]
fn transposed_convolutions() {
    type Case<'a> = (&'a [usize], &'a [usize], &'a [usize], &'a [usize], usize);
    let all: [Case<'_>; 7] = [
        (&[], &[], &[], &[], 1),
        (&[2], &[1], &[1], &[], 1),
        (&[2, 3], &[0, 1], &[1, 2], &[], 2),
        (&[], &[1], &[], &[2, 1], 1),
        (&[1], &[1], &[2], &[3], 1),
        (&[2], &[], &[1], &[], 4),
        (&[3], &[], &[], &[], 4),
    ];
    for (stride, padding, output_padding, dilation, groups) in all {
        let options = TransposedOptions {
            stride,
            padding,
            output_padding,
            dilation,
            groups,
        };
        let back = |x: &[Tensor]| Ok(vec![x[0].conv_transpose2d(&x[1], x.get(2), &options)?]);
        let inputs = [
            leaf(&[2, 4, 3, 2], 1),
            leaf(&[4, 2, 3, 2], 2),
            leaf(&[2 * groups], 3),
        ];
        check_both(&back, &inputs, &format!("{options:?}"));
    }
    let options = TransposedOptions {
        stride: &[2],
        padding: &[1],
        ..TransposedOptions::default()
    };
    let rows = |x: &[Tensor]| Ok(vec![x[0].conv_transpose1d(&x[1], x.get(2), &options)?]);
    check_both(
        &rows,
        &[leaf(&[2, 3, 4], 1), leaf(&[3, 2, 3], 2), leaf(&[2], 3)],
        "rows",
    );
    check_both(
        &rows,
        &[leaf(&[3, 4], 1), leaf(&[3, 2, 3], 2)],
        "rows without a batch",
    );
    let volumes = |x: &[Tensor]| Ok(vec![x[0].conv_transpose3d(&x[1], None, &options)?]);
    check_both(
        &volumes,
        &[leaf(&[1, 2, 2, 2, 3], 1), leaf(&[2, 1, 3, 2, 2], 2)],
        "volumes",
    );
}

/// `Σ a b`
fn dot(a: &Tensor, b: &Tensor) -> f64 {
    a.mul(b)
        .unwrap()
        .sum(None, false, None)
        .unwrap()
        .to_vec::<f64>()
        .unwrap()[0]
}

#[test]
fn filters_from_many_blocks_of_columns() {
    // One image has more columns than a block; and a batch has.
    for (sizes, stride) in [
        ([2, 8, 190, 200], 1),
        ([9, 8, 70, 75], 1),
        ([1, 16, 200, 200], 2),
    ] {
        let x = uniform(&sizes, -1.0, 1.0, 1);
        let weight = leaf(&[3, sizes[1], 3, 3], 2);
        let stride = [stride];
        let options = options(&stride, &[1], &[], 1);
        let y = x.conv2d(&weight, None, &options).unwrap();
        let given = uniform(y.shape(), -1.0, 1.0, 3);
        let found = gradient_of(&y, &weight, &given);
        let other = uniform(weight.shape(), -1.0, 1.0, 4);
        let expected = dot(&given, &x.conv2d(&other, None, &options).unwrap());
        let product = dot(&found, &other);
        assert!(
            (product - expected).abs() < 1e-9 * expected.abs().max(1.0),
            "{product} {expected}"
        );
    }
}

#[test]
fn every_float_has_the_gradient_of_float64() {
    let inputs = [
        leaf(&[2, 4, 6, 5], 1),
        leaf(&[3, 4, 3, 3], 2),
        leaf(&[3], 3),
    ];
    let options = options(&[2], &[1], &[], 1);
    close_in_every_float("conv2d", &inputs, &|x| {
        x[0].conv2d(&x[1], Some(&x[2]), &options)
    });
    let inputs = [
        leaf(&[2, 4, 3, 3], 1),
        leaf(&[4, 3, 3, 3], 2),
        leaf(&[3], 3),
    ];
    let back = TransposedOptions {
        stride: &[2],
        ..TransposedOptions::default()
    };
    close_in_every_float("conv_transpose2d", &inputs, &|x| {
        x[0].conv_transpose2d(&x[1], Some(&x[2]), &back)
    });
}

#[test]
fn operands_of_several_dtypes_and_empty_batches() {
    let to = |x: Tensor, dtype| x.detach().to(dtype).unwrap().requires_grad_(true).unwrap();
    let x = to(leaf(&[2, 2, 4, 4], 1), DType::BF16);
    let (weight, bias) = (
        to(leaf(&[3, 2, 3, 3], 2), DType::F32),
        to(leaf(&[3], 3), DType::F16),
    );
    let plain = ConvolutionOptions::default();
    let y = x.conv2d(&weight, Some(&bias), &plain).unwrap();
    y.to(DType::F32)
        .unwrap()
        .sum(None, false, None)
        .unwrap()
        .backward()
        .unwrap();
    for leaf in [&x, &weight, &bias] {
        assert_eq!(leaf.grad().unwrap().dtype(), leaf.dtype());
    }
    let (x, weight) = (leaf(&[0, 2, 4, 4], 1), leaf(&[3, 2, 3, 3], 2));
    let y = x.conv2d(&weight, None, &plain).unwrap();
    y.sum(None, false, None).unwrap().backward().unwrap();
    assert_eq!(x.grad().unwrap().shape(), x.shape());
    assert_eq!(weight.grad().unwrap().to_vec::<f64>().unwrap(), [0.0; 54]);
}
