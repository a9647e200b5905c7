//! What an optimizer remembers of a parameter, and the formula of its step. Programs, dtypes and memory
//! are `step`'s.

use std::fmt;

use allotrope_tensor::{Error, Problem, Tensor, Var};
use smallvec::SmallVec;

use super::options::Options;
use super::{
    ASGDOptions, AdadeltaOptions, AdafactorOptions, AdagradOptions, AdamOptions, AdamWOptions,
    AdamaxOptions, LionOptions, MuonOptions, NAdamOptions, RAdamOptions, RMSpropOptions,
    RpropOptions, SGDOptions,
};

/// Numbers that are remembered of a parameter, such as how many steps it took.
pub type Numbers = SmallVec<[f64; 3]>;

/// A tensor that is remembered of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name, which is torch's.
    pub name: &'static str,
    /// What all of its elements are at first.
    pub first: f64,
    /// Its shape, if it is not the parameter's.
    pub shape: Option<Vec<usize>>,
}

impl Slot {
    /// A tensor like the parameter, of zeros at first.
    #[must_use]
    pub fn zeros(name: &'static str) -> Self {
        Self::full(name, 0.0)
    }

    /// A tensor like the parameter, of one number at first.
    #[must_use]
    pub fn full(name: &'static str, first: f64) -> Self {
        Self {
            name,
            first,
            shape: None,
        }
    }
}

/// What the formula of a step is written over: values of a program in the making, of float32 or
/// float64.
#[derive(Debug)]
pub struct Update<'a, 'b> {
    /// The numbers with this step in them.
    pub numbers: &'a [f64],
    /// The numbers before it.
    pub before: &'a [f64],
    /// Whether nothing was remembered of the parameter.
    pub is_first: bool,
    /// The parameter.
    pub parameter: Var<'b>,
    /// Its gradient.
    pub gradient: Var<'b>,
    /// What is remembered, in the order of the slots.
    pub state: &'a [Var<'b>],
}

/// The parameter after a step, and what is remembered.
#[derive(Debug)]
pub struct Updated<'b> {
    /// The parameter.
    pub parameter: Var<'b>,
    /// What is remembered, in the order of the slots.
    pub state: SmallVec<[Var<'b>; 4]>,
}

/// The same for a step that is no program: one with sums, products of matrices.
#[derive(Debug)]
pub struct TensorUpdate<'a> {
    /// The numbers with this step in them.
    pub numbers: &'a [f64],
    /// The parameter.
    pub parameter: &'a Tensor,
    /// Its gradient.
    pub gradient: &'a Tensor,
    /// What is remembered, in the order of the slots.
    pub state: &'a [Tensor],
    /// The spacing of numbers at one in the parameter's own dtype.
    pub epsilon: f64,
}

/// The parameter after such a step, and what is remembered.
#[derive(Debug)]
pub struct TensorsUpdated {
    /// The parameter.
    pub parameter: Tensor,
    /// What is remembered, in the order of the slots.
    pub state: Vec<Tensor>,
}

/// The rule of an optimizer, with its hyper-parameters.
pub trait Algorithm: Options + fmt::Debug + Send + Sync {
    /// The optimizer's name.
    fn name(&self) -> &'static str;

    /// Refuses hyper-parameters without a meaning.
    ///
    /// # Errors
    /// A value error.
    fn check(&self) -> Result<(), Error>;

    /// Refuses a parameter that the rule is not for.
    ///
    /// # Errors
    /// A value error.
    fn check_parameter(&self, _parameter: &Tensor) -> Result<(), Error> {
        Ok(())
    }

    /// The tensors that are remembered of a parameter of a shape.
    fn slots(&self, shape: &[usize]) -> SmallVec<[Slot; 4]>;

    /// The names of the numbers that are remembered.
    fn number_names(&self) -> &'static [&'static str] {
        &["step"]
    }

    /// What the numbers are at first.
    fn first_numbers(&self) -> Numbers {
        SmallVec::from_slice(&[0.0])
    }

    /// Counts a step.
    fn advance(&self, numbers: &mut [f64]) {
        if let Some(step) = numbers.first_mut() {
            *step += 1.0;
        }
    }

    /// Whether every element takes its step alone, as `update` has it.
    fn is_elementwise(&self) -> bool {
        true
    }

    /// Whether the state is there before the first step, as of Adagrad.
    fn starts_with_state(&self) -> bool {
        false
    }

    /// The formula of a step, element by element.
    fn update<'b>(&self, at: &Update<'_, 'b>) -> Updated<'b> {
        let state = at.state.iter().copied().collect();
        let parameter = at.parameter;
        Updated { parameter, state }
    }

    /// A step of a whole tensor.
    ///
    /// # Errors
    /// A memory error.
    fn update_tensors(&self, at: &TensorUpdate<'_>) -> Result<TensorsUpdated, Error> {
        Ok(TensorsUpdated {
            parameter: at.parameter.clone(),
            state: at.state.to_vec(),
        })
    }
}

/// How an algorithm with its default hyper-parameters is made.
type Make = fn() -> Box<dyn Algorithm>;

/// THE table of algorithms that take their steps parameter by parameter.
const ALGORITHMS: &[(&str, Make)] = &[
    ("ASGD", || Box::<ASGDOptions>::default()),
    ("Adadelta", || Box::<AdadeltaOptions>::default()),
    ("Adafactor", || Box::<AdafactorOptions>::default()),
    ("Adagrad", || Box::<AdagradOptions>::default()),
    ("Adam", || Box::<AdamOptions>::default()),
    ("AdamW", || Box::<AdamWOptions>::default()),
    ("Adamax", || Box::<AdamaxOptions>::default()),
    ("Lion", || Box::<LionOptions>::default()),
    ("Muon", || Box::<MuonOptions>::default()),
    ("NAdam", || Box::<NAdamOptions>::default()),
    ("RAdam", || Box::<RAdamOptions>::default()),
    ("RMSprop", || Box::<RMSpropOptions>::default()),
    ("Rprop", || Box::<RpropOptions>::default()),
    ("SGD", || Box::<SGDOptions>::default()),
];

/// The names of all algorithms.
///
/// ```
/// use allotrope_nn::optim::algorithm_names;
/// assert!(algorithm_names().any(|name| name == "AdamW"));
/// ```
pub fn algorithm_names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name)
}

/// An algorithm with its default hyper-parameters, by name.
///
/// ```
/// use allotrope_nn::optim::algorithm;
/// assert_eq!(algorithm("AdamW")?.name(), "AdamW");
/// assert!(algorithm("AdamX").is_err());
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
///
/// # Errors
/// A value error that names those there are.
pub fn algorithm(name: &str) -> Result<Box<dyn Algorithm>, Error> {
    match ALGORITHMS.iter().find(|(known, _)| *known == name) {
        Some((_, make)) => Ok(make()),
        None => {
            let accepted: Vec<&str> = algorithm_names().collect();
            let problem = Problem::UnknownOption {
                what: "optimizer",
                given: name.to_owned(),
                accepted: accepted.join(", "),
            };
            Err(Error::new("optimizer", problem))
        }
    }
}

/// A gradient with the penalty of weights in it, and turned around for a maximum.
pub(crate) fn penalised<'b>(at: &Update<'_, 'b>, maximize: bool, weight_decay: f64) -> Var<'b> {
    let gradient = if maximize { -at.gradient } else { at.gradient };
    if weight_decay == 0.0 {
        return gradient;
    }
    gradient + at.parameter * weight_decay
}

/// `from` on its way to `to`, by a share of it.
pub(crate) fn lerp<'b>(from: Var<'b>, to: Var<'b>, share: f64) -> Var<'b> {
    if share < 0.5 {
        from + (to - from) * share
    } else {
        to - (to - from) * (1.0 - share)
    }
}

/// A running mean of squares.
pub(crate) fn mean_square<'b>(mean: Var<'b>, x: Var<'b>, beta: f64) -> Var<'b> {
    mean * beta + x * (1.0 - beta) * x
}
