//! Draws with tensors as parameters on a second device, and numbers in a row.

use allotrope_dtype::DType;
use allotrope_op::Backend;
use allotrope_tensor::{Distribution, Generator, Parameter, Tensor};
use allotrope_testing::APART;

use crate::{Outcome, check, numbers, there};

/// Values that every parameter of a distribution accepts, in two dimensions.
fn parameters(distribution: Distribution) -> Vec<Tensor> {
    let at = |value: f64, sizes: &[usize]| Tensor::full(sizes, value, DType::F32).unwrap();
    let sizes = [&[6, 1][..], &[10], &[], &[1]];
    let values = match distribution {
        Distribution::TruncatedNormal => vec![0.0, 1.0, -1.0, 2.0],
        Distribution::Binomial => vec![5.0, 0.25],
        _ => vec![0.5; distribution.parameters().len()],
    };
    let values = values.iter().zip(sizes);
    values.map(|(value, sizes)| at(*value, sizes)).collect()
}

#[test]
fn draws_by_tensors_are_the_same_there() {
    for distribution in Distribution::ALL {
        let given = parameters(*distribution);
        let given: Vec<&Tensor> = given.iter().collect();
        for dtype in [None, Some(DType::BF16), Some(DType::F64), Some(DType::I16)] {
            check(distribution.name(), &given, |x| {
                let seeded = Generator::new(7);
                let x: Vec<Parameter<'_>> = x.iter().map(Parameter::from).collect();
                Tensor::sample(*distribution, &x, Some(&[6, 10]), dtype, Some(&seeded))
            });
        }
        check(distribution.name(), &[&numbers(DType::F32)], |x| {
            let given = parameters(*distribution);
            let numbers: Vec<Parameter<'_>> = given
                .iter()
                .map(|x| Parameter::Number(x.select_first()))
                .collect();
            x[0].sample_like(*distribution, &numbers, Some(&Generator::new(3)))
        });
    }
}

trait First {
    fn select_first(&self) -> f64;
}

impl First for Tensor {
    fn select_first(&self) -> f64 {
        f64::from(self.to_vec::<f32>().unwrap()[0])
    }
}

#[test]
fn draws_of_each_element_are_the_same_there() {
    let draw = |what: &str, x: &Tensor, work: &dyn Fn(&Tensor, &Generator) -> Outcome| {
        check(what, &[x], |x| work(&x[0], &Generator::new(7)));
        check(what, &[x], |x| {
            work(&x[0].transpose(0, 1)?, &Generator::new(7))
        });
    };
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I32] {
        let x = numbers(dtype).abs().unwrap();
        draw("normal", &x, &|x, g| {
            Tensor::normal_each(x, &x.to(DType::F32)?, Some(g))
        });
        draw("dirichlet", &x.add(1).unwrap(), &|x, g| {
            x.dirichlet(Some(g))
        });
        draw("multinomial", &x.add(1).unwrap(), &|x, g| {
            x.multinomial(4, true, Some(g))
        });
        draw("different ones", &x.add(1).unwrap(), &|x, g| {
            x.multinomial(4, false, Some(g))
        });
        draw("bernoulli", &x, &|x, g| {
            x.bernoulli_like_each(&x.div(100)?, Some(g))
        });
    }
}

#[test]
fn refused_draws_advance_nothing_there() {
    let x = numbers(DType::F32);
    for x in [&x, &there(&x)] {
        let seeded = Generator::new(1);
        let g = Some(&seeded);
        assert!(x.bernoulli(g).is_err());
        assert!(x.dirichlet(g).is_err());
        assert!(x.multinomial(2, true, g).is_err());
        assert!(Tensor::normal_each(x, x, g).is_err());
        assert!(Tensor::sample(Distribution::Poisson, &[x.into()], None, None, g).is_err());
        assert_eq!(seeded.offset(), 0);
    }
    check("bernoulli", &[&x], |x| x[0].bernoulli(None));
    check("normal", &[&x], |x| Tensor::normal_each(&x[0], &x[0], None));
    check("multinomial", &[&x], |x| x[0].multinomial(2, true, None));
    let low = numbers(DType::F64);
    check("bounds", &[&low], |x| {
        let given = [0.0.into(), 1.0.into(), (&x[0]).into(), 2.0.into()];
        Tensor::sample(Distribution::TruncatedNormal, &given, None, None, None)
    });
}

#[test]
fn numbers_in_a_row_are_made_there() {
    let x = there(&numbers(DType::F32));
    for dtype in [DType::F32, DType::I8, DType::F64] {
        let made = x.new_arange(0, 9, 2, dtype).unwrap();
        assert_eq!(made.backend().name(), APART.name());
        let want = Tensor::arange(0, 9, 2, dtype).unwrap();
        assert_eq!(made.to_bytes().unwrap(), want.to_bytes().unwrap());
    }
}
