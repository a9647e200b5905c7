//! What goes wrong is an error with a reason, and nothing else is harmed.

use allotrope_dtype::{DType, ErrorKind, Problem};
use allotrope_gpu::{Options, open};
use allotrope_op::{Backend, Layout, Op, Program, Shape, View};

use crate::support::{Pair, alone, devices, levels, options, read};

#[test]
fn a_device_that_is_not_there() {
    let options = Options {
        ordinal: 99,
        ..options()
    };
    let error = open(options).expect_err("there are not so many");
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(
        error.to_string().contains("no such device: 'gpu:99'"),
        "{error}"
    );
}

#[test]
fn a_lost_device_gives_no_bytes() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let gpu = open(options()).unwrap();
    let x = Pair::sample(gpu, DType::F32, &[100], 71);
    assert_eq!(read(&x.gpu, DType::F32, 100), read(&x.cpu, DType::F32, 100));
    gpu.lose();
    assert!(gpu.is_lost());
    let mut bytes = [0x55; 400];
    let error = gpu
        .download("item", DType::F32, x.on_gpu(), &mut bytes)
        .expect_err("it is lost");
    assert_eq!(error.kind(), ErrorKind::Device);
    let text = error.to_string();
    assert!(
        text.contains("lost") && text.contains("the 1 tensors in its memory"),
        "{text}"
    );
    assert_eq!(bytes, [0x55; 400], "nothing was written");
    assert!(gpu.finish().is_err());
    assert!(gpu.upload("tensor", DType::F32, &[0; 4]).is_err());
    assert!(gpu.copy("copy", DType::F32, x.on_gpu()).is_err());
    // Another one is as good as new, and knows of what is gone.
    let other = open(options()).unwrap();
    let y = Pair::sample(other, DType::F32, &[100], 72);
    assert_eq!(read(&y.gpu, DType::F32, 100), read(&y.cpu, DType::F32, 100));
    let error = other
        .copy("copy", DType::F32, x.on_gpu())
        .expect_err("it is gone");
    assert!(
        error.to_string().contains("a tensor of 400 bytes is gone"),
        "{error}"
    );
    assert_eq!(read(&x.cpu, DType::F32, 100).len(), 400);
}

#[test]
fn a_loss_in_flight_gives_no_bytes() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    // Before the work is recorded, before it is handed over, and before it is read.
    for moment in 0..3 {
        let gpu = open(options()).unwrap();
        let x = Pair::sample(gpu, DType::I32, &[1000], 74);
        let lose_at = |now: i32| {
            if now == moment {
                gpu.lose_unnoticed();
            }
        };
        lose_at(0);
        let program = doubled();
        let made = gpu.run("add", &program, x.layout.shape(), &[x.on_gpu()]);
        lose_at(1);
        let done = gpu.finish();
        lose_at(2);
        let mut bytes = [0x55; 4000];
        let result = made.and_then(|made| {
            let view = View {
                memory: &*made[0],
                layout: &x.layout,
            };
            gpu.download("item", DType::I32, view, &mut bytes)
        });
        let error = result.expect_err("it is lost");
        assert_eq!(error.kind(), ErrorKind::Device, "{error}");
        assert!(error.to_string().contains("lost"), "{moment}: {error}");
        assert_eq!(bytes, [0x55; 4000], "nothing was written");
        assert_eq!(done.is_ok(), moment == 2);
        assert!(gpu.is_lost());
    }
}

#[test]
fn refused_work_gives_no_bytes() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let gpu = open(options()).unwrap();
    let x = Pair::sample(gpu, DType::I32, &[1000], 77);
    gpu.finish().unwrap();
    gpu.spoil().unwrap();
    let made = gpu.run("add", &doubled(), x.layout.shape(), &[x.on_gpu()]);
    let made = made.unwrap();
    // Told to whoever waits, and to whoever reads what was not computed, again and again.
    assert!(gpu.finish().is_err());
    for _ in 0..2 {
        let view = View {
            memory: &*made[0],
            layout: &x.layout,
        };
        let mut bytes = [0x55; 4000];
        let error = gpu
            .download("item", DType::I32, view, &mut bytes)
            .expect_err("it was not computed");
        assert!(
            error.to_string().contains("recorded work was refused"),
            "{error}"
        );
        assert_eq!(bytes, [0x55; 4000], "nothing was written");
    }
    assert!(gpu.is_lost());
}

/// Each element twice.
fn doubled() -> Program {
    let mut program = Program::new(&[DType::I32]);
    let sum = program.apply(Op::Add, &[0, 0]);
    program.output(sum);
    program
}

#[test]
fn memory_has_a_budget() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let options = Options {
        budget: Some(8 << 20),
        ..options()
    };
    let gpu = open(options).unwrap();
    assert_eq!(gpu.memory_budget(), 8 << 20);
    let first = gpu.fill("full", DType::U8, &[7], 6 << 20).unwrap();
    let error = gpu
        .allocate("empty", DType::U8, 6 << 20)
        .expect_err("too much");
    assert!(
        matches!(error.problem(), Problem::OutOfMemory { .. }),
        "{error}"
    );
    let big = vec![0; 6 << 20];
    assert!(gpu.upload("tensor", DType::U8, &big).is_err());
    // What was there before is as it was, and what fits is done.
    assert!(read(&first, DType::U8, 6 << 20).iter().all(|x| *x == 7));
    let small = gpu.fill("full", DType::U8, &[8], 1 << 20).unwrap();
    assert!(read(&small, DType::U8, 1 << 20).iter().all(|x| *x == 8));
    drop((first, small));
    // What was given back serves again, in another size too.
    let second = gpu.allocate("empty", DType::U8, 7 << 20).unwrap();
    assert!(gpu.memory_allocated() >= 7 << 20);
    drop(second);
    assert_eq!(gpu.memory_allocated(), 0);
    assert!(gpu.max_memory_allocated() >= 7 << 20);
}

#[test]
fn buffers_have_a_limit() {
    let _alone = alone();
    for gpu in devices() {
        let error = gpu
            .allocate("empty", DType::F64, 1 << 40)
            .expect_err("too much");
        assert!(
            matches!(error.problem(), Problem::OutOfMemory { .. }),
            "{error}"
        );
        assert!(gpu.allocate("empty", DType::F64, usize::MAX).is_err());
    }
}

#[test]
fn tensors_dropped_in_flight() {
    let _alone = alone();
    for gpu in devices() {
        let shape = Shape::new("test", &[1000]).unwrap();
        let layout = Layout::contiguous(shape.clone());
        let mut program = Program::new(&[DType::I32, DType::I32]);
        let sum = program.apply(Op::Add, &[0, 1]);
        program.output(sum);
        let one = gpu
            .fill("ones", DType::I32, &1_i32.to_ne_bytes(), 1000)
            .unwrap();
        let mut total = gpu.fill("zeros", DType::I32, &[0; 4], 1000).unwrap();
        let [submits, _] = gpu.submits();
        for _ in 0..500 {
            let views = [&total, &one].map(|memory| View {
                memory: &**memory,
                layout: &layout,
            });
            let made = gpu.run("add", &program, &shape, &views).unwrap();
            total = made[0].clone();
        }
        let bytes = read(&total, DType::I32, 1000);
        assert!(bytes.chunks_exact(4).all(|b| b == 500_i32.to_ne_bytes()));
        let [after, _] = gpu.submits();
        assert!(after - submits < 10, "{} submits", after - submits);
    }
}

#[test]
fn constants_share_a_shader() {
    let _alone = alone();
    for gpu in devices() {
        let x = Pair::sample(gpu, DType::F32, &[10], 73);
        let run = |value: f64| {
            let mut program = Program::new(&[DType::F32]);
            let scalar = allotrope_dtype::Scalar::new(value, DType::F32).unwrap();
            let scalar = program.push(allotrope_op::Step::Constant(scalar));
            let product = program.apply(Op::Mul, &[0, scalar]);
            program.output(product);
            gpu.run("mul", &program, x.layout.shape(), &[x.on_gpu()])
                .unwrap();
        };
        run(0.5);
        let before = gpu.pipeline_count();
        (0..100).for_each(|i| run(f64::from(i)));
        assert_eq!(gpu.pipeline_count(), before);
    }
}

#[test]
fn memory_is_counted() {
    let _alone = alone();
    for gpu in devices() {
        gpu.synchronize().unwrap();
        let before = gpu.memory_allocated();
        let x = gpu.allocate("empty", DType::U8, 1 << 20).unwrap();
        assert_eq!(gpu.memory_allocated(), before + (1 << 20));
        assert!(gpu.max_memory_allocated() >= before + (1 << 20));
        drop(x);
        assert_eq!(gpu.memory_allocated(), before);
        gpu.reset_peak();
        assert_eq!(gpu.max_memory_allocated(), before);
        assert!(gpu.memory_reserved() > before);
        gpu.empty_cache();
        assert_eq!(gpu.memory_reserved(), before);
    }
}

#[test]
fn devices_say_what_they_are() {
    let _alone = alone();
    for gpu in devices() {
        assert!(!gpu.adapter_name().is_empty());
        assert!(["Vulkan", "Metal", "DX12"].contains(&gpu.interface()));
        let facts = gpu.facts();
        let of = |name: &str| facts.iter().find(|fact| fact.name == name).unwrap().holds;
        assert_eq!(of("float64"), gpu.numerics().float64);
        assert_eq!(of("int64"), gpu.numerics().int64);
        assert_eq!(of("float16"), gpu.numerics().halves);
    }
}

/// A shader that writes a number.
fn shader_of(number: usize) -> String {
    format!(
        "@group(0) @binding(1) var<storage, read_write> out0: array<u32>;\n\
         @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {{\n\
         out0[id.x] = {number}u; }}"
    )
}

#[test]
fn a_refused_shader_harms_no_other() {
    let _alone = alone();
    for gpu in levels() {
        for text in [
            "this is no shader",
            "@compute @workgroup_size(64) fn other() {}",
        ] {
            for _ in 0..2 {
                let error = gpu.compile_text(text, text, false).expect_err("no shader");
                assert_eq!(error.kind(), ErrorKind::Device);
                assert!(
                    error.to_string().contains("a shader was refused"),
                    "{error}"
                );
            }
        }
        // More threads than a group may have.
        let huge = shader_of(1).replace("size(64)", "size(65536)");
        let refused = gpu.compile_text("huge", &huge, false);
        if let Err(error) = refused {
            assert!(
                error.to_string().contains("a shader was refused"),
                "{error}"
            );
        }
        assert!(!gpu.is_lost());
        let x = Pair::sample(gpu, DType::I32, &[10], 75);
        let made = gpu.run("add", &doubled(), x.layout.shape(), &[x.on_gpu()]);
        assert_eq!(read(&made.unwrap()[0], DType::I32, 10).len(), 40);
    }
}

#[test]
fn a_shader_that_lost_a_device_is_not_tried_again() {
    let _alone = alone();
    if devices().is_empty() {
        return;
    }
    let gpu = open(options()).unwrap();
    let text = shader_of(2);
    let error = gpu.compile_text("fatal", &text, true).expect_err("lost");
    assert!(error.to_string().contains("lost"), "{error}");
    let other = open(options()).unwrap();
    let error = other
        .compile_text("fatal", &text, false)
        .expect_err("known");
    assert!(
        error
            .to_string()
            .contains("the device was lost over it before"),
        "{error}"
    );
    assert!(!other.is_lost());
    other.compile_text("another", &text, false).unwrap();
}

#[test]
fn a_thousand_shaders() {
    let _alone = alone();
    for gpu in devices().into_iter().take(1) {
        let x = Pair::sample(gpu, DType::I32, &[10], 76);
        let run = || {
            let made = gpu.run("add", &doubled(), x.layout.shape(), &[x.on_gpu()]);
            read(&made.unwrap()[0], DType::I32, 10)
        };
        let before = run();
        for number in 0..1200 {
            let key = format!("number {number}");
            gpu.compile_text(&key, &shader_of(number), false).unwrap();
        }
        assert!(gpu.pipeline_count() <= 1024, "{}", gpu.pipeline_count());
        assert!(gpu.pipeline_count() > 512, "{}", gpu.pipeline_count());
        assert_eq!(run(), before);
    }
}
