//! One layer in one direction: products of all inputs at once, then step by step.
//!
//! A device that has a kernel for it takes all steps at once ([`Recurrent`]); elsewhere each is a few
//! operations. What is recorded is one node for all steps, with a way back of its own over the gates that were
//! saved. Where the way back is itself recorded, the steps are taken again as operations that are.

use allotrope_dtype::Error;
use allotrope_op::task::{Recurrence, Recurrent, Task};
use allotrope_tensor::{
    BackwardOptions, Tensor, evaluate, grad, is_grad_enabled, no_grad, perform_task,
    record_function,
};

use super::cell::{Programs, kept_dtype};
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
            return match self.performed(kind, steps, false)? {
                Some((scanned, _)) => Ok(scanned),
                None => self.run(kind, steps, None),
            };
        }
        let programs = Programs::new(kind, self.products.dtype());
        let plain = self.map(|x| Ok(x.detach()))?;
        let mut saved = Vec::new();
        let (scanned, kept) = {
            let _off = no_grad();
            match plain.performed(kind, steps, true)? {
                Some((scanned, kept)) => (scanned, Some(kept)),
                None => (plain.run(kind, steps, Some(&mut saved))?, None),
            }
        };
        let results = [Some(scanned.output), Some(scanned.hidden), scanned.cell];
        let results = results.into_iter().flatten().collect();
        let inputs: Vec<Tensor> = self.list().into_iter().cloned().collect();
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        let steps = steps.clone();
        let results = record_function(kind.name(), &inputs, results, move |gradients, wanted| {
            if is_grad_enabled() {
                return self.gradients_recorded(kind, &steps, gradients);
            }
            let Some(kept) = &kept else {
                return plain.gradients(&programs, kind, &steps, &saved, gradients, wanted);
            };
            if let Some(found) = plain.found(kind, &steps, kept, gradients)? {
                return plain.assemble(wanted, &found);
            }
            let mut saved = Vec::new();
            plain.run(kind, &steps, Some(&mut saved))?;
            plain.gradients(&programs, kind, &steps, &saved, gradients, wanted)
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

    /// The results by a kernel of the device, if it has one, and what the way back needs if that is
    /// asked for.
    fn performed(
        &self,
        kind: Recurrence,
        steps: &Steps,
        saves: bool,
    ) -> Result<Option<(Scanned, Kept)>, Error> {
        let (dtype, rows) = (self.products.dtype(), self.products.shape()[0]);
        let [batch, size] = [self.hidden.shape()[0], self.hidden.shape()[1]];
        if self.projection.is_some() || size == 0 {
            return Ok(None);
        }
        let (all, last) = ([rows, size], [batch, size]);
        let saved = [rows, kind.saved() * size];
        let mut outputs: Vec<(_, &[usize])> = vec![(dtype, &all), (dtype, &last)];
        if kind.has_cell() {
            outputs.push((dtype, &last));
        }
        if saves && kind.saved() > 0 {
            outputs.push((kept_dtype(dtype), &saved));
            outputs.extend(kind.has_cell().then_some((dtype, &all[..])));
        }
        let inputs = [&self.products, &self.hidden, &self.weight];
        let inputs = inputs.into_iter().chain(&self.cell).chain(&self.bias);
        let inputs: Vec<&Tensor> = inputs.collect();
        let task = Task::Recurrent(Recurrent::Forward(steps.sequence(kind)));
        let Some(made) = perform_task(kind.name(), &task, &inputs, &outputs)? else {
            return Ok(None);
        };
        let mut made = made.into_iter();
        let (Some(output), Some(hidden)) = (made.next(), made.next()) else {
            return Ok(None);
        };
        let cell = if kind.has_cell() { made.next() } else { None };
        let kept = Kept {
            output: output.clone(),
            gates: made.next(),
            cells: made.next(),
        };
        let scanned = Scanned {
            output,
            hidden,
            cell,
        };
        Ok(Some((scanned, kept)))
    }

    /// What a kernel of the device finds on the way back, if it has one.
    fn found(
        &self,
        kind: Recurrence,
        steps: &Steps,
        kept: &Kept,
        gradients: &[Option<Tensor>],
    ) -> Result<Option<Found>, Error> {
        let (dtype, wide) = (self.products.dtype(), self.products.dtype().compute());
        let of = |place: usize, like: &Tensor, dtype| match gradients.get(place) {
            Some(Some(gradient)) => gradient.to(dtype),
            _ => like.new_zeros(like.shape(), dtype),
        };
        let for_output = of(0, &kept.output, dtype)?;
        let for_hidden = of(1, &self.hidden, wide)?;
        let for_cell = self.cell.as_ref().map(|cell| of(2, cell, wide));
        let for_cell = for_cell.transpose()?;
        let inputs = [
            Some(&for_output),
            Some(&for_hidden),
            Some(&self.weight),
            Some(&self.hidden),
            Some(&kept.output),
            kept.gates.as_ref(),
            self.cell.as_ref(),
            kept.cells.as_ref(),
            for_cell.as_ref(),
        ];
        let inputs: Vec<&Tensor> = inputs.into_iter().flatten().collect();
        let [products, all, last] = [&self.products, &kept.output, &self.hidden]
            .map(|like| [like.shape()[0], like.shape()[1]]);
        let gates = kept_dtype(dtype);
        let mut outputs: Vec<(_, &[usize])> =
            vec![(gates, &products), (dtype, &all), (wide, &last)];
        if kind.keeps_products_apart() {
            outputs.push((gates, &products));
        } else if kind.has_cell() {
            outputs.push((wide, &last));
        }
        let task = Task::Recurrent(Recurrent::Backward(steps.sequence(kind)));
        let Some(made) = perform_task(kind.name(), &task, &inputs, &outputs)? else {
            return Ok(None);
        };
        let mut made = made.into_iter();
        let (Some(for_products), Some(former), Some(hidden)) =
            (made.next(), made.next(), made.next())
        else {
            return Ok(None);
        };
        let last = made.next();
        let (through, cell) = match kind.keeps_products_apart() {
            true => (last, None),
            false => (None, last),
        };
        Ok(Some(Found {
            for_hidden: through.unwrap_or_else(|| for_products.clone()),
            for_products,
            former,
            projected: None,
            hidden,
            cell,
        }))
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
        let join = |mut parts: Vec<Tensor>| {
            parts.reverse();
            steps.join(parts)
        };
        let saved_of = |of: fn(&Saved) -> Option<&Tensor>| {
            let parts: Vec<Tensor> = saved.iter().filter_map(of).cloned().collect();
            steps.join(parts)
        };
        let for_products = join(for_products)?;
        let for_hidden = match kind.keeps_products_apart() {
            true => join(for_hidden)?,
            false => for_products.clone(),
        };
        let projected = match self.projection {
            Some(_) => Some([
                join(for_projected)?,
                saved_of(|saved| saved.unprojected.as_ref())?,
            ]),
            None => None,
        };
        let found = Found {
            for_products,
            for_hidden,
            former: saved_of(|saved| Some(&saved.former))?,
            projected,
            hidden: hidden.last()?,
            cell: cell.map(Carried::last).transpose()?,
        };
        self.assemble(wanted, &found)
    }

    /// Gradients of the operands of what was found.
    fn assemble(&self, wanted: &[bool], found: &Found) -> Result<Vec<Option<Tensor>>, Error> {
        let wants = |place: usize| wanted.get(place) == Some(&true);
        let mut place = 3;
        let mut next = |is_there: bool| {
            is_there.then(|| {
                place += 1;
                wants(place - 1)
            })
        };
        let for_hidden = &found.for_hidden;
        let for_weight = match wants(2) {
            true => Some(for_hidden.transpose(0, 1)?.matmul(&found.former)?),
            false => None,
        };
        let (products, hidden) = (found.for_products.clone(), found.hidden.clone());
        let mut gradients = vec![Some(products), Some(hidden), for_weight];
        if next(self.cell.is_some()).is_some() {
            gradients.push(found.cell.clone());
        }
        if let Some(wants) = next(self.bias.is_some()) {
            gradients.push(match wants {
                true => Some(for_hidden.sum(Some(&[0]), false, None)?),
                false => None,
            });
        }
        if let Some(wants) = next(self.projection.is_some()) {
            gradients.push(match &found.projected {
                Some([gradients, states]) if wants => {
                    Some(gradients.transpose(0, 1)?.matmul(states)?)
                }
                _ => None,
            });
        }
        Ok(gradients)
    }
}

/// What a kernel leaves for the way back.
struct Kept {
    output: Tensor,
    gates: Option<Tensor>,
    cells: Option<Tensor>,
}

/// What was found on the way back, all steps together.
struct Found {
    for_products: Tensor,
    /// Gradients of the products with the hidden state.
    for_hidden: Tensor,
    /// The states that steps began with.
    former: Tensor,
    /// Gradients of projections, and what was projected.
    projected: Option<[Tensor; 2]>,
    hidden: Tensor,
    cell: Option<Tensor>,
}

fn first(op: &'static str, results: Vec<Tensor>) -> Result<Tensor, Error> {
    let none = || Error::new(op, allotrope_dtype::Problem::NoOperands);
    results.into_iter().next().ok_or_else(none)
}
