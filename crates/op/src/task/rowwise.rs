//! Lines along an axis: softmax, norms, losses of classes, and their gradients.
//!
//! The elements are seen as `[outer, length, inner]`, which is the order of the layout of the input.
//! *Wide* is the dtype in which a device forms sums of what it computes in
//! ([`Backend::wide`](crate::Backend::wide)).

use allotrope_dtype::DType;

use crate::Program;

/// Work on every line.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Rowwise<'a> {
    /// The softmax of every line of what a program reads. Reads the input of the program; writes as
    /// many elements, in the dtype of the output.
    Softmax {
        /// Shares or their logarithms.
        kind: Softmax,
        /// What is worked on; its output is float32 or float64.
        program: &'a Program,
        /// Outer, length, inner.
        sizes: [usize; 3],
    },
    /// The gradient of a softmax: `y (g - Σ g y)` of shares, `g - e^y Σ g` of their logarithms. Reads
    /// what was written and its gradient, by a program each; writes as many elements.
    SoftmaxBackward {
        /// Shares or their logarithms.
        kind: Softmax,
        /// What reads the results and their gradient; the outputs are float32 or float64.
        programs: [&'a Program; 2],
        /// Outer, length, inner.
        sizes: [usize; 3],
    },
    /// Every line normalised. Reads the input of the program, then weights and biases as far as there
    /// are any; writes as many elements as it reads, in the dtype of the output.
    Norm(Norm<'a>),
    /// The gradients of a norm. Reads the input of the program, the gradient of what was written, and
    /// weights if there are any. Writes those that are wanted of: the gradient of the numbers, and of
    /// weights and biases their gradients, wide.
    NormBackward {
        /// What was done; the biases do not matter.
        norm: Norm<'a>,
        /// What reads the gradient.
        gradient: &'a Program,
        /// How many weights and biases there are.
        terms: usize,
        /// Numbers, weights, biases.
        wanted: [bool; 3],
    },
    /// Every channel normalised over all else. Reads the input of the program, then weights and biases
    /// as far as there are any, and mean and variance if they are given, wide. Writes as many elements
    /// as it reads, and the mean and variance that it took, wide, one for each channel.
    ChannelNorm(ChannelNorm<'a>),
    /// The gradients of a norm of channels. Reads the input of the program, the gradient of what was
    /// written, mean and variance, wide, and weights if there are any. Writes as
    /// [`NormBackward`](Self::NormBackward).
    ChannelNormBackward {
        /// What was done; the biases do not matter.
        norm: ChannelNorm<'a>,
        /// What reads the gradient.
        gradient: &'a Program,
        /// Numbers, weights, biases.
        wanted: [bool; 3],
    },
    /// The classes that lines are to be of. Reads int64; writes the same, with -1 for those that are
    /// ignored. An index that is no class is an error about dimension 1; a device that queues its work
    /// notes it, and writes -1 or classes all the same.
    ClassIndices {
        /// How many classes there are.
        classes: usize,
        /// What says that a line is ignored.
        ignored: i64,
    },
    /// The losses of lines by their classes. Reads the numbers `[outer, classes, inner…]`, the class of
    /// each line or -1 as int64, and the weight of each class; for a cross entropy the logarithm of the
    /// sum of the exponentials of each line, and if labels are smoothed the sum of each line, weighted.
    /// All but numbers and classes are wide.
    ///
    /// Writes, wide: the loss of each line; the sum of the weights of lines that count, and the same or
    /// one if none does; and, if a third output is asked for, three factors of each line for the
    /// gradient: of its class, of its softmax, of all its classes.
    ClassLoss(ClassLoss),
    /// The gradient of a cross entropy: the softmax of each line less its target. Reads the input of
    /// the program; of each line the logarithm of its sum of exponentials, its class or -1 as int64, and
    /// the factors of its class and its softmax; if labels are smoothed the factor of all its classes,
    /// and the weight of each class. All but numbers and classes are wide. Writes as many elements as
    /// there are numbers.
    CrossEntropyBackward {
        /// What reads the numbers.
        program: &'a Program,
        /// Outer, classes, inner.
        sizes: [usize; 3],
        /// Whether labels are smoothed.
        smooth: bool,
    },
    /// How often each line names each class, up to its first negative number. Reads int64, whose last
    /// dimension is that of the classes; writes as many int64. An index that is no class is an error.
    LabelCounts,
    /// The sums of `max(0, 1 - (x[t] - x[o]))` over the classes `t` that a line names, as often as it
    /// does, and those `o` that it does not, divided by the number of classes. Reads numbers and
    /// [`LabelCounts`](Self::LabelCounts); writes one number for each line, wide.
    MultilabelMargin {
        /// How many classes there are.
        classes: usize,
    },
}

/// What becomes of the exponentials of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Softmax {
    /// Exponentials divided by their sum: probabilities.
    Softmax,
    /// The logarithms of the shares.
    LogSoftmax,
}

/// How lines, those of the last axis, are normalised: brought to mean 0 and variance 1, or to mean
/// square 1.
#[derive(Clone, Copy, Debug)]
pub struct Norm<'a> {
    /// What is worked on; its output is float32 or float64.
    pub program: &'a Program,
    /// The length of a line.
    pub length: usize,
    /// Whether the mean is subtracted first.
    pub centers: bool,
    /// What is added to the variance or mean square.
    pub eps: f64,
    /// Whether there are weights, and biases.
    pub affine: [bool; 2],
    /// Neighbouring elements that share a weight: element `i` of all has number `i / period`, modulo
    /// how many there are.
    pub period: usize,
}

/// How channels, the middle of three sizes, are brought to mean 0 and variance 1.
#[derive(Clone, Copy, Debug)]
pub struct ChannelNorm<'a> {
    /// What is worked on; its output is float32 or float64.
    pub program: &'a Program,
    /// Outer, channels, inner.
    pub sizes: [usize; 3],
    /// What is added to the variance.
    pub eps: f64,
    /// Whether there is a weight for each channel, and a bias.
    pub affine: [bool; 2],
    /// Whether mean and variance are given, and do not depend on the numbers.
    pub given: bool,
}

/// How classes become losses.
#[derive(Clone, Copy, Debug)]
pub struct ClassLoss {
    /// What the numbers are rounded to.
    pub common: DType,
    /// What of the numbers is the loss.
    pub kind: ClassLossKind,
}

/// What the loss of a line is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClassLossKind {
    /// The negated number at its class.
    NegativeLogLikelihood,
    /// The negated logarithm of the softmax at its class.
    CrossEntropy {
        /// The share of the even distribution in the target.
        smoothing: f64,
    },
}
