//! `einsum`: sums of products of any tensors along named indices.
//!
//! Each operand first loses what concerns it alone: repeated indices become a diagonal, indices that
//! nothing else has are summed. Then two at a time are multiplied as matrices, those first whose
//! product is smallest beside its factors.

use allotrope_dtype::{DType, Error, Problem};
use allotrope_op::Outcome;
use allotrope_op::structured::matrix::EINSUM;

use super::contraction::{Dtypes, in_common, multiply_matrices};
use crate::Tensor;
use crate::transfer::gathered;

/// An index: a letter, or a dimension of the ellipsis counted from its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Hidden(usize),
    Letter(char),
}

/// A tensor with a label for each dimension.
#[derive(Clone)]
struct Term {
    tensor: Tensor,
    labels: Vec<Label>,
}

/// Sums of products of tensors along the indices that an equation names, as in torch:
/// `"bij,bjk->bik"`. Letters name dimensions; those that the result lacks are summed. Without an
/// arrow the result has the letters that occur once, in alphabetical order. `...` stands for
/// dimensions without a name, which are broadcast.
///
/// Products of integers wrap in the common dtype, as those of `matmul`. Where an index of one operand
/// alone is summed, that is a `sum`: of integers and bool it is int64 or uint64, and so is the result.
///
/// ```
/// use allotrope_dtype::DType;
/// use allotrope_tensor::{Tensor, einsum};
/// let x = Tensor::arange(0, 9, 1, DType::I64)?.reshape(&[3, 3])?;
/// assert_eq!(einsum("ii", &[&x], None, None)?.to_vec::<i64>()?, [12]);
/// assert_eq!(einsum("ij,j->i", &[&x, &x.select(0, 0)?], None, None)?.to_vec::<i64>()?, [5, 14, 23]);
/// # Ok::<(), allotrope_dtype::Error>(())
/// ```
///
/// # Errors
/// A value error for an equation that does not fit the tensors, a dtype error where promotion
/// refuses, a memory error.
pub fn einsum(
    equation: &str,
    tensors: &[&Tensor],
    dtype: Option<DType>,
    acc_dtype: Option<DType>,
) -> Result<Tensor, Error> {
    let op = EINSUM.name;
    if tensors.is_empty() {
        return Err(Error::new(op, Problem::NoOperands));
    }
    if let Some(moved) = gathered(tensors)? {
        let tensors: Vec<&Tensor> = moved.iter().collect();
        return einsum(equation, &tensors, dtype, acc_dtype);
    }
    let parsed = Parsed::new(equation, tensors)?;
    let mut dtypes = Dtypes::new(&EINSUM, tensors, dtype, acc_dtype)?;
    if dtype.is_none() && acc_dtype.is_none() && parsed.sums_alone() {
        dtypes.sum = Outcome::Total.of(dtypes.common);
        dtypes.result = dtypes.sum;
    }
    let converted = in_common(tensors, dtypes)?;
    let mut terms = Vec::new();
    for (tensor, labels) in converted.into_iter().zip(&parsed.inputs) {
        terms.push(take_diagonals(Term {
            tensor,
            labels: labels.clone(),
        })?);
    }
    let sizes = label_sizes(equation, &terms)?;
    for term in &mut terms {
        // A size of one stands for any other.
        let size = |label: &Label| size_of_label(&sizes, *label);
        let expanded: Vec<usize> = term.labels.iter().map(size).collect();
        term.tensor = term.tensor.expand(&expanded)?;
    }
    let dtypes = dtypes.of_converted();
    while terms.len() > 1 {
        let (i, j) = cheapest_pair(&terms, &parsed.output, &sizes);
        let b = terms.remove(j);
        let a = terms.remove(i);
        let kept = kept_labels(&terms, &parsed.output);
        terms.push(contract(a, b, &kept, dtypes.unrounded())?);
    }
    let Some(term) = terms.pop() else {
        return Err(Error::new(op, Problem::NoOperands));
    };
    let term = sum_others(term, &parsed.output, dtypes)?;
    let order: Option<Vec<isize>> = parsed
        .output
        .iter()
        .map(|label| place_of(&term.labels, *label).map(|place| place as isize))
        .collect();
    let result = term.tensor.permute(&order.unwrap_or_default())?;
    // Sums wrap in their own dtype before they become another.
    let result = if dtypes.sum.is_integer() {
        result.to(dtypes.sum)?
    } else {
        result
    };
    result.to(dtypes.result)
}

/// An equation with a label for each dimension.
struct Parsed {
    inputs: Vec<Vec<Label>>,
    output: Vec<Label>,
}

impl Parsed {
    /// Whether an index that one operand alone has is missing in the result.
    fn sums_alone(&self) -> bool {
        let owners = |label| self.inputs.iter().filter(|own| own.contains(label)).count();
        let mut labels = self.inputs.iter().flatten();
        labels.any(|label| !self.output.contains(label) && owners(label) == 1)
    }

    fn new(equation: &str, tensors: &[&Tensor]) -> Result<Self, Error> {
        let refuse = |reason: String| malformed(equation, reason);
        let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&text[..], None),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != tensors.len() {
            return Err(refuse(format!(
                "{} operands are named, {} are given",
                parts.len(),
                tensors.len()
            )));
        }
        let mut inputs = Vec::new();
        let mut hidden = 0;
        for (place, (part, tensor)) in parts.iter().zip(tensors).enumerate() {
            let (before, after) = split_ellipsis(equation, part)?;
            let named = before.len() + after.as_ref().map_or(0, Vec::len);
            let count = match (&after, tensor.rank().checked_sub(named)) {
                (Some(_), Some(count)) => count,
                (None, Some(0)) => 0,
                _ => {
                    return Err(refuse(format!(
                        "operand {place} has {} dimensions, {named} indices name them",
                        tensor.rank()
                    )));
                }
            };
            hidden = hidden.max(count);
            let mut labels = before;
            labels.extend((0..count).rev().map(Label::Hidden));
            labels.extend(after.unwrap_or_default());
            inputs.push(labels);
        }
        let all_hidden = (0..hidden).rev().map(Label::Hidden);
        let output = match right {
            Some(right) => {
                let (mut labels, after) = split_ellipsis(equation, right)?;
                if let Some(after) = after {
                    labels.extend(all_hidden);
                    labels.extend(after);
                }
                for (place, label) in labels.iter().enumerate() {
                    let Label::Letter(letter) = label else {
                        continue;
                    };
                    if labels[..place].contains(label) {
                        return Err(refuse(format!("the result has '{letter}' twice")));
                    }
                    if !inputs.iter().flatten().any(|other| other == label) {
                        return Err(refuse(format!("no operand has '{letter}'")));
                    }
                }
                labels
            }
            None => {
                let letters = inputs.iter().flatten().filter(|label| {
                    let count = inputs.iter().flatten().filter(|l| l == label).count();
                    matches!(label, Label::Letter(_)) && count == 1
                });
                let mut letters: Vec<Label> = letters.copied().collect();
                letters.sort_unstable();
                all_hidden.chain(letters).collect()
            }
        };
        Ok(Self { inputs, output })
    }
}

/// The letters before and after an ellipsis; without one nothing comes after.
fn split_ellipsis(equation: &str, part: &str) -> Result<(Vec<Label>, Option<Vec<Label>>), Error> {
    let letters = |text: &str| -> Result<Vec<Label>, Error> {
        text.chars()
            .map(|letter| {
                if letter.is_ascii_alphabetic() {
                    Ok(Label::Letter(letter))
                } else {
                    let reason = format!("'{letter}' is no index; letters and '...' are");
                    Err(malformed(equation, reason))
                }
            })
            .collect()
    };
    match part.split_once("...") {
        Some((before, after)) => Ok((letters(before)?, Some(letters(after)?))),
        None => Ok((letters(part)?, None)),
    }
}

#[cold]
fn malformed(equation: &str, reason: String) -> Error {
    let equation = equation.to_owned();
    Error::new(EINSUM.name, Problem::BadEquation { equation, reason })
}

fn place_of(labels: &[Label], label: Label) -> Option<usize> {
    labels.iter().position(|other| *other == label)
}

/// Dimensions of one label as one dimension.
fn take_diagonals(mut term: Term) -> Result<Term, Error> {
    let mut place = 0;
    while place < term.labels.len() {
        let label = term.labels[place];
        let Some(other) = place_of(&term.labels[place + 1..], label) else {
            place += 1;
            continue;
        };
        let other = place + 1 + other;
        let sizes = (term.tensor.shape()[place], term.tensor.shape()[other]);
        if sizes.0 != sizes.1 {
            let problem = Problem::ShapesDoNotFit {
                what: "dimensions of one index",
                shapes: vec![term.tensor.shape().to_vec()],
                accepted: "equal sizes are",
            };
            return Err(Error::new(EINSUM.name, problem));
        }
        // The diagonal is the last dimension.
        term.tensor = term.tensor.diagonal(0, place as isize, other as isize)?;
        term.labels.remove(other);
        term.labels.remove(place);
        term.labels.push(label);
    }
    Ok(term)
}

/// The size of every label.
fn label_sizes(equation: &str, terms: &[Term]) -> Result<Vec<(Label, usize)>, Error> {
    let mut sizes: Vec<(Label, usize)> = Vec::new();
    for term in terms {
        for (label, size) in term.labels.iter().zip(term.tensor.shape().iter()) {
            match sizes.iter_mut().find(|(other, _)| other == label) {
                None => sizes.push((*label, *size)),
                Some((_, known)) if *known == 1 => *known = *size,
                Some((_, known)) if *size != 1 && *known != *size => {
                    let name = match label {
                        Label::Letter(letter) => format!("'{letter}'"),
                        Label::Hidden(_) => "a dimension of '...'".to_owned(),
                    };
                    let reason = format!("{name} has sizes {known} and {size}");
                    return Err(malformed(equation, reason));
                }
                Some(_) => {}
            }
        }
    }
    Ok(sizes)
}

fn size_of_label(sizes: &[(Label, usize)], label: Label) -> usize {
    sizes
        .iter()
        .find(|(other, _)| *other == label)
        .map_or(1, |(_, size)| *size)
}

/// Labels that are needed after a product: those of the result and of other operands.
fn kept_labels(others: &[Term], output: &[Label]) -> Vec<Label> {
    let others = others.iter().flat_map(|term| &term.labels);
    others.chain(output).copied().collect()
}

/// The two terms whose product has the fewest elements beside its factors.
fn cheapest_pair(terms: &[Term], output: &[Label], sizes: &[(Label, usize)]) -> (usize, usize) {
    let count = |labels: &mut dyn Iterator<Item = &Label>| -> f64 {
        labels
            .map(|label| size_of_label(sizes, *label) as f64)
            .product()
    };
    let mut best = (f64::INFINITY, (0, 1));
    for j in 1..terms.len() {
        for i in 0..j {
            let (a, b) = (&terms[i].labels, &terms[j].labels);
            let is_needed = |label: &&Label| {
                output.contains(label)
                    || terms.iter().enumerate().any(|(place, term)| {
                        place != i && place != j && term.labels.contains(label)
                    })
            };
            let union = a.iter().chain(b.iter().filter(|label| !a.contains(label)));
            let product = count(&mut union.filter(is_needed));
            let price = product - count(&mut a.iter()) - count(&mut b.iter());
            if price < best.0 {
                best = (price, (i, j));
            }
        }
    }
    best.1
}

/// A term without the labels that are not kept.
fn sum_others(term: Term, kept: &[Label], dtypes: Dtypes) -> Result<Term, Error> {
    let places = term.labels.iter().enumerate();
    let summed: Vec<isize> = places
        .filter(|(_, label)| !kept.contains(label))
        .map(|(place, _)| place as isize)
        .collect();
    if summed.is_empty() {
        return Ok(term);
    }
    let tensor = match dtypes.sum {
        DType::Bool => term.tensor.to(DType::Bool)?.any(Some(&summed), false)?,
        sum => term.tensor.sum(Some(&summed), false, Some(sum.compute()))?,
    };
    let labels = term.labels.iter().filter(|label| kept.contains(label));
    Ok(Term {
        tensor,
        labels: labels.copied().collect(),
    })
}

/// The product of two terms, summed along the labels of both that are not kept.
fn contract(a: Term, b: Term, kept: &[Label], dtypes: Dtypes) -> Result<Term, Error> {
    let needed = |own: &[Label]| -> Vec<Label> { kept.iter().chain(own).copied().collect() };
    let (labels_a, labels_b) = (a.labels.clone(), b.labels.clone());
    let a = sum_others(a, &needed(&labels_b), dtypes)?;
    let b = sum_others(b, &needed(&labels_a), dtypes)?;
    let shared = |label: &&Label| b.labels.contains(label);
    let both: Vec<Label> = a.labels.iter().filter(shared).copied().collect();
    let (batch, summed): (Vec<Label>, Vec<Label>) =
        both.iter().copied().partition(|label| kept.contains(label));
    let only = |labels: &[Label]| -> Vec<Label> {
        labels
            .iter()
            .filter(|label| !both.contains(label))
            .copied()
            .collect()
    };
    let (rows, columns) = (only(&a.labels), only(&b.labels));
    let labels: Vec<Label> = batch.iter().chain(&rows).chain(&columns).copied().collect();
    let product = if summed.is_empty() {
        // Nothing is summed: elements one by one, not a matrix of one element for each.
        let spread = |term: &Term, groups| {
            let factor = arrange(term, groups)?;
            factor.to(dtypes.common)?.to(dtypes.sum.compute())
        };
        let left = spread(&a, [&batch, &rows, &[]])?;
        let right = spread(&b, [&batch, &[], &columns])?;
        left.mul(&right)?.to(dtypes.result)?
    } else {
        let left = arrange(&a, [&batch, &rows, &summed])?;
        let right = arrange(&b, [&batch, &summed, &columns])?;
        multiply_matrices(EINSUM.name, &left, &right, dtypes, None)?
    };
    let size = |label: &Label| {
        let size = |term: &Term| Some(term.tensor.shape()[place_of(&term.labels, *label)?]);
        size(&a).or_else(|| size(&b)).unwrap_or(1) as isize
    };
    let sizes: Vec<isize> = labels.iter().map(size).collect();
    Ok(Term {
        tensor: product.reshape(&sizes)?,
        labels,
    })
}

/// A term as a list of matrices: the dimensions of each group of labels as one.
fn arrange(term: &Term, groups: [&[Label]; 3]) -> Result<Tensor, Error> {
    let places = groups.iter().flat_map(|group| group.iter());
    let order: Vec<isize> = places
        .filter_map(|label| place_of(&term.labels, *label))
        .map(|place| place as isize)
        .collect();
    let turned = term.tensor.permute(&order)?;
    let mut sizes = [1_isize; 3];
    let mut dim = 0;
    for (size, group) in sizes.iter_mut().zip(groups) {
        for _ in group {
            *size *= turned.shape()[dim] as isize;
            dim += 1;
        }
    }
    turned.reshape(&sizes)
}
