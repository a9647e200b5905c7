//! Optimizers for Rust: groups of parameters with what is remembered of them. Python has its own, since
//! groups and state are dicts there; the steps are the same.

use std::collections::BTreeMap;
use std::fmt;

use allotrope_tensor::{DType, Error, Generator, Problem, Tensor, Variable};
use smallvec::SmallVec;

use super::algorithm::{Algorithm, Numbers};
use super::lr_scheduler::Rates;
use super::options::OptionValue;
use super::precision::Precision;
use super::step::{
    Group, Item, MASTER, check_names, check_number, initial_state, number, step, widened,
};
use super::{
    ASGDOptions, AdadeltaOptions, AdafactorOptions, AdagradOptions, AdamOptions, AdamWOptions,
    AdamaxOptions, LionOptions, MuonOptions, NAdamOptions, RAdamOptions, RMSpropOptions,
    RpropOptions, SGDOptions,
};
use crate::Parameter;

/// What is remembered of one parameter.
#[derive(Debug, Default)]
struct Remembered {
    numbers: BTreeMap<&'static str, f64>,
    tensors: BTreeMap<&'static str, Variable>,
    /// Whether no step was taken since the tensors were made.
    is_first: bool,
}

/// Parameters with their own hyper-parameters.
#[derive(Debug)]
struct Members<A> {
    options: A,
    precision: Precision,
    parameters: Vec<Parameter>,
    state: Vec<Remembered>,
}

/// What changes parameters by their gradients, whatever its rule: what a program holds that chooses its
/// optimizer while it runs, or has one of its own. Schedulers take it as they take any other.
///
/// ```
/// use allotrope_nn::optim::{AdamW, AdamWOptions, Optimizer, SGD, SGDOptions};
/// use allotrope_nn::{DType, Error, Parameter, Tensor};
///
/// fn by_name(name: &str, weight: &Parameter) -> Result<Box<dyn Optimizer>, Error> {
///     let weights = [weight.clone()];
///     Ok(match name {
///         "sgd" => Box::new(SGD::new(weights, SGDOptions::default())?),
///         _ => Box::new(AdamW::new(weights, AdamWOptions::default())?),
///     })
/// }
///
/// let weight = Parameter::new(Tensor::ones(2, DType::F32)?)?;
/// let mut optimizer = by_name("sgd", &weight)?;
/// optimizer.set_lr(0.25)?;
/// weight.value().sum_all()?.backward()?;
/// optimizer.step()?;
/// optimizer.zero_grad()?;
/// assert_eq!((optimizer.lr(), weight.value().to_vec::<f32>()?), (0.25, vec![0.75; 2]));
/// # Ok::<(), Error>(())
/// ```
pub trait Optimizer: Rates + fmt::Debug + Send + Sync {
    /// Takes a step of every parameter that has a gradient.
    ///
    /// # Errors
    /// A value error for hyper-parameters without a meaning, a memory error.
    fn step(&mut self) -> Result<(), Error>;

    /// Forgets all gradients.
    ///
    /// # Errors
    /// As [`Parameter::zero_grad`].
    fn zero_grad(&self) -> Result<(), Error>;

    /// What is remembered, in torch's form.
    ///
    /// # Errors
    /// A memory error.
    fn state_dict(&self) -> Result<StateDict, Error>;

    /// Goes on from what was remembered.
    ///
    /// # Errors
    /// A value error for other groups, names or shapes; then nothing has changed.
    fn load_state_dict(&mut self, dict: &StateDict) -> Result<(), Error>;

    /// The learning rate of the first group.
    fn lr(&self) -> f64 {
        self.lrs().first().copied().unwrap_or(0.0)
    }

    /// Sets the learning rate of every group.
    ///
    /// # Errors
    /// As [`Rates::set_lrs`].
    fn set_lr(&mut self, lr: f64) -> Result<(), Error> {
        let lrs = vec![lr; self.lrs().len()];
        self.set_lrs(&lrs)
    }
}

impl<A: Algorithm + Clone> Optimizer for OptimizerOf<A> {
    fn step(&mut self) -> Result<(), Error> {
        self.step()
    }

    fn zero_grad(&self) -> Result<(), Error> {
        self.zero_grad()
    }

    fn state_dict(&self) -> Result<StateDict, Error> {
        self.state_dict()
    }

    fn load_state_dict(&mut self, dict: &StateDict) -> Result<(), Error> {
        self.load_state_dict(dict)
    }
}

/// Parameters, and the rule that changes them by their gradients.
///
/// ```
/// use allotrope_nn::optim::{Precision, SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(&[2], DType::BF16)?)?;
/// let options = SGDOptions { lr: 1e-3, momentum: 0.9, ..Default::default() };
/// let precision = Precision { master_weights: true, ..Default::default() };
/// let mut optimizer = SGD::with_precision([weight.clone()], options, precision)?;
/// weight.value().sum_all()?.backward()?;
/// optimizer.step()?;
/// // bfloat16 has no number between 1 and 0.996; the master of float32 has moved.
/// assert_eq!(weight.value().to(DType::F32)?.to_vec::<f32>()?, [1.0; 2]);
/// let master = optimizer.state(&weight, "master_weight").unwrap();
/// assert_eq!(master.to_vec::<f32>()?, [0.999; 2]);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct OptimizerOf<A> {
    groups: Vec<Members<A>>,
    generator: Generator,
}

/// Gradient descent, with momentum.
///
/// ```
/// use allotrope_nn::optim::{SGD, SGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = SGD::new([weight.clone()], SGDOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type SGD = OptimizerOf<SGDOptions>;
/// Adam.
///
/// ```
/// use allotrope_nn::optim::{Adam, AdamOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Adam::new([weight.clone()], AdamOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Adam = OptimizerOf<AdamOptions>;
/// Adam with weights that shrink beside the step.
///
/// ```
/// use allotrope_nn::optim::{AdamW, AdamWOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = AdamW::new([weight.clone()], AdamWOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type AdamW = OptimizerOf<AdamWOptions>;
/// Adam by the largest gradient of late.
///
/// ```
/// use allotrope_nn::optim::{Adamax, AdamaxOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Adamax::new([weight.clone()], AdamaxOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Adamax = OptimizerOf<AdamaxOptions>;
/// Adam with Nesterov's momentum.
///
/// ```
/// use allotrope_nn::optim::{NAdam, NAdamOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = NAdam::new([weight.clone()], NAdamOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type NAdam = OptimizerOf<NAdamOptions>;
/// Adam without a divisor until enough squares are known.
///
/// ```
/// use allotrope_nn::optim::{RAdam, RAdamOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = RAdam::new([weight.clone()], RAdamOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type RAdam = OptimizerOf<RAdamOptions>;
/// Steps by the root of the mean square.
///
/// ```
/// use allotrope_nn::optim::{RMSprop, RMSpropOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = RMSprop::new([weight.clone()], RMSpropOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type RMSprop = OptimizerOf<RMSpropOptions>;
/// Steps by the sign of the gradient.
///
/// ```
/// use allotrope_nn::optim::{Rprop, RpropOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Rprop::new([weight.clone()], RpropOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Rprop = OptimizerOf<RpropOptions>;
/// Steps by the root of the sum of squares.
///
/// ```
/// use allotrope_nn::optim::{Adagrad, AdagradOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Adagrad::new([weight.clone()], AdagradOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Adagrad = OptimizerOf<AdagradOptions>;
/// Steps in the units of the steps before.
///
/// ```
/// use allotrope_nn::optim::{Adadelta, AdadeltaOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Adadelta::new([weight.clone()], AdadeltaOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Adadelta = OptimizerOf<AdadeltaOptions>;
/// Averaged gradient descent.
///
/// ```
/// use allotrope_nn::optim::{ASGD, ASGDOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = ASGD::new([weight.clone()], ASGDOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type ASGD = OptimizerOf<ASGDOptions>;
/// Steps by the sign of the momentum.
///
/// ```
/// use allotrope_nn::optim::{Lion, LionOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Lion::new([weight.clone()], LionOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Lion = OptimizerOf<LionOptions>;
/// Adam with a mean of squares that is a product of rows and columns.
///
/// ```
/// use allotrope_nn::optim::{Adafactor, AdafactorOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones(2, DType::F64)?)?;
/// let mut optimizer = Adafactor::new([weight.clone()], AdafactorOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Adafactor = OptimizerOf<AdafactorOptions>;
/// Steps by the orthogonal matrix next to the momentum.
///
/// ```
/// use allotrope_nn::optim::{Muon, MuonOptions};
/// use allotrope_nn::{DType, Parameter, Tensor};
/// let weight = Parameter::new(Tensor::ones((2, 2), DType::F64)?)?;
/// let mut optimizer = Muon::new([weight.clone()], MuonOptions::default())?;
/// weight.value().square()?.sum_all()?.backward()?;
/// optimizer.step()?;
/// assert!(weight.value().max_all()?.to_scalar::<f64>()? < 1.0);
/// # Ok::<(), allotrope_nn::Error>(())
/// ```
pub type Muon = OptimizerOf<MuonOptions>;

/// What an optimizer remembers, in torch's form.
#[derive(Clone, Debug, Default)]
pub struct StateDict {
    /// What is remembered of each parameter, by its number.
    pub state: BTreeMap<usize, BTreeMap<String, Tensor>>,
    /// The groups.
    pub param_groups: Vec<GroupState>,
    /// The state of the generator that rounds, if parameters are rounded by chance.
    pub generator: Option<Tensor>,
}

/// A group in a [`StateDict`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupState {
    /// The hyper-parameters.
    pub options: Vec<(String, OptionValue)>,
    /// The numbers of its parameters.
    pub params: Vec<usize>,
}

/// What stands in a [`StateDict`] under a name: numbers are tensors of no dimension.
pub type StateValue = Tensor;

impl<A: Algorithm + Clone> OptimizerOf<A> {
    /// An optimizer of one group of parameters.
    ///
    /// # Errors
    /// A value error for hyper-parameters without a meaning, for no parameters, or for one that is
    /// given twice.
    pub fn new(parameters: impl IntoIterator<Item = Parameter>, options: A) -> Result<Self, Error> {
        Self::with_precision(parameters, options, Precision::default())
    }

    /// An optimizer of one group of parameters, with dtypes of state and rounding as given.
    ///
    /// # Errors
    /// As [`new`](Self::new); a dtype error for a state that is no float.
    pub fn with_precision(
        parameters: impl IntoIterator<Item = Parameter>,
        options: A,
        precision: Precision,
    ) -> Result<Self, Error> {
        let mut optimizer = Self {
            groups: Vec::new(),
            generator: Generator::default(),
        };
        optimizer.add_group(parameters, options, precision)?;
        Ok(optimizer)
    }

    /// Adds parameters with hyper-parameters of their own.
    ///
    /// # Errors
    /// As [`with_precision`](Self::with_precision).
    pub fn add_group(
        &mut self,
        parameters: impl IntoIterator<Item = Parameter>,
        options: A,
        precision: Precision,
    ) -> Result<(), Error> {
        let name = options.name();
        options.check()?;
        precision.check(name)?;
        let parameters: Vec<Parameter> = parameters.into_iter().collect();
        let known = self.groups.iter().flat_map(|group| &group.parameters);
        let known: Vec<&Parameter> = known.collect();
        let mut problem = parameters.is_empty().then_some("an empty list");
        for (number, parameter) in parameters.iter().enumerate() {
            options.check_parameter(&parameter.value())?;
            let mut before = known.iter().copied().chain(&parameters[..number]);
            if before.any(|other| other.is(parameter)) {
                problem = Some("one parameter twice");
            }
        }
        if let Some(value) = problem {
            let problem = Problem::OutOfRange {
                what: "parameters",
                index: None,
                value: value.to_owned(),
                accepted: "at least one, each of them once,",
            };
            return Err(Error::new(name, problem));
        }
        let state = parameters.iter().map(|_| Remembered::default()).collect();
        self.groups.push(Members {
            options,
            precision,
            parameters,
            state,
        });
        Ok(())
    }

    /// The hyper-parameters of each group, to be looked at or changed.
    pub fn groups_mut(&mut self) -> impl Iterator<Item = &mut A> {
        self.groups.iter_mut().map(|group| &mut group.options)
    }

    /// The hyper-parameters of each group.
    pub fn groups(&self) -> impl Iterator<Item = &A> {
        self.groups.iter().map(|group| &group.options)
    }

    /// The learning rates of all groups.
    #[must_use]
    pub fn lrs(&self) -> Vec<f64> {
        let lr = |group: &A| {
            let mut values = group.values().into_iter();
            values.find_map(|(name, value)| match value {
                OptionValue::Number(lr) if name == "lr" => Some(lr),
                _ => None,
            })
        };
        self.groups()
            .map(|group| lr(group).unwrap_or(0.0))
            .collect()
    }

    /// Sets the learning rates of all groups.
    ///
    /// # Errors
    /// None that can be reached: every group has one.
    pub fn set_lrs(&mut self, lrs: &[f64]) -> Result<(), Error> {
        for (group, lr) in self.groups_mut().zip(lrs) {
            group.set("lr", &OptionValue::Number(*lr))?;
        }
        Ok(())
    }

    /// The generator that rounds parameters by chance.
    #[must_use]
    pub fn generator(&self) -> &Generator {
        &self.generator
    }

    /// A tensor that is remembered of a parameter, by its name.
    #[must_use]
    pub fn state(&self, parameter: &Parameter, name: &str) -> Option<Tensor> {
        self.groups.iter().find_map(|group| {
            let number = group.parameters.iter().position(|p| p.is(parameter))?;
            let tensor = group.state[number].tensors.get(name)?;
            Some(tensor.value())
        })
    }

    /// Forgets all gradients.
    ///
    /// # Errors
    /// None that can be reached: there is always room for nothing.
    pub fn zero_grad(&self) -> Result<(), Error> {
        let mut parameters = self.groups.iter().flat_map(|group| &group.parameters);
        parameters.try_for_each(Parameter::zero_grad)
    }

    /// Takes a step of every parameter that has a gradient.
    ///
    /// # Errors
    /// A value error for hyper-parameters without a meaning or state of another shape, a memory error;
    /// then nothing has changed.
    pub fn step(&mut self) -> Result<(), Error> {
        for group in &mut self.groups {
            group.options.check()?;
            group.prepare()?;
        }
        let mut groups: Vec<Group<'_>> = self.groups.iter().map(Members::group).collect();
        step(&mut groups, Some(&self.generator))?;
        let numbers = groups
            .into_iter()
            .map(|group| group.items.into_iter().map(|item| item.numbers).collect());
        let numbers: Vec<Vec<Numbers>> = numbers.collect();
        for (group, numbers) in self.groups.iter_mut().zip(numbers) {
            group.count(numbers);
        }
        Ok(())
    }

    /// Evaluates a loss, whose gradients the function leaves behind, and takes a step.
    ///
    /// # Errors
    /// What the function fails with, and as [`step`](Self::step).
    pub fn step_with<T>(&mut self, loss: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let loss = loss()?;
        self.step()?;
        Ok(loss)
    }

    /// What is remembered, in torch's form: counts are float32 tensors of no dimension.
    ///
    /// # Errors
    /// A memory error.
    pub fn state_dict(&self) -> Result<StateDict, Error> {
        let mut dict = StateDict::default();
        let mut first = 0;
        for group in &self.groups {
            let count = group.parameters.len();
            for (number, remembered) in (first..).zip(&group.state) {
                let mut entry = BTreeMap::new();
                for (name, value) in &remembered.numbers {
                    let value = Tensor::full(&[], *value, DType::F32)?;
                    entry.insert((*name).to_owned(), value);
                }
                for (name, tensor) in &remembered.tensors {
                    entry.insert((*name).to_owned(), tensor.value().detach());
                }
                if !entry.is_empty() {
                    dict.state.insert(number, entry);
                }
            }
            let options = group.options.values().into_iter();
            dict.param_groups.push(GroupState {
                options: options
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
                params: (first..first + count).collect(),
            });
            first += count;
        }
        if self
            .groups
            .iter()
            .any(|group| group.precision.stochastic_rounding)
        {
            dict.generator = Some(self.generator.state()?);
        }
        Ok(dict)
    }

    /// Goes on from what was remembered, in the dtypes it was remembered in.
    ///
    /// # Errors
    /// A value error for other groups, names or shapes; then nothing has changed.
    pub fn load_state_dict(&mut self, dict: &StateDict) -> Result<(), Error> {
        let op = "load_state_dict";
        let refuse = |what, from, to| {
            let value = format!("{from}");
            let accepted: &'static str = what;
            let problem = Problem::OutOfRange {
                what: "the number of saved groups or parameters",
                index: None,
                value,
                accepted,
            };
            Err(Error::new(op, problem).hint(format!("{to}")))
        };
        let sizes = |group: &Members<A>| group.parameters.len();
        if dict.param_groups.len() != self.groups.len() {
            let (from, to) = (dict.param_groups.len(), self.groups.len());
            return refuse("as many groups as there are", from, to);
        }
        let mut loaded = Vec::new();
        for (group, saved) in self.groups.iter().zip(&dict.param_groups) {
            if sizes(group) != saved.params.len() {
                let (from, to) = (saved.params.len(), sizes(group));
                return refuse("as many parameters as there are", from, to);
            }
            let mut options = group.options.clone();
            for (name, value) in &saved.options {
                options.set(name, value)?;
            }
            options.check()?;
            let mut state = Vec::new();
            for (parameter, number) in group.parameters.iter().zip(&saved.params) {
                let entry = dict.state.get(number);
                state.push(remembered(
                    op,
                    &options,
                    &group.precision,
                    parameter,
                    entry,
                )?);
            }
            loaded.push((options, state));
        }
        if let Some(state) = &dict.generator {
            self.generator.set_state(state)?;
        }
        for (group, (options, state)) in self.groups.iter_mut().zip(loaded) {
            group.options = options;
            group.state = state;
        }
        Ok(())
    }
}

/// What was remembered of one parameter, if it is of the algorithm.
fn remembered(
    op: &'static str,
    algorithm: &dyn Algorithm,
    precision: &Precision,
    parameter: &Parameter,
    entry: Option<&BTreeMap<String, Tensor>>,
) -> Result<Remembered, Error> {
    let mut remembered = Remembered::default();
    let value = parameter.value();
    if let Some(entry) = entry {
        let slots = algorithm.slots(value.shape());
        check_names(op, algorithm, &slots, |name| entry.contains_key(name))?;
    }
    for (name, tensor) in entry.into_iter().flatten() {
        let numbers = algorithm.number_names().iter();
        if let Some(known) = numbers.copied().find(|known| known == name) {
            let number = number(tensor)?;
            check_number(op, known, number)?;
            remembered.numbers.insert(known, number);
            continue;
        }
        if name == MASTER {
            let tensor = Variable::new(tensor.detach().to_device(value.device())?);
            remembered.tensors.insert(MASTER, tensor);
            continue;
        }
        let slots = algorithm.slots(value.shape());
        let Some(slot) = slots.iter().find(|slot| slot.name == name) else {
            let names: Vec<&str> = slots.iter().map(|slot| slot.name).collect();
            return Err(Error::unknown_option(op, "state", name, &names));
        };
        let tensor = tensor.detach().to_device(value.device())?;
        let wide = widened(slot, &tensor, &value, precision).map_err(|error| error.in_op(op))?;
        let tensor = wide.unwrap_or(tensor);
        remembered.tensors.insert(slot.name, Variable::new(tensor));
    }
    Ok(remembered)
}

impl<A: Algorithm> Members<A> {
    /// Makes room for what is to be remembered of every parameter with a gradient.
    fn prepare(&mut self) -> Result<(), Error> {
        for (parameter, remembered) in self.parameters.iter().zip(&mut self.state) {
            if parameter.grad().is_none() {
                continue;
            }
            let value = parameter.value();
            // What is remembered follows a parameter that was moved.
            let moved = remembered.tensors.values();
            for known in moved.filter(|known| known.value().device() != value.device()) {
                known.rebind(known.value().to_device(value.device())?);
            }
            for (number, slot) in self.options.slots(value.shape()).iter().enumerate() {
                match remembered.tensors.get(slot.name) {
                    Some(known) => {
                        let wide = widened(slot, &known.value(), &value, &self.precision)?;
                        if let Some(wide) = wide {
                            known.rebind(wide);
                        }
                    }
                    None => {
                        let first = initial_state(slot, &value, &self.precision)?;
                        remembered.is_first |= number == 0;
                        remembered.tensors.insert(slot.name, Variable::new(first));
                    }
                }
            }
            if let Some(dtype) = self.precision.master_of(value.dtype())
                && !remembered.tensors.contains_key(MASTER)
            {
                let master = value.detach().to(dtype)?;
                remembered.tensors.insert(MASTER, Variable::new(master));
            }
        }
        Ok(())
    }

    fn group(&self) -> Group<'_> {
        let mut items = Vec::new();
        for (parameter, remembered) in self.parameters.iter().zip(&self.state) {
            let Some(gradient) = parameter.grad() else {
                continue;
            };
            let slots = self.options.slots(parameter.value().shape());
            let state: SmallVec<[&Variable; 4]> = slots
                .iter()
                .filter_map(|slot| remembered.tensors.get(slot.name))
                .collect();
            let first = self.options.first_numbers();
            let names = self.options.number_names();
            let numbers = names
                .iter()
                .zip(first)
                .map(|(name, first)| remembered.numbers.get(name).copied().unwrap_or(first));
            items.push(Item {
                parameter: parameter.variable(),
                gradient,
                state,
                master: remembered.tensors.get(MASTER),
                numbers: numbers.collect(),
                is_first: remembered.is_first,
            });
        }
        Group {
            algorithm: &self.options,
            precision: self.precision,
            items,
        }
    }

    /// Remembers the numbers after a step.
    fn count(&mut self, numbers: Vec<Numbers>) {
        let mut numbers = numbers.into_iter();
        for (parameter, remembered) in self.parameters.iter().zip(&mut self.state) {
            if parameter.grad().is_none() {
                continue;
            }
            remembered.is_first = false;
            let Some(after) = numbers.next() else {
                continue;
            };
            for (name, number) in self.options.number_names().iter().zip(after) {
                remembered.numbers.insert(*name, number);
            }
        }
    }
}
