//! One layer in one direction: products of all inputs at once, then step by step.
//!
//! What is recorded is one node for all steps, with a way back of its own over the gates that were
//! saved. Where the way back is itself recorded, the steps are taken again as operations that are.

use allotrope_dtype::Error;
use allotrope_tensor::{
    BackwardOptions, Tensor, evaluate, grad, is_grad_enabled, no_grad, record_function,
};

use super::cell::{Programs, Recurrence};
use super::steps::{Carried, Steps};

/// The parameters of one layer in one direction.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) input: Tensor,
    pub(super) hidden: Tensor,
    pub(super) biases: Option<(Tensor, Tensor)>,
    pub(super) projection: Option<Tensor>,
}

/// What a layer gives in one direction.
pub(super) struct Scanned {
    pub(super) output: Tensor,
    pub(super) hidden: Tensor,
    pub(super) cell: Option<Tensor>,
}

/// The layer's results for rows of data.
pub(super) fn scan(
    kind: Recurrence,
    data: &Tensor,
    steps: &Steps,
    hidden: &Tensor,
    cell: Option<&Tensor>,
    weights: &Weights,
) -> Result<Scanned, Error> {
    // Where both products are only added, so are the biases.
    let (for_input, for_hidden) = match &weights.biases {
        None => (None, None),
        Some((one, other)) if kind.keeps_products_apart() => {
            (Some(one.clone()), Some(other.clone()))
        }
        Some((one, other)) => (Some(one.add(other)?), None),
    };
    let operands = Operands {
        products: data.linear(&weights.input, for_input.as_ref())?,
        hidden: hidden.clone(),
        cell: cell.cloned(),
        weight: weights.hidden.clone(),
        bias: for_hidden,
        projection: weights.projection.clone(),
    };
    operands.recorded(kind, steps)
}

/// What the steps are taken with, all of one dtype.
#[derive(Clone, Debug)]
struct Operands {
    products: Tensor,
    hidden: Tensor,
    cell: Option<Tensor>,
    weight: Tensor,
    bias: Option<Tensor>,
    projection: Option<Tensor>,
}

/// What a step leaves for the way back.
struct Saved {
    gates: Vec<Tensor>,
    former: Tensor,
    former_cell: Option<Tensor>,
    hidden: Tensor,
    cell: Option<Tensor>,
    /// The hidden state before it is projected.
    unprojected: Option<Tensor>,
}

impl Operands {
    /// All of them, in one order.
    fn list(&self) -> Vec<&Tensor> {
        let optional = [&self.cell, &self.bias, &self.projection];
        let optional = optional.into_iter().filter_map(Option::as_ref);
        [&self.products, &self.hidden, &self.weight]
            .into_iter()
            .chain(optional)
            .collect()
    }

    /// Others in their place, in the same order.
    fn map(&self, make: impl Fn(&Tensor) -> Result<Tensor, Error>) -> Result<Self, Error> {
        let optional = |x: &Option<Tensor>| x.as_ref().map(&make).transpose();
        Ok(Self {
            products: make(&self.products)?,
            hidden: make(&self.hidden)?,
            weight: make(&self.weight)?,
            cell: optional(&self.cell)?,
            bias: optional(&self.bias)?,
            projection: optional(&self.projection)?,
        })
    }

    /// The results with one node for all steps, where that is to be recorded.
    fn recorded(self, kind: Recurrence, steps: &Steps) -> Result<Scanned, Error> {
        let wants_gradient = self.list().iter().any(|x| x.requires_grad());
        if !wants_gradient || !is_grad_enabled() {
            return self.run(kind, steps, None);
        }
        let programs = Programs::new(kind, self.products.dtype());
        let plain = self.map(|x| Ok(x.detach()))?;
        let mut saved = Vec::new();
        let scanned = {
            let _off = no_grad();
            plain.run(kind, steps, Some(&mut saved))?
        };
        let results = [Some(scanned.output), Some(scanned.hidden), scanned.cell];
        let results = results.into_iter().flatten().collect();
        let inputs: Vec<Tensor> = self.list().into_iter().cloned().collect();
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let steps = steps.clone();
        let results = record_function(kind.name(), &inputs, results, move |gradients, wanted| {
            if is_grad_enabled() {
                self.gradients_recorded(kind, &steps, gradients)
            } else {
                plain.gradients(&programs, kind, &steps, &saved, gradients, wanted)
            }
        })?;
        let mut results = results.into_iter();
        match (results.next(), results.next()) {
            (Some(output), Some(hidden)) => Ok(Scanned {
                output,
                hidden,
                cell: results.next(),
            }),
            // There are two at least.
            _ => Err(Error::new(
                kind.name(),
                allotrope_dtype::Problem::NoOperands,
            )),
        }
    }

    /// The results, step by step; what the way back needs is put where it is wanted.
    fn run(
        &self,
        kind: Recurrence,
        steps: &Steps,
        mut saved: Option<&mut Vec<Saved>>,
    ) -> Result<Scanned, Error> {
        let op = kind.name();
        let programs = Programs::new(kind, self.products.dtype());
        // Few rows are multiplied at a step: columns that are neighbours are read where they are.
        let turned = self.weight.transpose(0, 1)?.contiguous()?;
        let mut hidden = Carried::new(&self.hidden)?;
        let mut cell = self.cell.as_ref().map(Carried::new).transpose()?;
        let mut outputs = Vec::new();
        for (products, size) in steps.cut(&self.products)?.into_iter().zip(steps.taken()) {
            let former = hidden.rows(size)?;
            let former_cell = cell.as_mut().map(|cell| cell.rows(size)).transpose()?;
            let gates = self.gates(kind, &products, &former, &turned)?;
            let carried = match kind {
                Recurrence::RnnTanh | Recurrence::RnnRelu => None,
                Recurrence::Lstm => former_cell.as_ref(),
                Recurrence::Gru => Some(&former),
            };
            let inputs: Vec<&Tensor> = gates.iter().chain(carried).collect();
            let program = match saved {
                Some(_) => &programs.forward_saving,
                None => &programs.forward,
            };
            let mut results = evaluate(op, program, &inputs)?.into_iter();
            let mut new = results.next().unwrap_or_else(|| former.clone());
            let mut new_cell = None;
            if let Some(cell) = &mut cell {
                new_cell = results.next();
                cell.set(new_cell.clone().unwrap_or_else(|| new.clone()));
            }
            let mut unprojected = None;
            if let Some(projection) = &self.projection {
                let projected = new.linear(projection, None)?;
                unprojected = Some(std::mem::replace(&mut new, projected));
            }
            hidden.set(new.clone());
            outputs.push(new.clone());
            if let Some(saved) = saved.as_deref_mut() {
                saved.push(Saved {
                    gates: results.collect(),
                    former,
                    former_cell,
                    hidden: new,
                    cell: new_cell,
                    unprojected,
                });
            }
        }
        Ok(Scanned {
            output: steps.join(outputs)?,
            hidden: hidden.last()?,
            cell: cell.map(Carried::last).transpose()?,
        })
    }

    /// The gates of a step before their functions.
    fn gates(
        &self,
        kind: Recurrence,
        products: &Tensor,
        former: &Tensor,
        turned: &Tensor,
    ) -> Result<Vec<Tensor>, Error> {
        let count = kind.gates();
        let size = self.weight.shape()[0] / count;
        let cut = |x: &Tensor| match count {
            1 => Ok(vec![x.clone()]),
            _ => x.split_sizes(&vec![size; count], 1),
        };
        if kind.keeps_products_apart() {
            let mut gates = cut(products)?;
            let weight = turned.transpose(0, 1)?;
            gates.extend(cut(&former.linear(&weight, self.bias.as_ref())?)?);
            return Ok(gates);
        }
        cut(&products.addmm(former, turned, 1, 1)?)
    }

    /// Gradients that have gradients: those of the steps as recorded operations.
    fn gradients_recorded(
        &self,
        kind: Recurrence,
        steps: &Steps,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>, Error> {
        // Nodes of their own, or gradients would also come by what one operand was computed from.
        let apart = self.map(|x| {
            let same = record_function(kind.name(), &[x], vec![x.detach()], |gradients, _| {
                Ok(gradients.to_vec())
            })?;
            Ok(same.into_iter().next().unwrap_or_else(|| x.clone()))
        })?;
        let scanned = apart.run(kind, steps, None)?;
        let results = [
            Some(&scanned.output),
            Some(&scanned.hidden),
            scanned.cell.as_ref(),
        ];
        let given = results.into_iter().flatten().zip(gradients);
        let (results, gradients): (Vec<&Tensor>, Vec<Option<&Tensor>>) = given
            .filter(|(_, gradient)| gradient.is_some())
            .map(|(result, gradient)| (result, gradient.as_ref()))
            .unzip();
        let options = BackwardOptions {
            create_graph: true,
            retain_graph: true,
        };
        grad(&results, &apart.list(), &gradients, options, true)
    }

    /// Gradients of the operands, in their order, over what was saved.
    fn gradients(
        &self,
        programs: &Programs,
        kind: Recurrence,
        steps: &Steps,
        saved: &[Saved],
        gradients: &[Option<Tensor>],
        wanted: &[bool],
    ) -> Result<Vec<Option<Tensor>>, Error> {
        let op = kind.name();
        let wide = programs.wide;
        let zeros = |like: &Tensor| like.new_zeros(like.shape(), wide);
        let of = |place: usize, like: &Tensor| match gradients.get(place) {
            Some(Some(gradient)) => gradient.to(wide),
            _ => zeros(like),
        };
        let outputs = match gradients.first() {
            Some(Some(gradient)) => Some(steps.cut(gradient)?),
            _ => None,
        };
        let mut hidden = Carried::new(&of(1, &self.hidden)?)?;
        let mut cell = match &self.cell {
            Some(cell) => Some(Carried::new(&of(2, cell)?)?),
            None => None,
        };
        let (mut for_products, mut for_hidden) = (Vec::new(), Vec::new());
        let mut for_projected = Vec::new();
        for (place, saved) in saved.iter().enumerate().rev() {
            let size = saved.former.shape()[0];
            let mut gradient = hidden.rows(size)?;
            if let Some(outputs) = &outputs {
                gradient = first(
                    op,
                    evaluate(op, &programs.add, &[&outputs[place], &gradient])?,
                )?;
            }
            if let Some(projection) = &self.projection {
                let kept = gradient.to(self.products.dtype())?;
                gradient = kept.matmul_in(projection, Some(wide), None)?;
                for_projected.push(kept);
            }
            let for_cell = cell.as_mut().map(|cell| cell.rows(size)).transpose()?;
            let mut inputs: Vec<&Tensor> = saved.gates.iter().collect();
            match (kind, &saved.former_cell, &saved.cell) {
                (Recurrence::Lstm, Some(former), Some(new)) => inputs.extend([former, new]),
                (Recurrence::Gru, ..) => inputs.push(&saved.former),
                _ => inputs.push(&saved.hidden),
            }
            inputs.push(&gradient);
            inputs.extend(&for_cell);
            let mut results = evaluate(op, &programs.backward, &inputs)?;
            let mut carried = match kind {
                Recurrence::RnnTanh | Recurrence::RnnRelu => None,
                _ => results.pop(),
            };
            if let Some(cell) = &mut cell
                && let Some(carried) = carried.take()
            {
                cell.set(carried);
            }
            let gates = |parts: &[&Tensor]| match parts {
                [one] => Ok((*one).clone()),
                _ => Tensor::cat(parts, 1),
            };
            let through = match &results[..] {
                // The last is the hidden state's part of the third.
                [reset, update, new, part] if kind == Recurrence::Gru => {
                    for_products.push(gates(&[reset, update, new])?);
                    for_hidden.push(gates(&[reset, update, part])?);
                    for_hidden.last()
                }
                results => {
                    for_products.push(gates(&results.iter().collect::<Vec<_>>())?);
                    for_products.last()
                }
            };
            if let Some(through) = through {
                let back = through.matmul_in(&self.weight, Some(wide), None)?;
                hidden.set(match carried {
                    Some(carried) => back.add(&carried)?,
                    None => back,
                });
            }
        }
        self.assemble(
            kind,
            steps,
            saved,
            wanted,
            Found {
                for_products,
                for_hidden,
                for_projected,
                hidden: hidden.last()?,
                cell: cell.map(Carried::last).transpose()?,
            },
        )
    }

    /// Gradients of the operands of those of the steps.
    fn assemble(
        &self,
        kind: Recurrence,
        steps: &Steps,
        saved: &[Saved],
        wanted: &[bool],
        mut found: Found,
    ) -> Result<Vec<Option<Tensor>>, Error> {
        let join = |mut parts: Vec<Tensor>| {
            parts.reverse();
            steps.join(parts)
        };
        let former = |of: fn(&Saved) -> Option<&Tensor>| {
            let parts: Vec<Tensor> = saved.iter().filter_map(of).cloned().collect();
            steps.join(parts)
        };
        let for_products = join(std::mem::take(&mut found.for_products))?;
        let for_hidden = match kind.keeps_products_apart() {
            true => join(std::mem::take(&mut found.for_hidden))?,
            false => for_products.clone(),
        };
        let wants = |place: usize| wanted.get(place) == Some(&true);
        let mut place = 3;
        let mut next = |is_there: bool| {
            is_there.then(|| {
                place += 1;
                wants(place - 1)
            })
        };
        let for_weight = match wants(2) {
            true => Some(
                for_hidden
                    .transpose(0, 1)?
                    .matmul(&former(|s| Some(&s.former))?)?,
            ),
            false => None,
        };
        let mut gradients = vec![Some(for_products), Some(found.hidden), for_weight];
        if next(self.cell.is_some()).is_some() {
            gradients.push(found.cell);
        }
        if let Some(wants) = next(self.bias.is_some()) {
            gradients.push(match wants {
                true => Some(for_hidden.sum(Some(&[0]), false, None)?),
                false => None,
            });
        }
        if let Some(wants) = next(self.projection.is_some()) {
            gradients.push(match wants {
                true => {
                    let projected = join(found.for_projected)?.transpose(0, 1)?;
                    Some(projected.matmul(&former(|s| s.unprojected.as_ref())?)?)
                }
                false => None,
            });
        }
        Ok(gradients)
    }
}

/// Gradients that steps have sent back, the last step's first.
struct Found {
    for_products: Vec<Tensor>,
    for_hidden: Vec<Tensor>,
    for_projected: Vec<Tensor>,
    hidden: Tensor,
    cell: Option<Tensor>,
}

fn first(op: &'static str, results: Vec<Tensor>) -> Result<Tensor, Error> {
    let none = || Error::new(op, allotrope_dtype::Problem::NoOperands);
    results.into_iter().next().ok_or_else(none)
}
