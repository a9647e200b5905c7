//! Rows: elements that change places.

structured! {
    CAT,              "cat",              Element, Widest, Element, "Tensors side by side along a dimension.";
    STACK,            "stack",            Element, Widest, Element, "Tensors side by side along a new dimension.";
    HSTACK,           "hstack",           Element, Widest, Element, "Tensors side by side in columns.";
    VSTACK,           "vstack",           Element, Widest, Element, "Tensors one below the other in rows.";
    DSTACK,           "dstack",           Element, Widest, Element, "Tensors side by side along the third dimension.";
    COLUMN_STACK,     "column_stack",     Element, Widest, Element, "Tensors of one dimension as columns, others side by side.";
    BLOCK_DIAG,       "block_diag",       Element, Widest, Element, "Matrices along the diagonal of a larger one.";
    ROLL,             "roll",             Element, Keep,   Element, "The elements moved along dimensions, those that leave at one end entering at the other.";
    REPEAT,           "repeat",           Element, Keep,   Element, "The tensor so many times along each dimension.";
    TILE,             "tile",             Element, Keep,   Element, "The tensor so many times along the last dimensions.";
    REPEAT_INTERLEAVE,"repeat_interleave",Element, Keep,   Element, "Each index of a dimension so many times.";
    TRIL,             "tril",             Element, Keep,   Element, "Matrices with zero above a diagonal.";
    TRIU,             "triu",             Element, Keep,   Element, "Matrices with zero below a diagonal.";
    DIAG,             "diag",             Element, Keep,   Element, "A matrix with these elements on a diagonal, or the diagonal of a matrix.";
    DIAGFLAT,         "diagflat",         Element, Keep,   Element, "A matrix with all elements on a diagonal.";
    DIAG_EMBED,       "diag_embed",       Element, Keep,   Element, "Matrices with the last dimension on a diagonal.";
    DIAGONAL_SCATTER, "diagonal_scatter", Element, Widest, Element, "The tensor with other elements on a diagonal.";
    SELECT_SCATTER,   "select_scatter",   Element, Widest, Element, "The tensor with other elements at an index of a dimension.";
    SLICE_SCATTER,    "slice_scatter",    Element, Widest, Element, "The tensor with other elements in a range of a dimension.";
    MESHGRID,         "meshgrid",         Element, Keep,   Element, "The coordinates of a grid, one tensor per dimension.";
    CARTESIAN_PROD,   "cartesian_prod",   Element, Widest, Element, "Every choice of one element of each tensor, as rows.";
    COMBINATIONS,     "combinations",     Element, Keep,   Element, "Every choice of so many elements, as rows.";
    VANDER,           "vander",           Total,   Keep,   Element, "The powers of each element, as rows.";
    TRACE,            "trace",            Total,   Float32,Element, "The sum of the diagonal of a matrix.";
    PAD,              "pad",              Element, Keep,   Element, "The tensor with elements added at its ends, or taken away.";
    UNFOLD,           "unfold",           Element, Keep,   Element, "The windows of images as columns.";
    FOLD,             "fold",             Element, Float32,Element, "Images of which each place is the sum of what windows have there.";
    PIXEL_SHUFFLE,    "pixel_shuffle",    Element, Keep,   Element, "Channels spread over squares of pixels.";
    PIXEL_UNSHUFFLE,  "pixel_unshuffle",  Element, Keep,   Element, "Squares of pixels gathered into channels.";
    CHANNEL_SHUFFLE,  "channel_shuffle",  Element, Keep,   Element, "The channels of groups in turns.";
}
