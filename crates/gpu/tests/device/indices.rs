//! Elements by indices and masks, bit for bit.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_gpu::Gpu;
use allotrope_op::{Backend, Combine, Layout, Put, Shape};

use crate::support::{
    Pair, alone, assert_same, bytes_of, cast, devices, narrowed, read, stored, target,
};

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

/// Puts a sample to places that many share, on the device and on the CPU.
fn put(gpu: &Gpu, dtype: DType, combine: Combine, [rows, width, room]: [usize; 3], start: usize) {
    let source = Pair::sample(gpu, dtype, &[rows, width], 37);
    let chosen = Pair::new(gpu, DType::I64, &[rows, 1], &indices(rows, room as i64));
    let shape = source.layout.shape().clone();
    let wide = chosen.layout.broadcast_to("put", &shape).unwrap();
    let chosen = chosen.with(wide);
    let row = Layout::contiguous(Shape::new("put", &[1, width]).unwrap());
    let base = row.broadcast_to("put", &shape).unwrap();
    let total = room * width + 5;
    let bytes = narrowed(gpu, dtype, &bytes_of(dtype, total, 38));
    let mut on_gpu = gpu.upload("put", dtype, &bytes).unwrap();
    // What is stored as a narrower dtype is combined in that.
    let is_hosted = dtype.is_complex() && combine == Combine::Multiply;
    let narrow = if is_hosted { dtype } else { stored(gpu, dtype) };
    let elements = cast(dtype, &read(&source.cpu, dtype, rows * width), narrow);
    let below = Pair::new(gpu, narrow, &[rows, width], &elements);
    let mut on_cpu = CPU
        .upload("put", narrow, &cast(dtype, &bytes, narrow))
        .unwrap();
    let job = |source, indices| Put {
        source,
        indices,
        base: &base,
        step: width,
        blocks: 1,
        used: 1,
    };
    let count = room * width;
    let (up, down) = (
        job(source.on_gpu(), chosen.on_gpu()),
        job(below.on_cpu(), chosen.on_cpu()),
    );
    gpu.put(
        "put",
        dtype,
        combine,
        &up,
        target(&mut on_gpu, start, count),
    )
    .unwrap();
    CPU.put(
        "put",
        narrow,
        combine,
        &down,
        target(&mut on_cpu, start, count),
    )
    .unwrap();
    let expected = cast(narrow, &read(&on_cpu, narrow, total), dtype);
    let expected = narrowed(gpu, dtype, &expected);
    let what = format!("{combine:?} {rows} from {start} {gpu:?}");
    assert_same(&what, dtype, &read(&on_gpu, dtype, total), &expected);
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
                for start in [0, 3] {
                    put(gpu, dtype, combine, [40, 3, 11], start);
                }
            }
        }
        // Long lists: sums of floats depend on their order, and the last of many stays.
        for combine in [Combine::Add, Combine::Replace] {
            put(gpu, DType::F32, combine, [20_000, 1, 3], 0);
            put(gpu, DType::F32, combine, [1, 1, 1], 0);
        }
        let hosted = allotrope_gpu::hosted(gpu);
        let puts = hosted.iter().find(|(name, _)| *name == "put");
        // Products of two complex dtypes, from two places.
        assert_eq!(puts.map_or(0, |(_, count)| *count), 4);
    }
}
