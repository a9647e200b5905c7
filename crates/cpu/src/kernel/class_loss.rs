//! Losses of lines by the classes that indices name, in float64.

use allotrope_dtype::{Error, Problem};
use allotrope_op::task::rowwise::ClassLossKind;

/// Checks the classes of lines, and writes -1 in the place of those that are ignored.
///
/// # Errors
/// An index error about dimension 1 for a number that is no class.
pub(crate) fn class_indices(
    op: &'static str,
    (size, ignored): (usize, i64),
    given: &[i64],
    out: &mut [i64],
) -> Result<(), Error> {
    for (out, index) in out.iter_mut().zip(given) {
        *out = if *index == ignored {
            -1
        } else if usize::try_from(*index).is_ok_and(|index| index < size) {
            *index
        } else {
            return Err(no_class(op, *index, 1, size));
        };
    }
    Ok(())
}

#[cold]
fn no_class(op: &'static str, index: i64, dim: usize, size: usize) -> Error {
    let index = index as isize;
    Error::new(op, Problem::IndexOutOfRange { index, dim, size })
}

/// What losses are made of; all but the weights are one for each line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClassLines<'a> {
    pub(crate) kind: ClassLossKind,
    /// The class, or -1.
    pub(crate) classes: &'a [i64],
    /// The number at the class.
    pub(crate) chosen: &'a [f64],
    /// The logarithm of the sum of exponentials, for a cross entropy.
    pub(crate) logs: &'a [f64],
    /// The weighted sum, for smoothed labels.
    pub(crate) sums: &'a [f64],
    /// The weight of each class.
    pub(crate) weights: &'a [f64],
}

impl ClassLines<'_> {
    /// Writes the loss of each line, and the sum of the weights of those that count, which is one for
    /// a gradient if there are none.
    pub(crate) fn losses(&self, losses: &mut [f64], totals: &mut [f64]) {
        let (total, count): (f64, _) = (self.weights.iter().sum(), self.weights.len() as f64);
        for (line, loss) in losses.iter_mut().enumerate() {
            let Ok(class) = usize::try_from(self.classes[line]) else {
                *loss = 0.0;
                continue;
            };
            let (weight, chosen) = (self.weights[class], self.chosen[line]);
            *loss = match self.kind {
                ClassLossKind::NegativeLogLikelihood => -weight * chosen,
                ClassLossKind::CrossEntropy { smoothing } => {
                    let plain = weight * (self.logs[line] - chosen);
                    match self.sums.get(line) {
                        None => plain,
                        Some(sum) => {
                            let even = (self.logs[line] * total - sum) / count;
                            (1.0 - smoothing) * plain + smoothing * even
                        }
                    }
                }
            };
        }
        let counted = self.classes.iter().filter(|class| **class >= 0);
        let total = counted.clone().map(|class| self.weights[*class as usize]);
        let total = total.sum();
        let is_any = counted.count() > 0;
        totals.copy_from_slice(&[total, if is_any { total } else { 1.0 }]);
    }

    /// Writes three factors of each line: of its class, of its softmax, of all its classes.
    pub(crate) fn factors(&self, factors: &mut [f64]) {
        let smoothing = match self.kind {
            ClassLossKind::NegativeLogLikelihood => 0.0,
            ClassLossKind::CrossEntropy { smoothing } => smoothing,
        };
        let (sum, count): (f64, _) = (self.weights.iter().sum(), self.weights.len() as f64);
        let lines = self.classes.len();
        let (right, rest) = factors.split_at_mut(lines);
        let (all, even) = rest.split_at_mut(lines);
        for (line, class) in self.classes.iter().enumerate() {
            let factors = match usize::try_from(*class) {
                Ok(class) => {
                    let right = (1.0 - smoothing) * self.weights[class];
                    let all = right + smoothing * sum / count;
                    [right, all, smoothing / count]
                }
                Err(_) => [0.0; 3],
            };
            [right[line], all[line], even[line]] = factors;
        }
    }
}

/// Writes how often each line names each class, up to its first negative number.
///
/// # Errors
/// An index error about the dimension `dim` for a number that is no class.
pub(crate) fn label_counts(
    op: &'static str,
    (dim, size): (usize, usize),
    labels: &[i64],
    counts: &mut [i64],
) -> Result<(), Error> {
    counts.fill(0);
    let lines = labels.chunks(size.max(1));
    for (labels, counts) in lines.zip(counts.chunks_mut(size.max(1))) {
        for label in labels.iter().take_while(|label| **label >= 0) {
            let place = usize::try_from(*label).ok();
            match place.and_then(|place| counts.get_mut(place)) {
                Some(times) => *times += 1,
                None => return Err(no_class(op, *label, dim, size)),
            }
        }
    }
    Ok(())
}

/// Writes the sum of `max(0, 1 - (right - wrong))` over pairs of a class that a line names, as often
/// as it does, and one that it does not, divided by the number of classes.
pub(crate) fn multilabel_margin(size: usize, values: &[f64], counts: &[i64], losses: &mut [f64]) {
    losses.fill(0.0);
    let lines = values.chunks(size.max(1)).zip(counts.chunks(size.max(1)));
    for ((values, counts), loss) in lines.zip(losses) {
        let places = || values.iter().zip(counts);
        let right = places().filter(|(_, times)| **times > 0);
        let pairs = right.flat_map(|(right, times)| {
            let wrong = places().filter(|(_, times)| **times == 0);
            wrong.map(move |(wrong, _)| (1.0 - (right - wrong), *times as f64))
        });
        // Not `max`, which would drop NaN.
        let pairs = pairs.filter(|(loss, _)| *loss > 0.0 || loss.is_nan());
        *loss = pairs.map(|(loss, times)| loss * times).sum::<f64>() / size as f64;
    }
}
