//! Softmax, norms, dropout and losses: what the Python tests cannot see.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use allotrope_dtype::{DType, bf16};
use allotrope_tensor::{BatchNormOptions, Generator, LossReduction, Tensor};

/// Numbers between -1 and 1 that repeat after a while.
fn waves(sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let values: Vec<f32> = (0..count).map(|i| (i as f32 * 0.7).sin()).collect();
    Tensor::from_slice(&values, sizes).unwrap()
}

fn bits(x: &Tensor) -> Vec<u8> {
    x.to_bytes().unwrap()
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let work = || {
        let x = waves(&[300, 700]);
        let narrow = x.to(DType::BF16).unwrap();
        let classes = Tensor::arange(0, 300, 1, DType::I64).unwrap();
        let results = [
            x.softmax(0, None),
            x.log_softmax(1, None),
            narrow.softmax(0, None),
            x.layer_norm(&[700], None, None, 1e-5),
            narrow.group_norm(7, None, None, 1e-5),
            x.dropout(0.5, Some(&Generator::new(1))),
            x.cross_entropy(&classes, None, -100, LossReduction::Mean, 0.1),
            x.mse_loss(&narrow, LossReduction::Mean),
        ];
        results.map(|result| bits(&result.unwrap()))
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let want = pool(1).unwrap().install(work);
    for threads in [2, 7] {
        let got = pool(threads).unwrap().install(work);
        assert!(got == want, "{threads} threads");
    }
}

#[test]
fn lines_and_blocks_of_lines_agree() {
    let x = waves(&[64, 96]);
    let along_rows = x.softmax(1, None).unwrap().to_vec::<f32>().unwrap();
    let turned = x.t().unwrap().contiguous().unwrap();
    let along_columns = turned.softmax(0, None).unwrap().t().unwrap();
    let pairs = along_rows
        .iter()
        .zip(along_columns.to_vec::<f32>().unwrap());
    for (a, b) in pairs {
        // Their sums are formed in different orders.
        assert!((a - b).abs() <= 4.0 * f32::EPSILON * a, "{a} and {b}");
    }
}

#[test]
fn running_numbers_are_new_values() {
    let (mean, variance) = (
        Tensor::zeros(&[2], DType::F32).unwrap(),
        Tensor::ones(&[2], DType::F32).unwrap(),
    );
    let x = Tensor::from_slice(&[bf16::from_f32(1.0); 8], &[4, 2]).unwrap();
    let options = BatchNormOptions {
        running: Some((&mean, &variance)),
        weight: None,
        bias: None,
        training: true,
        momentum: 0.5,
        eps: 1e-5,
    };
    let result = x.batch_norm(options).unwrap();
    let (new_mean, new_variance) = result.running.unwrap();
    assert_eq!(new_mean.to_vec::<f32>().unwrap(), [0.5, 0.5]);
    assert_eq!(new_variance.to_vec::<f32>().unwrap(), [0.5, 0.5]);
    assert_eq!(mean.to_vec::<f32>().unwrap(), [0.0, 0.0]);
    assert_eq!(result.output.dtype(), DType::BF16);
    let frozen = BatchNormOptions {
        training: false,
        ..options
    };
    assert!(x.batch_norm(frozen).unwrap().running.is_none());
}

#[test]
fn a_dropped_draw_moves_its_generator_like_any_other() {
    let generator = Generator::new(7);
    let x = waves(&[10]);
    x.dropout(0.5, Some(&generator)).unwrap();
    assert_eq!(generator.offset(), 3);
    let channels = waves(&[2, 4, 100]);
    channels.dropout1d(0.5, Some(&generator)).unwrap();
    assert_eq!(generator.offset(), 5);
    assert!(x.dropout(1.5, Some(&generator)).is_err());
    assert_eq!(generator.offset(), 5);
}
