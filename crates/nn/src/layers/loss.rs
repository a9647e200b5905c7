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
            /// What becomes of the losses.
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
    "The negated logarithm of the share of the right class." CrossEntropyLoss (target)
        { ignore_index: i64 = -100, "A class that does not count."; label_smoothing: f64 = 0.0, "What other classes have of the target."; }
        |self, x| x.cross_entropy(target, None, self.ignore_index, self.reduction, self.label_smoothing);
    "The negated logarithm that stands at the right class." NllLoss (target)
        { ignore_index: i64 = -100, "A class that does not count."; }
        |self, x| x.nll_loss(target, None, self.ignore_index, self.reduction);
    "Squares of differences." MseLoss (target) {}
        |self, x| x.mse_loss(target, self.reduction);
    "Sizes of differences." L1Loss (target) {}
        |self, x| x.l1_loss(target, self.reduction);
    "Squares of small differences, sizes of others." SmoothL1Loss (target)
        { beta: f64 = 1.0, "What is small."; }
        |self, x| x.smooth_l1_loss(target, self.beta, self.reduction);
    "Squares of small differences, sizes of others times their bound." HuberLoss (target)
        { delta: f64 = 1.0, "What is small."; }
        |self, x| x.huber_loss(target, self.delta, self.reduction);
    "The entropy of chances of two." BceLoss (target) {}
        |self, x| x.binary_cross_entropy(target, None, self.reduction);
    "The same of numbers before the logistic function." BceWithLogitsLoss (target) {}
        |self, x| x.binary_cross_entropy_with_logits(target, None, None, self.reduction);
    "The divergence of a distribution from logarithms of another." KlDivLoss (target)
        { log_target: bool = false, "Whether the target is logarithms, too."; }
        |self, x| x.kl_div(target, self.log_target, self.reduction);
    "`log(1 + exp(-y x))`." SoftMarginLoss (target) {}
        |self, x| x.soft_margin_loss(target, self.reduction);
    "The number where the target is 1, what a margin is above it where it is -1." HingeEmbeddingLoss (target)
        { margin: f64 = 1.0, "The margin."; }
        |self, x| x.hinge_embedding_loss(target, self.margin, self.reduction);
    "What two numbers are out of the order that the target asks for." MarginRankingLoss (other, target)
        { margin: f64 = 0.0, "By how much they are to differ."; }
        |self, x| x.margin_ranking_loss(other, target, self.margin, self.reduction);
    "How far vectors are from having the angle that the target asks for." CosineEmbeddingLoss (other, target)
        { margin: f64 = 0.0, "How near unlike ones may be."; }
        |self, x| x.cosine_embedding_loss(other, target, self.margin, self.reduction);
    "How much farther the positive is than the negative." TripletMarginLoss (positive, negative)
        { margin: f64 = 1.0, "By how much it is to be nearer."; p: f64 = 2.0, "The order of the norm."; eps: f64 = 1e-6, "What is added to differences."; swap: bool = false, "Whether the negative's distance is the lesser of two."; }
        |self, x| x.triplet_margin_loss(positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction);
}
