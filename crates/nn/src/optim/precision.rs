//! Which dtype an optimizer remembers in and computes in, and how parameters are rounded.

use allotrope_tensor::{Capabilities, DType, Error, Numeric, Problem, Set, default_dtype};

/// What is kept in which dtype.
///
/// | parameter | state | arithmetic |
/// |---|---|---|
/// | float64 | float64 | float64 |
/// | float32 | float32 | float32 |
/// | narrower | float32 | float32, rounded once |
///
/// State is never narrower than that unless `state_dtype` says so, and never rounded: a parameter that
/// gets another dtype, or a state that was saved in another one, is met by widening the state. With
/// the family `Float` for `state_dtype` every parameter has state of its own dtype.
///
/// ```
/// use allotrope_nn::optim::Precision;
/// use allotrope_tensor::{DType, Family};
/// let precision = Precision { master_weights: true, ..Default::default() };
/// assert_eq!(precision.master_of(DType::BF16), Some(DType::F32));
/// let precision = Precision { state_dtype: Some(Family::Float.into()), ..Default::default() };
/// assert_eq!(precision.state_of(DType::F16), DType::F16);
/// assert_eq!(Precision::default().state_of(DType::F16), DType::F32);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Precision {
    /// The dtype of the state, if it is another, or the family that leaves it to each parameter.
    pub state_dtype: Option<Numeric>,
    /// Whether steps are taken in a copy of float32 (or of the state's dtype, if that is wider), of which
    /// the parameter is the rounded value.
    pub master_weights: bool,
    /// Whether parameters are rounded up or down by chance, so that small steps are not lost.
    pub stochastic_rounding: bool,
}

impl Precision {
    /// Refuses a dtype of state that is no float.
    ///
    /// # Errors
    /// A dtype error.
    pub fn check(&self, op: &'static str) -> Result<(), Error> {
        let given = self.state_for(default_dtype());
        match given.filter(|given| !given.is_floating_point()) {
            Some(given) => {
                let set = Set::Float;
                Err(Error::new(op, Problem::NotInSet { given, set }))
            }
            None => Ok(()),
        }
    }

    /// What is asked for the state of a real parameter.
    fn state_for(&self, parameter: DType) -> Option<DType> {
        let resolve =
            |state: Numeric| state.resolve(Some(parameter), default_dtype(), &Capabilities::CPU);
        self.state_dtype.map(resolve)
    }

    /// The dtype of new state of a parameter; complex for complex ones.
    #[must_use]
    pub fn state_of(&self, parameter: DType) -> DType {
        let real = parameter.to_real();
        let of_real = self.state_for(real).unwrap_or(real.compute());
        match parameter.is_complex() {
            true => of_real.compute().to_complex(),
            false => of_real,
        }
    }

    /// The dtype of the master of a parameter; nothing if the parameter holds its values itself.
    #[must_use]
    pub fn master_of(&self, parameter: DType) -> Option<DType> {
        let wide = match self.state_for(parameter.to_real()) {
            Some(DType::F64) => DType::F64,
            _ => DType::F32,
        };
        let master = match parameter.is_complex() {
            true => wide.to_complex(),
            false => wide,
        };
        (self.master_weights && !master.fits_in(parameter)).then_some(master)
    }
}

/// The real dtype that a step of these is computed in.
pub(crate) fn computing(dtypes: impl IntoIterator<Item = DType>) -> DType {
    let is_wide = dtypes
        .into_iter()
        .any(|dtype| dtype.to_real() == DType::F64);
    if is_wide { DType::F64 } else { DType::F32 }
}
