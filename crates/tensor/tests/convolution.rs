//! Windows over grids: pooling, convolution and resampling in Rust.

use allotrope_dtype::{DType, Error, ErrorKind};
use allotrope_tensor::{
    AverageOptions, ConvolutionOptions, Edge, Interpolation, Padding, Resized, Tensor,
    TransposedOptions, Window,
};

fn numbers(count: i64, sizes: &[isize], dtype: DType) -> Result<Tensor, Error> {
    Tensor::arange(0, count, 1, DType::I64)?
        .to(dtype)?
        .reshape(sizes)
}

#[test]
fn the_greatest_and_its_place() -> Result<(), Error> {
    for dtype in [DType::F32, DType::BF16, DType::U8, DType::I64] {
        let x = numbers(16, &[1, 4, 4], dtype)?;
        let window = Window::new(&[2]);
        let (values, places) = x.max_pool2d_with_indices(&window)?;
        assert_eq!(values.dtype(), dtype);
        assert_eq!(places.to_vec::<i64>()?, [5, 7, 13, 15]);
        let values = values.to(DType::I64)?;
        assert_eq!(values.to_vec::<i64>()?, [5, 7, 13, 15]);
        let back = values.max_unpool2d(&places, &window, None)?;
        assert_eq!(back.sum(None, false, None)?.to_vec::<i64>()?, [40]);
    }
    Ok(())
}

#[test]
fn means_of_integers_are_floats() -> Result<(), Error> {
    let x = numbers(6, &[1, 6], DType::I8)?;
    let y = x.avg_pool1d(&Window::new(&[4]), AverageOptions::default())?;
    assert_eq!(y.to_vec::<f32>()?, [1.5]);
    let y = x.adaptive_avg_pool1d(&[Some(4)])?;
    assert_eq!(y.to_vec::<f32>()?, [0.5, 1.5, 3.5, 4.5]);
    let y = x.lp_pool1d(1.0, &Window::new(&[3]))?;
    assert_eq!(y.to_vec::<f32>()?, [3.0, 12.0]);
    Ok(())
}

#[test]
fn convolution_and_its_way_back() -> Result<(), Error> {
    for dtype in [DType::F64, DType::F16, DType::I8, DType::C64] {
        let x = numbers(9, &[1, 3, 3], dtype)?;
        let weight = Tensor::ones(&[1, 1, 2, 2], dtype)?;
        let y = x.conv2d(&weight, None, &ConvolutionOptions::default())?;
        assert_eq!(y.dtype(), dtype);
        let expected = Tensor::from_slice(&[8_i64, 12, 20, 24], &[1, 2, 2])?.to(dtype)?;
        assert!(y.equal(&expected)?, "{y}");
        let options = TransposedOptions {
            stride: &[2],
            ..TransposedOptions::default()
        };
        let back = y.conv_transpose2d(&weight, None, &options)?;
        assert_eq!(back.shape()[..], [1, 4, 4]);
        assert!(back.slice(1, even())?.slice(2, even())?.equal(&expected)?);
    }
    Ok(())
}

fn even() -> allotrope_op::Slice {
    allotrope_op::Slice {
        start: Some(0),
        stop: None,
        step: 2,
    }
}

#[test]
fn edges_are_padded_in_every_mode() -> Result<(), Error> {
    let x = Tensor::from_slice(&[1_i32, 2, 3], &[1, 3])?;
    let weight = Tensor::ones(&[1, 1, 1], DType::I32)?;
    let cases = [
        (Edge::Zeros, [0, 0, 1, 2, 3, 0, 0]),
        (Edge::Reflect, [3, 2, 1, 2, 3, 2, 1]),
        (Edge::Replicate, [1, 1, 1, 2, 3, 3, 3]),
        (Edge::Circular, [2, 3, 1, 2, 3, 1, 2]),
    ];
    for (padding_mode, expected) in cases {
        let options = ConvolutionOptions {
            padding: Padding::Each(&[2]),
            padding_mode,
            ..ConvolutionOptions::default()
        };
        let y = x.conv1d(&weight, None, &options)?;
        assert_eq!(y.to_vec::<i32>()?, expected, "{padding_mode:?}");
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() -> Result<(), Box<dyn std::error::Error>> {
    let x = numbers(2 * 16 * 30 * 31, &[2, 16, 30, 31], DType::F32)?.sin()?;
    let weight = numbers(16 * 16 * 9, &[16, 16, 3, 3], DType::F32)?.cos()?;
    let depthwise = weight.narrow(1, 0, 1)?;
    let run = || -> Result<Vec<Vec<f32>>, Error> {
        let mut options = ConvolutionOptions::default();
        let whole = x.conv2d(&weight, None, &options)?;
        options.groups = 16;
        let each = x.conv2d(&depthwise, None, &options)?;
        let mean = x.avg_pool2d(&Window::new(&[3]), AverageOptions::default())?;
        let sizes = Resized::Sizes(&[45]);
        let large = x.interpolate(Interpolation::Cubic, sizes, Default::default())?;
        [whole, each, mean, large]
            .iter()
            .map(Tensor::to_vec)
            .collect()
    };
    let expected = run()?;
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()?;
        assert!(pool.install(run)? == expected, "{threads} threads");
    }
    Ok(())
}

#[test]
fn refusals_are_values() -> Result<(), Error> {
    let x = Tensor::zeros(&[1, 4, 4], DType::F32)?;
    let refused = x.max_pool2d(&Window::new(&[5]));
    assert_eq!(
        refused.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Value)
    );
    let weight = Tensor::zeros(&[1, 2, 1, 1], DType::F32)?;
    let refused = x.conv2d(&weight, None, &ConvolutionOptions::default());
    assert_eq!(
        refused.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Value)
    );
    let refused = x.to(DType::C64)?.max_pool2d(&Window::new(&[2]));
    assert_eq!(
        refused.map_err(|error| error.kind()).err(),
        Some(ErrorKind::Dtype)
    );
    Ok(())
}
