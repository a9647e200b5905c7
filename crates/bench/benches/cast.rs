//! Every slice cast against `memcpy` of the same total bytes, one thread, in the same run.
//!
//! `cargo bench -p allotrope-bench --bench cast [-- --from float32 --elements 1048576]`

use std::hint::black_box;

use allotrope_bench::{Memory, alternate};
use allotrope_dtype::{CastOptions, Casting, DType, Level, can_cast, cast_bytes};

const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |name: &str| {
        arguments
            .iter()
            .position(|a| a == name)
            .and_then(|i| arguments.get(i + 1))
            .cloned()
    };
    let only: Option<DType> = value_of("--from").and_then(|name| name.parse().ok());
    let elements = value_of("--elements")
        .and_then(|n| n.parse().ok())
        .unwrap_or(1 << 24);
    let sources: Vec<DType> = DType::ALL
        .into_iter()
        .filter(|d| only.is_none_or(|o| o == *d))
        .collect();
    println!(
        "casts of {elements} elements, one thread, level {}",
        Level::current()
    );
    println!("speed relative to memcpy of the same bytes read and written (higher is better)\n");
    print_head();
    let mut ratios = Vec::new();
    for from in sources {
        let src = sample(from, elements);
        print!("{:>7}", short(from));
        for to in DType::ALL {
            if can_cast(from, to, Casting::Any) {
                let ratio = measure(from, &src, to, elements);
                ratios.push((ratio, from, to));
                print!("{ratio:>7.2}");
            } else {
                print!("{:>7}", "-");
            }
        }
        println!();
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!(
        "\nmedian {:.2}; the five slowest:",
        ratios[ratios.len() / 2].0
    );
    for (ratio, from, to) in ratios.iter().take(5) {
        println!("  {ratio:.2} {from} -> {to}");
    }
    print_milliseconds();
}

/// A title of at most six characters: the first alias, with its 8-bit format shortened.
fn short(dtype: DType) -> String {
    let alias = dtype.descriptor().aliases[0];
    alias
        .strip_prefix("f8")
        .unwrap_or(alias)
        .replace("fnuz", "uz")
}

fn print_head() {
    print!("{:>7}", "");
    for to in DType::ALL {
        print!("{:>7}", short(to));
    }
    println!();
}

/// Numbers of both signs and several magnitudes, as the dtype stores them.
fn sample(dtype: DType, elements: usize) -> Memory {
    let mut state = 1_u32;
    let numbers: Vec<f32> = (0..4096)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 65_536.0 - 128.0
        })
        .collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut block = vec![0; numbers.len() * dtype.itemsize()];
    cast_bytes(
        DType::F32,
        &bytes,
        dtype,
        &mut block,
        CastOptions::default(),
    )
    .unwrap_or_default();
    let mut memory = Memory::new(elements * dtype.itemsize(), 0);
    for chunk in memory.as_mut_slice().chunks_mut(block.len()) {
        chunk.copy_from_slice(&block[..chunk.len()]);
    }
    memory
}

/// How fast a cast is relative to `memcpy`.
fn measure(from: DType, src: &Memory, to: DType, elements: usize) -> f64 {
    let mut dst = Memory::new(elements * to.itemsize(), 1);
    let half = elements * (from.itemsize() + to.itemsize()) / 2;
    let (plain, mut copy) = (Memory::new(half, 1), Memory::new(half, 2));
    let [memcpy, cast] = alternate(
        ROUNDS,
        || {
            copy.as_mut_slice()
                .copy_from_slice(black_box(plain.as_slice()))
        },
        || {
            let target = black_box(dst.as_mut_slice());
            cast_bytes(from, src.as_slice(), to, target, CastOptions::default())
                .unwrap_or_default();
        },
    );
    memcpy.as_secs_f64() / cast.as_secs_f64()
}

/// The times of 1 M elements that other libraries are known by.
fn print_milliseconds() {
    const ELEMENTS: usize = 1 << 20;
    let src = sample(DType::F32, ELEMENTS);
    println!("\n1 M elements of float32, milliseconds:");
    for to in [DType::F64, DType::F16, DType::BF16, DType::I32] {
        let mut dst = Memory::new(ELEMENTS * to.itemsize(), 1);
        let cast = || {
            let target = black_box(dst.as_mut_slice());
            cast_bytes(
                DType::F32,
                src.as_slice(),
                to,
                target,
                CastOptions::default(),
            )
            .unwrap_or_default();
        };
        let [time, _] = alternate(ROUNDS, cast, || {});
        println!("  -> {to:<9}{:.3}", time.as_secs_f64() * 1e3);
    }
}
