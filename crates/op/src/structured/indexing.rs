//! Rows: elements chosen by indices and masks.

structured! {
    GATHER, "gather", Element, Keep, Element, "The elements along a dimension at an index for each.";
    SCATTER, "scatter", Element, Widest, Element, "The tensor with elements along a dimension replaced, or added or multiplied to, at an index for each.";
    SCATTER_ADD, "scatter_add", Element, Widest, Element, "The tensor with elements added along a dimension at an index for each.";
    SCATTER_REDUCE, "scatter_reduce", Element, Widest, Element, "The tensor with elements reduced into it along a dimension at an index for each.";
    INDEX_SELECT, "index_select", Element, Keep, Element, "The slices along a dimension at indices.";
    INDEX_ADD, "index_add", Element, Widest, Element, "The tensor with slices added along a dimension at indices.";
    INDEX_COPY, "index_copy", Element, Widest, Element, "The tensor with slices replaced along a dimension at indices.";
    INDEX_FILL, "index_fill", Element, Widest, Element, "The tensor with slices along a dimension at indices filled with a value.";
    INDEX_PUT, "index_put", Element, Widest, Element, "The tensor with the elements that a tuple of indices means replaced or added to.";
    INDEX_REDUCE, "index_reduce", Element, Widest, Element, "The tensor with slices reduced into it along a dimension at indices.";
    MASKED_FILL, "masked_fill", Element, Widest, Element, "The tensor with a value where a mask is true.";
    MASKED_SELECT, "masked_select", Element, Keep, Element, "The elements where a mask is true, in row-major order.";
    MASKED_SCATTER, "masked_scatter", Element, Widest, Element, "The tensor with elements of a source, one after the other, where a mask is true.";
    TAKE, "take", Element, Keep, Element, "The elements at indices into the flattened tensor, or along a dimension.";
    PUT, "put", Element, Widest, Element, "The tensor with elements replaced or added to at indices into the flattened tensor.";
    TAKE_ALONG_DIM, "take_along_dim", Element, Keep, Element, "The elements along a dimension at an index for each, broadcast together.";
    NONZERO, "nonzero", Index, Keep, Element, "The indices of the elements that are not zero, in row-major order.";
    ARGWHERE, "argwhere", Index, Keep, Element, "The indices of the elements that are not zero, a row for each.";
    SEARCHSORTED, "searchsorted", Index, Keep, Real, "The places where values enter sorted sequences.";
    BUCKETIZE, "bucketize", Index, Keep, Real, "The number of the bucket between boundaries that each value falls into.";
    ONE_HOT, "one_hot", Index, Keep, Discrete, "One at the place that each index names in a new last dimension, zero elsewhere.";
    EMBEDDING, "embedding", Element, Keep, Element, "The rows of a matrix at indices.";
    EMBEDDING_BAG, "embedding_bag", Average, Keep, Element, "The mean, sum or greatest of the rows of a matrix at the indices of each bag.";
    BINCOUNT, "bincount", Index, Keep, Integer, "How often each index occurs, or the sums of the weights that go with them.";
    HISTC, "histc", Tally, Keep, Real, "How many elements fall into each of equal bins between two bounds.";
    HISTOGRAM, "histogram", Tally, Keep, Real, "How many elements fall into each bin, or the sums of their weights, and the edges of the bins.";
    ISIN, "isin", Truth, Keep, Element, "Whether each element is one of others.";
    UNRAVEL_INDEX, "unravel_index", Index, Keep, Integer, "The index in every dimension of a shape of indices into its elements in row-major order.";
    RAVEL_MULTI_INDEX, "ravel_multi_index", Index, Keep, Integer, "The indices into the elements of a shape in row-major order of an index in every dimension.";
}
