//! Figures of the adapter that is found: elementwise work of each width against a copy on the same
//! adapter, work on tiny tensors, folds, and how long it takes to begin.
#![allow(clippy::expect_used, reason = "a measurement ends where it fails")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use allotrope_dtype::DType;
use allotrope_gpu::{Gpu, device};
use allotrope_op::{Backend, Fold, Layout, Op, Program, Shape, View};

/// The shortest of several runs, in seconds.
fn time(gpu: &Gpu, mut work: impl FnMut()) -> f64 {
    let run = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        gpu.finish().expect("finish");
        start.elapsed().as_secs_f64()
    };
    run(&mut work);
    (0..3).map(|_| run(&mut work)).fold(f64::INFINITY, f64::min)
}

/// What a future of a native device gives.
fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// Bytes per second that a shader of one line copies, read and written, a vector per thread.
fn bare_copy(bytes: u64) -> f64 {
    let mut description = wgpu::InstanceDescriptor::new_without_display_handle();
    description.backends = wgpu::Backends::VULKAN | wgpu::Backends::METAL | wgpu::Backends::DX12;
    let instance = wgpu::Instance::new(description);
    let adapters = wait(instance.enumerate_adapters(wgpu::Backends::all()));
    let adapter = adapters.first().expect("an adapter");
    let opened = wait(adapter.request_device(&wgpu::DeviceDescriptor {
        required_limits: adapter.limits(),
        ..Default::default()
    }));
    let (device, queue) = opened.expect("a device");
    let buffer = || {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE,
            mapped_at_creation: false,
        })
    };
    let (from, to) = (buffer(), buffer());
    let text = "\
        @group(0) @binding(0) var<storage, read> a: array<vec4<u32>>;\n\
        @group(0) @binding(1) var<storage, read_write> b: array<vec4<u32>>;\n\
        @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {\n\
        let t = id.x + id.y * 4194240u; b[t] = a[t]; }";
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[(0, &from), (1, &to)].map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        }),
    });
    let groups = (bytes / 16 / 64) as u32;
    let run = || {
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(groups.min(65535), groups.div_ceil(65535), 1);
        drop(pass);
        queue.submit([encoder.finish()]);
        device
            .poll(wgpu::PollType::wait_indefinitely())
            .expect("wait");
        start.elapsed().as_secs_f64()
    };
    run();
    let best = (0..7).map(|_| run()).fold(f64::INFINITY, f64::min);
    2.0 * bytes as f64 / best
}

fn main() {
    let start = Instant::now();
    let gpu = device(0).expect("a device");
    let opened = start.elapsed();
    let shape = Shape::new("test", &[4]).expect("shape");
    let layout = Layout::contiguous(shape.clone());
    let x = gpu.upload("test", DType::F32, &[0; 16]).expect("upload");
    let view = View {
        memory: &*x,
        layout: &layout,
    };
    let mut sum = Program::new(&[DType::F32, DType::F32]);
    let result = sum.apply(Op::Add, &[0, 1]);
    sum.output(result);
    gpu.run("add", &sum, &shape, &[view, view]).expect("run");
    gpu.finish().expect("finish");
    println!("{gpu:?}\n{:?}", gpu.numerics());
    println!("opened {opened:.0?}, first result {:.0?}", start.elapsed());

    let bytes = 64 << 20;
    let bare = bare_copy(bytes as u64);
    println!("a bare shader copies {:.2} GB/s", bare / 1e9);
    for dtype in [
        DType::F32,
        DType::F16,
        DType::BF16,
        DType::U8,
        DType::I64,
        DType::F64,
    ] {
        let count = bytes / dtype.itemsize();
        let shape = Shape::new("test", &[count]).expect("shape");
        let layout = Layout::contiguous(shape.clone());
        let x = gpu.fill("full", dtype, &[1; 16], count + 1).expect("fill");
        let view = View {
            memory: &*x,
            layout: &layout,
        };
        let copied = time(gpu, || {
            gpu.copy("copy", dtype, view).expect("copy");
        });
        let compute = allotrope_op::compute_dtype(dtype);
        let mut program = Program::new(&[dtype]);
        let wide = program.convert(0, compute);
        let negated = program.apply(Op::Neg, &[wide]);
        let back = program.convert(negated, dtype);
        program.output(back);
        // An input that begins within a vector is read one element at a time. By turns, so that both
        // see the same load of the machine.
        let strides = shape.contiguous_strides();
        let shifted = Layout::from_parts(shape.clone(), strides, 1);
        let mut best = [f64::INFINITY; 2];
        for _ in 0..5 {
            for (best, layout) in best.iter_mut().zip([&layout, &shifted]) {
                let view = View {
                    memory: &*x,
                    layout,
                };
                let seconds = time(gpu, || {
                    gpu.run("neg", &program, &shape, &[view]).expect("run");
                });
                *best = best.min(seconds);
            }
        }
        let [negative, one_by_one] = best;
        let gigabytes = |seconds: f64| 2.0 * bytes as f64 / seconds / 1e9;
        println!(
            "{:>8}: buffers copied {:5.2} GB/s, neg {:5.2} GB/s, {:.2} of the bare shader, \
             {:.2} of one element at a time",
            dtype.name(),
            gigabytes(copied),
            gigabytes(negative),
            gigabytes(negative) * 1e9 / bare,
            one_by_one / negative
        );
    }
    let tiny = time(gpu, || {
        for _ in 0..1000 {
            gpu.run("add", &sum, &shape, &[view, view]).expect("run");
        }
    });
    println!("add of 4 numbers: {:.1} us, queued", tiny * 1e3);
    let alone = time(gpu, || {
        gpu.run("add", &sum, &shape, &[view, view]).expect("run");
    });
    println!("add of 4 numbers: {:.1} us, waited for", alone * 1e6);
    let count = 1 << 24;
    let shape = Shape::new("test", &[count]).expect("shape");
    let layout = Layout::contiguous(shape.clone());
    let x = gpu
        .fill("full", DType::F32, &1.0_f32.to_ne_bytes(), count)
        .expect("fill");
    let view = View {
        memory: &*x,
        layout: &layout,
    };
    let mut item = Program::new(&[DType::F32]);
    item.output(0);
    for sizes in [[1, count, 1], [4096, 4096, 1], [1, 4096, 4096]] {
        let seconds = time(gpu, || {
            gpu.reduce("sum", Fold::Sum, &item, &shape, &[view], sizes, DType::F32)
                .expect("sum");
        });
        println!(
            "sum of float32 {sizes:?}: {:.2} GB/s",
            4.0 * count as f64 / seconds / 1e9
        );
    }
}
