//! Results do not depend on the number of threads, to the last bit.

use allotrope_conformance::sample::Random;
use allotrope_dtype::DType;
use allotrope_op::{Builder, Reduction};
use allotrope_tensor::{Tensor, evaluate};

fn random(sizes: &[usize], dtype: DType, seed: u64) -> Tensor {
    let mut random = Random::seeded(seed);
    let count = sizes.iter().product();
    let values: Vec<f64> = (0..count).map(|_| random.unit() * 2.0 - 1.0).collect();
    Tensor::from_slice(&values, sizes)
        .unwrap()
        .to(dtype)
        .unwrap()
}

/// Everything that is computed, as bytes.
fn compute(dtype: DType) -> Vec<(String, Vec<u8>)> {
    let x = random(&[300, 700], dtype, 1);
    let y = random(&[700, 300], dtype, 2).transpose(0, 1).unwrap();
    let mut out: Vec<(String, Tensor)> = Vec::new();
    let mut keep = |name: &str, tensor: Tensor| out.push((format!("{name} {dtype}"), tensor));
    keep("add", x.add(&y).unwrap());
    keep("exp", x.exp().unwrap());
    keep("div", x.div(&y).unwrap());
    keep("eq", x.eq(&y).unwrap());
    for axes in [None, Some(&[0][..]), Some(&[1])] {
        for tensor in [&x, &y] {
            keep("sum", tensor.sum(axes, false, None).unwrap());
            keep("prod", tensor.prod(axes, false, None).unwrap());
            keep("mean", tensor.mean(axes, false, None).unwrap());
            keep("var", tensor.var(axes, 1.0, false).unwrap());
            keep("norm", tensor.norm(3.0, axes, false).unwrap());
            if Reduction::Amax.accepted().contains(dtype) {
                keep("amax", tensor.amax(axes, false).unwrap());
                keep("logsumexp", tensor.logsumexp(axes, false).unwrap());
                keep("argmin", tensor.argmin(axes.map(|a| a[0]), false).unwrap());
            }
        }
    }
    // A chain of steps with two outputs, as one program.
    let builder = Builder::new(&[dtype, dtype]);
    let compute = dtype.compute();
    let (a, b) = (builder.input(0).to(compute), builder.input(1).to(compute));
    let product = a * b + a.exp();
    let program = builder.finish(&[product.to(dtype), (product * b).tanh()]);
    for tensor in evaluate("eval", &program, &[&x, &y]).unwrap() {
        keep("program", tensor);
    }
    let bytes = out
        .into_iter()
        .map(|(name, t)| (name, t.to_bytes().unwrap()));
    bytes.collect()
}

#[test]
fn their_number_changes_nothing() {
    let dtypes = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::BF16,
        DType::C64,
        DType::C128,
    ];
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| dtypes.map(compute))
    };
    let one = with(1);
    for threads in [2, 7] {
        for (one, many) in one.iter().zip(with(threads)) {
            for ((name, one), (_, many)) in one.iter().zip(many) {
                assert!(
                    *one == many,
                    "{name} differs between 1 and {threads} threads"
                );
            }
        }
    }
}
