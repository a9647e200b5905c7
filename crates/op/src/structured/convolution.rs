//! Rows: windows over grids.

structured! {
    CONV1D, "conv1d", Element, Lower, Element, "Convolution over rows: sums of products of windows with filters.";
    CONV2D, "conv2d", Element, Lower, Element, "Convolution over images: sums of products of windows with filters.";
    CONV3D, "conv3d", Element, Lower, Element, "Convolution over volumes: sums of products of windows with filters.";
    CONV_TRANSPOSE1D, "conv_transpose1d", Element, Lower, Element, "Transposed convolution over rows: filters times each element, summed where they overlap.";
    CONV_TRANSPOSE2D, "conv_transpose2d", Element, Lower, Element, "Transposed convolution over images: filters times each element, summed where they overlap.";
    CONV_TRANSPOSE3D, "conv_transpose3d", Element, Lower, Element, "Transposed convolution over volumes: filters times each element, summed where they overlap.";
    MAX_POOL1D, "max_pool1d", Element, Keep, Real, "The maximum of each window over rows; NaN if there is one.";
    MAX_POOL2D, "max_pool2d", Element, Keep, Real, "The maximum of each window over images; NaN if there is one.";
    MAX_POOL3D, "max_pool3d", Element, Keep, Real, "The maximum of each window over volumes; NaN if there is one.";
    AVG_POOL1D, "avg_pool1d", Average, Keep, Element, "The mean of each window over rows.";
    AVG_POOL2D, "avg_pool2d", Average, Keep, Element, "The mean of each window over images.";
    AVG_POOL3D, "avg_pool3d", Average, Keep, Element, "The mean of each window over volumes.";
    ADAPTIVE_MAX_POOL1D, "adaptive_max_pool1d", Element, Keep, Real, "The maximum of each of as many windows over rows as asked for.";
    ADAPTIVE_MAX_POOL2D, "adaptive_max_pool2d", Element, Keep, Real, "The maximum of each of as many windows over images as asked for.";
    ADAPTIVE_MAX_POOL3D, "adaptive_max_pool3d", Element, Keep, Real, "The maximum of each of as many windows over volumes as asked for.";
    ADAPTIVE_AVG_POOL1D, "adaptive_avg_pool1d", Average, Keep, Element, "The mean of each of as many windows over rows as asked for.";
    ADAPTIVE_AVG_POOL2D, "adaptive_avg_pool2d", Average, Keep, Element, "The mean of each of as many windows over images as asked for.";
    ADAPTIVE_AVG_POOL3D, "adaptive_avg_pool3d", Average, Keep, Element, "The mean of each of as many windows over volumes as asked for.";
    LP_POOL1D, "lp_pool1d", Average, Float32, Real, "The p-norm of each window over rows: the root of the sum of powers.";
    LP_POOL2D, "lp_pool2d", Average, Float32, Real, "The p-norm of each window over images: the root of the sum of powers.";
    LP_POOL3D, "lp_pool3d", Average, Float32, Real, "The p-norm of each window over volumes: the root of the sum of powers.";
    MAX_UNPOOL1D, "max_unpool1d", Element, Keep, Element, "The elements at the places that max_pool1d took them from, zero elsewhere.";
    MAX_UNPOOL2D, "max_unpool2d", Element, Keep, Element, "The elements at the places that max_pool2d took them from, zero elsewhere.";
    MAX_UNPOOL3D, "max_unpool3d", Element, Keep, Element, "The elements at the places that max_pool3d took them from, zero elsewhere.";
    FRACTIONAL_MAX_POOL2D, "fractional_max_pool2d", Element, Keep, Real, "The maximum of each of as many windows over images as asked for, which begin at random.";
    FRACTIONAL_MAX_POOL3D, "fractional_max_pool3d", Element, Keep, Real, "The maximum of each of as many windows over volumes as asked for, which begin at random.";
    INTERPOLATE, "interpolate", Element, Keep, Element, "The grid in another size: the nearest elements, or nearby ones blended.";
    GRID_SAMPLE, "grid_sample", Average, Widest, Element, "Images or volumes at the places that a grid names: the nearest elements, or nearby ones blended.";
    AFFINE_GRID, "affine_grid", Average, Float32, Real, "The places that affine maps send the pixels of images or volumes to.";
}
