//! Losses as structs of their options, with torch's defaults. All are methods of tensors, too.

use allotrope_dtype::Error;
use allotrope_tensor::{LossReduction, Tensor};

use crate::Module;

macro_rules! losses {
    ($($doc:literal $name:ident ($($operand:ident),*) {$($field:ident: $type:ty = $default:expr, $field_doc:literal;)*} |$self:ident, $x:ident| $body:expr;)*) => {$(
        #[doc = $doc]
        #[doc = concat!("\n```\nuse allotrope_nn::", stringify!($name), ";\nuse allotrope_tensor::LossReduction;\nlet loss = ", stringify!($name), " { reduction: LossReduction::Sum, ..Default::default() };\nassert_eq!(loss.reduction, LossReduction::Sum);\n```")]
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            $(
                #[doc = $field_doc]
                pub $field: $type,
            )*
            /// The reduction: the mean of the losses, their sum, or none.
            pub reduction: LossReduction,
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* reduction: LossReduction::Mean }
            }
        }

        impl $name {
            /// The loss.
            ///
            /// # Errors
            /// As the tensor's method.
            pub fn forward(&$self, input: &Tensor, $($operand: &Tensor),*) -> Result<Tensor, Error> {
                let $x = input;
                $body
            }
        }
    )*};
}
losses! {
    "The cross entropy of logits and classes: `-log softmax(x)` at the right class, or its mean by probabilities." CrossEntropyLoss (target)
        { ignore_index: i64 = -100, "A class that does not count."; label_smoothing: f64 = 0.0, "The share of the uniform distribution in the target."; }
        |self, x| x.cross_entropy(target, None, self.ignore_index, self.reduction, self.label_smoothing);
    "The negative log-likelihood: the negated log-probability of the right class." NllLoss (target)
        { ignore_index: i64 = -100, "A class that does not count."; }
        |self, x| x.nll_loss(target, None, self.ignore_index, self.reduction);
    "The mean squared error: `(x - target)²`." MseLoss (target) {}
        |self, x| x.mse_loss(target, self.reduction);
    "The mean absolute error: `|x - target|`." L1Loss (target) {}
        |self, x| x.l1_loss(target, self.reduction);
    "The smooth L1 loss: the absolute error minus `β / 2`, and below `β` the squared error over `2 β`." SmoothL1Loss (target)
        { beta: f64 = 1.0, "What is small."; }
        |self, x| x.smooth_l1_loss(target, self.beta, self.reduction);
    "The Huber loss: half the squared error, and `δ (|x - target| - δ / 2)` beyond `δ`." HuberLoss (target)
        { delta: f64 = 1.0, "What is small."; }
        |self, x| x.huber_loss(target, self.delta, self.reduction);
    "The binary cross entropy of probabilities: `-(y log x + (1 - y) log(1 - x))`." BceLoss (target) {}
        |self, x| x.binary_cross_entropy(target, None, self.reduction);
    "The binary cross entropy of logits, which are numbers before the sigmoid." BceWithLogitsLoss (target) {}
        |self, x| x.binary_cross_entropy_with_logits(target, None, None, self.reduction);
    "The Kullback-Leibler divergence of a target distribution from log-probabilities: `y (log y - x)`." KlDivLoss (target)
        { log_target: bool = false, "Whether the target is logarithms, too."; }
        |self, x| x.kl_div(target, self.log_target, self.reduction);
    "The soft margin loss of targets 1 and -1: `log(1 + exp(-y x))`." SoftMarginLoss (target) {}
        |self, x| x.soft_margin_loss(target, self.reduction);
    "The hinge embedding loss: a distance `x` where the target is 1, `max(0, margin - x)` where it is -1." HingeEmbeddingLoss (target)
        { margin: f64 = 1.0, "The margin."; }
        |self, x| x.hinge_embedding_loss(target, self.margin, self.reduction);
    "The margin ranking loss: `max(0, margin - y (x - other))`, with the target `y`, 1 or -1, as the order." MarginRankingLoss (other, target)
        { margin: f64 = 0.0, "By how much they are to differ."; }
        |self, x| x.margin_ranking_loss(other, target, self.margin, self.reduction);
    "The cosine embedding loss: `1 - cos` of the angle where the target is 1, `max(0, cos - margin)` where it is -1." CosineEmbeddingLoss (other, target)
        { margin: f64 = 0.0, "How near unlike ones may be."; }
        |self, x| x.cosine_embedding_loss(other, target, self.margin, self.reduction);
    "The triplet margin loss: `max(0, d(x, positive) - d(x, negative) + margin)`, with distances `d`." TripletMarginLoss (positive, negative)
        { margin: f64 = 1.0, "By how much it is to be nearer."; p: f64 = 2.0, "The order of the norm."; eps: f64 = 1e-6, "What is added to differences."; swap: bool = false, "Whether the negative's distance is the lesser of two."; }
        |self, x| x.triplet_margin_loss(positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction);
}
