//! Rows: layers as functions, and losses.

structured! {
    SOFTMAX,             "softmax",             Average, Float32, Real,    "Probabilities along a dimension: exponentials divided by their sum.";
    LOG_SOFTMAX,         "log_softmax",         Average, Float32, Real,    "The logarithms of the softmax, which are log-probabilities.";
    SOFTMIN,             "softmin",             Average, Float32, Real,    "The softmax of the negated numbers.";
    GUMBEL_SOFTMAX,      "gumbel_softmax",      Average, Float32, Real,    "Random probabilities, or a random choice, with the probabilities of a softmax.";
    LAYER_NORM,          "layer_norm",          Average, Float32, Real,    "The last dimensions normalized to mean 0 and variance 1, times a weight plus a bias.";
    RMS_NORM,            "rms_norm",            Average, Float32, Element, "The last dimensions divided by their root mean square, times a weight.";
    GROUP_NORM,          "group_norm",          Average, Float32, Real,    "Groups of channels normalized to mean 0 and variance 1, times a weight plus a bias.";
    INSTANCE_NORM,       "instance_norm",       Average, Float32, Real,    "Each channel of each item normalized to mean 0 and variance 1, times a weight plus a bias.";
    BATCH_NORM,          "batch_norm",          Average, Float32, Real,    "Each channel normalized to mean 0 and variance 1 over the batch, times a weight plus a bias.";
    LOCAL_RESPONSE_NORM, "local_response_norm", Average, Float32, Real,    "The numbers divided by a power of the mean square of neighbouring channels.";
    NORMALIZE,           "normalize",           Average, Float32, Element, "The numbers divided by their norm along a dimension.";
    COSINE_SIMILARITY,   "cosine_similarity",   Average, Float32, Real,    "The cosine of the angle between vectors.";
    PAIRWISE_DISTANCE,   "pairwise_distance",   Magnitude, Float32, Element, "The distance of vectors: the norm of their difference.";
    CDIST,               "cdist",               Average, Float32, Real,    "The distance of every row from every row of another matrix.";
    PDIST,               "pdist",               Average, Float32, Real,    "The distance of every row of a matrix from every later one.";
    GLU,                 "glu",                 Average, Keep,    Real,    "The gated linear unit: the first half of a dimension times the sigmoid of the second.";
    RRELU,               "rrelu",               Average, Keep,    Real,    "The randomized leaky rectified linear unit: the number, or a random part of it below 0.";
    DROPOUT,             "dropout",             Average, Keep,    Element, "Zeros in the place of random numbers, the others scaled up.";
    DROPOUT1D,           "dropout1d",           Average, Keep,    Element, "Zeros in the place of random channels of one dimension.";
    DROPOUT2D,           "dropout2d",           Average, Keep,    Element, "Zeros in the place of random channels of two dimensions.";
    DROPOUT3D,           "dropout3d",           Average, Keep,    Element, "Zeros in the place of random channels of three dimensions.";
    ALPHA_DROPOUT,       "alpha_dropout",       Average, Keep,    Element, "Random numbers at the lower bound of `selu`, with mean and variance kept.";
    FEATURE_ALPHA_DROPOUT, "feature_alpha_dropout", Average, Keep, Element,   "Random channels at the lower bound of `selu`, with mean and variance kept.";

    MSE_LOSS,            "mse_loss",            Average, Float32, Real,    "The squared error, or its mean or sum.";
    L1_LOSS,             "l1_loss",             Magnitude, Float32, Element, "The absolute error, or its mean or sum.";
    SMOOTH_L1_LOSS,      "smooth_l1_loss",      Average, Float32, Real,    "The absolute error, rounded off below beta.";
    HUBER_LOSS,          "huber_loss",          Average, Float32, Real,    "Half the squared error, a line above delta.";
    CROSS_ENTROPY,       "cross_entropy",       Average, Float32, Real,    "The negated logarithm of the softmax at a class, or its mean by probabilities.";
    NLL_LOSS,            "nll_loss",            Average, Float32, Real,    "The negative log-likelihood: the negated log-probability at a class.";
    CTC_LOSS,            "ctc_loss",            Average, Float32, Real,    "The negated logarithm of the probability that a sequence of classes and blanks spells a shorter one.";
    BINARY_CROSS_ENTROPY, "binary_cross_entropy", Average, Float32, Real,  "The binary cross entropy of a probability and its target.";
    BINARY_CROSS_ENTROPY_WITH_LOGITS, "binary_cross_entropy_with_logits", Average, Float32, Real, "The binary cross entropy of a logit and its target.";
    KL_DIV,              "kl_div",              Average, Float32, Real,    "The Kullback-Leibler divergence of distributions, given the log-probabilities of one.";
    POISSON_NLL_LOSS,    "poisson_nll_loss",    Average, Float32, Real,    "The negative log-likelihood of a Poisson distribution.";
    GAUSSIAN_NLL_LOSS,   "gaussian_nll_loss",   Average, Float32, Real,    "The negative log-likelihood of a normal distribution.";
    HINGE_EMBEDDING_LOSS, "hinge_embedding_loss", Average, Float32, Real,  "The number where the target is 1, and how far it is below the margin where it is -1.";
    MARGIN_RANKING_LOSS, "margin_ranking_loss", Average, Float32, Real,    "How far two numbers are from their order by a margin.";
    SOFT_MARGIN_LOSS,    "soft_margin_loss",    Average, Float32, Element, "`log(1 + e^(-target x))`.";
    COSINE_EMBEDDING_LOSS, "cosine_embedding_loss", Average, Float32, Real, "How far the cosine of vectors is from what it should be.";
    TRIPLET_MARGIN_LOSS, "triplet_margin_loss", Magnitude, Float32, Element, "How far a vector is not nearer to one than to another by a margin.";
    MULTI_MARGIN_LOSS,   "multi_margin_loss",   Average, Float32, Real,    "How far other classes are within a margin of the right one.";
    MULTILABEL_MARGIN_LOSS, "multilabel_margin_loss", Average, Float32, Real, "How far wrong classes are within 1 of right ones.";
    MULTILABEL_SOFT_MARGIN_LOSS, "multilabel_soft_margin_loss", Average, Float32, Real, "The mean of the cross entropies of labels.";
}
