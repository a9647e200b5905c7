//! The table and what is expanded from it: names, codes, sets, limits, families, devices.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;

use allotrope_dtype::{
    Bool8, Capabilities, Capability, DType, Element, ErrorKind, Family, Kind, NumpySource, Scalar,
    Set, WeakScalar, bf16, c128, default_dtype, dispatch, dispatch_width, f16, for_each_dtype,
    scoped_default_dtype, scoped_promotion, set_default_dtype,
};

/// One module of tests per row.
macro_rules! test_each_dtype {
    ($({ $variant:ident, $ty:ty, $kind:ident, $($rest:tt)* })*) => {$(
        #[allow(non_snake_case, reason = "named after the variant")]
        mod $variant {
            use super::*;

            #[test]
            fn describes_itself() {
                let dtype = DType::$variant;
                assert_eq!(<$ty as Element>::DTYPE, dtype);
                assert_eq!(dtype.kind(), Kind::$kind);
                assert_eq!(dtype.itemsize(), size_of::<$ty>());
                assert_eq!(DType::from_index(dtype as usize), Some(dtype));
                assert_eq!(dtype.name().parse::<DType>(), Ok(dtype));
                assert_eq!(dtype.to_string(), dtype.name());
                for alias in dtype.descriptor().aliases {
                    assert_eq!(alias.parse::<DType>(), Ok(dtype));
                }
            }

            #[test]
            fn dispatches_to_its_type() {
                assert_eq!(dispatch!(DType::$variant, |T| <T as Element>::DTYPE), DType::$variant);
                assert_eq!(dispatch_width!(DType::$variant, |W| size_of::<W>()), size_of::<$ty>());
                assert!(dispatch_width!(DType::$variant, |W| align_of::<W>()) <= align_of::<$ty>());
                macro_rules! member {
                    ($set:ident) => {{
                        fn dtype_of<M: allotrope_dtype::$set>() -> DType {
                            M::DTYPE
                        }
                        let member = dispatch!(DType::$variant, |T: $set| Some(dtype_of::<T>()), else None);
                        let want = Set::$set.contains(DType::$variant).then_some(DType::$variant);
                        assert_eq!(member, want, stringify!($set));
                    }};
                }
                member!(Element);
                member!(Number);
                member!(Real);
                member!(Integer);
                member!(Signed);
                member!(Unsigned);
                member!(Inexact);
                member!(Float);
                member!(Complex);
                member!(Bool);
            }

            #[test]
            fn computes_in_a_dtype_that_holds_it() {
                let compute = DType::$variant.compute();
                assert_eq!(compute.compute(), compute);
                assert_eq!(compute.kind(), Kind::$kind);
                assert!(DType::$variant.fits_in(compute));
                let zero = <$ty as bytemuck::Zeroable>::zeroed();
                assert_eq!(<$ty as Element>::encode(zero.decode()), zero);
            }
        }
    )*};
}
for_each_dtype!((test_each_dtype));

#[test]
fn names_and_interchange_codes_are_unique() {
    let mut names = HashMap::new();
    for dtype in DType::ALL {
        let descriptor = dtype.descriptor();
        for name in descriptor.aliases.iter().chain([&descriptor.name]) {
            assert_eq!(names.insert(*name, dtype), None, "{name} names two dtypes");
        }
        let code = descriptor.dlpack_code;
        assert_eq!(DType::from_dlpack(code, dtype.bits() as u8), Some(dtype));
        if let Some(name) = descriptor.safetensors_name {
            assert_eq!(DType::from_safetensors(name), Some(dtype));
        }
        if let Some(format) = dtype.format() {
            assert_eq!(format.bits(), dtype.to_real().bits());
        }
    }
    for family in Family::ALL {
        assert!(
            !names.contains_key(family.name()),
            "{family} names a dtype too"
        );
        assert_eq!(family.name().parse::<Family>(), Ok(family));
    }
    assert_eq!(DType::from_dlpack(2, 128), None);
    assert_eq!(DType::from_safetensors("F4"), None);
    assert_eq!(DType::from_index(DType::COUNT), None);
}

#[test]
fn limits_of_native_floats_equal_the_standard_library() {
    macro_rules! check {
        ($($dtype:ident $ty:ty)*) => {$({
            let info = DType::$dtype.finfo().unwrap();
            assert_eq!(info.eps, f64::from(<$ty>::EPSILON));
            assert_eq!((info.max, info.min), (f64::from(<$ty>::MAX), f64::from(<$ty>::MIN)));
            assert_eq!(info.smallest_normal, f64::from(<$ty>::MIN_POSITIVE));
            assert_eq!(info.smallest_subnormal, f64::from(<$ty>::from_bits(1)));
            assert!(info.has_inf && info.has_nan && info.has_negative_zero);
        })*};
    }
    check!(F32 f32 F64 f64 F16 f16 BF16 bf16);
    assert_eq!(DType::C128.finfo(), DType::F64.finfo());
    assert_eq!(DType::F32.finfo().unwrap().resolution, 1e-6);
    assert_eq!(DType::F64.finfo().unwrap().resolution, 1e-15);
    macro_rules! integers {
        ($($dtype:ident $ty:ty)*) => {$({
            let info = DType::$dtype.iinfo().unwrap();
            assert_eq!((info.min, info.max), (<$ty>::MIN.into(), <$ty>::MAX.into()));
        })*};
    }
    integers!(I8 i8 I16 i16 I32 i32 I64 i64 U8 u8 U16 u16 U32 u32 U64 u64);
    assert_eq!(DType::Bool.iinfo().unwrap_err().kind(), ErrorKind::Dtype);
    assert_eq!(DType::I8.finfo().unwrap_err().kind(), ErrorKind::Dtype);
}

#[test]
fn limits_of_8_bit_floats_are_the_published_ones() {
    // Max, smallest normal, smallest subnormal, eps; Micikevicius et al. 2022 and Noune et al. 2022.
    for (name, max, normal, subnormal, eps) in [
        ("float8_e4m3fn", 448.0, -6, -9, -3),
        ("float8_e5m2", 57344.0, -14, -16, -2),
        ("float8_e4m3fnuz", 240.0, -7, -10, -3),
        ("float8_e5m2fnuz", 57344.0, -15, -17, -2),
    ] {
        let info = name.parse::<DType>().unwrap().finfo().unwrap();
        assert_eq!(info.max, max, "{name}");
        assert_eq!(info.smallest_normal, 2_f64.powi(normal), "{name}");
        assert_eq!(info.smallest_subnormal, 2_f64.powi(subnormal), "{name}");
        assert_eq!(info.eps, 2_f64.powi(eps), "{name}");
        assert_eq!(info.has_inf, name == "float8_e5m2");
    }
}

#[test]
fn floats_hold_every_integer_up_to_the_first_gap() {
    for dtype in Set::Inexact.members() {
        let real = dtype.to_real();
        let last = dtype.exact_integers();
        let holds = |n: i128| Scalar::new(n, real).unwrap().value() == WeakScalar::Float(n as f64);
        // Beyond 2^53 float64 cannot tell them apart any more.
        let is_gap = real == DType::F64 || !holds(last + 1);
        assert!(
            ((last - 1000).max(0)..=last).all(holds) && is_gap,
            "{dtype}"
        );
    }
    assert_eq!(DType::I64.exact_integers(), 0);
}

#[test]
fn real_and_complex_partners() {
    for dtype in DType::ALL {
        assert!(dtype.to_complex().is_complex());
        assert!(!dtype.to_real().is_complex());
        if dtype.is_complex() {
            assert_eq!(dtype.to_real().to_complex(), dtype);
        } else {
            assert_eq!(dtype.to_real(), dtype);
        }
    }
    assert_eq!(DType::F64.to_complex(), DType::C128);
    assert_eq!(DType::BF16.to_complex(), DType::C64);
    assert_eq!(DType::I64.to_complex(), DType::C64);
}

#[test]
fn families_keep_the_width_of_their_kind_and_follow_the_device() {
    let cpu = Capabilities::CPU;
    let gpu = Capabilities::probed(|_| false);
    for family in Family::ALL {
        for member in family.members() {
            assert_eq!(family.resolve(Some(member), DType::F32, &cpu), member);
            let there = family.resolve(Some(member), DType::F32, &gpu);
            assert!(
                family.contains(there) && there == gpu.storage(member),
                "{family} of {member}"
            );
        }
    }
    let resolve = |family: Family, data| family.resolve(data, DType::BF16, &cpu);
    assert_eq!(resolve(Family::Float, Some(DType::I32)), DType::BF16);
    assert_eq!(resolve(Family::Float, None), DType::BF16);
    assert_eq!(resolve(Family::Int, Some(DType::U8)), DType::I64);
    assert_eq!(resolve(Family::UInt, Some(DType::F32)), DType::U64);
    assert_eq!(resolve(Family::Complex, Some(DType::F64)), DType::C128);
    assert_eq!(resolve(Family::Complex, Some(DType::F16)), DType::C64);
    assert_eq!(resolve(Family::Complex, Some(DType::I64)), DType::C64);
    assert_eq!(
        Family::Float.resolve(Some(DType::F64), DType::F32, &gpu),
        DType::F32
    );
}

#[test]
fn devices_answer_native_emulated_or_demoted() {
    for dtype in DType::ALL {
        let emulated = dtype.compute() != dtype;
        let want = if emulated {
            Capability::Emulated
        } else {
            Capability::Native
        };
        assert_eq!(Capabilities::CPU.of(dtype), want, "{dtype}");
    }
    let gpu = Capabilities::probed(|d| matches!(d, DType::F16));
    for dtype in DType::ALL {
        match gpu.of(dtype) {
            Capability::Native => assert_eq!(gpu.storage(dtype), dtype),
            Capability::Emulated => assert!(dtype.bits() <= 64 && gpu.storage(dtype) == dtype),
            Capability::Demoted(narrower) => {
                assert_eq!(narrower.kind(), dtype.kind());
                assert!(narrower.bits() < dtype.bits());
                assert_ne!(gpu.of(narrower).name(), "demoted");
            }
        }
    }
    assert_eq!(gpu.of(DType::F16), Capability::Native);
    assert_eq!(gpu.of(DType::U64), Capability::Demoted(DType::U32));
    let full = Capabilities::probed(|_| true);
    assert!(
        DType::ALL
            .into_iter()
            .all(|d| full.of(d) == Capability::Native)
    );
}

#[test]
fn numpy_knows_what_it_should() {
    for dtype in DType::ALL {
        let small_float = dtype.is_floating_point() && dtype.bits() == 8 || dtype == DType::BF16;
        let want = if small_float {
            NumpySource::MlDtypes
        } else {
            NumpySource::Native
        };
        assert_eq!(dtype.descriptor().numpy, want, "{dtype}");
    }
}

#[test]
fn scalars_check_their_range_and_round_once() {
    assert_eq!(
        Scalar::new(255, DType::U8).unwrap().value(),
        WeakScalar::Int(255)
    );
    assert_eq!(
        Scalar::new(256, DType::U8).unwrap_err().kind(),
        ErrorKind::Overflow
    );
    assert_eq!(
        Scalar::new(-1, DType::U64).unwrap_err().kind(),
        ErrorKind::Overflow
    );
    assert_eq!(
        Scalar::new(u64::MAX, DType::U64).unwrap().value(),
        WeakScalar::Int(u64::MAX.into())
    );
    assert_eq!(
        Scalar::new(1.5, DType::I32).unwrap_err().kind(),
        ErrorKind::Dtype
    );
    assert_eq!(
        Scalar::new(2, DType::Bool).unwrap_err().kind(),
        ErrorKind::Dtype
    );
    assert_eq!(
        Scalar::new(70000, DType::F16).unwrap().value(),
        WeakScalar::Float(f64::INFINITY)
    );
    assert_eq!(
        Scalar::new(16_777_217, DType::F32).unwrap().value(),
        WeakScalar::Float(16_777_216.0)
    );
    let third = Scalar::new(c128::new(1.0 / 3.0, 0.0), DType::C64).unwrap();
    assert_eq!(
        third.value(),
        WeakScalar::Complex(c128::new(f64::from(1.0_f32 / 3.0), 0.0))
    );
    assert_eq!(
        Scalar::new(true, DType::F8E4M3Fn).unwrap().value(),
        WeakScalar::Float(1.0)
    );
    assert_eq!(
        Scalar::new(-2, DType::I16).unwrap().to_bytes()[..3],
        [0xFE, 0xFF, 0]
    );
    assert_eq!(
        Scalar::new(1.0, DType::BF16).unwrap().to_bytes()[..2],
        [0x80, 0x3F]
    );
    let above_midpoint = (1_i128 << 100) + (1 << 76) + 1;
    let rounded = Scalar::new(above_midpoint, DType::F32).unwrap().value();
    assert_eq!(rounded, WeakScalar::Float(2_f64.powi(100) + 2_f64.powi(77)));
    let least = Scalar::new(i128::MIN, DType::F64).unwrap().value();
    assert_eq!(least, WeakScalar::Float(-(2_f64.powi(127))));
    let bytes = Scalar::new(c128::new(1.0, -1.0), DType::C64)
        .unwrap()
        .to_bytes();
    assert_eq!(bytes[..8], [0, 0, 0x80, 0x3F, 0, 0, 0x80, 0xBF]);
}

#[test]
fn scalars_survive_the_way_through_bytes() {
    for dtype in DType::ALL {
        for value in [0, 1, 100] {
            let value = if dtype == DType::Bool {
                WeakScalar::Bool(value != 0)
            } else {
                value.into()
            };
            let scalar = Scalar::new(value, dtype).unwrap();
            let bytes = scalar.to_bytes();
            assert_eq!(
                Scalar::from_bytes(dtype, &bytes[..dtype.itemsize()]),
                Ok(scalar)
            );
            assert!(Scalar::from_bytes(dtype, &bytes[..dtype.itemsize() - 1]).is_err());
        }
        if dtype.is_signed() {
            let scalar = Scalar::new(-3, dtype).unwrap();
            let bytes = scalar.to_bytes();
            assert_eq!(
                Scalar::from_bytes(dtype, &bytes[..dtype.itemsize()]),
                Ok(scalar)
            );
        }
    }
}

#[test]
fn settings_are_scoped_to_a_thread() {
    let outside = default_dtype();
    {
        let _outer = scoped_default_dtype(DType::F64).unwrap();
        {
            let _inner = scoped_default_dtype(DType::BF16).unwrap();
            assert_eq!(default_dtype(), DType::BF16);
            // A setter inside a scope changes the scope, not the process.
            set_default_dtype(DType::F16).unwrap();
            assert_eq!(default_dtype(), DType::F16);
            let elsewhere = std::thread::spawn(default_dtype).join().unwrap();
            assert_eq!(elsewhere, outside);
        }
        assert_eq!(default_dtype(), DType::F64);
    }
    assert_eq!(default_dtype(), outside);
    let first = scoped_default_dtype(DType::F64).unwrap();
    let second = scoped_default_dtype(DType::BF16).unwrap();
    drop(first);
    assert_eq!(default_dtype(), DType::BF16);
    drop(second);
    assert_eq!(default_dtype(), outside);
    let _strict = scoped_promotion(allotrope_dtype::Policy::Strict);
    assert_eq!(
        allotrope_dtype::promotion(),
        allotrope_dtype::Policy::Strict
    );
    assert_eq!(
        scoped_default_dtype(DType::I32).err().unwrap().kind(),
        ErrorKind::Dtype
    );
}

#[test]
fn booleans_compare_by_truth() {
    assert_eq!(Bool8::from_byte(7), Bool8::TRUE);
    assert_ne!(Bool8::from_byte(7), Bool8::FALSE);
    assert!(bool::from(Bool8::from(true)) && !Bool8::default().get());
}
