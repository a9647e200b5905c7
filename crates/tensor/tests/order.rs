//! Order and scans from Rust: what does not depend on threads, and the errors.

use allotrope_dtype::{DType, Error, ErrorKind, f8e4m3fn};
use allotrope_tensor::{Generator, QuantileInterpolation, Tensor};

/// Random numbers from a seed of their own.
fn draw(sizes: &[usize]) -> Result<Tensor, Error> {
    let generator = Generator::default();
    generator.manual_seed(7);
    Tensor::rand(sizes, DType::F32, Some(&generator))
}

#[test]
fn float8_with_duplicates_and_nan_is_sorted() -> Result<(), Error> {
    let values = [3.0, f32::NAN, -0.0, 0.0, 3.0, -448.0].map(f8e4m3fn::from_f32);
    let (sorted, places) = Tensor::from_slice(&values, &[6])?.sort(0, false)?;
    assert_eq!(places.to_vec::<i64>()?, [5, 2, 3, 0, 4, 1]);
    let sorted = sorted.to(DType::F32)?.to_vec::<f32>()?;
    assert_eq!(sorted[..5], [-448.0, 0.0, 0.0, 3.0, 3.0]);
    assert!(sorted[1].is_sign_negative() && sorted[2].is_sign_positive() && sorted[5].is_nan());
    Ok(())
}

#[test]
fn lines_of_any_length_are_in_order() -> Result<(), Error> {
    for length in [1, 2, 150, 170, 4096, 65_536, 65_537, 300_000] {
        let x = draw(&[length])?;
        let (values, places) = x.sort(-1, false)?;
        let (values, places) = (values.to_vec::<f32>()?, places.to_vec::<i64>()?);
        assert!(values.windows(2).all(|pair| pair[0] <= pair[1]), "{length}");
        let x = x.to_vec::<f32>()?;
        assert!(
            places
                .iter()
                .zip(&values)
                .all(|(place, value)| x[*place as usize] == *value)
        );
        let mut seen = places.clone();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..length as i64), "{length}");
    }
    Ok(())
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() -> Result<(), Error> {
    let x = draw(&[5, 50_000])?;
    let all = || -> Result<Vec<Vec<u8>>, Error> {
        let long = x.ravel()?;
        Ok(vec![
            x.cumsum(1, None)?.to_bytes()?,
            x.cumsum(0, None)?.to_bytes()?,
            long.cumsum(0, None)?.to_bytes()?,
            long.to(DType::F64)?.cumsum(0, None)?.to_bytes()?,
            long.logcumsumexp(0)?.to_bytes()?,
            long.sort(0, true)?.1.to_bytes()?,
            long.topk(100, 0, true, true)?.1.to_bytes()?,
        ])
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let expected = all()?;
    for threads in [1, 3] {
        let Ok(pool) = pool(threads) else { continue };
        assert_eq!(pool.install(all)?, expected, "{threads}");
    }
    Ok(())
}

#[test]
fn quantiles_name_bad_fractions() -> Result<(), Error> {
    let x = Tensor::ones(&[3], DType::F32)?;
    let q = Tensor::from_slice(&[0.5, 2.0], &[2])?;
    let error = x.quantile(&q, None, false, QuantileInterpolation::Linear);
    let error = error.err().map(|error| (error.kind(), error.to_string()));
    let text = "quantile: q out of range at index 1: 2.0; fractions from 0 to 1 are accepted";
    assert_eq!(error, Some((ErrorKind::Value, text.to_owned())));
    Ok(())
}
