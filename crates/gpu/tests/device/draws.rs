//! Random numbers have the CPU's bits.

use allotrope_cpu::CPU;
use allotrope_dtype::DType;
use allotrope_op::{Backend, Draw, Stream};

use crate::support::{alone, assert_same, bytes_of, cast, devices, narrowed, read, stored, target};

#[test]
fn draws() {
    let _alone = alone();
    let stream = Stream {
        seed: 0x1234_5678_9abc_def0,
        offset: 0xffff_fffe,
    };
    for gpu in devices() {
        for dtype in DType::ALL {
            let is_float = dtype.is_floating_point() || dtype.is_complex();
            let mut list = vec![
                Draw::Bernoulli(0.3),
                Draw::Bernoulli(1.0),
                Draw::Bernoulli(0.0),
            ];
            if is_float {
                list.extend([
                    Draw::Uniform(0.0, 1.0),
                    Draw::Uniform(-0.75, 1.5),
                    Draw::Uniform(1.0, 1.0),
                ]);
                list.extend([Draw::Normal(0.0, 1.0), Draw::Normal(1.5, 0.25)]);
            }
            if dtype.is_integer() || dtype.is_floating_point() {
                list.push(Draw::Integers(0, 7));
            }
            if dtype.is_integer() && dtype.bits() == 64 {
                list.extend([Draw::Integers(-5, 1 << 40), Draw::Integers(0, 1 << 64)]);
            }
            for draw in list {
                for start in [0, 1, 5] {
                    let (count, total) = (1003, 1010);
                    // What the device stores is drawn in that.
                    let narrow = stored(gpu, dtype);
                    let bytes = narrowed(gpu, dtype, &bytes_of(dtype, total, 41));
                    let mut on_gpu = gpu.upload("rand", dtype, &bytes).unwrap();
                    let mut on_cpu = CPU
                        .upload("rand", narrow, &cast(dtype, &bytes, narrow))
                        .unwrap();
                    gpu.draw(
                        "rand",
                        dtype,
                        draw,
                        stream,
                        target(&mut on_gpu, start, count),
                    )
                    .unwrap();
                    CPU.draw(
                        "rand",
                        narrow,
                        draw,
                        stream,
                        target(&mut on_cpu, start, count),
                    )
                    .unwrap();
                    let expected = cast(narrow, &read(&on_cpu, narrow, total), dtype);
                    assert_same(
                        &format!("{draw:?} {gpu:?}"),
                        dtype,
                        &read(&on_gpu, dtype, total),
                        &expected,
                    );
                }
            }
        }
        let is_drawn = allotrope_gpu::hosted(gpu)
            .iter()
            .all(|(name, _)| *name != "draw");
        assert!(is_drawn || !gpu.numerics().exact, "drawn by the CPU");
    }
}
