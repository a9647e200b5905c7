//! Rows: sorting, scans, counting.

structured! {
    CUMSUM, "cumsum", Total, Float32, Element, "The sum of the elements up to each one along a dimension.";
    CUMPROD, "cumprod", Total, Float32, Element, "The product of the elements up to each one along a dimension.";
    CUMULATIVE_SUM, "cumulative_sum", Total, Float32, Element, "The sum of the elements up to each one along an axis, from 0 if the initial value is included.";
    CUMULATIVE_PROD, "cumulative_prod", Total, Float32, Element, "The product of the elements up to each one along an axis, from 1 if the initial value is included.";
    LOGCUMSUMEXP, "logcumsumexp", Average, Float32, Element, "The logarithm of the sum of exponentials up to each element along a dimension, without overflow.";
    CUMMAX, "cummax", Element, Keep, Real, "The greatest element up to each one along a dimension, and its place; NaN from the first one on.";
    CUMMIN, "cummin", Element, Keep, Real, "The least element up to each one along a dimension, and its place; NaN from the first one on.";
    DIFF, "diff", Element, Keep, Element, "The differences of neighbours along a dimension; of truth values whether they differ.";
    GRADIENT, "gradient", Average, Keep, Element, "The slopes between neighbours along dimensions, one tensor for each.";
    TRAPEZOID, "trapezoid", Average, Float32, Element, "The integral along a dimension by the trapezoidal rule.";
    CUMULATIVE_TRAPEZOID, "cumulative_trapezoid", Average, Float32, Element, "The integral up to each element but the first along a dimension by the trapezoidal rule.";
    SORT, "sort", Element, Keep, Real, "The elements in order along a dimension, and their places; NaN is the greatest, equals keep their order.";
    ARGSORT, "argsort", Index, Keep, Real, "The places of the elements in order along a dimension.";
    MSORT, "msort", Element, Keep, Real, "The elements in order along the first dimension.";
    TOPK, "topk", Element, Keep, Real, "The k greatest or least elements along a dimension, and their places.";
    KTHVALUE, "kthvalue", Element, Keep, Real, "The k-th least element along a dimension, and its place.";
    MEDIAN, "median", Element, Keep, Real, "The middle element in order, the lower of two; NaN if there is one.";
    NANMEDIAN, "nanmedian", Element, Keep, Real, "The middle element in order of those that are not NaN, the lower of two.";
    QUANTILE, "quantile", Average, Keep, Real, "The element at a fraction of the order along a dimension, interpolated between neighbours.";
    NANQUANTILE, "nanquantile", Average, Keep, Real, "The element at a fraction of the order of those that are not NaN.";
    NANSUM, "nansum", Total, Float32, Real, "The sum of the elements that are not NaN.";
    NANMEAN, "nanmean", Average, Float32, Real, "The mean of the elements that are not NaN.";
    COV, "cov", Average, Float32, Element, "The covariances of rows, or the variance of a vector.";
    CORRCOEF, "corrcoef", Average, Float32, Element, "The covariances of rows divided by their deviations.";
    RENORM, "renorm", Average, Float32, Element, "The parts along a dimension, scaled down to a greatest norm.";
    MODE, "mode", Element, Keep, Real, "The most frequent element along a dimension, the least of several, and its last place.";
    UNIQUE, "unique", Element, Keep, Element, "The different elements, or parts along a dimension, in order.";
    UNIQUE_CONSECUTIVE, "unique_consecutive", Element, Keep, Element, "The elements, or parts along a dimension, without those that equal the one before.";
}
