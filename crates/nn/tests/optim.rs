//! Optimizers and schedulers in Rust: steps by hand, saving, and what is refused.

use allotrope_nn::optim::lr_scheduler::{
    ChainedScheduler, ConstantLR, CosineAnnealingLR, Cycle, CycleScheduler, ExponentialLR,
    LinearLR, OneCycleLR, Scheduler, SequentialLR, StepLR, Steps,
};
use allotrope_nn::optim::{
    Adam, AdamOptions, AdamW, AdamWOptions, Algorithm, Group, Item, OptimizerOf, OptionValue,
    Precision, SGD, SGDOptions, algorithm, algorithm_names, initial_state, step,
};
use allotrope_nn::{DType, Error, Parameter, Tensor, Variable};
use allotrope_tensor::WeakScalar;

fn parameter(values: &[f32], dtype: DType) -> Result<Parameter, Error> {
    Parameter::new(Tensor::from_slice(values, &[values.len()])?.to(dtype)?)
}

fn set_grad(parameter: &Parameter, values: &[f32]) -> Result<(), Error> {
    let gradient = Tensor::from_slice(values, &[values.len()])?;
    let value = parameter.value();
    value.set_grad(Some(gradient.to(value.dtype())?))
}

fn values(parameter: &Parameter) -> Result<Vec<f32>, Error> {
    parameter.value().detach().to(DType::F32)?.to_vec::<f32>()
}

#[test]
fn adam_by_hand() -> Result<(), Error> {
    let weight = parameter(&[1.0, -2.0], DType::F64)?;
    let options = AdamOptions {
        lr: 0.1,
        ..Default::default()
    };
    let mut adam = Adam::new([weight.clone()], options)?;
    let gradients = [[0.5, -0.25], [0.125, 1.0], [-1.0, 0.5]];
    let (mut p, mut m, mut v) = ([1.0_f64, -2.0], [0.0; 2], [0.0; 2]);
    for (step, gradient) in gradients.iter().enumerate() {
        set_grad(&weight, gradient)?;
        adam.step()?;
        for i in 0..2 {
            let g = f64::from(gradient[i]);
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            let t = step as i32 + 1;
            let (mean, square) = (
                m[i] / (1.0 - 0.9_f64.powi(t)),
                v[i] / (1.0 - 0.999_f64.powi(t)),
            );
            p[i] -= 0.1 * mean / (square.sqrt() + 1e-8);
        }
    }
    let result = weight.value().detach().to_vec::<f64>()?;
    for (result, expected) in result.iter().zip(p) {
        assert!((result - expected).abs() < 1e-12, "{result} {expected}");
    }
    Ok(())
}

#[test]
fn a_value_that_is_held_keeps_its_elements() -> Result<(), Error> {
    let weight = parameter(&[1.0; 4], DType::F32)?;
    let held = weight.value();
    set_grad(&weight, &[1.0; 4])?;
    SGD::new(
        [weight.clone()],
        SGDOptions {
            lr: 0.5,
            ..Default::default()
        },
    )?
    .step()?;
    assert_eq!(held.detach().to_vec::<f32>()?, [1.0; 4]);
    assert_eq!(values(&weight)?, [0.5; 4]);
    Ok(())
}

#[test]
fn large_and_many_parameters_take_the_same_steps() -> Result<(), Error> {
    let count = 100_003;
    let start: Vec<f32> = (0..count)
        .map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0)
        .collect();
    let gradient: Vec<f32> = (0..count)
        .map(|i| ((i * 53) % 97) as f32 / 40.0 - 1.0)
        .collect();
    let whole = parameter(&start, DType::F32)?;
    set_grad(&whole, &gradient)?;
    let sizes = [1, 7, 64, 1000, 40_000, 3, count - 41_075];
    let mut parts = Vec::new();
    let mut offset = 0;
    for size in sizes {
        let part = parameter(&start[offset..offset + size], DType::F32)?;
        set_grad(&part, &gradient[offset..offset + size])?;
        parts.push(part);
        offset += size;
    }
    let mut one = AdamW::new([whole.clone()], AdamWOptions::default())?;
    let mut many = AdamW::new(parts.clone(), AdamWOptions::default())?;
    for _ in 0..3 {
        one.step()?;
        many.step()?;
    }
    let joined = parts
        .iter()
        .map(values)
        .collect::<Result<Vec<_>, Error>>()?;
    assert_eq!(values(&whole)?, joined.concat());
    Ok(())
}

#[test]
fn training_goes_on_from_a_state_dict() -> Result<(), Error> {
    let precision = Precision {
        stochastic_rounding: true,
        ..Default::default()
    };
    let begin = |value: &[f32]| -> Result<(Parameter, OptimizerOf<AdamOptions>), Error> {
        let weight = parameter(value, DType::BF16)?;
        let adam = Adam::with_precision([weight.clone()], AdamOptions::default(), precision)?;
        Ok((weight, adam))
    };
    let (weight, mut adam) = begin(&[1.0; 64])?;
    for _ in 0..4 {
        set_grad(&weight, &[0.5; 64])?;
        adam.step()?;
    }
    let (other, mut resumed) = begin(&values(&weight)?)?;
    resumed.load_state_dict(&adam.state_dict()?)?;
    for _ in 0..4 {
        for (weight, adam) in [(&weight, &mut adam), (&other, &mut resumed)] {
            set_grad(weight, &[0.25; 64])?;
            adam.step()?;
        }
    }
    assert_eq!(values(&weight)?, values(&other)?);
    let distinct: std::collections::BTreeSet<u32> = values(&weight)?
        .iter()
        .map(|value| value.to_bits())
        .collect();
    assert!(distinct.len() > 1, "rounding is by chance");
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_whole() -> Result<(), Error> {
    let weight = parameter(&[1.0, 2.0], DType::F32)?;
    let wrong = SGDOptions {
        lr: -1.0,
        ..Default::default()
    };
    let error = SGD::new([weight.clone()], wrong).expect_err("a negative rate");
    assert_eq!(
        error.to_string(),
        "SGD: lr out of range: -1; numbers from 0 on are accepted"
    );
    assert!(SGD::new([weight.clone(), weight.clone()], SGDOptions::default()).is_err());
    assert!(SGD::new([], SGDOptions::default()).is_err());
    let mut adam = Adam::new([weight.clone()], AdamOptions::default())?;
    set_grad(&weight, &[1.0, 1.0])?;
    adam.step()?;
    let before = adam.state_dict()?;
    let mut broken = before.clone();
    if let Some(entry) = broken.state.get_mut(&0) {
        entry.insert("exp_avg".to_owned(), Tensor::zeros(&[3], DType::F32)?);
    }
    assert!(adam.load_state_dict(&broken).is_err());
    let after = adam.state_dict()?;
    assert_eq!(
        before.state[&0]["exp_avg"].to_vec::<f32>()?,
        after.state[&0]["exp_avg"].to_vec::<f32>()?
    );
    Ok(())
}

#[test]
fn every_algorithm_lowers_a_loss() -> Result<(), Error> {
    for name in algorithm_names() {
        let mut rule: Box<dyn Algorithm> = algorithm(name)?;
        rule.check()?;
        assert_eq!(rule.name(), name);
        rule.set("lr", &OptionValue::Number(0.02))?;
        let start = Tensor::from_slice(&[1.0_f32, -0.5, 0.25, 2.0], &[2, 2])?;
        let weight = Parameter::new(start)?;
        let precision = Precision::default();
        let slots = rule.slots(&[2, 2]);
        let state = slots
            .iter()
            .map(|slot| initial_state(slot, &weight.value(), &precision).map(Variable::new))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut numbers = rule.first_numbers();
        let loss = || weight.value().square()?.sum_all();
        let first = loss()?.item()?.value();
        for count in 0..50 {
            weight.zero_grad()?;
            loss()?.backward()?;
            let items = vec![Item {
                parameter: weight.variable(),
                gradient: weight.grad().expect("a gradient"),
                state: state.iter().collect(),
                master: None,
                numbers: numbers.clone(),
                is_first: count == 0,
            }];
            let mut groups = [Group {
                algorithm: &*rule,
                precision,
                items,
            }];
            step(&mut groups, None)?;
            numbers = groups[0].items[0].numbers.clone();
        }
        let last = loss()?.item()?.value();
        let (WeakScalar::Float(first), WeakScalar::Float(last)) = (first, last) else {
            panic!("a float")
        };
        assert!(
            last < 0.95 * first || name == "Adadelta" && last < first,
            "{name}: {first} {last}"
        );
    }
    assert!(algorithm("Nothing").is_err());
    Ok(())
}

#[test]
fn schedulers_alone_and_together() -> Result<(), Error> {
    let make = || -> Result<SGD, Error> {
        SGD::new(
            [parameter(&[1.0], DType::F32)?],
            SGDOptions {
                lr: 1.0,
                momentum: 0.9,
                ..Default::default()
            },
        )
    };
    let close = |a: &[f64], b: f64| (a[0] - b).abs() < 1e-12;

    let mut sgd = make()?;
    let mut cosine = Scheduler::new(
        CosineAnnealingLR {
            T_max: 8.0,
            eta_min: 0.1,
        },
        &mut sgd,
    )?;
    for step in 1..=16 {
        cosine.step(&mut sgd)?;
        let angle = std::f64::consts::PI * f64::from(step) / 8.0;
        assert!(
            close(cosine.last_lr(), 0.1 + 0.9 * (1.0 + angle.cos()) / 2.0),
            "{step}"
        );
    }

    let mut sgd = make()?;
    let warm = Scheduler::new(
        LinearLR {
            start_factor: 0.5,
            end_factor: 1.0,
            total_iters: 2.0,
        },
        &mut sgd,
    )?;
    sgd.set_lrs(&[1.0])?;
    let decay = Scheduler::new(ExponentialLR { gamma: 0.5 }, &mut sgd)?;
    let both: Vec<Box<dyn Steps>> = vec![Box::new(warm), Box::new(decay)];
    let mut sequence = SequentialLR::new(both, vec![2], &[1.0], &mut sgd)?;
    let mut rates = vec![sequence.last_lr()[0]];
    for _ in 0..4 {
        sequence.step(&mut sgd)?;
        rates.push(sequence.last_lr()[0]);
    }
    assert_eq!(rates, [0.5, 0.75, 1.0, 0.5, 0.25]);

    let mut sgd = make()?;
    let constant = Scheduler::new(
        ConstantLR {
            factor: 0.5,
            total_iters: 2.0,
        },
        &mut sgd,
    )?;
    let steps = Scheduler::new(
        StepLR {
            step_size: 1.0,
            gamma: 0.1,
        },
        &mut sgd,
    )?;
    let mut chain = ChainedScheduler::new(vec![Box::new(constant), Box::new(steps)], &sgd);
    chain.step(&mut sgd)?;
    assert!(close(chain.last_lr(), 0.05));
    chain.step(&mut sgd)?;
    assert!(close(chain.last_lr(), 0.01));

    let mut sgd = make()?;
    let cycle = OneCycleLR {
        total_steps: 10.0,
        pct_start: 0.3,
        three_phase: false,
        is_linear: true,
    };
    let cycle = Cycle::One(cycle, [0.1, 1.0, 0.01], Some([0.95, 0.85, 0.95]));
    let mut cycle = CycleScheduler::new(cycle, &mut sgd)?;
    cycle.step(&mut sgd)?;
    cycle.step(&mut sgd)?;
    assert!(close(cycle.last_lr(), 1.0));
    assert!(
        sgd.groups()
            .all(|group| (group.momentum - 0.85).abs() < 1e-12)
    );
    Ok(())
}
