//! Elements by indices and masks, bit for bit.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::{Backend, Combine, Layout, Put, Shape};

use crate::support::{Pair, alone, assert_same, bytes_of, devices, narrowed, read, target};

/// Indices below a limit.
fn indices(count: usize, limit: i64) -> Vec<u8> {
    (0..count as i64)
        .flat_map(|i| ((i * 7 + i * i) % limit).to_ne_bytes())
        .collect()
}

#[test]
fn elements_are_picked() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            let x = Pair::sample(gpu, dtype, &[11, 6], 31);
            let chosen = Pair::new(gpu, DType::I64, &[9, 1], &indices(9, 11));
            let shape = Shape::new("take", &[9, 6]).unwrap();
            let row = Layout::contiguous(Shape::new("take", &[1, 6]).unwrap())
                .broadcast_to("take", &shape)
                .unwrap();
            let wide = chosen.layout.broadcast_to("take", &shape).unwrap();
            let (x, chosen) = (x.with(row), chosen.with(wide));
            let made = gpu
                .pick("take", dtype, x.on_gpu(), 6, chosen.on_gpu())
                .unwrap();
            let expected = CPU
                .pick("take", dtype, x.on_cpu(), 6, chosen.on_cpu())
                .unwrap();
            assert_eq!(
                read(&made, dtype, 54),
                read(&expected, dtype, 54),
                "{dtype}"
            );
        }
    }
}

#[test]
fn masks() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL {
            for count in [0, 1, 37, 5000] {
                let x = Pair::sample(gpu, dtype, &[count], 32);
                let mask = Pair::sample(gpu, DType::Bool, &[count], 33);
                let (made, n) = gpu
                    .compress("mask", dtype, x.on_gpu(), mask.on_gpu())
                    .unwrap();
                let (expected, m) = CPU
                    .compress("mask", dtype, x.on_cpu(), mask.on_cpu())
                    .unwrap();
                assert_eq!(n, m);
                assert_eq!(
                    read(&made, dtype, n),
                    read(&expected, dtype, n),
                    "{dtype} {count}"
                );
                for (start, one) in [(0, false), (3, false), (3, true)] {
                    let base = narrowed(gpu, dtype, &bytes_of(dtype, count + 5, 34));
                    let given = if one { 1 } else { n };
                    if count == 0 {
                        continue;
                    }
                    let source = Pair::sample(gpu, dtype, &[given], 35);
                    let mut on_gpu = gpu.upload("mask", dtype, &base).unwrap();
                    let mut on_cpu = CPU.upload("mask", dtype, &base).unwrap();
                    gpu.expand(
                        "mask",
                        dtype,
                        source.on_gpu(),
                        mask.on_gpu(),
                        target(&mut on_gpu, start, count),
                    )
                    .unwrap();
                    CPU.expand(
                        "mask",
                        dtype,
                        source.on_cpu(),
                        mask.on_cpu(),
                        target(&mut on_cpu, start, count),
                    )
                    .unwrap();
                    let (made, expected) = (
                        read(&on_gpu, dtype, count + 5),
                        read(&on_cpu, dtype, count + 5),
                    );
                    assert_eq!(made, expected, "{dtype} {count} from {start} {one}");
                }
            }
        }
        let mask = Pair::sample(gpu, DType::Bool, &[9, 11, 13], 36);
        let (made, n) = gpu.coordinates("nonzero", mask.on_gpu()).unwrap();
        let (expected, m) = CPU.coordinates("nonzero", mask.on_cpu()).unwrap();
        assert_eq!(n, m);
        assert_eq!(
            read(&made, DType::I64, 3 * n),
            read(&expected, DType::I64, 3 * n)
        );
    }
}

#[test]
fn elements_are_put_in_the_order_of_the_source() {
    let _alone = alone();
    for gpu in devices() {
        for dtype in DType::ALL.into_iter().filter(|d| d.compute() == *d) {
            for combine in [
                Combine::Replace,
                Combine::Add,
                Combine::Multiply,
                Combine::Max,
                Combine::Min,
            ] {
                if dtype.is_complex() && matches!(combine, Combine::Max | Combine::Min) {
                    continue;
                }
                let source = Pair::sample(gpu, dtype, &[40, 3], 37);
                let chosen = Pair::new(gpu, DType::I64, &[40, 1], &indices(40, 11));
                let shape = source.layout.shape().clone();
                let wide = chosen.layout.broadcast_to("put", &shape).unwrap();
                let chosen = chosen.with(wide);
                let row = Layout::contiguous(Shape::new("put", &[1, 3]).unwrap());
                let base = row.broadcast_to("put", &shape).unwrap();
                let bytes = narrowed(gpu, dtype, &bytes_of(dtype, 36, 38));
                let mut on_gpu = gpu.upload("put", dtype, &bytes).unwrap();
                let mut on_cpu = CPU.upload("put", dtype, &bytes).unwrap();
                let job = |source, indices| Put {
                    source,
                    indices,
                    base: &base,
                    step: 3,
                    blocks: 1,
                    used: 1,
                };
                let (up, down) = (
                    job(source.on_gpu(), chosen.on_gpu()),
                    job(source.on_cpu(), chosen.on_cpu()),
                );
                gpu.put("put", dtype, combine, &up, target(&mut on_gpu, 2, 33))
                    .unwrap();
                CPU.put("put", dtype, combine, &down, target(&mut on_cpu, 2, 33))
                    .unwrap();
                let (made, expected) = (read(&on_gpu, dtype, 36), read(&on_cpu, dtype, 36));
                assert_same(
                    &format!("{combine:?} {gpu:?}"),
                    dtype,
                    &made,
                    &narrowed(gpu, dtype, &expected),
                );
            }
        }
    }
}
