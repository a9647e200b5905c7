//! Softmax, norms and losses, which a device without their kernels composes: the numbers are those of
//! the CPU but for the order of sums.

use allotrope_dtype::DType;
use allotrope_tensor::{BatchNormOptions, Generator, LossReduction, Tensor, hosted_operations};
use allotrope_testing::APART;

use crate::convolution::numbers;
use crate::{Outcome, indices, there};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::BF16, DType::F16];
const REDUCTIONS: [LossReduction; 3] =
    [LossReduction::None, LossReduction::Mean, LossReduction::Sum];

/// Checks that work on tensors of both devices gives the same but for a few last digits, on the device
/// of the tensors.
pub(crate) fn check_close(what: &str, operands: &[&Tensor], work: impl Fn(&[Tensor]) -> Outcome) {
    let here: Vec<Tensor> = operands.iter().map(|x| (*x).clone()).collect();
    let moved: Vec<Tensor> = operands.iter().map(|x| there(x)).collect();
    let (want, got) = match (work(&here), work(&moved)) {
        (Ok(want), Ok(got)) => (want, got),
        (want, got) => {
            assert_eq!(got.unwrap_err(), want.unwrap_err(), "{what}");
            return;
        }
    };
    assert_eq!(want.backend().name(), "cpu", "{what}");
    assert_eq!(got.backend().name(), "apart", "{what}");
    assert_eq!(got.dtype(), want.dtype(), "{what}");
    assert_eq!(got.shape(), want.shape(), "{what}");
    let eps = want.dtype().to_real().finfo().unwrap().eps;
    let parts = |x: &Tensor| -> Vec<f64> {
        let x = x.to_backend(&allotrope_cpu::CPU).unwrap();
        let x = match x.dtype().is_complex() {
            true => x.to(DType::C128).unwrap().view_dtype(DType::F64).unwrap(),
            false => x.to(DType::F64).unwrap(),
        };
        x.to_vec().unwrap()
    };
    let (want, got) = (parts(&want), parts(&got));
    let finite = want.iter().filter(|x| x.is_finite());
    let greatest = finite.fold(0.0, |most: f64, x| most.max(x.abs()));
    for (want, got) in want.iter().zip(&got) {
        let is_same = want == got || want.is_nan() && got.is_nan();
        let near = if eps > 1e-5 { 4.0 } else { 128.0 } * eps * greatest;
        assert!(
            is_same || (want - got).abs() <= near,
            "{what}: {got} instead of {want}"
        );
    }
}

/// Checks work and the gradients of its operands that are floats.
pub(crate) fn check_close_gradients(
    what: &str,
    operands: &[&Tensor],
    work: impl Fn(&[Tensor]) -> Outcome,
) {
    check_close(what, operands, &work);
    for place in 0..operands.len() {
        check_close(&format!("gradient {place} of {what}"), operands, |x| {
            let leaves = x.iter().map(|x| x.detach().requires_grad_(true));
            let leaves = leaves.collect::<Result<Vec<Tensor>, _>>()?;
            let y = work(&leaves)?;
            // A gradient that is not the same everywhere, and that both devices have alike.
            let factor = y.new_arange(1, y.count() as i64 + 1, 1, DType::I64)?;
            let sizes: Vec<isize> = y.shape().iter().map(|size| *size as isize).collect();
            let factor = factor.reshape(&sizes)?.div(y.count() as f64)?;
            let factor = factor.to(y.dtype())?;
            let total = y.mul(&factor)?.sum(None, false, None)?;
            let total = match total.dtype().is_complex() {
                true => total.real()?,
                false => total,
            };
            total.backward()?;
            match leaves[place].grad() {
                Some(gradient) => Ok(gradient),
                None => leaves[place].zeros_like(),
            }
        });
    }
}

#[test]
fn softmax_is_composed_there() {
    for dtype in FLOATS {
        let x = numbers(&[3, 4, 5], dtype);
        for dim in [0, 1, -1] {
            check_close_gradients("softmax", &[&x], |x| x[0].softmax(dim, None));
            check_close_gradients("log_softmax", &[&x], |x| x[0].log_softmax(dim, None));
            check_close_gradients("softmin", &[&x], |x| {
                x[0].transpose(0, 2)?.softmin(dim, None)
            });
        }
        check_close("gumbel_softmax", &[&x], |x| {
            x[0].gumbel_softmax(0.5, false, 1, Some(&Generator::new(3)))
        });
        check_close("rrelu", &[&x], |x| {
            x[0].rrelu(0.1, 0.3, true, Some(&Generator::new(3)))
        });
    }
}

#[test]
fn norms_are_composed_there() {
    for dtype in FLOATS {
        let (x, weight) = (numbers(&[3, 4, 6], dtype), numbers(&[6], dtype));
        let (few, bias) = (numbers(&[4], dtype), numbers(&[6], DType::F32));
        let what = |name: &str| format!("{name} of {dtype}");
        check_close_gradients(&what("layer_norm"), &[&x, &weight, &bias], |x| {
            x[0].layer_norm(&[6], Some(&x[1]), Some(&x[2]), 1e-5)
        });
        check_close_gradients(&what("layer_norm, turned"), &[&x], |x| {
            x[0].transpose(0, 2)?.layer_norm(&[4, 3], None, None, 1e-5)
        });
        check_close_gradients(&what("rms_norm"), &[&x, &weight], |x| {
            x[0].rms_norm(&[6], Some(&x[1]), None)
        });
        check_close_gradients(&what("group_norm"), &[&x, &few], |x| {
            x[0].group_norm(2, Some(&x[1]), Some(&x[1]), 1e-5)
        });
        let (mean, variance) = (numbers(&[4], DType::F32), numbers(&[4], DType::F32));
        let variance = variance.square().unwrap();
        for training in [false, true] {
            let options = |x: &[Tensor]| -> [Tensor; 3] { [3, 4, 1].map(|i| x[i].clone()) };
            let operands = [&x, &few, &few, &mean, &variance];
            check_close_gradients(&what("batch_norm"), &operands, |x| {
                let [mean, variance, weight] = options(x);
                let made = x[0].batch_norm(BatchNormOptions {
                    running: Some((&mean.detach(), &variance.detach())),
                    weight: Some(&weight),
                    bias: Some(&x[2]),
                    training,
                    ..Default::default()
                })?;
                assert_eq!(made.running.is_some(), training);
                Ok(made.output)
            });
            check_close(&what("instance_norm"), &operands, |x| {
                let running = Some((&x[3], &x[4]));
                let options = BatchNormOptions {
                    running,
                    training,
                    ..Default::default()
                };
                let made = x[0].instance_norm(options)?;
                Ok(made.running.map_or(made.output, |(_, variance)| variance))
            });
        }
        check_close(&what("normalize"), &[&x], |x| {
            x[0].normalize(2.0, &[1], 1e-12)
        });
        check_close(&what("glu"), &[&x], |x| x[0].glu(-1));
        check_close(&what("local_response_norm"), &[&x], |x| {
            x[0].local_response_norm(3, 1e-4, 0.75, 1.0)
        });
    }
    let x = numbers(&[3, 4], DType::C64);
    check_close_gradients("rms_norm of complex numbers", &[&x], |x| {
        x[0].rms_norm(&[4], None, None)
    });
}

#[test]
fn losses_of_classes_are_formed_there() {
    let classes = indices(&[0, 3, -100, 2, 2, 1]);
    for dtype in FLOATS {
        let (x, weight) = (numbers(&[6, 4], dtype), numbers(&[4], dtype).abs().unwrap());
        let plain = classes.maximum(0).unwrap();
        for reduction in REDUCTIONS {
            let what = |name: &str| format!("{name} of {dtype}, {reduction:?}");
            for smoothing in [0.0, 0.25] {
                // Classes have no gradient, and weights none.
                let work = |x: &[Tensor], classes: &Tensor, weight: Option<&Tensor>| {
                    x[0].cross_entropy(classes, weight, -100, reduction, smoothing)
                };
                check_close(&what("cross_entropy"), &[&x, &classes, &weight], |x| {
                    work(x, &x[1], Some(&x[2]))
                });
                check_close(&what("gradient of cross_entropy"), &[&x, &classes], |x| {
                    let leaf = x[0].detach().requires_grad_(true)?;
                    let loss = work(std::slice::from_ref(&leaf), &x[1], None)?;
                    loss.mul(&loss.detach())?
                        .sum(None, false, None)?
                        .backward()?;
                    Ok(leaf.grad().unwrap_or_else(|| panic!("a gradient")))
                });
                check_close(&what("cross_entropy of nothing"), &[&x, &classes], |x| {
                    let none = x[1].new_full(&[6], -100, DType::I64)?;
                    let leaf = x[0].detach().requires_grad_(true)?;
                    let loss =
                        work(std::slice::from_ref(&leaf), &none, None)?.sum(None, false, None)?;
                    loss.backward()?;
                    Ok(leaf.grad().unwrap_or_else(|| panic!("a gradient")))
                });
                check_close_gradients(&what("by probabilities"), &[&x, &x.abs().unwrap()], |x| {
                    work(x, &x[1], None)
                });
            }
            check_close(&what("nll_loss"), &[&x, &classes, &weight], |x| {
                let (x, classes, weight) = (x[0].reshape(&[3, 4, 2])?, &x[1], &x[2]);
                x.nll_loss(&classes.reshape(&[3, 2])?, Some(weight), -100, reduction)
            });
            check_close(&what("multi_margin_loss"), &[&x, &plain, &weight], |x| {
                x[0].multi_margin_loss(&x[1], 2, 1.0, Some(&x[2]), reduction)
            });
            let labels = indices(&[0, 3, -1, 0]).unsqueeze(0).unwrap();
            let labels = labels.expand(&[6, 4]).unwrap();
            check_close(&what("multilabel_margin_loss"), &[&x, &labels], |x| {
                x[0].multilabel_margin_loss(&x[1], reduction)
            });
            let targets = indices(&[1, 2, 2, 3, 1, 1]).reshape(&[2, 3]).unwrap();
            let steps = numbers(&[5, 2, 4], dtype).log_softmax(2, None).unwrap();
            check_close(&what("ctc_loss"), &[&steps, &targets], |x| {
                x[0].ctc_loss(&x[1], &[5, 4], &[2, 3], 0, reduction, true)
            });
            check_close_gradients(
                &what("cosine_embedding_loss"),
                &[&x, &x.flip(&[0]).unwrap()],
                |x| {
                    let target = x[0].new_ones(&[6], DType::I64)?;
                    x[0].cosine_embedding_loss(&x[1], &target, 0.1, reduction)
                },
            );
            check_close_gradients(
                &what("triplet_margin_loss"),
                &[&x, &x.flip(&[0]).unwrap()],
                |x| {
                    let other = x[1].roll(&[1], &[0])?;
                    x[0].triplet_margin_loss(&x[1], &other, 1.0, 2.0, 1e-6, true, reduction)
                },
            );
            check_close_gradients(&what("mse_loss"), &[&x, &x.flip(&[0]).unwrap()], |x| {
                x[0].mse_loss(&x[1], reduction)
            });
        }
    }
    // Nothing is left to the CPU.
    let hosted = hosted_operations((&APART as &'static dyn allotrope_op::Backend).into());
    assert!(
        hosted.iter().all(|(op, _)| *op != "cross_entropy"),
        "{hosted:?}"
    );
}
